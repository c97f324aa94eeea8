"""What a JSON schema says about one argument: which types and which values it takes."""

from typing import Any, TypeAlias, cast

from ...schema.validation.supported import resolve

Schema: TypeAlias = dict[str, Any]

TYPES = frozenset({"string", "integer", "number", "boolean", "null", "array", "object"})

_TYPE_OF = {
    "str": "string",
    "bool": "boolean",
    "int": "integer",
    "float": "number",
    "list": "array",
    "dict": "object",
}


# Servers may be of any make: a choice within a choice may lead back to itself.
_DEEPEST = 16


def resolved(schema: Schema, root: Schema) -> Schema:
    """The schema that a `$ref` inside of the same document leads to; one that says nothing, if it
    leads nowhere."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return schema
    try:
        found = resolve(root, reference)
    except (LookupError, TypeError, ValueError):
        return {}
    return cast(Schema, found) if isinstance(found, dict) else {}


def types_of(schema: Schema, root: Schema, *, levels: int = _DEEPEST) -> frozenset[str]:
    """The types that a value may have; all of them, if the schema does not say."""
    schema = resolved(schema, root)
    choices = choices_of(schema) if levels else []
    if choices:
        each = (types_of(choice, root, levels=levels - 1) for choice in choices)
        return frozenset[str]().union(*each)
    if "type" in schema:
        named: str | list[str] = schema["type"]
        return frozenset([named] if isinstance(named, str) else named)
    if "enum" in schema or "const" in schema:
        return frozenset(_type_of(value) for value in values_of(schema))
    return TYPES


def fits(value: Any, types: frozenset[str]) -> bool:
    """Is a JSON value of one of these types?"""
    type_ = _type_of(value)
    if type_ == "integer":
        return bool(types & {"integer", "number"})
    whole = isinstance(value, float) and value.is_integer()
    return type_ in types or (whole and "integer" in types)


def ordered(schema: Schema) -> list[tuple[str, Schema, bool]]:
    """The properties of an object, each with whether it is required; these come first."""
    properties: dict[str, Schema] = schema.get("properties", {})
    required: list[str] = schema.get("required", [])
    found = [(name, member, name in required) for name, member in properties.items()]
    return sorted(found, key=lambda each: not each[2])


def items_of(schema: Schema, root: Schema) -> Schema:
    """What a list holds; of a union, what its first list does."""
    schema = resolved(schema, root)
    for choice in (schema, *choices_of(schema)):
        items: Any = resolved(choice, root).get("items")
        if isinstance(items, dict):
            return cast(Schema, items)
    return {}


def object_of(schema: Schema, root: Schema) -> Schema:
    """The schema itself if it is of an object; of a union, its first object."""
    schema = resolved(schema, root)
    for choice in (schema, *choices_of(schema)):
        found = resolved(choice, root)
        if found.get("type") == "object" or "properties" in found:
            return found
    return {}


def choices_of(schema: Schema) -> list[Schema]:
    """The members of a union; none, if it is no union."""
    return cast(
        list[Schema], schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf") or []
    )


def values_of(schema: Schema) -> list[Any]:
    """The only values that are allowed; none, if the schema does not name them."""
    return [schema["const"]] if "const" in schema else list(schema.get("enum", ()))


def _type_of(value: Any) -> str:
    return _TYPE_OF.get(type(value).__name__, "null")
