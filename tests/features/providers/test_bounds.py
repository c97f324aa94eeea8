"""Bounds of calls and completion, for what an object marks and for what it lists."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.asking import told
from tests.server.clients import CLIENTS, Connect

from toolhaft import (
    Arg,
    Context,
    PromptInfo,
    ResourceInfo,
    Server,
    ToolInfo,
    prompt,
    resource,
    tool,
)
from toolhaft.testing import Client

Json = dict[str, Any]
every_client = pytest.mark.parametrize("connect", CLIENTS.values(), ids=CLIENTS)


async def forever(*_: Any) -> Any:
    await asyncio.Event().wait()


class Marked:
    """Has methods with bounds, and handlers that never answer."""

    @tool(timeout=0.05)
    def work(self) -> str:
        return "by the method"

    @prompt(timeout=0.05)
    def write(self) -> str:
        return "by the method"

    @resource("slow://it", timeout=0.05)
    def it(self) -> str:
        return "by the method"

    async def call_tool(self, name: str, arguments: Json) -> Any:
        return await forever()

    async def get_prompt(self, name: str, arguments: Json) -> Any:
        return await forever()

    async def read_resource(self, uri: str) -> Any:
        return await forever()


class Listed:
    """The same, by lists."""

    def tools(self) -> list[ToolInfo]:
        return [ToolInfo("work", timeout=0.05)]

    def prompts(self) -> list[PromptInfo]:
        return [PromptInfo("write", timeout=0.05)]

    def resources(self) -> list[ResourceInfo]:
        return [ResourceInfo("slow://it", timeout=0.05)]

    call_tool = get_prompt = forever

    async def read_resource(self, uri: str) -> Any:
        return await forever()


@every_client
@pytest.mark.parametrize("provider", [Marked, Listed])
async def test_a_timeout_bounds_the_handler(connect: Connect, provider: Callable[[], Any]) -> None:
    async with connect(Server("s", version="1", providers=[provider()])) as client:
        called = await client.call_raw("work")
        got = await told(client, "prompts/get", name="write")
        read = await told(client, "resources/read", uri="slow://it")

    assert called.is_error
    assert called.text == "tool 'work' took longer than 0.05 s"
    assert got["message"] == "prompt 'write' took longer than 0.05 s"
    assert read["message"] == "resource 'slow://it' took longer than 0.05 s"


async def test_a_timeout_bounds_handler_and_method_together() -> None:
    class Both(Marked):
        async def call_tool(self, name: str, arguments: Json) -> Any:
            return NotImplemented

        @tool(timeout=0.05)
        async def work(self) -> str:
            return str(await forever())

    async with Client(Server("s", version="1", providers=[Both()])) as client:
        called = await client.call_raw("work")

    assert called.text == "tool 'work' took longer than 0.05 s"


async def test_a_plain_handler_that_takes_too_long_has_its_answer_at_once() -> None:
    go_on = threading.Event()

    class Blocking:
        def tools(self) -> list[ToolInfo]:
            return [ToolInfo("work", timeout=0.05)]

        def call_tool(self, name: str, arguments: Json) -> str:
            go_on.wait()
            return "late"

    async with Client(Server("s", version="1", providers=[Blocking()])) as client:
        try:
            called = await client.call_raw("work")
        finally:
            go_on.set()

    assert called.text == "tool 'work' took longer than 0.05 s"


class Counting:
    """Knows how many are in it at once."""

    def __init__(self) -> None:
        self.inside = self.most = self.listed = 0

    async def call_tool(self, name: str, arguments: Json) -> Any:
        self.inside += 1
        self.most = max(self.most, self.inside)
        for _ in range(20):
            await asyncio.sleep(0)
        self.inside -= 1
        return NotImplemented if name == "own" else "done"

    @tool(limit=1)
    async def own(self) -> str:
        return await self.call_tool("", {})

    def tools(self, ctx: Context) -> list[ToolInfo]:
        self.listed += 1
        changing = ToolInfo("changing", f"asked for {self.listed} times", limit=2)
        return [ToolInfo("listed", limit=2), changing, ToolInfo("free")]


@pytest.mark.parametrize(
    ("name", "most"), [("own", 1), ("listed", 2), ("changing", 2), ("free", 6)]
)
async def test_a_limit_holds_for_the_handler(name: str, most: int) -> None:
    """Also if the entry is another one each time, and if the method answers in the end."""
    counting = Counting()
    server = Server("s", version="1")
    server.include(counting, thread=False)
    async with Client(server) as client:
        answers = await asyncio.gather(*(client.call(name) for _ in range(6)))

    assert answers == ["done"] * 6
    assert counting.most == most


@pytest.mark.parametrize(
    ("entries", "milliseconds"),
    [
        ([ToolInfo("a", cache=60), ToolInfo("b", cache=90)], 60_000),
        ([ToolInfo("a", cache=60), ToolInfo("b")], 0),
        ([], 0),
    ],
)
async def test_a_list_may_be_kept_as_long_as_all_of_its_entries(
    entries: list[ToolInfo], milliseconds: int
) -> None:
    class Kept:
        def tools(self) -> list[ToolInfo]:
            return entries

        def resources(self) -> list[ResourceInfo]:
            return [ResourceInfo("kept://it", cache=5)]

        call_tool = forever

        def read_resource(self, uri: str) -> str:
            return uri

    async with Client(Server("s", version="1", providers=[Kept()])) as client:
        listed = await told(client, "tools/list")
        read = await told(client, "resources/read", uri="kept://it")

    assert listed["ttlMs"] == milliseconds
    assert (read["ttlMs"], read["cacheScope"]) == (5000, "private")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (ToolInfo("a", timeout=0), "timeout must be a number of seconds above 0"),
        (ToolInfo("a", limit=0), "limit must be a number of calls"),
        (ToolInfo("a", cache=-1), "cache must be a number of seconds"),
    ],
)
async def test_a_bound_that_is_none_is_told_with_its_entry(
    entry: ToolInfo, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Wrong:
        def tools(self) -> list[ToolInfo]:
            return [entry]

        call_tool = forever

    async with Client(Server("s", version="1", providers=[Wrong()])) as client:
        listed = await told(client, "tools/list")

    assert listed["tools"] == []
    assert words in caplog.text
    assert "Wrong.tools: an entry was left out of the list: the entry 'a'" in caplog.text


# Completion


def cities(value: str, given: dict[str, str]) -> list[str]:
    known = {"fr": ["Paris", "Pau"], "it": ["Pavia"]}[given.get("country", "fr")]
    return [each for each in known if each.startswith(value)]


async def names(value: str) -> list[str]:
    return [f"{value}{number}" for number in range(120)]


class Travel:
    """Lists prompts and templates whose arguments complete."""

    def prompts(self) -> list[PromptInfo]:
        country = Arg("country", str, enum=["fr", "it"])
        city = Arg("city", str, complete=cities, optional=True)
        return [
            PromptInfo("trip", args=[country, city, Arg("who", str, "what it is", optional=True)])
        ]

    def get_prompt(self, name: str, arguments: dict[str, str]) -> str:
        return f"{name} {arguments}"

    def templates(self) -> list[ResourceInfo]:
        return [ResourceInfo("travel://{city}/{name}", complete={"name": names})]

    def read_resource(self, uri: str) -> str:
        return uri


def including(prefix: str | None) -> Server:
    """The object in a server, or in a server in a server."""
    inner = Server("inner", version="1", providers=[Travel()])
    if prefix is None:
        return inner
    server = Server("outer", version="1")
    server.include(inner, prefix=prefix)
    return server


async def completed(server: Server, ref: Json, name: str, value: str, **given: str) -> Json:
    async with Client(server) as client:
        argument = {"name": name, "value": value}
        context = {"context": {"arguments": given}} if given else {}
        return await told(client, "completion/complete", ref=ref, argument=argument, **context)


def of_prompt(name: str) -> Json:
    return {"type": "ref/prompt", "name": name}


def of_template(uri: str) -> Json:
    return {"type": "ref/resource", "uri": uri}


@pytest.mark.parametrize("prefix", [None, "my"])
async def test_arguments_of_what_is_listed_complete(prefix: str | None) -> None:
    """L-52: of prompts and of templates, with what is given already."""
    server = including(prefix)
    trip = of_prompt("trip" if prefix is None else "my_trip")
    travel = of_template(("" if prefix is None else "my+") + "travel://{city}/{name}")

    assert (await completed(server, trip, "country", ""))["completion"]["values"] == ["fr", "it"]
    assert (await completed(server, trip, "city", "Pa"))["completion"]["values"] == ["Paris", "Pau"]
    there = await completed(server, trip, "city", "Pa", country="it")
    assert there["completion"]["values"] == ["Pavia"]
    assert (await completed(server, trip, "who", ""))["completion"]["values"] == []
    assert (await completed(server, travel, "city", ""))["completion"]["values"] == []
    many = (await completed(server, travel, "name", "n"))["completion"]
    assert (len(many["values"]), many["total"], many["hasMore"]) == (100, 120, True)


@pytest.mark.parametrize("prefix", [None, "my"])
@pytest.mark.parametrize(
    ("ref", "words"),
    [
        (of_prompt("lost"), "unknown prompt: 'lost'"),
        (of_prompt("my_lost"), "unknown prompt: 'my_lost'"),
        (of_template("lost://{x}"), "unknown resource template: 'lost://{x}'"),
    ],
)
async def test_nobody_completes_what_is_unknown(prefix: str | None, ref: Json, words: str) -> None:
    refused = await completed(including(prefix), ref, "country", "")

    assert refused == {"code": -32602, "message": words}


async def test_an_unknown_prompt_is_an_error_with_an_included_server_that_evaluates_nothing() -> (
    None
):
    inner = Server("inner", version="1")

    @inner.prompt
    def trip(country: str) -> str:
        return country

    outer = Server("outer", version="1", providers=[Travel()])
    outer.include(inner, prefix="my")

    assert (await completed(outer, of_prompt("my_lost"), "x", ""))["code"] == -32602


async def test_an_argument_that_a_listed_prompt_has_not_is_refused() -> None:
    refused = await completed(including(None), of_prompt("trip"), "when", "")

    assert refused["code"] == -32602
    assert refused["message"].endswith(
        "'when' is not an argument of prompt 'trip'; it has country, city, who"
    )


async def test_a_completer_for_a_variable_that_there_is_not_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Wrong(Travel):
        def templates(self) -> list[ResourceInfo]:
            return [ResourceInfo("travel://{city}", complete={"town": names})]

    async with Client(Server("s", version="1", providers=[Wrong()])) as client:
        listed = await told(client, "resources/templates/list")

    assert listed["resourceTemplates"] == []
    assert "complete has 'town', which is no variable of the template" in caplog.text
