"""A schema with every type, and arguments that are read by it."""

from typing import Any

from toolhaft.cli.shared.arguments import read, split

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "sure": {"type": "boolean"},
        "nothing": {"type": "null"},
        "names": {"type": "array", "items": {"type": "string"}},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "place": {"type": "object"},
        "colour": {"enum": ["red", "blue"]},
        "size": {"enum": [1, 2]},
        "exactly": {"const": 5},
        "maybe_text": {"type": ["string", "null"]},
        "maybe_count": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "maybe_names": {"anyOf": [{"$ref": "#/$defs/Names"}, {"type": "null"}]},
        "count_or_text": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "one_of": {"oneOf": [{"type": "boolean"}, {"type": "string"}]},
        "referred": {"$ref": "#/$defs/Count"},
        "anything": {},
        "maybe_sure": {"type": ["boolean", "null"]},
        "flags": {"type": "array", "items": {"type": "boolean"}},
        "colours": {"type": "array", "items": {"enum": ["red", "dark blue"]}},
        "todo": {"$ref": "#/$defs/Todo"},
        "todos": {"type": "array", "items": {"$ref": "#/$defs/Todo"}},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "todo_or_count": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/Todo"}]},
        "wide": {
            "type": "object",
            "properties": {
                "a": {"type": "integer", "minimum": 5},
                "b": {"enum": ["x", "y"]},
                "c": {"type": "array", "items": {"type": "number"}},
                "d": {"type": "boolean"},
            },
            "required": ["a", "b", "c", "d"],
        },
        "loop": {"$ref": "#/$defs/Loop"},
        "never": {"enum": []},
    },
    "$defs": {
        "Count": {"type": "integer"},
        "Names": {"type": "array", "items": {"type": "string"}},
        "Todo": {
            "type": "object",
            "properties": {"priority": {"enum": ["low", "high"]}, "title": {"type": "string"}},
            "required": ["title"],
        },
        "Loop": {
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/Loop"}},
            "required": ["next"],
        },
    },
}


def no_stdin() -> bytes:
    raise AssertionError("nobody asked for stdin")


def arguments(*words: str, stdin: bytes | None = None) -> dict[str, Any]:
    return read(split(words, no_stdin if stdin is None else lambda: stdin), SCHEMA)
