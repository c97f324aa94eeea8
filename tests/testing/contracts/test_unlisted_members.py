"""Members that a schema does not list any more."""

from typing import Any

import pytest
from tests.testing.contracts.changes import in_an_object, told

Json = dict[str, Any]


NUMBER = {"type": "integer"}


CLOSED = {**in_an_object(x=NUMBER), "additionalProperties": False}


@pytest.mark.parametrize(
    "was",
    [
        {**in_an_object(x=NUMBER), "additionalProperties": True},
        {**in_an_object(x=NUMBER), "additionalProperties": {}},
        {**in_an_object(x=NUMBER), "additionalProperties": NUMBER},
        {**in_an_object(x=NUMBER), "patternProperties": {"^x-": NUMBER}},
    ],
    ids=["any", "empty", "numbers", "pattern"],
)
def test_an_object_that_is_closed_is_told_once(was: Json) -> None:
    refused = "tool t, argument a.*: must be left out"
    defined = [
        {**in_an_object(a={"$ref": "#/$defs/D"}), "$defs": {"D": each}} for each in (was, CLOSED)
    ]

    assert told(in_an_object(a=was), in_an_object(a=CLOSED)) == [(True, refused)]
    assert told(*defined) == [(True, refused)]
    assert told(was, CLOSED) == [(True, "tool t, argument *: must be left out")]


def test_an_object_that_opens_is_told_once() -> None:
    was, now = CLOSED, {**in_an_object(x=NUMBER), "additionalProperties": NUMBER}

    assert told(in_an_object(a=was), in_an_object(a=now)) == [
        (False, "tool t, argument a.*: need no longer be left out")
    ]


def test_an_object_that_only_says_so_is_told_as_well() -> None:
    assert told(in_an_object(a=in_an_object(x=NUMBER)), in_an_object(a=CLOSED)) == [
        (False, "tool t, argument a: has no members that are not listed")
    ]


@pytest.mark.parametrize("wrap", ["object", "list", "definition", "open"])
def test_an_argument_that_is_gone_inside_of_another_breaks_clients(wrap: str) -> None:
    def schema(**members: Any) -> Json:
        inner = in_an_object(**{name: {"type": kind} for name, kind in members.items()})
        if wrap == "open":
            inner["additionalProperties"] = True
        if wrap == "list":
            return in_an_object(to={"type": "array", "items": inner})
        if wrap == "definition":
            return {**in_an_object(to={"$ref": "#/$defs/To"}), "$defs": {"To": inner}}
        return in_an_object(to=inner)

    path = "to[].floor" if wrap == "list" else "to.floor"
    changed = told(schema(city="string", floor="integer"), schema(city="string"))
    assert (True, f"tool t, argument {path}: is gone") in changed


def test_an_argument_that_others_speak_of_is_not_gone() -> None:
    text = {"type": "string"}
    before = in_an_object(to=in_an_object(a=text, b=text))
    after = in_an_object(to={**in_an_object(a=text), "patternProperties": {"^b": text}})
    assert not any("is gone" in words for _, words in told(before, after))
