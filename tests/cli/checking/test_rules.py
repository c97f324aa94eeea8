"""What `toolhaft check` says of what a server lists. Rules are functions of values."""

from typing import Any

import pytest
from tests.cli.checking.listings import found, listing, taking, tool

from toolhaft.cli.checking import client_rules
from toolhaft.cli.checking.findings import LEVELS, Finding, at_least
from toolhaft.cli.checking.rules import reviewed, tokens
from toolhaft.features.tools import vet_name

Json = dict[str, Any]
OBJECT: Json = {"type": "object", "properties": {}, "additionalProperties": False}


def test_of_a_server_without_faults_nothing_is_said() -> None:
    assert found(tools=[tool()]) == []


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"server": {"name": "s", "version": "0.0.0"}, "tools": [tool()]}, ("note", "version")),
        ({"instructions": "", "tools": [tool()]}, ("note", "instructions")),
        ({}, ("error", "nothing")),
    ],
    ids=["version", "instructions", "nothing"],
)
def test_of_the_server_itself(members: Json, expected: tuple[str, str]) -> None:
    assert found(**members) == [(*expected, "server")]


def test_a_tool_that_needs_a_session_is_noted() -> None:
    entry = tool(_meta={"toolhaft/needsSession": True})

    assert found(tools=[entry]) == [("note", "session", "tool find")]


# Names


@pytest.mark.parametrize("name", ["find", "find_all", "find-all", "Find2", "_find"])
def test_names_that_all_clients_take(name: str) -> None:
    assert found(tools=[tool(name=name)]) == []


@pytest.mark.parametrize("name", ["git log", "größe", "a" * 129, ""])
def test_a_name_that_registering_warns_of_is_an_error(name: str) -> None:
    rules = {each[:2] for each in found(tools=[tool(name=name)])}

    with pytest.warns(UserWarning, match="the specification asks for 1 to 128 letters"):
        vet_name(name)
    assert ("error", "tool-name") in rules


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["git.log", "a" * 65, "a" * 128])
def test_a_name_that_only_clients_refuse_is_a_warning_that_says_so(name: str) -> None:
    now = listing(tools=[tool(name=name)])
    findings = [each for each in reviewed(now, now) if each.rule == "tool-name"]

    vet_name(name)
    assert {each.level for each in findings} == {"warning"}
    assert "refused by the APIs of models behind Claude Desktop" in findings[0].what


def test_a_name_that_begins_with_a_digit() -> None:
    assert found(tools=[tool(name="2d")]) == [("warning", "tool-name", "tool 2d")]


def test_a_name_that_is_too_long_after_that_of_the_server() -> None:
    names = {"name": "s" * 30, "version": "1"}

    assert found(server=names, tools=[tool(name="t" * 29)]) == []
    assert found(server=names, tools=[tool(name="t" * 30)]) == [
        ("warning", "tool-name-length", "tool " + "t" * 30)
    ]


@pytest.mark.parametrize("name", ["filter[id]", "$top", "a" * 65, "größe"])
def test_parameters_that_clients_refuse(name: str) -> None:
    assert found(tools=[taking({"type": "string"}, name)]) == [
        ("error", "parameter-name", f"tool find, parameter {name}")
    ]


# Descriptions


def test_descriptions_that_are_missing() -> None:
    schema = {**OBJECT, "properties": {"a": {"type": "string"}}, "required": ["a"]}
    tools = [tool(description=" ", inputSchema=schema)]
    prompts = [{"name": "advice", "arguments": [{"name": "about"}]}]
    resources = [{"uri": "a://b", "name": "b", "mimeType": "text/plain"}]

    assert found(tools=tools, prompts=prompts, resources=resources) == [
        ("error", "tool-description", "tool find"),
        ("warning", "parameter-description", "tool find, parameter a"),
        ("warning", "resource-description", "resource a://b"),
        ("warning", "prompt-description", "prompt advice"),
        ("note", "prompt-argument", "prompt advice, argument about"),
    ]


@pytest.mark.parametrize(("length", "said"), [(1024, False), (1025, True), (2049, True)])
def test_descriptions_that_are_too_long(length: int, said: bool) -> None:
    expected = [("warning", "tool-description-length", "tool find")] if said else []

    assert found(tools=[tool(description="x" * length)]) == expected


def test_things_that_cannot_be_told_apart() -> None:
    tools = [
        tool(name="one", title="Find"),
        tool(
            name="two", description="Another.", annotations={"readOnlyHint": True, "title": "Find"}
        ),
        tool(name="three", description="Another."),
    ]

    assert found(tools=tools) == [
        ("warning", "tool-twins", "tool one"),
        ("warning", "tool-twins", "tool two"),
    ]


# Hints, numbers, cost


@pytest.mark.parametrize(
    ("hints", "level"),
    [
        ({}, "note"),
        ({"readOnlyHint": True, "destructiveHint": True}, "warning"),
        ({"readOnlyHint": False}, None),
        ({"destructiveHint": False}, None),
    ],
    ids=["none", "both", "not read-only", "not destructive"],
)
def test_hints(hints: Json, level: str | None) -> None:
    expected = [] if level is None else [(level, "hints", "tool find")]

    assert found(tools=[tool(annotations=hints)]) == expected


@pytest.mark.parametrize(
    ("number", "level"), [(40, None), (41, "note"), (81, "warning"), (129, "error")]
)
def test_the_number_of_tools(number: int, level: str | None) -> None:
    tools = [tool(name=f"t{each}", description=f"Tool {each}.") for each in range(number)]

    assert found(tools=tools) == ([] if level is None else [(level, "tools", "server")])


def test_the_cost_is_an_estimate_and_names_the_dearest() -> None:
    tools = [tool(name=name, description=name * size) for name, size in (("a", 9), ("b", 900))]
    [cost] = [each for each in reviewed(listing(tools=tools), listing(tools=tools))
              if each.rule == "cost"]  # fmt: skip

    assert cost.level == "note"
    assert "an estimate, at 4 bytes each): b " in cost.what
    assert f"about {tokens(tools):,} tokens" in cost.what
    assert tokens("12") == 1
    assert tokens("12345") == 2


def test_a_list_that_is_dear_is_a_warning() -> None:
    tools = [tool(name=f"t{each}", description=f"{each}" + "x" * 1000) for each in range(90)]
    levels = {
        each.rule: each.level for each in reviewed(listing(tools=tools), listing(tools=tools))
    }

    assert levels["cost"] == "warning"


# Both eras


def test_what_only_one_era_lists() -> None:
    before = listing(tools=[tool(), tool(name="old", description="Old.")])

    assert found(before, tools=[tool()]) == [("warning", "eras", "tool old")]


# Levels


def test_a_level_shows_itself_and_what_is_worse() -> None:
    findings = [Finding(level, "r", "w", level) for level in reversed(LEVELS)]

    assert [each.level for each in at_least(findings, "warning")] == ["error", "warning"]
    assert [each.level for each in at_least(findings, "note")] == list(LEVELS)


def test_each_fact_about_a_client_says_where_it_is_known_from() -> None:
    rules = [
        each for each in vars(client_rules).values() if isinstance(each, client_rules.SchemaRule)
    ]
    facts = [*rules, *client_rules.NAMES, *client_rules.TOOLS, *client_rules.DESCRIPTION]

    assert len(facts) > 15
    assert [each for each in facts if not each.source.startswith("https://")] == []
