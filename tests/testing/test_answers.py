"""Answers that are ready for a server's questions, and those that are none. Rows: E-65."""

from typing import Any

import pytest
from tests.testing.offering import ASKING, ERAS, REVISIONS, make

from toolhaft import (
    Accepted,
    Cancelled,
    Context,
    Declined,
    Elicit,
    McpError,
    Roots,
    Sampled,
    Server,
)
from toolhaft.testing import Client, ToolFailed, UnfitAnswer, UnusedAnswers
from toolhaft.testing.answers import Script

every_asking = pytest.mark.parametrize("revision", ASKING)
every_era = pytest.mark.parametrize("revision", ERAS)
before_forms = pytest.mark.parametrize("revision", REVISIONS[3:])

SCHEMA = (
    '{"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]}; '
    'what is wrong on purpose is given whole: {"action": "accept", "content": …}'
)
TO_ORDER = "elicitation/create: 'Which size?' does not fit: "
TO_SAMPLE = (
    "sampling/createMessage: 'A word?' does not fit: expected a text, blocks of content, a "
    "Sampled, or an McpError as a refusal"
)
TO_ROOTS = (
    "roots/list: 'roots/list' does not fit: expected a list of URIs, or an McpError as a refusal"
)
SAID = Sampled(role="assistant", content=[], model="m")


@every_asking
@pytest.mark.parametrize(
    ("tool", "answers", "told"),
    [
        (
            "order",
            {"Which size?": "five"},
            f"""'five' to {TO_ORDER}content.value: expected an integer, got "five"; """
            f"the server's schema is {SCHEMA}",
        ),
        (
            "order",
            [{"sz": 5}],
            f"{{'sz': 5}} to {TO_ORDER}content.value: missing; the server's schema is {SCHEMA}",
        ),
        (
            "order",
            lambda method, params: Accepted(None),
            f"None to {TO_ORDER}content.value: expected an integer, got null; "
            f"the server's schema is {SCHEMA}",
        ),
        ("order", [SAID], f"{SAID} to {TO_ORDER}expected a value, Declined() or Cancelled()"),
        (
            "order",
            [{1: print}],
            f"{{1: {print}}} to {TO_ORDER}it cannot be sent as JSON: Encoding objects of type "
            "builtin_function_or_method is unsupported",
        ),
        ("think", [5], f"5 to {TO_SAMPLE}"),
        ("think", [["word"]], f"['word'] to {TO_SAMPLE}"),
        ("think", [Declined()], f"Declined() to {TO_SAMPLE}"),
        ("think", {"A word?": "w", "roots/list": "file:///x"}, f"'file:///x' to {TO_ROOTS}"),
        ("think", {"A word?": "w", "roots/list": Cancelled()}, f"Cancelled() to {TO_ROOTS}"),
    ],
    ids=["type", "name", "null", "of a model", "no JSON", "5", "list", "declined", "text", "no"],
)
async def test_an_answer_that_does_not_fit_is_named(
    revision: str, tool: str, answers: Any, told: str
) -> None:
    async with Client(make(), revision, answers=answers) as client:
        with pytest.raises(UnfitAnswer) as unfit:
            await client.call(tool)

    assert str(unfit.value) == f"the answer {told}"


@every_era
async def test_an_answer_may_be_wrong_on_purpose(revision: str) -> None:
    wrong = {"action": "accept", "content": {"value": "five"}}
    async with Client(make(), revision, answers={"Which size?": wrong}) as client:
        with pytest.raises(ToolFailed, match="expected an integer, got"):
            await client.call("order")
        assert len(client.questions) == 3


DEEP: dict[str, Any] = {"type": "object"}
for _ in range(2000):
    DEEP = {"type": "object", "properties": {"value": DEEP}}


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"type": "object", "properties": {"size": {"type": "weird"}}}, "size"),
        ({"type": "object", "properties": {"size": {"$ref": "#/$defs/Size"}}}, "size"),
        ({"type": "object", "properties": {"size": {"type": "integer", "minimum": "1"}}}, "size"),
        ({"type": "object", "properties": {"size": None}}, "size"),
        ({"type": "object", "properties": None}, "value"),
        ({"type": "object", "properties": ["size"]}, "value"),
        (None, "value"),
        ([], "value"),
        (DEEP, "value"),
    ],
    ids=["type", "ref", "minimum", "property", "properties", "list", "null", "no object", "deep"],
)
async def test_an_answer_to_a_schema_that_is_none_is_sent_as_it_is(schema: Any, name: str) -> None:
    params = {"message": "Which size?", "requestedSchema": schema}

    sent = await Script([5]).answer("elicitation/create", params)

    assert sent == {"action": "accept", "content": {name: 5}}


async def test_a_schema_without_a_type_is_checked_all_the_same() -> None:
    schema = {"properties": {"size": {"type": "integer"}}}
    params = {"message": "Which size?", "requestedSchema": schema}

    with pytest.raises(UnfitAnswer, match=r"content\.size: expected an integer"):
        await Script(["five"]).answer("elicitation/create", params)


def test_a_text_is_no_list_of_answers() -> None:
    with pytest.raises(TypeError, match=r"answers='five' is a text; give a list .*: \['five'\]"):
        Client(make(), answers="five")


@before_forms
async def test_where_nobody_can_be_asked_the_test_is_told_so(revision: str) -> None:
    hint = (
        f"revision {revision} has no elicitation; if these answers are those of a user, let this "
        "test speak 2025-06-18 or later"
    )
    with pytest.raises(ToolFailed) as failure:
        async with Client(make(), revision, answers=[5]) as client:
            await client.call("order")
    with pytest.raises(UnusedAnswers) as unused:
        async with Client(make(), revision, answers=[5]):
            pass

    needs = "this needs a client with the capability elicitation.form"
    assert str(failure.value) == f"order: {needs}, which revision {revision} does not have"
    assert failure.value.__notes__ == [hint]
    assert unused.value.__notes__ == [hint]


WORD = {"role": "assistant", "content": {"type": "text", "text": "w"}, "model": "m"}


@before_forms
@pytest.mark.parametrize(
    "answers",
    [
        {"sampling/createMessage": "w"},
        {"roots/list": ["file:///x"]},
        {"A word?": SAID},
        [SAID],
        [WORD],
        [{"roots": []}],
    ],
    ids=["sampling", "roots", "said", "first said", "whole", "whole roots"],
)
async def test_answers_that_are_not_a_user_s_say_nothing_of_elicitation(
    revision: str, answers: Any
) -> None:
    with pytest.raises(UnusedAnswers) as unused:
        async with Client(make(), revision, answers=answers):
            pass
    with pytest.raises(ToolFailed) as failure:
        async with Client(make(), revision, answers=answers) as client:
            await client.call("order")

    assert not hasattr(unused.value, "__notes__")
    assert not hasattr(failure.value, "__notes__")


@before_forms
async def test_what_fails_for_other_reasons_says_nothing_of_elicitation(revision: str) -> None:
    with pytest.raises(AssertionError, match="two is not one") as plain:
        async with Client(make(), revision, answers=[5]):
            raise AssertionError("two is not one")
    with pytest.raises(ToolFailed, match="missing") as failed:
        async with Client(make(), revision, answers=[5]) as client:
            await client.call("add")
    with pytest.raises(McpError) as refused:
        async with Client(make(), revision, answers=[5]) as client:
            await client.call("nonesuch")

    for each in (plain, failed, refused):
        assert not hasattr(each.value, "__notes__")


async def test_what_a_client_lacks_is_told_with_its_reason() -> None:
    server = Server("asking")

    @server.tool
    async def asks(ctx: Context) -> None:
        await ctx.ask(size=Elicit("Which size?", int), where=Roots())

    told: dict[str, str] = {}
    for revision in ("2024-11-05", "2025-06-18"):
        async with Client(server, revision, capabilities={}) as client:
            told[revision] = (await client.call_raw("asks")).text

    needs = "this needs a client with the capability elicitation.form"
    assert told == {
        "2024-11-05": f"{needs}, which revision 2024-11-05 does not have, and roots, which this "
        "client did not declare",
        "2025-06-18": f"{needs} and roots, which this client did not declare",
    }


@every_era
async def test_where_somebody_can_be_asked_the_server_is_to_blame(revision: str) -> None:
    with pytest.raises(UnusedAnswers) as unused:
        async with Client(make(), revision, answers=[5]):
            pass

    assert not hasattr(unused.value, "__notes__")
