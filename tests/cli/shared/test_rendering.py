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
