"""Copies of default values, so that one call cannot change the default of the next.

Python shares a default between all calls of a function, and a class attribute between all
instances. On a server, a mutable default that is shared leaks data from one client to another. Data
is copied: lists, dicts, sets, byte arrays, and instances of classes with fields. Anything else,
such as a database connection, is shared as in Python itself.
"""

from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec

from . import pydantic_models
from .fields import dataclass_fields, is_dataclass

_CONTAINERS = (list, dict, set, bytearray)


def is_mutable(value: Any) -> bool:
    """Test for data that can be modified in place."""
    if isinstance(value, _CONTAINERS):
        return True
    if isinstance(value, tuple):
        return any(map(is_mutable, cast(Iterable[object], value)))
    if isinstance(value, type):
        return False
    if pydantic_models.is_model(type(value)):
        return True
    members = _members(value)
    if members is None:
        return False
    return not _is_frozen(value) or any(is_mutable(getattr(value, name)) for name in members)


def fresh_copy(value: Any) -> Any:
    """Copy a value and all mutable data in it; return the value itself if it has none."""
    if not is_mutable(value):
        return value
    kind = cast(Any, type(value))
    if isinstance(value, tuple):
        make: Callable[[Iterable[Any]], Any] = getattr(kind, "_make", kind)
        return make(map(fresh_copy, cast(Iterable[Any], value)))
    if pydantic_models.is_model(kind):
        return _deep_copy(value)
    clone = _shallow_copy(value)
    if issubclass(kind, list):
        clone[:] = map(fresh_copy, value)
    elif issubclass(kind, dict):
        for key, item in value.items():
            clone[key] = fresh_copy(item)
    for name in _members(clone) or ():
        _set_field(clone, name, fresh_copy(getattr(value, name)))
    return clone


def _shallow_copy(value: Any) -> Any:
    from copy import copy  # noqa: PLC0415 - few servers have such defaults

    return copy(value)


def _deep_copy(value: Any) -> Any:
    from copy import deepcopy  # noqa: PLC0415

    return deepcopy(value)


def _members(value: Any) -> Iterable[str] | None:
    """Return the names of the fields set on an instance; None if its class has no fields."""
    kind = cast(Any, type(value))
    if isinstance(value, msgspec.Struct):
        return value.__struct_fields__
    if is_dataclass(value):
        found = [field.name for field in dataclass_fields(value)]
    elif hasattr(kind, "__attrs_attrs__"):
        found = [attribute.name for attribute in kind.__attrs_attrs__]
    else:
        return None
    return [name for name in found if hasattr(value, name)]  # a field may be unset


def _is_frozen(value: Any) -> bool:
    if isinstance(value, msgspec.Struct):
        return bool(value.__struct_config__.frozen)
    # attrs does not record it, so its instances count as mutable.
    return is_dataclass(value) and bool(value.__dataclass_params__.frozen)


def _set_field(value: Any, name: str, item: Any) -> None:
    """Set a field, even of a frozen instance."""
    if isinstance(value, msgspec.Struct):
        msgspec.structs.force_setattr(value, name, item)
    else:
        object.__setattr__(value, name, item)
