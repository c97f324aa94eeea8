"""Clients of the soak: steady ones, which count every answer, and others, which do as they like."""

import asyncio
import contextlib
import itertools
import json
import random
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from tests.processes.process import HANDSHAKE, line, request
from tests.soak.ledger import Ledger
from tests.transports.http.servers.web import META, listens, posted, posting

PATIENCE = 60.0
HERE = "127.0.0.1"
LONGEST = 64 * 1024 * 1024
# What is called how often, and what must come of it.
CALLS: list[tuple[str, dict[str, Any], str | None]] = [
    *[("add", {"a": 20, "b": 22}, "42")] * 8,
    ("slow", {"seconds": 0.05}, "slept"),
    ("block", {"seconds": 0.02}, "blocked"),
    ("count", {"to": 20}, "20"),
    ("big", {"size": 200_000}, "x" * 200_000),
    ("touch", {}, "touched"),
    ("add", {"a": "one"}, None),
    *[("fail", {"how": how}, None) for how in ("on purpose", "bug", "exit", "cancelled")],
]
GARBAGE = [
    b"hello",
    b'{"jsonrpc":',
    b"[" * 5000,
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    b"\xff\xfe",
    b'{"jsonrpc":"2.0","id":"g","method":"no/such"}',
]


def judge(ledger: Ledger, message: dict[str, Any], expected: str | None, what: str) -> None:
    """An answer is the right one."""
    result = message.get("result", {})
    if expected is None:
        is_right = bool(result.get("isError") or "error" in message)
    else:
        content = result.get("content") or [{}]
        is_right = content[0].get("text") == expected
    if is_right:
        ledger.note("failed as they should" if expected is None else "answered")
    else:
        ledger.lost(f"{what}: {str(message)[:200]}")


# --- lines: stdio, and the socket of an attached process ------------------------------------------


class Lines:
    """A client that sends lines. Every id it sends is answered once, or was taken back."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._ids = itertools.count(1)
        self._waiting: dict[object, asyncio.Future[dict[str, Any]]] = {}

    async def _open(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Shake hands, and read from now on."""
        self._writer = writer
        self._reading = asyncio.ensure_future(self._read(reader))
        opening = self._expect("init")
        await self.write(b"".join(map(line, HANDSHAKE)))
        await asyncio.wait_for(opening, PATIENCE)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        async for text in reader:
            message = json.loads(text)
            waiting = self._waiting.pop(message.get("id"), None)
            if waiting is not None:
                waiting.set_result(message)
            elif "id" in message and "method" not in message and message["id"] is not None:
                self._ledger.note("answers to garbage")

    def _expect(self, id_: object) -> "asyncio.Future[dict[str, Any]]":
        waiting = self._waiting[id_] = asyncio.get_running_loop().create_future()
        return waiting

    async def write(self, data: bytes) -> None:
        """Bytes, as they are."""
        self._writer.write(data)
        await self._writer.drain()

    async def call(self, name: str, arguments: dict[str, Any], expected: str | None) -> None:
        """A call, whose answer counts."""
        id_ = next(self._ids)
        waiting = self._expect(id_)
        params = {"name": name, "arguments": arguments, "_meta": {"progressToken": id_}}
        await self.write(line(request(id_, "tools/call", params)))
        try:
            judge(self._ledger, await asyncio.wait_for(waiting, PATIENCE), expected, name)
        except TimeoutError:
            self._ledger.lost(f"{name} of {type(self).__name__} was not answered")

    async def abandon(self) -> None:
        """Calls whose answers nobody will take."""
        for name, arguments in (("slow", {"seconds": 60}), ("big", {"size": 3_000_000})):
            params = {"name": name, "arguments": arguments}
            await self.write(line(request(next(self._ids), "tools/call", params)))

    async def take_back(self) -> None:
        """A call that is cancelled at once."""
        id_ = next(self._ids)
        params = {"name": "slow", "arguments": {"seconds": 60}}
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}}
        await self.write(line(request(id_, "tools/call", params)) + line(note))
        self._ledger.note("cancelled")


class Piped(Lines):
    """A client on the pipes of a process."""

    def __init__(self, command: list[str], ledger: Ledger) -> None:
        super().__init__(ledger)
        self._command = command

    async def start(self) -> "Piped":
        """Start the process and shake hands."""
        self.process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=LONGEST,
        )
        assert self.process.stdout is not None
        assert self.process.stdin is not None
        await self._open(self.process.stdout, self.process.stdin)
        return self

    async def end(self, number: signal.Signals | None = None) -> int:
        """Leave, or send a signal; the exit status."""
        if number is not None:
            self.process.send_signal(number)
        else:
            self._writer.close()
        status = await asyncio.wait_for(self.process.wait(), PATIENCE)
        await self._reading
        return status


async def steady(client: Lines, chance: random.Random, over: asyncio.Event) -> None:
    """Some calls at once, some taken back, and garbage between them, until it is over."""
    while not over.is_set():
        burst = chance.choice((1, 4, 16, 16, 400 if chance.random() < 0.02 else 8))
        calls = [client.call(*chance.choice(CALLS)) for _ in range(burst)]
        await asyncio.gather(*calls)
        if chance.random() < 0.3:
            await client.take_back()
        if chance.random() < 0.2:
            await client.write(chance.choice(GARBAGE) + b"\n")
        if chance.random() < 0.01:
            await client.write(b"x" * (5 * 1024 * 1024) + b"\n")


async def churn(
    command: list[str],
    statuses: dict[signal.Signals | None, int],
    ledger: Ledger,
    chance: random.Random,
    over: asyncio.Event,
) -> None:
    """Processes that are started, used and ended, in each of the ways there are."""
    kind = "bridges" if "attach" in command else "servers"
    while not over.is_set():
        client = await Piped(command, ledger).start()
        await asyncio.gather(*(client.call(*chance.choice(CALLS)) for _ in range(5)))
        how = chance.choice((None, *statuses))
        if how is signal.SIGKILL:
            await client.abandon()
        status = await client.end(how)
        if status != statuses[how]:
            ledger.lost(f"one of the {kind} that was ended by {how} ended with {status}")
        ledger.note(f"{kind} ended")
        await pause(over, 3)


async def pause(over: asyncio.Event, seconds: float) -> None:
    """Wait so long, or until it is over."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(over.wait(), seconds)


# --- HTTP -----------------------------------------------------------------------------------------


class Posting:
    """A client that posts: on a connection that is kept, with a session or without."""

    def __init__(self, port: int, ledger: Ledger) -> None:
        self._port = port
        self._ledger = ledger
        self._headers: dict[str, str] = {}
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A new connection."""
        return await asyncio.open_connection(HERE, self._port, limit=LONGEST)

    async def post(self, message: object) -> tuple[int, dict[str, str], bytes]:
        """A message and its answer; on a new connection if the last one was closed."""
        if self._writer is None or self._writer.is_closing():
            self._reader, self._writer = await self.connect()
        assert self._reader is not None
        self._writer.write(posting(message, self._headers))
        await self._writer.drain()
        status, headers, body = await _answer(self._reader)
        if headers.get("connection") == "close":
            self.leave()
        return status, headers, body

    def leave(self) -> None:
        """Close the connection."""
        if self._writer is not None:
            self._writer.close()
        self._writer = None

    async def open_session(self) -> None:
        """Shake hands."""
        self._headers = {}
        _status, headers, _ = await self.post(HANDSHAKE[0])
        version = {"MCP-Protocol-Version": "2025-11-25"}
        self._headers = {"Mcp-Session-Id": headers["mcp-session-id"], **version}
        await self.post(HANDSHAKE[1])
        self._ledger.note("sessions")

    async def call(self, name: str, arguments: dict[str, Any], expected: str | None) -> None:
        """A call, whose answer counts."""
        params: dict[str, Any] = {"name": name, "arguments": arguments}
        params["_meta"] = {} if self._headers else META
        try:
            message = request(1, "tools/call", params)
            _, _, body = await asyncio.wait_for(self.post(message), PATIENCE)
            judge(self._ledger, _message(body), expected, name)
        except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
            self._ledger.lost(f"{name} over HTTP: {error!r}")
            self.leave()


async def _answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    status = int((await reader.readuntil(b"\r\n")).split()[1])
    headers: dict[str, str] = {}
    while (text := await reader.readuntil(b"\r\n")) != b"\r\n":
        name, _, value = text.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    if headers.get("transfer-encoding") != "chunked":
        return status, headers, await reader.readexactly(int(headers.get("content-length", 0)))
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return status, headers, body


def _message(body: bytes) -> dict[str, Any]:
    if not body.startswith((b"event:", b"id:", b"data:", b":")):
        return dict(json.loads(body))
    data = [each[5:].strip() for each in body.splitlines() if each.startswith(b"data:")]
    return dict(json.loads([each for each in data if each][-1]))


async def steady_over_http(client: Posting, chance: random.Random, over: asyncio.Event) -> None:
    """Calls on a connection; now and then a new one, or a new session, or none."""
    while not over.is_set():
        if chance.random() < 0.05:
            await client.open_session()
        for _ in range(20):
            await client.call(*chance.choice(CALLS))
        if chance.random() < 0.3:
            client.leave()


Mischief = Callable[[Posting, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def _leaves_within_its_body(_: Posting, __: Any, writer: asyncio.StreamWriter) -> None:
    writer.write(posting({"jsonrpc": "2.0", "id": 1, "method": "ping"})[:-20])


async def _leaves_its_call(_: Posting, __: Any, writer: asyncio.StreamWriter) -> None:
    params = {"name": "slow", "arguments": {"seconds": 60}, "_meta": META}
    writer.write(posting(request(1, "tools/call", params)))


async def _leaves_its_answer(_: Posting, reader: Any, writer: asyncio.StreamWriter) -> None:
    params = {"name": "big", "arguments": {"size": 3_000_000}, "_meta": META}
    writer.write(posting(request(1, "tools/call", params)))
    await writer.drain()
    await reader.read(1000)


async def _leaves_its_stream(_: Posting, reader: Any, writer: asyncio.StreamWriter) -> None:
    writer.write(posting(listens(resourceSubscriptions=["soak://news"])))
    await writer.drain()
    await reader.read(500)


async def _says_nonsense(_: Posting, reader: Any, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\x16\x03\x01 what is this\r\n\r\n")
    await reader.read(1000)


async def _posts_garbage(client: Posting, _: Any, __: Any) -> None:
    for each in GARBAGE:
        await client.post(each)


async def _says_too_much(_: Posting, reader: Any, writer: asyncio.StreamWriter) -> None:
    fields = posted(b"")
    writer.write(posting(b"x" * (5 * 1024 * 1024), fields))
    await reader.read(1000)


MISCHIEF: list[Mischief] = [
    _leaves_within_its_body, _leaves_its_call, _leaves_its_answer, _leaves_its_stream,
    _says_nonsense, _posts_garbage, _says_too_much,
]  # fmt: skip


async def mischief_over_http(
    port: int, ledger: Ledger, chance: random.Random, over: asyncio.Event
) -> None:
    """Clients that come, do something, and leave without a word."""
    while not over.is_set():
        client = Posting(port, ledger)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
            reader, writer = await client.connect()
            await asyncio.wait_for(chance.choice(MISCHIEF)(client, reader, writer), 5)
            if chance.random() < 0.5:
                writer.transport.abort()  # a reset
            writer.close()
        client.leave()
        ledger.note("left without a word")
        await asyncio.sleep(0.02)


async def floods_over_http(
    port: int, ledger: Ledger, chance: random.Random, over: asyncio.Event
) -> None:
    """A hundred connections at once, every few seconds."""
    while not over.is_set():
        clients = [Posting(port, ledger) for _ in range(100)]
        await asyncio.gather(*(client.call(*chance.choice(CALLS)) for client in clients))
        for client in clients:
            client.leave()
        ledger.note("floods")
        await pause(over, 5)


_DOOMED = """
import socket, sys, time
from tests.transports.http.servers.web import META, listens, posting
from tests.processes.process import request
call = request(1, "tools/call", {"name": "slow", "arguments": {"seconds": 60}, "_meta": META})
held = []
for message in [listens(), call] * 5:
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    connection.sendall(posting(message))
    held.append(connection)
print("ready", flush=True)
time.sleep(600)
"""


async def killed_over_http(
    port: int, ledger: Ledger, _chance: random.Random, over: asyncio.Event
) -> None:
    """Processes with calls and streams, killed."""
    while not over.is_set():
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _DOOMED, str(port), stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        if await process.stdout.readline() == b"ready\n":
            ledger.note("clients killed")
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        await pause(over, 4)
