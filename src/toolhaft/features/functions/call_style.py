"""How a function gives its value: at once, later, or one after the other."""

import inspect
from collections.abc import Callable
from types import UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin

from ..author_checks import unwrapped
from .markers import InputRequired

Manner: TypeAlias = Literal["plain", "async", "generator", "async generator"]


def manner_of(function: Callable[..., Any]) -> Manner:
    """How a function gives its value."""
    target: Any = unwrapped(function)
    if isinstance(target, type):  # calling it makes an instance, whatever that can do
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


def value_of(annotation: Any, manner: Manner) -> tuple[Any, bool]:
    """What a function promises to give, and whether a generator returns it instead of yielding."""
    if "generator" not in manner:
        return annotation, False
    args: tuple[Any, ...] = getattr(annotation, "__args__", ())
    returns = args[2] if len(args) == 3 else None
    if returns not in (None, type(None), Any):
        return returns, True
    return (args[0] if args else inspect.Parameter.empty), False


def without_questions(annotation: Any) -> tuple[Any, bool]:
    """What a function promises to give in the end, and whether it may ask instead."""
    if annotation is InputRequired:
        return inspect.Parameter.empty, True
    args: tuple[Any, ...] = get_args(annotation)
    if get_origin(annotation) not in (Union, UnionType) or InputRequired not in args:
        return annotation, False
    others = tuple(each for each in args if each is not InputRequired)
    return Union[others], True  # noqa: UP007 - types that are known at run time only
