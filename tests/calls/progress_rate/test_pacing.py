"""The rate limit for progress: many reports of one call do not become as many messages."""

import asyncio
import contextlib
import json
import math
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from itertools import pairwise
from typing import Any, cast

import pytest
from tests.calls.callers import Caller
from tests.calls.test_call import PATIENCE, running_on

from toolhaft import Context, Limits, Server
from toolhaft.calls.call import CallDriver, RunningCall
from toolhaft.calls.output import Sink
from toolhaft.calls.progress_rate import ProgressRate
from toolhaft.calls.service import connected
from toolhaft.testing import Client
from toolhaft.types.notifications import Progress

MANY = 100_000


class Clock:
    """The time and the timers of a loop, moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        self.timers.append((self.now + seconds, action))

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        due = [timer for timer in self.timers if timer[0] <= self.now]
        self.timers = [timer for timer in self.timers if timer[0] > self.now]
        for _, action in due:
            action()


class Driver(Clock):
    """As much of a driver as a call needs that reports."""

    def __init__(self, per_second: float) -> None:
        super().__init__()
        self.loop = self
        self.progress_per_second = per_second


class Line:
    """Keeps what a call sends."""

    is_full = False

    def __init__(self) -> None:
        self.sent: list[float] = []

    def send(self, frame: bytes) -> None:
        self.sent.append(json.loads(frame)["params"]["progress"])


def reporting(per_second: float = 4) -> tuple[RunningCall, Driver, Line]:
    call, driver, line = running_on(Line()), Driver(per_second), Line()
    call.driver, call.channel = cast(CallDriver, driver), cast(Any, line)
    return call, driver, line


def report(call: RunningCall, *values: float) -> None:
    for done in values:
        call.report(done, None, None)


def test_a_burst_is_sent_at_once() -> None:
    call, driver, line = reporting(per_second=100)

    report(call, *range(100))

    assert line.sent == list(range(100))
    assert driver.timers == []


def test_after_the_burst_a_timer_sends_the_newest_report() -> None:
    call, driver, line = reporting()

    report(call, *range(100))
    assert line.sent == [0, 1, 2, 3]
    driver.pass_by(0.25)

    assert line.sent == [0, 1, 2, 3, 99]


def test_a_timer_runs_only_while_a_report_is_held() -> None:
    call, driver, line = reporting()

    report(call, 1, 2, 3, 4)
    assert driver.timers == []
    report(call, 5, 6)
    assert len(driver.timers) == 1
    driver.pass_by(0.25)

    assert line.sent == [1, 2, 3, 4, 6]
    assert driver.timers == []


def test_reports_at_a_moderate_rate_are_all_sent() -> None:
    call, driver, line = reporting()

    for done in range(1000):
        report(call, done)
        driver.pass_by(0.3)

    assert line.sent == list(range(1000))


def test_a_quiet_call_may_send_another_burst_and_no_more() -> None:
    call, driver, line = reporting()

    report(call, *range(10))
    driver.pass_by(0.25)
    driver.pass_by(3600)
    report(call, *range(10, 20))

    assert line.sent == [0, 1, 2, 3, 9, 10, 11, 12, 13]


def test_a_flood_is_sent_at_the_rate_that_is_set() -> None:
    call, driver, line = reporting(per_second=10)

    for done in range(10_000):  # ten seconds
        report(call, done)
        driver.pass_by(0.001)

    assert 100 <= len(line.sent) <= 10 + 100 + 1
    assert all(one < other for one, other in pairwise(line.sent))


def test_a_report_that_has_not_grown_does_not_count() -> None:
    call, driver, line = reporting()

    report(call, 1, *[1] * 100, 2, 3, 4)
    assert line.sent == [1, 2, 3, 4]
    report(call, 5, *[4] * 100, *[5] * 100)
    driver.pass_by(0.25)

    assert line.sent == [1, 2, 3, 4, 5]


def test_a_held_report_is_not_sent_after_a_later_one() -> None:
    call, driver, line = reporting()

    report(call, 1, 2, 3, 4, 7)
    driver.now += 0.25  # the timer is late
    report(call, 8)
    driver.pass_by(0)

    assert line.sent == [1, 2, 3, 4, 8]


def test_a_held_report_is_sent_after_an_earlier_one() -> None:
    call, driver, line = reporting()

    report(call, 1, 2, 3, 4, 9)
    driver.now += 0.25  # the timer is late
    report(call, 8)
    driver.pass_by(0)

    assert line.sent == [1, 2, 3, 4, 8, 9]


def test_a_report_that_is_held_is_sent_when_the_call_ends_and_nothing_after_it() -> None:
    call, driver, line = reporting()

    report(call, *range(10))
    call.end_messages()
    assert line.sent == [0, 1, 2, 3, 9]
    report(call, 10)
    driver.pass_by(1)
    call.end_messages()

    assert line.sent == [0, 1, 2, 3, 9]


def test_of_a_cancelled_call_no_held_report_is_sent() -> None:
    call, driver, line = reporting()

    report(call, *range(10))
    call.cancelled = True
    call.end_messages()
    driver.pass_by(1)

    assert line.sent == [0, 1, 2, 3]


@pytest.mark.parametrize("per_second", [math.inf, 1, 0.5, 1e-9])
def test_with_every_limit_reports_rise_and_the_last_one_is_sent(per_second: float) -> None:
    call, driver, line = reporting(per_second)

    for done in range(100):
        report(call, done)
        driver.pass_by(0.001)
    call.end_messages()

    assert line.sent[0] == 0
    assert line.sent[-1] == 99
    assert all(one < other for one, other in pairwise(line.sent))


def test_a_timer_that_fires_early_borrows_its_token() -> None:
    clock = Clock()
    pace = ProgressRate(cast(Any, clock), 1)

    pace.hold(Progress(progress_token=1, progress=1))
    clock.now += 0.75
    held = pace.release(0)
    assert held is not None
    assert held.progress == 1
    clock.now += 1
    assert not pace.take()
    clock.now += 0.25

    assert pace.take()
    assert not pace.take()


# Whole servers


async def in_a_loop(ctx: Context) -> str:
    for done in range(MANY):
        await ctx.progress(done)
    return "done"


def on_a_thread(ctx: Context) -> str:
    for done in range(MANY):
        ctx.sync.progress(done)
    return "done"


def on_several_threads(ctx: Context) -> str:
    def part(start: int) -> None:
        for done in range(start, MANY, 4):
            ctx.sync.progress(done)

    threads = [threading.Thread(target=part, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return "done"


def yields() -> Generator[str, None, None]:
    for done in range(MANY):
        yield str(done)


async def yields_async() -> AsyncGenerator[str]:
    for done in range(MANY):
        yield str(done)


TOOLS: list[Callable[..., Any]] = [
    in_a_loop,
    on_a_thread,
    on_several_threads,
    yields,
    yields_async,
]


@pytest.mark.parametrize("way", ["memory", "http"])
@pytest.mark.parametrize("tool", TOOLS)
async def test_of_a_flood_few_reports_are_sent_and_the_last_one_is(
    tool: Callable[..., Any], way: str
) -> None:
    server = Server("s", version="1.0.0")
    server.add_tool(tool, name="it")
    heard: list[float] = []

    def hear(done: float, total: float | None, message: str | None) -> None:
        heard.append(done)

    clients = {
        "memory": lambda: Client(server, on_progress=hear),
        "http": lambda: Client.asgi(server.asgi(), on_progress=hear),
    }
    async with clients[way]() as client:
        answer = await client.call_raw("it", {}, timeout=None)

    assert not answer.is_error
    assert 100 < len(heard) < MANY // 10
    assert all(one < other for one, other in pairwise(heard))
    assert heard[-1] == (MANY if tool in (yields, yields_async) else MANY - 1)


@contextlib.asynccontextmanager
async def caller_of(server: Server) -> AsyncGenerator[Caller]:
    clients: list[Caller] = []
    async with connected(server, Sink(lambda frame: clients[0].heard(frame))) as connection:
        clients.append(client := Caller(connection))
        info = {"name": "test", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        client.request("init", "initialize", params)
        await client.answer("init")
        client.send({"method": "notifications/initialized"})
        yield client


def told(client: Caller) -> list[Any]:
    """The values of progress, and the ids of answers, as they came."""
    messages = client.messages[1:]
    return [each["id"] if "id" in each else each["params"]["progress"] for each in messages]


@pytest.mark.parametrize("ends", ["returns", "raises", "takes too long"])
async def test_a_held_report_comes_before_the_answer_and_nothing_after_it(ends: str) -> None:
    limits = Limits(progress_per_second=1e-3)
    server = Server("s", version="1.0.0", limits=limits)

    @server.tool(name="it", timeout=0.05 if ends == "takes too long" else None)
    async def it(ctx: Context) -> str:
        for done in range(10):
            await ctx.progress(done)
        if ends == "raises":
            raise ValueError
        if ends == "takes too long":
            await asyncio.Event().wait()
        return "done"

    async with caller_of(server) as client:
        client.call(1, token="t")
        await client.answer(1)
        await client.is_alive()

    assert told(client) == [0, 9, 1, "alive"]


@pytest.mark.parametrize("kind", ["coroutine", "plain"])
async def test_a_held_report_is_sent_while_the_call_waits(kind: str) -> None:
    server = Server("s", version="1.0.0", limits=Limits(progress_per_second=2))
    go_on, go_on_thread = asyncio.Event(), threading.Event()

    async def coroutine(ctx: Context) -> str:
        for done in range(10):
            await ctx.progress(done)
        await go_on.wait()
        return "done"

    def plain(ctx: Context) -> str:
        for done in range(10):
            ctx.sync.progress(done)
        assert go_on_thread.wait(PATIENCE)
        return "done"

    server.add_tool(coroutine if kind == "coroutine" else plain, name="it")
    heard = asyncio.Event()

    def on_progress(done: float, *_: Any) -> None:
        if done == 9:
            heard.set()

    async with Client(server, on_progress=on_progress) as client:
        call = asyncio.ensure_future(client.call_raw("it", {}))
        await asyncio.wait_for(heard.wait(), PATIENCE)
        assert not call.done()
        go_on.set()
        go_on_thread.set()
        await call


async def test_nothing_that_is_held_is_sent_for_a_cancelled_call() -> None:
    limits = Limits(progress_per_second=1e-3)
    server = Server("s", version="1.0.0", limits=limits)
    begun = asyncio.Event()

    @server.tool(name="it")
    async def it(ctx: Context) -> None:
        for done in range(10):
            await ctx.progress(done)
        begun.set()
        await asyncio.Event().wait()

    async with caller_of(server) as client:
        client.call(1, token="t")
        await begun.wait()
        client.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
        await client.is_alive()

    assert told(client) == [0, "alive"]
