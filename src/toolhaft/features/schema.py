"""Python types to JSON Schema (2020-12), as a model wants to read it.

Lean on purpose: no titles, the author's order, `$ref` only where a type contains itself. What is
published is what the decoder accepts; a type that has no schema is refused when it is registered.
"""

import dataclasses
import datetime
import decimal
import enum
import types
import typing
import uuid
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

import msgspec

Schema: typing.TypeAlias = dict[str, Any]

_PLAIN: dict[object, Schema] = {
    Any: {},
    object: {},
    type(None): {"type": "null"},
    None: {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    bytearray: {"type": "string", "contentEncoding": "base64"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
    datetime.timedelta: {"type": "string", "format": "duration"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    decimal.Decimal: {"type": "string", "format": "decimal"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    set: {"type": "array", "uniqueItems": True},
    frozenset: {"type": "array", "uniqueItems": True},
    dict: {"type": "object"},
}
_JSON_TYPES: dict[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
_ARRAYS = (list, Sequence, Iterable)
_SETS = (set, frozenset, AbstractSet)
_MAPPINGS = (dict, Mapping)
# msgspec's constraints, and what JSON Schema calls them.
_CONSTRAINTS = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
    "description": "description",
}
_LENGTHS = {"string": "Length", "array": "Items", "object": "Properties"}


def is_kind(annotation: Any, base: type) -> bool:
    """Is this a class, and one of a kind?"""
    return isinstance(annotation, type) and issubclass(annotation, base)


class UnknownType(TypeError):
    """A type that cannot be told in JSON."""


def schema_of(annotation: object) -> Schema:
    """The schema of a type.

    Raises:
        UnknownType: there is none.
    """
    builder = _Builder()
    schema = builder.of(annotation)
    if builder.shared:
        schema = {**schema, "$defs": builder.shared}
    return schema


def object_schema(
    properties: Iterable[tuple[str, object, str | None, object]], required: Sequence[str]
) -> Schema:
    """The schema of an object: each property with its type, description and default.

    A default of `dataclasses.MISSING` is none."""
    builder = _Builder()
    members: Schema = {}
    for name, annotation, description, default in properties:
        member = dict(builder.of(annotation))
        if description is not None:
            member["description"] = description
        if default is not dataclasses.MISSING and default is not None:
            _put_default(member, default)
        members[name] = member
    schema: Schema = {"type": "object"}
    if members:
        schema["properties"] = members
    if required:
        schema["required"] = list(required)
    schema["additionalProperties"] = False
    if builder.shared:
        schema["$defs"] = builder.shared
    return schema


def _put_default(member: Schema, default: object) -> None:
    try:
        member["default"] = msgspec.to_builtins(default)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return  # not a JSON value: the parameter is optional all the same


class _Builder:
    """Walks one annotation; remembers what it is inside of, to find recursion."""

    def __init__(self) -> None:
        self.shared: dict[str, Schema] = {}
        # Names in `$defs`, by the type they stand for.
        self._names: dict[object, str] = {}
        self._inside: list[object] = []
        self._recursive: set[object] = set()

    def of(self, annotation: object) -> Schema:
        try:
            if annotation in _PLAIN:
                return dict(_PLAIN[annotation])
        except TypeError:
            raise UnknownType(f"{annotation!r} is not a type") from None
        origin = get_origin(annotation)
        if origin is None:
            return self._of_class(annotation)
        return self._of_generic(annotation, origin, get_args(annotation))

    def _of_generic(self, annotation: object, origin: Any, args: tuple[Any, ...]) -> Schema:
        if origin is typing.Annotated:
            return self._annotated(self.of(args[0]), args[1:])
        if origin in (Union, types.UnionType):
            return self._union(args)
        if origin is Literal:
            return _choices(args)
        if origin in (Required, NotRequired, typing.Final):
            return self.of(args[0])
        if origin is tuple:
            return self._tuple(args)
        if origin in _ARRAYS:
            return {"type": "array", **self._items(args[0])}
        if origin in _SETS:
            return {"type": "array", **self._items(args[0]), "uniqueItems": True}
        if origin in _MAPPINGS:
            values = self.of(args[1])
            return {"type": "object", **({"additionalProperties": values} if values else {})}
        return self._of_class(annotation)

    def _items(self, annotation: object) -> Schema:
        items = self.of(annotation)
        return {"items": items} if items else {}

    def _tuple(self, args: tuple[Any, ...]) -> Schema:
        if len(args) == 2 and args[1] is ...:
            return {"type": "array", **self._items(args[0])}
        items = [self.of(arg) for arg in args if arg != ()]
        return {
            "type": "array",
            "prefixItems": items,
            "items": False,
            "minItems": len(items),
        }

    def _union(self, args: tuple[Any, ...]) -> Schema:
        members = [self.of(arg) for arg in args]
        if {} in members:
            return {}
        # The short way to say «or null», and any other choice between bare types.
        if all(set(member) == {"type"} for member in members):
            return {"type": [member["type"] for member in members]}
        return {"anyOf": members}

    def _annotated(self, schema: Schema, notes: tuple[Any, ...]) -> Schema:
        for note in notes:
            if isinstance(note, str):
                schema["description"] = note
            elif isinstance(note, msgspec.Meta):
                schema.update(_constraints(note, schema.get("type")))
        return schema

    def _of_class(self, annotation: Any) -> Schema:
        if isinstance(annotation, typing.NewType):
            return self.of(annotation.__supertype__)
        alias = getattr(annotation, "__value__", None)  # `type X = …`
        if alias is not None:
            return self.of(alias)
        if is_kind(annotation, enum.Enum):
            return _choices(tuple(member.value for member in annotation))
        fields = _fields(annotation)
        if fields is None:
            raise UnknownType(f"{_name(annotation)} cannot be described in JSON Schema")
        return self._of_fields(annotation, fields)

    def _of_fields(self, annotation: object, fields: "list[_Field]") -> Schema:
        if annotation in self._inside:
            self._recursive.add(annotation)
            return {"$ref": f"#/$defs/{self._shared_name(annotation)}"}
        self._inside.append(annotation)
        properties: Schema = {}
        for field in fields:
            properties[field.name] = member = self.of(field.type)
            if field.default is not dataclasses.MISSING and field.default is not None:
                _put_default(member, field.default)
        self._inside.pop()
        required = [field.name for field in fields if field.required]
        schema: Schema = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        if annotation in self._recursive:
            name = self._shared_name(annotation)
            self.shared[name] = schema
            return {"$ref": f"#/$defs/{name}"}
        return schema

    def _shared_name(self, annotation: object) -> str:
        """A name for a type that contains itself: its own, unless another type has it."""
        if annotation not in self._names:
            name, others = _name(annotation), len(self._names)
            taken = name in self._names.values()
            self._names[annotation] = f"{name}{others + 1}" if taken else name
        return self._names[annotation]


class _Field(typing.NamedTuple):
    name: str
    type: object
    required: bool
    default: object = dataclasses.MISSING


def _fields(kind: Any) -> list[_Field] | None:
    """The fields of a class that travels as an object, or None if it does not."""
    base: Any = get_origin(kind) or kind
    if not is_kind(base, object):
        return None
    if is_kind(base, msgspec.Struct):
        config = base.__struct_config__
        tag = [] if config.tag is None else [_Field(config.tag_field, Literal[config.tag], True)]
        return tag + [
            _Field(
                field.encode_name,
                field.type,
                field.required,
                dataclasses.MISSING if field.default is msgspec.NODEFAULT else field.default,
            )
            for field in msgspec.structs.fields(kind)
        ]
    hints = get_type_hints(base, include_extras=True)
    if dataclasses.is_dataclass(base):
        return [_of_dataclass(field, hints) for field in dataclasses.fields(base)]
    if typing.is_typeddict(base):
        return [_Field(name, hint, _is_required(base, name, hint)) for name, hint in hints.items()]
    return None


def _is_required(kind: Any, name: str, hint: object) -> bool:
    """Python itself cannot tell where annotations are strings: then the marks are still in them."""
    if get_origin(hint) is Required:
        return True
    return get_origin(hint) is not NotRequired and name in kind.__required_keys__


def _of_dataclass(field: "dataclasses.Field[Any]", hints: dict[str, Any]) -> _Field:
    required = field.default is dataclasses.MISSING and (
        field.default_factory is dataclasses.MISSING
    )
    return _Field(field.name, hints[field.name], required, field.default)


def _choices(values: tuple[Any, ...]) -> Schema:
    for value in values:
        if type(value) not in _JSON_TYPES:
            raise UnknownType(f"the choice {value!r} is not a JSON value")
    kinds = list(dict.fromkeys(_JSON_TYPES[type(value)] for value in values))
    return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": list(values)}


def _constraints(meta: msgspec.Meta, kind: object) -> Schema:
    found: Schema = {
        theirs: getattr(meta, ours)
        for ours, theirs in _CONSTRAINTS.items()
        if getattr(meta, ours) is not None
    }
    suffix = _LENGTHS.get(str(kind), "Length")
    if meta.min_length is not None:
        found[f"min{suffix}"] = meta.min_length
    if meta.max_length is not None:
        found[f"max{suffix}"] = meta.max_length
    return found


def _name(annotation: object) -> str:
    return getattr(annotation, "__name__", None) or repr(annotation)
