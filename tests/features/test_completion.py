"""What a completer may return: a list, or a `Completion` that says how many more there are."""

from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.asking import outcome

from toolhaft import Complete, Completion, Context, Server
from toolhaft.features.completion import _result


async def completed(value: Any) -> Any:
    server = Server("completing", version="1")

    def suggest(typed: str) -> Any:
        return value

    @server.prompt
    def prompt(word: Annotated[str, Complete(suggest)]) -> str:
        return word

    ref = {"type": "ref/prompt", "name": "prompt"}
    argument = {"name": "word", "value": ""}
    result = await outcome(server, "completion/complete", ref=ref, argument=argument)
    return result.get("completion", result)


async def test_a_total_says_how_many_there_are_beyond_those_that_are_sent() -> None:
    found = await completed(Completion(["a", "b"], total=20_000))

    assert found == {"values": ["a", "b"], "total": 20_000, "hasMore": True}


async def test_there_may_be_more_of_an_unknown_number() -> None:
    assert await completed(Completion(["a"], has_more=True)) == {"values": ["a"], "hasMore": True}


async def test_nothing_is_made_up_where_neither_is_said() -> None:
    assert await completed(Completion(("a", "b"))) == {"values": ["a", "b"]}


async def test_that_there_are_no_more_is_sent_if_it_is_said() -> None:
    assert await completed(Completion(["a"], has_more=False)) == {"values": ["a"], "hasMore": False}


async def test_a_total_that_is_reached_leaves_nothing() -> None:
    assert await completed(Completion(["a"], total=1)) == {"values": ["a"], "total": 1}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (Completion(iter("ab"), total=1), "returned 2 values with total=1; total counts all"),
        ("ab", "must return a list of str or a Completion, not str"),
        (None, "must return a list of str or a Completion, not NoneType"),
    ],
)
async def test_a_bug_of_a_completer_is_logged_with_the_argument_that_it_is_for(
    caplog: pytest.LogCaptureFixture, value: Any, told: str
) -> None:
    error = await completed(value)

    assert error["code"] == -32603
    assert f"prompt 'prompt': the completer of 'word' {told}" in caplog.text


@given(st.integers(0, 300), st.none() | st.integers(0, 300), st.none() | st.booleans())
def test_at_most_100_values_are_sent_and_the_rest_is_never_hidden(
    count: int, beyond: int | None, has_more: bool | None
) -> None:
    total = None if beyond is None else count + beyond

    sent = _result("it", Completion(map(str, range(count)), total, has_more)).completion

    assert sent.values == [str(number) for number in range(min(count, 100))]
    assert count <= 100 or sent.has_more is True


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"values": "one"}, "values must be a list of str, not one str"),
        ({"values": [], "total": "many"}, "total must be an int, not 'many'"),
        ({"values": [], "total": True}, "total must be an int, not True"),
        ({"values": [], "total": -1}, "total must be at least 0, not -1"),
        ({"values": [], "has_more": 1}, "has_more must be True or False, not 1"),
        ({"values": ["a", "b"], "total": 1}, "2 values contradict total=1"),
        ({"values": ["a"], "total": 1, "has_more": True}, "1 values contradict total=1"),
        ({"values": ["a"], "total": 2, "has_more": False}, "1 values contradict total=2"),
    ],
)
def test_what_is_no_completion_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        Completion(**given)


async def test_a_completer_may_take_a_context() -> None:
    server = Server("completing", version="1")

    def suggest(typed: str, given: Any, ctx: Context) -> list[str]:
        return [typed, ctx.meta["example.com/user"], ctx.server.name]

    @server.prompt
    def prompt(word: Annotated[str, Complete(suggest)]) -> str:
        return word

    outer = Server("outer", version="1")
    outer.include(server)
    for each in (server, outer):
        result = await outcome(
            each,
            "completion/complete",
            ref={"type": "ref/prompt", "name": "prompt"},
            argument={"name": "word", "value": "a"},
            _meta={"example.com/user": "ada"},
        )

        assert result["completion"]["values"] == ["a", "ada", "completing"]


def test_a_third_parameter_that_is_no_context_is_refused_or_left_alone() -> None:
    def wrong(typed: str, given: Any, limit: int) -> list[str]:
        return []

    def limited(typed: str, given: Any, limit: int = 3) -> list[str]:
        return [typed] * limit

    with pytest.raises(TypeError, match=r"or \(value, given, ctx\), not"):
        Complete(wrong)
    assert Complete(limited).call("a", {}, None)() == ["a", "a", "a"]
