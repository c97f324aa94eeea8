from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, Resolve
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

mcp = MCPServer("library", version="1.0.0")
shelf = {"1": "Emma", "2": "Persuasion", "3": "Middlemarch"}


class Confirmed(BaseModel):
    sure: bool


async def confirm(number: str) -> Elicit[Confirmed]:
    # Asked before the body of the tool runs, so what has to be checked first is checked here.
    if number not in shelf:
        raise ToolError(f"there is no book {number}")
    return Elicit(f"Remove {shelf[number]}?", Confirmed)


@mcp.tool(annotations=ToolAnnotations(read_only_hint=True))
async def find(
    ctx: Context,
    word: Annotated[str, Field(description="a part of the title")],
    limit: Annotated[int, Field(description="how many at most", ge=1)] = 10,
) -> list[str]:
    """Find books by their title."""
    await ctx.report_progress(0, len(shelf))
    return [title for title in shelf.values() if word in title][:limit]


@mcp.tool()
async def remove(number: str, answer: Annotated[Confirmed, Resolve(confirm)]) -> str:
    """Remove a book from the shelf."""
    return f"removed {shelf.pop(number)}" if answer.sure else "kept"


@mcp.resource("book://{number}")
def book(number: str) -> str:
    """The title of a book."""
    if number not in shelf:
        raise ResourceNotFoundError(f"there is no book {number}")
    return shelf[number]


@mcp.prompt()
def review(title: str) -> str:
    """Ask for a review."""
    return f"Write a review of {title}."


if __name__ == "__main__":
    mcp.run()  # or: mcp.run("streamable-http", host="127.0.0.1", port=8000)
