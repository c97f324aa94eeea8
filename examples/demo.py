"""A first server: three tools, a resource, a template and a prompt."""

import asyncio
from typing import Annotated, Literal

from toolhaft import Complete, Context, NotFound, Server, ToolError

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
    await ctx.log("info", f"slept {seconds} seconds")
    return f"took {seconds} seconds"


@server.tool(destructive=True, idempotent=True)
def write_note(name: str, text: str) -> str:
    """Write a note, in the place of an older one of the same name."""
    if not text:
        raise ToolError(f"the note {name!r} would be empty; pass some text")
    NOTES[name] = text
    server.resource_updated(f"notes://{name}")
    return f"wrote {name}"


@server.resource("notes://all")
def all_notes() -> str:
    """The names of all notes."""
    return "\n".join(NOTES)


def _note_names(typed: str) -> list[str]:
    return [name for name in NOTES if name.startswith(typed)]


@server.resource("notes://{name}")
def note(name: Annotated[str, Complete(_note_names)]) -> str:
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
