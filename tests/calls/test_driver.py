"""What is over is forgotten at once: `Call` and its like are in no reference cycle.

They are made for each message. In a cycle they would stay until the garbage collector comes.
"""

import asyncio
import gc
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.transports.http.asgi import StatelessClient

from toolhaft import Context, McpError, Server, ToolError
from toolhaft.calls.driver import Driver

HANDSHAKE: list[dict[str, Any]] = [
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]
TIMES = 20


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """What pytest keeps of the log would keep whatever an error knows."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


class Writer:
    """Counts the answers."""

    def __init__(self) -> None:
        self.answers = 0

    def write(self, data: bytes) -> None:
        self.answers += data.count(b'"id"')

    async def drain(self) -> None:
        return None


def served() -> Server:
    """One tool for each way in which a call can run and end."""
    server = Server("forgetful", version="1")

    @server.tool
    async def quick() -> str:
        return "at once"

    @server.tool
    async def waits(ctx: Context) -> str:
        await ctx.progress(0.5)
        await asyncio.sleep(0)
        return "later"

    @server.tool
    async def ever() -> None:
        await asyncio.Event().wait()

    @server.tool
    def plain() -> str:
        return "on a thread"

    @server.tool(thread=False)
    def inline() -> str:
        return "on the loop"

    @server.tool
    async def bug() -> None:
        raise ValueError("a bug")

    @server.tool
    async def refuses() -> None:
        raise ToolError("no")

    return server


def call(name: str) -> dict[str, Any]:
    """A call of a tool, whose id is filled in later."""
    params = {"name": name, "arguments": {}, "_meta": {"progressToken": "p"}}
    return {"jsonrpc": "2.0", "method": "tools/call", "params": params}


async def conversation(server: Server, messages: list[dict[str, Any]]) -> int:
    """A client that comes, says this, and leaves; how many answers it got."""
    reader, writer = asyncio.StreamReader(limit=1 << 24), Writer()
    reader.feed_data(b"".join(json.dumps(each).encode() + b"\n" for each in messages))
    reader.feed_eof()
    await asyncio.wait_for(server.serve(reader, writer), 30)
    return writer.answers


def living(kind: type) -> int:
    """How many there are of a class that nobody can do without."""
    while gc.collect():
        pass  # what is freed may free more
    return sum(isinstance(each, kind) for each in gc.get_objects())


def numbered(make: Callable[[], dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**make(), "id": number} for number in range(1, TIMES + 1)]


def cancelled() -> list[dict[str, Any]]:
    """Calls, each of which is taken back at once."""
    method = "notifications/cancelled"
    return [
        message
        for request in numbered(lambda: call("ever"))
        for message in (
            request,
            {"jsonrpc": "2.0", "method": method, "params": {"requestId": request["id"]}},
        )
    ]


@pytest.mark.parametrize(
    "name", ["quick", "waits", "ever", "plain", "inline", "bug", "refuses", "unknown"]
)
async def test_a_client_that_has_called_and_gone_is_forgotten(name: str) -> None:
    server = served()
    messages = [*HANDSHAKE, *numbered(lambda: call(name))]
    await conversation(server, messages)
    before = living(Driver)

    for _ in range(3):
        await conversation(server, messages)

    assert living(Driver) <= before


async def test_a_client_that_took_back_its_calls_is_forgotten() -> None:
    server = served()
    await conversation(server, [*HANDSHAKE, *cancelled()])
    before = living(Driver)

    for _ in range(3):
        await conversation(server, [*HANDSHAKE, *cancelled()])

    assert living(Driver) <= before


REFUSED: dict[str, dict[str, Any]] = {
    "an unknown method": {"method": "no/such"},
    "misshapen parameters": {"method": "tools/call", "params": {"name": 5}},
    "a strange envelope": {"method": "ping", "params": {"_meta": 5}},
}


@pytest.mark.parametrize("message", REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("opening", [[], HANDSHAKE], ids=["no session", "a session"])
async def test_messages_that_were_refused_are_forgotten(
    opening: list[dict[str, Any]], message: dict[str, Any]
) -> None:
    server = served()
    messages = [*opening, *numbered(lambda: {"jsonrpc": "2.0", **message})]
    answers = await conversation(server, messages)
    errors, drivers = living(McpError), living(Driver)

    await conversation(server, messages)

    assert answers == TIMES + len(opening[:1])
    assert living(McpError) <= errors
    assert living(Driver) <= drivers


@pytest.mark.parametrize("name", ["unknown", "refuses", "refuses_later", "refuses_on_a_thread"])
async def test_calls_over_http_that_failed_are_forgotten(name: str) -> None:
    server = Server("forgetful", version="1")

    @server.tool
    async def refuses() -> None:
        raise McpError("no")

    @server.tool
    async def refuses_later() -> None:
        await asyncio.sleep(0)
        raise McpError("no")

    @server.tool
    def refuses_on_a_thread() -> None:
        raise McpError("no")

    def living() -> int:
        while gc.collect():
            pass
        return sum(isinstance(each, McpError) for each in gc.get_objects())

    client = StatelessClient(server.asgi())
    await client.tool(name)
    before = living()
    for _ in range(TIMES):
        await client.tool(name)

    assert living() <= before
