"""What a tool returns, as content blocks and structured content."""

import dataclasses
import inspect
import json
from typing import Any

import msgspec
import pytest

from toolhaft.features.results.rendering import Output, WrongResult
from toolhaft.protocol.lowering import lowered
from toolhaft.protocol.revisions import REVISIONS
from toolhaft.types.content import AudioContent, ImageContent, ResourceLink, TextContent
from toolhaft.types.tools import CallToolResult
from toolhaft.types.wire import Wire

NEWEST, HANDSHAKE, TEXT_ONLY = (
    REVISIONS[date] for date in ("2026-07-28", "2025-11-25", "2025-03-26")
)
UNDECLARED = inspect.Parameter.empty


@dataclasses.dataclass
class Report:
    city: str
    celsius: int


def rendered(annotation: Any, value: Any, revision: Any = NEWEST) -> Any:
    result = Output(annotation, "tool 't'").render(value, revision)
    if isinstance(result, Wire):
        result = msgspec.json.encode(lowered(result, revision))
    return json.loads(result)


def text(value: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": value}]


def test_text_is_sent_as_text_alone() -> None:
    assert rendered(str, 'say "hi"\n') == {"content": text('say "hi"\n')}


def test_text_of_a_tool_that_declares_nothing_is_text_alone() -> None:
    assert rendered(UNDECLARED, "hi") == {"content": text("hi")}


@pytest.mark.parametrize("annotation", [None, UNDECLARED, Any])
def test_nothing_is_no_content(annotation: Any) -> None:
    assert rendered(annotation, None) == {"content": []}


@pytest.mark.parametrize(
    ("annotation", "value", "shown"),
    [
        (int, 5, "5"),
        (int, -(2**62), "-4611686018427387904"),
        (bool, True, "true"),
        (float, 1.5, "1.5"),
        (list[int], [1, 2], "[1,2]"),
        (dict[str, int], {"a": 1}, '{"a":1}'),
        (int | None, None, "null"),
    ],
)
def test_a_value_is_structured_and_shown(annotation: Any, value: Any, shown: str) -> None:
    assert rendered(annotation, value) == {"content": text(shown), "structuredContent": value}


def test_an_object_is_structured_in_every_revision_that_has_structure() -> None:
    report = Report("Bonn", 20)
    shown = '{"city":"Bonn","celsius":20}'
    structure = {"city": "Bonn", "celsius": 20}

    assert rendered(Report, report) == {"content": text(shown), "structuredContent": structure}
    assert rendered(Report, report, HANDSHAKE)["structuredContent"] == structure
    assert rendered(Report, report, TEXT_ONLY) == {"content": text(shown)}


@pytest.mark.parametrize(
    ("annotation", "value"), [(int, 5), (bool, False), (list[int], []), (int | None, None)]
)
def test_what_is_no_object_is_wrapped_where_it_has_to_be(annotation: Any, value: Any) -> None:
    assert rendered(annotation, value, HANDSHAKE)["structuredContent"] == {"result": value}
    assert "structuredContent" not in rendered(annotation, value, TEXT_ONLY)


def test_the_schema_is_wrapped_as_the_value_is() -> None:
    output = Output(int, "tool")

    assert output.schema_for(NEWEST) == {"type": "integer"}
    assert output.schema_for(HANDSHAKE) == {
        "type": "object",
        "properties": {"result": {"type": "integer"}},
        "required": ["result"],
    }


def test_a_union_of_an_object_and_null_is_wrapped_alike_in_value_and_schema() -> None:
    output = Output(Report | None, "tool")
    schema = output.schema_for(HANDSHAKE)

    assert schema is not None
    assert set(schema["properties"]) == {"result"}
    for value in (Report("Bonn", 20), None):
        assert set(rendered(Report | None, value, HANDSHAKE)["structuredContent"]) == {"result"}


@dataclasses.dataclass
class Tree:
    children: "list[Tree]"


def test_a_recursive_object_keeps_an_object_at_the_root_of_its_schema() -> None:
    schema = Output(Tree, "tool").schema_for(HANDSHAKE)
    value = rendered(Tree, Tree([Tree([])]), HANDSHAKE)["structuredContent"]

    # MCP up to 2025: outputSchema has "type": "object" at its root, and the value fits it.
    assert schema is not None
    assert schema["type"] == "object"
    if "result" in schema.get("properties", {}):
        assert value == {"result": {"children": [{"children": []}]}}
    else:
        assert value == {"children": [{"children": []}]}


@pytest.mark.parametrize("annotation", [str, None, Any, UNDECLARED, TextContent, list[TextContent]])
def test_what_has_no_structure_publishes_no_schema(annotation: Any) -> None:
    assert Output(annotation, "tool").schema_for(NEWEST) is None


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, "5"),
        (int, 1.5),
        (int, True),
        (bool, 1),
        (str, 5),
        (str, None),
        (list[int], ["a"]),
        (Report, {"city": "Bonn"}),
        (dict[str, int], None),
        (float, float("nan")),
        (float, float("inf")),
        (list[float], [float("nan")]),
    ],
)
def test_a_value_that_breaks_its_annotation_is_refused(annotation: Any, value: Any) -> None:
    with pytest.raises(WrongResult):
        rendered(annotation, value)


@pytest.mark.parametrize("value", [object(), {1, object()}, {"a": b"\xff", "b": print}])
def test_a_value_that_json_cannot_hold_raises(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        rendered(UNDECLARED, value)


def test_a_block_is_sent_as_it_is() -> None:
    assert rendered(UNDECLARED, ImageContent(b"\x89", "image/png")) == {
        "content": [{"type": "image", "data": "iQ==", "mimeType": "image/png"}]
    }


def test_blocks_and_text_may_be_mixed() -> None:
    value = ["first", TextContent("second"), ImageContent(b"\x89", "image/png")]

    assert [block["type"] for block in rendered(UNDECLARED, value)["content"]] == [
        "text",
        "text",
        "image",
    ]


def test_a_list_of_text_is_structured() -> None:
    assert rendered(UNDECLARED, ["a", "b"]) == {
        "content": text('["a","b"]'),
        "structuredContent": ["a", "b"],
    }


def test_a_block_that_a_revision_does_not_know_is_said_in_words() -> None:
    link = ResourceLink(uri="file:///a", name="a")
    oldest = REVISIONS["2024-11-05"]

    assert rendered(UNDECLARED, link)["content"][0]["type"] == "resource_link"
    assert rendered(UNDECLARED, link, TEXT_ONLY)["content"] == text("a: file:///a")
    assert rendered(UNDECLARED, AudioContent(b"x", "audio/wav"), oldest)["content"] == text(
        "[audio, audio/wav, 1 bytes]"
    )


def test_a_whole_result_is_sent_as_the_author_made_it() -> None:
    result = CallToolResult(
        content=[TextContent("x")], structured_content={"a": 1}, is_error=True, meta={"k": "v"}
    )

    assert rendered(UNDECLARED, result, HANDSHAKE) == {
        "content": text("x"),
        "structuredContent": {"a": 1},
        "isError": True,
        "_meta": {"k": "v"},
    }


def test_a_return_annotation_without_a_schema_is_refused_at_registration() -> None:
    with pytest.raises(TypeError, match="tool 't': the return annotation"):
        Output(complex, "t")
