"""`Complete`: marks a parameter whose values can be suggested, and says how."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sized
from functools import partial
from typing import Any, TypeAlias

from msgspec import Struct

from .markers import Current, is_context


class Completion(Struct, frozen=True):
    """Suggestions of which there are more than these: what a completer may return instead of a
    list.

    Args:
        values: the suggestions, the best first; at most 100 are sent.
        total: how many there are in all, if that is known.
        has_more: are there more than these? By default as `total` says.

    Raises:
        TypeError, ValueError: this is no completion; the message says why.
    """

    values: Iterable[str]
    total: int | None = None
    has_more: bool | None = None

    def __post_init__(self) -> None:
        if isinstance(self.values, str):
            raise TypeError("Completion: values must be a list of str, not one str")
        total: Any = self.total
        if not (total is None or (isinstance(total, int) and not isinstance(total, bool))):
            raise TypeError(f"Completion: total must be an int, not {total!r}")
        if total is not None and total < 0:
            raise ValueError(f"Completion: total must be at least 0, not {total}")
        if not (self.has_more is None or isinstance(self.has_more, bool)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Completion: has_more must be True or False, not {self.has_more!r}")
        # How many an iterator has is seen when it is asked.
        count: Any = len(self.values) if isinstance(self.values, Sized) else None
        if None not in (total, count) and (total < count or self.has_more is (total == count)):
            raise ValueError(f"Completion: {count} values contradict {total=} or has_more")


Suggestions: TypeAlias = Iterable[str] | Completion
Completes: TypeAlias = Callable[..., Suggestions] | Callable[..., Awaitable[Suggestions]]


class Complete:
    """Suggests values for a parameter: `Annotated[str, Complete(fn)]`.

    The function gets what was typed so far and, if it takes a second argument, a mapping of the
    arguments that are given already; a third one named `ctx` is a `Context`. It returns a list of
    str, or a `Completion` that says how many more there are. It may be a coroutine function."""

    __slots__ = ("_wants_given", "function", "is_async", "wants_context")

    def __init__(self, function: Completes) -> None:
        if not callable(function):
            raise TypeError(
                f"Complete takes a function of what was typed, not {type(function).__name__}; for "
                "fixed values annotate the parameter with a Literal"
            )
        self.function: Callable[..., Any] = function
        self.is_async = inspect.iscoroutinefunction(function)
        self.wants_context = _takes_context(function)
        self._wants_given = _takes(function, "value", "given")
        if not (self.wants_context or self._wants_given or _takes(function, "value")):
            name = getattr(function, "__name__", type(function).__name__)
            raise TypeError(
                f"Complete: {name} must take (value), or (value, given) with the arguments that "
                f"are given already, or (value, given, ctx), not {inspect.signature(function)}"
            )

    @classmethod
    def among(cls, values: Iterable[object]) -> "Complete":
        """Suggests those of some known values that begin with what was typed."""
        return cls(partial(_beginning, [spelled(value) for value in values]))

    def call(
        self, value: str, given: Mapping[str, str], context: Current | None
    ) -> Callable[[], Any]:
        """The author's function, ready to be called; with a context if it wants one."""
        if self.wants_context:
            return partial(self.function, value, given, context)
        return (
            partial(self.function, value, given)
            if self._wants_given
            else partial(self.function, value)
        )


def _takes_context(function: Callable[..., Any]) -> bool:
    if not _takes(function, "value", "given", "ctx"):
        return False
    parameters = list(inspect.signature(function).parameters.values())
    return len(parameters) > 2 and (
        parameters[2].name in ("ctx", "context") or is_context(parameters[2].annotation)
    )


def _takes(function: Callable[..., Any], *given: str) -> bool:
    try:
        inspect.signature(function).bind(*given)
    except TypeError:
        return False
    return True


def spelled(choice: object) -> str:
    """A choice as a client writes it, where all are texts: of truth values, JSON's words."""
    return str(choice).lower() if isinstance(choice, bool) else str(choice)


def _beginning(values: list[str], value: str) -> list[str]:
    typed = value.casefold()
    return [known for known in values if known.casefold().startswith(typed)]
