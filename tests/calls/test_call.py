"""Calls that take the longer way: dependencies, generators, time limits, and waiting in line."""

import asyncio
import contextlib
import contextvars
import json
import logging
import math
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Any

import pytest
from tests.asking import OLD, answer_to

from toolhaft import (
    Context,
    Depends,
    Header,
    InvalidParams,
    Limits,
    McpError,
    NotFound,
    PromptError,
    ResourceError,
    Server,
    ToolError,
)
from toolhaft.calls.call import RunningCall
from toolhaft.calls.connection import Connection
from toolhaft.calls.output import Sink
from toolhaft.calls.service import connected
from toolhaft.protocol.calls import Caller as Known
from toolhaft.protocol.calls import Exchange, Next, Result
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
ways = pytest.mark.parametrize(
    "options",
    [{}, {"timeout": 30}, {"limit": 3}, {"timeout": 30, "limit": 1}, {"thread": False}],
    ids=str,
)


class Caller:
    """A client by hand, in memory: for the order of messages, and for those that must not come."""

    def __init__(self, connection: Connection, *, in_a_task: bool = False) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._in_a_task = in_a_task
        self._changed = asyncio.Event()
        self.messages: list[dict[str, Any]] = []

    def heard(self, frame: bytes) -> None:
        self._loop.call_soon_threadsafe(self._take, json.loads(frame))

    def _take(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        self._changed.set()

    def send(self, message: dict[str, Any]) -> None:
        frame = json.dumps({"jsonrpc": "2.0", **message}).encode()
        if self._in_a_task:
            self._connection.receive(frame)
        else:
            self._loop.call_soon(self._connection.receive, frame)

    def request(
        self, id_: object, method: str, params: dict[str, Any], token: object = None
    ) -> None:
        if token is not None:
            params = {**params, "_meta": {"progressToken": token}}
        self.send({"id": id_, "method": method, "params": params})

    def call(self, id_: object, name: str = "it", /, *, token: object = None, **given: Any) -> None:
        self.request(id_, "tools/call", {"name": name, "arguments": given}, token)

    def begin(self, id_: object, kind: str) -> None:
        """Ask for the one thing of this kind that the server has."""
        if kind == "tool":
            self.call(id_)
        elif kind == "resource":
            self.request(id_, "resources/read", {"uri": "it://it"})
        else:
            self.request(id_, "prompts/get", {"name": "it"})

    def cancel(self, id_: object) -> None:
        self.send({"method": "notifications/cancelled", "params": {"requestId": id_}})

    async def until(self, found: Callable[[], Any]) -> Any:
        async with asyncio.timeout(PATIENCE):
            while not (result := found()):
                self._changed.clear()
                await self._changed.wait()
            return result

    def answers(self, id_: object) -> list[dict[str, Any]]:
        return [each for each in self.messages if each.get("id") == id_ and "method" not in each]

    async def answer(self, id_: object) -> dict[str, Any]:
        found: list[dict[str, Any]] = await self.until(lambda: self.answers(id_))
        return found[0]

    async def ask(self, id_: object, name: str = "it", /, **given: Any) -> dict[str, Any]:
        self.call(id_, name, **given)
        return await self.answer(id_)

    async def is_alive(self) -> None:
        self.send({"id": "alive", "method": "ping"})
        await self.answer("alive")

    def progress(self) -> list[tuple[float, str | None]]:
        found = [
            each["params"]
            for each in self.messages
            if each.get("method") == "notifications/progress"
        ]
        return [(each["progress"], each.get("message")) for each in found]


@contextlib.asynccontextmanager
async def caller_of(server: Server, *, in_a_task: bool = False) -> AsyncIterator[Caller]:
    clients: list[Caller] = []
    async with connected(server, Sink(lambda frame: clients[0].heard(frame))) as connection:
        clients.append(Caller(connection, in_a_task=in_a_task))
        info = {"name": "test", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        clients[0].request("init", "initialize", params)
        await clients[0].answer("init")
        clients[0].send({"method": "notifications/initialized"})
        yield clients[0]


async def asked(client: Client, name: str = "it", /, **given: Any) -> dict[str, Any]:
    """The whole answer to a call."""
    return await answer_to(client, "tools/call", name=name, arguments=given)


async def asked_for(client: Client, kind: str) -> dict[str, Any]:
    """The whole answer to a request for the one thing of this kind that the server has."""
    if kind == "tool":
        return await asked(client)
    if kind == "resource":
        return await answer_to(client, "resources/read", uri="it://it")
    return await answer_to(client, "prompts/get", name="it")


class Told:
    """What functions say, from any thread, and the test waits for."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Any] = asyncio.Queue()
        self.all: list[Any] = []

    def __call__(self, what: Any) -> None:
        self.all.append(what)
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._queue.put_nowait, what)

    async def next(self) -> Any:
        return await asyncio.wait_for(self._queue.get(), PATIENCE)


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


def add(server: Server, kind: str, function: Callable[..., Any], **options: Any) -> None:
    if kind == "tool":
        server.add_tool(function, name="it", **options)
    elif kind == "resource":
        server.add_resource(function, "it://it", name="it", **options)
    else:
        server.add_prompt(function, name="it", **options)


def text_in(answer: dict[str, Any]) -> str:
    """The one text of whatever was answered."""
    assert "result" in answer, answer
    result = answer["result"]
    if "messages" in result:
        [message] = result["messages"]
        text: str = message["content"]["text"]
        return text
    [block] = result.get("content") or result["contents"]
    text = block["text"]
    return text


def failure_in(answer: dict[str, Any]) -> str:
    """The words of a call that failed."""
    if "error" in answer:
        message: str = answer["error"]["message"]
        return message
    assert answer["result"]["isError"] is True
    return text_in(answer)


def maker(form: str, told: Callable[[Any], None], name: str = "dependency") -> Callable[..., Any]:
    """A dependency that tells of its beginning and its end."""

    def plain() -> str:
        told(f"{name} made")
        return name

    async def waits() -> str:
        await asyncio.sleep(0)
        return plain()

    def generator() -> Generator[str]:
        try:
            yield plain()
        except BaseException as error:
            told(f"{name} saw {type(error).__name__}")
            raise
        finally:
            told(f"{name} left")

    async def async_generator() -> AsyncGenerator[str]:
        await asyncio.sleep(0)
        try:
            yield plain()
        except BaseException as error:
            told(f"{name} saw {type(error).__name__}")
            raise
        finally:
            await asyncio.sleep(0)
            told(f"{name} left")

    return dict(zip(FORMS, (plain, waits, generator, async_generator), strict=True))[form]


def taker(form: str, dependency: Callable[..., Any], told: Callable[[Any], None]) -> Any:
    """A function that is given what a dependency makes."""

    def plain(value: str = Depends(dependency)) -> str:
        told("called")
        return f"got {value}"

    async def waits(value: str = Depends(dependency)) -> str:
        await asyncio.sleep(0)
        return plain(value)

    def generator(value: str = Depends(dependency)) -> Generator[str]:
        yield "first"
        yield plain(value)

    async def async_generator(value: str = Depends(dependency)) -> AsyncGenerator[str]:
        yield "first"
        await asyncio.sleep(0)
        yield plain(value)

    return dict(zip(FORMS, (plain, waits, generator, async_generator), strict=True))[form]


# Every form of function with every form of dependency


@every_kind
@made_by
@tool_form
async def test_a_function_is_given_what_its_dependency_makes(
    server: Server, told: Told, form: str, dependency: str, kind: str
) -> None:
    add(server, kind, taker(form, maker(dependency, told), told))

    async with Client(server, OLD) as client:
        answer = await asked_for(client, kind)

    assert text_in(answer) == "got dependency"
    left = ["dependency left"] if "generator" in dependency else []
    assert told.all == ["dependency made", "called", *left]


@ways
@made_by
@tool_form
async def test_dependencies_work_within_every_bound(
    server: Server, told: Told, form: str, dependency: str, options: dict[str, Any]
) -> None:
    server.add_tool(taker(form, maker(dependency, told), told), name="it", **options)

    async with Client(server, OLD) as client:
        answer = await asked(client)

    assert text_in(answer) == "got dependency"
    left = ["dependency left"] if "generator" in dependency else []
    assert told.all == ["dependency made", "called", *left]


@made_by
async def test_a_dependency_may_stand_in_a_note(
    server: Server, told: Told, dependency: str
) -> None:
    make = maker(dependency, told)

    @server.tool
    def it(value: Annotated[str, Depends(make)], more: int = 1) -> str:
        return f"{value} {more}"

    async with Client(server, OLD) as client:
        answer = await asked(client, more=2)

    assert text_in(answer) == "dependency 2"


async def test_a_client_cannot_give_what_a_dependency_makes(server: Server, told: Told) -> None:
    server.add_tool(taker("plain", maker("plain", told), told), name="it")

    async with Client(server, OLD) as client:
        answer = await asked(client, value="mine")

    assert "value" in failure_in(answer)
    assert told.all == []


@made_by
@tool_form
async def test_dependencies_are_left_in_the_reverse_order_of_their_making(
    server: Server, told: Told, form: str, dependency: str
) -> None:
    inner = maker("generator", told, "inner")
    outer_form = dependency

    def plain(value: str = Depends(inner)) -> str:
        told("outer made")
        return f"outer of {value}"

    async def waits(value: str = Depends(inner)) -> str:
        return plain(value)

    def generator(value: str = Depends(inner)) -> Generator[str]:
        yield plain(value)
        told("outer left")

    async def async_generator(value: str = Depends(inner)) -> AsyncGenerator[str]:
        yield plain(value)
        told("outer left")

    outer = dict(zip(FORMS, (plain, waits, generator, async_generator), strict=True))[outer_form]
    server.add_tool(taker(form, outer, told), name="it")

    async with Client(server, OLD) as client:
        answer = await asked(client)

    assert text_in(answer) == "got outer of inner"
    left = ["outer left"] if "generator" in dependency else []
    assert told.all == ["inner made", "outer made", "called", *left, "inner left"]


@made_by
@tool_form
async def test_a_dependency_that_two_ask_for_is_made_once_in_a_call(
    server: Server, told: Told, form: str, dependency: str
) -> None:
    shared = maker(dependency, told, "shared")

    def left(value: str = Depends(shared)) -> str:
        return f"left {value}"

    async def right(value: str = Depends(shared)) -> str:
        return f"right {value}"

    def both(a: str = Depends(left), b: str = Depends(right), c: str = Depends(shared)) -> str:
        return f"{a}, {b}, {c}"

    server.add_tool(taker(form, both, told), name="it")

    async with Client(server, OLD) as client:
        first = await asked(client)
        second = await asked(client)

    assert text_in(first) == "got left shared, right shared, shared"
    assert text_in(second) == text_in(first)
    assert told.all.count("shared made") == 2


@made_by
async def test_a_dependency_sees_arguments_defaults_and_the_context(
    server: Server, told: Told, dependency: str
) -> None:
    def plain(ctx: Context, user: str, size: int, own: int = 7) -> str:
        return f"{user} {size} {own} {ctx.request_id} {ctx.server is server}"

    async def waits(ctx: Context, user: str, size: int, own: int = 7) -> str:
        return plain(ctx, user, size, own)

    def generator(ctx: Context, user: str, size: int, own: int = 7) -> Generator[str]:
        yield plain(ctx, user, size, own)

    async def async_generator(
        ctx: Context, user: str, size: int, own: int = 7
    ) -> AsyncGenerator[str]:
        yield plain(ctx, user, size, own)

    make = dict(zip(FORMS, (plain, waits, generator, async_generator), strict=True))[dependency]

    @server.tool
    def it(user: str, size: int = 3, value: str = Depends(make)) -> str:
        return value

    async with caller_of(server) as client:
        given = await client.ask(1, user="ann", size="5")
        left_out = await client.ask("two", user="bob")

    assert text_in(given) == "ann 5 7 1 True"
    assert text_in(left_out) == "bob 3 7 two True"


async def test_a_dependency_of_a_template_sees_its_variables(server: Server) -> None:
    async def load(name: str) -> str:
        return f"contents of {name}"

    @server.resource("notes://{name}")
    def it(name: str, text: str = Depends(load)) -> str:
        return text

    async with caller_of(server) as client:
        client.request(1, "resources/read", {"uri": "notes://a"})
        answer = await client.answer(1)

    assert text_in(answer) == "contents of a"


async def test_arguments_are_checked_before_any_dependency_is_made(
    server: Server, told: Told
) -> None:
    make = maker("async generator", told)

    @server.tool
    async def it(n: int, value: str = Depends(make)) -> str:
        return value

    async with Client(server, OLD) as client:
        answer = await asked(client, n="no number")

    assert "n" in failure_in(answer)
    assert told.all == []


@made_by
async def test_calls_at_once_do_not_share_dependencies(server: Server, dependency: str) -> None:
    made: list[object] = []
    everybody = asyncio.Event()

    def plain() -> list[int]:
        fresh: list[int] = []
        made.append(fresh)
        return fresh

    async def waits() -> list[int]:
        return plain()

    def generator() -> Generator[list[int]]:
        yield plain()

    async def async_generator() -> AsyncGenerator[list[int]]:
        yield plain()

    make = dict(zip(FORMS, (plain, waits, generator, async_generator), strict=True))[dependency]

    @server.tool
    async def it(n: int, own: list[int] = Depends(make)) -> list[int]:
        own.append(n)
        if n == 19:
            everybody.set()
        await everybody.wait()
        own.append(n)
        return own

    async with caller_of(server) as client:
        for n in range(20):
            client.call(n, n=n)
        results = [(await client.answer(n))["result"]["structuredContent"] for n in range(20)]

    assert [each["result"] for each in results] == [[n, n] for n in range(20)]
    assert len({id(each) for each in made}) == 20


async def test_a_plain_call_stays_on_one_thread(server: Server) -> None:
    def dependency() -> Generator[int]:
        before = threading.get_ident()
        yield before
        assert threading.get_ident() == before

    @server.tool
    def it(thread: int = Depends(dependency)) -> bool:
        return thread == threading.get_ident()

    async with Client(server, OLD) as client:
        answer = await asked(client)

    assert answer["result"]["structuredContent"] == {"result": True}


@tool_form
async def test_plain_dependencies_do_not_run_on_the_loop(server: Server, form: str) -> None:
    threads: list[int] = []

    def dependency() -> Generator[str]:
        threads.append(threading.get_ident())
        yield "made"
        threads.append(threading.get_ident())

    server.add_tool(taker(form, dependency, lambda _: None), name="it", timeout=30)

    async with Client(server, OLD) as client:
        await asked(client)

    assert len(threads) == 2
    assert threading.get_ident() not in threads


async def test_async_dependencies_run_in_the_task_of_the_tool(server: Server) -> None:
    async def dependency() -> AsyncGenerator[Any]:
        task = asyncio.current_task()
        yield task
        assert asyncio.current_task() is task

    @server.tool
    async def it(task: Any = Depends(dependency)) -> bool:
        await asyncio.sleep(0)
        return asyncio.current_task() is task

    async with Client(server, OLD) as client:
        answer = await asked(client)

    assert answer["result"]["structuredContent"] == {"result": True}


async def test_a_task_group_may_span_a_call(server: Server) -> None:
    async def group() -> AsyncGenerator[asyncio.TaskGroup]:
        async with asyncio.TaskGroup() as tasks:
            yield tasks

    @server.tool
    async def it(tasks: asyncio.TaskGroup = Depends(group)) -> str:
        return await tasks.create_task(asyncio.sleep(0, "from a task"))

    async with Client(server, OLD) as client:
        answer = await asked(client)

    assert text_in(answer) == "from a task"


@pytest.mark.parametrize("options", [{}, {"timeout": 5}, {"limit": 2}])
async def test_a_plain_tool_with_thread_false_stays_on_the_loop(
    server: Server, options: dict[str, Any]
) -> None:
    @server.tool(thread=False, **options)
    def it() -> int:
        return threading.get_ident()

    async with Client(server, OLD) as client:
        answer = await asked(client)

    assert answer["result"]["structuredContent"] == {"result": threading.get_ident()}


async def test_what_it_depends_on_may_block_and_is_on_a_thread(server: Server) -> None:
    def dependency() -> Generator[int]:
        yield threading.get_ident()

    @server.tool(thread=False)
    def it(thread: int = Depends(dependency)) -> bool:
        return thread == threading.get_ident()

    async with Client(server, OLD) as client:
        answer = await asked(client)

    assert answer["result"]["structuredContent"] == {"result": True}


# Context variables

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


async def test_an_async_dependency_sets_a_variable_for_the_tool(server: Server) -> None:
    async def dependency() -> AsyncGenerator[None]:
        token = VARIABLE.set("set")
        yield
        VARIABLE.reset(token)

    @server.tool
    async def waits(_: None = Depends(dependency)) -> str:
        await asyncio.sleep(0)
        return VARIABLE.get()

    @server.tool
    def plain(_: None = Depends(dependency)) -> str:
        return VARIABLE.get()

    @server.tool
    async def looks() -> str:
        return VARIABLE.get()

    async with caller_of(server) as client:
        answers = [await client.ask(name, name) for name in ("waits", "plain", "looks")]

    assert [text_in(each) for each in answers] == ["set", "set", "unset"]


async def test_a_plain_dependency_sets_a_variable_for_a_plain_tool(server: Server) -> None:
    def dependency() -> Generator[None]:
        token = VARIABLE.set("set")
        yield
        VARIABLE.reset(token)

    @server.tool
    def it(_: None = Depends(dependency)) -> str:
        return VARIABLE.get()

    @server.tool
    def looks() -> str:
        return VARIABLE.get()

    async with Client(server, OLD) as client:
        answers = [await asked(client, "it"), await asked(client, "looks")]

    assert [text_in(each) for each in answers] == ["set", "unset"]


# What fails


@every_kind
@made_by
@tool_form
async def test_clean_up_runs_when_the_function_raises(
    server: Server, told: Told, form: str, dependency: str, kind: str
) -> None:
    def fails(_: object) -> None:
        raise ValueError("no good")

    add(server, kind, taker(form, maker(dependency, told), fails))

    async with Client(server, OLD) as client:
        answer = await asked_for(client, kind)

    assert "ValueError: no good" in failure_in(answer)
    left = ["dependency saw ValueError", "dependency left"] if "generator" in dependency else []
    assert told.all == ["dependency made", *left]


RAISED: dict[str, tuple[Callable[[], Exception], int | str]] = {
    "ToolError": (lambda: ToolError("exactly this"), "exactly this"),
    "InvalidParams": (lambda: InvalidParams("not so"), -32602),
    "NotFound": (lambda: NotFound("not here"), -32002),
    "PromptError": (lambda: PromptError("no words"), -32603),
    "ResourceError": (lambda: ResourceError(2001, "no bytes"), 2001),
    "McpError": (lambda: McpError("own", code=-32099), -32099),
    "LookupError": (lambda: LookupError("gone"), "tool 'it' failed: LookupError: gone"),
}
# Where a dependency, or what it is given to, may raise.
PLACES = [(form, place) for form in FORMS for place in ("made", "called")]
PLACES += [(form, "left") for form in ("generator", "async generator")]
every_place = pytest.mark.parametrize(("dependency", "place"), PLACES)


@every_place
@pytest.mark.parametrize("form", ["plain", "async"])
@pytest.mark.parametrize("name", RAISED)
async def test_what_a_dependency_raises_is_the_answer(
    server: Server, form: str, dependency: str, place: str, name: str
) -> None:
    error, expected = RAISED[name]

    def tells(what: str) -> None:
        if what.endswith(place):
            raise error()

    server.add_tool(taker(form, maker(dependency, tells), tells), name="it")

    async with Client(server, OLD) as client:
        answer = await asked(client)

    if isinstance(expected, int):
        assert answer["error"]["code"] == expected
    else:
        assert failure_in(answer) == expected


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration])
@pytest.mark.parametrize("place", ["made", "called", "left"])
@pytest.mark.parametrize("dependency", ["generator", "async generator"])
@tool_form
async def test_whatever_is_raised_is_a_failed_call_and_no_dead_server(
    server: Server, form: str, dependency: str, place: str, error: type[BaseException]
) -> None:
    def tells(what: str) -> None:
        if what.endswith(place):
            raise error

    function = taker(form, maker(dependency, tells), tells)
    server.add_tool(function, name="it")
    server.add_tool(function, name="within", timeout=30, limit=1)

    async with caller_of(server) as client:
        answers = [await client.ask(name, name) for name in ("it", "within", "it", "within")]
        await client.is_alive()

    assert ["failed: " in failure_in(answer) for answer in answers] == [True] * 4


@tool_form
async def test_a_dependency_that_raises_leaves_those_before_it(
    server: Server, told: Told, form: str
) -> None:
    first, second = maker("generator", told, "first"), maker("async generator", told, "second")

    def fails(a: str = Depends(first), b: str = Depends(second)) -> str:
        raise ToolError("third fails")

    server.add_tool(taker(form, fails, told), name="it")

    async with Client(server, OLD) as client:
        answer = await asked(client)

    assert failure_in(answer) == "third fails"
    assert told.all == [
        "first made", "second made",
        "second saw ToolError", "second left", "first saw ToolError", "first left",
    ]  # fmt: skip


@tool_form
@pytest.mark.parametrize("broken", ["generator", "async generator"])
@pytest.mark.parametrize("other", ["generator", "async generator"])
async def test_a_clean_up_that_raises_does_not_keep_the_others_from_theirs(
    server: Server, told: Told, form: str, broken: str, other: str
) -> None:
    outer = maker(other, told, "outer")

    def plain(_: str = Depends(outer)) -> Generator[str]:
        yield "made"
        raise ToolError("cannot clean up")

    async def waits(_: str = Depends(outer)) -> AsyncGenerator[str]:
        yield "made"
        raise ToolError("cannot clean up")

    server.add_tool(taker(form, plain if broken == "generator" else waits, told), name="it")

    async with Client(server, OLD) as client:
        answer = await asked(client)

    assert failure_in(answer) == "cannot clean up"
    assert told.all == ["outer made", "called", "outer saw ToolError", "outer left"]


@pytest.mark.parametrize("options", [{}, {"timeout": 30}], ids=str)
async def test_a_dependency_may_turn_one_error_into_another(
    server: Server, options: dict[str, Any]
) -> None:
    def dependency() -> Generator[None]:
        try:
            yield
        except LookupError as error:
            raise ToolError(f"translated: {error}") from None

    @server.tool(**options)
    def it(_: None = Depends(dependency)) -> None:
        raise LookupError("gone")

    async with Client(server, OLD) as client:
        answer = await asked(client)

    assert failure_in(answer) == "translated: gone"


@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize("options", [{}, {"timeout": 30}], ids=str)
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_dependency_that_does_not_yield_once_is_a_failed_call(
    server: Server, count: int, options: dict[str, Any], is_async: bool
) -> None:
    def plain() -> Generator[int]:
        yield from range(count)

    async def waits() -> AsyncGenerator[int]:
        for n in range(count):
            yield n

    @server.tool(**options)
    def it(n: int = Depends(waits if is_async else plain)) -> int:
        return n

    async with Client(server, OLD) as client:
        answer = await asked(client)
        await client.ping()

    assert "RuntimeError" in failure_in(answer)


async def test_errors_of_dependencies_are_masked_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server("tested", version="1")

    async def dependency() -> str:
        raise ValueError("secret")

    @server.tool
    def it(_: str = Depends(dependency)) -> str:
        return "never"

    with caplog.at_level(logging.ERROR):
        async with Client(server, OLD) as client:
            answer = await asked(client)

    assert failure_in(answer).startswith("tool 'it' failed: ValueError (error ")
    assert "secret" not in json.dumps(answer)
    assert "secret" in caplog.text


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


# Headers


async def _tenant(exchange: Exchange, call: Next) -> Result:
    exchange.headers = {"x-tenant": "acme", "x-count": "5", "x-bad": "five"}
    return await call(exchange)


@pytest.fixture
def over_http() -> Server:
    """A server that sees headers, as it does over HTTP."""
    return Server("tested", version="1", middleware=[_tenant], errors="show")


async def test_headers_fill_parameters_of_functions_and_dependencies(over_http: Server) -> None:
    async def count(n: Annotated[int, Header("X-Count")]) -> int:
        return n + 1

    @over_http.tool
    def it(
        ctx: Context,
        tenant: Annotated[str, Header("X-Tenant")],
        missing: Annotated[str, Header("X-Missing")] = "default",
        n: int = Depends(count),
    ) -> str:
        return f"{tenant} {missing} {n} {ctx.headers['x-tenant']}"

    async with caller_of(over_http) as client:
        client.request(1, "tools/list", {})
        [listed] = (await client.answer(1))["result"]["tools"]
        answer = await client.ask(2)

    assert text_in(answer) == "acme default 6 acme"
    assert listed["inputSchema"]["properties"] == {}


async def test_a_header_that_does_not_fit_is_named(over_http: Server) -> None:
    @over_http.tool
    def it(n: Annotated[int, Header("X-Bad")]) -> int:
        return n

    async with Client(over_http, OLD) as client:
        answer = await asked(client)

    assert answer["error"]["code"] == -32602
    assert "X-Bad" in answer["error"]["message"]


async def test_a_header_may_be_a_default(over_http: Server) -> None:
    @over_http.tool
    def it(n: int = Header("x-COUNT")) -> int:  # type: ignore[assignment]
        return n

    async with Client(over_http, OLD) as client:
        answer = await asked(client)

    assert answer["result"]["structuredContent"] == {"result": 5}


@every_kind
async def test_a_header_that_is_needed_and_not_there_is_named(server: Server, kind: str) -> None:
    def it(tenant: Annotated[str, Header("X-Tenant")]) -> str:
        return tenant

    add(server, kind, it)

    async with Client(server, OLD) as client:
        answer = await asked_for(client, kind)

    assert answer["error"]["code"] == -32602
    assert "X-Tenant" in answer["error"]["message"]


async def test_without_http_there_are_no_headers(server: Server) -> None:
    @server.tool
    def it(ctx: Context, tenant: Annotated[str | None, Header("X-Tenant")] = None) -> str:
        return f"{dict(ctx.headers)} {tenant}"

    async with Client(server, OLD) as client:
        answer = await asked(client)

    assert text_in(answer) == "{} None"


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


@pytest.mark.parametrize("token", [1, None])
@pytest.mark.parametrize(
    ("done", "total", "message", "error"),
    [
        (math.nan, None, None, "ValueError: progress must be finite, not nan"),
        (1, math.inf, None, "ValueError: progress must be finite, not 1 of inf"),
        (10**400, None, None, "ValueError: progress must be finite, not 1000"),
        (-(10**400), None, None, "ValueError: progress must be finite, not -1000"),
        (1, 10**400, None, "ValueError: progress must be finite, not 1 of 1000"),
        ("1", None, None, "TypeError: progress must be a number, not '1'"),
        (1, 2, 5, "TypeError: the message of progress must be a text, not 5"),
    ],
    ids=str,
)
async def test_what_is_no_progress_is_told_to_the_author(
    server: Server, token: int | None, done: Any, total: Any, message: Any, error: str
) -> None:
    @server.tool
    async def it(ctx: Context) -> str:
        try:
            await ctx.progress(done, total, message)
        except (TypeError, ValueError) as raised:
            return f"{type(raised).__name__}: {raised}"
        return "sent"

    async with caller_of(server) as client:
        answer = await client.ask(1, token=token)

    assert text_in(answer).startswith(error)
    assert len(text_in(answer)) < 1000
    assert client.progress() == []


@pytest.mark.parametrize(
    ("done", "sent"), [(2**53, 2**53), (-(2**70), -(2**70)), (Decimal("1.5"), 1.5), (True, 1)]
)
async def test_every_number_is_progress(server: Server, done: Any, sent: float) -> None:
    @server.tool
    async def it(ctx: Context) -> str:
        await ctx.progress(done, message="lone \ud800 half")
        return "done"

    async with caller_of(server) as client:
        await client.ask(1, token=1)

    assert client.progress() == [(sent, "lone ? half")]


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
