"""Copies of default values, so that one call cannot change what the next one is given.

Python shares a default between all calls of a function, and a class between all of its objects.
Within one program that is a known trap; on a server it lets one client see what another one has
left. Data is copied: lists, dicts, sets, byte arrays, and objects of classes with fields. Anything
else, such as a connection, is shared as in Python itself.
"""

from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec

from . import pydantic_models
from .fields import dataclass_fields, is_dataclass

_CONTAINERS = (list, dict, set, bytearray)


def can_change(value: Any) -> bool:
    """Is this data that a function could alter in place?"""
    if isinstance(value, _CONTAINERS):
        return True
    if isinstance(value, tuple):
        return any(map(can_change, cast(Iterable[object], value)))
    if isinstance(value, type):
        return False
    if pydantic_models.is_model(type(value)):
        return True
    members = _members(value)
    if members is None:
        return False
    return not _is_frozen(value) or any(can_change(getattr(value, name)) for name in members)


def renewed(value: Any) -> Any:
    """A copy that shares nothing with the value that could be altered; the value itself if nothing
    in it can."""
    if not can_change(value):
        return value
    kind = cast(Any, type(value))
    if isinstance(value, tuple):
        make: Callable[[Iterable[Any]], Any] = getattr(kind, "_make", kind)
        return make(map(renewed, cast(Iterable[Any], value)))
    if pydantic_models.is_model(kind):
        return _deep_copy(value)
    clone = _shallow_copy(value)
    if issubclass(kind, list):
        clone[:] = map(renewed, value)
    elif issubclass(kind, dict):
        for key, item in value.items():
            clone[key] = renewed(item)
    for name in _members(clone) or ():
        _put(clone, name, renewed(getattr(value, name)))
    return clone


def _shallow_copy(value: Any) -> Any:
    from copy import copy  # noqa: PLC0415 - few servers have such defaults

    return copy(value)


def _deep_copy(value: Any) -> Any:
    from copy import deepcopy  # noqa: PLC0415

    return deepcopy(value)


def _members(value: Any) -> Iterable[str] | None:
    """The names of the fields of an object, if its class has any."""
    kind = cast(Any, type(value))
    if isinstance(value, msgspec.Struct):
        return value.__struct_fields__
    if is_dataclass(value):
        found = [field.name for field in dataclass_fields(value)]
    elif hasattr(kind, "__attrs_attrs__"):
        found = [attribute.name for attribute in kind.__attrs_attrs__]
    else:
        return None
    return [name for name in found if hasattr(value, name)]  # a field may be left unset


def _is_frozen(value: Any) -> bool:
    if isinstance(value, msgspec.Struct):
        return bool(value.__struct_config__.frozen)
    # attrs does not tell, so its objects count as those that can be altered.
    return is_dataclass(value) and bool(value.__dataclass_params__.frozen)


def _put(value: Any, name: str, item: Any) -> None:
    """Set a field, also of an object that is frozen."""
    if isinstance(value, msgspec.Struct):
        msgspec.structs.force_setattr(value, name, item)
    else:
        object.__setattr__(value, name, item)
