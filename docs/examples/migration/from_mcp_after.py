from typing import Annotated

from msgspec import Meta

from toolhaft import Accepted, Context, NotFound, Server, ToolError

server = Server("library", version="1.0.0")
shelf = {"1": "Emma", "2": "Persuasion", "3": "Middlemarch"}


@server.tool(read_only=True)
async def find(ctx: Context, word: str, limit: Annotated[int, Meta(ge=1)] = 10) -> list[str]:
    """Find books by their title.

    Args:
        word: a part of the title
        limit: how many at most
    """
    await ctx.progress(0, len(shelf))
    return [title for title in shelf.values() if word in title][:limit]


@server.tool
async def remove(number: str, ctx: Context) -> str:
    """Remove a book from the shelf."""
    if number not in shelf:
        raise ToolError(f"there is no book {number}")
    answer = await ctx.elicit(f"Remove {shelf[number]}?", bool)
    return f"removed {shelf.pop(number)}" if answer == Accepted(True) else "kept"


@server.resource("book://{number}")
def book(number: str) -> str:
    """The title of a book."""
    if number not in shelf:
        raise NotFound(f"there is no book {number}")
    return shelf[number]


@server.prompt
def review(title: str) -> str:
    """Ask for a review."""
    return f"Write a review of {title}."


if __name__ == "__main__":
    server.run()  # or: server.run(http="127.0.0.1:8000")
