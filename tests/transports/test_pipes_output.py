"""What is written to a descriptor: the same bytes, whether a frame is in pieces or not."""

import asyncio
import contextlib
import contextvars
import json
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import pytest

from toolhaft import Context, Limits, Server
from toolhaft.calls.output import Sink
from toolhaft.calls.service import connected
from toolhaft.encoding.envelope import LONG
from toolhaft.protocol.calls import READY
from toolhaft.protocol.framing import Framer
from toolhaft.transports.pipes import Output

Framing = Literal["lines", "content-length"]

LIMIT = 1 << 24
PATIENCE = 5
SHORT = b'{"short":1}'
PIECES = (b'{"head":', b'"' + b"x" * 3 * LONG + b'"', b"}")
WHOLE = b"".join(PIECES)
# More than a pipe holds.
LARGE = (b'{"head":', b'"' + b"y" * 300_000 + b'"', b"}")


class Pipe:
    """Both ends of a pipe."""

    def __init__(self) -> None:
        self.reads, self.writes = os.pipe()

    def read(self, size: int) -> bytes:
        """So many bytes, or all that come."""
        data = b""
        while len(data) < size and (more := os.read(self.reads, size - len(data))):
            data += more
        return data

    def close(self) -> None:
        os.close(self.reads)
        os.close(self.writes)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.close()


@pytest.fixture(params=["lines", "content-length"])
def framing(request: pytest.FixtureRequest) -> Framing:
    found: Framing = request.param
    return found


def framed(frame: bytes, framing: Framing) -> bytes:
    if framing == "lines":
        return frame + b"\n"
    return b"Content-Length: %d\r\n\r\n" % len(frame) + frame


async def test_a_frame_in_pieces_is_sent_as_one(pipe: Pipe, framing: Framing) -> None:
    output = Output(pipe.writes, Framer(LIMIT, framing), LIMIT)
    expected = framed(SHORT, framing) + framed(WHOLE, framing) * 2 + framed(SHORT, framing)

    output.send(SHORT)
    output.send_pieces(PIECES)
    output.send(WHOLE)
    output.send(SHORT)

    assert output.empty
    assert output.taken == len(expected)
    assert pipe.read(len(expected)) == expected


async def test_pieces_that_are_gathered_keep_their_place(pipe: Pipe, framing: Framing) -> None:
    output = Output(pipe.writes, Framer(LIMIT, framing), LIMIT)
    expected = framed(SHORT, framing) + framed(WHOLE, framing) + framed(SHORT, framing)

    output.cork()
    output.send(SHORT)
    output.send_pieces(PIECES)
    output.send(SHORT)
    assert output.taken == 0
    output.uncork()

    assert pipe.read(len(expected)) == expected


async def test_what_a_pipe_does_not_take_of_pieces_follows(pipe: Pipe, framing: Framing) -> None:
    output = Output(pipe.writes, Framer(LIMIT, framing), LIMIT)
    large = framed(b"".join(LARGE), framing)
    expected = large + framed(WHOLE, framing) + framed(SHORT, framing) + large

    output.send_pieces(LARGE)
    assert not output.empty
    output.send_pieces(PIECES)
    output.send(SHORT)
    output.send_pieces(LARGE)
    reading = asyncio.to_thread(pipe.read, len(expected))
    received, _ = await asyncio.gather(reading, output.emptied())

    assert received == expected
    assert output.taken == len(expected)
    assert output.empty


async def test_a_pipe_that_takes_nothing_gets_pieces_later(pipe: Pipe, framing: Framing) -> None:
    output = Output(pipe.writes, Framer(LIMIT, framing), LIMIT)
    filled = 0
    while True:
        try:
            filled += os.write(pipe.writes, b"-" * 4096)
        except BlockingIOError:
            break

    output.send_pieces(PIECES)
    assert output.taken == 0
    expected = b"-" * filled + framed(WHOLE, framing)
    reading = asyncio.to_thread(pipe.read, len(expected))
    received, _ = await asyncio.gather(reading, output.emptied())

    assert received == expected


async def test_pieces_for_nobody_are_dropped(pipe: Pipe) -> None:
    output = Output(pipe.writes, Framer(LIMIT, "lines"), LIMIT)

    output.close()
    output.send_pieces(PIECES)

    assert output.empty
    os.set_blocking(pipe.reads, False)
    with pytest.raises(BlockingIOError):
        os.read(pipe.reads, 1)


async def test_frames_of_several_threads_do_not_mix(pipe: Pipe) -> None:
    output = Output(pipe.writes, Framer(LIMIT, "lines"), LIMIT)
    begin = threading.Barrier(4)

    def send(mark: str) -> None:
        text = json.dumps(mark * 20_000).encode()
        begin.wait()
        for number in range(50):
            output.send_pieces((b'{"by":', text, b',"n":%d}' % number))
            output.send(b'{"by":"%b","n":%d}' % (mark.encode(), number))

    size = 4 * sum(
        len('{"by":""}' * 2) + 20_001 + 2 * (len(',"n":') + len(str(number)) + 1)
        for number in range(50)
    )
    with ThreadPoolExecutor(5) as threads:
        reading = threads.submit(pipe.read, size)
        sending = [asyncio.wrap_future(threads.submit(send, mark)) for mark in "abcd"]
        await asyncio.gather(*sending)
        await output.emptied()
        lines = reading.result().splitlines()

    found = [(each["by"][0], len(each["by"]), each["n"]) for each in map(json.loads, lines)]
    for mark in "abcd":
        expected = [(mark, size, number) for number in range(50) for size in (20_000, 1)]
        assert [each for each in found if each[0] == mark] == expected


# What is above a descriptor

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": META}}


class Log:
    """A traffic log that keeps what goes out."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def connection(self) -> str:
        return "1"

    def message(self, direction: str, connection: str, message: object) -> None:
        if direction == "out":
            assert isinstance(message, bytes)
            self.frames.append(message)


@pytest.fixture
def server() -> Server:
    """A server whose list of tools is long."""
    server = Server("long", version="1")
    for number in range(40):
        server.tool(lambda: "", name=f"tool_{number}", description="d" * 200)
    return server


class Pieces(Sink):
    """An outlet that keeps what it is sent as it is sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.pieces: list[tuple[bytes, ...]] = []
        super().__init__(self.sent.append)

    def send_pieces(self, pieces: tuple[bytes, ...]) -> None:
        self.pieces.append(pieces)


async def test_a_transport_that_knows_no_pieces_gets_whole_frames(server: Server) -> None:
    whole: list[bytes] = []
    outlet = Pieces()

    async with connected(server, Sink(whole.append)) as connection:
        connection.receive(json.dumps(LIST).encode())
    async with connected(server, outlet) as connection:
        connection.receive(json.dumps(LIST).encode())

    answer = json.loads(whole[0])
    assert (answer["id"], len(answer["result"]["tools"])) == (2, 40)
    assert [b"".join(each) for each in outlet.pieces] == whole
    assert outlet.sent == []


async def test_a_traffic_log_has_long_answers_whole(server: Server) -> None:
    log = server.traffic = Log()
    outlet = Pieces()

    async with connected(server, outlet) as connection:
        connection.receive(json.dumps(LIST).encode())

    assert [len(json.loads(each)["result"]["tools"]) for each in log.frames] == [40]
    assert (log.frames, outlet.pieces) == (outlet.sent, [])


async def test_long_answers_to_a_batch_are_one_array(server: Server) -> None:
    outlet = Pieces()
    opening = {
        "protocolVersion": "2025-03-26",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}
    batch = [{**LIST, "id": number, "params": {}} for number in (7, 8)]

    async with connected(server, outlet) as connection:
        connection.receive(json.dumps(begin).encode())
        connection.receive(json.dumps(batch).encode())

    answers = [(each["id"], len(each["result"]["tools"])) for each in json.loads(outlet.sent[1])]
    assert (sorted(answers), outlet.pieces) == ([(7, 40), (8, 40)], [])


VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="nobody")


async def test_what_waits_for_a_client_does_not_see_the_variables_of_the_call_before(
    pipe: Pipe,
) -> None:
    os.set_blocking(pipe.reads, False)
    output = Output(pipe.writes, Framer(LIMIT), 1000)
    seen: list[str] = []
    output.on_room = lambda: seen.append(VARIABLE.get())

    def call() -> None:
        VARIABLE.set("alice")
        output.send(b"x" * 300_000)

    contextvars.copy_context().run(call)
    while not seen:
        await asyncio.sleep(0)
        with contextlib.suppress(BlockingIOError):
            os.read(pipe.reads, 1 << 16)
    output.close()

    assert set(seen) == {"nobody"}


class Slow(threading.Event):
    """An event at which two threads stop: one before it waits, one before it clears."""

    def __init__(self) -> None:
        super().__init__()
        self.may = {"waits": threading.Event(), "clears": threading.Event()}
        self.come = {"waits": threading.Event(), "clears": threading.Event()}

    def _stop(self, where: str) -> None:
        if threading.current_thread().name == where:
            self.come[where].set()
            self.may[where].wait(PATIENCE)

    def clear(self) -> None:
        self._stop("clears")
        super().clear()

    def wait(self, timeout: float | None = None) -> bool:
        self._stop("waits")
        return super().wait(timeout)


async def test_a_thread_that_need_not_wait_takes_the_sign_from_nobody(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, slow = Output(pipe.writes, Framer(LIMIT), 1000), Slow()
    monkeypatch.setattr(output, "_roomy", slow)
    output.send(b"x" * 300_000)
    threads = []
    for name in ("waits", "clears"):
        threads.append(threading.Thread(target=output.throttle, name=name, daemon=True))
        threads[-1].start()
        assert await asyncio.to_thread(slow.come[name].wait, PATIENCE)
    os.set_blocking(pipe.reads, False)
    while not output.empty:
        with contextlib.suppress(BlockingIOError):
            os.read(pipe.reads, 1 << 16)
        await asyncio.sleep(0)
    for name, thread in zip(("clears", "waits"), reversed(threads), strict=True):
        slow.may[name].set()
        await asyncio.to_thread(thread.join, PATIENCE)

    assert not any(thread.is_alive() for thread in threads)
    output.close()


async def test_a_coroutine_that_reports_waits_for_a_client_that_does_not_read(pipe: Pipe) -> None:
    limits = Limits(progress_per_second=1_000_000)
    server, reported = Server("talks", version="1", limits=limits), 0
    output = Output(pipe.writes, Framer(LIMIT, "lines"), 100_000)
    params = {"name": "talk", "_meta": {**META, "progressToken": 1}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}

    @server.tool
    async def talk(ctx: Context) -> None:
        nonlocal reported
        for number in range(2000):
            await ctx.progress(number + 1, message="x" * 1000)
            reported += 1

    async with connected(server, output) as connection:
        connection.receive(json.dumps(call).encode())
        await asyncio.sleep(0.05)
        before = reported
        assert output.is_full
        received = await asyncio.to_thread(pipe.read, 1_000_000)

    # What the pipe holds, and what may wait.
    assert before < 300
    assert received.count(b"\n") > 900


async def test_nobody_waits_for_a_client_that_reads(pipe: Pipe) -> None:
    output = Output(pipe.writes, Framer(LIMIT, "lines"), 100_000)

    output.send(SHORT)
    at_first = output.drained()
    output.send_pieces(LARGE)
    output.end()
    waits = output.drained()

    assert at_first is READY
    await asyncio.wait_for(waits, PATIENCE)  # since it is over
