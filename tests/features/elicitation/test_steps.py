"""Steps, parameters that the user fills, functions that return their questions: in both eras."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import pytest
from tests.asking import NEW, OLD, handled

from toolhaft import (
    Accepted,
    Ask,
    Context,
    Declined,
    Depends,
    Elicit,
    InputRequired,
    McpError,
    Roots,
    Sample,
    Server,
)
from toolhaft.testing import Client, ToolFailed, in_both_eras, play

Size = Literal["small", "large"]


@pytest.fixture(params=["hidden", "kept"], autouse=True)
def hiding(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a cipher, and as if there were none."""
    if request.param == "kept":
        monkeypatch.setattr("toolhaft.server.aes_gcm.find", lambda: None)


@dataclass
class Seat:
    row: int
    letter: str = "A"


def made(function: Callable[..., Any], **options: Any) -> Server:
    server = Server("s", **options)
    server.add_tool(function, name="tool")
    return server


def raw(server: Server, **more: Any) -> Any:
    return handled(server, "tools/call", name="tool", **more)


# Steps


@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_a_step_is_done_once(revision: str) -> None:
    done: list[str] = []

    async def reserve(row: int, *, letter: str) -> Seat:
        done.append("reserved")
        return Seat(row, letter)

    def pay(amount: int) -> int:
        done.append("paid")
        return amount

    async def tool(ctx: Context) -> str:
        seat = await ctx.step("reserve", reserve, 4, letter="B")
        await ctx.elicit("Sure?", bool)
        paid = await ctx.step("pay", pay, 10)
        await ctx.elicit("Really?", bool)
        return f"{seat} {paid} {done}"

    played = await play(
        made(tool), "tool", answers={"Sure?": True, "Really?": True}, revision=revision
    )

    assert played.text == "Seat(row=4, letter='B') 10 ['reserved', 'paid']"
    assert played.rounds == (3 if revision == NEW else 1)


async def test_a_step_of_a_plain_function_is_done_once() -> None:
    done: list[int] = []

    def act(number: int) -> Seat:
        done.append(number)
        return Seat(number)

    def tool(ctx: Context) -> str:
        seats = [ctx.sync.step("act", act, number) for number in range(2)]
        ctx.sync.elicit("Sure?", bool)
        return f"{seats} {done}"

    played = await play(made(tool), "tool", answers={"Sure?": True})

    assert played.text == "[Seat(row=0, letter='A'), Seat(row=1, letter='A')] [0, 1]"


@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_a_step_gives_the_same_the_first_time_as_later(revision: str) -> None:
    seen: list[object] = []

    def act():  # type: ignore[no-untyped-def]
        return {"when": (1, 2), "who": Seat(1)}

    async def tool(ctx: Context) -> str:
        seen.append(await ctx.step("act", act))
        await ctx.elicit("Sure?", bool)
        return "done"

    await play(made(tool), "tool", answers={"Sure?": True}, revision=revision)

    assert seen
    assert all(each == {"when": [1, 2], "who": {"row": 1, "letter": "A"}} for each in seen)


async def test_a_step_that_fails_is_done_again() -> None:
    done: list[str] = []

    def act() -> str:
        done.append("tried")
        if len(done) == 1:
            raise OSError("not yet")
        return "good"

    async def tool(ctx: Context) -> str:
        try:
            await ctx.step("act", act)
        except OSError:
            await ctx.elicit("Again?", bool)
            raise
        await ctx.elicit("Sure?", bool)
        return str(done)

    played = await play(made(tool), "tool", answers={"Sure?": True, "Again?": True})

    assert played.text == "['tried', 'tried']"


async def test_a_step_that_has_begun_is_not_interrupted() -> None:
    done: list[str] = []

    async def act() -> str:
        await asyncio.sleep(0.05)
        done.append("done")
        return "done"

    async def tool(ctx: Context) -> str:
        answers = await asyncio.gather(ctx.step("act", act), ctx.elicit("Sure?", bool))
        return str((answers[0], done))

    played = await play(made(tool), "tool", answers={"Sure?": True})

    assert played.text == "('done', ['done'])"
    assert played.rounds == 2


async def test_a_client_cannot_read_what_a_step_gave() -> None:
    async def tool(ctx: Context) -> str:
        await ctx.step("act", lambda: "a secret of the server")
        return str(await ctx.elicit("Sure?", bool))

    answer = await raw(made(tool))
    state = answer["result"]["requestState"]
    texts = [_decoded(part) for part in state.split(".")]

    assert state.startswith(("v1.", "v2."))
    assert not any(b"a secret" in text for text in texts)


def _decoded(text: str) -> bytes:
    import base64  # noqa: PLC0415

    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


async def test_a_step_that_is_not_kept_any_more_is_not_done_again() -> None:
    done: list[int] = []

    async def tool(ctx: Context) -> str:
        await ctx.step("act", lambda: done.append(1))
        return str(await ctx.elicit("Sure?", bool, key="sure"))

    secret = "a secret of two servers"
    first, second = made(tool, secret=secret), made(tool, secret=secret)
    answer = await raw(first)
    responses = {"sure": {"action": "decline"}}
    again = await raw(
        second, requestState=answer["result"]["requestState"], inputResponses=responses
    )
    hidden = answer["result"]["requestState"].startswith("v2.")

    assert done == [1]
    assert again["result"]["content"][0]["text"] == (
        "Declined()"
        if hidden
        else "the step 'act' was done, and what it gave is not kept any more; do not repeat the "
        "call blindly. With several workers, whoever runs the server has to install "
        "toolhaft[auth], or to give them a store that they share"
    )


async def test_a_step_whose_value_cannot_be_read_again_is_refused() -> None:
    def act() -> complex:
        return 1j

    async def tool(ctx: Context) -> str:
        try:
            return str(await ctx.step("act", act))
        except TypeError as error:
            return str(error)

    assert "step 'act': its value cannot be recorded" in (await play(made(tool), "tool")).text


@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_rounds_are_counted_and_what_is_run_again_is_told(revision: str) -> None:
    seen: list[tuple[int, bool]] = []

    async def tool(ctx: Context) -> str:
        seen.append((ctx.round, ctx.replaying))
        await ctx.elicit("A?", bool)
        seen.append((ctx.round, ctx.replaying))
        return "done"

    await play(made(tool), "tool", answers={"A?": True}, revision=revision)

    assert seen == ([(1, False), (2, True), (2, False)] if revision == NEW else [(1, False)] * 2)


# Parameters that the user fills


async def test_parameters_are_asked_for_together_before_the_function() -> None:
    async def tool(
        count: int,
        size: Annotated[Size, Ask("Which size?")],
        seat: Annotated[Seat, Ask("Which seat?")],
        note: Annotated[str, Ask("A note?")] = "none",
    ) -> str:
        return f"{count} {size} {seat} {note}"

    server = made(tool)
    answers = {"Which size?": "small", "Which seat?": Seat(3), "A note?": Declined()}
    played = await in_both_eras(server, "tool", {"count": 2}, answers=answers)
    async with Client(server) as client:
        shown = await client.tool("tool")

    assert played.text == "2 small Seat(row=3, letter='A') none"
    assert (played.rounds, len(played.questions)) == (2, 3)
    assert list(shown.input_schema["properties"]) == ["count"]


@pytest.mark.parametrize("bounds", [{}, {"thread": False}, {"timeout": 60}])
async def test_plain_functions_and_their_dependencies_get_them_too(bounds: Any) -> None:
    def doubled(size: str) -> str:
        return size * 2

    server = Server("s")

    @server.tool(**bounds)
    def tool(size: Annotated[str, Ask("Size?")]) -> str:
        return size

    assert (await in_both_eras(server, "tool", answers={"Size?": "x"})).text == "x"


async def test_a_parameter_that_is_not_answered_fails_the_call() -> None:
    async def tool(size: Annotated[Size, Ask("Which size?")]) -> str:
        return size

    played = await in_both_eras(made(tool), "tool", answers={"Which size?": Declined()})

    assert played.result is not None
    assert played.result["isError"] is True
    assert played.text == "this needs an answer for 'size', and got none"


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_a_parameter_has_its_default_if_the_client_cannot_be_asked(
    revision: str, plain: bool
) -> None:
    async def tool(size: Annotated[Size, Ask("Which size?")] = "small") -> str:
        return size

    def on_a_thread(size: Annotated[Size, Ask("Which size?")] = "small") -> str:
        return size

    async def needs(size: Annotated[Size, Ask("Which size?")]) -> str:
        return size

    async with Client(made(on_a_thread if plain else tool), revision, capabilities={}) as client:
        assert await client.call("tool") == "small"
    async with Client(made(needs), revision, capabilities={}) as client:
        with pytest.raises((McpError, ToolFailed), match=r"elicitation\.form"):
            await client.call("tool")


def test_a_parameter_that_cannot_be_asked_for_is_refused() -> None:
    def tool(seats: Annotated[list[Seat], Ask("Which seats?")]) -> str:
        return str(seats)

    def dependency(size: Annotated[str, Ask("Size?")]) -> str:
        return size

    def depends(size: Annotated[str, Depends(dependency)]) -> str:
        return size

    with pytest.raises(TypeError, match="tool 'tool': parameter 'seats'"):
        made(tool)
    with pytest.raises(TypeError, match="is for the parameters of the function itself"):
        made(depends)


# Functions that return their questions


def test_there_has_to_be_a_question_or_a_state() -> None:
    with pytest.raises(ValueError, match="needs a question, or a state"):
        InputRequired({})


async def wait_twice(ctx: Context) -> str | InputRequired:
    tries = (ctx.state or 0) + 1
    return f"done after {tries}" if tries == 3 else InputRequired(state=tries)


def wait_twice_plainly(ctx: Context) -> str | InputRequired:
    tries = (ctx.state or 0) + 1
    return f"done after {tries}" if tries == 3 else InputRequired(state=tries)


@pytest.mark.parametrize("tool", [wait_twice, wait_twice_plainly])
@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_with_a_state_alone_a_function_is_called_again(revision: str, tool: Any) -> None:
    server = Server("s")
    server.tool(name="tool")(tool)

    async with Client(server, revision, capabilities={}) as client:
        assert await client.call("tool") == "done after 3"


async def test_a_state_alone_is_sent_without_questions() -> None:
    async with Client(made(wait_twice), NEW, capabilities={}) as client:
        message = client.requests.request("tools/call", {"name": "tool", "arguments": {}})
        result = (await client.raw(message))["result"]

    assert result["resultType"] == "input_required"
    assert "inputRequests" not in result
    assert isinstance(result["requestState"], str)


@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_a_function_that_only_ever_wants_to_be_called_again_fails(revision: str) -> None:
    async def tool(ctx: Context) -> str | InputRequired:
        return InputRequired(state="again")

    async with Client(made(tool), revision, capabilities={}) as client:
        with pytest.raises(ToolFailed, match="do not come back only to wait"):
            await client.call("tool")


async def test_a_parameter_has_its_default_if_its_form_is_beyond_the_revision() -> None:
    async def tool(sizes: Annotated[list[Size], Ask("Which sizes?")] = ["small"]) -> str:  # noqa: B006
        return " ".join(sizes)

    async with Client(made(tool), "2025-06-18", answers=lambda *_: 1 / 0) as client:
        assert await client.call("tool") == "small"


async def order(ctx: Context) -> str | InputRequired:
    called.append(dict(ctx.answers))
    if "size" not in ctx.answers:
        return InputRequired({"size": Elicit("Which size?", Size)}, state={"calls": 1})
    if "seat" not in ctx.answers:
        questions = {"seat": Elicit("Which seat?", Seat), "where": Roots()}
        return InputRequired(questions, state={"calls": ctx.state["calls"] + 1})
    return f"{ctx.answers['size']} {ctx.answers['seat']} {len(ctx.answers['where'])} {ctx.state}"


def order_plainly(ctx: Context) -> str | InputRequired:
    coroutine = order(ctx)
    try:
        coroutine.send(None)
    except StopIteration as stop:
        value: str | InputRequired = stop.value
        return value
    raise AssertionError


called: list[dict[str, Any]] = []


@pytest.fixture(autouse=True)
def forget() -> None:
    called.clear()


@pytest.mark.parametrize("function", [order, order_plainly])
async def test_a_function_is_called_once_for_each_round(function: Callable[..., Any]) -> None:
    server = made(function)
    answers = {"Which size?": "small", "Which seat?": Seat(3), "roots/list": {"roots": []}}

    played = await in_both_eras(server, "tool", answers=answers)

    assert played.text == (
        "Accepted(value='small') Accepted(value={'row': 3, 'letter': 'A'}) 0 {'calls': 2}"
    )
    assert played.rounds == 3
    assert [sorted(each) for each in called] == [[], ["size"], ["seat", "size", "where"]] * 2


async def test_what_is_missing_or_does_not_fit_is_asked_for_without_calling() -> None:
    server = made(order)
    first = (await raw(server))["result"]
    missing = (await raw(server, requestState=first["requestState"]))["result"]
    unfit = {"size": {"action": "accept", "content": {"value": "huge"}}}
    wrong = await raw(server, requestState=missing["requestState"], inputResponses=unfit)
    fit = {"size": {"action": "accept", "content": {"value": "large"}}}
    right = await raw(server, requestState=wrong["result"]["requestState"], inputResponses=fit)

    assert first["inputRequests"] == missing["inputRequests"] == wrong["result"]["inputRequests"]
    assert list(right["result"]["inputRequests"]) == ["seat", "where"]
    assert called == [{}, {"size": Accepted("large")}]


async def test_answers_that_nobody_asked_for_are_used() -> None:
    given = {"size": {"action": "accept", "content": {"value": "large"}}}

    answer = await raw(made(order), inputResponses=given)

    assert list(answer["result"]["inputRequests"]) == ["seat", "where"]


async def test_the_same_may_be_asked_once_more() -> None:
    async def tool(ctx: Context) -> str | InputRequired:
        answer = ctx.answers.get("number")
        if not isinstance(answer, Accepted) or answer.value < 3:
            return InputRequired({"number": Elicit("Number?", int)}, state=ctx.round)
        return f"{answer.value} in round {ctx.round}, after {ctx.state}"

    counts = {NEW: iter((1, 2, 3)), OLD: iter((1, 2, 3))}
    texts = []
    for revision, numbers in counts.items():
        played = await play(
            made(tool), "tool", answers=lambda *_, n=numbers: next(n), revision=revision
        )
        texts.append(played.text)

    assert texts == ["3 in round 4, after 3"] * 2


async def test_prompts_and_resources_return_questions_too() -> None:
    server = Server("s")

    @server.prompt
    def about(ctx: Context) -> str | InputRequired:
        if "model" not in ctx.answers:
            return InputRequired({"model": Sample("Hi?")})
        return f"About {ctx.answers['model'].text}"

    async with Client(server, answers=["bees"]) as client:
        assert (await client.prompt("about")).texts == [("user", "About bees")]


async def test_a_function_that_does_not_say_that_it_asks_fails(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def tool(ctx: Context):  # type: ignore[no-untyped-def]
        return InputRequired({"a": Roots()})

    played = await play(made(tool), "tool")

    assert played.result is not None
    assert played.result["isError"] is True
    assert "-> str | InputRequired" in caplog.text


def test_values_of_pages_are_not_shared() -> None:
    from toolhaft.protocol.elicitation.rounds import Journal  # noqa: PLC0415

    first = Journal()
    first.steps["a"] = msgspec.Raw(b"1")

    assert Journal().steps == {}
