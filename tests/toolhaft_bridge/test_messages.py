"""What a bridge reads of the lines that it has to understand."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.encoding.envelope import response
from toolhaft_bridge.messages import (
    compact,
    error_in,
    id_at,
    messages_of,
    params_of,
    promises,
    written,
)

IDS = st.one_of(
    st.integers(-(2**53), 2**53), st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)
NOTHING = [b"", b"nonsense", b"1", b"[]", b"[1]", b"[" * 100_000, b"\xff"]


@pytest.mark.parametrize("line", NOTHING, ids=range(len(NOTHING)))
def test_of_what_is_no_message_nothing_is_known(line: bytes) -> None:
    assert messages_of(line) == []
    assert error_in(line) is None
    assert promises(line) == (None, [])


def test_a_batch_is_several_messages() -> None:
    assert messages_of(b'[{"id":1},2,{"id":3}]') == [{"id": 1}, {"id": 3}]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b'{"toolhaft":1,"pid":5}', None),
        (b'{"toolhaft":1,"error":"no"}', "no"),
        (b'{"toolhaft":1,"error":null}', None),
        (b'[{"error":"no"},{}]', "no"),  # of somebody who is no process of ours
    ],
)
def test_a_process_may_refuse(answer: bytes, error: str | None) -> None:
    assert error_in(answer) == error


def test_an_answer_to_initialize_promises_a_revision_and_news_of_lists() -> None:
    capabilities: dict[str, Any] = {"tools": {"listChanged": True}, "prompts": {}, "resources": 5}
    result = {"protocolVersion": "2025-11-25", "capabilities": capabilities}

    assert promises(json.dumps({"result": result}).encode()) == ("2025-11-25", ["tools"])


@pytest.mark.parametrize("params", [None, 5, [], "x"])
def test_params_that_are_no_object_are_none(params: Any) -> None:
    assert params_of({"params": params}) == {}
    assert params_of({"params": {"a": 1}}) == {"a": 1}


@given(IDS)
def test_an_id_is_written_as_toolhaft_writes_it(id_: int | str) -> None:
    assert response(id_, b"{}").startswith(b'{"jsonrpc":"2.0","id":%b,' % (written(id_) or b""))


@pytest.mark.parametrize("id_", [None, True, 1.5, [], {}])
def test_what_cannot_be_an_id_is_not_written(id_: Any) -> None:
    assert written(id_) is None


@given(IDS, st.binary(max_size=20))
def test_an_id_is_found_where_it_stands(id_: int | str, rest: bytes) -> None:
    text = written(id_)
    assert text is not None

    assert id_at(b'{"id":' + text + b"," + rest, 6) == (text, 6 + len(text))
    for end in range(6, 6 + len(text) + 1):
        assert id_at((b'{"id":' + text)[:end], 6) is None


@pytest.mark.parametrize("text", [b"null", b"true", b"1.5", b"[1,2]"])
def test_what_is_no_id_is_that_of_nobody(text: bytes) -> None:
    assert id_at(text + b',"result"', 0) == (b"", len(text))


@pytest.mark.parametrize("text", [b"", b"nonsense,", b"\xff,", b'"\xff",', b"1}", b'"a'])
def test_what_is_not_there_is_not_found(text: bytes) -> None:
    assert id_at(text, 0) is None


def test_a_message_is_one_line() -> None:
    message = {"method": "a\nb", "params": {"x": "\ud800é"}}

    assert compact(message) == b'{"method":"a\\nb","params":{"x":"\\ud800\\u00e9"}}'
