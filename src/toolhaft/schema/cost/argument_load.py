"""Limits on values by type, where decoding costs more than the length of the text suggests.

msgspec decodes a value in one call of C code that holds the GIL. That is fast for most types, but
not where values are hashed: Python hashes numbers, and types made of numbers, without a secret, so
that a client can choose integers, UUIDs or decimals with colliding hashes
(`schema/cost/hash_collisions.py`). Strings and bytes are hashed with a secret.

So the limits of each annotation are computed once, and large values are checked before decoding.
"""

import datetime
import decimal
import enum
import types
from collections import abc
from collections.abc import Callable, Iterable
from typing import (
    Annotated,
    Any,
    Literal,
    TypeAlias,
    Union,
    cast,
    get_args,
    get_origin,
    is_typeddict,
)

import msgspec
from msgspec import Struct

from ...encoding.json_bounds import MOST_CONTAINERS, TooMuch
from ..annotated import read_metadata
from ..codecs import codec_of, convert
from ..fields import MISSING, Field, fields_of, is_array, is_kind, is_path, unwrapped_type
from ..fresh_defaults import is_mutable
from ..from_types import Schema
from ..pydantic_models import is_model, schema_of_model
from ..validation.json_values import size_of
from .hash_collisions import DICT, FEW, SET, Layout, check_collisions
from .regex_backtracking import degree_of, longest_of
from .validation_steps import MOST_STEPS

Check: TypeAlias = Callable[[Any], None]

# Values that are decoded in one argument, by type.
_MOST_VALUES: dict[Any, int] = {
    datetime.datetime: 500_000,
    datetime.date: 500_000,
    datetime.time: 500_000,
    datetime.timedelta: 500_000,
    decimal.Decimal: 100_000,
}
# The same for paths, types with a pattern, hashed values, and hashed decimals.
_MOST_PATHS = 100_000
_MOST_MATCHED = 100_000
_MOST_HASHED = 250_000
_MOST_HASHED_DECIMALS = 20_000
# Fields created in one argument, which takes about 50 ms: a text as short as `{}` creates all
# fields with defaults. Below, the cost of an instance, of a list or dict, and of a set, in fields.
_MOST_FIELDS = 250_000
_OBJECT = 2
_CONTAINER = 2
_SET = 6
# Types that are decoded as fast as they can be skipped, at any size.
_LIGHT = frozenset({str, int, float, bool, type(None), None, bytes})
# Types that are hashed with a secret, or have few values.
_SAFE = frozenset({str, bytes, bool, type(None), None, datetime.date})
_SETS = (set, frozenset, abc.Set, abc.MutableSet)
_MAPPINGS = (dict, abc.Mapping, abc.MutableMapping)
_UNIONS = (Union, types.UnionType)
_FLAT = ("string", "integer", "number", "boolean", "null")


class TypeLimits(Struct, frozen=True):
    """Limits on the values of one type, checked before decoding; None is no limit."""

    # Values of any size are decoded on the event loop: numbers, strings and the like.
    is_light: bool = False
    # JSON values in the value.
    most: int | None = None
    # Arrays and objects in the value.
    most_objects: int | None = None
    # Characters in strings and names, if the type has patterns.
    longest: int | None = None
    # Checks for colliding hashes.
    check: Check | None = None

    @property
    def is_bounded(self) -> bool:
        """Whether there is any limit."""
        bounds = (self.most, self.most_objects, self.longest, self.check)
        return any(each is not None for each in bounds)

    def admit(self, value: Any) -> None:
        """Check a value of decoded JSON before it is converted to the annotated type.

        Raises:
            TooMuch: the conversion may take too long.
        """
        if self.most is not None and (size := size_of(value)) > self.most:
            raise TooMuch(f"holds {size:,} values, and at most {self.most:,} are read")
        if self.most_objects is not None and (count := _objects_in(value)) > self.most_objects:
            raise TooMuch(
                f"holds {count:,} arrays and objects, and at most {self.most_objects:,} are read "
                "for a type with so many fields, or with sets"
            )
        if self.longest is not None and (length := _length_of(value)) > self.longest:
            raise TooMuch(
                f"holds {length:,} characters, and at most {self.longest:,} are matched with a "
                "pattern that can be matched in several ways"
            )
        if self.check is not None:
            self.check(value)


def _length_of(value: Any) -> int:
    """Count the characters in the strings of a value and in the names of members."""
    length, todo = 0, [value]
    for each in todo:  # grows during iteration
        if each.__class__ is str:
            length += len(each)
        elif each.__class__ is list:
            todo += each
        elif each.__class__ is dict:
            todo += each.keys()
            todo += each.values()
    return length


def _objects_in(value: Any) -> int:
    """Count the arrays and objects in a value, including itself."""
    todo = [value]
    for each in todo:  # grows during iteration
        inner = each.values() if each.__class__ is dict else each
        if each.__class__ in (dict, list):
            todo += [child for child in inner if child.__class__ in (dict, list)]
    return len(todo)


def type_limits_of(annotation: Any, patterns: Iterable[str] = ()) -> TypeLimits:
    """Compute the limits of an annotation and of the patterns in it."""
    if _is_light(annotation):
        return TypeLimits(is_light=True)
    survey = _LimitFinder()
    check = survey.of(annotation)
    degrees = [degree_of(each) for each in patterns]
    if degrees:
        survey.bound(_MOST_MATCHED)
    most_objects = _MOST_FIELDS // max(survey.heaviest, 1)
    return TypeLimits(
        most=survey.most,
        most_objects=most_objects if most_objects < MOST_CONTAINERS else None,
        longest=longest_of(max(degrees, default=1)),
        check=check,
    )


def _is_light(annotation: Any) -> bool:
    if get_origin(annotation) in _UNIONS:
        return all(_is_light(each) for each in get_args(annotation))
    return get_origin(annotation) is None and _listed(annotation, _LIGHT)


def _listed(annotation: Any, known: Iterable[Any]) -> bool:
    return any(annotation is each for each in known)


class _LimitFinder:
    """A traversal of one annotation that computes its limits and builds its check."""

    def __init__(self) -> None:
        self.most: int | None = None
        # Cost of the most expensive object, in fields.
        self.heaviest = 0
        self._is_hashed = False
        # Checks by class; a recursive class looks up its own check here when it runs.
        self._classes: dict[Any, Check | None] = {}

    def of(self, annotation: Any) -> Check | None:
        """Return the check of a type; None if there is nothing to check."""
        origin, args = get_origin(annotation), get_args(annotation)
        if is_model(annotation) or (
            origin is Annotated and read_metadata(args[1:]).pydantic_only is not None
        ):
            self.bound(MOST_STEPS)  # the rest is bounded in `pydantic_models`
            self._weigh(_weight_of_model(annotation))
            return None
        if origin is Literal:
            return None
        inner = unwrapped_type(annotation)
        if inner is not None:
            return self.of(inner)
        if origin in _UNIONS:
            return _each(self.of(arg) for arg in args)
        base = origin or annotation
        if base in _SETS:
            return self._set(args[0] if args else Any)
        if base in _MAPPINGS:
            return self._mapping(*(args or (str, Any)))
        if not args or fields_of(annotation) is not None:
            return self._class(annotation)
        return _in_items([self.of(arg) for arg in args if arg is not ...], base is tuple)

    def _set(self, item: Any) -> Check | None:
        self._weigh(_SET)
        inner = _in_items([self._hashed(item)], False)
        if _is_safe(item):
            return inner
        self.bound(_MOST_HASHED)
        return _each([inner, _of_items(item)])

    def _mapping(self, key: Any, value: Any) -> Check | None:
        self._hashed(key)
        inner = _in_members(self.of(value))
        if _is_safe(key):
            return inner
        self.bound(_MOST_HASHED)
        return _each([inner, _of_keys(key)])

    def _hashed(self, annotation: Any) -> Check | None:
        before, self._is_hashed = self._is_hashed, True
        check = self.of(annotation)
        self._is_hashed = before
        return check

    def _class(self, annotation: Any) -> Check | None:
        if is_path(annotation):
            self.bound(_MOST_PATHS)
        elif annotation in _MOST_VALUES:
            is_decimal = annotation is decimal.Decimal
            hashed = _MOST_HASHED_DECIMALS if is_decimal else _MOST_HASHED
            self.bound(hashed if self._is_hashed else _MOST_VALUES[annotation])
        fields = fields_of(annotation)
        if fields is None:
            return None
        if annotation in self._classes:
            return lambda value: _apply(self._classes[annotation], value)
        self._classes[annotation] = None
        if not is_typeddict(annotation):  # a TypedDict gets no defaults
            self._weigh(_weight_of(fields))
        checks = {field.name: self.of(field.type) for field in fields}
        found = {name: check for name, check in checks.items() if check is not None}
        if not found:
            return None
        made = _in_items([*checks.values()], True) if is_array(annotation) else _in_fields(found)
        self._classes[annotation] = made
        return made

    def _weigh(self, weight: int) -> None:
        self.heaviest = max(self.heaviest, weight)

    def bound(self, most: int) -> None:
        """Lower the limit on values to this."""
        self.most = most if self.most is None else min(self.most, most)


def _weight_of(fields: Iterable[Field]) -> int:
    """Return the cost of an instance of a class, in fields."""
    return sum((1 + _CONTAINER * _is_made_anew(each) for each in fields), _OBJECT)


def _is_made_anew(field: Field) -> bool:
    """Test whether each instance gets a new default."""
    is_by_factory = field.default is MISSING and not field.required
    return is_by_factory or is_mutable(field.default)


def _weight_of_model(annotation: Any) -> int:
    """Return the cost of the most expensive class in a model, in fields.

    Schemas of pydantic may omit defaults, so every array or object counts as a new default."""
    heaviest, todo = 0, list(schema_of_model(annotation))
    for each in todo:  # grows during iteration
        members: dict[str, Any] = each.get("properties", {})
        flat = sum(_is_flat(member) for member in members.values())
        heaviest = max(heaviest, _OBJECT + flat + (1 + _CONTAINER) * (len(members) - flat))
        for inner in each.values():
            parts: list[Any] = inner if isinstance(inner, list) else [inner]  # pyright: ignore[reportUnknownVariableType]
            todo += [part for part in parts if isinstance(part, dict)]
    return heaviest


def _is_flat(schema: Any) -> bool:
    """Test for a schema of scalars, which neither an array nor an object fits."""
    return isinstance(schema, dict) and cast(Schema, schema).get("type") in _FLAT


def _is_safe(annotation: Any) -> bool:
    """Test for a type that is hashed with a secret, or has few values."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _is_safe(args[0])
    if origin in _UNIONS:
        return all(map(_is_safe, args))
    if origin is Literal or is_kind(annotation, enum.Enum) or is_path(annotation):
        return True
    return _listed(annotation, _SAFE)


def _apply(check: Check | None, value: Any) -> None:
    if check is not None:
        check(value)


def _each(checks: Iterable[Check | None]) -> Check | None:
    found = [check for check in checks if check is not None]
    if len(found) < 2:
        return found[0] if found else None

    def check(value: Any) -> None:
        for one in found:
            one(value)

    return check


def _in_items(checks: list[Check | None], is_fixed: bool) -> Check | None:
    """Build the check of an array: with `is_fixed` one check per item, else all for each item."""
    if not any(checks):
        return None
    if not is_fixed or len(checks) == 1:
        every = _each(checks)

        def check(value: Any) -> None:
            if value.__class__ is list:
                for item in value:
                    _apply(every, item)
    else:

        def check(value: Any) -> None:
            if value.__class__ is list:
                for one, item in zip(checks, value, strict=False):
                    _apply(one, item)

    return check


def _in_members(inner: Check | None) -> Check | None:
    if inner is None:
        return None

    def check(value: Any) -> None:
        if value.__class__ is dict:
            for member in value.values():
                inner(member)

    return check


def _in_fields(checks: dict[str, Check]) -> Check:
    def check(value: Any) -> None:
        if value.__class__ is dict:
            for name, one in checks.items():
                if name in value:
                    one(value[name])

    return check


def _of_items(item: Any) -> Check:
    native = codec_of(list[item]).native

    def check(value: Any) -> None:
        if value.__class__ is list and len(value) > FEW:
            _compare(_readable(value, native), SET)

    return check


def _of_keys(key: Any) -> Check:
    native = codec_of(list[key]).native

    def check(value: Any) -> None:
        if value.__class__ is dict and len(value) > FEW:
            _compare(_readable(list(value), native), DICT)

    return check


def _readable(values: list[Any], native: Any) -> list[Any]:
    """Convert the values that would be hashed: all before the first that does not fit."""
    try:
        return cast(list[Any], convert(values, native, strict=False))
    except msgspec.ValidationError as error:
        place = str(error).rpartition(" - at `$[")[2].partition("]")[0]
        count = int(place) if place.isdecimal() else 0
        return cast(list[Any], convert(values[:count], native, strict=False))


def _compare(values: list[Any], layout: Layout) -> None:
    try:
        check_collisions(values, layout)
    except TypeError:  # not hashable; refused by the decoder
        return
