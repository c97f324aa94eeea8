"""A call that waits, and the connection that it will be answered on."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.transports.http.servers.lines import (
    Line,
    bodies,
    call,
    call_in,
    known_to,
    listing,
    served,
    until,
)

from toolhaft import Context, Server
from toolhaft.protocol.limits import Limits

ENOUGH = 5


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
