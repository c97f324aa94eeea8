"""The helpers for authors' tests: they play calls as clients do, and find what is wrong."""

from typing import Any

import pytest

from toolhaft import Accepted, Cancelled, Context, Declined, InvalidParams, Result, Roots, Server
from toolhaft.testing import Differs, DoneTwice, Unanswered, acts_once, in_both_eras, play


class Mailer:
    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, to: str) -> str:
        self.sent.append(to)
        return to

    async def post(self, to: str, *, twice: bool = False) -> str:
        self.sent.append(to)
        return to


def made(function: Any) -> Server:
    server = Server("s")
    server.add_tool(function, name="tool")
    return server


async def name(ctx: Context) -> str:
    answer = await ctx.elicit("Name?", str)
    return answer.value if isinstance(answer, Accepted) else type(answer).__name__


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


class Mail:
    """Without words of its own."""

    def __init__(self, to: str) -> None:
        self.to = to


class Post:
    @staticmethod
    def send(to: Any) -> Any:
        return to

    @classmethod
    def pack(cls, to: Any) -> Any:
        return cls, to

    def stamp(self, to: Any) -> Any:
        return self, to


class Express(Post):
    pass


async def test_the_same_act_is_found_whatever_its_arguments_look_like() -> None:
    kept: list[Mail] = []

    async def tool(ctx: Context) -> str:
        kept.append(Mail("ann"))
        Post.send(kept[-1])
        await ctx.elicit("Sure?", bool)
        return "sent"

    with pytest.raises(DoneTwice, match="send"):
        await acts_once(made(tool), "tool", answers={"Sure?": True}, acts=[(Post, "send")])


async def test_different_acts_are_told_apart_whatever_their_arguments_look_like() -> None:
    async def tool(ctx: Context) -> str:
        if ctx.round == 1:
            Post.send(Mail("ann"))
        await ctx.elicit("Sure?", bool)
        Post.send(Mail("bob"))
        return "sent"

    await acts_once(made(tool), "tool", answers={"Sure?": True}, acts=[(Post, "send")])


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


@pytest.mark.parametrize("owner", [Post, Express])
@pytest.mark.parametrize("name", ["send", "pack", "stamp"])
async def test_what_was_watched_is_as_it_was_before(owner: Any, name: str) -> None:
    before = dict(vars(owner))
    told: list[Any] = []

    async def tool() -> str:
        told.append(getattr(owner(), name)(5))
        return "sent"

    await acts_once(made(tool), "tool", acts=[(owner, name)])

    assert dict(vars(owner)) == before
    [given] = told
    assert given == 5 if name == "send" else given[1] == 5
    if name == "pack":
        assert given[0] is owner


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
