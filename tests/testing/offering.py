"""A server with a bit of everything, for the tests of the client."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from toolhaft import (
    Accepted,
    Complete,
    Context,
    Image,
    NotFound,
    Roots,
    Server,
    ToolError,
    assistant,
    user,
)

REVISIONS = ("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
# Those that know forms.
ASKING = REVISIONS[:3]
ERAS = REVISIONS[:2]
PIXEL = b"\x89PNG\r\n\x1a\n"


@dataclass
class Point:
    x: int
    y: int


class Log(list[str]):
    """What has happened inside."""

    def __init__(self) -> None:
        super().__init__()
        self.is_waiting = asyncio.Event()


def make(log: Log | None = None) -> Server:  # noqa: C901 - one function for each of its tools
    happened = Log() if log is None else log

    @contextlib.asynccontextmanager
    async def lifespan(_server: Server) -> AsyncGenerator[None]:
        happened.append("begin")
        yield
        happened.append("end")

    server = Server(
        "offering",
        version="1.2.3",
        instructions="Ask nicely.",
        page_size=3,
        lifespan=lifespan,
    )

    @server.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool
    def point(x: int, y: int) -> Point:
        return Point(x, y)

    @server.tool
    def wrapped() -> dict[str, int]:
        return {"result": 7}

    @server.tool
    def words(text: str) -> Any:
        return text

    @server.tool
    def picture() -> Image:
        return Image(PIXEL, "image/png")

    @server.tool
    def several() -> Any:
        return ["one", Image(PIXEL, "image/png")]

    @server.tool
    def nothing() -> None:
        return None

    @server.tool
    def fails() -> str:
        raise ToolError("no luck today")

    @server.tool
    async def order(ctx: Context) -> str:
        size = await ctx.elicit("Which size?", int)
        return f"size {size.value}" if isinstance(size, Accepted) else type(size).__name__

    @server.tool
    async def twice(ctx: Context) -> list[str]:
        first = await ctx.elicit("First?", str)
        second = await ctx.elicit("Second?", str)
        return [each.value for each in (first, second) if isinstance(each, Accepted)]

    @server.tool
    async def visit(ctx: Context) -> str:
        return type(await ctx.elicit_url("Sign in?", "https://example.org/")).__name__

    @server.tool
    async def think(ctx: Context) -> str:
        said = await ctx.sample("A word?")
        places = await ctx.ask(where=Roots())
        return f"{said.text} in {places['where'][0].uri}"

    @server.tool
    async def steps(ctx: Context) -> str:
        for done in (1, 2):
            await ctx.progress(done, 2, f"step {done}")
        await ctx.log("info", {"said": "hello"}, logger="steps")
        return "done"

    @server.tool
    async def waits() -> str:
        happened.is_waiting.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            happened.append("cancelled")
            raise
        return "slept"

    @server.resource("notes://all", mime_type="text/plain")
    def notes() -> str:
        return "milk"

    @server.resource("blob://one")
    def blob() -> bytes:
        return b"\x00\xff"

    @server.resource("notes://{name}")
    def note(name: str) -> str:
        if name == "gone":
            raise NotFound("it is gone")
        return f"about {name}"

    @server.prompt
    def review(
        code: str, style: Annotated[str, Complete(lambda value, given: ["brief", "long"])] = "brief"
    ) -> Any:
        return [user(f"Review {code}, {style}."), assistant("Gladly.")]

    @server.prompt
    def greet(mood: Literal["happy", "sad"]) -> str:
        return f"Be {mood}."

    return server


def add_memory(server: Server) -> None:
    """Tools that keep something in the session of a client, if it has one."""

    @server.tool
    async def remember(value: str, ctx: Context) -> None:
        assert ctx.session is not None
        ctx.session["value"] = value

    @server.tool
    async def recall(ctx: Context) -> str:
        return "no session" if ctx.session is None else ctx.session.get("value", "nothing")
