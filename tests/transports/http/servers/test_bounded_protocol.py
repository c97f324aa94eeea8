"""What a client may hold or send over HTTP/1.1, and what it is refused."""

import asyncio

import pytest
from tests.transports.http.asgi import ENVELOPE, STATELESS
from tests.transports.http.servers.lines import (
    Line,
    bodies,
    call,
    demo,
    listing,
    request,
    served,
    until,
)

from toolhaft import Context, Server
from toolhaft.protocol.limits import Limits

ENOUGH = 5


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
