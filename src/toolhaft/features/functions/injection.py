"""The plan of dependencies: their order, and the sources of their parameters.

Computed once, at registration, so that a mistake is an error there and not in the middle of a call.
Parameters with the same dependency function share one value per call.
"""

import contextlib
from collections.abc import Callable, Hashable
from typing import Any, cast

from msgspec import Struct

from .call_style import CallStyle, call_style_of
from .depends import Dependency
from .parameters import HeaderParameter, Parameter, parameters_of
from .signature import Signature


class PlannedDependency(Struct):
    """One dependency: its function, and the sources of its parameters."""

    function: Callable[..., Any]
    call_style: CallStyle
    contexts: list[str]
    headers: list[HeaderParameter]
    # Parameter name to argument of the tool, and parameter name to index in the plan.
    arguments: dict[str, str]
    dependencies: dict[str, int]
    defaults: list[Parameter]


class DependencyPlan(Struct):
    """All dependencies in the order of their calls.

    Args:
        given: parameters of the function itself, by name, to indexes in `dependencies`.
    """

    dependencies: list[PlannedDependency]
    given: dict[str, int]

    @property
    def is_async(self) -> bool:
        """Whether a dependency is a coroutine function or an async generator."""
        return any("async" in dependency.call_style for dependency in self.dependencies)

    @property
    def cleans_up(self) -> bool:
        """Whether a dependency is a generator, which cleans up after the call."""
        return any("generator" in dependency.call_style for dependency in self.dependencies)


def plan_of(signature: Signature) -> DependencyPlan:
    """Sort the dependencies of a function topologically.

    Raises:
        TypeError: a dependency depends on itself, or nothing fills one of its parameters.
    """
    if not signature.dependencies:
        return DependencyPlan([], {})
    planner = _Planner(signature)
    given = {name: planner.index_of(each) for name, each in signature.dependencies.items()}
    return DependencyPlan(planner.dependencies, given)


class _Planner:
    def __init__(self, signature: Signature) -> None:
        self._what = signature.what
        self._known = [parameter.name for parameter in signature.parameters]
        self.dependencies: list[PlannedDependency] = []
        self._indexes: dict[Any, int] = {}
        self._in_progress: list[Any] = []

    def index_of(self, dependency: Dependency) -> int:
        """Return the index of a dependency in the plan; append it if it is new."""
        function = _inner(dependency.function)
        key = _key(function)
        if key in self._indexes:
            return self._indexes[key]
        name = getattr(function, "__name__", type(function).__name__)
        what = f"{self._what}: dependency {name!r}"
        if key in self._in_progress:
            raise TypeError(f"{what} depends on itself; take one of its dependencies away")
        self._in_progress.append(key)
        found = parameters_of(function, what)
        if found.asked_parameters:
            name = found.asked_parameters[0].parameter.name
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
        dependencies = {name: self.index_of(each) for name, each in found.dependencies.items()}
        self._in_progress.pop()
        call_style = call_style_of(function)
        contexts, headers = found.contexts, found.headers
        self.dependencies.append(
            PlannedDependency(
                function, call_style, contexts, headers, arguments, dependencies, defaults
            )
        )
        self._indexes[key] = len(self.dependencies) - 1
        return self._indexes[key]


def _inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the generator function under `@contextmanager`, or the function itself."""
    inside: Any = getattr(function, "__wrapped__", None)
    code = getattr(function, "__code__", None)
    if inside is not None and code is not None and code.co_filename == contextlib.__file__:
        return cast(Callable[..., Any], inside)
    return function


def _key(function: object) -> Hashable:
    """Return a key of the function's identity; a callable object may not be hashable."""
    return function if isinstance(function, Hashable) else id(function)
