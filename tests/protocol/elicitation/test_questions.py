"""Questions as values: what they look like on the wire, and how their answers are read."""

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from toolhaft import (
    Accepted,
    Ask,
    Cancelled,
    Context,
    Declined,
    Elicit,
    ElicitUrl,
    Image,
    InputRequired,
    Link,
    McpError,
    Root,
    Roots,
    Sample,
    Sampled,
    SampleTool,
    Server,
    ToolAnswer,
    ToolUse,
    assistant,
    user,
)
from toolhaft.protocol.elicitation.questions import Unfit, declares, required
from toolhaft.testing import Client, ToolFailed, in_both_eras, play
from toolhaft.types.content import TextContent


def sent(asked: Any) -> Any:
    """The params of a question, as a client reads them."""
    return msgspec.json.decode(msgspec.json.encode(asked.question.params))


def read(asked: Any, answer: Any) -> Any:
    return asked.question.read(msgspec.json.encode(answer))


PNG = b"\x89PNG\r\n\x1a\n"


def test_a_prompt_is_what_the_user_says() -> None:
    assert sent(Sample("Hi")) == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}],
        "maxTokens": 1000,
    }


def test_all_that_can_be_said_to_a_model() -> None:
    asked = Sample(
        ["Hi", assistant("Ho"), user(Image(PNG))],
        max_tokens=5,
        system="Be brief.",
        models=["small", "large"],
        cost=0.5,
        speed=1,
        intelligence=0,
        temperature=0.2,
        stop=["."],
        metadata={"x": 1},
    )

    assert sent(asked) == {
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "Hi"}},
            {"role": "assistant", "content": {"type": "text", "text": "Ho"}},
            {
                "role": "user",
                "content": {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
            },
        ],
        "maxTokens": 5,
        "systemPrompt": "Be brief.",
        "modelPreferences": {
            "hints": [{"name": "small"}, {"name": "large"}],
            "costPriority": 0.5,
            "speedPriority": 1,
            "intelligencePriority": 0,
        },
        "temperature": 0.2,
        "stopSequences": ["."],
        "metadata": {"x": 1},
    }
    assert asked.question.requires == ("sampling",)


@dataclass
class Query:
    city: str


def test_a_model_may_be_given_tools() -> None:
    tools = [SampleTool("weather", "Tell the weather.", Query), SampleTool("raw", "Raw.", {"a": 1})]

    asked = Sample("Hi", tools=tools, tool_choice="required")

    assert asked.question.requires == ("sampling", "sampling.tools")
    assert sent(asked)["toolChoice"] == {"mode": "required"}
    assert sent(asked)["tools"] == [
        {
            "name": "weather",
            "description": "Tell the weather.",
            "inputSchema": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
                "additionalProperties": False,
            },
        },
        {"name": "raw", "description": "Raw.", "inputSchema": {"a": 1}},
    ]


def test_answers_of_tools_follow_the_message_that_wanted_them_in_one() -> None:
    uses = [ToolUse("1", "weather", {"city": "Ulm"}), ToolUse("2", "weather", {"city": "Bonn"})]
    said = Sampled(role="assistant", content=[*uses], model="m")
    messages = sent(
        Sample(["Hi", said, ToolAnswer(uses[0], "sun"), ToolAnswer(uses[1], ["?"], error=True)])
    )["messages"]

    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[1]["content"] == [
        {"type": "tool_use", "id": "1", "name": "weather", "input": {"city": "Ulm"}},
        {"type": "tool_use", "id": "2", "name": "weather", "input": {"city": "Bonn"}},
    ]
    assert messages[2]["content"] == [
        {"type": "tool_result", "toolUseId": "1", "content": [{"type": "text", "text": "sun"}]},
        {
            "type": "tool_result",
            "toolUseId": "2",
            "content": [{"type": "text", "text": "?"}],
            "isError": True,
        },
    ]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Sample([]), ValueError, "at least one message"),
        (lambda: Sample([user(Link("file:///x", name="x"))]), TypeError, "text, pictures"),
        (lambda: Elicit(3, str), TypeError, "message is str"),  # type: ignore[call-overload]
        (lambda: ElicitUrl("Go", "ftp://x"), ValueError, "begins with https://"),
        (lambda: Ask(3), TypeError, "message is str"),  # type: ignore[arg-type]
        (
            lambda: Sample("?", tool_choice="any"),
            ValueError,
            "tool_choice is auto, required or none",
        ),  # type: ignore[arg-type]
        (lambda: Sample("?", max_tokens=0), ValueError, "max_tokens is 1 or more"),
        (lambda: Sample("?", max_tokens="5"), TypeError, "max_tokens is int, not str"),  # type: ignore[arg-type]
        (lambda: Sample("?", temperature="hot"), ValueError, "temperature is a number"),  # type: ignore[arg-type]
        (lambda: Sample("?", temperature=float("nan")), ValueError, "temperature is a number"),
        (lambda: InputRequired({"a": 3}), TypeError, "takes a question"),  # type: ignore[dict-item]
        (lambda: InputRequired([Roots()]), TypeError, "takes questions by name"),  # type: ignore[arg-type]
        (lambda: Sample(3), TypeError, "prompt is a str or a list of messages, not 3"),  # type: ignore[arg-type]
        (lambda: Sample([3]), TypeError, "each message is Message, not int"),  # type: ignore[list-item]
        (lambda: Sample("?", models="claude"), TypeError, "models is a list of str, not str"),
        (lambda: Sample("?", stop="\n"), TypeError, "stop is a list of str, not str"),
        (lambda: Sample("?", tools=[3]), TypeError, "each of tools is SampleTool, not int"),  # type: ignore[list-item]
        (lambda: Sample("?", cost=5), ValueError, r"cost is from 0 \(least\) to 1 \(most\), not 5"),
        (lambda: ToolAnswer(3, "x"), TypeError, "use is ToolUse, not int"),  # type: ignore[arg-type]
        (
            lambda: ToolAnswer(ToolUse("1", "add", {}), {"sum": 3}),  # type: ignore[arg-type]
            TypeError,
            "a message is text, an Image or the like",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_where_it_is_made(
    make: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        make()


TEXT = {"type": "text", "text": "yes"}
SAID = {"role": "assistant", "content": TEXT, "model": "m", "stopReason": "endTurn"}


def test_what_a_model_has_written() -> None:
    said = read(Sample("Hi"), SAID)
    use = {"type": "tool_use", "id": "1", "name": "weather", "input": {}}
    several = read(Sample("Hi"), {**SAID, "content": [TEXT, use, TEXT], "stopReason": None})

    assert (said.text, said.model, said.stop_reason, said.role) == (
        "yes",
        "m",
        "endTurn",
        "assistant",
    )
    assert (several.text, several.stop_reason) == ("yesyes", None)
    assert [each.name for each in several.tool_uses] == ["weather"]


def test_what_a_user_says() -> None:
    asked = Elicit("Name?", str)

    assert read(asked, {"action": "accept", "content": {"value": "x"}}) == Accepted("x")
    assert read(asked, {"action": "decline", "content": {"value": "x"}}) == Declined()
    assert read(asked, {"action": "cancel", "content": None}) == Cancelled()
    assert read(ElicitUrl("Go", "https://x"), {"action": "accept"}) == Accepted(None)
    assert read(ElicitUrl("Go", "https://x"), {"action": "cancel"}) == Cancelled()
    assert read(Roots(), {"roots": [{"uri": "file:///x", "name": "X", "_meta": {}}]}) == [
        Root("file:///x", "X")
    ]


@pytest.mark.parametrize(
    "asked", [Elicit("?", str), ElicitUrl("?", "https://x"), Roots(), Sample("?")]
)
@pytest.mark.parametrize(
    "answer", [{}, {"action": 3}, {"roots": 3}, {**SAID, "content": {"type": "film"}}]
)
def test_what_is_no_answer_does_not_fit(asked: Any, answer: Any) -> None:
    with pytest.raises(Unfit):
        read(asked, answer)


@pytest.mark.parametrize("asked", [Elicit("?", str), ElicitUrl("?", "https://x")])
def test_an_action_that_no_revision_knows_counts_as_neither_yes_nor_no(asked: Any) -> None:
    assert read(asked, {"action": "perhaps", "content": {"value": "x"}}) == Cancelled()


@pytest.mark.parametrize(
    ("asked", "answer", "words"),
    [
        (Elicit("?", str), {}, "the answer lacks 'action'"),
        (Elicit("?", str), {"action": 3}, "the answer.action: expected a string, got an integer"),
        (Elicit("?", str), [], "the answer: expected an object, got an array"),
        (Roots(), {"roots": 3}, "the answer.roots: expected an array, got an integer"),
        (Roots(), {"roots": [{}]}, "the answer.roots[0] lacks 'uri'"),
        (Sample("?"), {"role": "user"}, "the answer lacks 'content'"),
        (
            Sample("?"),
            {**SAID, "content": {"type": "film"}},
            "the answer.content.type: 'film' is not known",
        ),
        (Sample("?"), {**SAID, "role": "tool"}, "the answer.role: 'tool' is not known"),
    ],
)
def test_what_is_wrong_with_an_answer_is_told_in_our_words(
    asked: Any, answer: Any, words: str
) -> None:
    with pytest.raises(Unfit) as error:
        read(asked, answer)

    assert str(error.value).startswith(words)


@pytest.mark.parametrize(
    ("capabilities", "path", "declared"),
    [
        ({}, "elicitation.form", False),
        ({"elicitation": {}}, "elicitation.form", True),
        ({"elicitation": {"form": {}}}, "elicitation.form", True),
        ({"elicitation": {"url": {}}}, "elicitation.form", False),
        ({"elicitation": {"url": {}, "form": {}}}, "elicitation.form", True),
        ({"elicitation": {}}, "elicitation.url", False),
        ({"elicitation": {"url": {}}}, "elicitation.url", True),
        ({"elicitation": True}, "elicitation.form", False),
        ({"elicitation": {}}, "elicitation", True),
        ({"sampling": {}}, "sampling.tools", False),
        ({"sampling": {"tools": {}}}, "sampling.tools", True),
        ({"roots": {}}, "roots", True),
    ],
)
def test_what_a_client_declares(capabilities: Any, path: str, declared: bool) -> None:
    assert declares(capabilities, path) is declared


def test_what_is_required_looks_like_what_is_declared() -> None:
    assert required(["sampling", "sampling.tools", "elicitation.url"]) == {
        "sampling": {"tools": {}},
        "elicitation": {"url": {}},
    }


async def test_a_model_with_tools_is_asked_until_it_is_done() -> None:
    server = Server("s")
    weather = SampleTool("weather", "Tell the weather.", Query)

    @server.tool
    async def report(ctx: Context) -> str:
        messages: list[Any] = ["How is Ulm?"]
        while (said := await ctx.sample(messages, tools=[weather])).tool_uses:
            messages += [said, *(ToolAnswer(use, "sun") for use in said.tool_uses)]
        return said.text

    def answer(_method: str, params: dict[str, Any]) -> Any:
        if len(params["messages"]) == 1:
            use = {"type": "tool_use", "id": "1", "name": "weather", "input": {"city": "Ulm"}}
            return {**SAID, "content": use}
        return {**SAID, "content": {"type": "text", "text": "Sunny."}}

    assert (await in_both_eras(server, "report", answers=answer)).text == "Sunny."


def test_a_model_that_has_written_nothing_is_left_out() -> None:
    said = Sampled(role="assistant", content=[], model="m")

    messages = sent(Sample(["Hi", said, "Ho"]))["messages"]

    assert [message["role"] for message in messages] == ["user", "user"]


def test_several_blocks_without_tools_are_several_messages() -> None:
    content: list[Any] = [TextContent("a"), TextContent("b")]

    messages = sent(Sample([Sampled(role="assistant", content=content, model="m")]))["messages"]

    assert messages == [
        {"role": "assistant", "content": {"type": "text", "text": "a"}},
        {"role": "assistant", "content": {"type": "text", "text": "b"}},
    ]


def wanting(*ids: str) -> Sampled:
    uses: list[Any] = [ToolUse(id_, "weather", {}) for id_ in ids]
    return Sampled(role="assistant", content=uses, model="m")


def answering(id_: str) -> ToolAnswer:
    return ToolAnswer(ToolUse(id_, "weather", {}), "sun")


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        (["Hi", wanting("1")], r"\(id '1'\), and the next message does not answer"),
        (["Hi", wanting("1"), "Ho", answering("1")], "the next message does not answer"),
        (["Hi", wanting("1", "2"), answering("1")], r"\(id '2'\)"),
        (["Hi", answering("1")], "'1' that the message before does not ask for"),
        (["Hi", wanting("1"), answering("1"), answering("1")], "is there twice"),
        (["Hi", wanting("1"), answering("1"), answering("2")], "'2' that the message before"),
    ],
)
def test_what_a_model_wants_of_tools_is_answered_in_the_next_message(
    messages: Any, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        Sample(messages)


def test_a_model_is_told_of_tools_by_clients_that_know_them() -> None:
    asked = Sample(["Hi", wanting("1"), answering("1")])

    assert asked.question.requires == ("sampling", "sampling.tools")


@pytest.mark.parametrize(
    ("revision", "capabilities"),
    [
        ("2025-06-18", {"sampling": {"tools": {}}}),
        ("2025-11-25", {"sampling": {}}),
        ("2026-07-28", {"sampling": {}}),
    ],
)
async def test_a_client_without_tools_is_not_sent_what_they_gave(
    revision: str, capabilities: Any
) -> None:
    server = Server("s")

    @server.tool
    async def report(ctx: Context) -> str:
        return (await ctx.sample(["Hi", wanting("1"), answering("1")])).text

    async with Client(
        server, revision, capabilities=capabilities, answers=lambda *_: 1 / 0
    ) as client:
        with pytest.raises((McpError, ToolFailed), match=r"sampling\.tools"):
            await client.call("report")


async def test_only_questions_can_be_asked() -> None:
    server = Server("s", errors="show")

    @server.tool
    async def wrong(ctx: Context) -> str:
        question: Any = "Name?"
        return str(await ctx.ask(name=question))

    assert "ask(name=…) takes a question" in (await play(server, "wrong")).text
