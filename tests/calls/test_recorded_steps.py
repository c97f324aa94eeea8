"""Steps and questions of one call: what may not be in what, and what is kept of it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from toolhaft import Context, Server
from toolhaft.stores.memory import MemoryStore
from toolhaft.testing import play

NEW, OLD = "2026-07-28", "2025-11-25"
both = pytest.mark.parametrize("revision", [NEW, OLD])


def made(function: Callable[..., Any], **options: Any) -> Server:
    server = Server("s", errors="show", **options)
    server.add_tool(function, name="tool")
    return server


async def played(function: Callable[..., Any], revision: str = NEW) -> str:
    return (await play(made(function), "tool", answers={"Q?": "a"}, revision=revision)).text


async def asks_in_a_step(ctx: Context) -> str:
    async def act() -> str:
        return str(await ctx.elicit("Q?", str))

    return await ctx.step("act", act)


async def asks_in_a_task_of_a_step(ctx: Context) -> str:
    async def act() -> str:
        return str(await asyncio.gather(ctx.elicit("Q?", str)))

    return await ctx.step("act", act)


async def asks_in_a_plain_step(ctx: Context) -> str:
    def act() -> str:
        return str(ctx.sync.elicit("Q?", str))

    return await ctx.step("act", act)


def asks_plainly_in_a_step(ctx: Context) -> str:
    def act() -> str:
        return str(ctx.sync.elicit("Q?", str))

    return ctx.sync.step("act", act)


@both
@pytest.mark.parametrize(
    "tool",
    [
        asks_in_a_step,
        asks_in_a_task_of_a_step,
        asks_in_a_plain_step,
        asks_plainly_in_a_step,
    ],
)
async def test_a_step_cannot_ask(tool: Callable[..., Any], revision: str) -> None:
    async with asyncio.timeout(5):
        text = await played(tool, revision)

    assert "a step cannot ask; ask before it, and give it the answer" in text


@both
async def test_what_follows_a_step_may_ask(revision: str) -> None:
    async def act() -> int:
        return 1

    async def tool(ctx: Context) -> str:
        await ctx.step("act", act)
        return str(await ctx.elicit("Q?", str))

    def plain(ctx: Context) -> str:
        ctx.sync.step("act", lambda: 1)
        return str(ctx.sync.elicit("Q?", str))

    assert await played(tool, revision) == "Accepted(value='a')"
    assert await played(plain, revision) == "Accepted(value='a')"


@both
async def test_a_question_beside_a_step_may_be_asked(revision: str) -> None:
    async def act() -> int:
        await asyncio.sleep(0.01)
        return 1

    async def tool(ctx: Context) -> str:
        async def later() -> str:
            await asyncio.sleep(0)
            return str(await ctx.elicit("Q?", str))

        return str(await asyncio.gather(ctx.step("act", act), later()))

    assert await played(tool, revision) == """[1, "Accepted(value='a')"]"""


@both
async def test_a_clean_up_in_a_step_is_done_at_the_real_end(revision: str) -> None:
    done: list[str] = []

    async def tool(ctx: Context) -> str:
        await ctx.step("reserve", done.append, "reserve")
        try:
            await ctx.elicit("Q?", str)
            done.append("book")
        finally:
            await ctx.step("release", done.append, "release")
        return "done"

    assert await played(tool, revision) == "done"
    assert done == ["reserve", "book", "release"]


@both
async def test_a_clean_up_of_a_plain_function_is_done_at_the_real_end(revision: str) -> None:
    done: list[str] = []

    def tool(ctx: Context) -> str:
        ctx.sync.step("reserve", done.append, "reserve")
        try:
            ctx.sync.elicit("Q?", str)
            done.append("book")
        finally:
            ctx.sync.step("release", done.append, "release")
        return "done"

    assert await played(tool, revision) == "done"
    assert done == ["reserve", "book", "release"]


async def test_a_step_on_the_loop_by_the_plain_way_is_refused() -> None:
    async def tool(ctx: Context) -> str:
        return str(ctx.sync.step("act", lambda: 1))

    async with asyncio.timeout(5):
        text = await played(tool)

    assert "cannot run on the loop" in text


@pytest.mark.parametrize(
    ("name", "words"),
    [(5, "name is str, not int"), ("", "must not be empty"), ("\ud800", "cannot be sent")],
)
async def test_a_step_needs_a_name_that_can_be_recorded(name: Any, words: str) -> None:
    done: list[int] = []

    async def tool(ctx: Context) -> str:
        await ctx.step(name, done.append, 1)
        return str(await ctx.elicit("Q?", str))

    def plain(ctx: Context) -> str:
        ctx.sync.step(name, done.append, 1)
        return str(ctx.sync.elicit("Q?", str))

    assert words in await played(tool)
    assert words in await played(plain)
    assert done == []


class Watched(MemoryStore):
    """A store that tells what was put into it."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[bytes] = []

    async def put(self, key: str, value: bytes, *, seconds: float) -> None:
        await asyncio.sleep(0.01)
        self.values.append(value)
        await super().put(key, value, seconds=seconds)


async def steps_alone(ctx: Context) -> str:
    return str(await ctx.step("act", lambda: 7))


async def steps_and_asks(ctx: Context) -> str:
    number = await ctx.step("act", lambda: 7)
    await ctx.elicit("Q?", str)
    return str(number)


def steps_and_asks_plainly(ctx: Context) -> str:
    number = ctx.sync.step("act", lambda: 7)
    ctx.sync.elicit("Q?", str)
    return str(number)


async def steps_beside_a_question(ctx: Context) -> str:
    async def act() -> int:
        await asyncio.sleep(0.01)
        return 7

    found = await asyncio.gather(ctx.elicit("Q?", str), ctx.step("act", act))
    return str(found[1])


@pytest.mark.parametrize(
    ("tool", "kept"),
    [
        (steps_alone, []),
        (steps_and_asks, [b"7"]),
        (steps_and_asks_plainly, [b"7"]),
        (steps_beside_a_question, [b"7"]),
    ],
)
async def test_what_a_step_gave_is_kept_only_if_the_call_asks(
    tool: Callable[..., Any], kept: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolhaft.server.aes_gcm.find", lambda: None)
    store = Watched()
    server = made(tool, store=store)

    assert (await play(server, "tool", answers={"Q?": "a"})).text == "7"
    assert store.values == kept
