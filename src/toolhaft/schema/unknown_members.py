"""Members of objects that their class does not have, found in the text of a value.

A key that is misspelled is to be refused wherever it stands. msgspec can do that for structs which
are declared so, and not for dataclasses, attrs classes or TypedDicts, whose unknown members it
skips. So each class gets a twin here: a struct with the same names that forbids all others, and
leaves the values unread. The text is decoded a second time, into twins, which fails where a member
is unknown.

That takes half as long as the first time, and can mostly be left out: if there are as many colons
in the text as members that had to be given, there is no place for another one.
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

from .annotated import read_notes
from .codecs import Decode
from .fields import Field, behind, fields_of, is_array, is_kind
from .pydantic_models import is_model

Count: TypeAlias = Callable[[Any], int]

# For types that are known at run time only.
_ListOf: Any = list
_DictOf: Any = dict
_TupleOf: Any = tuple
_OneOf: Any = Literal
_UNIONS = (Union, types.UnionType)
_MAPPINGS = (dict, abc.Mapping, abc.MutableMapping)
_LISTS = (list, abc.Sequence, abc.Iterable, abc.MutableSequence, abc.Collection)
_SETS = (set, frozenset, abc.Set, abc.MutableSet)
# Read again as they are, which is quicker than to leave them unread.
_NUMBERS = frozenset({int, float, bool})


class _Least(NamedTuple):
    """How many members the text of a value has at least."""

    fixed: int = 0
    # What depends on the value.
    inside: Count | None = None


class _Twin(NamedTuple):
    """What is made of an annotation. Without a class in it, the type is `Raw` or a number."""

    type: Any = Raw
    least: _Least = _Least()
    has_class: bool = False


def unknown_checker(annotation: Any, *, strict: bool) -> Callable[[bytes], Any] | None:
    """What reads the text of a value of this type only to find unknown members in it; None if
    there is no class whose members could be unknown.

    The function that is returned raises `msgspec.ValidationError` for an unknown member.
    """
    twin = _Twins().of(annotation)
    return _decoder(twin.type, strict).decode if twin.has_class else None


def refusing_unknown(
    decode: Decode, parameters: Iterable[tuple[str, Any, bool]], *, strict: bool
) -> Decode:
    """A decoder of arguments that also refuses unknown members inside of them.

    Args:
        decode: makes an object with one attribute per parameter, and refuses unknown arguments.
        parameters: the name and the type of each, and whether it is required.
    """
    twins = _Twins()
    found = [(name, twins.of(kind), required) for name, kind, required in parameters]
    closed = [(name, twin.type, None) for name, twin, _ in found if twin.has_class]
    if not closed:
        return decode
    # All other arguments are unknown to it, and skipped.
    find = _decoder(msgspec.defstruct("Arguments", closed), strict).decode
    least = _sum_of([(attrgetter(name), twin.least) for name, twin, required in found if required])
    return _closed(decode, find, least)


def refusing_unknown_inside(decode: Decode, annotation: Any, *, strict: bool) -> Decode:
    """A decoder of values of one type that also refuses unknown members of objects in them."""
    twin = _Twins().of(annotation)
    if not twin.has_class:
        return decode
    return _closed(decode, _decoder(twin.type, strict).decode, twin.least)


def _closed(decode: Decode, find: Decode, known: _Least) -> Decode:
    """A decoder that also looks for unknown members, unless there is no place for one."""
    fixed, inside = known

    def decode_closed(raw: Raw | bytes) -> Any:
        made = decode(raw)
        try:
            least = fixed if inside is None else fixed + inside(made)
        except (TypeError, AttributeError, LookupError):  # its __post_init__ has altered an object
            least = -1
        if bytes(raw).count(b":") != least:
            find(raw)
        return made

    return decode_closed


def _decoder(twin: Any, strict: bool) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(twin, strict=strict)


def _sum_of(parts: Sequence[tuple[Callable[[Any], Any], _Least]]) -> _Least:
    """The members of an object whose required ones are these."""
    fixed = len(parts) + sum(least.fixed for _, least in parts)
    counts = [(get, least.inside) for get, least in parts if least.inside is not None]
    if not counts:
        return _Least(fixed)
    if len(counts) == 1:
        [(get, count)] = counts
        return _Least(fixed, _in_one(get, count))

    def in_some(value: Any) -> int:
        return sum([count(get(value)) for get, count in counts])

    return _Least(fixed, in_some)


def _in_one(get: Callable[[Any], Any], count: Count) -> Count:
    return lambda value: count(get(value))


def _in_each(least: _Least) -> Count | None:
    """The members in the items of a list."""
    fixed, inside = least
    if inside is not None:
        return lambda value: fixed * len(value) + sum(map(inside, value))
    return (lambda value: fixed * len(value)) if fixed else None


def _in_values(least: _Least) -> Count:
    """The members of a dict, and those in its values."""
    each, inside = least.fixed + 1, least.inside
    if inside is not None:
        return lambda value: each * len(value) + sum(map(inside, value.values()))
    return lambda value: each * len(value)


def _unless_none(least: _Least) -> Count:
    fixed, inside = least
    if inside is not None:
        return lambda value: 0 if value is None else fixed + inside(value)
    return lambda value: 0 if value is None else fixed


class _Twins:
    """Makes the twins of the classes in some annotations, one for each class."""

    def __init__(self) -> None:
        self._made: dict[Any, _Twin] = {}
        # Classes whose fields are being looked at, by the name that stands for the twin meanwhile.
        self._begun: dict[Any, str] = {}

    def of(self, annotation: Any) -> _Twin:
        """The twin of a type."""
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is Annotated and read_notes(args[1:]).beyond is not None:
            return _Twin()  # pydantic reads it
        inner = behind(annotation)
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
            least = _Least(0, _in_values(value.least))
            return _Twin(_DictOf[str, value.type], least, True) if value.has_class else _Twin()
        if origin in _LISTS or (origin is tuple and args[-1] is ...):
            item = self.of(args[0])
            least = _Least(0, _in_each(item.least))
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
        # What is no class stays as it is, so that one is told from the other as before.
        members = [
            twin.type if twin.has_class else arg for twin, arg in zip(twins, args, strict=True)
        ]
        union: Any = Union[tuple(members)]  # noqa: UP007 - the members are in a list
        if not self._begun:  # the union of a field is one that msgspec knows, or is not registered
            try:
                _decoder(union, strict=False)
            except TypeError:
                return _Twin()  # our own reader tries its members, and checks each of them itself
        if len(args) == 2 and type(None) in args:
            least = twins[0 if args[1] is type(None) else 1].least
            return _Twin(union, _Least(0, _unless_none(least)), True)
        return _Twin(union, has_class=True)

    def _class(self, annotation: Any) -> _Twin:
        if annotation in self._made:
            return self._made[annotation]
        if annotation in self._begun:
            return _Twin(ForwardRef(self._begun[annotation]), has_class=True)
        fields = fields_of(annotation)
        if fields is None:
            return _Twin(annotation if annotation in _NUMBERS else Raw)
        name = self._begun[annotation] = f"Twin{len(self._made) + len(self._begun)}"
        inside = [self.of(field.type) for field in fields]
        del self._begun[annotation]
        twin = _twin_of(annotation, name, fields, inside)
        for other in (*self._made.values(), twin):
            if isinstance(other.type, type):  # one of its fields may refer to this name
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
    # Members of a TypedDict may have names that no attribute can have.
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
    except ValueError:  # a name with a quote in it or the like; what is inside stays unchecked
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
    """What reads each field of an object."""
    if is_typeddict(base):
        return [itemgetter(field.name) for field in fields]
    if is_kind(base, msgspec.Struct):
        return [attrgetter(name) for name in base.__struct_fields__]
    return [attrgetter(field.name) for field in fields]
