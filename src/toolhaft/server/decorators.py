"""Decorators that mark methods for `Server.include`.

A mark replaces the function in its class. It is a descriptor that returns the unchanged function,
or the bound method of an instance.
"""

import inspect
from collections.abc import Callable, Container, Iterator
from functools import update_wrapper
from types import FunctionType, ModuleType
from typing import Any, TypeVar, Unpack, overload

from msgspec import Struct

from ..features.author_checks import check_options
from .keywords import Kind, PromptOptions, ResourceOptions, ToolOptions

F = TypeVar("F", bound=Callable[..., Any])


class Mark:
    """Descriptor around a function of a class or a module, with the options of its registration."""

    def __init__(self, kind: Kind, function: Any, options: dict[str, Any], uri: str = "") -> None:
        self.kind: Kind = kind
        self.options = options
        self.uri = uri
        self.function = function
        if callable(function):
            update_wrapper(self, function)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        bind: Any = getattr(type(self.function), "__get__", None)  # pyright: ignore[reportUnknownArgumentType]
        return self.function if bind is None else bind(self.function, instance, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


class MarkedMethod(Struct, frozen=True):
    """A bound method of a provider, and the kind and options of its mark."""

    attribute: str
    kind: Kind
    function: Callable[..., Any]
    options: dict[str, Any]
    uri: str


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(**options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
def tool(function: Any = None, /, **options: Any) -> Any:
    """Mark a method as a tool of its object. Bare, or with keywords as in `Server.add_tool`."""
    return _decorate("tool", function, options, ToolOptions)


def resource(uri: str, **options: Unpack[ResourceOptions]) -> Callable[[F], F]:
    """Mark a method as a resource of its object, under a URI or a template of URIs. Keywords are
    as in `Server.add_resource`."""
    if not isinstance(uri, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError('@resource needs a URI, as in @resource("notes://all")')
    check_options("@resource", None, options, ResourceOptions)

    def mark(function: F) -> F:
        marked: Any = Mark("resource", function, dict(options), uri)
        return marked  # type: ignore[no-any-return]  # a descriptor that stands for the function

    return mark


@overload
def prompt(function: F, /) -> F: ...
@overload
def prompt(**options: Unpack[PromptOptions]) -> Callable[[F], F]: ...
def prompt(function: Any = None, /, **options: Any) -> Any:
    """Mark a method as a prompt of its object. Bare, or with keywords as in `Server.add_prompt`."""
    return _decorate("prompt", function, options, PromptOptions)


def _decorate(kind: Kind, function: Any, options: dict[str, Any], known: type) -> Any:
    if not isinstance(function, classmethod | staticmethod):  # not callable, but can be marked
        check_options(f"@{kind}", function, options, known)

    def mark(function: Any) -> Any:
        return Mark(kind, function, options)

    return mark if function is None else mark(function)


def marks_of(provider: object) -> Iterator[MarkedMethod]:
    """Yield the marked methods of an object, inherited ones included, in order of definition.

    Raises:
        TypeError: another decorator hides a mark.
    """
    if isinstance(provider, ModuleType):
        found: dict[str, Any] = dict(vars(provider))
    else:
        found = {}
        for kind in reversed(type(provider).__mro__):
            found |= vars(kind)
    for name, value in found.items():
        inner = getattr(value, "__func__", None) if _is_wrapper(value) else None
        if isinstance(inner, Mark):
            outer = type(value).__name__
            raise TypeError(
                f"{name}: @{outer} stands above @{inner.kind}; write @{inner.kind} above @{outer}"
            )
        if isinstance(value, Mark):
            function = getattr(provider, name)
            bound = function.function if isinstance(function, Mark) else function
            yield MarkedMethod(name, value.kind, bound, value.options, value.uri)


def discovered(provider: object, known: Container[str]) -> Iterator[MarkedMethod]:
    """Yield the unmarked methods of an object that `discover` makes tools: public ones with a
    docstring that its class itself defines; of a module, the functions that it defines.

    Inherited methods may be from a library that never meant to offer them. Class methods and static
    methods are mostly constructors; they can be marked.

    Args:
        known: names to skip.
    """
    home = provider.__name__ if isinstance(provider, ModuleType) else None
    found = vars(provider if home is not None else type(provider))
    for name, value in list(found.items()):
        if not isinstance(value, FunctionType) or name.startswith("_") or name in known:
            continue
        is_own = home is None or value.__module__ == home
        if is_own and (value.__doc__ or "").strip():
            yield MarkedMethod(name, "tool", getattr(provider, name), {}, "")


def _is_wrapper(value: object) -> bool:
    return inspect.ismethoddescriptor(value) or isinstance(value, classmethod | staticmethod)
