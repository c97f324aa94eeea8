"""`Complete`: marks a parameter whose values can be suggested, and says how."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeAlias

Suggestions: TypeAlias = Iterable[str]
Completes: TypeAlias = Callable[..., Suggestions] | Callable[..., Awaitable[Suggestions]]


class Complete:
    """Suggests values for a parameter: `Annotated[str, Complete(fn)]`.

    The function gets what was typed so far and, if it takes a second argument, a mapping of the
    arguments that are given already. It may be a coroutine function."""

    __slots__ = ("_wants_given", "function", "is_async")

    def __init__(self, function: Completes) -> None:
        if not callable(function):
            raise TypeError(
                f"Complete takes a function of what was typed, not {type(function).__name__}; for "
                "fixed values annotate the parameter with a Literal"
            )
        self.function: Callable[..., Any] = function
        self.is_async = inspect.iscoroutinefunction(function)
        self._wants_given = len(inspect.signature(function).parameters) > 1

    @classmethod
    def among(cls, values: Iterable[object]) -> "Complete":
        """Suggests those of some known values that begin with what was typed."""
        return cls(partial(_beginning, [spelled(value) for value in values]))

    def call(self, value: str, given: Mapping[str, str]) -> Callable[[], Any]:
        """The author's function, ready to be called."""
        return (
            partial(self.function, value, given)
            if self._wants_given
            else partial(self.function, value)
        )


def spelled(choice: object) -> str:
    """A choice as a client writes it, where all are texts: of truth values, JSON's words."""
    return str(choice).lower() if isinstance(choice, bool) else str(choice)


def _beginning(values: list[str], value: str) -> list[str]:
    typed = value.casefold()
    return [known for known in values if known.casefold().startswith(typed)]
