"""What a revision does not know is taken out, and nothing else."""

import msgspec
import pytest

from toolhaft.protocol.lowering import in_words, lowered
from toolhaft.protocol.revisions import REVISIONS
from toolhaft.types.content import (
    Annotations,
    AudioContent,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextContents,
)
from toolhaft.types.lifecycle import ServerCapabilities
from toolhaft.types.notifications import Progress
from toolhaft.types.prompts import GetPromptResult, PromptMessage
from toolhaft.types.tools import CallToolResult, ListToolsResult, Tool, ToolAnnotations
from toolhaft.types.wire import Icon, Implementation, Wire

DATES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]


def known(value: Wire) -> dict[str, set[str]]:
    """The members of the value that each revision is sent, oldest first."""
    return {
        date: set(msgspec.json.decode(msgspec.json.encode(lowered(value, REVISIONS[date]))))
        for date in DATES
    }


def test_the_fields_of_an_implementation_came_one_after_the_other() -> None:
    value = Implementation("n", "1", "t", "d", "https://x", [Icon("https://x/i")])

    first, second = {"name", "version"}, {"name", "version", "title"}
    whole = {*second, "description", "websiteUrl", "icons"}
    assert list(known(value).values()) == [first, first, second, whole, whole]


def test_the_fields_of_a_tool_came_one_after_the_other() -> None:
    value = Tool(
        name="n",
        title="t",
        description="d",
        input_schema={"type": "object"},
        output_schema={"type": "object"},
        annotations=ToolAnnotations(read_only_hint=True),
        icons=[Icon("https://x/i")],
        meta={"a": 1},
    )

    first = {"name", "description", "inputSchema"}
    second = {*first, "annotations"}
    third = {*second, "title", "outputSchema", "_meta"}
    whole = {*third, "icons"}
    assert list(known(value).values()) == [first, second, third, whole, whole]


def test_caching_hints_are_for_the_newest_only() -> None:
    value = ListToolsResult(tools=[], ttl_ms=5, cache_scope="public", next_cursor="c")

    assert known(value)["2025-11-25"] == {"tools", "nextCursor"}
    assert known(value)["2026-07-28"] == {"tools", "nextCursor", "ttlMs", "cacheScope"}


def test_completions_and_messages_of_progress_are_unknown_to_the_oldest() -> None:
    assert "completions" not in known(ServerCapabilities(completions={}))["2024-11-05"]
    assert "completions" in known(ServerCapabilities(completions={}))["2025-03-26"]
    progress = Progress(progress_token=1, progress=1, message="half way")
    assert "message" not in known(progress)["2024-11-05"]
    assert "message" in known(progress)["2025-03-26"]


def test_what_is_nested_is_lowered_too() -> None:
    block = EmbeddedResource(
        TextContents(uri="u", text="t", meta={"a": 1}),
        annotations=Annotations(priority=1, last_modified="yesterday"),
        meta={"b": 2},
    )
    value = CallToolResult(content=[block], structured_content={"a": 1})

    result = lowered(value, REVISIONS["2025-03-26"])

    assert msgspec.json.decode(msgspec.json.encode(result)) == {
        "content": [
            {
                "type": "resource",
                "resource": {"uri": "u", "text": "t"},
                "annotations": {"priority": 1},
            }
        ]
    }


@pytest.mark.parametrize(
    ("date", "types"),
    [
        ("2024-11-05", ["text", "text", "image"]),
        ("2025-03-26", ["text", "audio", "image"]),
        ("2025-06-18", ["resource_link", "audio", "image"]),
        ("2026-07-28", ["resource_link", "audio", "image"]),
    ],
)
def test_blocks_that_a_revision_does_not_know_are_said_in_words(
    date: str, types: list[str]
) -> None:
    blocks = [
        ResourceLink(uri="file:///a", name="a"),
        AudioContent(b"abc", "audio/wav"),
        ImageContent(b"x", "image/png"),
    ]

    result = lowered(CallToolResult(content=list(blocks)), REVISIONS[date])

    encoded = msgspec.json.decode(msgspec.json.encode(result))
    assert [block["type"] for block in encoded["content"]] == types


def test_the_messages_of_a_prompt_are_lowered() -> None:
    value = GetPromptResult(messages=[PromptMessage("user", AudioContent(b"abc", "audio/wav"))])

    result = lowered(value, REVISIONS["2024-11-05"])

    assert result.messages[0].content == TextContent("[audio, audio/wav, 3 bytes]")


def test_the_authors_value_stays_as_it_is() -> None:
    value = Tool(name="n", title="t", meta={"a": 1})

    lowered(value, REVISIONS["2024-11-05"])

    assert value == Tool(name="n", title="t", meta={"a": 1})


def test_a_value_without_anything_to_cut_is_not_copied() -> None:
    value = ListToolsResult(tools=[Tool(name="n", title="t")], ttl_ms=1)

    assert lowered(value, REVISIONS["2026-07-28"]) is value


def test_words_tell_the_same() -> None:
    assert in_words(ResourceLink(uri="u", name="n")) == TextContent("n: u")
    with pytest.raises(TypeError, match="TextContent"):
        in_words(TextContent("x"))
