"""JSON values as JSON Schema sees them: of which kinds they are, and which are the same."""

from collections.abc import Callable
from typing import Any

import msgspec

from ...encoding.json_bounds import LARGE, MOST_CONTAINERS, excess
from ..from_types import Schema
from .formats import FORMATS
from .messages import NOTHING, echo
from .supported import resolve

KINDS: dict[type, frozenset[str]] = {
    str: frozenset(["string"]),
    int: frozenset(["integer", "number"]),
    float: frozenset(["number"]),
    bool: frozenset(["boolean"]),
    type(None): frozenset(["null"]),
    list: frozenset(["array"]),
    dict: frozenset(["object"]),
}
# How deep values may be nested, and how many references may lead to each other.
DEEPEST = 200
MOST_HOPS = 64
# In the order in which msgspec tries them.
_LENIENT: dict[str, Any] = {"integer": int, "number": int | float, "boolean": bool, "null": None}
_NONE: frozenset[Any] = frozenset()


def is_a(value: Any, kind: str | list[str]) -> bool:
    """Is a value of this kind, or of one of these? An integer is a number, and so is 1.0 one."""
    kinds = KINDS.get(value.__class__, _NONE)
    if value.__class__ is float and value.is_integer():
        kinds = KINDS[int]
    return kind in kinds if isinstance(kind, str) else not kinds.isdisjoint(kind)


def size_of(value: Any) -> int:
    """How many values there are in a value."""
    size, todo = 1, [value]
    for each in todo:  # which grows meanwhile
        inner = each.values() if each.__class__ is dict else each
        if each.__class__ in (dict, list):
            size += len(inner)
            todo += [child for child in inner if child.__class__ in (dict, list)]
    return size


def is_larger(value: Any, most: int) -> bool:
    """Are there more values in a value than this? Takes no longer for one that holds far more."""
    size, todo = 1, [value]
    for each in todo:  # which grows meanwhile
        if each.__class__ in (dict, list):
            size += len(each)
            if size > most:
                return True
            inner = each.values() if each.__class__ is dict else each
            todo += [child for child in inner if child.__class__ in (dict, list)]
    return False


def loosened(value: Any, schema: Schema, held: Callable[[str], Any]) -> Any:
    """The value as msgspec would read it with `strict=False`, or as the JSON that it holds."""
    kind = schema["type"]
    kinds = [kind] if isinstance(kind, str) else kind
    for name, target in _LENIENT.items():
        if name in kinds and (read := converted(value, target)) is not NOTHING:
            return read
    if type(value) is str and ("object" in kinds or "array" in kinds):
        return held(value)
    known = FORMATS.get(schema.get("format", ""))
    if known and known.target and converted(value, known.target) is not NOTHING:
        return echo(value)  # such as a time stamp: what it is as a string fits as well
    return value


def converted(value: Any, target: Any) -> Any:
    """A value as another kind, if it can be one; else `NOTHING`."""
    try:
        return msgspec.convert(value, target, strict=False)
    except ValueError:
        return NOTHING


def unpacked(value: Any, schema: Any, root: Schema) -> Any:
    """The value with JSON instead of strings that hold it, where the schema asks for it.

    What was in a string is not looked into again, nor is what is nested too deeply to be checked,
    nor what has more parts than a message may have arrays and objects.
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
        return value if is_text else held_by(value)
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
    """Is no value that fits an object or an array?"""
    return "type" in schema and _kinds(schema).isdisjoint(("object", "array"))


def _kinds(schema: Any) -> set[str]:
    if schema.__class__ is not dict:
        return set()
    kind = schema.get("type", [])
    kinds = {kind} if isinstance(kind, str) else set(kind)
    return kinds.union(*map(_kinds, schema.get("anyOf", [])))


def held_by(text: str) -> Any:
    """The object or array that a string holds as JSON; the string itself if it does not, or if
    there is more in it than a message may hold."""
    try:
        if len(text) > LARGE and excess(text.encode()) is not None:
            return text
        held = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text
    return held if held.__class__ in (dict, list) else text


def comparable(value: Any) -> str | bytes | None:
    """A value to compare by: in JSON 1 is 1.0, and true is not 1. It is a text, which is hashed
    with a secret, as numbers are not; and short, for a message may have very many values."""
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
    """The same within another value, where nothing else looks like a string."""
    found = comparable(value)
    return found if isinstance(found, bytes) else ascii(found).encode()


def same(value: Any, other: Any) -> bool:
    """Are two values the same, as JSON compares? Found out without a copy of either."""
    kind = value.__class__
    if kind is list and other.__class__ is list:
        return len(value) == len(other) and all(map(same, value, other))
    if kind is dict and other.__class__ is dict:
        return value.keys() == other.keys() and all(
            same(value[name], other[name]) for name in other
        )
    return (kind is bool) == (other.__class__ is bool) and bool(value == other)


def among(value: Any, choices: list[Any]) -> bool:
    """Is a value one of these, as JSON compares?"""
    if value.__class__ is str:
        return value in choices
    return any(same(value, choice) for choice in choices)


def choices_of(schema: Schema | bool | None) -> list[Any]:
    """The values that a schema lists, if that is what it does."""
    if not isinstance(schema, dict):
        return []
    return [schema["const"]] if "const" in schema else schema.get("enum", [])
