"""What a function is given, on which thread or loop it runs, and what its dependencies raise."""

import asyncio
import contextvars
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Annotated, Any

import pytest
from tests.asking import OLD
from tests.calls.callers import (
    Told,
    add,
    asked,
    asked_for,
    caller_of,
    failure_in,
    maker,
    taker,
    text_in,
    ways,
)

from toolhaft import (
    Context,
    Depends,
    InvalidParams,
    McpError,
    NotFound,
    PromptError,
    ResourceError,
    Server,
    ToolError,
)
from toolhaft.testing import Client

FORMS = ["plain", "async", "generator", "async generator"]


KINDS = ["tool", "resource", "prompt"]


tool_form = pytest.mark.parametrize("form", FORMS)


made_by = pytest.mark.parametrize("dependency", FORMS)


every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
async def told() -> Told:
    return Told()


@pytest.fixture
def server() -> Server:
    return Server("tested", version="1", errors="show")


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
