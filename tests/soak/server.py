"""The server of the soak: tools that do what tools do, and what they should not."""

import asyncio
import time
from collections.abc import AsyncIterator

from toolhaft import Context, Server, ToolError

server = Server("soaked", version="1.0.0")


@server.tool
def add(a: int, b: int) -> int:
    """Add on a thread."""
    return a + b


@server.tool
async def slow(seconds: float, ctx: Context) -> str:
    """Take a while, and say so."""
    await ctx.progress(0, 1)
    await asyncio.sleep(seconds)
    return "slept"


@server.tool
def block(seconds: float) -> str:
    """Hold a thread."""
    time.sleep(seconds)
    return "blocked"


@server.tool
async def count(to: int) -> AsyncIterator[int]:
    """Report each step."""
    for number in range(to + 1):
        yield number
        await asyncio.sleep(0)


@server.tool
def big(size: int) -> str:
    """Give much."""
    return "x" * size


@server.tool
async def fail(how: str) -> str:
    """Fail, in one of several ways."""
    failures: dict[str, BaseException] = {
        "on purpose": ToolError("on purpose"),
        "bug": ValueError("a bug"),
        "exit": SystemExit(1),
        "interrupt": KeyboardInterrupt(),
        "cancelled": asyncio.CancelledError(),
    }
    raise failures[how]


@server.tool
def touch() -> str:
    """Tell whoever listens."""
    server.resource_updated("soak://news")
    return "touched"


@server.resource("soak://{name}")
def note(name: str) -> str:
    """Something to read."""
    return name
