"""How much a client may send for a type, where reading it costs more than its length says.

msgspec reads a value in one call of C code, during which nothing else in the process runs. That is
quick for most types. It is not where values are hashed: Python hashes numbers, and what is made of
numbers, without a secret, so that a client can send any number of integers, UUIDs or decimals that
all have the same hash. A set of n of them takes n² comparisons. Strings and bytes are hashed with a
secret.

So an annotation is looked through once, and large values of it before they are read.
"""

import datetime
import decimal
import enum
import types
from collections import abc
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, NewType, TypeAlias, Union, cast, get_args, get_origin

import msgspec
from msgspec import Struct

from ..excess import TooMuch
from .backtracking import degree_of, longest_of
from .effort import MOST_STEPS
from .fields import aliased, fields_of, is_array, is_kind, is_path
from .jsonvalues import size_of
from .kinds import convert, kind_of
from .models import is_model
from .notes import read_notes

Check: TypeAlias = Callable[[Any], None]

# So many values may collide in whatever way: to compare all of them with each other is quick.
_FEW = 500
# Of the values that are left, so many different ones may have the same hash.
MOST_ALIKE = 16
_MOST_VALUES: dict[Any, int] = {
    datetime.datetime: 500_000,
    datetime.date: 500_000,
    datetime.time: 500_000,
    datetime.timedelta: 500_000,
    decimal.Decimal: 100_000,
}
_MOST_PATHS = 100_000
_MOST_HASHED_DECIMALS = 20_000
# What reads as quickly as it can be skipped, however much there is of it.
_LIGHT = frozenset({str, int, float, bool, type(None), None, bytes})
# Hashed with a secret, or few.
_SAFE = frozenset({str, bytes, bool, type(None), None, datetime.date})
_SETS = (set, frozenset, abc.Set, abc.MutableSet)
_MAPPINGS = (dict, abc.Mapping, abc.MutableMapping)
_UNIONS = (Union, types.UnionType)


class Load(Struct, frozen=True):
    """What has to be known of a parameter before much is read for it."""

    # Whatever comes is read at once: numbers, texts and the like.
    is_light: bool = False
    # More values than this are not read.
    most: int | None = None
    # So many characters are matched with its patterns.
    longest: int | None = None
    # Looks for values that collide.
    check: Check | None = None

    @property
    def is_bounded(self) -> bool:
        """Is there anything to look at?"""
        return (self.most, self.longest, self.check) != (None, None, None)

    def admit(self, value: Any) -> None:
        """Let a value pass, of JSON as it was read.

        Raises:
            TooMuch: it may take too long to make of it what the annotation says.
        """
        if self.most is not None and (size := size_of(value)) > self.most:
            raise TooMuch(f"holds {size:,} values, and at most {self.most:,} are read")
        if self.longest is not None and (length := _length_of(value)) > self.longest:
            raise TooMuch(
                f"holds {length:,} characters, and at most {self.longest:,} are matched with a "
                "pattern that can be matched in several ways"
            )
        if self.check is not None:
            self.check(value)


def _length_of(value: Any) -> int:
    """How many characters there are in the strings of a value, and in the names of members."""
    length, todo = 0, [value]
    for each in todo:  # which grows meanwhile
        if each.__class__ is str:
            length += len(each)
        elif each.__class__ is list:
            todo += each
        elif each.__class__ is dict:
            todo += each.keys()
            todo += each.values()
    return length


def load_of(annotation: Any, patterns: Iterable[str] = ()) -> Load:
    """Look through an annotation, and at the patterns in it."""
    if _is_light(annotation):
        return Load(is_light=True)
    survey = _Survey()
    check = survey.of(annotation)
    longest = longest_of(max(map(degree_of, patterns), default=1))
    return Load(most=survey.most, longest=longest, check=check)


def _is_light(annotation: Any) -> bool:
    if get_origin(annotation) in _UNIONS:
        return all(_is_light(each) for each in get_args(annotation))
    return get_origin(annotation) is None and _listed(annotation, _LIGHT)


def _listed(annotation: Any, known: Iterable[Any]) -> bool:
    return any(annotation is each for each in known)


class _Survey:
    """One look through an annotation: what it finds, and the checks that it makes."""

    def __init__(self) -> None:
        self.most: int | None = None
        self._is_hashed = False
        # A class that contains itself is looked up here by its own check.
        self._classes: dict[Any, Check | None] = {}

    def of(self, annotation: Any) -> Check | None:
        """What checks a value of this type; None if there is nothing to check."""
        origin, args = get_origin(annotation), get_args(annotation)
        if is_model(annotation) or (
            origin is Annotated and read_notes(args[1:]).beyond is not None
        ):
            self._bound(MOST_STEPS)  # pydantic sees to the rest
            return None
        if origin is Literal:
            return None
        inner = _behind(annotation)
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
        inner = _in_items([self._hashed(item)], False)
        if _is_safe(item):
            return inner
        return _each([inner, _of_items(item)])

    def _mapping(self, key: Any, value: Any) -> Check | None:
        self._hashed(key)
        inner = _in_members(self.of(value))
        if _is_safe(key):
            return inner
        return _each([inner, _of_keys(key)])

    def _hashed(self, annotation: Any) -> Check | None:
        before, self._is_hashed = self._is_hashed, True
        check = self.of(annotation)
        self._is_hashed = before
        return check

    def _class(self, annotation: Any) -> Check | None:
        if is_path(annotation):
            self._bound(_MOST_PATHS)
        elif annotation in _MOST_VALUES:
            is_slow = self._is_hashed and annotation is decimal.Decimal
            self._bound(_MOST_HASHED_DECIMALS if is_slow else _MOST_VALUES[annotation])
        fields = fields_of(annotation)
        if fields is None:
            return None
        if annotation in self._classes:
            return lambda value: _apply(self._classes[annotation], value)
        self._classes[annotation] = None
        checks = {field.name: self.of(field.type) for field in fields}
        found = {name: check for name, check in checks.items() if check is not None}
        if not found:
            return None
        made = _in_items([*checks.values()], True) if is_array(annotation) else _in_fields(found)
        self._classes[annotation] = made
        return made

    def _bound(self, most: int) -> None:
        self.most = most if self.most is None else min(self.most, most)


def _behind(annotation: Any) -> Any:
    """What an annotation is another name for; None if it is none."""
    if get_origin(annotation) is Annotated:
        return get_args(annotation)[0]
    if isinstance(annotation, NewType):
        return annotation.__supertype__
    return aliased(annotation)


def _is_safe(annotation: Any) -> bool:
    """Is a value of this type hashed with a secret, or one of a few?"""
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
    """Checks for the items of an array: one for each of them, or each for all."""
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
    native = kind_of(list[item]).native

    def check(value: Any) -> None:
        if value.__class__ is list and len(value) > _FEW:
            _compare(_readable(value, native))

    return check


def _of_keys(key: Any) -> Check:
    native = kind_of(list[key]).native

    def check(value: Any) -> None:
        if value.__class__ is dict and len(value) > _FEW:
            _compare(_readable(list(value), native))

    return check


def _readable(values: list[Any], native: Any) -> list[Any]:
    """As many of the values as would be hashed: those before the first that does not fit."""
    try:
        return cast(list[Any], convert(values, native, strict=False))
    except msgspec.ValidationError as error:
        place = str(error).rpartition(" - at `$[")[2].partition("]")[0]
        count = int(place) if place.isdecimal() else 0
        return cast(list[Any], convert(values[:count], native, strict=False))


def _compare(values: list[Any]) -> None:
    try:
        hashes = set(map(hash, values))
    except TypeError:  # it has no hash, and is refused when it is read
        return
    if len(values) - len(hashes) <= _FEW:
        return
    different: dict[int, list[Any]] = {}
    for value in values:
        alike = different.setdefault(hash(value), [])
        if value not in alike:
            alike.append(value)
        if len(alike) > MOST_ALIKE:
            raise TooMuch(
                f"holds more than {MOST_ALIKE} different values with the same hash, as no data has "
                "by chance"
            )
