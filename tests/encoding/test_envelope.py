"""JSON-RPC: bytes to a message or a fault, and back."""

import json
import time
from typing import Any

import pytest
from msgspec import UNSET

from toolhaft.encoding.envelope import (
    Fault,
    Message,
    ToolCall,
    decode,
    decode_part,
    encode,
    failure,
    notification,
    response,
)
from toolhaft.errors import InvalidParams

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def fault(data: bytes) -> tuple[int | None, Any]:
    """The code of the answer to a faulty frame, and the id it goes to."""
    found = decode(data)
    assert isinstance(found, Fault)
    return None if found.error is None else found.error.code, found.id


def seconds(data: bytes) -> float:
    start = time.perf_counter()
    decode(data)
    return time.perf_counter() - start


def test_a_request_is_read_and_its_parameters_stay_raw() -> None:
    message = decode(b'{"jsonrpc":"2.0","id":"a","method":"m","params":{"x": [1]}}')

    assert isinstance(message, Message)
    assert (message.id, message.method) == ("a", "m")
    assert bytes(message.params) == b'{"x": [1]}'


def test_a_notification_has_no_id() -> None:
    message = decode(b'{"jsonrpc":"2.0","method":"m"}')

    assert isinstance(message, Message)
    assert message.id is UNSET


@pytest.mark.parametrize("id_", [0, -1, 2**53, 2**64, 10**40, "", "1", "\u00fc\U0001f600"])
def test_an_id_is_read_exactly(id_: object) -> None:
    message = decode(json.dumps({"jsonrpc": "2.0", "id": id_, "method": "m"}).encode())

    assert isinstance(message, Message)
    assert (message.id, type(message.id)) == (id_, type(id_))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nonsense",
        b"{",
        PING + b"x",
        PING + PING,
        b"\xef\xbb\xbf" * 2 + PING,
        b"\xef\xbb\xbf" * 100_000,
        b"\x00" + PING,
        b"[" * 100_000,
        b'{"jsonrpc":"2.0","method":"\xff"}',
    ],
    ids=lambda data: repr(data[:20]),
)
def test_what_is_not_json_is_a_parse_error(data: bytes) -> None:
    assert fault(data)[0] == -32700


@pytest.mark.parametrize(
    "member",
    [
        b'"params":{"x":NaN}',
        b'"params":{"x":' + b"9" * 5000 + b"}",
        b'"params":{"x":"\xed\xa0\x80"}',
        b'"params":{"x":"\\ud800"}',
        b'"params":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b'"method":"again"',
        b'"\\u006dethod":"again"',
        b'"params":{},"params":{}',
    ],
    ids=lambda member: repr(member[:24]),
)
def test_a_broken_request_is_answered_under_its_id(member: bytes) -> None:
    assert fault(b'{"jsonrpc":"2.0","id":7,"method":"m",' + member + b"}") == (-32700, 7)


def test_a_byte_order_mark_is_ignored() -> None:
    message = decode(b"\xef\xbb\xbf" + PING)

    assert isinstance(message, Message)
    assert (message.id, message.method) == (1, "ping")


def test_what_follows_a_byte_order_mark_is_looked_at() -> None:
    twice = b'{"jsonrpc":"2.0","id":1,"method":"m","method":"m"}'

    assert fault(b"\xef\xbb\xbf" + twice) == (-32700, 1)
    assert fault(b"\xef\xbb\xbf" + PING[:-1]) == (-32700, 1)


def test_an_id_that_stands_twice_is_not_answered_under_either() -> None:
    data = b'{"jsonrpc":"2.0","id":1,"method":"m","id":2}'
    escaped = b'{"jsonrpc":"2.0","id":1,"method":"m","\\u0069d":2}'

    assert fault(data) == (-32700, UNSET)
    assert fault(escaped) == (-32700, UNSET)


@pytest.mark.parametrize(
    ("data", "id_"),
    [
        (b"1", UNSET),
        (b'"text"', UNSET),
        (b"null", UNSET),
        (b"{}", UNSET),
        (b'{"id":1,"method":"m"}', 1),
        (b'{"jsonrpc":"1.0","id":1,"method":"m"}', 1),
        (b'{"jsonrpc":2.0,"id":1,"method":"m"}', 1),
        (b'{"jsonrpc":"2.0","id":1}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":null}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","result":{}}', 1),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', UNSET),
        (b'{"jsonrpc":"2.0","id":true,"method":"m"}', UNSET),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"m"}', UNSET),
        (b'{"jsonrpc":"2.0","id":1.0,"method":"m"}', UNSET),
        (b'{"jsonrpc":"2.0","id":{},"method":"m"}', UNSET),
        (b'{"jsonrpc":"2.0","id":[1],"method":"m"}', UNSET),
        (b"[]", UNSET),
    ],
)
def test_json_that_is_no_request_is_an_invalid_request(data: bytes, id_: Any) -> None:
    assert fault(data) == (-32600, id_)


@pytest.mark.parametrize(
    "data",
    [
        b'{"jsonrpc":"2.0","result":{}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}',
        b'{"id":1.5,"result":{}}',
    ],
)
def test_a_bad_response_is_not_answered(data: bytes) -> None:
    assert fault(data)[0] is None


def test_a_batch_is_its_parts() -> None:
    items = decode(b"[" + PING + b',1,{"jsonrpc":"2.0","id":2},[' + PING + b"]]")
    assert isinstance(items, list)

    parts = [decode_part(item) for item in items]

    assert [type(part).__name__ for part in parts] == ["Message", "Fault", "Fault", "Fault"]
    assert [part.id for part in parts] == [1, UNSET, 2, UNSET]


# A call of a tool is read in one pass

CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":1}}}'
META = CALL[:-2] + b',"_meta":{"progressToken":1}}}'


@pytest.mark.parametrize(
    "data",
    [
        CALL,
        META,
        CALL.replace(b'"id":1', b'"id":"one"'),
        b'{"method":"tools/call","params":{"name":"x","arguments":{"a":1}},"jsonrpc":"2.0","id":1}',
        CALL.replace(b"1}", b'"def f():\\n\\treturn \\"x\\" \\u00e9 \\ud83d\\ude00"}'),
        CALL.replace(b"1}", '"Gr\u00fc\u00dfe \u4f60\u597d \U0001f600"}'.encode()),
        json.dumps(json.loads(CALL)).encode(),
        json.dumps(json.loads(META)).encode(),
    ],
    ids=["mcp", "fastmcp", "string id", "typescript", "escapes", "UTF-8", "blanks", "blanks, meta"],
)
def test_a_call_as_clients_write_it_is_read_in_one_pass(data: bytes) -> None:
    call = decode(data)

    assert isinstance(call, ToolCall)
    assert call.id == json.loads(data)["id"]
    assert call.params.name == "x"
    assert json.loads(bytes(call.params.arguments)) == json.loads(data)["params"]["arguments"]


@pytest.mark.parametrize(
    "data",
    [
        CALL[:-1] + b',"x":0}',
        CALL.replace(b'"name"', b'"n\\u0061me"'),
        CALL[:-2] + b',"name":"y"}}',
        CALL[:-2] + b',"arguments":{}}}',
        json.dumps(json.loads(CALL)).encode()[:-2] + b',"a":1}}',
        CALL.replace(b"{", b"{ ", 1),
        CALL.replace(b',"arguments":{"a":1}', b""),
    ],
)
def test_a_call_written_otherwise_is_read_with_its_parameters_raw(data: bytes) -> None:
    message = decode(data)

    assert isinstance(message, Message)
    assert json.loads(bytes(message.params)) == json.loads(data)["params"]


@pytest.mark.parametrize("id_", [1, "a"])
def test_a_request_with_a_long_member_before_its_id_is_read(id_: object) -> None:
    members = {"jsonrpc": "2.0", "x": ["y" * 2**20, {}], "method": "m", "id": id_}
    message = decode(json.dumps(members).encode())

    assert isinstance(message, Message)
    assert message.id == id_


def test_a_message_with_more_members_than_anyone_needs_is_refused_under_its_id() -> None:
    others = b",".join(b'"k%d":0' % n for n in range(1000))

    assert fault(PING[:-1] + b"," + others + b"}") == (-32600, 1)


# The time to read a frame is that of its length, whatever is in it


@pytest.mark.parametrize(
    "data",
    [
        PING[:-1] + b"," + b",".join(b'"k%d":0' % n for n in range(20_000)) + b"}",
        b'{"jsonrpc":"2.0","id":1.5,"method":"m",'
        + b",".join(b'"k%d":0' % n for n in range(20_000))
        + b"}",
        b'{"id":1,' + b",".join(b'"k%d":0' % n for n in range(20_000)),
        PING[:-1] + b',"params":{"x":"' + b"\\\\" * 500_000 + b'"}}',
        PING[:-1] + b',"params":[' + b"[]," * 50_000 + b"[]]}",
    ],
    ids=["many members", "many members, bad id", "many members, cut off", "escapes", "brackets"],
)
def test_no_frame_takes_long_to_read(data: bytes) -> None:
    assert seconds(data) < 1.5


def test_no_message_about_a_frame_is_long() -> None:
    start, key = b'{"jsonrpc": "2.0","id":1,"method":"m",', b'"' + b"k" * 5000 + b'":1'
    deep = start + b'"params":' + b'{"a":' * 900 + b"9" * 5000 + b"}" * 901
    wide = start + key + b"," + key + b"}"

    for data in (deep, wide):
        found = decode(data)
        assert isinstance(found, Fault)
        assert found.error is not None
        assert len(found.error.message) < 500


# And back


class Text(str):
    __slots__ = ()


class Whole(int):
    pass


class Real(float):
    pass


def test_what_is_a_text_or_a_number_by_another_name_is_written() -> None:
    assert (
        encode([Text("\u00e9"), Whole(2**60), Real(0.5)])
        == '["\u00e9",1152921504606846976,0.5]'.encode()
    )
    assert encode({Text("a"): Text("b")}) == b'{"a":"b"}'
    with pytest.raises(TypeError, match="object is nothing that JSON has"):
        encode([object()])


def test_an_answer_is_compact_and_in_order() -> None:
    assert response(1, b'{"a":1}') == b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}'
    assert response("\u00fc", b"{}") == '{"jsonrpc":"2.0","id":"\u00fc","result":{}}'.encode()
    assert response(2**70, b"{}") == b'{"jsonrpc":"2.0","id":1180591620717411303424,"result":{}}'


def test_an_error_says_its_code_and_leaves_out_what_is_not_there() -> None:
    error = InvalidParams("no \udc80")

    assert failure(1, error) == (
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no ?"}}'
    )
    assert failure(UNSET, error, -32002).startswith(b'{"jsonrpc":"2.0","error":{"code":-32002,')


def test_an_error_carries_its_data() -> None:
    error = InvalidParams("no", data={"uri": "a"})

    assert json.loads(failure("x", error))["error"]["data"] == {"uri": "a"}


def test_a_notification_is_written() -> None:
    assert notification("a/b", b"{}") == b'{"jsonrpc":"2.0","method":"a/b","params":{}}'


@pytest.mark.parametrize("item", [b"1", b'""', b"null", b"{}"])
def test_a_batch_of_very_many_items_is_refused_before_each_becomes_an_object(item: bytes) -> None:
    assert fault(b"[" + (item + b",") * 100_000 + item + b"]") == (-32600, UNSET)


def test_a_batch_of_many_items_is_still_its_parts() -> None:
    parts = decode(b"[" + b"1," * 99_999 + b"1]")

    assert isinstance(parts, list)
    assert len(parts) == 100_000
