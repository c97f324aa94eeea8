"""What is counted, where, and how often: exactly once, whatever way a request ends."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.asking import NEW, OLD, Json
from tests.asking import handled as ask
from tests.asking import handled_call as call

from toolhaft import (
    Accepted,
    Context,
    InvalidParams,
    Result,
    Server,
    Text,
    ToolError,
    ToolInfo,
    resource,
    tool,
)
from toolhaft.calls.output import Sink
from toolhaft.calls.service import connected
from toolhaft.metrics import Measured, Metrics
from toolhaft.protocol.calls import Exchange, Next
from toolhaft.protocol.calls import Result as Outgoing
from toolhaft.testing import Client, requests


def counts(server: Server) -> dict[str, tuple[int, int]]:
    return {key: (each.calls, each.errors) for key, each in server.metrics.items()}


@pytest.fixture
def server() -> Server:
    made = Server("notes", version="1")

    @made.tool
    def add(a: int, b: int) -> int:
        return a + b

    @made.tool
    async def fail() -> str:
        raise ToolError("it does not work")

    @made.tool
    def refuse() -> str:
        raise InvalidParams("not so")

    @made.tool
    def told() -> Result:
        return Result([Text("no")], error=True)

    @made.prompt
    def greet(name: str) -> str:
        return f"Greet {name}."

    @made.resource("notes://all")
    def everything() -> str:
        return "all"

    @made.resource("notes://{name}")
    def one(name: str) -> str:
        return name

    return made


async def test_calls_and_errors_count_per_method_and_per_tool(server: Server) -> None:
    """E-52: counters per method and per tool; errors of tools count at both levels."""
    await ask(server, "tools/list")
    await call(server, "add", a=1, b=2)
    await call(server, "add", a=1, b=2)
    await call(server, "fail")
    await call(server, "refuse")
    await call(server, "told")

    assert counts(server) == {
        "tools/call": (5, 3),
        "tools/call:add": (2, 0),
        "tools/call:fail": (1, 1),
        "tools/call:refuse": (1, 1),
        "tools/call:told": (1, 1),
        "tools/list": (1, 0),
    }
    assert server.metrics["tools/call"].failures == 2  # the third is a JSON-RPC error


async def test_arguments_that_do_not_fit_are_a_failure_of_the_tool(server: Server) -> None:
    await call(server, "add", a="x", b=2)

    found = server.metrics["tools/call:add"]
    assert (found.calls, found.errors, found.failures) == (1, 1, 1)


async def test_prompts_and_resources_count_by_the_name_that_the_author_gave(
    server: Server,
) -> None:
    await ask(server, "prompts/get", name="greet", arguments={"name": "Ada"})
    await ask(server, "prompts/get", name="greet", arguments={})
    await ask(server, "resources/read", uri="notes://all")
    await ask(server, "resources/read", uri="notes://today")
    await ask(server, "resources/read", uri="notes://tomorrow")

    assert counts(server) == {
        "prompts/get": (2, 1),
        "prompts/get:greet": (2, 1),
        "resources/read": (3, 0),
        "resources/read:notes://all": (1, 0),
        "resources/read:notes://{name}": (2, 0),
    }


async def test_what_clients_make_up_shares_one_key(server: Server) -> None:
    """E-52: unknown names under one key, so that no client can make keys."""
    for number in range(50):
        await call(server, f"tool{number}")
        await ask(server, "prompts/get", name=f"prompt{number}")
        await ask(server, "resources/read", uri=f"file:///{number}")
        await ask(server, f"method/{number}")
        await server.handle({"jsonrpc": "2.0", "method": f"notifications/{number}"})

    assert counts(server) == {
        "(unknown)": (50, 50),
        "notifications/(unknown)": (50, 0),
        "prompts/get": (50, 50),
        "prompts/get:(unknown)": (50, 50),
        "resources/read": (50, 50),
        "resources/read:(unknown)": (50, 50),
        "tools/call": (50, 50),
        "tools/call:(unknown)": (50, 50),
    }


async def test_names_that_a_provider_makes_up_are_bounded() -> None:
    class Endless:
        """Lists another tool each time."""

        def __init__(self) -> None:
            self.number = 0

        def tools(self) -> list[ToolInfo]:
            return [ToolInfo(name=f"tool{self.number}", input_schema={"type": "object"})]

        def call_tool(self, name: str, arguments: Json) -> str:
            return name

    endless = Endless()
    server = Server("endless", version="1")
    server.include(endless, thread=False)
    for number in range(2100):
        endless.number = number
        await call(server, f"tool{number}")

    assert server.metrics["tools/call"].calls == 2100
    assert server.metrics["tools/call:(other)"].calls == 100
    assert len(server.metrics) == 2002  # the names, the rest and the method


async def test_what_is_no_request_counts_as_invalid(server: Server) -> None:
    await server.handle(b"not JSON")
    await server.handle(b'{"jsonrpc":"2.0","id":1}')

    assert counts(server) == {"(invalid)": (2, 2)}


async def test_parameters_of_the_wrong_shape_are_an_error_of_the_method(server: Server) -> None:
    await ask(server, "tools/call", name=7)

    assert counts(server) == {"tools/call": (1, 1), "tools/call:(unknown)": (1, 1)}


async def test_notifications_are_counted(server: Server) -> None:
    """E-52: counters per notification."""
    await server.handle({"jsonrpc": "2.0", "method": "notifications/initialized"})
    await server.handle(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
    )

    assert counts(server) == {
        "notifications/cancelled": (1, 0),
        "notifications/initialized": (1, 0),
    }


def test_a_key_that_was_not_seen_has_zeros(server: Server) -> None:
    """E-55: what was never called has zeros."""
    assert server.metrics["tools/call:add"] == Measured()
    assert "tools/call:add" not in server.metrics
    assert list(server.metrics) == []


async def test_a_call_that_asks_counts_with_each_round() -> None:
    server = Server("shoes", version="1")

    @server.tool
    async def order(ctx: Context) -> str:
        size = await ctx.elicit("Which size?", int, key="size")
        return str(size.value) if isinstance(size, Accepted) else "none"

    async with Client(server, answers={"Which size?": 12}) as client:
        assert await client.call("order") == "12"

    found = server.metrics["tools/call:order"]
    assert (found.calls, found.asked, found.errors, found.in_flight) == (2, 1, 0, 0)


# What is under way, and ways to end


def frame(message: Json) -> bytes:
    """A message by hand, for those that are answered by nobody, or have an id that is in use."""
    return json.dumps(message).encode()


async def test_what_is_under_way_is_seen_and_a_cancelled_call_is_no_error() -> None:
    server = Server("slow", version="1")
    begun = asyncio.Event()

    @server.tool
    async def wait() -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async with Client(server, OLD) as client:
        calling = asyncio.create_task(client.call("wait"))
        await begun.wait()
        during = server.metrics["tools/call:wait"]
        calling.cancel()
        await asyncio.wait([calling])
        await client.ping()
        after = server.metrics["tools/call:wait"]

    assert (during.calls, during.in_flight) == (0, 1)
    assert (after.calls, after.in_flight, after.cancelled, after.errors) == (1, 0, 1, 0)


async def test_a_call_that_ends_with_its_connection_counts_once() -> None:
    server = Server("slow", version="1")

    @server.tool
    async def wait() -> str:
        await asyncio.Event().wait()
        return "never"

    first, second = (requests.of(NEW).tools_call("wait") for _ in range(2))
    async with connected(server, Sink(lambda frame: None)) as connection:
        connection.receive(frame(first))
        connection.driver.abandon(InvalidParams("over"))
        connection.receive(frame(second))
        connection.driver.cancel(second["id"])

    found = server.metrics["tools/call:wait"]
    assert (found.calls, found.errors, found.cancelled, found.in_flight) == (2, 1, 1, 0)


async def test_a_call_that_takes_too_long_is_a_failure() -> None:
    server = Server("slow", version="1")

    @server.tool(timeout=0.01)
    async def wait() -> str:
        await asyncio.Event().wait()
        return "never"

    await call(server, "wait")

    found = server.metrics["tools/call:wait"]
    assert (found.calls, found.failures) == (1, 1)


async def test_an_id_that_is_in_use_is_an_error() -> None:
    server = Server("slow", version="1")

    @server.tool
    async def wait() -> str:
        await asyncio.Event().wait()
        return "never"

    request = requests.of(NEW).tools_call("wait")
    async with connected(server, Sink(lambda frame: None)) as connection:
        for _ in range(2):
            connection.receive(frame(request))
        found = server.metrics["tools/call"]

    assert (found.calls, found.errors, found.in_flight) == (1, 1, 1)


async def test_middleware_that_answers_for_a_tool_counts_for_it() -> None:
    async def closed(exchange: Exchange, proceed: Next) -> Outgoing:
        raise InvalidParams("closed")

    shut = Server("shut", version="1", middleware=[closed])
    shut.add_tool(lambda: "never", name="door")
    await call(shut, "door")
    await call(shut, "window")

    assert counts(shut) == {
        "tools/call": (2, 2),
        "tools/call:(unknown)": (1, 1),
        "tools/call:door": (1, 1),
    }


async def test_a_tool_that_was_changed_or_removed_keeps_its_count(server: Server) -> None:
    await call(server, "add", a=1, b=2)
    server.tools["add"].update(description="another")
    await call(server, "add", a=1, b=2)
    server.remove_tool("add")
    await call(server, "add", a=1, b=2)

    assert server.metrics["tools/call:add"].calls == 2
    assert server.metrics["tools/call:(unknown)"].calls == 1


# Threads


@contextmanager
def hasty_threads() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class Ended:
    """A call that is over, as metrics see it."""

    method = "ping"
    subject = None
    began = 0.0


def test_no_call_is_lost_when_threads_count_at_once() -> None:
    metrics = Metrics("threads", lambda call: None)

    def work() -> None:
        ended: Any = Ended()
        for _ in range(5000):
            metrics.ended(ended, "error")

    with hasty_threads():
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert metrics["ping"].calls == metrics["ping"].errors == 40000


# Reading


async def test_durations_are_summed_and_sorted_into_buckets() -> None:
    server = Server("clock", version="1")
    server.add_tool(lambda: "x", name="quick")
    await call(server, "quick")
    await call(server, "quick")

    found = server.metrics["tools/call:quick"]
    assert sum(found.buckets) == found.timed == 2
    assert found.seconds > 0


async def test_after_a_reset_counting_begins_anew(server: Server) -> None:
    """E-55: reset-metrics."""
    await call(server, "add", a=1, b=2)
    await server.handle({"jsonrpc": "2.0", "method": "notifications/initialized"})
    server.metrics.reset()
    before = dict(server.metrics)
    await call(server, "add", a=1, b=2)

    assert before == {}
    assert counts(server) == {"tools/call": (1, 0), "tools/call:add": (1, 0)}


async def test_the_summary_is_a_line(server: Server) -> None:
    """E-53: calls, errors and their rate; without calls the rate is 0."""
    empty = server.metrics.summary()
    await call(server, "add", a=1, b=2)
    await call(server, "add", a=1, b=2)
    await call(server, "fail")

    assert empty == "MCP metrics: 0 calls, 0 errors (0.0% error rate)"
    assert server.metrics.summary() == "MCP metrics: 3 calls, 1 errors (33.3% error rate)"


# Composition


async def test_a_call_of_an_included_server_counts_in_both(server: Server) -> None:
    outer = Server("outer", version="1")
    outer.include(server, prefix="in")
    outermost = Server("outermost", version="1")
    outermost.include(outer)
    await call(outermost, "in_add", a=1, b=2)
    await call(outer, "in_fail")
    await ask(outer, "prompts/get", name="in_greet", arguments={"name": "Ada"})
    await ask(outer, "resources/read", uri="in+notes://today")
    await call(server, "add", a=1, b=2)

    assert counts(server) == {
        "prompts/get": (1, 0),
        "prompts/get:greet": (1, 0),
        "resources/read": (1, 0),
        "resources/read:notes://{name}": (1, 0),
        "tools/call": (3, 1),
        "tools/call:add": (2, 0),
        "tools/call:fail": (1, 1),
    }
    assert counts(outer) == {
        "prompts/get": (1, 0),
        "prompts/get:in_greet": (1, 0),
        "resources/read": (1, 0),
        "resources/read:in+notes://{name}": (1, 0),
        "tools/call": (2, 1),
        "tools/call:in_add": (1, 0),
        "tools/call:in_fail": (1, 1),
    }
    assert counts(outermost) == {"tools/call": (1, 0), "tools/call:in_add": (1, 0)}


class Provider:
    """Offers marked things and lists."""

    @tool
    def marked(self) -> str:
        return "marked"

    @resource("p://{x}")
    def things(self, x: str) -> str:
        return x

    def tools(self) -> list[ToolInfo]:
        return [ToolInfo(name="listed", input_schema={"type": "object"})]

    def call_tool(self, name: str, arguments: Json) -> Any:
        return "listed" if name == "listed" else NotImplemented


async def _pass(exchange: Exchange, proceed: Next) -> Outgoing:
    return await proceed(exchange)


@pytest.mark.parametrize("middleware", [(), (_pass,)], ids=["direct", "middleware"])
async def test_what_providers_of_an_included_server_list_counts_in_both(middleware: Any) -> None:
    inner = Server("inner", version="1", providers=[Provider()], middleware=middleware)
    outer = Server("outer", version="1")
    outer.include(inner, prefix="in")
    await call(outer, "in_marked")
    await call(outer, "in_listed")
    await ask(outer, "resources/read", uri="in+p://7")

    assert counts(inner) == {
        "resources/read": (1, 0),
        "resources/read:p://{x}": (1, 0),
        "tools/call": (2, 0),
        "tools/call:listed": (1, 0),
        "tools/call:marked": (1, 0),
    }
    assert counts(outer)["tools/call"] == (2, 0)
    assert counts(outer)["tools/call:in_listed"] == (1, 0)


async def test_what_is_under_way_in_an_included_server_is_seen_there() -> None:
    inner, outer = Server("inner", version="1"), Server("outer", version="1")
    seen: list[tuple[int, int]] = []

    @inner.tool
    async def look() -> str:
        seen.append(
            (
                inner.metrics["tools/call:look"].in_flight,
                outer.metrics["tools/call:in_look"].in_flight,
            )
        )
        return "seen"

    outer.include(inner, prefix="in")
    await call(outer, "in_look")

    assert seen == [(1, 1)]
    assert inner.metrics["tools/call:look"].in_flight == 0
