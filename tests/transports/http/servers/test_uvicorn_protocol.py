"""Answers without a task: by the short way a client is told what it would be told by the long one.

`Protocol` is given bytes as a transport would, cut anywhere. What it writes is compared with what
it writes if no service is ever at hand, so that everything goes to the application.
"""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import Any

import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
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


# Which way

AT_ONCE: dict[str, Callable[[int], bytes]] = {
    "a call": lambda id_: call(id_, "add", a=1, b=2),
    "a call that tells something before": lambda id_: call(id_, "tell", times=2),
    "a call that fails": lambda id_: call(id_, "fail"),
    "wrong arguments": lambda id_: call(id_, "add", a="x"),
    "a list": listing,
    "an unknown tool": lambda id_: call(id_, "nothing"),
    "a wrong route": lambda id_: call(id_, "add", a=1, b=2).replace(b"Name: add", b"Name: sub"),
}


@pytest.mark.parametrize("kind", AT_ONCE)
async def test_what_waits_for_nothing_goes_the_short_way(kind: str) -> None:
    async with served() as app:
        line = Line(app)
        await line.hear(listing(1))  # whoever comes first is looked at closely, on the long way
        await line.quiet()
        first, line.wire.written, line.protocol.cycle = line.wire.written, b"", None  # type: ignore[assignment]
        await line.hear(AT_ONCE[kind](2))
        await line.hear(AT_ONCE[kind](12345))

        assert first.startswith(b"HTTP/1.1 200 OK\r\n")
        assert line.wire.written.count(b"HTTP/1.1 ") == 2
        assert line.went_short == 3
        assert not line.tasks
        line.close()


async def test_a_guard_is_asked_once_in_the_task_of_its_request() -> None:
    server = Server("demo")
    name: ContextVar[str] = ContextVar("name", default="nobody")
    asked = 0

    def guard(headers: Mapping[str, str]) -> str:
        nonlocal asked
        asked += 1
        if "x-name" in headers:
            name.set(headers["x-name"])
        return "somebody"

    @server.tool
    async def who() -> str:
        return name.get()

    named = call(1, "who").replace(b"\r\nHost", b"\r\nX-Name: ann\r\nHost")
    async with served(server, guard=guard) as app:
        line = Line(app)
        for data in (named, named, call(1, "who"), named, call(1, "who")):
            await line.hear(data)
            await line.quiet()

        said = [each["result"]["content"][0]["text"] for each in bodies(line.wire.written)]
        assert said == ["ann", "ann", "nobody", "ann", "nobody"]
        assert asked == 5
        line.close()


async def test_others_have_their_turn_while_one_sends_many_requests() -> None:
    async with served() as app:
        line = Line(app)
        await line.hear(call(0, "add", a=1, b=2))
        await line.quiet()
        await line.hear(b"".join(call(id_, "add", a=1, b=2) for id_ in range(1, 101)))

        assert len(bodies(line.wire.written)) < 20
        await line.quiet()
        assert [each["id"] for each in bodies(line.wire.written)] == list(range(101))
        line.close()


async def test_many_requests_and_the_beginning_of_another_are_no_long_head() -> None:
    async with served() as app:
        line = Line(app)
        await line.hear(b"".join(call(id_, "add", a=1, b=2) for id_ in range(200)) + b"POST /m")
        await line.quiet()

        assert len(bodies(line.wire.written)) == 200
        assert not line.wire.closing
        line.close()


async def test_what_comes_behind_a_body_is_no_header() -> None:
    server = Server("demo")

    @server.tool
    async def who(ctx: Context) -> str:
        return ctx.headers.get("x-name", "nobody")

    head, _, body = call(1, "who").partition(b"\r\n\r\n")
    lines = [each for each in head.split(b"\r\n") if not each.startswith(b"Content-Length")]
    lines.append(b"Transfer-Encoding: chunked")
    chunked = b"\r\n".join(lines) + b"\r\n\r\n%x\r\n%b\r\n0\r\n" % (len(body), body)
    async with served(server) as app:
        line = Line(app)
        await line.hear(call(1, "who"))
        await line.quiet()
        await line.hear(chunked + b"X-Name: admin\r\n\r\n")
        await line.quiet()

        said = [each["result"]["content"][0]["text"] for each in bodies(line.wire.written)]
        assert said == ["nobody", "nobody"]
        line.close()


@pytest.mark.parametrize(
    ("replaced", "by", "status"),
    [(b"localhost", b"evil.example", b"421"), (b"Length: ", b"Length: 9999999", b"413")],
)
async def test_who_is_refused_need_not_send_the_body(
    replaced: bytes, by: bytes, status: bytes
) -> None:
    usual = call(1, "add", a=1, b=2)
    async with served() as app:
        line = Line(app)
        for _ in range(2):
            await line.hear(usual)
            await line.quiet()
        line.wire.written = b""
        await line.hear(usual.replace(replaced, by).partition(b"{")[0])
        await line.quiet()

        assert line.wire.written.startswith(b"HTTP/1.1 " + status)
        line.close()


async def test_so_many_streams_and_no_more() -> None:
    headers = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": "subscriptions/listen"}
    params = {"_meta": ENVELOPE, "notifications": {"toolsListChanged": True}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    server = Server("demo", limits=Limits(streams=1))
    server.add_tool(lambda: "x", name="x")
    async with served(server) as app:
        lines = [Line(app) for _ in range(3)]
        for line in lines:
            await line.hear(listing(1))
            await line.quiet()
            line.wire.written = b""
        loop = asyncio.get_running_loop()
        for line in lines:
            loop.call_soon(line.protocol.data_received, request(message, headers))
        await until(lambda: all(line.wire.written for line in lines))

        statuses = sorted(line.wire.written.split()[1] for line in lines)
        assert statuses == [b"200", b"503", b"503"]
        for line in lines:
            line.close()
            await line.quiet()


async def test_a_call_that_waits_is_run_once() -> None:
    server = Server("demo")
    ran = 0

    @server.tool
    async def count() -> int:
        nonlocal ran
        ran += 1
        await asyncio.sleep(0.001)
        return ran

    async with served(server) as app:
        line = Line(app)
        for id_ in range(1, 6):  # by the long way, by the short one, and with a head that is known
            await line.hear(call(id_, "count"))
            await line.quiet()
            await line.hear(listing(id_))
            await line.quiet()

        assert ran == 5
        line.close()


# Calls that wait


@pytest.mark.parametrize("tool", ["wait", "plain"])
async def test_a_call_that_waits_is_answered_by_its_connection(tool: str) -> None:
    async with served() as app:
        line = Line(app)
        # The first is answered by the application; from the third, the head is known.
        for id_ in (1, 2, 3, 4):
            await line.hear(call(id_, tool))
            assert bool(line.tasks) == (id_ == 1)
            await line.quiet()

        answers = bodies(line.wire.written)
        assert [answer["id"] for answer in answers] == [1, 2, 3, 4]
        assert all("result" in answer for answer in answers)
        line.close()


class Slow:
    """A server with a tool that waits until it may go on."""

    def __init__(self) -> None:
        self.server = Server("demo", version="1")
        self.go, self.cancelled = asyncio.Event(), asyncio.Event()

        @self.server.tool
        async def stay(ctx: Context, tells: bool = False, tells_first: bool = False) -> str:
            if tells_first:
                await ctx.progress(1, 2)
            try:
                await self.go.wait()
                if tells:
                    await ctx.progress(1, 2)
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            return "stayed"


@asynccontextmanager
async def outstanding(
    slow: Slow, *, is_known: bool, limits: Limits | None = None, **arguments: object
) -> AsyncIterator[Line]:
    """A connection whose call is outstanding; its head was parsed, or was known before."""
    async with served(slow.server) as app:
        line = Line(app, limits=limits)
        slow.go.set()
        for id_ in range(1, 3 + is_known):
            await line.hear(call(id_, "stay"))
            await line.quiet()
        slow.go.clear()
        line.wire.written = b""
        await line.hear(call(4, "stay", **arguments))
        assert line.is_outstanding
        assert not line.tasks
        yield line
        line.close()


@pytest.mark.parametrize("is_known", [False, True])
async def test_what_is_said_before_the_answer_is_streamed(*, is_known: bool) -> None:
    slow = Slow()
    async with outstanding(slow, is_known=is_known, tells=True) as line:
        slow.go.set()
        await line.quiet()

        head, _, rest = line.wire.written.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert b"text/event-stream" in head
        assert rest.index(b'"progress":1') < rest.index(b'"stayed"')


async def test_what_is_said_before_a_call_waits_is_sent_while_it_waits() -> None:
    slow = Slow()
    async with served(slow.server) as app:
        line = Line(app)
        slow.go.set()
        for id_ in (1, 2, 3):
            await line.hear(call(id_, "stay"))
            await line.quiet()
        slow.go.clear()
        await line.hear(call(4, "stay", tells_first=True))
        await until(lambda: b'"progress":1' in line.wire.written)
        slow.go.set()
        await line.quiet()

        assert line.wire.written.count(b'"stayed"') == 4
        line.close()


@pytest.mark.parametrize("is_known", [False, True])
async def test_requests_behind_an_outstanding_call_are_answered_after_it(*, is_known: bool) -> None:
    slow = Slow()
    async with outstanding(slow, is_known=is_known) as line:
        await line.hear(listing(5) + call(6, "stay"))
        assert line.wire.written == b""
        slow.go.set()
        await line.quiet()

        assert [each["id"] for each in bodies(line.wire.written)] == [4, 5, 6]


async def test_requests_that_come_with_an_outstanding_call_are_answered_after_it() -> None:
    slow = Slow()
    async with served(slow.server) as app:
        line = Line(app)
        await line.hear(listing(1))
        await line.quiet()
        line.wire.written = b""
        await line.hear(call(2, "stay") + listing(3))
        assert line.wire.written == b""
        slow.go.set()
        await line.quiet()

        assert [each["id"] for each in bodies(line.wire.written)] == [2, 3]
        line.close()


@pytest.mark.parametrize("is_known", [False, True])
async def test_a_client_that_leaves_cancels_its_outstanding_call(*, is_known: bool) -> None:
    slow = Slow()
    async with outstanding(slow, is_known=is_known) as line:
        line.close()
        async with asyncio.timeout(ENOUGH):
            await slow.cancelled.wait()
        await line.quiet()

        assert line.wire.written == b""


@pytest.mark.parametrize("is_known", [False, True])
async def test_a_call_that_is_silent_for_long_is_handed_to_the_application(
    *, is_known: bool
) -> None:
    slow = Slow()
    async with outstanding(slow, is_known=is_known, limits=Limits(quiet_seconds=0.05)) as line:
        await until(lambda: bool(line.tasks))
        assert not line.is_outstanding
        slow.go.set()
        await line.quiet()

        assert [each["id"] for each in bodies(line.wire.written)] == [4]


@pytest.mark.parametrize("is_known", [False, True])
async def test_an_outstanding_call_is_answered_before_the_server_ends(*, is_known: bool) -> None:
    slow = Slow()
    async with outstanding(slow, is_known=is_known) as line:
        line.protocol.shutdown()
        assert not line.wire.closing
        slow.go.set()
        await line.quiet()

        assert b'"stayed"' in line.wire.written
        assert line.wire.closing


@pytest.mark.parametrize(
    "headers",
    [
        {"Expect": "100-continue"},
        {"Connection": "close"},
        {"Origin": "http://localhost"},
        {"Host": "evil.example"},
        {"Content-Type": "text/plain"},
        {"Accept": "text/html"},
    ],
    ids=str,
)
async def test_what_is_unusual_goes_the_long_way(headers: dict[str, str]) -> None:
    usual = call(1, "add", a=1, b=2)
    head, _, body = usual.partition(b"\r\n\r\n")
    names = {name.lower() for name in headers}
    lines = [
        each for each in head.decode().split("\r\n") if each.split(":")[0].lower() not in names
    ]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    unusual = "\r\n".join(lines).encode() + b"\r\n\r\n" + body
    written = []
    for short in (True, False):
        async with served() as app:
            line = Line(app, short=short)
            await line.hear(usual)
            await line.quiet()
            await line.hear(usual)
            before = line.state.total_requests
            await line.hear(unusual)
            assert line.tasks or not short or line.state.total_requests == before
            await line.quiet()
            written.append(line.wire.written)
            line.close()

    assert written[0] == written[1]


async def test_nobody_is_answered_out_of_turn() -> None:
    async with served() as app:
        line = Line(app)
        await line.hear(call(1, "add", a=1, b=2))
        await line.quiet()
        await line.hear(call(2, "wait") + call(3, "add", a=1, b=2) + call(4, "add", a=1, b=2))
        await line.quiet()
        await line.hear(call(5, "wait"))
        await line.hear(call(6, "add", a=1, b=2))
        await line.quiet()

        assert [each["id"] for each in bodies(line.wire.written)] == [1, 2, 3, 4, 5, 6]
        line.close()


async def test_a_client_that_does_not_read_waits_its_turn() -> None:
    async with served() as app:
        line = Line(app)
        await line.hear(call(1, "add", a=1, b=2))
        await line.quiet()
        line.protocol.pause_writing()
        written = line.wire.written
        await line.hear(call(2, "add", a=1, b=2))
        await line.hear(call(3, "add", a=1, b=2))

        assert line.wire.written == written
        line.protocol.resume_writing()
        await line.quiet()
        assert [each["id"] for each in bodies(line.wire.written)] == [1, 2, 3]
        line.close()


async def test_half_a_body_holds_no_connection_for_30_s(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    real, ahead = loop.time, [0.0]
    monkeypatch.setattr(loop, "time", lambda: real() + ahead[0])
    async with served() as app:
        line = Line(app)
        await line.hear(call(1, "add", a=1, b=2))
        await line.quiet()
        await line.hear(call(2, "add", a=1, b=2)[:-10])
        for _ in range(30):
            ahead[0] += 1
            for _ in range(5):
                await asyncio.sleep(0)

        assert b"HTTP/1.1 408 " in line.wire.written
        assert line.wire.closing


async def test_a_body_that_does_not_come_is_waited_for_by_the_long_way() -> None:
    whole = call(2, "add", a=1, b=2)
    async with served() as app:
        line = Line(app, limits=Limits(gap_seconds=0.05))
        await line.hear(call(1, "add", a=1, b=2))
        await line.quiet()
        await line.hear(whole[:-10])
        assert not line.tasks
        await until(lambda: bool(line.tasks))
        assert not line.wire.closing
        await line.hear(whole[-10:])
        await line.quiet()

        assert [each["id"] for each in bodies(line.wire.written)] == [1, 2]
        line.close()


async def test_a_connection_that_is_used_is_kept() -> None:
    async with served() as app:
        line = Line(app)
        line.protocol.timeout_keep_alive = 0.2  # type: ignore[assignment]
        await line.hear(call(1, "add", a=1, b=2))
        await line.quiet()
        for id_ in range(2, 12):
            await line.hear(call(id_, "add", a=1, b=2))
            await asyncio.sleep(0.05)
        assert not line.wire.closing
        assert len(bodies(line.wire.written)) == 11
        await until(lambda: line.wire.closing)
        line.close()


async def test_a_connection_is_kept_while_a_call_is_under_way() -> None:
    server = demo()
    ended = asyncio.Event()

    @server.tool
    async def stay() -> str:
        await ended.wait()
        return "stayed"

    async with served(server) as app:
        line = Line(app)
        line.protocol.timeout_keep_alive = 0.05  # type: ignore[assignment]
        for id_ in (1, 2):
            await line.hear(call(id_, "add", a=1, b=2))
            await line.quiet()
        await line.hear(call(3, "stay"))
        await asyncio.sleep(0.2)
        assert not line.wire.closing
        ended.set()
        await line.quiet()

        assert [each["id"] for each in bodies(line.wire.written)] == [1, 2, 3]
        await until(lambda: line.wire.closing)
        line.close()


async def test_a_body_that_is_on_its_way_when_the_server_ends_is_waited_for() -> None:
    whole = call(2, "add", a=1, b=2)
    async with served() as app:
        line = Line(app)
        await line.hear(call(1, "add", a=1, b=2))
        await line.quiet()
        await line.hear(whole[:-10])
        line.protocol.shutdown()
        assert not line.wire.closing
        await line.hear(whole[-10:])
        await line.quiet()

        assert line.wire.closing
        assert line.wire.written.count(b"HTTP/1.1 200 OK") == 2
        assert b"connection: close" in line.wire.written
        line.close()


async def test_a_long_answer_is_whole() -> None:
    text = "x" * 200_000
    async with served() as app:
        line = Line(app)
        for id_ in (1, 2):
            await line.hear(call(id_, "echo", text="x" * 50_000))
            await line.quiet()
        await line.hear(call(3, "echo", text=text))  # too long to be held back
        await line.quiet()

        answers = bodies(line.wire.written)
        assert [each["result"]["content"][0]["text"] for each in answers] == [
            "x" * 50_000, "x" * 50_000, text,
        ]  # fmt: skip
        line.close()


# The same by both ways


def initialize(id_: int) -> bytes:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _INFO}
    return request({"jsonrpc": "2.0", "id": id_, "method": "initialize", "params": params})


_INFO = {"name": "c", "version": "1"}
REQUESTS: list[Callable[[int], bytes]] = [
    *AT_ONCE.values(),
    lambda id_: call(id_, "wait"),
    lambda id_: call(id_, "plain"),
    lambda id_: call(id_, "echo", text="é" * id_),
    lambda id_: request(b"{", {"MCP-Protocol-Version": STATELESS}),
    lambda id_: request(b"[]", {"MCP-Protocol-Version": STATELESS}),
    lambda id_: request({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    lambda id_: request({"jsonrpc": "2.0", "id": id_, "method": "ping"}),
    lambda id_: request({"jsonrpc": "2.0", "id": id_, "result": {}}),
    lambda id_: request(b"{}", verb="DELETE"),
    lambda id_: request(b"{}", url="/nowhere"),
    lambda id_: listing(id_).replace(b" /mcp ", b" /mcp/ "),
    lambda id_: listing(id_).replace(b" /mcp ", b" /mcp?x=1 "),
    lambda id_: call(id_, "add", a=1, b=2).replace(b"\r\n\r\n", b"\r\nMcp-Name: add\r\n\r\n", 1),
]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(REQUESTS) - 1), st.integers(1, 2000)), max_size=8),
    st.lists(st.integers(0, 3000), max_size=6),
    st.booleans(),
)
def test_both_ways_say_the_same(
    wanted: list[tuple[int, int]], cuts: list[int], together: bool
) -> None:
    requests = [REQUESTS[kind](id_) for kind, id_ in wanted]
    text = b"".join(requests)
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    chunks = [text[a:b] for a, b in pairwise(places)]

    async def said(*, short: bool) -> bytes:
        async with served() as app:
            line = Line(app, short=short)
            for chunk in chunks if together else requests:
                await line.hear(chunk)
                if not together:
                    await line.quiet()
            await line.quiet()
            line.close()
            return line.wire.written

    assert asyncio.run(said(short=True)) == asyncio.run(said(short=False))


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


CALLS: list[tuple[str, dict[str, object]]] = [
    ("add", {"a": 1, "b": 2}), ("tell", {"times": 2}), ("wait", {}), ("add", {}),
]  # fmt: skip


@pytest.mark.parametrize("count", [1, 2])
async def test_both_ways_say_the_same_in_sessions(count: int) -> None:
    written = []
    for short in (True, False):
        async with served() as app:
            line = Line(app, short=short)
            sessions = [await opened(line) for _ in range(count)]
            for id_, (tool, arguments) in enumerate(CALLS * 3):
                await line.hear(call_in(sessions[id_ % 3 % count], id_, tool, arguments))
                await line.quiet()
            written.append(line.wire.written)
            line.close()

    def plain(text: bytes) -> list[bytes]:
        """Without what is different each time: the numbers of streams."""
        return [each for each in text.split(b"\n") if not each.startswith((b"id: ", b"content-l"))]

    assert plain(written[0]) == plain(written[1])
    assert written[0].count(b"HTTP/1.1 200 OK") == 12


async def test_sessions_that_take_turns_go_the_short_way() -> None:
    async with served() as app:
        others = Line(app)
        sessions = [await opened(others) for _ in range(3)]
        line = Line(app)
        for id_ in range(9):
            await line.hear(call_in(sessions[id_ % 3], id_, "add", {"a": 1, "b": id_}))

        assert line.went_short == 9
        sums = [body["result"]["structuredContent"]["result"] for body in bodies(line.wire.written)]
        assert sums == [1 + id_ for id_ in range(9)]
        line.close()
        others.close()


@pytest.mark.parametrize("other", ["nobody's", "a\rb", "a\0b", "a\x7fb", "a b", "é", "x" * 500, ""])
async def test_a_session_that_is_none_is_told_the_same_by_both_ways(other: str) -> None:
    written = []
    for short in (True, False):
        async with served() as app:
            line = Line(app, short=short)
            session = await opened(line)
            for id_, each in enumerate([session, other, session, other]):
                await line.hear(call_in(each, id_, "add", {"a": 1, "b": 2}))
                await line.quiet()
            written.append(line.wire.written)
            line.close()

    assert written[0] == written[1]
    assert written[0].count(b"HTTP/1.1 200 OK") in (1, 2)


async def test_a_service_that_is_another_now_answers_what_is_known() -> None:
    async with served() as app:
        line = Line(app)
        for id_ in range(3):
            await line.hear(call(id_, "add", a=1, b=2))
        mounted = app.mounted[0]
        await app.unmount("/mcp")
        await line.hear(call(3, "add", a=1, b=2))
        await line.quiet()
        assert b"HTTP/1.1 404" in line.wire.written

        app.mount("/mcp", mounted)
        line.wire.written = b""
        for id_ in range(20):
            await line.hear(call(id_, "add", a=1, b=2))
            await line.quiet()
        before = line.state.total_requests
        await line.hear(call(20, "add", a=1, b=2))
        assert line.state.total_requests == before + 1
        assert not line.tasks
        assert line.wire.written.count(b"HTTP/1.1 200 OK") == 21
        line.close()


async def known_to(line: Line) -> str:
    """A session whose head is known on this connection by now."""
    session = await opened(line)
    for id_ in (1, 2):
        await line.hear(call_in(session, id_, "add", {"a": 1, "b": 2}))
        await line.quiet()
    line.wire.written = b""
    return session


async def test_nobody_whose_head_is_known_is_answered_out_of_turn() -> None:
    async with served() as app:
        line = Line(app)
        session = await known_to(line)
        await line.hear(call_in(session, 3, "wait", {}))
        await line.hear(call_in(session, 4, "add", {"a": 1, "b": 2}))
        await line.quiet()

        assert [each["id"] for each in bodies(line.wire.written)] == [3, 4]
        line.close()


async def test_an_outstanding_call_of_a_session_counts_until_it_is_answered() -> None:
    server = Server("demo", version="1", limits=Limits(calls=1))
    go = threading.Event()

    @server.tool
    def add(a: int, b: int, waits: bool = False) -> int:
        if waits:
            go.wait(ENOUGH)
        return a + b

    async with served(server) as app:
        line, other = Line(app), Line(app)
        session = await known_to(line)
        await line.hear(call_in(session, 3, "add", {"a": 1, "b": 2, "waits": True}))
        assert line.is_outstanding
        await other.hear(call_in(session, 4, "add", {"a": 1, "b": 2}))
        await other.quiet()
        assert b"HTTP/1.1 503 " in other.wire.written
        go.set()
        await line.quiet()
        await line.hear(call_in(session, 5, "add", {"a": 1, "b": 2}))
        await line.quiet()

        assert [each["id"] for each in bodies(line.wire.written)] == [3, 5]
        line.close()
        other.close()


async def test_a_request_in_the_body_of_another_is_a_body() -> None:
    usual = call(1, "add", a=1, b=2)
    outer = request(usual).removesuffix(usual)
    written = []
    for short in (True, False):
        async with served() as app:
            line = Line(app, short=short)
            for data in (usual, usual, usual, outer, usual, usual):
                await line.hear(data)
                if data is not outer:
                    await line.quiet()
            written.append(line.wire.written)
            line.close()

    assert written[0] == written[1]
    refused = ["error" in each for each in bodies(written[0])]
    assert refused == [False, False, False, True, False]


async def test_of_two_requests_that_come_at_once_none_is_known_by_the_head_of_the_other() -> None:
    one, other = call(1, "add", a=1, b=2), call(2, "echo", text="xyz")  # of the same length
    async with served() as app:
        line = Line(app)
        await line.hear(one)
        await line.quiet()
        for data in (one + other, one, other):
            await line.hear(data)

        answers = bodies(line.wire.written)
        assert [each["id"] for each in answers] == [1, 1, 2, 1, 2]
        assert all("result" in each for each in answers)
        line.close()


async def test_what_ends_one_request_and_has_another_is_not_known() -> None:
    usual = call(1, "add", a=1, b=2)
    async with served() as app:
        line = Line(app)
        await line.hear(usual)
        await line.quiet()
        await line.hear(usual[:-5])
        await line.hear(usual[-5:] + usual)
        assert line.wire.written.count(b"HTTP/1.1 200 OK") == 3
        await line.hear(usual[-5:] + usual)

        assert line.wire.written.count(b"HTTP/1.1 200 OK") == 3
        assert b"HTTP/1.1 400" in line.wire.written
        line.close()


async def test_a_client_that_does_not_read_waits_its_turn_with_a_head_that_is_known() -> None:
    async with served() as app:
        line = Line(app)
        session = await known_to(line)
        line.protocol.pause_writing()
        await line.hear(call_in(session, 3, "add", {"a": 1, "b": 2}))
        assert line.wire.written == b""

        line.protocol.resume_writing()
        await line.quiet()
        assert [each["id"] for each in bodies(line.wire.written)] == [3]
        line.close()


async def test_a_head_that_is_known_keeps_the_connection_after_the_long_way() -> None:
    async with served() as app:
        line = Line(app)
        session = await known_to(line)
        await line.hear(call_in(session, 3, "wait", {}))
        await line.hear(b"\r\n")  # now the application answers
        await line.quiet()
        assert line.protocol.timeout_keep_alive_task is not None
        await line.hear(call_in(session, 4, "add", {"a": 1, "b": 2}))

        assert line.protocol.timeout_keep_alive_task is None
        assert [each["id"] for each in bodies(line.wire.written)] == [3, 4]
        line.close()


def routed(method: str, params: Mapping[str, object]) -> bytes:
    """Whatever it asks for, its headers say that it calls the tool `add`."""
    named = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": "tools/call", "Mcp-Name": "add"}
    params = {**params, "_meta": ENVELOPE}
    return request({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, named)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/call", {"name": "sub"}, -32020),
        ("prompts/get", {"name": "add"}, -32020),
        ("tools/list", {}, -32020),
        ("prompts/get", {}, -32020),
        ("tools/call", {}, -32602),
    ],
    ids=str,
)
async def test_a_head_that_is_known_is_compared_with_each_body(
    method: str, params: Mapping[str, object], code: int
) -> None:
    usual = routed("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
    async with served() as app:
        line = Line(app)
        for data in (usual, usual, usual, routed(method, params), routed(method, params), usual):
            await line.hear(data)
            await line.quiet()

        codes = [each.get("error", {}).get("code") for each in bodies(line.wire.written)]
        assert codes == [None, None, None, code, code, None]
        line.close()


async def test_a_body_that_is_too_long_is_refused_if_its_head_is_known() -> None:
    server = Server("demo", limits=Limits(message_bytes=400))
    heard: list[int] = []

    @server.tool
    async def echo(text: str) -> None:
        heard.append(len(text))

    async with served(server) as app:
        line = Line(app)
        for size in (1, 1, 2, 300):
            line.wire.written = b""
            await line.hear(call(1, "echo", text="x" * size))
            await line.quiet()

        assert line.wire.written.startswith(b"HTTP/1.1 413")
        assert heard == [1, 1, 2]
        line.close()


async def test_a_session_that_has_ended_is_over_for_a_head_that_is_known() -> None:
    """Even if the same application has served on another loop meanwhile."""
    async with served() as app:
        line, other = Line(app), Line(app)
        session = await known_to(line)

        async def elsewhere() -> None:
            there = Line(app)
            await there.hear(listing(1))
            await there.quiet()
            there.close()

        await asyncio.to_thread(asyncio.run, elsewhere())
        await other.hear(request(b"", {"Mcp-Session-Id": session}, verb="DELETE"))
        await other.quiet()
        assert other.wire.written.startswith(b"HTTP/1.1 204")
        await line.hear(call_in(session, 3, "add", {"a": 1, "b": 2}))
        await line.quiet()

        assert line.wire.written.startswith(b"HTTP/1.1 404")
        line.close()
        other.close()


async def test_requests_at_once_have_the_context_variables_of_their_own() -> None:
    server = Server("demo")
    name: ContextVar[str] = ContextVar("name", default="nobody")

    def guard(headers: Mapping[str, str]) -> str:
        name.set(headers["x-name"])
        return "somebody"

    @server.tool
    async def who() -> str:
        return name.get()

    @server.tool
    async def who_later() -> str:
        await asyncio.sleep(0)
        return name.get()

    names = [f"user {number}" for number in range(8)]
    async with served(server, guard=guard) as app:
        lines = [Line(app) for _ in names]
        for number, line in enumerate(lines):
            data = call(1, "who" if number % 2 else "who_later")
            named = f"\r\nX-Name: {names[number]}\r\nHost".encode()
            line.protocol.data_received(data.replace(b"\r\nHost", named))
        for line in lines:
            await line.quiet()

        said = [bodies(line.wire.written)[0]["result"]["content"][0]["text"] for line in lines]
        assert said == names
        for line in lines:
            line.close()


UPGRADE = (
    b"\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAA\r\nHost"
)


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("size", [1, 7, 100, 100_000])
async def test_a_request_for_another_protocol_is_served_as_if_it_had_said_nothing_of_it(
    short: bool, size: int
) -> None:
    asks = call(2, "add", a=1, b=2).replace(b"\r\nHost", UPGRADE)
    data = call(1, "add", a=1, b=1) + asks + asks.replace(b'"id": 2', b'"id": 3') + listing(4)
    async with served() as app:
        line = Line(app, short=short)
        for start in range(0, len(data), size):
            await line.hear(data[start : start + size])
        await line.quiet()

        answers = bodies(line.wire.written)
        assert [each["id"] for each in answers] == [1, 2, 3, 4]
        sums = [each["result"].get("structuredContent") for each in answers]
        assert sums == [2, 3, 3, None]
        line.close()


async def test_a_tunnel_is_refused() -> None:
    async with served() as app:
        line = Line(app)
        await line.hear(
            b"CONNECT a.example:80 HTTP/1.1\r\nHost: a.example\r\n\r\n" + call(1, "add")
        )

        assert line.wire.written.startswith(b"HTTP/1.1 400 ")
        assert line.wire.closing
        line.close()


async def test_nothing_more_is_read_while_requests_wait_for_their_turn() -> None:
    async with served() as app:
        line = Line(app)
        await line.hear(call(1, "wait") + call(2, "wait") + call(3, "wait"))
        states = [line.wire.reading]
        while len(bodies(line.wire.written)) < 3:
            await asyncio.sleep(0)
            states.append(line.wire.reading or not line.protocol.pipeline)
        await line.quiet()

        assert states[0] is False
        assert line.wire.reading
        line.close()


async def test_a_client_that_sends_requests_and_requests_is_not_served() -> None:
    async with served() as app:
        line = Line(app)
        await line.hear(call(1, "wait") + b"GET /h HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2000)

        assert line.wire.closing
        line.close()
        await line.quiet()


@pytest.mark.parametrize("start", [b"0\r\nX-T: ", b"5;x="])
async def test_what_is_around_a_body_in_parts_is_bounded(start: bytes) -> None:
    head = request(b"", {"Transfer-Encoding": "chunked"}).replace(b"Content-Length: 0\r\n", b"")
    async with served() as app:
        line = Line(app)
        await line.hear(head + start)
        for _ in range(3):
            await line.hear(b"a" * 32_768)

        assert line.wire.closing
        line.close()
        await line.quiet()


async def test_all_requests_of_a_client_that_is_gone_are_told() -> None:
    server, begun, ended = Server("demo"), asyncio.Event(), asyncio.Event()

    @server.tool
    async def waits() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with served(server) as app:
        line = Line(app)
        await line.hear(call(1, "waits") + listing(2))
        await begun.wait()
        line.close()

        await asyncio.wait_for(ended.wait(), ENOUGH)
        await line.quiet()


@pytest.mark.parametrize(
    "first",
    [
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        request(b"", {"Content-Type": "text/plain", "Content-Length": "9"}),
    ],
)
async def test_what_begins_no_request_keeps_no_connection(first: bytes) -> None:
    async with served() as app:
        line = Line(app)
        line.protocol.timeout_keep_alive = 0.05
        await line.hear(first)
        await line.quiet()
        for _ in range(4):
            await line.hear(b"\r\n" if first.startswith(b"GET") else b"x")
            await asyncio.sleep(0.02)

        await until(lambda: line.wire.closing)
        line.close()
