"""Whether a call that runs again does something again."""

import pytest
from tests.testing.mailing import Mailer, made

from toolhaft import Context
from toolhaft.testing import DoneTwice, acts_once


@pytest.mark.parametrize("act", ["send", "post"])
async def test_what_is_done_before_a_question_is_done_twice(act: str) -> None:
    mailer = Mailer()

    async def tool(ctx: Context) -> str:
        if act == "send":
            mailer.send("ann")
        else:
            await mailer.post("ann", twice=True)
        await ctx.elicit("Sure?", bool)
        return "sent"

    with pytest.raises(DoneTwice, match=rf"tool did this in 2 rounds: {act}\('ann'"):
        await acts_once(made(tool), "tool", answers={"Sure?": True}, acts=[(mailer, act)])


async def test_what_is_done_after_the_last_question_or_in_a_step_is_done_once() -> None:
    mailer = Mailer()

    async def tool(ctx: Context) -> str:
        await ctx.step("first", mailer.post, "ann")
        await ctx.elicit("Sure?", bool)
        mailer.send("bob")
        return "sent"

    acts = [(mailer, "send"), (mailer, "post")]
    played = await acts_once(made(tool), "tool", answers={"Sure?": True}, acts=acts)

    assert played.rounds == 2
    assert mailer.sent == ["ann", "bob"]


async def test_what_is_done_twice_in_one_round_is_done_on_purpose() -> None:
    mailer = Mailer()

    async def tool(ctx: Context) -> str:
        await ctx.elicit("Sure?", bool)
        mailer.send("ann")
        mailer.send("ann")
        return "sent"

    await acts_once(made(tool), "tool", answers={"Sure?": True}, acts=[(mailer, "send")])

    assert mailer.sent == ["ann", "ann"]


async def test_two_steps_may_do_the_same() -> None:
    mailer = Mailer()

    async def tool(ctx: Context) -> str:
        await ctx.step("first", mailer.post, "ann")
        await ctx.step("first, plainly", mailer.send, "ann")
        await ctx.elicit("Sure?", bool)
        await ctx.step("second", mailer.post, "ann")
        await ctx.step("second, plainly", mailer.send, "ann")
        return "sent"

    acts = [(mailer, "send"), (mailer, "post")]
    await acts_once(made(tool), "tool", answers={"Sure?": True}, acts=acts)

    assert mailer.sent == ["ann"] * 4
