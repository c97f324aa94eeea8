"""`Complete`: marks a parameter with the function that suggests its values."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sized
from functools import partial
from typing import Any, TypeAlias

from msgspec import Struct

from .markers import BaseContext, is_context


class Completion(Struct, frozen=True):
    """Some of many suggestions: the result of a completer that has more than it returns.

    Args:
        values: the suggestions, the best first; at most 100 are sent.
        total: number of suggestions in all, if that is known.
        has_more: whether there are more than `values`; by default derived from `total`.

    Raises:
        TypeError, ValueError: a field is invalid; the message names it.
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
        # An iterator has no length before it is read.
        count: Any = len(self.values) if isinstance(self.values, Sized) else None
        if None not in (total, count) and (total < count or self.has_more is (total == count)):
            raise ValueError(f"Completion: {count} values contradict {total=} or has_more")


Suggestions: TypeAlias = Iterable[str] | Completion
Completes: TypeAlias = Callable[..., Suggestions] | Callable[..., Awaitable[Suggestions]]


class Complete:
    """Suggests values for a parameter: `Annotated[str, Complete(fn)]`.

    The function is called with the text typed so far and, if it takes a second argument, a mapping
    of the arguments that are given already; a third argument named `ctx` is a `Context`. It returns
    a list of str, or a `Completion` with the total. It may be a coroutine function."""

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
        """Make a completer that suggests the values that begin with the typed text."""
        return cls(partial(_beginning, [spelled(value) for value in values]))

    def call(
        self, value: str, given: Mapping[str, str], context: BaseContext | None
    ) -> Callable[[], Any]:
        """Bind the author's function to its arguments, with the context if it takes one."""
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
    """Return a choice as text; True and False are spelled as in JSON."""
    return str(choice).lower() if isinstance(choice, bool) else str(choice)


def _beginning(values: list[str], value: str) -> list[str]:
    typed = value.casefold()
    return [known for known in values if known.casefold().startswith(typed)]
