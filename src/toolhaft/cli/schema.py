"""What a JSON schema says about one argument: which types it takes, and how to say so in short."""

import json
from typing import Any, TypeAlias, cast

Schema: TypeAlias = dict[str, Any]

TYPES = frozenset({"string", "integer", "number", "boolean", "null", "array", "object"})

_SHORT = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
}
_TYPE_OF = {
    "str": "string",
    "bool": "boolean",
    "int": "integer",
    "float": "number",
    "list": "array",
    "dict": "object",
}
_LONGEST_DEFAULT = 30


def resolved(schema: Schema, root: Schema) -> Schema:
    """The schema that a `$ref` inside of the same document leads to."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return schema
    found: Any = root
    for key in reference[2:].split("/"):
        found = found.get(key.replace("~1", "/").replace("~0", "~"), {})
    return cast(Schema, found)


def types_of(schema: Schema, root: Schema) -> frozenset[str]:
    """The types that a value may have; all of them, if the schema does not say."""
    schema = resolved(schema, root)
    choices = _choices(schema)
    if choices:
        return frozenset[str]().union(*(types_of(choice, root) for choice in choices))
    if "type" in schema:
        named: str | list[str] = schema["type"]
        return frozenset([named] if isinstance(named, str) else named)
    if "enum" in schema or "const" in schema:
        return frozenset(_type_of(value) for value in _values(schema))
    return TYPES


def fits(value: Any, types: frozenset[str]) -> bool:
    """Is a JSON value of one of these types?"""
    type_ = _type_of(value)
    if type_ == "integer":
        return bool(types & {"integer", "number"})
    whole = isinstance(value, float) and value.is_integer()
    return type_ in types or (whole and "integer" in types)


def signature(name: str, schema: Schema) -> str:
    """A tool in one line, as if it were a function; what is required comes first."""
    properties: dict[str, Schema] = schema.get("properties", {})
    required: list[str] = schema.get("required", [])
    first = [key for key in properties if key in required]
    last = [key for key in properties if key not in required]
    shown = [f"{key}: {short(properties[key])}" for key in first]
    shown += [_optional(key, properties[key]) for key in last]
    return f"{name}({', '.join(shown)})"


def short(schema: Schema) -> str:
    """A type in a word or two."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema or "const" in schema:
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in _values(schema))
    choices = _choices(schema)
    if choices:
        return " | ".join(dict.fromkeys(short(choice) for choice in choices))
    named: str | list[str] = schema.get("type", "any")
    types = [named] if isinstance(named, str) else named
    return " | ".join(_short_type(type_, schema) for type_ in types)


def _short_type(type_: str, schema: Schema) -> str:
    items: Any = schema.get("items")
    if type_ == "array" and isinstance(items, dict) and items:
        return f"list[{short(cast(Schema, items))}]"
    return _SHORT.get(type_, type_)


def _optional(name: str, schema: Schema) -> str:
    default = json.dumps(schema.get("default"), ensure_ascii=False)
    if schema.get("default") is None or len(default) > _LONGEST_DEFAULT:
        return f"{name}?: {short(schema)}"
    return f"{name}: {short(schema)} = {default}"


def _choices(schema: Schema) -> list[Schema]:
    return cast(
        list[Schema], schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf") or []
    )


def _values(schema: Schema) -> list[Any]:
    return [schema["const"]] if "const" in schema else list(schema["enum"])


def _type_of(value: Any) -> str:
    return _TYPE_OF.get(type(value).__name__, "null")
