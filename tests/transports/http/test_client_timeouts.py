"""Clients that do not send or do not read are not waited for for ever."""

import asyncio
import threading

from tests.asking import NEW
from tests.transports.http.asgi import StatelessClient
from tests.transports.http.bodies import Torrent, head, new_server

from toolhaft import Context
from toolhaft.testing import Client


async def test_a_body_that_does_not_come_is_408() -> None:
    client = StatelessClient(new_server(stall_seconds=0.02).asgi())
    answer = await client.begin("POST", head(content_length="10")).answer()

    assert (answer.status, answer.headers["connection"]) == (408, "close")


async def test_a_body_whose_rest_does_not_come_is_408() -> None:
    client = StatelessClient(new_server(stall_seconds=0.02).asgi())
    exchange = client.begin("POST", head(content_length="10"))
    exchange.feed(b"{", more=True)

    assert (await exchange.answer()).status == 408


async def test_a_service_goes_on_after_a_client_that_sends_nothing() -> None:
    client = StatelessClient(new_server(stall_seconds=0.02).asgi())
    await client.begin("POST", head(content_length="10")).answer()

    assert (await client.tool("echo", text="x")).text == "x"


async def test_a_call_that_takes_long_is_not_taken_for_a_client_that_does_not_send() -> None:
    server = new_server(stall_seconds=0.01)

    @server.tool
    async def slow() -> str:
        await asyncio.sleep(0.1)
        return "done"

    async with Client.asgi(server.asgi(), revision=NEW) as client:
        assert await client.call("slow") == "done"


async def test_a_guard_that_takes_long_is_not_taken_for_a_client_that_does_not_send() -> None:
    async def guard(headers: object) -> str:
        await asyncio.sleep(0.1)
        return "ann"

    app = new_server(stall_seconds=0.01).asgi(guard=guard)
    async with Client.asgi(app, revision=NEW) as client:
        assert await client.call("echo", text="x") == "x"


async def test_a_client_that_does_not_read_for_long_is_cut_and_its_call_cancelled() -> None:
    server = new_server(waiting_bytes=10_000, stall_seconds=0.02)
    torrent = Torrent(server)
    exchange = StatelessClient(server.asgi()).start_tool("torrent", meta={"progressToken": 1})
    await exchange.event()
    exchange.stop_reading()
    await exchange.ended()

    await asyncio.wait_for(torrent.ended.wait(), 5)
    assert not exchange.complete


async def test_the_thread_of_a_tool_is_free_again_when_its_client_is_cut() -> None:
    server = new_server(waiting_bytes=1000, stall_seconds=0.02, threads=1)
    freed = threading.Event()

    @server.tool
    def torrent(ctx: Context) -> None:
        try:
            for done in range(1, 1_000_000):
                ctx.sync.progress(done, message="x" * 1000)
                ctx.check()
        finally:
            freed.set()

    client = StatelessClient(server.asgi())
    exchange = client.start_tool("torrent", meta={"progressToken": 1})
    await exchange.event()
    exchange.stop_reading()
    await exchange.ended()

    is_free = await asyncio.get_running_loop().run_in_executor(None, freed.wait, 3)
    assert is_free
