"""What is read from a descriptor: every message in its turn, however it was written."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from toolhaft import Server
from toolhaft.calls.service import connected
from toolhaft.protocol.framing import Framer
from toolhaft.transports.pipes import Input, Output

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
LIMIT = 1 << 24
# So much is read at once, unless there was as much the last time.
CHUNK = 65536


def request(number: int, text: str = "") -> bytes:
    """A line that asks for the tools, of any length."""
    params = {"_meta": {**META, "example/text": text}}
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/list", "params": params}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


class Client:
    """The other side of an input and an output."""

    def __init__(self, framer: Framer, high: int) -> None:
        self.framer = framer
        self.reads, writes = os.pipe()
        self._input, self.writes = os.pipe()
        self.output = Output(writes, framer, high)
        self._ends = [self.reads, writes, self._input, self.writes]
        self.sizes: list[int] = []

    async def serve(self, server: Server) -> AsyncIterator[Input]:
        """Serve it, but read only what the test wants to be read."""
        async with connected(server, self.output) as connection:
            yield Input(
                self._input,
                self.framer,
                self.output,
                connection,
                ended=lambda: None,
                read=self._read,
            )

    def _read(self, descriptor: int, size: int) -> bytes:
        self.sizes.append(size)
        return os.read(descriptor, size)

    def end(self) -> None:
        """Write no more."""
        self._ends.remove(self.writes)
        os.close(self.writes)

    def lines(self, count: int) -> list[bytes]:
        """So many answers; waits for them."""
        data = b""
        while data.count(b"\n") < count and (more := os.read(self.reads, CHUNK)):
            data += more
        return data.splitlines()

    def ids(self) -> list[int]:
        """Of the answers that are there."""
        os.set_blocking(self.reads, False)
        data = b""
        while True:
            try:
                data += os.read(self.reads, CHUNK)
            except BlockingIOError:
                break
        return [json.loads(line)["id"] for line in data.splitlines()]

    def close(self) -> None:
        self.output.close()
        for end in self._ends:
            os.close(end)


@asynccontextmanager
async def serving(high: int = LIMIT, description: str = "") -> AsyncIterator[tuple[Client, Input]]:
    server = Server("read", version="1")
    server.tool(lambda: "", name="any", description=description)
    client = Client(Framer(LIMIT, "lines"), high)
    try:
        async for input_ in client.serve(server):
            yield client, input_
    finally:
        client.close()


async def test_a_line_by_itself_is_served_at_once() -> None:
    async with serving() as (client, input_):
        os.write(client.writes, request(1))
        input_.read()

        assert client.ids() == [1]
        assert (input_.frames_served, input_.serving) == (1, False)


@pytest.mark.parametrize("cut", [1, 30, len(request(1)) - 1, len(request(1)), len(request(1)) + 9])
async def test_lines_are_served_in_their_order_wherever_they_are_cut(cut: int) -> None:
    data = b"".join(map(request, (1, 2, 3)))

    async with serving() as (client, input_):
        for part in (data[:cut], data[cut:], request(4)):
            os.write(client.writes, part)
            input_.read()

        assert client.ids() == [1, 2, 3, 4]


async def test_a_line_goes_behind_those_that_wait() -> None:
    async with serving() as (client, input_):
        client.framer.feed(request(1))
        os.write(client.writes, request(2))
        input_.read()

        assert client.ids() == [1, 2]


async def test_a_client_that_does_not_read_is_not_served_until_it_does() -> None:
    async with serving(high=100) as (client, input_):
        client.output.send(b'{"id":0,"text":"%b"}' % (b"x" * 200_000))
        for number in (1, 2):
            os.write(client.writes, request(number))
            input_.read()

        assert client.output.is_full
        assert (len(client.framer.frames), input_.frames_served) == (2, 0)
        client.output.on_room = input_.serve
        lines = await asyncio.to_thread(client.lines, 3)
        assert [json.loads(line)["id"] for line in lines] == [0, 1, 2]


class Said:
    """Keeps what an input says of when it wants to hear something."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def listen(self, *_: object) -> None:
        self.words.append("listen")

    def pause(self) -> None:
        self.words.append("pause")

    def ignore(self) -> None:
        self.words.append("ignore")


async def test_who_does_not_read_the_answer_to_a_line_is_not_heard_any_more() -> None:
    async with serving(high=100, description="x" * 200_000) as (client, input_):
        said = Said()
        input_.start(said)
        os.write(client.writes, request(1))
        input_.read()
        await asyncio.sleep(0)

        assert client.output.is_full
        assert said.words == ["listen", "pause"]


async def test_after_much_was_read_no_more_is_read_at_once_than_before() -> None:
    much = request(1, "x" * (CHUNK - len(request(1) + request(2)))) + request(2)

    async with serving() as (client, input_):
        for data in (much, request(3), request(4)):
            os.write(client.writes, data)
            input_.read()

        assert len(much) == CHUNK
        assert client.ids() == [1, 2, 3, 4]
        assert client.sizes == [CHUNK, CHUNK * 16, CHUNK]


async def test_the_end_is_no_line() -> None:
    async with serving() as (client, input_):
        os.write(client.writes, request(1)[:-1])
        input_.read()
        client.end()
        input_.read()

        assert input_.at_end
        assert client.ids() == [1]


async def test_what_is_left_is_served_if_there_is_room_before_anybody_has_paused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(high=100, description="x" * 200_000) as (client, input_):
        input_.start(Said())
        os.set_blocking(client.reads, False)
        data = b""

        def read_all() -> None:
            nonlocal data
            while True:
                try:
                    data += os.read(client.reads, CHUNK)
                except BlockingIOError:
                    if client.output.empty:
                        return
                    client.output.push()

        def uncork() -> None:
            """The client reads, and the watch pushes, just now."""
            monkeypatch.undo()
            read_all()
            client.output.uncork()

        monkeypatch.setattr(client.output, "uncork", uncork)
        os.write(client.writes, request(1) + request(2) + request(3))
        input_.read()
        for _ in range(10):
            await asyncio.sleep(0)
            read_all()

        assert [json.loads(line)["id"] for line in data.splitlines()] == [1, 2, 3]
