"""Schemas in the words of people."""

from typing import Any

import pytest

from toolhaft.cli.shared.rendering import (
    tool_entry,
)


@pytest.mark.parametrize(
    ("properties", "required", "line"),
    [
        ({}, [], "f()"),
        ({"a": {"type": "integer"}, "b": {"type": "string"}}, ["a", "b"], "f(a: int, b: str)"),
        (
            {"a": {"type": "number", "default": 0.5}, "b": {"type": "boolean"}},
            ["b"],
            "f(b: bool, a: float = 0.5)",
        ),
        ({"a": {"type": "string"}}, [], "f(a?: str)"),
        ({"a": {"type": ["string", "null"], "default": None}}, [], "f(a?: str | null)"),
        ({"a": {"type": "string", "default": "x" * 40}}, [], "f(a?: str)"),
        ({"a": {"type": "array", "items": {"type": "object"}}}, ["a"], "f(a: list[object])"),
        ({"a": {"type": "array", "items": False}}, ["a"], "f(a: list)"),
        ({"a": {"type": "string", "enum": ["x", "é"]}}, ["a"], 'f(a: "x" | "é")'),
        ({"a": {"const": 1}}, ["a"], "f(a: 1)"),
        ({"a": {}}, ["a"], "f(a: any)"),
        ({"a": {"$ref": "#/$defs/Tree"}}, ["a"], "f(a: Tree)"),
        (
            {"a": {"type": "object", "additionalProperties": {"type": "integer"}}},
            ["a"],
            "f(a: dict[str, int])",
        ),
        (
            {"a": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}},
            ["a"],
            "f(a: [int, str])",
        ),
        (
            {"a": {"anyOf": [{"type": "string"}, {"type": "string"}]}},
            ["a"],
            "f(a: str)",
        ),
    ],
)
def test_a_tool_is_shown_as_a_signature(
    properties: dict[str, Any], required: list[str], line: str
) -> None:
    schema = {"type": "object", "properties": properties, "required": required}

    assert tool_entry({"name": "f", "inputSchema": schema}) == f"  {line}"


TODO = {
    "type": "object",
    "properties": {
        "priority": {"enum": ["low", "high"], "default": "low"},
        "title": {"type": "string"},
    },
    "required": ["title"],
}


TREE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
    },
    "required": ["name"],
}


@pytest.mark.parametrize(
    ("parameter", "line"),
    [
        ({"type": "integer", "description": "How\n  many.\n\nOr not."}, "a: int  How many."),
        ({"type": "integer", "minimum": 1, "maximum": 50}, "a: int (1\N{EN DASH}50)"),
        ({"type": "integer", "minimum": -5, "maximum": 5}, "a: int (-5 to 5)"),
        ({"type": "integer", "minimum": 1, "description": "How many."}, "a: int (≥ 1)  How many."),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, "a: float (> 0, ≤ 1)"),
        ({"type": "number", "exclusiveMaximum": 1}, "a: float (< 1)"),
        ({"type": "integer", "multipleOf": 5}, "a: int (a multiple of 5)"),
        ({"type": "string", "minLength": 1, "maxLength": 20}, "a: str (1\N{EN DASH}20 characters)"),
        ({"type": "string", "minLength": 1}, "a: str (at least 1 character)"),
        ({"type": "string", "minLength": 2, "maxLength": 2}, "a: str (2 characters)"),
        ({"type": "string", "format": "date"}, "a: str (date)"),
        ({"type": "string", "pattern": "^a"}, "a: str (matches ^a)"),
        ({"type": "string", "pattern": "x" * 50}, f"a: str (matches {'x' * 40}…)"),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": 3, "uniqueItems": True},
            "a: list[str] (at most 3 items, all different)",
        ),
        (TODO, 'a: {title: str, priority: "low" | "high" = "low"}'),
        (
            {"type": "array", "items": TODO, "description": "To do."},
            'a: list[{title: str, priority: "low" | "high" = "low"}]  To do.',
        ),
        (
            {"type": "object", "additionalProperties": TODO},
            'a: dict[str, {title: str, priority: "low" | "high" = "low"}]',
        ),
        (
            {"anyOf": [TODO, {"type": "null"}]},
            'a: {title: str, priority: "low" | "high" = "low"} | null',
        ),
        ({"$ref": "#/$defs/Tree"}, "a: Tree {name: str, children?: list[Tree]}"),
        ({"$ref": "#/$defs/Colour"}, 'a: "red" | "blue"'),
        ({"$ref": "#/$defs/Choice/anyOf/0"}, "a: int"),
        (
            {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}},
            "a: {n?: int (≥ 1)}",
        ),
    ],
)
def test_what_a_signature_does_not_say_is_shown_below(parameter: dict[str, Any], line: str) -> None:
    schema = {
        "type": "object",
        "properties": {"a": parameter, "b": {"type": "string"}},
        "required": ["a"],
        "$defs": {
            "Tree": TREE,
            "Colour": {"enum": ["red", "blue"]},
            "Choice": {"anyOf": [{"type": "integer"}]},
        },
    }

    _, *below = tool_entry({"name": "f", "inputSchema": schema}).splitlines()

    assert below == [f"      {line}"]


@pytest.mark.parametrize("leads", ["Nobody/items", "Colour/enum/0", "Round"])
def test_a_reference_that_leads_nowhere_is_shown_by_its_name(leads: str) -> None:
    schema = {
        "properties": {"a": {"anyOf": [{"$ref": f"#/$defs/{leads}"}]}},
        "required": ["a"],
        "$defs": {"Colour": {"enum": ["red"]}, "Round": {"anyOf": [{"$ref": "#/$defs/Round"}]}},
    }

    entry = tool_entry({"name": "f", "inputSchema": schema})

    assert entry == f"  f(a: {leads.rpartition('/')[2]})"


def test_objects_within_objects_end_somewhere() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"z": {"type": "integer"}}}
    for name in "yxwv":
        schema = {"type": "object", "properties": {name: schema}}

    _, below = tool_entry({"name": "f", "inputSchema": schema}).splitlines()

    assert below == "      v: {w?: {x?: {y?: object}}}"


def test_long_lines_are_broken_between_parameters() -> None:
    names = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh"]
    properties = {name: {"type": "integer", "default": 5} for name in names}
    properties["last"] = {"type": "string", "description": "word " * 20}

    entry = tool_entry({"name": "f", "inputSchema": {"properties": properties}})

    assert entry.splitlines() == [
        "  f(first: int = 5, second: int = 5, third: int = 5, fourth: int = 5, fifth: int = 5,",
        "          sixth: int = 5, seventh: int = 5, last?: str)",
        "      last: str" + " " + " word" * 16,
        "         " + " word" * 4,
    ]
