"""Call styles of functions: plain, coroutine, generator, async generator."""

import inspect
from collections.abc import Callable
from types import UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin

from ..author_checks import unwrapped
from .markers import InputRequired

CallStyle: TypeAlias = Literal["plain", "async", "generator", "async generator"]


def call_style_of(function: Callable[..., Any]) -> CallStyle:
    """Return the call style of a function, seen through decorators and `partial`."""
    target: Any = unwrapped(function)
    if isinstance(target, type):  # a class: calling it makes an instance
        return "plain"
    if not inspect.isroutine(target):
        target = type(target).__call__
    for each in (function, target):
        if inspect.iscoroutinefunction(each):
            return "async"
        if inspect.isasyncgenfunction(each):
            return "async generator"
        if inspect.isgeneratorfunction(each):
            return "generator"
    return "plain"


def value_type_of(annotation: Any, call_style: CallStyle) -> tuple[Any, bool]:
    """Return the annotated type of the result, and whether a generator returns it (else yields)."""
    if "generator" not in call_style:
        return annotation, False
    args: tuple[Any, ...] = getattr(annotation, "__args__", ())
    returns = args[2] if len(args) == 3 else None
    if returns not in (None, type(None), Any):
        return returns, True
    return (args[0] if args else inspect.Parameter.empty), False


def without_questions(annotation: Any) -> tuple[Any, bool]:
    """Return an annotation without `InputRequired`, and whether it had that."""
    if annotation is InputRequired:
        return inspect.Parameter.empty, True
    args: tuple[Any, ...] = get_args(annotation)
    if get_origin(annotation) not in (Union, UnionType) or InputRequired not in args:
        return annotation, False
    others = tuple(each for each in args if each is not InputRequired)
    return Union[others], True  # noqa: UP007 - types that are known at run time only
