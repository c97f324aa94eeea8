"""Values to show in a message, made of a schema: `{"title": "…"}`, `["a", "b"]`."""

import json
import shlex
from typing import Any, cast

from .argument_schema import Schema, items_of, object_of, ordered, resolved, types_of, values_of

_MOST_MEMBERS = 3
_DEEPEST = 3
_PLAIN = {"string": '"…"', "integer": "1", "number": "1.5", "boolean": "true", "null": "null"}
_PAIRS = {
    "string": ("a", "b"),
    "integer": ("1", "2"),
    "number": ("1.5", "2.5"),
    "boolean": ("true", "false"),
}


def object_example(name: str, schema: Schema, root: Schema) -> str:
    """An object, as it is written in a shell."""
    return f"{name}={shlex.quote(_object(object_of(schema, root), root, 0))}"


def list_example(name: str, schema: Schema, root: Schema) -> str:
    """A list, as it is written in a shell, in both ways if there are two."""
    items = items_of(schema, root)
    pair = _pair(items, root)
    if pair is None:
        return f"{name}={shlex.quote(f'[{_value(items, root, 1)}]')}"
    is_text = "string" in types_of(items, root)
    both = ", ".join(json.dumps(each, ensure_ascii=False) if is_text else each for each in pair)
    repeated = " ".join(f"{name}={shlex.quote(each)}" for each in pair)
    return f"{name}={shlex.quote(f'[{both}]')}, or {repeated}"


def _pair(schema: Schema, root: Schema) -> tuple[str, str] | None:
    """Two values that can be written without quotes, if the schema has such."""
    values = values_of(resolved(schema, root))
    if values:
        first, last = values[0], values[min(1, len(values) - 1)]
        return (first, last) if isinstance(first, str) and isinstance(last, str) else None
    types = types_of(schema, root)
    return next((pair for type_, pair in _PAIRS.items() if type_ in types), None)


def _value(schema: Schema, root: Schema, depth: int) -> str:
    schema = resolved(schema, root)
    values = values_of(schema)
    if values:
        return json.dumps(values[0], ensure_ascii=False)
    types = types_of(schema, root)
    for type_, text in _PLAIN.items():
        if type_ in types:
            return str(schema["minimum"]) if text == "1" and "minimum" in schema else text
    if "array" in types:
        return "[]" if depth >= _DEEPEST else f"[{_value(items_of(schema, root), root, depth + 1)}]"
    return _object(object_of(schema, root), root, depth)


def _object(schema: Schema, root: Schema, depth: int) -> str:
    if depth >= _DEEPEST:
        return "{}"
    members = ordered(schema)
    needed = [member for member in members if member[2]] or members[:1]
    if not needed:
        held: Any = schema.get("additionalProperties")
        value = _value(cast(Schema, held), root, depth + 1) if isinstance(held, dict) else '"…"'
        return f'{{"name": {value}}}'
    shown = [
        f"{json.dumps(name, ensure_ascii=False)}: {_value(member, root, depth + 1)}"
        for name, member, _ in needed[:_MOST_MEMBERS]
    ]
    more = ["…"] if len(needed) > _MOST_MEMBERS else []
    return f"{{{', '.join(shown + more)}}}"
