"""Defaults that can be altered are made anew for each call, and stay as they are published."""

from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import attrs
import msgspec
import pydantic
import pytest
from tests.asking import outcome

from toolhaft import Context, Depends, Server
from toolhaft.testing import Client


@dataclass
class Basket:
    items: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Fixed:
    items: list[str]


class Row(NamedTuple):
    items: list[str] = []  # noqa: RUF012 - what this is about


@attrs.define
class Bag:
    items: list[str] = []  # noqa: RUF008


class Crate(msgspec.Struct, frozen=True):
    items: list[str] = []


class Shelf(msgspec.Struct):
    crate: Crate = Crate()
    row: Row = Row()


class Box(pydantic.BaseModel):
    items: list[str] = []


DEFAULTS: list[tuple[Any, Any]] = [
    (list[str], ["first"]),
    (Any, ["first"]),
    (Basket, Basket(["first"])),
    (Fixed, Fixed(["first"])),
    (Row, Row(["first"])),
    (Bag, Bag(["first"])),
    (Crate, Crate(["first"])),
    (Box, Box(items=["first"])),
    (tuple[list[str], int], (["first"], 1)),
]


def grow(value: Any) -> int:
    """Add to the list in a value, and tell how long it is."""
    items = value if isinstance(value, list) else getattr(value, "items", None)
    if items is None:
        items = value[0]
    items.append("more")
    return len(items)


@pytest.mark.parametrize(("kind", "default"), DEFAULTS)
async def test_each_call_of_a_tool_has_a_default_of_its_own(kind: Any, default: Any) -> None:
    def tool(value: kind = default) -> int:
        return grow(value)

    server = Server("defaults", version="1")
    server.add_tool(tool)
    async with Client(server) as client:
        before = await client.list_tools()
        lengths = [await client.call("tool") for _ in range(3)]
        server.tools["tool"].update(description="so that the list is made again")
        [after] = await client.list_tools()

    assert lengths == [2, 2, 2]
    assert after.input_schema == before[0].input_schema


async def test_sets_and_dicts_are_made_anew() -> None:
    server = Server("defaults", version="1")

    @server.tool
    def tool(seen: set[str] = {"a"}, counts: dict[str, list[int]] = {"a": [1]}) -> int:  # noqa: B006
        seen.add("b")
        counts["a"].append(2)
        return len(seen) + len(counts["a"])

    async with Client(server) as client:
        assert [await client.call("tool") for _ in range(3)] == [4, 4, 4]


@pytest.mark.parametrize("kind", [Row, Bag, Crate])
async def test_defaults_of_a_class_are_not_shared_between_calls(kind: Any) -> None:
    def tool(value: kind) -> int:
        return grow(value)

    server = Server("defaults", version="1")
    server.add_tool(tool)
    given: Any = [] if kind is Row else {}
    async with Client(server) as client:
        assert [await client.call("tool", value=given) for _ in range(3)] == [1, 1, 1]


async def test_defaults_of_classes_in_classes_are_not_shared_between_calls() -> None:
    server = Server("defaults", version="1")

    @server.tool
    def tool(shelves: list[Shelf]) -> list[int]:
        return [grow(part) for shelf in shelves for part in (shelf.crate, shelf.row)]

    async with Client(server) as client:
        for _ in range(2):
            assert await client.call("tool", shelves=[{}, {}]) == [1, 1, 1, 1]


async def test_prompts_and_resources_have_defaults_of_their_own() -> None:
    server = Server("defaults", version="1")

    @server.prompt
    def prompt(words: list[str] = ["first"]) -> str:  # noqa: B006
        return str(grow(words))

    @server.resource("words://{name}")
    def resource(name: str, words: list[str] = ["first"]) -> str:  # noqa: B006
        return str(grow(words))

    for _ in range(2):
        got = await outcome(server, "prompts/get", name="prompt")
        read = await outcome(server, "resources/read", uri="words://any")
        assert got["messages"][0]["content"]["text"] == "2"
        assert read["contents"][0]["text"] == "2"


async def test_dependencies_have_defaults_of_their_own() -> None:
    server = Server("defaults", version="1")

    def length(ctx: Context, words: list[str] = ["first"]) -> int:  # noqa: B006
        return grow(words)

    @server.tool
    def tool(found: Annotated[int, Depends(length)]) -> int:
        return found

    async with Client(server) as client:
        assert [await client.call("tool") for _ in range(2)] == [2, 2]


async def test_what_becomes_of_the_author_s_object_does_not_matter() -> None:
    words = ["first"]
    server = Server("defaults", version="1")

    @server.tool
    def tool(given: list[str] = words) -> int:
        return len(given)

    words.append("second")
    async with Client(server) as client:
        [listed] = await client.list_tools()
        assert listed.input_schema["properties"]["given"]["default"] == ["first"]
        assert await client.call("tool") == 1


async def test_a_default_that_is_no_data_is_the_same_in_every_call() -> None:
    class Connection:
        pass

    connection = Connection()
    server = Server("defaults", version="1")

    @server.tool
    def tool(used: Any = connection) -> bool:
        return used is connection

    async with Client(server) as client:
        assert await client.call("tool") is True


async def test_a_call_cannot_change_what_is_published_of_a_tool() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
    promised: dict[str, Any] = {"type": "object", "properties": {}}
    meta: dict[str, Any] = {"example.com/seen": []}
    server = Server("defaults", version="1")

    @server.tool(input_schema=schema, output_schema=promised, meta=meta)
    def tool(a: str = "") -> dict[str, Any]:
        schema["properties"]["b"] = {}
        promised["properties"]["c"] = {}
        meta["example.com/seen"].append(a)
        return {}

    async with Client(server) as client:
        await client.call("tool")
        server.tools["tool"].update(description="so that the tool is made again")
        await client.call("tool")
        [listed] = await client.list_tools()

    assert listed.input_schema == {"type": "object", "properties": {"a": {"type": "string"}}}
    assert listed.output_schema == {"type": "object", "properties": {}}
    assert listed.meta == {"example.com/seen": []}


async def test_reading_and_prompting_cannot_change_what_is_published() -> None:
    meta: dict[str, Any] = {"example.com/seen": []}
    server = Server("defaults", version="1")

    @server.resource("defaults://it", meta=meta)
    def read() -> str:
        meta["example.com/seen"].append("read")
        return ""

    @server.prompt(meta=meta)
    def ask() -> str:
        meta["example.com/seen"].append("asked")
        return ""

    async with Client(server) as client:
        await client.read("defaults://it")
        await client.prompt("ask")
        [resource] = await client.list_resources()
        [prompt] = await client.list_prompts()

    assert resource.meta == prompt.meta == {"example.com/seen": []}
