"""`await server.handle(message)`: one message in, its answer out, in kind."""

import asyncio
import json
import time
from typing import Any

import pytest

from toolhaft import Context, Server
from toolhaft.protocol.handshake import Session

PATIENCE = 5
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
PONG = {"jsonrpc": "2.0", "id": 1, "result": {}}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def server() -> Server:
    server = Server("tested", version="1")

    @server.tool
    def plain(n: int) -> int:
        return n

    @server.tool
    async def waiting(n: int, ctx: Context) -> int:
        await ctx.progress(1)
        await ctx.log("info", "half way")
        await asyncio.sleep(0)
        return n

    return server


def initialize(revision: str) -> dict[str, Any]:
    params = {
        "protocolVersion": revision,
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def call(id_: object, name: str, n: int) -> dict[str, Any]:
    params = {"name": name, "arguments": {"n": n}, "_meta": {**META, "progressToken": 1}}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


async def test_bytes_are_answered_with_bytes(server: Server) -> None:
    answer = await server.handle(json.dumps(PING).encode())

    assert answer == b'{"jsonrpc":"2.0","id":1,"result":{}}'


async def test_text_is_answered_with_text(server: Server) -> None:
    answer = await server.handle(json.dumps(PING))

    assert answer == '{"jsonrpc":"2.0","id":1,"result":{}}'


async def test_a_dict_is_answered_with_a_dict(server: Server) -> None:
    assert await server.handle(dict(PING)) == PONG


@pytest.mark.parametrize("tool", ["plain", "waiting"])
async def test_a_tool_is_called(server: Server, tool: str) -> None:
    answer = await asyncio.wait_for(server.handle(call("x", tool, 5)), PATIENCE)

    assert answer is not None
    assert answer["id"] == "x"
    assert answer["result"]["structuredContent"] == 5


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "no/such"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}},
    ],
)
async def test_what_has_no_answer_gives_none(server: Server, message: dict[str, Any]) -> None:
    answer = await asyncio.wait_for(server.handle(message), PATIENCE)

    assert answer is None


async def test_nonsense_is_answered_with_an_error(server: Server) -> None:
    answer = await server.handle(b"{nonsense")

    assert answer is not None
    assert json.loads(answer)["error"]["code"] == -32700


async def test_a_lone_surrogate_in_text_is_answered_with_an_error(server: Server) -> None:
    answer = await server.handle('{"jsonrpc":"2.0","id":1,"method":"ping\udc80"}')

    assert answer is not None
    assert json.loads(answer)["error"]["code"] == -32700


async def test_a_lone_surrogate_in_a_dict_is_answered_as_in_text(server: Server) -> None:
    message = call(1, "plain", 1)
    message["params"]["arguments"] = {"n": 1, "more": ["\udc80"]}

    answer = await server.handle(message)
    in_text = await server.handle(json.dumps(message, ensure_ascii=False))

    assert answer is not None
    assert in_text is not None
    assert answer == json.loads(in_text)
    assert (answer["id"], answer["error"]["code"]) == (1, -32700)


@pytest.mark.parametrize("id_", [0, -1, 2**53, 2**63, 2**70, "", "ü", "1"])
async def test_an_id_comes_back_as_it_was(server: Server, id_: int | str) -> None:
    answer = await server.handle({**PING, "id": id_})

    assert answer is not None
    assert (answer["id"], type(answer["id"])) == (id_, type(id_))


async def test_one_session_is_remembered(server: Server) -> None:
    before = await server.handle({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    await server.handle(initialize("2025-06-18"))
    after = await server.handle({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})

    assert before is not None
    assert "error" in before
    assert after is not None
    assert [tool["name"] for tool in after["result"]["tools"]] == ["plain", "waiting"]


async def test_sessions_are_kept_apart(server: Server) -> None:
    mine, other = Session(), Session()

    await server.handle(initialize("2025-06-18"), mine)
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    assert "result" in (await server.handle(listing, mine) or {})
    assert "error" in (await server.handle(listing, other) or {})


async def test_a_batch_is_answered_as_one(server: Server) -> None:
    session = Session()
    await server.handle(initialize("2025-03-26"), session)
    plain = {"name": "plain", "arguments": {"n": 3}}
    batch = [
        PING,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "two", "method": "tools/call", "params": plain},
    ]

    answer = await asyncio.wait_for(server.handle(json.dumps(batch), session), PATIENCE)

    assert answer is not None
    assert sorted(json.loads(answer), key=str) == sorted(
        [
            {"jsonrpc": "2.0", "id": "two", "result": {"content": [{"type": "text", "text": "3"}]}},
            PONG,
        ],
        key=str,
    )


async def test_a_batch_of_notifications_gives_none(server: Server) -> None:
    session = Session()
    await server.handle(initialize("2025-03-26"), session)

    answer = await asyncio.wait_for(
        server.handle('[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","method":"y"}]', session),
        PATIENCE,
    )

    assert answer is None


@pytest.mark.parametrize("kind", ["coroutine", "plain"])
async def test_a_batch_whose_only_call_is_cancelled_gives_none(server: Server, kind: str) -> None:
    @server.tool
    async def coroutine() -> None:
        await asyncio.Event().wait()

    @server.tool
    def plain_one(ctx: Context) -> None:
        while not ctx.cancelled:
            time.sleep(0.01)

    session = Session()
    await server.handle(initialize("2025-03-26"), session)
    params = {"name": "coroutine" if kind == "coroutine" else "plain_one", "arguments": {}}
    cancelled = {"requestId": 2}
    batch = [
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled},
    ]

    answer = await asyncio.wait_for(server.handle(json.dumps(batch), session), PATIENCE)

    assert answer is None


async def test_many_messages_may_be_handled_at_once(server: Server) -> None:
    calls = [call(n, ("plain", "waiting")[n % 2], n) for n in range(50)]

    answers = await asyncio.wait_for(
        asyncio.gather(*(server.handle(message) for message in calls)), PATIENCE
    )

    found = {answer["id"]: answer["result"]["structuredContent"] for answer in answers if answer}
    assert found == {n: n for n in range(50)}


async def test_a_handler_that_is_cancelled_cancels_the_tool(server: Server) -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    @server.tool
    async def endless(n: int) -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    handling = asyncio.create_task(server.handle(call(1, "endless", 0)))
    await asyncio.wait_for(started.wait(), PATIENCE)
    handling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(handling, PATIENCE)

    assert cancelled.is_set()


def test_a_server_outlives_its_loop(server: Server) -> None:
    first = asyncio.run(server.handle(call(1, "waiting", 1)))
    second = asyncio.run(server.handle(call(2, "plain", 2)))

    assert first is not None
    assert second is not None
    assert (first["id"], second["id"]) == (1, 2)
