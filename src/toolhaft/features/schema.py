"""Python types to JSON Schema (2020-12), as a model wants to read it.

Lean on purpose: no titles, the author's order, `$ref` only where a type contains itself. What is
published is what the decoder accepts; a type that has no schema is refused when it is registered.
"""

import datetime
import decimal
import enum
import types
import typing
import uuid
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Literal, NotRequired, Required, Union, cast, get_args, get_origin

import msgspec

from .fields import MISSING, Field, fields_of, is_kind, is_named_tuple, is_path
from .models import is_model, or_null, schema_of_model
from .notes import Notes, read_notes

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
# Constraints, and what JSON Schema calls them.
_CONSTRAINTS = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}
_LENGTHS = {"string": "Length", "array": "Items", "object": "Properties"}


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
    properties: Iterable[tuple[str, object, str | None, object]],
    required: Sequence[str],
    *,
    published: bool = True,
) -> Schema:
    """The schema of an object: each property with its type, description and default.

    A default of `MISSING` is none. What is not published is for ourselves, and says all that is
    accepted: None where it is the default, and what is twice in a set."""
    builder = _Builder(given=published, unique=published)
    members: Schema = {}
    for name, annotation, description, default in properties:
        member = dict(builder.member(annotation, default))
        if description is not None:
            member["description"] = description
        if default is not MISSING and default is not None:
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
        member["default"] = msgspec.to_builtins(default, enc_hook=_plain)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return  # not a JSON value: the parameter is optional all the same


def _plain(value: object) -> str:
    """Of what msgspec does not know, paths are the defaults that say something to a reader."""
    if not is_path(type(value)):
        raise TypeError("not a JSON value")
    return str(value)


class _Builder:
    """Walks one annotation; remembers what it is inside of, to find recursion."""

    def __init__(self, *, given: bool = False, unique: bool = True) -> None:
        # Is it about what a client gives us? Then whoever means None may leave it out.
        self._given = given
        self._unique = unique
        self.shared: dict[str, Schema] = {}
        # Names in `$defs`, by the type they stand for.
        self._names: dict[object, str] = {}
        self._inside: list[object] = []
        self._recursive: set[object] = set()

    def member(self, annotation: Any, default: object) -> Schema:
        """The schema of a member that may have a default."""
        schema = self.of(annotation)
        if self._given and default is None:
            _drop_null(schema)
        return schema

    def of(self, annotation: object) -> Schema:
        """The schema of a type."""
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
            return self._annotated(annotation, args[0], read_notes(args[1:]))
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
            unique = {"uniqueItems": True} if self._unique else {}
            return {"type": "array", **self._items(args[0]), **unique}
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
        return or_null({"anyOf": members})

    def _annotated(self, annotation: Any, base: Any, notes: Notes) -> Schema:
        schema = self.of(base) if notes.beyond is None else self._of_model(annotation)
        _constrain(schema, notes.bounds)
        if notes.description is not None:
            schema["description"] = notes.description
        schema.update(notes.extra)
        return schema

    def _of_class(self, annotation: Any) -> Schema:
        if isinstance(annotation, typing.NewType):
            return self.of(annotation.__supertype__)
        alias = getattr(annotation, "__value__", None)  # `type X = …`
        if alias is not None:
            return self.of(alias)
        if is_kind(annotation, enum.Enum):
            return _choices(tuple(member.value for member in annotation))
        if is_path(annotation) or annotation is typing.LiteralString:
            return {"type": "string"}
        if is_model(annotation):
            return self._of_model(annotation)
        fields = fields_of(annotation)
        if fields is None:
            raise UnknownType(f"{_name(annotation)} cannot be described in JSON Schema")
        if is_named_tuple(get_origin(annotation) or annotation):
            return self._of_named_tuple(fields)
        return self._of_fields(annotation, fields)

    def _of_model(self, annotation: Any) -> Schema:
        schema, shared = schema_of_model(annotation)
        self.shared |= shared
        return schema

    def _of_named_tuple(self, fields: Sequence[Field]) -> Schema:
        required = sum(field.required for field in fields)
        items = [{"description": field.name, **self.of(field.type)} for field in fields]
        return {"type": "array", "prefixItems": items, "items": False, "minItems": required}

    def _of_fields(self, annotation: object, fields: Sequence[Field]) -> Schema:
        if annotation in self._inside:
            self._recursive.add(annotation)
            return {"$ref": f"#/$defs/{self._shared_name(annotation)}"}
        self._inside.append(annotation)
        properties: Schema = {}
        for field in fields:
            properties[field.name] = member = self.member(field.type, field.default)
            if field.default is not MISSING and field.default is not None:
                _put_default(member, field.default)
        self._inside.pop()
        required = [field.name for field in fields if field.required]
        schema: Schema = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        if is_kind(annotation, msgspec.Struct) and _is_closed(annotation):
            schema["additionalProperties"] = False
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


def _is_closed(kind: Any) -> bool:
    return bool(kind.__struct_config__.forbid_unknown_fields)


def _choices(values: tuple[Any, ...]) -> Schema:
    for value in values:
        if type(value) not in _JSON_TYPES:
            raise UnknownType(f"the choice {value!r} is not a JSON value")
    kinds = list(dict.fromkeys(_JSON_TYPES[type(value)] for value in values))
    return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": list(values)}


def _drop_null(schema: Schema) -> None:
    """Some clients cannot read a choice with null, and one that may be left out needs none."""
    kinds: Any = schema.get("type")
    if isinstance(kinds, list) and "null" in kinds:
        others = [kind for kind in cast(list[str], kinds) if kind != "null"]
        schema["type"] = others[0] if len(others) == 1 else others
        if "enum" in schema:
            schema["enum"] = [choice for choice in schema["enum"] if choice is not None]
    elif {"type": "null"} in (choices := cast(list[Schema], schema.get("anyOf", []))):
        rest = [choice for choice in choices if choice != {"type": "null"}]
        del schema["anyOf"]
        schema.update(rest[0] if len(rest) == 1 else {"anyOf": rest})


def _constrain(schema: Schema, bounds: Mapping[str, Any]) -> None:
    """Put constraints into a schema, in the words that its type has for them."""
    kinds = schema.get("type")
    kind = kinds
    if isinstance(kinds, list):
        kind = next((each for each in cast(list[str], kinds) if each != "null"), None)
    suffix = _LENGTHS.get(str(kind), "Length")
    for name, value in bounds.items():
        if name.endswith("_length"):
            schema[name[:3] + suffix] = value
        else:
            schema[_CONSTRAINTS[name]] = value


def _name(annotation: object) -> str:
    return getattr(annotation, "__name__", None) or repr(annotation)
