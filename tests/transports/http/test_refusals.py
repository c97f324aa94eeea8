"""One call or session too many is refused."""

import asyncio

from tests.asking import NEW
from tests.transports.http.asgi import SessionClient, StatelessClient
from tests.transports.http.bodies import new_server

from toolhaft import Server
from toolhaft.testing import Client


class Waiting:
    """A tool whose calls wait until they are let go."""

    def __init__(self, server: Server) -> None:
        self.go = asyncio.Event()
        self._begun = asyncio.Semaphore(0)
        server.add_tool(self.run, name="waits")

    async def run(self) -> str:
        self._begun.release()
        await self.go.wait()
        return "done"

    async def begun(self, calls: int) -> None:
        async with asyncio.timeout(5):
            for _ in range(calls):
                await self._begun.acquire()


async def test_one_call_too_many_of_all_is_503() -> None:
    server = new_server(all_calls=2)
    waiting, client = Waiting(server), StatelessClient(server.asgi())
    exchanges = [client.start_tool("waits", id=number) for number in range(2)]
    await waiting.begun(2)
    answer = await client.tool("echo", id=7, text="x")
    waiting.go.set()

    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert (answer.code, answer.json["id"]) == (-32603, 7)
    assert [(await exchange.answer()).text for exchange in exchanges] == ["done", "done"]


async def test_there_is_room_again_when_calls_are_over() -> None:
    server = new_server(all_calls=1)
    waiting = Waiting(server)
    async with Client.asgi(server.asgi(), revision=NEW) as client:
        call = asyncio.create_task(client.call("waits"))
        await waiting.begun(1)
        waiting.go.set()
        await call

        assert await client.call("echo", text="x") == "x"


async def test_one_call_too_many_of_a_session_is_503_and_others_go_on() -> None:
    server = new_server(calls=2)
    waiting, client = Waiting(server), SessionClient(server.asgi())
    await client.shake()
    other = SessionClient(client.app)
    await other.shake()
    exchanges = [client.start_tool("waits", id=number) for number in range(2)]
    await waiting.begun(2)
    refused = await client.tool("echo", id=7, text="x")
    let_in = await other.tool("echo", id=7, text="x")
    waiting.go.set()

    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    assert let_in.text == "x"
    assert [(await exchange.answer()).text for exchange in exchanges] == ["done", "done"]


async def test_calls_whose_client_has_left_count_too() -> None:
    server = new_server(calls=2)
    waiting, client = Waiting(server), SessionClient(server.asgi())
    await client.shake()
    for number in range(2):
        exchange = client.start_tool("waits", id=number)
        await waiting.begun(1)
        exchange.disconnect()
        await exchange.ended()
    answer = await client.tool("echo", id=7, text="x")
    waiting.go.set()

    assert answer.status == 503


async def test_one_session_too_many_is_refused_if_all_are_in_use() -> None:
    client = SessionClient(new_server(sessions=1).asgi())
    await client.shake()
    stream = client.listen()
    await stream.begun()
    info = {"name": "other", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    answer = await SessionClient(client.app).ask("initialize", id=9, **params)

    assert (answer.status, answer.json["id"]) == (503, 9)
    assert answer.json["error"]["message"] == "too many sessions are in use; try again in a moment"
