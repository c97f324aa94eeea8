"""Connections to `Protocol` in memory, and requests to be written to them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from tests.transports.http.asgi import ACCEPT, ENVELOPE, STATELESS
from uvicorn.server import ServerState

from toolhaft import Context, Server, ToolError
from toolhaft.protocol.limits import Limits
from toolhaft.transports.http.app import App
from toolhaft.transports.http.servers.uvicorn_protocol import Protocol

ENOUGH = 5


class Wire:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written = b""
        self.closing = False
        self.reading = True

    def write(self, data: bytes) -> None:
        if not self.closing:
            self.written += data

    def writelines(self, parts: list[bytes]) -> None:
        self.write(b"".join(parts))

    def close(self) -> None:
        self.closing = True

    abort = close

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


class LongWay:
    """Stands for an application none of whose services is ever at hand."""

    def at_hand(self, url: bytes, loop: asyncio.AbstractEventLoop) -> None: ...


class Line:
    """A connection to a server."""

    def __init__(self, app: App, *, short: bool = True, limits: Limits | None = None) -> None:
        config = uvicorn.Config(
            app, interface="asgi3", ws="none", log_config=None, access_log=False,
            server_header=False, date_header=False, proxy_headers=False,
        )  # fmt: skip
        config.load()
        self.tasks: set[asyncio.Task[None]] = set()
        state = ServerState()
        state.tasks = self.tasks
        self.state = state
        self.wire = Wire()
        services: Any = app if short else LongWay()
        loop = asyncio.get_running_loop()
        self.protocol = Protocol(services, limits or Limits(), config, state, {}, loop)
        wire: Any = self.wire
        self.protocol.connection_made(wire)

    async def hear(self, data: bytes) -> None:
        """Some bytes come, outside of any task as they do from a transport."""
        loop = asyncio.get_running_loop()
        heard = loop.create_future()

        def receive() -> None:
            self.protocol.data_received(data)
            heard.set_result(None)

        loop.call_soon(receive)
        await heard

    async def quiet(self) -> None:
        async with asyncio.timeout(ENOUGH):
            while self.tasks or self.is_outstanding:
                if self.tasks:
                    await asyncio.wait(self.tasks)
                else:
                    await asyncio.sleep(0)

    @property
    def is_outstanding(self) -> bool:
        """Is there a call that the connection itself will answer?"""
        return self.protocol._outstanding.call is not None  # pyright: ignore[reportPrivateUsage]

    @property
    def went_short(self) -> int:
        """How many requests were answered without the application, so far."""
        return self.state.total_requests if self.protocol.cycle is None else -1

    def close(self) -> None:
        self.protocol.connection_lost(None)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(ENOUGH):
        while not condition():  # noqa: ASYNC110 - a timer of the connection brings it about
            await asyncio.sleep(0.01)


def demo() -> Server:
    server = Server("demo", version="1")

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    async def tell(times: int, ctx: Context) -> str:
        for time in range(times):
            await ctx.progress(time + 1, times)
        return "told"

    @server.tool
    async def wait() -> str:
        await asyncio.sleep(0)
        await asyncio.sleep(0.001)
        return "waited"

    @server.tool
    def plain() -> str:
        return "plain"

    @server.tool
    async def fail() -> None:
        raise ToolError("no")

    @server.tool
    async def echo(text: str) -> str:
        return text

    return server


@asynccontextmanager
async def served(server: Server | None = None, **options: Any) -> AsyncIterator[App]:
    app = (server or demo()).asgi(path="/mcp", **options)
    async with app.lifespan():
        yield app


def request(
    message: Any, headers: dict[str, str] | None = None, *, verb: str = "POST", url: str = "/mcp"
) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    named = {"Host": "localhost", "Content-Type": "application/json", "Accept": ACCEPT}
    named |= {"Content-Length": str(len(body)), **(headers or {})}
    lines = [f"{verb} {url} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def call(id_: object, tool: str, **arguments: object) -> bytes:
    headers = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": "tools/call", "Mcp-Name": tool}
    meta = {**ENVELOPE, "progressToken": 7}
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}
    return request(message, headers)


def listing(id_: object) -> bytes:
    headers = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": "tools/list"}
    params = {"_meta": ENVELOPE}
    message = {"jsonrpc": "2.0", "id": id_, "method": "tools/list", "params": params}
    return request(message, headers)


def bodies(written: bytes) -> list[Any]:
    """The bodies of responses that tell their length."""
    found = []
    while written:
        head, _, rest = written.partition(b"\r\n\r\n")
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
        length = int(fields[b"content-length"])
        found.append(json.loads(rest[:length]))
        written = rest[length:]
    return found


def initialize(id_: int) -> bytes:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT_INFO}
    return request({"jsonrpc": "2.0", "id": id_, "method": "initialize", "params": params})


CLIENT_INFO = {"name": "c", "version": "1"}


async def opened(line: Line) -> str:
    """The id of a session that begins on this connection."""
    await line.hear(initialize(1))
    await line.quiet()
    head = line.wire.written.partition(b"\r\n\r\n")[0].decode()
    line.wire.written = b""
    return next(each.split(": ")[1] for each in head.split("\r\n") if "session" in each.lower())


def call_in(session: str, id_: int, tool: str, arguments: Mapping[str, object]) -> bytes:
    named = {"MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": session}
    params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": id_}}
    message = {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}
    return request(message, named)


async def known_to(line: Line) -> str:
    """A session whose head is known on this connection by now."""
    session = await opened(line)
    for id_ in (1, 2):
        await line.hear(call_in(session, id_, "add", {"a": 1, "b": 2}))
        await line.quiet()
    line.wire.written = b""
    return session
