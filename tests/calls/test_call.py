"""Calls that take the longer way: dependencies, generators, time limits, and waiting in line."""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from itertools import pairwise
from typing import Any

import pytest
from tests.asking import OLD
from tests.calls.callers import Told, add, asked, caller_of, failure_in, maker, taker, text_in, ways

from toolhaft import (
    Context,
    Depends,
    Limits,
    Server,
    ToolError,
)
from toolhaft.calls.call import RunningCall
from toolhaft.protocol.calls import Caller as Known
from toolhaft.protocol.handshake import Session
from toolhaft.protocol.revisions import REVISIONS
from toolhaft.testing import Client
from toolhaft.types.wire import RequestMeta

PATIENCE = 5
FORMS = ["plain", "async", "generator", "async generator"]
KINDS = ["tool", "resource", "prompt"]

tool_form = pytest.mark.parametrize("form", FORMS)
made_by = pytest.mark.parametrize("dependency", FORMS)
every_kind = pytest.mark.parametrize("kind", KINDS)
# A call may begin right where its frame arrives, or in a task when a task hands it over.
both_ways = pytest.mark.parametrize("in_a_task", [False, True])


@pytest.fixture
async def told() -> Told:
    return Told()


@pytest.fixture
def server() -> Server:
    return Server("tested", version="1", errors="show")


@pytest.fixture
def held() -> Any:
    """What a plain function waits for; let go of with the end of the test."""
    event = threading.Event()
    yield event
    event.set()


# Cancellation


@both_ways
@every_kind
@made_by
@pytest.mark.parametrize("options", [{}, {"timeout": 30, "limit": 1}], ids=str)
async def test_clean_up_runs_when_an_async_function_is_cancelled(
    server: Server,
    told: Told,
    dependency: str,
    kind: str,
    in_a_task: bool,
    options: dict[str, Any],
) -> None:
    make = maker(dependency, told)

    async def it(value: str = Depends(make)) -> str:
        told("called")
        try:
            await asyncio.Event().wait()
        finally:
            told("stopped")
        return value

    add(server, kind, it, **options)
    left = ["dependency saw CancelledError", "dependency left"]

    async with caller_of(server, in_a_task=in_a_task) as client:
        client.begin(1, kind)
        while await told.next() != "called":
            pass
        client.cancel(1)
        while await told.next() != "stopped":
            pass
        if "generator" in dependency:
            while await told.next() != "dependency left":
                pass
        await client.is_alive()
        assert client.answers(1) == []

    assert told.all == [
        "dependency made", "called", "stopped", *(left if "generator" in dependency else []),
    ]  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"limit": 1}, {"timeout": 30}], ids=str)
async def test_a_plain_tool_sees_that_it_is_cancelled(
    server: Server, told: Told, options: dict[str, Any]
) -> None:
    make = maker("generator", told)

    @server.tool(**options)
    def it(ctx: Context, value: str = Depends(make)) -> str:
        told("called")
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if ctx.cancelled:
                told("seen")
            ctx.check()
            time.sleep(0.001)
        return value

    async with caller_of(server) as client:
        client.call(1)
        while await told.next() != "called":
            pass
        client.cancel(1)
        heard = {await told.next() for _ in range(3)}
        await client.is_alive()
        assert client.answers(1) == []

    assert {"seen", "dependency left"} <= heard


async def test_a_cancelled_async_dependency_is_stopped(server: Server, told: Told) -> None:
    outer = maker("async generator", told, "outer")

    async def dependency(_: str = Depends(outer)) -> AsyncGenerator[str]:
        told("begun")
        try:
            await asyncio.Event().wait()
            yield "never"
        finally:
            told("stopped")

    server.add_tool(taker("plain", dependency, told), name="it")

    async with caller_of(server) as client:
        client.call(1)
        while await told.next() != "begun":
            pass
        client.cancel(1)
        while await told.next() != "outer left":
            pass
        assert client.answers(1) == []

    assert told.all == [
        "outer made", "begun", "stopped", "outer saw CancelledError", "outer left",
    ]  # fmt: skip


async def test_clean_up_may_await_after_a_cancellation(server: Server, told: Told) -> None:
    async def dependency() -> AsyncGenerator[str]:
        try:
            yield "made"
        finally:
            await asyncio.sleep(0.01)
            told("left")

    @server.tool
    async def it(_: str = Depends(dependency)) -> None:
        told("called")
        await asyncio.Event().wait()

    async with caller_of(server) as client:
        client.call(1)
        assert await told.next() == "called"
        client.cancel(1)
        assert await told.next() == "left"
        await client.is_alive()
        assert client.answers(1) == []


async def test_clean_up_that_raises_after_a_cancellation_is_not_answered(
    server: Server, told: Told
) -> None:
    async def dependency() -> AsyncGenerator[str]:
        try:
            yield "made"
        finally:
            told("left")
            raise ToolError("nobody wants to know")

    @server.tool
    async def it(_: str = Depends(dependency)) -> None:
        told("called")
        await asyncio.Event().wait()

    async with caller_of(server) as client:
        client.call(1)
        assert await told.next() == "called"
        client.cancel(1)
        assert await told.next() == "left"
        await client.is_alive()
        assert client.answers(1) == []
        # The id is free again.
        client.call(1)
        assert await told.next() == "called"
        client.cancel(1)
        assert await told.next() == "left"


@made_by
async def test_clean_up_runs_when_the_connection_ends(
    server: Server, told: Told, dependency: str
) -> None:
    make = maker(dependency, told)

    @server.tool
    async def it(value: str = Depends(make)) -> str:
        told("called")
        await asyncio.Event().wait()
        return value

    async with caller_of(server) as client:
        client.call(1)
        while await told.next() != "called":
            pass

    left = ["dependency saw CancelledError", "dependency left"]
    assert told.all[2:] == (left if "generator" in dependency else [])


# Generators


def counting(form: str, values: list[Any], finally_: Callable[[], None] = lambda: None) -> Any:
    def plain() -> Generator[Any]:
        try:
            yield from values
        finally:
            finally_()

    async def waits() -> AsyncGenerator[Any]:
        try:
            for value in values:
                await asyncio.sleep(0)
                yield value
        finally:
            finally_()

    return plain if form == "generator" else waits


generators = pytest.mark.parametrize("form", ["generator", "async generator"])


@generators
@ways
async def test_each_yield_is_progress_and_the_last_is_the_result(
    server: Server, form: str, options: dict[str, Any]
) -> None:
    server.add_tool(counting(form, ["one", 2, "three"]), name="it", **options)

    async with caller_of(server) as client:
        answer = await client.ask(1, token="t")

    assert text_in(answer) == "three"
    assert client.progress() == [(1, "one"), (2, None), (3, "three")]
    assert [each["params"]["progressToken"] for each in client.messages[1:-1]] == ["t"] * 3
    assert client.messages[-1] is answer


@generators
@every_kind
async def test_generators_report_without_a_token_to_nobody(
    server: Server, form: str, kind: str
) -> None:
    add(server, kind, counting(form, ["one", "two"]))

    async with caller_of(server) as client:
        client.begin(1, kind)
        answer = await client.answer(1)

    assert text_in(answer) == "two"
    assert client.progress() == []


async def test_what_a_plain_generator_returns_is_the_result(server: Server) -> None:
    @server.tool
    def it() -> Generator[str, None, int]:
        yield "half way"
        return 42

    async with caller_of(server) as client:
        client.request(1, "tools/list", {})
        [listed] = (await client.answer(1))["result"]["tools"]
        answer = await client.ask(2, token=0)

    assert listed["outputSchema"]["properties"]["result"]["type"] == "integer"
    assert answer["result"]["structuredContent"] == {"result": 42}
    assert client.progress() == [(1, "half way")]


@generators
async def test_a_generator_that_yields_nothing_gives_nothing(server: Server, form: str) -> None:
    left: list[str] = []
    server.add_tool(counting(form, [], lambda: left.append("left")), name="it")

    def nothing() -> None:
        """What a function that returns None is answered with."""

    server.add_tool(nothing)

    async with caller_of(server) as client:
        answer = await client.ask(1, token=1)
        plain = await client.ask(2, "nothing")

    assert answer["result"]["content"] == plain["result"]["content"]
    assert "isError" not in answer["result"]
    assert client.progress() == []
    assert left == ["left"]


@generators
async def test_a_generator_that_raises_fails_after_its_progress(server: Server, form: str) -> None:
    def plain() -> Generator[str]:
        yield "one"
        yield "two"
        raise ToolError("then it broke")

    async def waits() -> AsyncGenerator[str]:
        yield "one"
        yield "two"
        raise ToolError("then it broke")

    server.add_tool(plain if form == "generator" else waits, name="it")

    async with caller_of(server) as client:
        answer = await client.ask(1, token=1)

    assert failure_in(answer) == "then it broke"
    assert client.progress() == [(1, "one"), (2, "two")]


@generators
async def test_a_long_message_of_progress_is_clipped_and_the_result_is_not(
    server: Server, form: str
) -> None:
    server.add_tool(counting(form, ["x" * 5000]), name="it")

    async with caller_of(server) as client:
        answer = await client.ask(1, token=1)

    [(_, message)] = client.progress()
    assert message is not None
    assert len(message) < 500
    assert text_in(answer) == "x" * 5000


@generators
@pytest.mark.parametrize("options", [{}, {"timeout": 30}, {"limit": 1}], ids=str)
async def test_a_generator_that_is_cancelled_in_the_middle_cleans_up(
    server: Server, told: Told, form: str, options: dict[str, Any]
) -> None:
    make = maker(form, told)

    def plain(value: str = Depends(make)) -> Generator[int]:
        try:
            for n in range(PATIENCE * 1000):
                told(n)
                yield n
                time.sleep(0.001)
        finally:
            told("stopped")

    async def waits(value: str = Depends(make)) -> AsyncGenerator[int]:
        try:
            for n in range(PATIENCE * 1000):
                told(n)
                yield n
                await asyncio.sleep(0.001)
        finally:
            await asyncio.sleep(0)
            told("stopped")

    server.add_tool(plain if form == "generator" else waits, name="it", **options)

    async with caller_of(server) as client:
        client.call(1, token=1)
        while await told.next() != 3:
            pass
        client.cancel(1)
        await client.is_alive()
        count = len(client.progress())
        heard: set[Any] = set()
        while not {"stopped", "dependency left"} <= heard:
            heard.add(await told.next())
        await client.is_alive()

        assert client.answers(1) == []
        assert len(client.progress()) == count


async def test_a_cancelled_async_generator_stops_at_its_await(server: Server, told: Told) -> None:
    @server.tool
    async def it() -> AsyncIterator[int]:
        yield 1
        told("yielded")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            told("cancelled")
            raise
        finally:
            told("stopped")

    async with caller_of(server) as client:
        client.call(1)
        assert await told.next() == "yielded"
        client.cancel(1)
        assert await told.next() == "cancelled"
        assert await told.next() == "stopped"


async def test_many_generators_count_for_themselves(server: Server) -> None:
    @server.tool
    async def it(n: int) -> AsyncIterator[int]:
        for each in range(n):
            await asyncio.sleep(0)
            yield each

    async with caller_of(server) as client:
        for n in range(1, 20):
            client.call(n, n=n, token=n)
        for n in range(1, 20):
            await client.answer(n)

    sent = [each["params"] for each in client.messages if "method" in each]
    for n in range(1, 20):
        own = [each["progress"] for each in sent if each["progressToken"] == n]
        assert own == list(range(1, n + 1))


async def test_a_generator_without_a_context_of_its_own_may_still_have_one(server: Server) -> None:
    @server.tool
    async def it(ctx: Context) -> AsyncIterator[str]:
        yield "one"
        yield str(ctx.request_id)

    async with Client(server, OLD) as client:
        answer = await asked(client)

    assert text_in(answer) == str(answer["id"])


# Time limits


@both_ways
@every_kind
@pytest.mark.parametrize("seconds", [1e-9, 0.02])
async def test_an_async_function_that_takes_too_long_is_cancelled(
    server: Server, told: Told, kind: str, in_a_task: bool, seconds: float
) -> None:
    async def it() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            told("cancelled")
            raise
        finally:
            await asyncio.sleep(0)
            told("stopped")
        return "never"

    add(server, kind, it, timeout=seconds)

    async with caller_of(server, in_a_task=in_a_task) as client:
        client.begin(1, kind)
        answer = await client.answer(1)
        await client.is_alive()

    assert f"took longer than {seconds:g} s" in failure_in(answer)
    assert told.all == ["cancelled", "stopped"]
    assert client.answers(1) == [answer]


@made_by
@tool_form
async def test_clean_up_runs_after_a_time_limit(
    server: Server, told: Told, held: threading.Event, form: str, dependency: str
) -> None:
    make = maker(dependency, told)

    def plain(value: str = Depends(make)) -> str:
        told("called")
        held.wait(PATIENCE)
        return value

    async def waits(value: str = Depends(make)) -> str:
        told("called")
        await asyncio.Event().wait()
        return value

    def generator(value: str = Depends(make)) -> Generator[str]:
        yield "one"
        yield plain(value)

    async def async_generator(value: str = Depends(make)) -> AsyncGenerator[str]:
        yield "one"
        yield await waits(value)

    function = dict(zip(FORMS, (plain, waits, generator, async_generator), strict=True))[form]
    server.add_tool(function, name="it", timeout=0.15)

    async with caller_of(server) as client:
        answer = await client.ask(1)
        held.set()
        # On a busy machine the time may be over before there is anything to clean up.
        if "generator" in dependency and "called" in told.all:
            while await told.next() != "dependency left":
                pass
        await client.is_alive()

    assert "took longer than 0.15 s" in failure_in(answer)
    assert client.answers(1) == [answer]


async def test_a_dependency_is_not_left_while_a_plain_function_still_uses_it(
    server: Server, told: Told, held: threading.Event
) -> None:
    make = maker("generator", told)

    @server.tool(timeout=0.2)
    def it(value: str = Depends(make)) -> str:
        held.wait(PATIENCE)
        told("used")
        return value

    async with Client(server, OLD) as client:
        answer = await asked(client)
        held.set()
        while await told.next() != "dependency left":
            pass

    assert failure_in(answer) == "tool 'it' took longer than 0.2 s"
    assert told.all == ["dependency made", "used", "dependency left"]


async def test_a_dependency_that_takes_too_long_is_part_of_the_time(
    server: Server, told: Told
) -> None:
    async def dependency() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            told("stopped")
        return "never"

    server.add_tool(taker("plain", dependency, told), name="it", timeout=0.02)

    async with Client(server, OLD) as client:
        answer = await asked(client)

    assert failure_in(answer) == "tool 'it' took longer than 0.02 s"
    assert told.all == ["stopped"]


async def test_a_plain_function_sees_that_it_takes_too_long(server: Server, told: Told) -> None:
    @server.tool(timeout=0.1)
    def it(ctx: Context) -> str:
        deadline = time.monotonic() + PATIENCE
        while not ctx.cancelled and time.monotonic() < deadline:
            time.sleep(0.001)
        try:
            ctx.check()
        except BaseException as error:
            told(type(error).__name__)
            raise
        return "late"

    async with caller_of(server) as client:
        answer = await client.ask(1)
        assert await told.next() == "Cancelled"
        await client.is_alive()

    assert failure_in(answer) == "tool 'it' took longer than 0.1 s"
    assert client.answers(1) == [answer]


async def test_a_context_says_not_cancelled_while_there_is_time(server: Server) -> None:
    @server.tool(timeout=30)
    def it(ctx: Context) -> bool:
        ctx.check()
        return ctx.cancelled

    async with Client(server, OLD) as client:
        answer = await asked(client)

    assert answer["result"]["structuredContent"] == {"result": False}


@pytest.mark.parametrize("raises", [False, True])
async def test_what_a_plain_function_does_too_late_is_dropped(
    server: Server, told: Told, held: threading.Event, raises: bool
) -> None:
    @server.tool(timeout=0.1)
    def it(ctx: Context) -> str:
        ctx.sync.progress(1)
        held.wait(PATIENCE)
        ctx.sync.progress(2)
        ctx.sync.log("error", "late")
        told("late")
        if raises:
            raise ToolError("late")
        return "late"

    async with caller_of(server) as client:
        answer = await client.ask(1, token=1)
        held.set()
        assert await told.next() == "late"
        await client.is_alive()
        await asyncio.sleep(0.02)
        await client.is_alive()

    assert failure_in(answer) == "tool 'it' took longer than 0.1 s"
    assert client.progress() in ([(1, None)], [])
    assert client.answers(1) == [answer]
    assert "late" not in json.dumps(client.messages)


async def test_a_plain_generator_that_takes_too_long_is_closed(server: Server, told: Told) -> None:
    @server.tool(timeout=0.1)
    def it() -> Generator[int]:
        try:
            for n in range(PATIENCE * 1000):
                yield n
                time.sleep(0.001)
        finally:
            told("closed")

    async with caller_of(server) as client:
        answer = await client.ask(1, token=1)
        count = len(client.progress())
        assert await told.next() == "closed"
        await client.is_alive()

    assert failure_in(answer) == "tool 'it' took longer than 0.1 s"
    assert len(client.progress()) == count
    assert client.answers(1) == [answer]


@tool_form
async def test_a_timeout_error_of_the_functions_own_is_not_taken_for_ours(
    server: Server, form: str
) -> None:
    def fails(_: object) -> None:
        raise TimeoutError("the database, not we")

    server.add_tool(taker(form, maker("async", lambda _: None), fails), name="it", timeout=30)

    async with Client(server, OLD) as client:
        answer = await asked(client)

    assert failure_in(answer) == "tool 'it' failed: TimeoutError: the database, not we"


async def test_a_time_limit_inside_of_the_tool_is_its_own(server: Server) -> None:
    @server.tool(timeout=30)
    async def it() -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            return "caught"
        return "never"

    async with Client(server, OLD) as client:
        answer = await asked(client)

    assert text_in(answer) == "caught"


async def test_a_cancellation_before_the_time_is_over_is_not_answered(
    server: Server, told: Told
) -> None:
    @server.tool(timeout=0.3)
    async def it() -> None:
        told("called")
        try:
            await asyncio.Event().wait()
        finally:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.4)  # until after the limit
            told("stopped")

    async with caller_of(server) as client:
        client.call(1)
        assert await told.next() == "called"
        client.cancel(1)
        assert await told.next() == "stopped"
        await client.is_alive()

        assert client.answers(1) == []


async def test_a_call_in_time_is_not_disturbed_by_its_limit(server: Server) -> None:
    @server.tool(timeout=0.3)
    async def it(n: int) -> int:
        await asyncio.sleep(0)
        return n

    @server.tool
    async def longer() -> str:
        await asyncio.sleep(0.4)
        return "undisturbed"

    async with caller_of(server) as client:
        client.call("long", "longer")
        answers = [await client.ask(n, n=n) for n in range(50)]
        longer_answer = await client.answer("long")

    results = [each["result"]["structuredContent"]["result"] for each in answers]
    assert results == list(range(50))
    assert text_in(longer_answer) == "undisturbed"


async def test_a_hanging_plain_function_does_not_hold_up_the_end(
    server: Server, held: threading.Event
) -> None:
    @server.tool(timeout=0.02)
    def it() -> None:
        held.wait(PATIENCE * 4)

    async with asyncio.timeout(PATIENCE):
        async with Client(server, OLD) as client:
            answer = await asked(client)

    assert not held.is_set()
    assert failure_in(answer) == "tool 'it' took longer than 0.02 s"
    held.set()


@every_kind
async def test_handle_answers_after_a_time_limit(
    server: Server, held: threading.Event, kind: str
) -> None:
    def it() -> str:
        held.wait(PATIENCE)
        return "late"

    add(server, kind, it, timeout=0.02)
    params: dict[str, Any] = {
        "tool": {"name": "it"}, "resource": {"uri": "it://it"}, "prompt": {"name": "it"},
    }[kind]  # fmt: skip
    method = {"tool": "tools/call", "resource": "resources/read", "prompt": "prompts/get"}[kind]
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}

    answer = await server.handle(message)
    held.set()

    assert answer is not None
    assert "took longer than 0.02 s" in failure_in(answer)


# So many at once


class Crowd:
    """Counts who is inside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.inside = 0
        self.most = 0
        self.order: list[int] = []

    @contextlib.contextmanager
    def visit(self, n: int) -> Generator[None]:
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.order.append(n)
        try:
            yield
        finally:
            with self._lock:
                self.inside -= 1


def visitor(form: str, crowd: Crowd) -> Any:
    def plain(n: int) -> int:
        with crowd.visit(n):
            time.sleep(0.001)
        return n

    async def waits(n: int) -> int:
        with crowd.visit(n):
            await asyncio.sleep(0.001)
        return n

    def generator(n: int) -> Generator[int]:
        with crowd.visit(n):
            time.sleep(0.001)
            yield n

    async def async_generator(n: int) -> AsyncGenerator[int]:
        with crowd.visit(n):
            await asyncio.sleep(0.001)
            yield n

    return dict(zip(FORMS, (plain, waits, generator, async_generator), strict=True))[form]


@both_ways
@tool_form
@pytest.mark.parametrize("limit", [1, 3])
async def test_never_more_than_the_limit_run_at_once(
    server: Server, form: str, limit: int, in_a_task: bool
) -> None:
    crowd = Crowd()
    server.add_tool(visitor(form, crowd), name="it", limit=limit)

    async with caller_of(server, in_a_task=in_a_task) as client:
        for n in range(60):
            client.call(n, n=n)
        for n in range(60):
            answer = await client.answer(n)
            assert text_in(answer) == str(n)

    # Threads may be slow to come; tasks are not.
    assert crowd.most <= limit
    assert "async" not in form or crowd.most == limit
    assert crowd.inside == 0
    if limit == 1:
        assert crowd.order == list(range(60))  # first come, first served


@every_kind
async def test_resources_and_prompts_have_limits_too(server: Server, kind: str) -> None:
    crowd = Crowd()

    async def it() -> str:
        with crowd.visit(0):
            await asyncio.sleep(0.001)
        return "done"

    add(server, kind, it, limit=2)

    async with caller_of(server) as client:
        for n in range(20):
            client.begin(n, kind)
        for n in range(20):
            assert text_in(await client.answer(n)) == "done"

    assert crowd.most == 2


async def test_a_limit_is_for_one_tool(server: Server, told: Told) -> None:
    go_on = asyncio.Event()

    @server.tool(limit=1)
    async def held_up() -> str:
        told("waits")
        await go_on.wait()
        return "done"

    @server.tool(limit=1)
    async def other() -> str:
        return "other"

    async with caller_of(server) as client:
        client.call(1, "held_up")
        await told.next()
        answer = await client.ask(2, "other")
        go_on.set()
        await client.answer(1)

    assert text_in(answer) == "other"


async def test_dependencies_are_not_made_while_a_call_waits_in_line(
    server: Server, told: Told
) -> None:
    go_on = asyncio.Event()
    make = maker("async generator", told)

    @server.tool(limit=1)
    async def it(value: str = Depends(make)) -> str:
        told("called")
        await go_on.wait()
        return value

    async with caller_of(server) as client:
        client.call(1)
        client.call(2)
        await client.is_alive()
        while await told.next() != "called":
            pass
        assert told.all == ["dependency made", "called"]
        go_on.set()
        await client.answer(1)
        await client.answer(2)

    assert told.all == ["dependency made", "called", "dependency left"] * 2


async def test_a_waiting_call_that_is_cancelled_gives_up_its_place(
    server: Server, told: Told
) -> None:
    gates = {n: asyncio.Event() for n in range(4)}

    @server.tool(limit=1)
    async def it(n: int) -> int:
        told(n)
        await gates[n].wait()
        return n

    async with caller_of(server) as client:
        for n in range(4):
            client.call(n, n=n)
        assert await told.next() == 0
        client.cancel(1)
        client.cancel(2)
        await client.is_alive()
        gates[0].set()
        assert await told.next() == 3
        gates[3].set()
        await client.answer(3)

        assert client.answers(1) == client.answers(2) == []
        assert told.all == [0, 3]


async def test_a_call_that_is_cancelled_in_its_turn_lets_the_next_one_in(
    server: Server, told: Told
) -> None:
    @server.tool(limit=1)
    async def it(n: int) -> int:
        told(n)
        await asyncio.Event().wait()
        return n

    async with caller_of(server) as client:
        for n in range(5):
            client.call(n, n=n)
        for n in range(5):
            assert await told.next() == n
            client.cancel(n)
        await client.is_alive()

    assert told.all == [0, 1, 2, 3, 4]


async def test_all_that_wait_and_the_one_inside_may_be_cancelled_at_once(
    server: Server, told: Told
) -> None:
    @server.tool(limit=2)
    async def it(n: int) -> int:
        told(n)
        if n < 10:
            await asyncio.Event().wait()
        return n

    async with caller_of(server) as client:
        for n in range(10):
            client.call(n, n=n)
        await told.next()
        for n in range(10):
            client.cancel(n)
        answers = [await client.ask(n, n=n) for n in range(10, 16)]

    results = [each["result"]["structuredContent"]["result"] for each in answers]
    assert results == list(range(10, 16))


async def test_waiting_in_line_takes_time_too(server: Server, told: Told) -> None:
    @server.tool(limit=1, timeout=0.05)
    async def it(n: int) -> int:
        told(n)
        if n == 0:
            await asyncio.Event().wait()
        return n

    async with caller_of(server) as client:
        for n in range(3):
            client.call(n, n=n)
        answers = [await client.answer(n) for n in range(3)]
        client.call(3, n=3)
        answers.append(await client.answer(3))

    assert answers[0]["result"]["isError"] is True
    assert answers[3]["result"]["structuredContent"] == {"result": 3}
    assert told.all[0] == 0


@pytest.mark.parametrize("ends_by", ["timeout", "cancellation"])
async def test_a_plain_function_that_runs_on_counts_until_it_ends(
    server: Server, told: Told, held: threading.Event, ends_by: str
) -> None:
    crowd = Crowd()

    @server.tool(limit=1, timeout=0.2 if ends_by == "timeout" else None)
    def it(n: int) -> int:
        with crowd.visit(n):
            told(n)
            if n == 0:
                held.wait(PATIENCE)
        return n

    async with caller_of(server) as client:
        client.call(0, n=0)
        assert await told.next() == 0
        if ends_by == "timeout":
            await client.answer(0)
        else:
            client.cancel(0)
        client.call(1, n=1)
        await client.is_alive()
        held.set()
        answer = await client.answer(1)

    assert answer["result"]["structuredContent"] == {"result": 1}
    assert crowd.most == 1


@made_by
async def test_a_call_whose_dependency_fails_lets_the_next_one_in(
    server: Server, dependency: str
) -> None:
    def fails(_: object) -> None:
        raise ToolError("no")

    function = taker("async", maker(dependency, fails), lambda _: None)
    server.add_tool(function, name="it", limit=1)

    async with caller_of(server) as client:
        answers = [await client.ask(n) for n in range(3)]

    assert [failure_in(each) for each in answers] == ["no"] * 3


async def test_a_limit_holds_over_two_connections(server: Server) -> None:
    crowd = Crowd()
    server.add_tool(visitor("async", crowd), name="it", limit=2)

    async with caller_of(server) as one, caller_of(server) as two:
        for n in range(30):
            one.call(n, n=n)
            two.call(n, n=n)
        for n in range(30):
            await one.answer(n)
            await two.answer(n)

    assert crowd.most == 2


async def test_a_connection_that_ends_leaves_its_places_to_others(
    server: Server, told: Told
) -> None:
    @server.tool(limit=1)
    async def it(n: int) -> int:
        told(n)
        if n < 10:
            await asyncio.Event().wait()
        return n

    async with caller_of(server) as other:
        async with caller_of(server) as one:
            one.call(0, n=0)
            one.call(1, n=1)
            assert await told.next() == 0
            other.call(10, n=10)
            await one.is_alive()
            await other.is_alive()
        answer = await other.answer(10)

    assert answer["result"]["structuredContent"] == {"result": 10}


@tool_form
def test_a_limit_holds_over_loops_on_threads(form: str) -> None:
    server, crowd = Server("tested", version="1"), Crowd()
    server.add_tool(visitor(form, crowd), name="it", limit=2)
    answers: list[str] = []

    async def main() -> None:
        async with caller_of(server) as client:
            for n in range(20):
                client.call(n, n=n)
            answers.extend([text_in(await client.answer(n)) for n in range(20)])

    threads = [threading.Thread(target=asyncio.run, args=(main(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE * 2)

    assert sorted(answers, key=int) == [str(n) for n in range(20) for _ in range(4)]
    assert crowd.most <= 2


# What comes together


async def test_limits_time_limits_and_generators_under_a_storm_of_cancellations(
    server: Server,
) -> None:
    crowd = Crowd()
    opened: list[int] = []

    async def dependency() -> AsyncGenerator[None]:
        opened.append(1)
        try:
            await asyncio.sleep(0)
            yield
        finally:
            opened.pop()

    @server.tool(limit=3, timeout=5)
    async def it(n: int, _: None = Depends(dependency)) -> AsyncIterator[int]:
        with crowd.visit(n):
            for each in range(n % 7 + 1):
                await asyncio.sleep(0)
                yield each

    async with caller_of(server) as client:
        for n in range(200):
            client.call(n, n=n, token=n)
            if n % 3 == 0:
                client.cancel(n)
            if n % 5 == 0:
                client.cancel(n // 2)
            await asyncio.sleep(0)
        await client.ask("last", n=0)
        while opened:
            await client.is_alive()
            await asyncio.sleep(0.001)

    assert crowd.most <= 3
    assert crowd.inside == 0
    assert opened == []
    assert all(len(client.answers(n)) <= 1 for n in range(200))


async def test_progress_of_a_call_only_ever_increases(server: Server) -> None:
    @server.tool
    async def it(ctx: Context) -> str:
        for done in (1, 5, 3, 5, 6):
            await ctx.progress(done)
        return "done"

    async with caller_of(server) as client:
        await client.ask(1, token=1)

    counts = [count for count, _ in client.progress()]
    assert counts == [1, 5, 6]
    assert all(a < b for a, b in pairwise(counts))


class SlowLine:
    """Writes the first message when somebody says so, or after a moment."""

    is_full = False

    def __init__(self) -> None:
        self.may_write = threading.Event()
        self.writes = threading.Event()
        self.written: list[bytes] = []

    def send(self, frame: bytes) -> None:
        if not self.writes.is_set():
            self.writes.set()
            self.may_write.wait(0.2)
        self.written.append(frame)


def reporting(call: RunningCall, done: int) -> threading.Thread:
    thread = threading.Thread(target=call.report, args=(done, None, None), daemon=True)
    thread.start()
    return thread


def running_on(line: Any) -> RunningCall:
    caller = Known(REVISIONS["2026-07-28"], {}, None)
    meta = RequestMeta(progress_token=1)
    return RunningCall(1, "tools/call", None, caller, Session(), meta, channel=line)


def test_progress_does_not_fall_whichever_thread_is_quicker() -> None:
    line = SlowLine()
    call = running_on(line)
    threads = [reporting(call, 1)]
    assert line.writes.wait(5)
    threads.append(reporting(call, 2))
    for thread in threads:
        thread.join(5)

    assert [json.loads(frame)["params"]["progress"] for frame in line.written] == [1, 2]


def test_nobody_reports_who_has_waited_until_the_call_was_over() -> None:
    line = SlowLine()
    call = running_on(line)
    threads = [reporting(call, 1)]
    assert line.writes.wait(5)
    threads.append(reporting(call, 2))
    time.sleep(0.05)  # until it waits, too
    call.over = True
    line.may_write.set()
    for thread in threads:
        thread.join(5)

    assert [json.loads(frame)["params"]["progress"] for frame in line.written] == [1]


async def test_who_only_reports_lets_others_have_their_turn(server: Server) -> None:
    @server.tool
    async def it(ctx: Context) -> int:
        turns, tick = [0], asyncio.Event()

        async def count() -> None:
            while not tick.is_set():
                turns[0] += 1
                await asyncio.sleep(0)

        ticker = asyncio.ensure_future(count())
        for done in range(2000):
            await ctx.progress(done)
        tick.set()
        await ticker
        return turns[0]

    async with caller_of(server) as client:
        answer = await client.ask(1, token=1)

    assert 2000 // 64 < int(text_in(answer)) < 2000


async def test_results_are_limited_on_the_longer_way_too() -> None:
    server = Server("tested", version="1", limits=Limits(result_bytes=1000))

    @server.tool(timeout=30)
    async def it(n: int) -> str:
        return "x" * n

    async with Client(server, OLD) as client:
        small = await asked(client, n=10)
        large = await asked(client, n=2000)

    assert text_in(small) == "x" * 10
    assert "x" * 100 not in failure_in(large)
