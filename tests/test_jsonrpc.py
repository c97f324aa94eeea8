"""JSON-RPC messages as values, for those who write transports and tests."""

import json
from typing import Any

import pytest

from toolhaft import InvalidRequest, McpError
from toolhaft.errors import ParseError
from toolhaft.jsonrpc import ErrorCode, Failure, Notification, Request, Response, read

MESSAGES: list[tuple[Any, dict[str, Any]]] = [
    (Request(1, "ping"), {"id": 1, "method": "ping"}),
    (Request("a", "m", {"x": 1}), {"id": "a", "method": "m", "params": {"x": 1}}),
    (Request(0, "m", [1, 2]), {"id": 0, "method": "m", "params": [1, 2]}),
    (Notification("n"), {"method": "n"}),
    (Notification("n", {"x": None}), {"method": "n", "params": {"x": None}}),
    (Response(1, {"a": [1]}), {"id": 1, "result": {"a": [1]}}),
    (Response("", None), {"id": "", "result": None}),
    (Failure(1, -32601, "no"), {"id": 1, "error": {"code": -32601, "message": "no"}}),
    (
        Failure(1, 7, "odd", {"why": 1}),
        {"id": 1, "error": {"code": 7, "message": "odd", "data": {"why": 1}}},
    ),
    (Failure(None, -32700, "bad"), {"id": None, "error": {"code": -32700, "message": "bad"}}),
]
each = pytest.mark.parametrize(("message", "wire"), MESSAGES)


@each
def test_a_message_is_written(message: Any, wire: dict[str, Any]) -> None:
    """L-57: requests, notifications, responses and errors are built."""
    assert json.loads(message.encode()) == {"jsonrpc": "2.0", **wire}


@each
def test_a_message_is_read(message: Any, wire: dict[str, Any]) -> None:
    """L-57: and read, as what they are."""
    text = json.dumps({"jsonrpc": "2.0", **wire})

    assert read(text) == message
    assert read(text.encode()) == message


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (ErrorCode.PARSE_ERROR, "Parse error"),
        (ErrorCode.INVALID_REQUEST, "Invalid request"),
        (ErrorCode.METHOD_NOT_FOUND, "Method not found"),
        (ErrorCode.INVALID_PARAMS, "Invalid params"),
        (ErrorCode.INTERNAL_ERROR, "Internal error"),
        (-1, "Error"),
    ],
)
def test_an_error_without_words_has_those_of_its_code(code: int, words: str) -> None:
    """L-57: the five standard errors."""
    sent = json.loads(Failure(None, code).encode())

    assert sent == {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": words}}


def test_the_codes_are_those_of_the_errors() -> None:
    codes = {kind.code for kind in _all(McpError)} | {-32002}

    assert {code.value for code in ErrorCode} == codes


def _all(kind: type[McpError]) -> set[type[McpError]]:
    return {kind}.union(*(_all(each) for each in kind.__subclasses__()))


def test_a_batch_is_a_list_of_messages() -> None:
    """L-57: a batch is not empty."""
    batch = b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"n"}]'

    assert read(batch) == [Request(1, "ping"), Notification("n")]
    with pytest.raises(InvalidRequest, match="must not be empty"):
        read(b"[]")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", ParseError),
        ("{", ParseError),
        ("\ud800", ParseError),
        ("3", InvalidRequest),
        ("{}", InvalidRequest),
        ('{"jsonrpc":"1.0","id":1,"method":"m"}', InvalidRequest),
        ('{"jsonrpc":"2.0","id":null,"method":"m"}', InvalidRequest),
        ('{"jsonrpc":"2.0","id":1,"result":1,"error":{}}', InvalidRequest),
        ('{"jsonrpc":"2.0","id":null,"result":1}', InvalidRequest),
        ('{"jsonrpc":"2.0","id":1,"method":"m","params":5}', InvalidRequest),
        ('{"jsonrpc":"2.0","method":"m","params":"text"}', InvalidRequest),
        ('{"jsonrpc":"2.0","method":"m","params":false}', InvalidRequest),
        ('{"jsonrpc":"2.0","id":1,"error":"no"}', InvalidRequest),
        ('{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"y"}}', InvalidRequest),
    ],
)
def test_what_is_no_message_is_refused(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        read(text)
