"""Questions of tasks side by side, and their keys: none is lost, none is taken for another."""

import asyncio
import random
import time
from typing import Any

import pytest
from tests.features.elicitation.test_manual_rounds import ask, play, value

from toolhaft import Context, Elicit, InputRequired, Server
from toolhaft.protocol.calls import Exchange, Next, Result


async def test_questions_without_keys_are_found_in_whichever_order_they_come() -> None:
    server, orders = Server("s"), [[0, 1, 2], [2, 1, 0], [1, 2, 0]]

    @server.tool
    async def tool(ctx: Context) -> str:
        async def one(number: int) -> str:
            first = value(await ctx.elicit(f"{number}?", str))
            return first + value(await ctx.elicit(f"{number}!", str))

        order = orders.pop(0)
        found = dict(zip(order, await asyncio.gather(*map(one, order)), strict=True))
        return " ".join(found[number] for number in range(3))

    rounds, text = await play(server)

    assert text == "0?0! 1?1! 2?2!"
    assert len(rounds) == 2


@pytest.mark.parametrize("seed", range(5))
async def test_questions_that_come_at_random_times_are_all_answered(seed: int) -> None:
    server, chance = Server("s"), random.Random(seed)

    @server.tool
    async def tool(ctx: Context) -> str:
        async def one(number: int) -> str:
            await asyncio.sleep(chance.random() * 0.2)
            return value(await ctx.elicit(f"{number}?", str))

        return " ".join(await asyncio.gather(*map(one, range(4))))

    assert (await play(server))[1] == "0? 1? 2? 3?"


async def test_an_answer_is_not_lost_in_a_round_that_does_not_come_to_its_question() -> None:
    server, asks = Server("s"), iter(["A", "B", "A", "B"])

    @server.tool
    async def tool(ctx: Context) -> str:
        first = value(await ctx.elicit(next(asks), str))
        return first + value(await ctx.elicit(next(asks), str))

    # A is open after the first round; the second one begins with B, the third one asks for both.
    assert await play(server) == ([["question-1"], ["question-2"]], "AB")


async def test_questions_with_the_same_key_are_found_in_whichever_order_they_come() -> None:
    server, orders = Server("s"), [["A", "B"], ["B", "A"]]

    @server.tool
    async def tool(ctx: Context) -> str:
        order = orders.pop(0)
        found = await asyncio.gather(*(ctx.elicit(text, str, key="k") for text in order))
        return " ".join(sorted(map(value, found)))

    assert await play(server) == ([["k", "k#2"]], "A B")


async def test_a_key_that_looks_like_a_number_of_ours_loses_no_question() -> None:
    server = Server("s")
    keys = ["k", "k", "k#2", "question-1", None, "k#2"]

    @server.tool
    async def one_by_one(ctx: Context) -> str:
        found = [await ctx.elicit(f"{n}?", str, key=key) for n, key in enumerate(keys)]
        return " ".join(map(value, found))

    @server.tool
    async def together(ctx: Context) -> str:
        asked = (ctx.elicit(f"{n}?", str, key=key) for n, key in enumerate(keys))
        return " ".join(map(value, await asyncio.gather(*asked)))

    assert (await play(server, "one_by_one"))[1] == "0? 1? 2? 3? 4? 5?"
    assert (await play(server, "together"))[1] == "0? 1? 2? 3? 4? 5?"


async def test_a_question_without_a_key_that_never_reads_the_same_is_told_at_the_end() -> None:
    server, counter = Server("s"), iter(range(99))

    @server.tool
    async def tool(ctx: Context) -> str:
        return value(await ctx.elicit(f"At {next(counter)}?", str))

    rounds, text = await play(server)

    assert len(rounds) == 9
    assert "reads differently each time" in text


# Keys


@pytest.mark.parametrize(
    ("key", "words"),
    [(5, "is str, not int"), ("", "must not be empty"), ("\ud800", "cannot be sent")],
)
async def test_a_key_that_is_none_is_refused_where_it_is_given(key: Any, words: str) -> None:
    server = Server("s", errors="show")

    @server.tool
    async def tool(ctx: Context) -> str:
        return value(await ctx.elicit("A", str, key=key))

    @server.tool
    def plain(ctx: Context) -> str:
        return value(ctx.sync.elicit("A", str, key=key))

    @server.tool
    async def by_hand(ctx: Context) -> str | InputRequired:
        return InputRequired({key: Elicit("A", str)})

    async with asyncio.timeout(5):
        for name in ("tool", "plain", "by_hand"):
            assert words in (await ask(server, name))["content"][0]["text"]


async def test_a_name_that_cannot_be_sent_is_refused_among_several() -> None:
    server = Server("s", errors="show")

    @server.tool
    async def tool(ctx: Context) -> str:
        return str(await ctx.ask(**{"\ud800": Elicit("A", str)}))

    async with asyncio.timeout(5):
        assert "cannot be sent" in (await ask(server))["content"][0]["text"]


async def test_any_word_may_be_the_name_of_a_question() -> None:
    server = Server("s")

    @server.tool
    async def tool(ctx: Context) -> str:
        return value((await ctx.ask(self=Elicit("A", str)))["self"])

    @server.tool
    def plain(ctx: Context) -> str:
        return value(ctx.sync.ask(self=Elicit("A", str))["self"])

    assert await play(server) == ([["self"]], "A")
    assert await play(server, "plain") == ([["self"]], "A")


async def test_questions_that_cannot_be_sealed_are_an_error_and_never_silence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def layer(exchange: Exchange, call: Next) -> Result:
        await exchange.ask({"\ud800": Elicit("A", str).question})
        return await call(exchange)

    server = Server("s", middleware=[layer])

    @server.tool
    async def tool() -> str:
        return "done"

    async with asyncio.timeout(5):
        error = await ask(server)

    assert error["code"] == -32603
    assert "UnicodeEncodeError" in caplog.text


# Work beside a question


async def test_short_work_beside_a_question_is_done_before_the_call_makes_way() -> None:
    server, told = Server("s"), list[str]()

    @server.tool
    async def tool(ctx: Context) -> str:
        async def work() -> None:
            await asyncio.sleep(0.02)
            told.append("worked")

        return value((await asyncio.gather(ctx.elicit("A", str), work()))[0])

    await ask(server)

    assert told == ["worked"]


@pytest.mark.parametrize("bounds", [{}, {"timeout": 60}, {"limit": 1}])
async def test_a_question_with_nothing_beside_it_is_not_held_up(
    bounds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolhaft.calls.client_requests._GRACE", 60)
    server = Server("s")

    @server.tool(**bounds)
    async def tool(ctx: Context) -> str:
        async with asyncio.timeout(60):
            return value(await ctx.elicit("A", str))

    began = time.monotonic()
    async with asyncio.timeout(5):
        await ask(server)

    assert time.monotonic() - began < 5


async def test_a_parked_task_does_not_outlive_a_call_that_returns() -> None:
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

        tasks.append(asyncio.create_task(beside()))
        await asyncio.sleep(0)
        return "done"

    assert (await ask(server))["content"][0]["text"] == "done"
    assert await asyncio.wait_for(told.get(), 5) == "cancelled"
