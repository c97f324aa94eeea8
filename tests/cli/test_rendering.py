"""Answers as text, from literals."""

from typing import Any

import pytest

from toolhaft.cli.rendering import (
    messages_text,
    notice,
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
            {"a": {"anyOf": [{"type": "string", "format": "date"}, {"type": "string"}]}},
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
