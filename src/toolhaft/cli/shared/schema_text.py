"""Schemas in the words of people: types as Python writes them, and what they are bound by."""

import json
from typing import Any, cast

from .argument_schema import Schema, choices_of, ordered, resolved, values_of

_SHORT = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
}
_LONGEST_DEFAULT = 30
_LONGEST_PATTERN = 40
_DEEPEST = 3


def parameters(schema: Schema) -> list[str]:
    """The parameters of a tool as those of a function; what is required comes first."""
    return [
        _member(name, member, short(member), required=required)
        for name, member, required in ordered(schema)
    ]


def short(schema: Schema) -> str:
    """A type in a word or two."""
    if "$ref" in schema:
        return _name_of(schema)
    if "enum" in schema or "const" in schema:
        return _alternatives(values_of(schema))
    choices = choices_of(schema)
    if choices:
        return " | ".join(dict.fromkeys(short(choice) for choice in choices))
    return " | ".join(_short_type(type_, schema) for type_ in _named_types(schema))


def full(schema: Schema, root: Schema) -> str:
    """A type with its bounds, and with the members of objects."""
    return _full(schema, root, ())


def _full(schema: Schema, root: Schema, above: tuple[str, ...]) -> str:
    if "$ref" in schema:
        name = _name_of(schema)
        target = resolved(schema, root)
        if not target or "$ref" in target or name in above or len(above) >= _DEEPEST:
            return name
        text = _full(target, root, (*above, name))
        return f"{name} {text}" if text.startswith("{") else text
    if "enum" in schema or "const" in schema:
        return short(schema)
    choices = choices_of(schema)
    if choices:
        return " | ".join(dict.fromkeys(_full(choice, root, above) for choice in choices))
    limits = bounds(schema)
    text = " | ".join(_full_type(type_, schema, root, above) for type_ in _named_types(schema))
    return f"{text} ({limits})" if limits else text


def _full_type(type_: str, schema: Schema, root: Schema, above: tuple[str, ...]) -> str:
    if len(above) >= _DEEPEST:
        return _short_type(type_, schema)
    below = (*above, "")
    if type_ == "object" and schema.get("properties"):
        members = [
            _member(name, member, _full(member, root, below), required=required)
            for name, member, required in ordered(schema)
        ]
        return f"{{{', '.join(members)}}}"
    held = _held(type_, schema)
    return _holding(type_, _full(held, root, above)) if held else _short_type(type_, schema)


def _short_type(type_: str, schema: Schema) -> str:
    if type_ == "array" and schema.get("prefixItems"):
        return f"[{', '.join(short(each) for each in schema['prefixItems'])}]"
    held = _held(type_, schema)
    return _holding(type_, short(held)) if held else _SHORT.get(type_, type_)


def _held(type_: str, schema: Schema) -> Schema:
    """What a list or a dict holds, if the schema says so."""
    held: Any = None
    if type_ == "array":
        held = schema.get("items")
    elif type_ == "object" and not schema.get("properties"):
        held = schema.get("additionalProperties")
    return cast(Schema, held) if isinstance(held, dict) else {}


def _holding(type_: str, held: str) -> str:
    return f"list[{held}]" if type_ == "array" else f"dict[str, {held}]"


def _member(name: str, schema: Schema, type_: str, *, required: bool) -> str:
    if required:
        return f"{name}: {type_}"
    default = json.dumps(schema.get("default"), ensure_ascii=False)
    if schema.get("default") is None or len(default) > _LONGEST_DEFAULT:
        return f"{name}?: {type_}"
    return f"{name}: {type_} = {default}"


def _name_of(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _named_types(schema: Schema) -> list[str]:
    named: str | list[str] = schema.get("type", "any")
    return [named] if isinstance(named, str) else named


def _alternatives(values: list[Any]) -> str:
    return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)


# Bounds


def bounds(schema: Schema) -> str:
    """What a value is bound by, such as `≥ 1`; empty if by nothing."""
    found = [
        _range(schema),
        _count(schema, "Length", "character"),
        _count(schema, "Items", "item"),
        _count(schema, "Properties", "member"),
        "all different" if schema.get("uniqueItems") is True else "",
        f"a multiple of {schema['multipleOf']}" if "multipleOf" in schema else "",
        str(schema.get("format", "")),
        str(schema.get("contentEncoding", "")),
        f"matches {_clipped(schema['pattern'])}" if "pattern" in schema else "",
    ]
    return ", ".join(text for text in found if text)


def _range(schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        return _between(least, most)
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    return ", ".join(f"{sign} {schema[key]}" for key, sign in signs.items() if key in schema)


def _count(schema: Schema, of: str, unit: str) -> str:
    least, most = schema.get(f"min{of}"), schema.get(f"max{of}")
    if least is None and most is None:
        return ""
    last = least if most is None else most
    units = unit if last == 1 else f"{unit}s"
    if most is None:
        return f"at least {least} {units}"
    if least is None:
        return f"at most {most} {units}"
    return f"{least if least == most else _between(least, most)} {units}"


def _between(least: Any, most: Any) -> str:
    return f"{least} to {most}" if str(least).startswith("-") else f"{least}\N{EN DASH}{most}"


def _clipped(pattern: str) -> str:
    return pattern if len(pattern) <= _LONGEST_PATTERN else f"{pattern[:_LONGEST_PATTERN]}…"
