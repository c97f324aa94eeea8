"""Contracts: what is written, when a test fails, and what it says of clients."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest

from toolhaft import Context, McpError, Server
from toolhaft.calls.output import Sink
from toolhaft.calls.service import connected
from toolhaft.testing import ContractChanged, assert_contract, contract_of
from toolhaft.testing.contracts.differences import differences
from toolhaft.testing.contracts.snapshot import BadContract, listed, read, written

Json = dict[str, Any]


class Point(msgspec.Struct):
    x: int
    y: int = 0


def made() -> Server:
    server = Server("shop", version="1.0.0", instructions="Sells.\nAnd sends.")

    @server.tool(read_only=True)
    def find(words: list[str], limit: Annotated[int, "how many"] = 10) -> Point:
        """Find something.

        It takes a while."""
        return Point(1)

    @server.tool
    def order(article: str, speed: Literal["normal", "express"] = "normal") -> None:
        """Order it."""

    @server.resource("shop://prices", mime_type="text/csv")
    def prices() -> str:
        """All prices."""
        return ""

    @server.resource("shop://article/{number}")
    def article(number: str) -> str:
        """One article."""
        return ""

    @server.prompt
    def advice(about: str, tone: str = "kind") -> str:
        """Ask for advice."""
        return about

    return server


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("TOOLHAFT_UPDATE_CONTRACT", raising=False)


# The file


def test_everything_that_a_server_lists_is_written(tmp_path: Path) -> None:
    assert_contract(made(), tmp_path / "shop.lock")

    found = json.loads((tmp_path / "shop.lock").read_text())
    assert found["contract"] == 1
    assert found["server"] == {"name": "shop"}
    assert found["instructions"] == ["Sells.", "And sends."]
    assert list(found["capabilities"]) == ["logging", "prompts", "resources", "tools"]
    assert list(found["tools"]) == ["find", "order"]
    assert found["tools"]["find"]["description"] == ["Find something.", "", "It takes a while."]
    assert found["tools"]["find"]["annotations"] == {"readOnlyHint": True}
    assert found["tools"]["find"]["outputSchema"]["required"] == ["x"]
    assert found["resources"]["shop://prices"]["mimeType"] == "text/csv"
    assert list(found["templates"]) == ["shop://article/{number}"]
    assert found["prompts"]["advice"]["arguments"] == {
        "about": {"required": True},
        "tone": {},
    }


def test_the_order_of_things_and_the_version_do_not_matter(tmp_path: Path) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    first, second = Server("s", version="1.0.0"), Server("s", version="2.0.0")
    for server, names in ((first, "ab"), (second, "ba")):
        for name in names:
            server.add_tool(add, name=name)
        assert_contract(server, tmp_path / "s.lock")

    assert (tmp_path / "s.lock").read_text().endswith("}\n")


async def test_all_pages_are_listed() -> None:
    server = Server("many", page_size=3)
    for number in range(10):
        server.add_tool(lambda: None, name=f"tool-{number}")

    assert len((await contract_of(server))["tools"]) == 10


async def test_pages_that_never_end_are_not_followed() -> None:
    async def request(method: str, params: Json) -> Json:
        return {"capabilities": {"tools": {}}, "tools": [], "nextCursor": "again"}

    with pytest.raises(AssertionError, match="tools/list gives the cursor 'again' twice"):
        await listed(request)


@pytest.mark.parametrize("text", ["<<<<<<< HEAD\n{}", "[]", '{"contract": 2}', '{"tools": {}}'])
def test_a_file_that_is_no_contract_is_named(text: str) -> None:
    with pytest.raises(BadContract, match=r"^shop\.lock: .*anew"):
        read(text, "shop.lock")


# When a test fails


def test_what_is_as_it_was_passes(tmp_path: Path) -> None:
    assert_contract(made(), tmp_path / "shop.lock")
    before = (tmp_path / "shop.lock").stat().st_mtime_ns

    assert_contract(made(), tmp_path / "shop.lock")

    assert (tmp_path / "shop.lock").stat().st_mtime_ns == before


def test_a_change_fails_and_says_what_breaks(tmp_path: Path) -> None:
    path = tmp_path / "shop.lock"
    assert_contract(made(), path)
    server = made()
    server.tools["order"].remove()
    server.add_tool(lambda: None, name="refund")

    with pytest.raises(ContractChanged) as caught:
        assert_contract(server, path)

    assert str(caught.value) == (
        "shop.lock: 2 changes, 1 of them breaks clients\n"
        "\n"
        "breaks clients:\n"
        "  tool order: is gone\n"
        "\n"
        "breaks nobody:\n"
        "  tool refund: is new\n"
        "\n"
        "If that is what you want, write the file anew with pytest --update-contract, or with\n"
        "TOOLHAFT_UPDATE_CONTRACT=1, and commit it."
    )
    assert [each.breaks for each in caught.value.differences] == [True, False]


def test_a_change_that_breaks_nobody_fails_too(tmp_path: Path) -> None:
    assert_contract(made(), tmp_path / "shop.lock")
    server = made()
    server.add_tool(lambda: None, name="refund")

    with pytest.raises(ContractChanged, match="1 change, none of them break clients"):
        assert_contract(server, tmp_path / "shop.lock")


def test_an_update_writes_the_file_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "shop.lock"
    assert_contract(made(), path)
    server = made()
    server.tools["order"].remove()

    assert_contract(server, path, update=True)
    assert_contract(server, path)
    monkeypatch.setenv("TOOLHAFT_UPDATE_CONTRACT", "1")
    assert_contract(made(), path)
    monkeypatch.setenv("TOOLHAFT_UPDATE_CONTRACT", "0")

    assert_contract(made(), path)


def test_ci_does_not_write_the_first_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")

    with pytest.raises(ContractChanged, match=r"is not there; .* commit it"):
        assert_contract(made(), tmp_path / "shop.lock")

    assert not (tmp_path / "shop.lock").exists()


def test_a_path_is_beside_the_file_that_names_it() -> None:
    path = Path(__file__).parent / "beside.lock"
    try:
        assert_contract(made(), "beside.lock")
        assert path.exists()
    finally:
        path.unlink(missing_ok=True)


# Loops


async def test_in_a_running_loop_it_is_the_same(tmp_path: Path) -> None:
    server = made()
    assert_contract(server, tmp_path / "shop.lock")

    assert_contract(server, tmp_path / "shop.lock")
    assert_contract(await contract_of(server), tmp_path / "shop.lock")

    assert written(await contract_of(server)) == (tmp_path / "shop.lock").read_text()


async def test_a_lifespan_that_is_under_way_is_left_alone(tmp_path: Path) -> None:
    log: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncGenerator[None]:
        log.append("entered")
        yield
        log.append("left")

    server = Server("s", lifespan=lifespan)
    server.add_tool(lambda: 1, name="one")
    async with connected(server, Sink(lambda frame: None)):
        await asyncio.sleep(0)
        assert_contract(server, tmp_path / "s.lock")
        assert log == ["entered"]

    assert log == ["entered", "left"]


def test_what_a_list_raises_is_told(tmp_path: Path) -> None:
    async def refuse(exchange: Any, call: Any) -> Any:
        raise McpError("not today")

    server = Server("s", middleware=[refuse])

    with pytest.raises(AssertionError, match="server/discover failed: not today"):
        assert_contract(server, tmp_path / "shop.lock")


# What breaks clients


def changed(change: Callable[[Json], None]) -> list[tuple[str, bool]]:
    """What is said after a change to the contract."""
    before = asyncio.run(contract_of(made()))
    after = json.loads(json.dumps(before))
    change(after)
    return [(str(each), each.breaks) for each in differences(before, after)]


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


def test_a_tool_with_a_context_lists_no_context() -> None:
    server = Server("s")

    @server.tool
    def tool(ctx: Context, a: int) -> None: ...

    contract = asyncio.run(contract_of(server))
    assert list(contract["tools"]["tool"]["inputSchema"]["properties"]) == ["a"]


def in_an_object(**members: Any) -> Json:
    return {"type": "object", "properties": members}


def told(before: Json, after: Json) -> list[tuple[bool, str]]:
    """What is said of arguments that change."""
    old, new = ({"tools": {"t": {"inputSchema": each}}} for each in (before, after))
    return [(each.breaks, str(each)) for each in differences(old, new)]


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


def test_a_header_is_looked_for_where_clients_look_for_it() -> None:
    plain, mirrored = {"type": "string"}, {"type": "string", "x-mcp-header": "Region"}
    before = in_an_object(to=in_an_object(region=plain))
    after = in_an_object(to=in_an_object(region=mirrored))

    place = "tool t, argument to.region: x-mcp-header"
    assert told(before, after) == [(True, f"{place} was not there, is Region")]
    assert told(after, before) == [(False, f"{place} was Region, is not there")]


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


def test_definitions_that_lead_to_themselves_are_compared() -> None:
    def schema(**more: Any) -> Json:
        node = in_an_object(next={"$ref": "#/$defs/Node"}, **more)
        return {**in_an_object(first={"$ref": "#/$defs/Node"}), "$defs": {"Node": node}}

    changed = told(schema(name={"type": "string"}), schema())
    assert (True, "tool t, argument first.name: is gone") in changed


def test_what_is_no_server_has_no_contract(tmp_path: Path) -> None:
    wrong: Any = "server.py"

    with pytest.raises(
        TypeError, match="a contract is of a Server, or what contract_of gave, not "
    ):
        assert_contract(wrong, tmp_path / "wrong.lock")
    assert not (tmp_path / "wrong.lock").exists()
