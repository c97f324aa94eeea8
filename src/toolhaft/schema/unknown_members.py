"""Detection of unknown members of objects, in the JSON text of a value.

A misspelled key must be refused at any depth. msgspec can refuse it for structs with
`forbid_unknown_fields`, but skips unknown members of dataclasses, attrs classes and TypedDicts. So
each class gets a twin here: a struct with the same field names that forbids all others and leaves
the values raw. The text is decoded a second time, into twins, which fails at an unknown member.

The second pass takes half as long as the first, and is skipped for most values: if the text has as
many colons as the value has required members, it has no other members.
"""

import types
from collections import abc
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter, itemgetter
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    NamedTuple,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    is_typeddict,
)

import msgspec
from msgspec import Raw

from .annotated import read_metadata
from .codecs import Decode
from .fields import Field, fields_of, is_array, is_kind, unwrapped_type
from .pydantic_models import is_model

Count: TypeAlias = Callable[[Any], int]

# Aliases for subscription with types that are known only at run time.
_ListOf: Any = list
_DictOf: Any = dict
_TupleOf: Any = tuple
_OneOf: Any = Literal
_UNIONS = (Union, types.UnionType)
_MAPPINGS = (dict, abc.Mapping, abc.MutableMapping)
_LISTS = (list, abc.Sequence, abc.Iterable, abc.MutableSequence, abc.Collection)
_SETS = (set, frozenset, abc.Set, abc.MutableSet)
# Decoded in twins as well, which is faster than keeping them as `Raw`.
_NUMBERS = frozenset({int, float, bool})


class _MemberCount(NamedTuple):
    """The least number of members in the JSON text of a value."""

    fixed: int = 0
    # Counts the members that depend on the value; None if there are none.
    inside: Count | None = None


class _Twin(NamedTuple):
    """The twin of an annotation. If it contains no class, the type is `Raw` or a number."""

    type: Any = Raw
    least: _MemberCount = _MemberCount()
    has_class: bool = False


def unknown_checker(annotation: Any, *, strict: bool) -> Callable[[bytes], Any] | None:
    """Create a check of JSON text for unknown members of objects; None if the type has no class.

    The function that is returned raises `msgspec.ValidationError` for an unknown member.
    """
    twin = _Twins().of(annotation)
    return _decoder(twin.type, strict).decode if twin.has_class else None


def refusing_unknown(
    decode: Decode, parameters: Iterable[tuple[str, Any, bool]], *, strict: bool
) -> Decode:
    """Extend a decoder of arguments so that it refuses unknown members of objects in them.

    Args:
        decode: returns an object with one attribute per parameter, and refuses unknown arguments.
        parameters: the name and type of each, and whether it is required.
    """
    twins = _Twins()
    found = [(name, twins.of(kind), required) for name, kind, required in parameters]
    closed = [(name, twin.type, None) for name, twin, _ in found if twin.has_class]
    if not closed:
        return decode
    # This struct allows unknown fields, so it skips all other arguments.
    find = _decoder(msgspec.defstruct("Arguments", closed), strict).decode
    least = _sum_of([(attrgetter(name), twin.least) for name, twin, required in found if required])
    return _closed(decode, find, least)


def refusing_unknown_inside(decode: Decode, annotation: Any, *, strict: bool) -> Decode:
    """Extend a decoder of one type so that it refuses unknown members of objects."""
    twin = _Twins().of(annotation)
    if not twin.has_class:
        return decode
    return _closed(decode, _decoder(twin.type, strict).decode, twin.least)


def _closed(decode: Decode, find: Decode, known: _MemberCount) -> Decode:
    """Extend a decoder by the second pass, skipped if the number of colons rules members out."""
    fixed, inside = known

    def decode_closed(raw: Raw | bytes) -> Any:
        made = decode(raw)
        try:
            least = fixed if inside is None else fixed + inside(made)
        except (TypeError, AttributeError, LookupError):  # changed by a __post_init__
            least = -1
        if bytes(raw).count(b":") != least:
            find(raw)
        return made

    return decode_closed


def _decoder(twin: Any, strict: bool) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(twin, strict=strict)


def _sum_of(parts: Sequence[tuple[Callable[[Any], Any], _MemberCount]]) -> _MemberCount:
    """Count the members of an object with these required members."""
    fixed = len(parts) + sum(least.fixed for _, least in parts)
    counts = [(get, least.inside) for get, least in parts if least.inside is not None]
    if not counts:
        return _MemberCount(fixed)
    if len(counts) == 1:
        [(get, count)] = counts
        return _MemberCount(fixed, _in_one(get, count))

    def in_some(value: Any) -> int:
        return sum([count(get(value)) for get, count in counts])

    return _MemberCount(fixed, in_some)


def _in_one(get: Callable[[Any], Any], count: Count) -> Count:
    return lambda value: count(get(value))


def _in_each(least: _MemberCount) -> Count | None:
    """Count the members in the items of a list."""
    fixed, inside = least
    if inside is not None:
        return lambda value: fixed * len(value) + sum(map(inside, value))
    return (lambda value: fixed * len(value)) if fixed else None


def _in_values(least: _MemberCount) -> Count:
    """Count the members of a dict and those in its values."""
    each, inside = least.fixed + 1, least.inside
    if inside is not None:
        return lambda value: each * len(value) + sum(map(inside, value.values()))
    return lambda value: each * len(value)


def _unless_none(least: _MemberCount) -> Count:
    fixed, inside = least
    if inside is not None:
        return lambda value: 0 if value is None else fixed + inside(value)
    return lambda value: 0 if value is None else fixed


class _Twins:
    """Creates twins of annotations, with one twin per class."""

    def __init__(self) -> None:
        self._made: dict[Any, _Twin] = {}
        # Names of the twins under construction, by class, for references from recursive types.
        self._in_progress: dict[Any, str] = {}

    def of(self, annotation: Any) -> _Twin:
        """Return the twin of a type."""
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is Annotated and read_metadata(args[1:]).pydantic_only is not None:
            return _Twin()  # pydantic reads it
        inner = unwrapped_type(annotation)
        if inner is not None:
            return self.of(inner)
        if origin in _UNIONS:
            return self._union(args)
        if origin is Literal or is_model(annotation):
            return _Twin()
        if not args or fields_of(annotation) is not None:
            return self._class(annotation)
        return self._container(origin, args)

    def _container(self, origin: Any, args: tuple[Any, ...]) -> _Twin:
        if origin in _MAPPINGS:
            value = self.of(args[1])
            least = _MemberCount(0, _in_values(value.least))
            return _Twin(_DictOf[str, value.type], least, True) if value.has_class else _Twin()
        if origin in _LISTS or (origin is tuple and args[-1] is ...):
            item = self.of(args[0])
            least = _MemberCount(0, _in_each(item.least))
            return _Twin(_ListOf[item.type], least, True) if item.has_class else _Twin()
        items = [self.of(arg) for arg in args]
        if not any(item.has_class for item in items):
            return _Twin()
        if origin in _SETS:
            return _Twin(_ListOf[items[0].type], has_class=True)
        if origin is tuple:
            return _Twin(_TupleOf[tuple(item.type for item in items)], has_class=True)
        return _Twin()

    def _union(self, args: tuple[Any, ...]) -> _Twin:
        twins = [self.of(arg) for arg in args]
        if not any(twin.has_class for twin in twins):
            return _Twin()
        # Other members keep their types, so that msgspec selects the same member as before.
        members = [
            twin.type if twin.has_class else arg for twin, arg in zip(twins, args, strict=True)
        ]
        union: Any = Union[tuple(members)]  # noqa: UP007 - the members are in a list
        if not self._in_progress:  # msgspec supports unions in fields, or registration failed
            try:
                _decoder(union, strict=False)
            except TypeError:
                return _Twin()  # the hook for unions checks each member itself
        if len(args) == 2 and type(None) in args:
            least = twins[0 if args[1] is type(None) else 1].least
            return _Twin(union, _MemberCount(0, _unless_none(least)), True)
        return _Twin(union, has_class=True)

    def _class(self, annotation: Any) -> _Twin:
        if annotation in self._made:
            return self._made[annotation]
        if annotation in self._in_progress:
            return _Twin(ForwardRef(self._in_progress[annotation]), has_class=True)
        fields = fields_of(annotation)
        if fields is None:
            return _Twin(annotation if annotation in _NUMBERS else Raw)
        name = self._in_progress[annotation] = f"Twin{len(self._made) + len(self._in_progress)}"
        inside = [self.of(field.type) for field in fields]
        del self._in_progress[annotation]
        twin = _twin_of(annotation, name, fields, inside)
        for other in (*self._made.values(), twin):
            if isinstance(other.type, type):  # a field may have a forward reference to this name
                setattr(other.type, name, twin.type)
        self._made[annotation] = twin
        return twin


def _twin_of(kind: Any, name: str, fields: Sequence[Field], inside: Sequence[_Twin]) -> _Twin:
    base: Any = get_origin(kind) or kind
    tags: dict[str, Any] = {}
    if is_kind(base, msgspec.Struct) and base.__struct_config__.tag is not None:
        config = base.__struct_config__
        tags = {"tag_field": config.tag_field, "tag": config.tag}
        fields, inside = fields[1:], inside[1:]
    # Keys of a TypedDict need not be identifiers.
    names = {f"field{number}": field.name for number, field in enumerate(fields)}
    try:
        struct = msgspec.defstruct(
            name,
            [(own, twin.type, None) for own, twin in zip(names, inside, strict=True)],
            rename=names,
            array_like=is_array(kind),
            forbid_unknown_fields=True,
            **tags,
        )
    except ValueError:  # such as a quote in a name; nested objects stay unchecked
        return _Twin(_DictOf[_OneOf[tuple(names.values())], Raw], has_class=True)
    if is_array(kind):
        return _Twin(struct, has_class=True)
    parts = [
        (get, twin.least)
        for get, field, twin in zip(_getters(base, fields), fields, inside, strict=True)
        if field.required
    ]
    return _Twin(struct, _sum_of(parts), True)


def _getters(base: Any, fields: Sequence[Field]) -> list[Callable[[Any], Any]]:
    """Return a getter for each field of an instance."""
    if is_typeddict(base):
        return [itemgetter(field.name) for field in fields]
    if is_kind(base, msgspec.Struct):
        return [attrgetter(name) for name in base.__struct_fields__]
    return [attrgetter(field.name) for field in fields]
