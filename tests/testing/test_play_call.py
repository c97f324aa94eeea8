"""The helpers for authors' tests: they play calls as clients do, and find what is wrong."""

from typing import Any

import pytest
from tests.testing.mailing import Mailer, made, name

from toolhaft import Accepted, Cancelled, Context, Declined, InvalidParams, Result, Roots
from toolhaft.testing import Differs, Unanswered, in_both_eras, play


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("Ann", "Ann"),
        (Accepted("Ann"), "Ann"),
        (Declined(), "Declined"),
        (Cancelled(), "Cancelled"),
        ({"action": "decline"}, "Declined"),
    ],
)
async def test_a_question_is_answered_by_what_it_says(
    answer: Any, text: str, revision: str
) -> None:
    played = await play(made(name), "tool", answers={"Name?": answer}, revision=revision)

    assert played.text == text
    assert [each["params"]["message"] for each in played.questions] == ["Name?"]


async def test_questions_are_answered_by_a_function_or_by_their_method() -> None:
    async def tool(ctx: Context) -> str:
        answers = await ctx.ask(where=Roots())
        said = await ctx.sample("Hi")
        return f"{answers['where'][0].uri} {said.text}"

    roots = {"roots": [{"uri": "file:///x"}]}
    said = {"role": "assistant", "content": {"type": "text", "text": "ho"}, "model": "m"}
    answers = {"roots/list": roots, "sampling/createMessage": said}

    for how in (answers, lambda method, _params: answers[method]):
        assert (await in_both_eras(made(tool), "tool", answers=how)).text == "file:///x ho"


async def test_a_question_without_an_answer_fails_the_test() -> None:
    with pytest.raises(Unanswered, match=r"elicitation/create: 'Name\?'"):
        await play(made(name), "tool")


async def test_an_error_is_how_a_call_ended() -> None:
    async def tool() -> str:
        raise InvalidParams("no")

    played = await in_both_eras(made(tool), "tool")

    assert played.error == {"code": -32602, "message": "no"}
    assert played.result is None


async def test_a_tool_that_returns_something_else_in_one_era_is_found() -> None:
    calls: list[int] = []

    async def tool(ctx: Context) -> str:
        calls.append(1)
        await ctx.elicit("Sure?", bool)
        return str(len(calls))

    with pytest.raises(Differs, match="result by requests"):
        await in_both_eras(made(tool), "tool", answers={"Sure?": True})


async def test_a_tool_that_asks_something_else_in_one_era_is_found() -> None:
    async def tool(ctx: Context) -> str:
        await ctx.elicit(f"By {ctx.client.revision}?", bool, key="sure")
        return "done"

    with pytest.raises(Differs, match="questions by requests"):
        await in_both_eras(made(tool), "tool", answers=lambda *_: True)


async def test_what_differs_in_structured_content_is_found() -> None:
    async def tool(ctx: Context) -> Result:
        await ctx.elicit("Sure?", bool)
        return Result(["x"], structured={"round": ctx.round})

    with pytest.raises(Differs, match="structuredContent"):
        await in_both_eras(made(tool), "tool", answers={"Sure?": True})


async def test_what_differs_by_the_revision_alone_is_no_difference() -> None:
    async def tool(ctx: Context) -> list[int]:
        await ctx.elicit("Sure?", bool)
        return [1, 2]

    async def noted(ctx: Context) -> Result:
        return Result(["x"], meta={"com.example/note": 1})

    played = await in_both_eras(made(tool), "tool", answers={"Sure?": True})
    annotated = await in_both_eras(made(noted), "tool")

    assert played.result is not None
    assert played.result["structuredContent"] == [1, 2]
    assert annotated.result is not None
    assert annotated.result["_meta"] == {"com.example/note": 1}


async def test_a_tool_that_does_something_else_in_one_era_is_found() -> None:
    mailer = Mailer()

    async def early(ctx: Context) -> str:
        mailer.send("ann")
        await ctx.elicit("Sure?", bool)
        return "sent"

    async def late(ctx: Context) -> str:
        await ctx.elicit("Sure?", bool)
        mailer.send("ann")
        return "sent"

    acts = [(mailer, "send")]
    with pytest.raises(Differs, match=r"acts by requests: .*send\('ann'\): 1"):
        await in_both_eras(made(early), "tool", answers={"Sure?": True}, acts=acts)
    await in_both_eras(made(late), "tool", answers={"Sure?": True}, acts=acts)
