"""Error codes: which ones leave, whatever an author raises and wherever."""

import enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft import McpError, MissingCapability, NotFound, ResourceError, Server
from toolhaft.protocol.error_codes import sendable
from toolhaft.protocol.revisions import REVISIONS
from toolhaft.testing import Client

NEW, OLD, FIRST_URLS = "2026-07-28", "2024-11-05", "2025-11-25"
JSON_RPC = (-32700, -32600, -32601, -32602, -32603)
PAGE = {"mode": "url", "message": "Log in.", "url": "https://x.example", "elicitationId": "1"}


def sent(code: Any, revision: str, data: Any = None) -> int:
    return sendable(McpError("no", code=code, data=data), REVISIONS[revision]).code


@given(st.integers(-33000, -31900) | st.integers() | st.booleans() | st.floats() | st.text())
@pytest.mark.parametrize("revision", REVISIONS)
def test_no_code_leaves_that_the_revision_forbids(revision: str, code: Any) -> None:
    found = sent(code, revision)

    assert type(found) is int
    assert abs(found) < 2**53
    if -32768 <= found <= -32000 and found not in JSON_RPC:
        assert revision != NEW
        assert found >= -32099


@pytest.mark.parametrize(
    ("code", "new", "old"),
    [
        (-32002, -32602, -32002),
        (-32042, -32603, -32042),
        (-32050, -32603, -32050),
        (-32099, -32603, -32099),
        (-32000, -32603, -32000),
        (-32001, -32603, -32001),
        (-32021, -32603, -32021),
        (-32500, -32603, -32603),
        (-32602, -32602, -32602),
        (2001, 2001, 2001),
        (-31999, -31999, -31999),
        (True, -32603, -32603),
        (2**70, -32603, -32603),
        (None, -32603, -32603),
    ],
)
def test_a_code_that_may_not_be_sent_becomes_one_that_may(code: Any, new: int, old: int) -> None:
    assert (sent(code, NEW), sent(code, OLD)) == (new, old)


def test_pages_to_visit_are_required_in_the_one_revision_that_can_say_so() -> None:
    assert sent(-32042, FIRST_URLS, {"elicitations": [PAGE]}) == -32042
    assert sent(-32042, FIRST_URLS, {"elicitations": [{**PAGE, "mode": "form"}]}) == -32603
    assert sent(-32042, FIRST_URLS, {"elicitations": []}) == -32603
    assert sent(-32042, FIRST_URLS) == -32603


def test_an_error_of_the_protocol_keeps_its_code_and_its_data() -> None:
    error = MissingCapability("no", required={"roots": {}})

    assert sendable(error, REVISIONS[NEW]) is error


def test_a_code_may_be_a_member_of_an_enumeration() -> None:
    class Code(enum.IntEnum):
        FULL = 2001

    assert sent(Code.FULL, NEW) == 2001


class Unfinished(McpError):
    """An author's own, which does not call the constructor of its class."""

    def __init__(self) -> None:
        self.code = -32050


def failing() -> Server:
    async def check(exchange: Any, call: Any) -> Any:
        if exchange.method == "tools/list":
            raise McpError("no", code=-32050)
        return await call(exchange)

    server = Server("s", errors="show", middleware=[check])

    @server.tool
    async def tool(code: int) -> str:
        raise McpError("no", code=code, data={"a": 1})

    @server.tool
    def unfinished() -> str:
        raise Unfinished

    @server.resource("x://{code}")
    def resource(code: int) -> str:
        raise ResourceError(code, "no")

    @server.prompt
    def prompt(code: int) -> str:
        raise McpError("no", code=code)

    return server


@pytest.mark.parametrize(("revision", "expected"), [(NEW, -32603), (OLD, -32050)])
async def test_every_place_where_an_author_raises_is_covered(revision: str, expected: int) -> None:
    requests: list[tuple[str, Any]] = [
        ("tools/call", {"name": "tool", "arguments": {"code": -32050}}),
        ("tools/call", {"name": "unfinished", "arguments": {}}),
        ("resources/read", {"uri": "x://-32050"}),
        ("prompts/get", {"name": "prompt", "arguments": {"code": "-32050"}}),
        ("tools/list", {}),
    ]

    async with Client(failing(), revision) as client:
        answers = [await client.raw(client.requests.request(*each)) for each in requests]

    assert [answer["error"]["code"] for answer in answers] == [expected] * len(requests)
    assert answers[0]["error"] == {"code": expected, "message": "no", "data": {"a": 1}}


async def test_the_log_tells_of_a_code_that_was_not_sent(caplog: Any) -> None:
    async with Client(failing(), NEW) as client:
        await client.raw(
            client.requests.request("tools/call", {"name": "tool", "arguments": {"code": -32050}})
        )

    assert "may not send the code -32050 to a client of 2026-07-28" in caplog.text


@pytest.mark.parametrize("code", [-32602, -32601, -32600, -32603, -32002, -32000, 2001])
def test_an_error_of_a_resource_takes_the_codes_of_the_protocol(code: int) -> None:
    assert ResourceError(code, "no").code == code


@pytest.mark.parametrize("code", [-32700, -32500, -32100, -32768])
def test_an_error_of_a_resource_takes_no_code_without_a_meaning(code: int) -> None:
    with pytest.raises(ValueError, match="JSON-RPC keeps this code for itself"):
        ResourceError(code, "no")


def test_a_resource_that_is_not_there_has_the_code_of_the_revision() -> None:
    error = NotFound("no")

    assert sendable(error, REVISIONS[NEW]) is error
