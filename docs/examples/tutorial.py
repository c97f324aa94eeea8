import json
from datetime import date
from pathlib import Path
from typing import Annotated

from toolhaft import Accepted, Context, NotFound, Server, ToolError

server = Server("diary", version="1.0.0", instructions="A diary with one entry for each day.")
FILE = Path(__file__).with_name("diary.json")


def entries() -> dict[str, str]:
    """All that was written so far."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def keep(found: dict[str, str]) -> None:
    """Write it down."""
    FILE.write_text(json.dumps(found, indent=2))


@server.tool
def write(text: Annotated[str, "What happened."], day: date | None = None) -> str:
    """Write an entry into the diary.

    Args:
        day: by default today
    """
    written = (day or date.today()).isoformat()
    found = entries()
    if written in found:
        raise ToolError(f"there is an entry for {written} already")
    keep({**found, written: text})
    return f"written for {written}"


@server.tool(read_only=True)
def search(word: str, limit: int = 10) -> list[str]:
    """Days on which a word was written, the latest first."""
    return sorted((day for day, text in entries().items() if word in text), reverse=True)[:limit]


@server.tool(destructive=True)
async def remove(day: date, ctx: Context) -> str:
    """Remove an entry, if the user agrees."""
    found = entries()
    text = found.pop(day.isoformat(), None)
    if text is None:
        raise ToolError(f"there is no entry for {day}")
    sure = await ctx.elicit(f"Remove “{text}”?", bool)
    if sure != Accepted(True):
        return "kept"
    keep(found)
    return "removed"


@server.resource("diary://{day}", mime_type="text/plain")
def entry(day: date) -> str:
    """What was written on a day."""
    text = entries().get(day.isoformat())
    if text is None:
        raise NotFound(f"there is no entry for {day}")
    return text


@server.prompt
def month(name: str) -> str:
    """Ask for a summary of a month."""
    return f"Read my diary of {name} and tell me what mattered."


if __name__ == "__main__":
    server.run()
