"""Messages that are none: each is answered with an error, runs nothing, and harms nobody.

What each error says is in `tests/transcripts/bad-*`; bytes without number are in `tests/fuzz`; how
HTTP itself can be malformed is in `tests/transports/http/servers/test_http1.py`.
"""

import json
from typing import Any

import pytest
from tests.robustness.doors import Door

SOURCE = """
@server.tool
def touch() -> str:
    say("TOUCHED")
    return "touched"
"""
PARSE, INVALID, PARAMS = -32700, -32600, -32602


def touch(**changes: Any) -> bytes:
    """A call that must not be made."""
    params = {"name": "touch", "arguments": {}}
    message = {"jsonrpc": "2.0", "id": "t", "method": "tools/call", "params": params, **changes}
    return json.dumps(message).encode()


def arguments(text: bytes, door: Door) -> bytes:
    """A call with these arguments, as they are."""
    params = {"name": "touch", "arguments": "HERE", **door.envelope}
    return touch(params=params).replace(b'"HERE"', text)


NOT_JSON = {
    "nothing but a word": b"hello",
    "half of an object": touch()[:-1],
    "two objects": touch() + touch(),
    "single quotes": touch().replace(b'"', b"'"),
    "a comment": touch() + b"// once",
    "a comma too many": touch()[:-1] + b",}",
    "not a number": touch()[:-1] + b',"x":NaN}',
    "infinity": touch()[:-1] + b',"x":Infinity}',
    "a leading zero": touch()[:-1] + b',"x":01}',
    "a NUL": touch()[:-1] + b"\x00}",
    "a control character in a string": touch()[:-1] + b',"x":"\x01"}',
    "not UTF-8": touch()[:-1] + b',"x":"\xff"}',
    "half of a surrogate pair": touch()[:-1] + b',"x":"\\ud800"}',
    "a surrogate in UTF-8": touch()[:-1] + b',"x":"\xed\xa0\x80"}',
    "overlong UTF-8": touch()[:-1] + b',"x":"\xc0\x80"}',
    "UTF-16": touch().decode().encode("utf-16"),
    "two byte order marks": b"\xef\xbb\xbf" * 2 + touch(),
    "a number of 5,000 digits": touch()[:-1] + b',"x":' + b"9" * 5000 + b"}",
    "100,000 levels": b"[" * 100_000 + b"]" * 100_000,
    "100,000 levels of objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "a member twice": touch()[:-1] + b',"method":"ping"}',
    "a member twice, once with an escape": touch()[:-1] + b',"\\u0069d":2}',
    "binary": bytes(range(128, 256)) * 20,
}
NO_MESSAGE = {
    "a number": b"7",
    "a string": b'"tools/call"',
    "null": b"null",
    "an empty batch": b"[]",
    "no version": touch(jsonrpc=None),
    "another version": touch(jsonrpc="1.0"),
    "an id of null": touch(id=None),
    "an id of true": touch(id=True),
    "an id with a fraction": touch(id=1.5),
    "an id that is an object": touch(id={"a": 1}),
    "a method that is a number": touch(method=5),
    "a method that is null": touch(method=None),
    "an upper-case method member": touch().replace(b'"method"', b'"Method"'),
}
BAD_PARAMS = {
    "a list": touch(params=[1]),
    "a string": touch(params="touch"),
    "null": touch(params=None),
    "no name": touch(params={"arguments": {}}),
    "a member twice": touch()[:-2] + b',"name":"touch"}}',
    "a member twice, once with an escape": touch()[:-2] + b',"n\\u0061me":"touch"}}',
    "an argument twice": touch()[:-3] + b'"a":1,"a":1}}}',
    "a name that is a number": touch(params={"name": 5}),
}
BAD_ARGUMENTS = {
    "a member twice": b'{"a":1,"a":2}',
    "not a number": b'{"a":NaN}',
    "half of a surrogate pair": b'{"a":"\\udfff"}',
    "not UTF-8": b'{"a":"\xff"}',
    "a number of 5,000 digits": b'{"a":' + b"9" * 5000 + b"}",
    "1,000 levels": b'{"a":' + b"[" * 1000 + b"]" * 1000 + b"}",
    "a list": b"[1]",
    "a string": b'"all"',
}


def is_refused(door: Door, payload: bytes, codes: set[int]) -> None:
    [answer] = door.say(payload)

    assert answer["error"]["code"] in codes, answer
    assert len(answer["error"]["message"]) < 1000
    assert "TOUCHED" not in door.process.stderr
    door.works()


@pytest.mark.parametrize("payload", NOT_JSON.values(), ids=NOT_JSON)
def test_what_is_not_json_is_answered(door: Door, payload: bytes) -> None:
    is_refused(door, payload, {PARSE})


@pytest.mark.parametrize("payload", NO_MESSAGE.values(), ids=NO_MESSAGE)
def test_what_is_no_message_is_answered(door: Door, payload: bytes) -> None:
    is_refused(door, payload, {INVALID})


@pytest.mark.parametrize("payload", BAD_PARAMS.values(), ids=BAD_PARAMS)
def test_parameters_of_the_wrong_shape_are_answered(door: Door, payload: bytes) -> None:
    is_refused(door, payload, {PARAMS})


@pytest.mark.parametrize("text", BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS)
def test_arguments_that_nobody_can_read_are_answered(door: Door, text: bytes) -> None:
    answers = door.say(arguments(text, door))

    [answer] = answers
    assert answer.get("result", {}).get("isError", True) is True
    assert "TOUCHED" not in door.process.stderr
    door.works()
