"""JSON values in the terms of JSON Schema: types, equality, size, and conversion from strings."""

from collections.abc import Callable
from typing import Any

import msgspec

from ...encoding.json_bounds import LARGE, MOST_CONTAINERS, excess
from ..from_types import Schema
from .formats import FORMATS
from .messages import NOTHING, echo
from .supported import resolve

# JSON Schema types, by class of a decoded value.
KINDS: dict[type, frozenset[str]] = {
    str: frozenset(["string"]),
    int: frozenset(["integer", "number"]),
    float: frozenset(["number"]),
    bool: frozenset(["boolean"]),
    type(None): frozenset(["null"]),
    list: frozenset(["array"]),
    dict: frozenset(["object"]),
}
# Levels of nesting of a value, and consecutive references that are followed.
DEEPEST = 200
MOST_HOPS = 64
# Types that strings are converted to, in the order in which msgspec tries them.
_LENIENT: dict[str, Any] = {"integer": int, "number": int | float, "boolean": bool, "null": None}
_NONE: frozenset[Any] = frozenset()


def is_a(value: Any, kind: str | list[str]) -> bool:
    """Test the JSON Schema type of a value. An integer is a number, and 1.0 is an integer."""
    kinds = KINDS.get(value.__class__, _NONE)
    if value.__class__ is float and value.is_integer():
        kinds = KINDS[int]
    return kind in kinds if isinstance(kind, str) else not kinds.isdisjoint(kind)


def size_of(value: Any) -> int:
    """Count the JSON values in a value, including itself."""
    size, todo = 1, [value]
    for each in todo:  # grows during iteration
        inner = each.values() if each.__class__ is dict else each
        if each.__class__ in (dict, list):
            size += len(inner)
            todo += [child for child in inner if child.__class__ in (dict, list)]
    return size


def is_larger(value: Any, most: int) -> bool:
    """Test whether a value contains more JSON values than this, in time bounded by `most`."""
    size, todo = 1, [value]
    for each in todo:  # grows during iteration
        if each.__class__ in (dict, list):
            size += len(each)
            if size > most:
                return True
            inner = each.values() if each.__class__ is dict else each
            todo += [child for child in inner if child.__class__ in (dict, list)]
    return False


def coerced(value: Any, schema: Schema, parse: Callable[[str], Any]) -> Any:
    """Convert a value as msgspec does with `strict=False`, or parse the JSON in a string."""
    kind = schema["type"]
    kinds = [kind] if isinstance(kind, str) else kind
    for name, target in _LENIENT.items():
        if name in kinds and (read := converted(value, target)) is not NOTHING:
            return read
    if type(value) is str and ("object" in kinds or "array" in kinds):
        return parse(value)
    known = FORMATS.get(schema.get("format", ""))
    if known and known.target and converted(value, known.target) is not NOTHING:
        return echo(value)  # such as a timestamp, which msgspec accepts for a date
    return value


def converted(value: Any, target: Any) -> Any:
    """Convert a value to another type; `NOTHING` if that fails."""
    try:
        return msgspec.convert(value, target, strict=False)
    except ValueError:
        return NOTHING


def unpacked(value: Any, schema: Any, root: Schema) -> Any:
    """Parse strings that contain JSON, where the schema requires an object or array.

    Parsed strings are not searched for further ones. Values that are nested too deeply, or contain
    more values than a message may have arrays and objects, are returned unchanged.
    """
    if is_larger(value, MOST_CONTAINERS):
        return value
    return _unpacked(value, schema, root, DEEPEST)


def _unpacked(value: Any, schema: Any, root: Schema, levels: int) -> Any:
    schema = _target(schema, root)
    if schema.__class__ is not dict or not levels:
        return value
    if value.__class__ is str:
        kinds = _kinds(schema)
        is_text = "string" in kinds or kinds.isdisjoint(("object", "array"))
        return value if is_text else parsed_text(value)
    if value.__class__ is dict and "properties" in schema:
        members: Schema = schema["properties"]
        names = members if len(members) < len(value) else value
        return value | {
            name: _unpacked(value[name], members[name], root, levels - 1)
            for name in names
            if name in value and name in members
        }
    if value.__class__ is list and "items" in schema:
        each = _target(schema["items"], root)
        if each.__class__ is dict and not _is_flat(each):
            return [_unpacked(item, each, root, levels - 1) for item in value]
    return value


def _target(schema: Any, root: Schema) -> Any:
    for _ in range(MOST_HOPS):
        if schema.__class__ is not dict or "$ref" not in schema:
            return schema
        schema = resolve(root, schema["$ref"])
    return True


def _is_flat(schema: Schema) -> bool:
    """Test for a schema of scalars, which neither an object nor an array fits."""
    return "type" in schema and _kinds(schema).isdisjoint(("object", "array"))


def _kinds(schema: Any) -> set[str]:
    if schema.__class__ is not dict:
        return set()
    kind = schema.get("type", [])
    kinds = {kind} if isinstance(kind, str) else set(kind)
    return kinds.union(*map(_kinds, schema.get("anyOf", [])))


def parsed_text(text: str) -> Any:
    """Parse a string that contains a JSON object or array.

    Any other string is returned itself, as is JSON that exceeds the limits on a message."""
    try:
        if len(text) > LARGE and excess(text.encode()) is not None:
            return text
        held = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text
    return held if held.__class__ in (dict, list) else text


def comparable(value: Any) -> str | bytes | None:
    """Return a key that is equal for equal JSON values: 1 equals 1.0, and true does not equal 1.

    It is a string or bytes, since Python hashes numbers without a secret; and short, since a
    message may have very many values."""
    kind = value.__class__
    if kind is str or value is None:
        return value  # type: ignore[no-any-return]
    if kind is dict:
        members = sorted(b"%b:%b" % (_part(name), _part(each)) for name, each in value.items())
        return b"{%b}" % b",".join(members)
    if kind is list:
        return b"[%b]" % b",".join(map(_part, value))
    if kind is float and value.is_integer():
        value = int(value)
    return str(value).encode()


def _part(value: Any) -> bytes:
    """Return the key of a nested value, with strings quoted."""
    found = comparable(value)
    return found if isinstance(found, bytes) else ascii(found).encode()


def same(value: Any, other: Any) -> bool:
    """Test two JSON values for equality, without copying them."""
    kind = value.__class__
    if kind is list and other.__class__ is list:
        return len(value) == len(other) and all(map(same, value, other))
    if kind is dict and other.__class__ is dict:
        return value.keys() == other.keys() and all(
            same(value[name], other[name]) for name in other
        )
    return (kind is bool) == (other.__class__ is bool) and bool(value == other)


def among(value: Any, choices: list[Any]) -> bool:
    """Test whether a list contains a value, by JSON equality."""
    if value.__class__ is str:
        return value in choices
    return any(same(value, choice) for choice in choices)


def choices_of(schema: Schema | bool | None) -> list[Any]:
    """Return the values in the `const` or `enum` of a schema; empty if it has neither."""
    if not isinstance(schema, dict):
        return []
    return [schema["const"]] if "const" in schema else schema.get("enum", [])
