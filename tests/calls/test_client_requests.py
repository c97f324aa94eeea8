"""Calls that ask their client while they wait: what waits, what ends, what stays apart."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from tests.asking import OLD

from toolhaft import Accepted, Context, Elicit, Limits, McpError, Server
from toolhaft.testing import Client, ToolFailed, requests


def opened(server: Server, answers: Any) -> Client:
    return Client(server, OLD, answers=answers)


async def never(_method: str, _params: Any) -> None:
    await asyncio.Event().wait()


def asked(client: Client) -> list[Any]:
    """The ids of the questions, in order."""
    return [each["id"] for each in client.wire.received if {"id", "method"} <= each.keys()]


def taken_back(client: Client) -> list[Any]:
    """The ids of the questions that are moot, in order."""
    moot = "notifications/cancelled"
    return [
        each["params"]["requestId"] for each in client.wire.received if each.get("method") == moot
    ]


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
    async with opened(server, never) as client:
        with pytest.raises(ToolFailed, match=r"the client did not answer within 0\.01 s$"):
            await client.call("tool")

    assert taken_back(client) == asked(client) != []


@both
async def test_the_time_of_the_user_is_not_the_time_of_the_tool(tool: Callable[..., Any]) -> None:
    server = Server("s")
    server.add_tool(tool, name="tool", timeout=0.4)

    async def slowly(_method: str, _params: Any) -> str:
        await asyncio.sleep(0.6)
        return "Ann"

    async with opened(server, slowly) as client:
        assert await client.call("tool") == "Ann"


async def test_a_tool_that_has_its_answer_has_its_own_time_again() -> None:
    server = Server("s")

    @server.tool(timeout=0.05)
    async def slow(ctx: Context) -> str:
        await ctx.elicit("Name?", str)
        await asyncio.Event().wait()
        return "never"

    async with opened(server, ["Ann"]) as client:
        with pytest.raises(ToolFailed, match=r"tool 'slow' took longer than 0\.05 s$"):
            await client.call("slow")


@both
async def test_questions_of_many_clients_and_calls_never_mix(tool: Callable[..., Any]) -> None:
    server = Server("s")
    server.add_tool(tool, name="tool")
    all_asked = asyncio.Barrier(10)

    def answering(letter: str) -> Callable[..., Any]:
        numbers = itertools.count()

        async def answer(_method: str, _params: Any) -> str:
            number = next(numbers)
            await all_asked.wait()  # so that all of them are open at once
            return f"{letter}{number}"

        return answer

    async with opened(server, answering("a")) as one, opened(server, answering("b")) as other:
        texts = await asyncio.gather(*(each.call("tool") for each in (one, other) * 5))

    assert sorted(texts[::2]) == ["a0", "a1", "a2", "a3", "a4"]
    assert sorted(texts[1::2]) == ["b0", "b1", "b2", "b3", "b4"]
    assert asked(one) == asked(other) == [f"ask-{number}" for number in range(1, 6)]


async def test_questions_of_tasks_of_one_call_are_open_together() -> None:
    server = Server("s")

    @server.tool
    async def both(ctx: Context) -> str:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(ctx.elicit("First?", str))
            second = group.create_task(ctx.elicit("Second?", str))
        return f"{first.result()} {second.result()}"

    both_asked = asyncio.Barrier(2)

    async def echo(_method: str, params: Any) -> str:
        await both_asked.wait()
        return str(params["message"])

    async with opened(server, echo) as client:
        text = await client.call("both")

    assert text == "Accepted(value='First?') Accepted(value='Second?')"


async def test_one_refusal_takes_the_other_questions_back() -> None:
    server = Server("s")

    @server.tool
    async def both(ctx: Context) -> str:
        return str(await ctx.ask(a=Elicit("A?", str), b=Elicit("B?", str)))

    async def wait(params: Any) -> None:
        await asyncio.Event().wait()

    async with opened(server, {"A?": McpError("not now"), "B?": wait}) as client:
        with pytest.raises(ToolFailed, match=r"did not answer elicitation/create: not now$"):
            await client.call("both")

    assert taken_back(client) == asked(client)[1:] != []


async def test_a_plain_function_on_the_loop_cannot_ask(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("s", errors="show")
    server.add_tool(name_plainly, name="tool", thread=False)
    async with opened(server, None) as client:
        with pytest.raises(ToolFailed, match="without thread=False"):
            await client.call("tool")


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

    async with opened(server, None) as client:
        await client.call("leave")
        words = await asyncio.wait_for(told.get(), 5)

    assert words == "the call is over, and its client cannot be asked any more"
    assert client.questions == []


async def test_one_message_by_itself_cannot_be_asked_about() -> None:
    server = Server("s")
    server.add_tool(name)
    await server.handle(requests.initialize())
    answer = await server.handle(requests.tools_call("name"))

    assert answer is not None
    assert answer["result"]["isError"] is True
    assert answer["result"]["content"][0]["text"] == (
        "this needs to ask something, and the client cannot be asked on this connection, which "
        "takes one message: use `run` or `serve`"
    )


# What is wrong on purpose, as a client that does not look at the schema sends it.
WRONG = {"action": "accept", "content": {"value": "many"}}


def after(seconds: float, answer: Any) -> Callable[[Any], Any]:
    """An answer that takes its time."""

    async def wait(_params: Any) -> Any:
        await asyncio.sleep(seconds)
        return answer

    return wait


async def test_a_tool_whose_user_erred_has_its_own_time_again() -> None:
    server = Server("s")

    @server.tool(timeout=0.05)
    async def slow(ctx: Context) -> str:
        await ctx.elicit("How many?", int)
        await asyncio.Event().wait()
        return "never"

    async with opened(server, [after(0.1, WRONG), 3]) as client:
        with pytest.raises(ToolFailed, match=r"tool 'slow' took longer than 0\.05 s$"):
            await client.call("slow")


async def test_the_time_of_a_user_who_errs_is_not_the_time_of_the_tool() -> None:
    server = Server("s")

    @server.tool(timeout=0.4)
    async def count(ctx: Context) -> str:
        answer = await ctx.elicit("How many?", int)
        await asyncio.sleep(0.15)
        return str(answer)

    async with opened(server, [after(0.35, WRONG), after(0.1, 3)]) as client:
        assert await client.call("count") == "Accepted(value=3)"


async def test_an_error_about_answers_that_do_not_fit_names_the_question() -> None:
    server = Server("s")

    @server.tool
    async def count(ctx: Context) -> str:
        return str(await ctx.elicit("How many?", int))

    async with opened(server, [WRONG] * 3) as client:
        with pytest.raises(ToolFailed, match=r"answered 'How many\?' 3 times with what does not"):
            await client.call("count")


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

    async with opened(server, never) as client:
        text = await client.call("leave")
        words = await asyncio.wait_for(told.get(), 5)

    assert taken_back(client) == asked(client) != []
    assert text == "gone"
    assert words == "cancelled"
