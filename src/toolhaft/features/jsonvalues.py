"""JSON values as JSON Schema sees them: of which kinds they are, and which are the same."""

from typing import Any

import msgspec

from .explicit import resolve
from .formats import FORMATS
from .schema import Schema
from .wording import echo

NOTHING = object()
_KINDS: dict[type, frozenset[str]] = {
    str: frozenset(["string"]),
    int: frozenset(["integer", "number"]),
    float: frozenset(["number"]),
    bool: frozenset(["boolean"]),
    type(None): frozenset(["null"]),
    list: frozenset(["array"]),
    dict: frozenset(["object"]),
}
# In the order in which msgspec tries them.
_LENIENT: dict[str, Any] = {"integer": int, "number": int | float, "boolean": bool, "null": None}


def is_a(value: Any, kind: str | list[str]) -> bool:
    kinds = _KINDS.get(value.__class__, frozenset())
    if value.__class__ is float and value.is_integer():
        kinds = _KINDS[int]
    return kind in kinds if isinstance(kind, str) else not kinds.isdisjoint(kind)


def loosened(value: Any, schema: Schema) -> Any:
    """The value as msgspec would read it with `strict=False`, or as the JSON that it holds."""
    kind = schema["type"]
    kinds = [kind] if isinstance(kind, str) else kind
    for name, target in _LENIENT.items():
        if name in kinds and (read := converted(value, target)) is not NOTHING:
            return read
    if type(value) is str and ("object" in kinds or "array" in kinds):
        return _held(value)
    known = FORMATS.get(schema.get("format", ""))
    if known and known.target and converted(value, known.target) is not NOTHING:
        return echo(value)  # such as a time stamp: what it is as a string fits as well
    return value


def converted(value: Any, target: Any) -> Any:
    try:
        return msgspec.convert(value, target, strict=False)
    except ValueError:
        return NOTHING


def unpacked(value: Any, schema: Any, root: Schema) -> Any:
    """The value with JSON instead of strings that hold it, where the schema asks for it."""
    while "$ref" in schema:
        schema = resolve(root, schema["$ref"])
    if value.__class__ is str:
        kinds = _kinds(schema)
        if "string" in kinds or kinds.isdisjoint(("object", "array")):
            return value
        inside = _held(value)
        return value if inside is value else unpacked(inside, schema, root)
    if value.__class__ is dict and "properties" in schema:
        members: Schema = schema["properties"]
        return {
            name: unpacked(member, members[name], root) if name in members else member
            for name, member in value.items()
        }
    if value.__class__ is list and schema.get("items").__class__ is dict:
        return [unpacked(item, schema["items"], root) for item in value]
    return value


def _kinds(schema: Schema) -> set[str]:
    kind = schema.get("type", [])
    kinds = {kind} if isinstance(kind, str) else set(kind)
    return kinds.union(*map(_kinds, schema.get("anyOf", [])))


def _held(text: str) -> Any:
    """The object or array that a string holds as JSON; the string itself if it does not."""
    try:
        held = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text
    return held if held.__class__ in (dict, list) else text


def comparable(value: Any) -> Any:
    """A value to compare by: in JSON 1 is 1.0, and true is not 1."""
    kind = value.__class__
    if kind is dict:
        return "object", frozenset((name, comparable(member)) for name, member in value.items())
    if kind is list:
        return "array", tuple(comparable(item) for item in value)
    return ("boolean", value) if kind is bool else value


def among(value: Any, choices: list[Any]) -> bool:
    if value.__class__ is str:
        return value in choices
    key = comparable(value)
    return any(key == comparable(choice) for choice in choices)


def choices_of(schema: Schema | bool | None) -> list[Any]:
    """The values that a schema lists, if that is what it does."""
    if not isinstance(schema, dict):
        return []
    return [schema["const"]] if "const" in schema else schema.get("enum", [])
