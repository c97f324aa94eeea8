"""In which order dependencies are made, and what each of them is given.

Worked out once, at registration, so that a mistake is an error there and not in the middle of a
call. Two parameters that ask for the same function share what it makes.
"""

import contextlib
from collections.abc import Callable, Hashable
from typing import Any, cast

from msgspec import Struct

from .call_style import Manner, manner_of
from .depends import Dependency
from .parameters import Headed, Parameter, parameters_of
from .signature import Signature


class Supply(Struct):
    """One dependency: a function, and where its parameters come from."""

    function: Callable[..., Any]
    manner: Manner
    contexts: list[str]
    headers: list[Headed]
    # Its parameters by name: the tool's argument, or the number of the supply that fills it.
    arguments: dict[str, str]
    supplies: dict[str, int]
    defaults: list[Parameter]


class Plan(Struct):
    """All supplies in order, and which of them the function itself is given."""

    supplies: list[Supply]
    given: dict[str, int]

    @property
    def is_async(self) -> bool:
        """Does one of the supplies have to be awaited?"""
        return any("async" in supply.manner for supply in self.supplies)

    @property
    def cleans_up(self) -> bool:
        """Is one of the supplies a generator, which has to be left?"""
        return any("generator" in supply.manner for supply in self.supplies)


def plan_of(signature: Signature) -> Plan:
    """Put the dependencies of a function in order.

    Raises:
        TypeError: one needs itself, or something that nobody can give.
    """
    if not signature.dependencies:
        return Plan([], {})
    planner = _Planner(signature)
    given = {name: planner.place(each) for name, each in signature.dependencies.items()}
    return Plan(planner.supplies, given)


class _Planner:
    def __init__(self, signature: Signature) -> None:
        self._what = signature.what
        self._known = [parameter.name for parameter in signature.parameters]
        self.supplies: list[Supply] = []
        self._places: dict[Any, int] = {}
        self._open: list[Any] = []

    def place(self, dependency: Dependency) -> int:
        """The number of the supply that makes it."""
        function = _inner(dependency.function)
        key = _key(function)
        if key in self._places:
            return self._places[key]
        name = getattr(function, "__name__", type(function).__name__)
        what = f"{self._what}: dependency {name!r}"
        if key in self._open:
            raise TypeError(f"{what} depends on itself; take one of its dependencies away")
        self._open.append(key)
        found = parameters_of(function, what)
        if found.inquired:
            name = found.inquired[0].parameter.name
            raise TypeError(
                f"{what}: parameter {name!r}: Ask(…) is for the parameters of the function itself; "
                "a dependency asks with a Context"
            )
        arguments: dict[str, str] = {}
        defaults: list[Parameter] = []
        for parameter in found.given:
            if parameter.name in self._known:
                arguments[parameter.name] = parameter.name
            elif not parameter.required:
                defaults.append(parameter)
            else:
                raise TypeError(
                    f"{what}: nothing fills its parameter {parameter.name!r}; name it after an "
                    "argument of the tool, make it a Context or a Depends(…), or give it a default"
                )
        supplies = {name: self.place(each) for name, each in found.dependencies.items()}
        self._open.pop()
        manner = manner_of(function)
        contexts, headers = found.contexts, found.headers
        self.supplies.append(
            Supply(function, manner, contexts, headers, arguments, supplies, defaults)
        )
        self._places[key] = len(self.supplies) - 1
        return self._places[key]


def _inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """A context manager is the generator that it is made of, which is entered and left."""
    inside: Any = getattr(function, "__wrapped__", None)
    code = getattr(function, "__code__", None)
    if inside is not None and code is not None and code.co_filename == contextlib.__file__:
        return cast(Callable[..., Any], inside)
    return function


def _key(function: object) -> Hashable:
    """What tells a function from others; a callable object may not be hashable."""
    return function if isinstance(function, Hashable) else id(function)
