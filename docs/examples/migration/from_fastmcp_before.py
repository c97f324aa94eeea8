from typing import Annotated

from fastmcp import Context, FastMCP
from fastmcp.dependencies import Depends
from fastmcp.exceptions import ToolError
from pydantic import Field

mcp = FastMCP("library", version="1.0.0")
loans = FastMCP("loans")
shelf = {"1": "Emma", "2": "Persuasion", "3": "Middlemarch"}


def titles() -> list[str]:
    return list(shelf.values())


@mcp.tool(annotations={"readOnlyHint": True}, tags={"books"})
async def find(
    ctx: Context,
    word: Annotated[str, "a part of the title"],
    limit: Annotated[int, Field(ge=1)] = 10,
    known: list[str] = Depends(titles),
) -> list[str]:
    """Find books by their title."""
    await ctx.report_progress(0, len(known))
    return [title for title in known if word in title][:limit]


@mcp.tool
async def remove(number: str, ctx: Context) -> str:
    """Remove a book from the shelf."""
    if number not in shelf:
        raise ToolError(f"there is no book {number}")
    # Works for clients up to 2025-11-25 only; for newer ones the tool has to return an
    # InputRequiredResult and to be written a second time.
    answer = await ctx.elicit(f"Remove {shelf[number]}?", response_type=bool)
    return f"removed {shelf.pop(number)}" if answer.action == "accept" and answer.data else "kept"


@loans.tool
def lend(number: str) -> str:
    """Lend a book."""
    return f"lent {shelf[number]}"


mcp.mount(loans, namespace="loans")

if __name__ == "__main__":
    mcp.run()  # or: mcp.run("http", port=8000)
