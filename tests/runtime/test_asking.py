"""Calls that ask their client, over streams in memory: what waits, what ends, what stays apart."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.runtime.test_connection import Client

from toolhaft import Accepted, Context, Elicit, Limits, Server

CAN = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}}


@asynccontextmanager
async def opened(server: Server) -> AsyncIterator[Client]:
    client = Client(server)
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": CAN,
        "clientInfo": {"name": "test", "version": "1"},
    }
    client.request("init", "initialize", params)
    assert (await client.next())["id"] == "init"
    try:
        yield client
    finally:
        await client.end()


def accept(client: Client, id_: str, value: Any) -> None:
    result = {"action": "accept", "content": {"value": value}}
    client.send({"jsonrpc": "2.0", "id": id_, "result": result})


def text_of(answer: Any) -> str:
    [block] = answer["result"]["content"]
    return str(block["text"])


async def name(ctx: Context) -> str:
    answer = await ctx.elicit("Name?", str)
    return answer.value if isinstance(answer, Accepted) else "nobody"


def name_plainly(ctx: Context) -> str:
    answer = ctx.sync.elicit("Name?", str)
    return answer.value if isinstance(answer, Accepted) else "nobody"


both = pytest.mark.parametrize("tool", [name, name_plainly])


@both
async def test_a_client_that_does_not_answer_fails_the_call(tool: Callable[..., Any]) -> None:
    server = Server("s", limits=Limits(answer_seconds=0.01))
    server.add_tool(tool, name="tool")
    async with opened(server) as client:
        client.call(1, "tool")
        asked, moot, answer = [await client.next() for _ in range(3)]

    assert moot["method"] == "notifications/cancelled"
    assert moot["params"]["requestId"] == asked["id"]
    assert answer["result"]["isError"] is True
    assert text_of(answer) == "the client did not answer within 0.01 s"


@both
async def test_the_time_of_the_user_is_not_the_time_of_the_tool(tool: Callable[..., Any]) -> None:
    server = Server("s")
    server.add_tool(tool, name="tool", timeout=0.05)
    async with opened(server) as client:
        client.call(1, "tool")
        asked = await client.next()
        await asyncio.sleep(0.15)
        accept(client, asked["id"], "Ann")
        answer = await client.next()

    assert text_of(answer) == "Ann"


async def test_a_tool_that_has_its_answer_has_its_own_time_again() -> None:
    server = Server("s")

    @server.tool(timeout=0.05)
    async def slow(ctx: Context) -> str:
        await ctx.elicit("Name?", str)
        await asyncio.Event().wait()
        return "never"

    async with opened(server) as client:
        client.call(1, "slow")
        accept(client, (await client.next())["id"], "Ann")
        answer = await client.next()

    assert text_of(answer) == "tool 'slow' took longer than 0.05 s"


@both
async def test_questions_of_many_clients_and_calls_never_mix(tool: Callable[..., Any]) -> None:
    server = Server("s")
    server.add_tool(tool, name="tool")
    async with opened(server) as first, opened(server) as second:
        for client in (first, second):
            for call in range(5):
                client.call(call, "tool")
        for number, client in enumerate((first, second)):
            for asked in [await client.next() for _ in range(5)]:
                accept(client, asked["id"], f"{number} {asked['id']}")
        answers = [[await client.next() for _ in range(5)] for client in (first, second)]

    for number, each in enumerate(answers):
        assert {answer["id"] for answer in each} == set(range(5))
        assert {text_of(answer) for answer in each} == {f"{number} ask-{n}" for n in range(1, 6)}


async def test_questions_of_tasks_of_one_call_are_open_together() -> None:
    server = Server("s")

    @server.tool
    async def both(ctx: Context) -> str:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(ctx.elicit("First?", str))
            second = group.create_task(ctx.elicit("Second?", str))
        return f"{first.result()} {second.result()}"

    async with opened(server) as client:
        client.call(1, "both")
        asked = [await client.next(), await client.next()]
        for each in reversed(asked):
            accept(client, each["id"], each["params"]["message"])
        answer = await client.next()

    assert text_of(answer) == "Accepted(value='First?') Accepted(value='Second?')"


async def test_one_refusal_takes_the_other_questions_back() -> None:
    server = Server("s")

    @server.tool
    async def both(ctx: Context) -> str:
        return str(await ctx.ask(a=Elicit("A?", str), b=Elicit("B?", str)))

    async with opened(server) as client:
        client.call(1, "both")
        first, second = [await client.next(), await client.next()]
        refusal = {"code": -32000, "message": "not now"}
        client.send({"jsonrpc": "2.0", "id": first["id"], "error": refusal})
        moot, answer = [await client.next(), await client.next()]

    assert moot["params"]["requestId"] == second["id"]
    assert text_of(answer) == "the client did not answer elicitation/create: not now"


async def test_a_plain_function_on_the_loop_cannot_ask(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("s", errors="show")
    server.add_tool(name_plainly, name="tool", thread=False)
    async with opened(server) as client:
        client.call(1, "tool")
        answer = await client.next()

    assert "without thread=False" in text_of(answer)


async def test_a_call_that_is_over_cannot_ask() -> None:
    server = Server("s")
    told: asyncio.Queue[str] = asyncio.Queue()
    tasks: list[asyncio.Task[None]] = []

    @server.tool
    async def leave(ctx: Context) -> str:
        async def later() -> None:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            try:
                await ctx.elicit("Name?", str)
            except RuntimeError as error:
                told.put_nowait(str(error))

        tasks.append(asyncio.create_task(later()))
        return "gone"

    async with opened(server) as client:
        client.call(1, "leave")
        await client.next()
        words = await asyncio.wait_for(told.get(), 5)
        rest = client.rest()

    assert words == "the call is over, and its client cannot be asked any more"
    assert rest == []


async def test_one_message_by_itself_cannot_be_asked_about() -> None:
    server = Server("s")
    server.add_tool(name)
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": CAN,
        "clientInfo": {"name": "test", "version": "1"},
    }
    await server.handle({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})

    answer = await server.handle(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "name"}}
    )

    assert answer is not None
    assert answer["result"]["isError"] is True
    assert "cannot be asked on this connection" in text_of(answer)


async def test_a_tool_whose_user_erred_has_its_own_time_again() -> None:
    server = Server("s")

    @server.tool(timeout=0.05)
    async def slow(ctx: Context) -> str:
        await ctx.elicit("How many?", int)
        await asyncio.Event().wait()
        return "never"

    async with opened(server) as client:
        client.call(1, "slow")
        asked = await client.next()
        await asyncio.sleep(0.1)
        accept(client, asked["id"], "many")
        accept(client, (await client.next())["id"], 3)
        answer = await client.next()

    assert text_of(answer) == "tool 'slow' took longer than 0.05 s"


async def test_the_time_of_a_user_who_errs_is_not_the_time_of_the_tool() -> None:
    server = Server("s")

    @server.tool(timeout=0.4)
    async def count(ctx: Context) -> str:
        answer = await ctx.elicit("How many?", int)
        await asyncio.sleep(0.15)
        return str(answer)

    async with opened(server) as client:
        client.call(1, "count")
        asked = await client.next()
        await asyncio.sleep(0.35)
        accept(client, asked["id"], "many")
        asked = await client.next()
        await asyncio.sleep(0.1)
        accept(client, asked["id"], 3)
        answer = await client.next()

    assert text_of(answer) == "Accepted(value=3)"


async def test_an_error_about_answers_that_do_not_fit_names_the_question() -> None:
    server = Server("s")

    @server.tool
    async def count(ctx: Context) -> str:
        return str(await ctx.elicit("How many?", int))

    async with opened(server) as client:
        client.call(1, "count")
        for _ in range(3):
            accept(client, (await client.next())["id"], "many")
        answer = await client.next()

    assert "the client has answered 'How many?' 3 times with what does not fit" in text_of(answer)


async def test_the_question_of_a_task_that_outlives_its_call_is_taken_back() -> None:
    server = Server("s")
    told: asyncio.Queue[str] = asyncio.Queue()
    tasks: list[asyncio.Task[None]] = []

    @server.tool
    async def leave(ctx: Context) -> str:
        async def beside() -> None:
            try:
                await ctx.elicit("Name?", str)
            except asyncio.CancelledError:
                told.put_nowait("cancelled")
                raise

        tasks.append(asyncio.create_task(beside()))
        await asyncio.sleep(0.01)
        return "gone"

    async with opened(server) as client:
        client.call(1, "leave")
        asked, moot, answer = [await client.next() for _ in range(3)]
        words = await asyncio.wait_for(told.get(), 5)
        rest = client.rest()

    assert moot["method"] == "notifications/cancelled"
    assert moot["params"]["requestId"] == asked["id"]
    assert text_of(answer) == "gone"
    assert words == "cancelled"
    assert rest == []
