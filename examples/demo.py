"""A first server: two tools, a resource, a template and a prompt."""

import asyncio
from typing import Annotated, Literal

from toolhaft import Context, NotFound, Server

server = Server("demo", version="1.0.0", instructions="Adds numbers and keeps a few notes.")

NOTES = {"welcome": "Hello from toolhaft.", "todo": "Write a server of your own."}


@server.tool(read_only=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
async def slow(seconds: Annotated[float, "how long to take"], ctx: Context) -> str:
    """Take a while, and report progress on the way."""
    steps = 10
    for step in range(steps):
        await ctx.progress(step, steps, f"step {step + 1} of {steps}")
        await asyncio.sleep(seconds / steps)
    await ctx.progress(steps, steps)
    return f"took {seconds} seconds"


@server.resource("notes://all")
def all_notes() -> str:
    """The names of all notes."""
    return "\n".join(NOTES)


@server.resource("notes://{name}")
def note(name: str) -> str:
    """One note."""
    if name not in NOTES:
        raise NotFound(f"no note named {name}")
    return NOTES[name]


@server.prompt
def greet(name: str, style: Literal["formal", "casual"] = "casual") -> str:
    """Greet somebody."""
    return f"Write a {style} greeting for {name}."


if __name__ == "__main__":
    server.run()
