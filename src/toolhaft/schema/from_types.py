"""Python types to JSON Schema (2020-12), kept short for models.

No titles, the author's order, `$ref` only where a type contains itself. The published schema
describes what the decoder accepts. A type without a schema is refused at registration.
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

from .annotated import Metadata, read_metadata
from .fields import MISSING, Field, alias_target, fields_of, is_array, is_kind, is_path, tag_of
from .pydantic_models import is_model, or_null, schema_of_model

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
    Sequence: {"type": "array"},
    Iterable: {"type": "array"},
    Mapping: {"type": "object"},
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
# Constraints by msgspec's names, and their JSON Schema keywords.
_CONSTRAINTS = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}
# Suffix of the keywords for `min_length` and `max_length`, by JSON type.
_LENGTHS = {"string": "Length", "array": "Items", "object": "Properties"}


# Advice at the end of an error about an annotation that JSON cannot represent.
JSON_TYPES_ADVICE = "use a type that JSON can carry, such as str, int, list[str] or a dataclass"


class UnknownType(TypeError):
    """A type that JSON cannot represent."""


def schema_of(annotation: object, *, given: bool = False) -> Schema:
    """Return the schema of a type.

    Args:
        given: for input, which a client sends; otherwise for output, which the server sends.

    Raises:
        UnknownType: the type has no schema.
    """
    builder = _Builder(given=given, promised=not given)
    schema = builder.of(annotation)
    if set(schema) == {"$ref"}:  # the root must have a type, not a reference
        schema = builder.shared[schema["$ref"].removeprefix("#/$defs/")]
    if builder.shared:
        schema = {**schema, "$defs": builder.shared}
    return schema


def object_schema(
    properties: Iterable[tuple[str, object, str | None, object]],
    required: Sequence[str],
    *,
    published: bool = True,
) -> Schema:
    """Return the schema of an object: each property with its type, description and default.

    Args:
        properties: name, type, description and default; `MISSING` means no default.
        published: for clients. The unpublished schema is for validation, and describes all that is
            accepted: null where None is the default, and duplicates in a set.
    """
    builder = _Builder(given=published, exact=published)
    members: Schema = {}
    for name, annotation, description, default in properties:
        member = dict(builder.member(annotation, default))
        if description is not None:
            member["description"] = description
        if default is not MISSING and default is not None:
            _add_default(member, default)
        members[name] = member
    # Also if empty: some model APIs refuse an object schema without `properties`.
    schema: Schema = {"type": "object", "properties": members}
    if required:
        schema["required"] = list(required)
    schema["additionalProperties"] = False
    if builder.shared:
        schema["$defs"] = builder.shared
    return schema


def _add_default(member: Schema, default: object) -> None:
    try:
        plain = msgspec.to_builtins(default, enc_hook=_plain, order="deterministic")
        told = msgspec.json.decode(msgspec.json.encode(plain))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return  # not a JSON value: the parameter is optional anyway
    if told == plain:  # false for an infinity, which is encoded as null
        member["default"] = told


def _plain(value: object) -> str:
    """Encode a path (`enc_hook`); other types that msgspec does not support get no default."""
    if not is_path(type(value)):
        raise TypeError("not a JSON value")
    return str(value)


class _Builder:
    """The schema of one annotation, built recursively.

    Args:
        given: the schema describes input; null is dropped where None is the default.
        exact: include `uniqueItems`. Input with duplicates in a set is accepted without harm.
        promised: the schema describes output. Formats of times are dropped, since they require a
            time zone, which Python's times may lack.
    """

    def __init__(self, *, given: bool = False, exact: bool = False, promised: bool = False) -> None:
        self._given = given
        self._exact = exact
        self._promised = promised
        # The current type is a member of a union that is discriminated by a tag.
        self._tagged = False
        self._aliases: list[object] = []
        self.shared: dict[str, Schema] = {}
        # Names in `$defs`, by type.
        self._names: dict[object, str] = {}
        self._inside: list[object] = []
        self._recursive: set[object] = set()

    def member(self, annotation: Any, default: object) -> Schema:
        """Return the schema of a member that may have a default."""
        schema = self.of(annotation)
        if self._given and default is None:
            _drop_null(schema)
        return schema

    def of(self, annotation: object) -> Schema:
        """Return the schema of a type."""
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is typing.Annotated:  # before any lookup: its metadata may not be hashable
            return self._annotated(annotation, args[0], read_metadata(args[1:]))
        try:
            if annotation in _PLAIN:
                return self._plain(dict(_PLAIN[annotation]))
        except TypeError:
            if origin is None:
                raise UnknownType(f"{annotation!r} is not a type") from None
        alias = alias_target(annotation)
        if alias is not None:
            return self._of_alias(annotation, alias)
        if origin is None:
            return self._of_class(annotation)
        if not args and origin is not tuple:
            return self.of(origin)
        return self._of_generic(annotation, origin, args)

    def _plain(self, schema: Schema) -> Schema:
        if self._promised and schema.get("format") in ("date-time", "time", "duration"):
            del schema["format"]
        if not self._exact:
            schema.pop("uniqueItems", None)
        return schema

    def _of_alias(self, annotation: object, alias: object) -> Schema:
        if annotation in self._aliases:
            raise UnknownType(f"{_name(annotation)} is an alias that contains itself")
        self._aliases.append(annotation)
        schema = self.of(alias)
        self._aliases.pop()
        return schema

    def _of_generic(self, annotation: object, origin: Any, args: tuple[Any, ...]) -> Schema:
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
            unique = {"uniqueItems": True} if self._exact else {}
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
        tagged = sum(tag_of(arg) is not None for arg in args) > 1
        members = [self._choice(arg, tagged) for arg in args]
        if {} in members:
            return {}
        if {"type": "integer"} in members and {"type": "number"} in members:
            members.remove({"type": "integer"})
        if len(members) == 1:
            return members[0]
        # The short form for «or null» and for other unions of bare types.
        if all(set(member) == {"type"} for member in members):
            return {"type": [member["type"] for member in members]}
        return or_null({"anyOf": members})

    def _choice(self, annotation: object, tagged: bool) -> Schema:
        self._tagged = tagged and tag_of(annotation) is not None
        schema = self.of(annotation)
        self._tagged = False
        return schema

    def _annotated(self, annotation: Any, base: Any, metadata: Metadata) -> Schema:
        schema = self.of(base) if metadata.pydantic_only is None else self._of_model(annotation)
        _constrain(schema, metadata.bounds)
        if metadata.description is not None:
            schema["description"] = metadata.description
        schema.update(metadata.extra)
        return schema

    def _of_class(self, annotation: Any) -> Schema:
        if isinstance(annotation, typing.NewType):
            return self.of(annotation.__supertype__)
        if is_kind(annotation, enum.Flag):  # members can be combined
            return {"type": "integer"}
        if is_kind(annotation, enum.Enum):
            return _choices(tuple(member.value for member in annotation))
        if is_path(annotation) or annotation is typing.LiteralString:
            return {"type": "string"}
        if is_model(annotation):
            return self._of_model(annotation)
        fields = fields_of(annotation)
        if fields is None:
            raise UnknownType(
                _suggestion(annotation) or f"{_name(annotation)} cannot be described in JSON Schema"
            )
        if self._promised and hasattr(annotation, "__attrs_attrs__"):
            _check_private(annotation, fields)
        if is_array(annotation):
            return self._of_array(fields)
        return self._of_fields(annotation, fields)

    def _of_model(self, annotation: Any) -> Schema:
        schema, shared = schema_of_model(annotation, serialized=self._promised)
        for name in list(shared):
            if shared[name] != self.shared.get(name, shared[name]):
                new = f"{name}{len(self.shared) + 1}"
                schema, shared = _renamed(schema, name, new), _renamed(shared, name, new)
                shared[new] = shared.pop(name)
        self.shared |= shared
        return schema

    def _of_array(self, fields: Sequence[Field]) -> Schema:
        required = sum(field.required for field in fields)
        items = [{"description": field.name, **self.of(field.type)} for field in fields]
        return {"type": "array", "prefixItems": items, "items": False, "minItems": required}

    def _of_fields(self, annotation: object, fields: Sequence[Field]) -> Schema:
        if annotation in self._inside:
            self._recursive.add(annotation)
            return {"$ref": f"#/$defs/{self._shared_name(annotation)}"}
        self._inside.append(annotation)
        properties: Schema = {}
        tag, self._tagged = tag_of(annotation) if not self._tagged else None, False
        for field in fields:
            properties[field.name] = member = self.member(field.type, field.default)
            if field.default is not MISSING and field.default is not None:
                _add_default(member, field.default)
        self._inside.pop()
        # Outside a union the tag is optional.
        required = [field.name for field in fields if field.required and field.name != tag]
        schema: Schema = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        if not self._promised or _is_closed(annotation):
            schema["additionalProperties"] = False
        if annotation in self._recursive:
            name = self._shared_name(annotation)
            self.shared[name] = schema
            return {"$ref": f"#/$defs/{name}"}
        return schema

    def _shared_name(self, annotation: object) -> str:
        """Return the name in `$defs` of a recursive type: its own, unless another type has it."""
        if annotation not in self._names:
            name, others = _name(annotation), len(self._names)
            taken = name in self._names.values() or name in self.shared
            self._names[annotation] = f"{name}{others + 1}" if taken else name
        return self._names[annotation]


def _check_private(kind: Any, fields: Sequence[Field]) -> None:
    for field in fields:
        if field.name.startswith("_"):
            raise UnknownType(f"{_name(kind)}.{field.name} is private, and attrs keeps it so")


def _is_closed(kind: Any) -> bool:
    """Test whether a class itself forbids unknown members; for input, all classes do."""
    base: Any = get_origin(kind) or kind
    return is_kind(base, msgspec.Struct) and bool(base.__struct_config__.forbid_unknown_fields)


def _renamed(schema: Any, old: str, new: str) -> Any:
    """Rename a definition in all references to it."""
    if isinstance(schema, list):
        return [_renamed(item, old, new) for item in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, dict):
        return f"#/$defs/{new}" if schema == f"#/$defs/{old}" else schema
    return {key: _renamed(value, old, new) for key, value in cast(Schema, schema).items()}


def _choices(values: tuple[Any, ...]) -> Schema:
    for value in values:
        if type(value) not in _JSON_TYPES:
            raise UnknownType(f"the choice {value!r} is not a JSON value")
    kinds = list(dict.fromkeys(_JSON_TYPES[type(value)] for value in values))
    return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": list(values)}


def _drop_null(schema: Schema) -> None:
    """Remove null from the types of an optional member: some clients do not support such unions."""
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
    """Add constraints to a schema, by the keywords for its type."""
    kinds = schema.get("type")
    kind = kinds
    if isinstance(kinds, list):
        kind = next((each for each in cast(list[str], kinds) if each != "null"), None)
    suffix = _LENGTHS.get(str(kind), "Length")
    for name, value in bounds.items():
        if name.endswith("_length"):
            schema[name[:3] + suffix] = value
        elif name in _CONSTRAINTS:
            schema[_CONSTRAINTS[name]] = value


def _suggestion(annotation: object) -> str | None:
    """Suggest the type meant by a module or function of the same name; None if there is none."""
    if annotation is any:
        return "any is a function; write typing.Any"
    if not isinstance(annotation, types.ModuleType):
        return None
    name = annotation.__name__
    leaf = name.rpartition(".")[2]
    for other, value in vars(annotation).items():
        if other.lower() == leaf and isinstance(value, type):
            return f"{leaf} is a module; write {leaf}.{other}"
    return f"{leaf} is a module"


def _name(annotation: object) -> str:
    return getattr(annotation, "__name__", None) or repr(annotation)
