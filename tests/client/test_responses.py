"""What a client makes of bytes and JSON of which nothing is known."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft import McpError
from toolhaft.client.json_shapes import as_list, as_object, is_silent, parsed
from toolhaft.client.responses import entries_of, error_of, questions_of, result_of
from toolhaft.client.transport import Lines
from toolhaft.testing import BadAnswer

ANYTHING: list[Any] = [None, True, 5, "x", [], {}]


@pytest.mark.parametrize("value", ANYTHING, ids=str)
def test_an_object_is_one_and_nothing_else_is(value: Any) -> None:
    assert as_object(value) is (value if type(value) is dict else None)
    assert as_list(value) is (value if type(value) is list else None)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000], ids=range(4))
def test_what_is_no_json_is_an_error_of_one_kind(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json has many words for it
        parsed(data)


@pytest.mark.parametrize(
    ("message", "silent"),
    [
        ({"method": "x"}, True),
        ({"method": "x", "id": 1}, False),
        ({"id": 1, "result": {}}, True),
        ({"id": 1, "error": {}}, True),
        ({"id": 1}, False),
        ({}, False),
        (5, False),
    ],
    ids=str,
)
def test_notifications_and_responses_are_not_answered(message: Any, silent: bool) -> None:
    assert is_silent(message) is silent


def test_a_response_is_a_result_or_an_error() -> None:
    assert result_of({"result": {"a": 1}}, "x") == {"a": 1}
    with pytest.raises(McpError, match="no") as caught:
        result_of({"error": {"code": 5, "message": "no", "data": [1]}}, "x")

    assert (caught.value.code, caught.value.data) == (5, [1])


@pytest.mark.parametrize("response", [{}, {"result": 5}, {"result": None}], ids=str)
def test_a_response_that_is_neither_is_told(response: Any) -> None:
    with pytest.raises(BadAnswer, match=r"^x: the server's response has no result"):
        result_of(response, "x")


@pytest.mark.parametrize("error", [*ANYTHING, {"code": 1}, {"message": "x"}], ids=str)
def test_an_error_that_is_none_is_told(error: Any) -> None:
    with pytest.raises(BadAnswer, match=r"^x: the server's error is none"):
        error_of(error, "x")


@pytest.mark.parametrize("entries", [each for each in ANYTHING if each != []], ids=str)
def test_a_list_that_is_none_is_told(entries: Any) -> None:
    assert entries_of({"tools": [{"a": 1}]}, "tools/list", "tools") == [{"a": 1}]
    with pytest.raises(BadAnswer, match="has no list 'tools'"):
        entries_of({"tools": entries}, "tools/list", "tools")


@pytest.mark.parametrize("result", [{}, {"inputRequests": None}, {"inputRequests": {}}], ids=str)
def test_a_result_may_ask_for_nothing_yet(result: Any) -> None:
    assert questions_of(result) == {}


def test_questions_have_a_method_and_params() -> None:
    asked = {"a": {"method": "x", "params": {"b": 1}}, "c": {"method": "y", "params": 5}}

    assert questions_of({"inputRequests": asked}) == {"a": ("x", {"b": 1}), "c": ("y", {})}


@given(
    st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b""))), st.integers(1, 9)
)
def test_lines_are_heard_however_they_are_cut(said: list[bytes], size: int) -> None:
    heard: list[bytes] = []
    lines, data = Lines(heard.append), b"\n".join(said)
    for start in range(0, len(data), size):
        lines.feed(data[start : start + size])
    lines.end()

    assert heard == [line for line in said if line.strip()]
