"""`server.serve(reader, writer)` and a client that does not read, or is gone."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.processes.process import HANDSHAKE, line

from toolhaft import Context, Limits, Server

PATIENCE = 10
REPORTS = 20_000
MESSAGE = "x" * 1000
LIMITS = Limits(waiting_bytes=256 * 1024, progress_per_second=1_000_000)


class Stalled:
    """The half of a stream that a client does not read: only what `Writer` asks for."""

    def __init__(self) -> None:
        self.size = 0
        self.open = asyncio.Event()
        self.broken = False

    def write(self, data: bytes) -> None:
        self.size += len(data)

    async def drain(self) -> None:
        await self.open.wait()
        if self.broken:
            raise ConnectionResetError


class Stage:
    """A server whose tools report without an end, and how that went."""

    def __init__(self) -> None:
        self.server = Server("tested", version="1", limits=LIMITS)
        self.reports = 0
        self.has_begun = threading.Event()
        self.is_over = threading.Event()
        self.raised: list[BaseException] = []
        self.server.tool(self.plain)
        self.server.tool(self.coroutine)

    def plain(self, ctx: Context) -> str:
        try:
            while self.reports < REPORTS and not ctx.cancelled:
                self.reports += 1
                ctx.sync.progress(self.reports, message=MESSAGE)
                self.has_begun.set()
        finally:
            self.is_over.set()
        return "done"

    async def coroutine(self, ctx: Context) -> str:
        try:
            while self.reports < REPORTS:
                self.reports += 1
                await ctx.progress(self.reports, message=MESSAGE)
                self.has_begun.set()
        except BaseException as error:
            self.raised.append(error)
            raise
        finally:
            self.is_over.set()
        return "done"


def call(tool: str) -> bytes:
    params = {"name": tool, "arguments": {}, "_meta": {"progressToken": 1}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return b"".join(map(line, (*HANDSHAKE, request)))


async def settled(figure: Callable[[], int]) -> int:
    """What it is when it does not change any more."""
    before = -1
    while figure() != before:
        before = figure()
        await asyncio.sleep(0.3)
    return before


async def over(stage: Stage) -> bool:
    return await asyncio.to_thread(stage.is_over.wait, PATIENCE)


class Client:
    """Calls a tool and reads nothing."""

    def __init__(self, stage: Stage, tool: str) -> None:
        self.reader, self.writer = asyncio.StreamReader(), Stalled()
        self.reader.feed_data(call(tool))
        self.serving = asyncio.create_task(stage.server.serve(self.reader, self.writer))


async def test_a_plain_tool_waits_while_the_client_does_not_read() -> None:
    stage = Stage()
    client = Client(stage, "plain")

    size = await settled(lambda: client.writer.size)
    stalled = stage.reports
    client.writer.open.set()

    assert await over(stage)
    assert 0 < stalled < REPORTS
    assert size < 2 * LIMITS.waiting_bytes
    assert stage.reports == REPORTS
    client.reader.feed_eof()
    await asyncio.wait_for(client.serving, PATIENCE)


async def test_a_client_that_reads_gets_every_report_of_a_plain_tool() -> None:
    stage = Stage()
    client = Client(stage, "plain")
    client.writer.open.set()

    assert await over(stage)

    client.reader.feed_eof()
    await asyncio.wait_for(client.serving, PATIENCE)
    assert client.writer.size > REPORTS * len(MESSAGE)


async def test_a_tool_that_waits_is_released_when_the_service_is_cancelled() -> None:
    stage = Stage()
    client = Client(stage, "plain")
    await settled(lambda: client.writer.size)

    client.serving.cancel()

    assert await over(stage)
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait_for(client.serving, PATIENCE)


async def test_a_tool_that_waits_is_released_when_the_client_is_gone() -> None:
    stage = Stage()
    client = Client(stage, "plain")
    size = await settled(lambda: client.writer.size)

    client.writer.broken = True
    client.writer.open.set()

    assert await over(stage)
    assert client.writer.size < size + LIMITS.waiting_bytes
    client.reader.feed_eof()
    await asyncio.wait_for(client.serving, PATIENCE)


@pytest.mark.parametrize("tool", ["plain", "coroutine"])
async def test_a_client_that_resets_is_sent_no_more(
    tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage()
    served: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await stage.server.serve(reader, writer)
        writer.close()
        served.set_result(None)

    listener = await asyncio.start_server(accepted, "127.0.0.1", 0)
    async with listener, asyncio.timeout(PATIENCE):
        client = socket.create_connection(listener.sockets[0].getsockname(), timeout=PATIENCE)
        with client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(call(tool))
            assert await asyncio.to_thread(stage.has_begun.wait, PATIENCE)
        await served
        assert await over(stage)

    assert "socket.send() raised exception" not in caplog.text
    assert not any(isinstance(error, ConnectionError) for error in stage.raised)
