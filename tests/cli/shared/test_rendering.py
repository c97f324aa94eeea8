"""Answers as text, from literals."""

from typing import Any

import pytest

from toolhaft.cli.shared.rendering import (
    messages_text,
    notice,
    paragraph,
    prompt_entry,
    resource_entry,
    result_text,
    section,
    shown,
    tool_entry,
)

IMAGE = {"type": "image", "mimeType": "image/png", "data": "AAECAw=="}
TEXT = {"type": "text", "text": "hello"}


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


def test_only_the_first_line_of_a_description_is_shown() -> None:
    entry = tool_entry({"name": "f", "inputSchema": {}, "description": "\nOne.\n\nTwo."})

    assert entry == "  f()\n      One."


def test_resources_and_templates_are_shown_by_their_uri() -> None:
    direct = resource_entry({"uri": "a://b", "name": "b", "mimeType": "text/plain"})
    template = resource_entry({"uriTemplate": "a://{b}", "name": "b", "description": "One."})

    assert direct == "  a://b  [text/plain]"
    assert template == "  a://{b}\n      One."


def test_a_prompt_is_shown_with_what_it_needs_first() -> None:
    arguments = [{"name": "tone"}, {"name": "diff", "required": True}]

    assert prompt_entry({"name": "review", "arguments": arguments}) == "  review(diff, tone?)"
    assert prompt_entry({"name": "review"}) == "  review()"


def test_arguments_of_a_prompt_are_told_with_their_values() -> None:
    arguments: list[dict[str, Any]] = [
        {"name": "diff", "required": True, "description": "a unified diff"},
        {"name": "tone", "values": ["dry", "warm"], "description": "how it sounds"},
        {"name": "day", "values": [str(n) for n in range(1, 32)]},
        {"name": "rest", "values": []},
    ]

    entry = prompt_entry({"name": "review", "description": "Review.", "arguments": arguments})

    assert entry.splitlines() == [
        "  review(diff, tone?, day?, rest?)",
        "      Review.",
        "      diff: a unified diff",
        '      tone: "dry" | "warm"  how it sounds',
        '      day: "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "10" | …',
    ]


def test_a_section_has_its_title() -> None:
    assert section("tools", ["  a()", "  b()"]) == "tools:\n  a()\n  b()\n"


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (TEXT, "hello"),
        (IMAGE, "[image/png, 4 bytes]"),
        ({"type": "audio", "mimeType": "audio/wav", "data": ""}, "[audio/wav, 0 bytes]"),
        ({"type": "resource", "resource": {"uri": "a://b", "text": "held"}}, "held"),
        (
            {"type": "resource", "resource": {"uri": "a://b", "blob": "AAE="}},
            "[application/octet-stream, 2 bytes]",
        ),
        ({"type": "resource_link", "name": "b", "uri": "a://b"}, "b <a://b>"),
        ({"type": "hologram", "of": "é"}, '{"type": "hologram", "of": "é"}'),
    ],
)
def test_a_block_is_shown(block: dict[str, Any], text: str) -> None:
    assert shown(block) == text


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"content": []}, ""),
        ({"content": [TEXT, IMAGE]}, "hello\n[image/png, 4 bytes]\n"),
        ({"content": [{"type": "text", "text": "ended\n"}]}, "ended\n"),
        ({"content": [TEXT], "structuredContent": {"a": 1}}, "hello\n"),
        ({"content": [], "structuredContent": {"a": 1}}, '{\n  "a": 1\n}\n'),
        ({"content": [], "structuredContent": None}, "null\n"),
        ({"content": [IMAGE], "structuredContent": 5}, "[image/png, 4 bytes]\n5\n"),
    ],
)
def test_structured_content_is_shown_if_there_is_no_text(result: dict[str, Any], text: str) -> None:
    assert result_text(result) == text


def test_a_block_that_went_elsewhere_is_left_out() -> None:
    assert result_text({"content": [TEXT, IMAGE]}, without=IMAGE) == "hello\n"


def test_messages_stand_under_their_role() -> None:
    messages = [{"role": "user", "content": TEXT}, {"role": "assistant", "content": IMAGE}]

    assert messages_text(messages) == "user:\nhello\n\nassistant:\n[image/png, 4 bytes]\n"


@pytest.mark.parametrize(
    ("method", "params", "line"),
    [
        ("progress", {"progress": 3, "total": 10, "message": "on it"}, "progress 3/10 on it"),
        ("progress", {"progress": 3.0}, "progress 3"),
        ("progress", {"progress": 0.25, "total": 1.0}, "progress 0.25/1"),
        ("progress", {"progress": 1234567, "message": "far"}, "progress 1234567 far"),
        ("message", {"level": "info", "data": "done"}, "info: done"),
        ("message", {"level": "error", "data": {"a": "é"}}, 'error: {"a": "é"}'),
        ("message", {"level": "debug", "data": "x", "logger": "db"}, "debug: db: x"),
        ("tools/list_changed", {}, None),
    ],
)
def test_notifications_are_one_line(method: str, params: dict[str, Any], line: str | None) -> None:
    assert notice(f"notifications/{method}", params) == line


@pytest.mark.parametrize(
    ("annotations", "told"),
    [
        ({}, []),
        ({"readOnlyHint": True}, ["read-only"]),
        (
            {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False},
            ["not read-only, destructive, not idempotent"],
        ),
        ({"openWorldHint": False, "destructiveHint": False}, ["not destructive, closed world"]),
        ({"openWorldHint": "x", "audience": ["user", "assistant"]}, ["for user and assistant"]),
        ({"priority": 0.5}, ["priority 0.5"]),
    ],
)
def test_the_hints_that_were_given_are_told(annotations: dict[str, Any], told: list[str]) -> None:
    tool = {"name": "f", "description": "Does it.", "annotations": annotations}

    entry = tool_entry(tool)

    hints = [f"      hints: {each}" for each in told]
    assert entry.split("\n") == ["  f()", "      Does it.", *hints]


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ({"title": "Find notes"}, ["      title: Find notes"]),
        ({"annotations": {"title": "Find notes"}}, ["      title: Find notes"]),
        ({"title": "f"}, []),
        ({}, []),
    ],
)
def test_a_title_is_told_unless_it_is_the_name(tool: dict[str, Any], told: list[str]) -> None:
    assert tool_entry({"name": "f", **tool}).split("\n") == ["  f()", *told]


def test_instructions_keep_their_lines() -> None:
    assert paragraph("\nFirst.\n\n- second\n") == "  First.\n\n  - second"
