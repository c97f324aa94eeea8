# pyright: strict
"""What users write, and what type checkers must make of it: decorators change no type."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, assert_type

import msgspec

from toolhaft import (
    Accepted,
    Arg,
    Ask,
    Audio,
    Cache,
    Cancelled,
    Client,
    Complete,
    Contents,
    Context,
    Declined,
    Depends,
    Elicit,
    Embedded,
    File,
    Header,
    Icon,
    Image,
    Inclusion,
    InputRequired,
    InvalidParams,
    Limits,
    Link,
    Message,
    NotFound,
    PromptError,
    PromptHandle,
    PromptInfo,
    PromptProvider,
    PromptResult,
    ResourceError,
    ResourceHandle,
    ResourceInfo,
    ResourceProvider,
    Result,
    Root,
    Roots,
    Sampled,
    Server,
    Text,
    ToolError,
    ToolHandle,
    ToolInfo,
    ToolProvider,
    Unsafe,
    assistant,
    prompt,
    resource,
    testing,
    tool,
    user,
)
from toolhaft.paths import safe_join


@asynccontextmanager
async def lifespan(server: Server) -> AsyncGenerator[dict[str, int]]:
    yield {server.name: 1}


server = Server(
    "typed",
    version="1.0.0",
    title="Typed",
    icons=[Icon(src="https://example.org/icon.png")],
    lifespan=lifespan,
    page_size=50,
    limits=Limits(threads=4),
    errors="show",
)


@dataclass
class Point:
    x: float
    y: float


@server.tool
def add(a: int, b: int) -> int:
    return a + b


@server.tool(read_only=True, thread=False)
def middle(one: Point, other: Point) -> Point:
    return Point((one.x + other.x) / 2, (one.y + other.y) / 2)


@server.tool
async def wait(seconds: Annotated[float, "how long"], ctx: Context) -> str:
    await ctx.progress(1, 2, "half")
    await ctx.log("info", {"seconds": seconds})
    ctx.sync.progress(2)
    ctx.check()
    assert_type(ctx.client, Client)
    assert_type(ctx.client.revision, str)
    assert_type(ctx.client.can("sampling"), bool)
    assert_type(ctx.request_id, int | str)
    assert_type(ctx.cancelled, bool)
    if seconds < 0:
        raise ToolError("time does not run backwards")
    return "done"


class Database:
    def find(self, text: str) -> list[str]:
        return [text]


async def connected() -> AsyncGenerator[Database]:
    yield Database()


def opened(text: str, ctx: Context) -> Iterator[Database]:
    yield Database()


async def loaded(database: Database = Depends(opened)) -> Database:
    return database


def made() -> Database:
    return Database()


@server.tool(timeout=2.5, limit=3, category="search", tags=["a"], strict=True, cache=60)
async def search(
    text: str,
    one: Annotated[Database, Depends(connected)],
    two: Database = Depends(connected),
    three: Database = Depends(opened),
    four: Database = Depends(loaded),
    five: Database = Depends(made),
    tenant: Annotated[str, Header("X-Tenant")] = "none",
    now: datetime = msgspec.field(default_factory=datetime.now),
) -> list[str]:
    assert_type(four, Database)
    return one.find(text) + two.find(tenant)


@server.tool(input_schema={"type": "object"}, output_schema={"type": "object"})
def anything(**arguments: Any) -> dict[str, Any]:
    return arguments


@server.tool
async def counting(to: int) -> AsyncIterator[str]:
    for number in range(to):
        yield str(number)


@server.tool
def shown(folder: Path) -> list[Text | Image | Audio | File | Link | Embedded]:
    safe = safe_join(folder, "logo.png")
    assert_type(safe, Path)
    return [Text("see", audience=["user"]), Image(safe), File(safe), Link("a://b", size=3)]


@server.tool
def whole() -> Result:
    return Result([Text("a"), "b"], structured={"a": 1}, error=False, meta={"k": 1})


@server.resource("several://all", raw=True)
def several() -> list[Contents]:
    raise ResourceError(2001, "gone")


@server.prompt
def explained() -> PromptResult:
    if server.name == "x":
        raise PromptError("not now")
    return PromptResult("what it is for", [user(Image(b"")), Message("assistant", "yes")])


@server.resource("config://app", cache=Cache(60, "public"))
def config() -> dict[str, str]:
    return {"theme": "dark"}


@server.resource("user://{name}/{+path}")
async def file_of(name: str, path: Annotated[str, Unsafe]) -> bytes:
    if name == "nobody":
        raise NotFound("nobody has no files")
    return path.encode()


def names(typed: str, given: Mapping[str, str]) -> list[str]:
    return [name for name in given.values() if name.startswith(typed)]


@server.prompt
def greet(name: Annotated[str, Complete(names)]) -> str:
    return f"Greet {name}."


@server.prompt(title="Talk")
def talk(style: Literal["short", "long"] = "short") -> list[Message]:
    if style == "long":
        raise InvalidParams("no time")
    return [user("Hello."), assistant("Hello.")]


assert_type(add(1, 2), int)
assert_type(middle(Point(0, 0), Point(1, 1)), Point)
assert_type(config(), dict[str, str])
assert_type(counting(3), AsyncIterator[str])
assert_type(whole(), Result)
assert_type(greet("Ada"), str)
assert_type(talk("short"), list[Message])
waiter: Callable[[float, Context], Coroutine[Any, Any, str]] = wait
reader: Callable[[str, str], Coroutine[Any, Any, bytes]] = file_of

assert_type(server.add_tool(add, name="plus", replace=True), ToolHandle)
assert_type(server.tools["plus"], ToolHandle)
assert_type(server.resources["config://app"], ResourceHandle)
assert_type(server.prompts["greet"], PromptHandle)
server.tools["plus"].update(
    add, title="Plus", args=[Arg("a", int, "what it is"), Arg("b", "integer", "what it is")]
)
server.resources["config://app"].update(mime_type="application/json")
server.prompts["greet"].update(title="Greet")
server.tools["plus"].disable()
assert_type(server.tools["plus"].enabled, bool)
server.remove_tool("plus")
server.resource_updated("config://app")


async def ask() -> None:
    assert_type(await server.handle(b"{}"), bytes | None)
    assert_type(await server.handle("{}"), str | None)
    assert_type(await server.handle({}), dict[str, Any] | None)


class Marked:
    @tool
    def add(self, a: int, b: int) -> int:
        return a + b

    @tool(title="Wait", thread=False)
    async def wait(self, ctx: Context) -> str:
        return str(self.add(1, 2))

    @tool
    @staticmethod
    def still(text: str) -> str:
        return text

    @tool(timeout=1, limit=2)
    @classmethod
    def make(cls, text: str) -> "Marked":
        return cls()

    @tool
    async def count(self) -> AsyncIterator[int]:
        yield 1

    @resource("config://app", mime_type="text/plain")
    def config(self) -> bytes:
        return b""

    @prompt
    def greet(self, name: str) -> list[Message]:
        return [user(name)]

    @prompt(title="Bye")
    def leave(self) -> str:
        return ""


assert_type(Marked().add(1, 2), int)
assert_type(Marked().config(), bytes)
assert_type(Marked().greet("x"), list[Message])
assert_type(Marked.still("x"), str)
assert_type(Marked.make("x"), Marked)
assert_type(Marked().count(), AsyncIterator[int])
marked: Callable[[Context], Coroutine[Any, Any, str]] = Marked().wait


@tool
def module_tool(a: int, *, b: str = "") -> float:
    return a / len(b)


@tool(name="other")
async def module_wait(ctx: Context) -> str:
    return str(module_tool(1))


@resource("module://{name}")
def module_resource(name: str) -> dict[str, int]:
    return {name: 1}


@prompt
def module_prompt(name: Annotated[str, Complete(names)]) -> list[Message]:
    return [user(name)]


assert_type(module_tool(1, b="x"), float)
assert_type(module_resource("x"), dict[str, int])
assert_type(module_prompt("x"), list[Message])
module_waiter: Callable[[Context], Coroutine[Any, Any, str]] = module_wait

with server.add_tool(add, name="lent") as lent:
    assert_type(lent, ToolHandle)
with server.add_resource(config, "lent://it") as lent_resource:
    assert_type(lent_resource, ResourceHandle)
with server.add_prompt(greet, name="lent") as lent_prompt:
    assert_type(lent_prompt, PromptHandle)
    assert_type(lent_prompt.name, str)
for name, handle in server.tools.items():
    assert_type((name, handle), tuple[str, ToolHandle])


async def suggested(typed: str) -> list[str]:
    return [typed]


class Listing:
    def tools(self) -> list[ToolInfo]:
        bounded = ToolInfo("b", timeout=2.5, limit=1, cache=60)
        return [
            ToolInfo("a", args=[Arg("x", dict, properties=[Arg("y", str, "what it is")])]),
            bounded,
        ]

    async def call_tool(self, name: str, arguments: dict[str, Any], ctx: Context) -> str:
        return name

    async def prompts(self, ctx: Context) -> list[PromptInfo]:
        return [PromptInfo("a", args=[Arg("x", str, complete=names, optional=True)], limit=1)]

    def get_prompt(self, name: str, arguments: dict[str, str]) -> str:
        return name

    def resources(self) -> tuple[ResourceInfo, ...]:
        return (ResourceInfo("a://b", "b", mime_type="text/plain"),)

    def templates(self) -> list[ResourceInfo]:
        return [ResourceInfo("a://{b}", cache=Cache(5), complete={"b": suggested}, timeout=1)]

    def read_resource(self, uri: str) -> bytes:
        return b""


class Derived(ToolProvider):
    def tools(self, ctx: Context) -> list[ToolInfo]:
        return [ToolInfo("a", input_schema={"type": "object"})]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Result:
        return Result([name])


of_tools: ToolProvider = Listing()
of_prompts: PromptProvider = Listing()
of_resources: ResourceProvider = Listing()
assert_type(server.include(Derived(), prefix="git"), Inclusion)
server.include(Listing(), thread=False).changed()
with server.include(Marked()) as inclusion:
    inclusion.remove()
server.include(Server("other"), prefix="other").remove()
Server("providing", providers=[Marked(), Listing()])


@server.tool
async def order(size: Annotated[int, Ask("Which size?")], ctx: Context) -> str | InputRequired:
    point = await ctx.elicit("Where?", Point)
    assert_type(point, Accepted[Point] | Declined | Cancelled)
    match point:
        case Accepted(value=where):
            assert_type(where, Point)
        case Declined() | Cancelled():
            return "nowhere"
    raw = await ctx.elicit("More?", {"type": "object"}, key="more")
    assert_type(raw, Accepted[dict[str, Any]] | Declined | Cancelled)
    assert_type(
        await ctx.elicit_url("Pay", "https://example.org"), Accepted[None] | Declined | Cancelled
    )
    assert_type(await ctx.roots(), list[Root])
    said = await ctx.sample([user("Hi"), assistant("Ho")], max_tokens=5, models=["small"])
    assert_type(said, Sampled)
    answers = await ctx.ask(name=Elicit("Name?", str), where=Roots())
    assert_type(answers, dict[str, Any])
    assert_type(await ctx.step("add", add, 1, b=2), int)
    assert_type(await ctx.step("count", counted, "x"), int)
    assert_type((ctx.round, ctx.replaying), tuple[int, bool])
    return InputRequired({"name": Elicit("Name?", str)}, state={"size": size})


async def counted(text: str) -> int:
    return len(text)


@server.tool
def order_plainly(ctx: Context) -> str:
    assert_type(ctx.sync.elicit("Size?", int), Accepted[int] | Declined | Cancelled)
    assert_type(ctx.sync.step("add", add, 1, 2), int)
    return ctx.sync.sample("Hi").text


async def tested() -> None:
    async with testing.Client(server, "2025-11-25", answers={"Size?": 5}, timeout=3) as client:
        assert_type(await client.call_raw("add", {"a": 1}), testing.ToolResult)
        assert_type((await client.list_tools())[0].name, str)
        assert_type(await client.read("notes://all"), str | bytes)
        assert_type((await client.prompt("greet", mood="sad")).texts, list[tuple[str, str]])
        async with client.subscribe("notes://all") as heard:
            assert_type((await heard.next()).uri, str | None)
        await testing.assert_resource(client, "notes://all", {"text": "x"})
        assert_type(await testing.assert_same_in_every_era(server, how_many), int)


async def how_many(client: testing.Client) -> int:
    return len(await client.list_tools())


def tested_plainly() -> None:
    with testing.SyncClient.stdio(["toolhaft", "run", Path("x.py")], env={"A": "b"}) as client:
        assert_type(client.revision, str)
        assert_type(client.call_raw("add").is_error, bool)
        testing.assert_resource(client, "notes://all", {"text": "x"})
        with client.listen(tools=True) as heard:
            assert_type(heard.next().method, str)
