"""Watch what calls do: which functions are called, in which round, with what."""

import inspect
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, TypeAlias, cast

from msgspec import Struct

from ..calls.recorded_steps import in_step

# An object, a class or a module, and the name of its function.
Acts: TypeAlias = Sequence[tuple[Any, str]]
Noted: TypeAlias = Callable[[str, tuple[Any, ...], dict[str, Any]], None]

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_DEEPEST = 4


class Act(Struct, eq=False):
    """Something that was done."""

    words: str
    given: tuple[object, ...]
    round: int
    is_step: bool

    def is_same(self, other: "Act") -> bool:
        """Was the same done? Arguments are the same if they are equal, or hold the same."""
        return self.words == other.words or self.given == other.given


def counted(acts: Iterable[Act]) -> str:
    """What was done, and how often."""
    counts = Counter(act.words for act in acts)
    return ", ".join(f"{words}: {count}" for words, count in sorted(counts.items())) or "none"


@contextmanager
def watched(acts: Acts, current_round: Callable[[], int]) -> Generator[list[Act]]:
    """Everything that is done meanwhile."""
    done: list[Act] = []

    def note(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        words = [*map(_words, args), *(f"{key}={_words(value)}" for key, value in kwargs.items())]
        told = f"{name}({', '.join(words)})"
        done.append(Act(told, (name, args, kwargs), current_round(), in_step()))

    with ExitStack() as stack:
        for owner, name in acts:
            stack.enter_context(_replaced(owner, name, note))
        yield done


@contextmanager
def _replaced(owner: Any, name: str, note: Noted) -> Generator[None]:
    own: Mapping[str, Any] = getattr(owner, "__dict__", {})
    is_own, before = name in own, own.get(name)
    setattr(owner, name, _watching(owner, name, note))
    try:
        yield
    finally:
        if is_own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


def _watching(owner: Any, name: str, note: Noted) -> Any:
    """What takes the place of a function. In a class, of its kind: static, of the class, or
    neither."""
    if isinstance(owner, type):
        found = inspect.getattr_static(cast(object, owner), name)
        if isinstance(found, staticmethod | classmethod):
            kind = cast(Callable[[Any], Any], type(found))  # pyright: ignore[reportUnknownArgumentType]
            return kind(_noting(name, cast(Any, found).__func__, note))
    return _noting(name, getattr(owner, name), note)


def _noting(name: str, function: Callable[..., Any], note: Noted) -> Callable[..., Any]:
    @wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        note(name, args, kwargs)
        return await function(*args, **kwargs)

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        note(name, args, kwargs)
        return function(*args, **kwargs)

    return awaited if inspect.iscoroutinefunction(function) else called


def _words(value: Any, depth: int = 0) -> str:
    """A value by what it holds, and never by where it is."""
    if depth < _DEEPEST:
        if isinstance(value, list | tuple):
            items = cast(Sequence[Any], value)
            return f"[{', '.join(_words(item, depth + 1) for item in items)}]"
        if isinstance(value, dict):
            return f"{{{_members(value, ': ', depth)}}}"  # pyright: ignore[reportUnknownArgumentType]
        if "__repr__" not in _defined(cast(object, value)):  # it has no words of its own
            held: dict[str, Any] = getattr(value, "__dict__", {})
            return f"{type(value).__name__}({_members(held, '=', depth)})"
    return _ADDRESS.sub("", repr(value))


def _defined(value: object) -> set[str]:
    """What the class of a value and its bases define, but for what every object has."""
    return {name for each in type(value).__mro__ if each is not object for name in vars(each)}


def _members(held: Mapping[Any, Any], sign: str, depth: int) -> str:
    return ", ".join(f"{name}{sign}{_words(value, depth + 1)}" for name, value in held.items())
