"""Each change of a contract is told and judged."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.testing.contracts.changes import changed

Json = dict[str, Any]


def properties(contract: Json, tool: str = "find") -> Json:
    found: Json = contract["tools"][tool]["inputSchema"]["properties"]
    return found


def set_in(*way: str, to: Any) -> Callable[[Json], None]:
    def change(contract: Json) -> None:
        for key in way[:-1]:
            contract = contract[key]
        contract[way[-1]] = to

    return change


def without(*way: str) -> Callable[[Json], None]:
    def change(contract: Json) -> None:
        for key in way[:-1]:
            contract = contract[key]
        del contract[way[-1]]

    return change


FIND = ("tools", "find", "inputSchema")


RESULT = ("tools", "find", "outputSchema")


TEXT = {"type": "string"}


CHANGES: dict[str, tuple[Callable[[Json], None], str, bool]] = {
    "no prompt": (without("prompts", "advice"), "prompt advice: is gone", True),
    "no resource": (without("resources", "shop://prices"), "resource shop://prices: is gone", True),
    "no template": (
        without("templates", "shop://article/{number}"),
        "template shop://article/{number}: is gone",
        True,
    ),
    "no capability": (without("capabilities", "logging"), "capability logging: is gone", True),
    "less of a capability": (
        set_in("capabilities", "resources", "subscribe", to=False),
        "capability resources.subscribe: is gone",
        True,
    ),
    "a capability": (set_in("capabilities", "new", to={}), "capability new: is new", False),
    "an optional argument": (
        set_in(*FIND, "properties", "fast", to={"type": "boolean"}),
        "tool find, argument fast: is new",
        False,
    ),
    "an argument gone": (
        without(*FIND, "properties", "limit"),
        "tool find, argument limit: is gone",
        True,
    ),
    "a required argument": (
        set_in(*FIND, "required", to=["limit", "words"]),
        "tool find, argument limit: is required",
        True,
    ),
    "another type": (
        set_in(*FIND, "properties", "words", to=TEXT),
        "tool find, argument words: type was array, is string",
        True,
    ),
    "fewer values": (
        set_in("tools", "order", "inputSchema", "properties", "speed", "enum", to=["normal"]),
        'tool order, argument speed: "express" is gone',
        True,
    ),
    "more values": (
        set_in("tools", "order", "inputSchema", "properties", "speed", "enum",
               to=["normal", "express", "slow"]),
        'tool order, argument speed: "slow" is new',
        False,
    ),
    "a bound": (
        set_in(*FIND, "properties", "limit", "maximum", to=50),
        "tool find, argument limit: maximum is new: 50",
        True,
    ),
    "another default": (
        set_in(*FIND, "properties", "limit", "default", to=20),
        "tool find, argument limit: default was 10, is 20",
        False,
    ),
    "another description": (
        set_in(*FIND, "properties", "limit", "description", to="the most"),
        "tool find, argument limit: other description",
        False,
    ),
    "in other words": (
        set_in(*FIND, "properties", "limit", "anyOf", to=[{"type": "integer"}]),
        "tool find: the same schema in other words",
        False,
    ),
    "members beyond those that are listed": (
        set_in(*RESULT, "additionalProperties", to=False),
        "tool find, result: has no members that are not listed",
        False,
    ),
    "arguments beyond those that are listed": (
        without(*FIND, "additionalProperties"),
        "tool find, arguments: may have members that are not listed",
        False,
    ),
    "what cannot be told": (
        set_in(*FIND, "properties", "limit", "not", to={"const": 7}),
        "tool find, argument limit: cannot tell whether it still fits: not has changed",
        True,
    ),
    "a header": (
        set_in(*FIND, "properties", "limit", "x-mcp-header", to="Limit"),
        "tool find, argument limit: x-mcp-header was not there, is Limit",
        True,
    ),
    "no result": (without(*RESULT), "tool find: structured results are gone", True),
    "a result": (
        set_in("tools", "order", "outputSchema", to={"type": "object"}),
        "tool order: structured results are new",
        False,
    ),
    "a field of the result gone": (
        without(*RESULT, "properties", "y"),
        "tool find, result y: is gone",
        True,
    ),
    "a field that may be missing": (
        set_in(*RESULT, "required", to=[]),
        "tool find, result x: is no longer required",
        True,
    ),
    "a field that is always there": (
        set_in(*RESULT, "required", to=["x", "y"]),
        "tool find, result y: is required",
        False,
    ),
    "a new field": (
        set_in(*RESULT, "properties", "z", to=TEXT),
        "tool find, result z: is new",
        False,
    ),
    "a wider result": (
        set_in(*RESULT, "properties", "x", to={"type": "number"}),
        "tool find, result x: type was integer, is number",
        True,
    ),
    "a narrower result": (
        set_in(*RESULT, "properties", "x", "minimum", to=0),
        "tool find, result x: minimum is new: 0",
        False,
    ),
    "another type of a resource": (
        set_in("resources", "shop://prices", "mimeType", to="text/plain"),
        "resource shop://prices: its type was text/csv, is text/plain",
        True,
    ),
    "an argument of a prompt": (
        set_in("prompts", "advice", "arguments", "now", to={"required": True}),
        "prompt advice, argument now: is new, and required",
        True,
    ),
    "an optional one": (
        set_in("prompts", "advice", "arguments", "now", to={}),
        "prompt advice, argument now: is new",
        False,
    ),
    "no argument of a prompt": (
        without("prompts", "advice", "arguments", "tone"),
        "prompt advice, argument tone: is gone",
        True,
    ),
    "a prompt that asks for more": (
        set_in("prompts", "advice", "arguments", "tone", "required", to=True),
        "prompt advice, argument tone: is required",
        True,
    ),
    "a hint": (
        set_in("tools", "find", "annotations", "readOnlyHint", to=False),
        "tool find: was read-only, is not read-only",
        False,
    ),
    "instructions": (set_in("instructions", to="Sells."), "server: other instructions", False),
    "a name": (set_in("server", "name", to="store"), "server: other name", False),
}  # fmt: skip


@pytest.mark.parametrize(("change", "words", "breaks"), CHANGES.values(), ids=CHANGES)
def test_each_change_is_told_and_judged(
    change: Callable[[Json], None], words: str, breaks: bool
) -> None:
    assert changed(change) == [(words, breaks)]


def test_an_argument_that_is_new_and_required_is_one_change() -> None:
    def change(contract: Json) -> None:
        properties(contract)["to"] = TEXT
        contract["tools"]["find"]["inputSchema"]["required"].append("to")

    assert changed(change) == [("tool find, argument to: is new, and required", True)]


def test_all_arguments_gone_is_told_even_if_any_would_pass() -> None:
    change = set_in(*FIND, to={"type": "object"})

    assert ("tool find, argument limit: is gone", True) in changed(change)
    assert ("tool find, argument words: is gone", True) in changed(change)
