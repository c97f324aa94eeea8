"""Calls that are answered with their questions and run again: what is asked, undone and told."""

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Annotated, Any

import pytest
from tests.asking import NEW, handled

from toolhaft import Accepted, Context, Depends, Elicit, McpError, Server
from toolhaft.protocol.calls import Exchange, Next, Result
from toolhaft.testing import Client, assert_error, requests


def accepted(value: Any) -> dict[str, Any]:
    return {"action": "accept", "content": {"value": value}}


async def ask(server: Server, name: str = "tool", **more: Any) -> dict[str, Any]:
    """One round, by hand: the result, or the error."""
    answer = await handled(server, "tools/call", name=name, **more)
    result: dict[str, Any] = answer.get("result") or answer["error"]
    return result


async def play(server: Server, name: str = "tool", **answers: Any) -> tuple[list[list[str]], Any]:
    """All rounds: the keys that were asked in each, and the text of the result. A question is
    answered with what it says, if there is nothing else for it."""

    def answer(_method: str, params: dict[str, Any]) -> Any:
        return answers.get(params["message"], params["message"])

    async with Client(server, NEW, answers=answer) as client:
        try:
            ended: Any = (await client.call_raw(name)).text
        except McpError as error:
            ended = error
    results = [message.get("result", {}) for message in client.wire.received]
    return [list(each["inputRequests"]) for each in results if "inputRequests" in each], ended


def value(answer: Any) -> str:
    return str(answer.value) if isinstance(answer, Accepted) else "no"


async def gathered(ctx: Context) -> str:
    answers = await asyncio.gather(ctx.elicit("A", str, key="a"), ctx.elicit("B", str, key="b"))
    return " ".join(map(value, answers))


async def grouped(ctx: Context) -> str:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ctx.elicit(key.upper(), str, key=key)) for key in ("a", "b")]
    return " ".join(value(task.result()) for task in tasks)


async def nested(ctx: Context) -> str:
    async def inner(key: str) -> str:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(ctx.elicit(key.upper(), str, key=key))
        return value(task.result())

    return " ".join(await asyncio.gather(inner("a"), asyncio.wait_for(inner("b"), 60)))


async def timed(ctx: Context) -> str:
    async with asyncio.timeout(60):
        return " ".join(
            map(value, (await ctx.ask(a=Elicit("A", str), b=Elicit("B", str))).values())
        )


@pytest.mark.parametrize("tool", [gathered, grouped, nested, timed])
async def test_questions_that_are_open_together_make_one_round(tool: Callable[..., Any]) -> None:
    server = Server("s")
    server.add_tool(tool, name="tool")

    assert await play(server) == ([["a", "b"]], "A B")


async def test_questions_of_a_loop_have_numbers() -> None:
    server = Server("s")

    @server.tool
    async def tool(ctx: Context) -> str:
        return " ".join([value(await ctx.elicit(f"{n}?", str, key="n")) for n in range(3)])

    assert await play(server) == ([["n"], ["n#2"], ["n#3"]], "0? 1? 2?")


async def test_code_before_a_question_runs_once_for_each_round() -> None:
    server, ran = Server("s"), list[str]()

    @server.tool
    async def tool(ctx: Context) -> str:
        ran.append("begun")
        await ctx.elicit("A", str)
        ran.append("first")
        await ctx.elicit("B", str)
        ran.append("second")
        return "done"

    assert await play(server) == ([["question-1"], ["question-2"]], "done")
    assert ran == ["begun", "begun", "first", "begun", "first", "second"]


async def test_what_a_tool_opened_is_closed_before_the_client_is_asked() -> None:
    server, told = Server("s"), list[str]()

    async def connection() -> AsyncIterator[str]:
        told.append("open")
        try:
            yield "db"
        finally:
            await asyncio.sleep(0)
            told.append("closed")

    def file() -> Iterator[str]:
        told.append("file open")
        try:
            yield "file"
        finally:
            told.append("file closed")

    @server.tool
    async def tool(
        ctx: Context,
        db: Annotated[str, Depends(connection)],
        text: Annotated[str, Depends(file)],
    ) -> str:
        return value(await ctx.elicit("A", str)) + db + text

    await ask(server)

    assert told == ["open", "file open", "file closed", "closed"]
    assert (await play(server))[1] == "Adbfile"


async def test_dependencies_ask_as_well() -> None:
    server = Server("s")

    async def who(ctx: Context) -> str:
        return value(await ctx.elicit("Who", str, key="who"))

    def where(ctx: Context) -> str:
        return value(ctx.sync.elicit("Where", str, key="where"))

    @server.tool
    def tool(one: Annotated[str, Depends(who)], two: Annotated[str, Depends(where)]) -> str:
        return one + two

    assert await play(server) == ([["who"], ["where"]], "WhoWhere")


async def test_generators_ask_as_well() -> None:
    server = Server("s")

    @server.tool
    async def tool(ctx: Context) -> AsyncIterator[str]:
        yield "begun"
        yield value(await ctx.elicit("A", str, key="a"))

    @server.tool
    def plain(ctx: Context) -> Iterator[str]:
        yield "begun"
        yield value(ctx.sync.elicit("A", str, key="a"))

    assert await play(server) == ([["a"]], "A")
    assert await play(server, "plain") == ([["a"]], "A")


@pytest.mark.parametrize("bounds", [{}, {"timeout": 60}, {"limit": 1}])
@pytest.mark.parametrize("layers", [0, 1])
async def test_middleware_and_bounds_make_no_difference(bounds: Any, layers: int) -> None:
    told = list[str]()

    async def layer(exchange: Exchange, call: Next) -> Result:
        try:
            return await call(exchange)
        except Exception:
            told.append("caught")
            raise
        finally:
            told.append(exchange.method)

    server = Server("s", middleware=[layer] * layers)

    @server.tool(**bounds)
    async def tool(ctx: Context) -> str:
        return value(await ctx.elicit("A", str, key="a"))

    @server.tool(**bounds)
    def plain(ctx: Context) -> str:
        return value(ctx.sync.elicit("A", str, key="a"))

    assert await play(server) == ([["a"]], "A")
    assert await play(server, "plain") == ([["a"]], "A")
    assert "caught" not in told
    assert told.count("tools/call") == 4 * layers


async def test_a_tool_that_catches_everything_asks_all_the_same() -> None:
    server = Server("s")

    @server.tool
    async def tool(ctx: Context) -> str:
        try:
            return value(await ctx.elicit("A", str, key="a"))
        except BaseException:
            return "caught"

    @server.tool
    def plain(ctx: Context) -> str:
        try:
            return value(ctx.sync.elicit("A", str, key="a"))
        except BaseException:
            return "caught"

    assert await play(server) == ([["a"]], "A")
    assert await play(server, "plain") == ([["a"]], "A")


async def test_a_tool_that_fails_while_it_makes_way_asks_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server("s")

    @server.tool
    async def tool(ctx: Context) -> str:
        try:
            return value(await ctx.elicit("A", str, key="a"))
        except asyncio.CancelledError:
            raise ValueError("broken") from None

    assert await play(server) == ([["a"]], "A")
    assert "while it made way for its questions" in caplog.text


async def test_a_client_does_not_wait_for_a_tool_that_does_not_make_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("toolhaft.calls.client_requests._CLEAN_UP", 0.01)
    server, gate = Server("s"), threading.Event()

    @server.tool
    async def tool(ctx: Context) -> str:
        try:
            return value(await ctx.elicit("A", str, key="a"))
        except asyncio.CancelledError:
            await asyncio.sleep(60)
            raise

    @server.tool
    def plain(ctx: Context) -> str:
        try:
            return value(ctx.sync.elicit("A", str, key="a"))
        finally:
            gate.wait(60)

    assert list((await ask(server))["inputRequests"]) == ["a"]
    asking = asyncio.create_task(ask(server, "plain"))
    assert list((await asking)["inputRequests"]) == ["a"]
    gate.set()


async def test_a_task_that_was_left_behind_does_not_wait_for_ever() -> None:
    server, told = Server("s"), asyncio.Queue[str]()
    tasks: list[asyncio.Task[None]] = []

    @server.tool
    async def tool(ctx: Context) -> str:
        async def beside() -> None:
            try:
                await ctx.elicit("B", str, key="b")
            except asyncio.CancelledError:
                told.put_nowait("cancelled")
                raise

        if not tasks:
            tasks.append(asyncio.create_task(beside()))
        return value(await ctx.elicit("A", str, key="a"))

    result = await ask(server)

    assert list(result["inputRequests"]) == ["a", "b"]
    assert await asyncio.wait_for(told.get(), 5) == "cancelled"


async def test_a_call_that_asks_in_every_round_is_told_so_before_its_client_gives_up() -> None:
    server = Server("s")

    @server.tool
    async def tool(ctx: Context) -> str:
        for number in range(20):
            await ctx.elicit(f"{number}?", str)
        return "done"

    rounds, text = await play(server)

    assert len(rounds) == 9
    assert "ask several questions at once" in text


async def test_nine_rounds_of_questions_are_not_too_many() -> None:
    server = Server("s")

    @server.tool
    async def tool(ctx: Context) -> str:
        return str(len([await ctx.elicit(f"{number}?", str) for number in range(9)]))

    assert (await play(server))[1] == "9"


async def test_a_question_that_never_reads_the_same_is_an_error() -> None:
    server, counter = Server("s"), iter(range(99))

    @server.tool
    async def tool(ctx: Context) -> str:
        return value(await ctx.elicit(f"At {next(counter)}?", str, key="time"))

    rounds, text = await play(server)

    assert rounds == [["time"]] * 3
    assert "reads differently each time" in text


async def test_a_tool_that_asks_nothing_any_more_completes() -> None:
    server, asks = Server("s"), [True]

    @server.tool
    async def tool(ctx: Context) -> str:
        return value(await ctx.elicit("A", str)) if asks.pop() else "done"

    state = (await ask(server))["requestState"]
    asks.append(False)

    assert (await ask(server, requestState=state))["content"][0]["text"] == "done"


async def test_states_of_one_server_are_good_for_another_with_the_same_secret(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def made(**options: Any) -> Server:
        server = Server("s", **options)
        server.add_tool(gathered, name="tool")
        return server

    answers = {"a": accepted("x"), "b": accepted("y")}
    secret, other = "a-secret-of-the-host", "another secret of it"
    state = (await ask(made(secret=secret)))["requestState"]
    monkeypatch.setenv("TOOLHAFT_SECRET", secret)

    for server in (made(secret=secret), made(secret=[other, secret.encode()]), made()):
        done = await ask(server, requestState=state, inputResponses=answers)
        assert done["content"][0]["text"] == "x y"
    refused = await ask(made(secret=other), requestState=state, inputResponses=answers)
    assert refused == {"code": -32602, "message": "invalid or expired requestState"}
    assert "refused a requestState: sealed by somebody else" in caplog.text


@pytest.mark.parametrize("secret", ["short", b"", [], ["good enough for this", "no"]])
def test_a_secret_that_is_none_is_refused(secret: Any) -> None:
    with pytest.raises(ValueError, match="at least 16 bytes"):
        Server("s", secret=secret)


async def test_the_variable_holds_several_secrets_of_which_the_first_seals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old, new = "the-secret-of-last-year", "the-secret-of-this-year"

    def made(variable: str) -> Server:
        monkeypatch.setenv("TOOLHAFT_SECRET", variable)
        server = Server("s")
        server.add_tool(gathered, name="tool")
        return server

    async def opens(variable: str, state: str) -> bool:
        return "code" not in await ask(made(variable), requestState=state)

    earlier = (await ask(made(old)))["requestState"]
    later = (await ask(made(f"{new}\n {old}")))["requestState"]

    assert await opens(f"{new} {old}", earlier)
    assert await opens(new, later)
    assert not await opens(old, later)


@pytest.mark.parametrize("variable", ["short", "good-enough-for-this no"])
def test_a_variable_that_holds_no_secret_is_named(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLHAFT_SECRET", variable)

    with pytest.raises(ValueError, match=r"^TOOLHAFT_SECRET: expected at least 16 bytes"):
        Server("s")


async def test_what_is_answered_is_the_same_for_many_calls_at_once() -> None:
    server = Server("s")
    server.add_tool(gathered, name="tool")

    played = await asyncio.gather(*(play(server, A=f"{n}", B=f"-{n}") for n in range(20)))

    assert [text for _, text in played] == [f"{n} -{n}" for n in range(20)]


async def test_an_answer_that_is_too_large_to_remember_is_an_error() -> None:
    server = Server("s")

    @server.tool
    async def tool(ctx: Context) -> str:
        await ctx.elicit("A", str, key="a")
        return value(await ctx.elicit("B", str, key="b"))

    _, error = await play(server, A="x" * 70000)

    assert_error(error, -32603, "do not fit into 65536 bytes")


async def test_completion_and_lists_never_ask() -> None:
    async def layer(exchange: Exchange, call: Next) -> Result:
        with suppress(KeyError):
            await exchange.ask({"a": Elicit("A", str).question})
        return await call(exchange)

    server = Server("s", middleware=[layer])
    server.add_tool(gathered)

    answer = await handled(server, "tools/list")

    assert answer["error"] == {"code": -32603, "message": "tools/list cannot ask its client"}


async def test_nothing_is_logged_when_a_call_makes_way(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server = Server("s")
    server.add_tool(gathered, name="tool")

    await play(server)

    assert [record for record in caplog.records if record.name.startswith("toolhaft")] == []


@pytest.mark.parametrize("number", [10**30, -(10**30), 2**63, 1e300])
async def test_arguments_that_are_hard_to_write_make_no_difference(number: float) -> None:
    server = Server("s")

    @server.tool
    async def tool(n: Any, ctx: Context) -> str:
        return value(await ctx.elicit("A", str, key="a"))

    arguments = {"n": number}
    asked = await server.handle(_call(arguments))
    assert asked is not None
    state = json.loads(asked)["result"]["requestState"]
    done = await server.handle(
        _call(arguments, requestState=state, inputResponses={"a": accepted("x")})
    )
    other = await server.handle(_call({"n": 1}, requestState=state))

    assert done is not None
    assert json.loads(done)["result"]["content"][0]["text"] == "x"
    assert other is not None
    assert json.loads(other)["error"]["code"] == -32602


def _call(arguments: Any, **more: Any) -> str:
    # By the standard library: there are integers that no others can write.
    message = requests.of(NEW).request("tools/call", {"name": "tool", **more})
    message["params"]["arguments"] = arguments
    return json.dumps(message)
