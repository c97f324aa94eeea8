from typing import Annotated

from msgspec import Meta

from toolhaft import Accepted, Context, Depends, Server, ToolError

server = Server("library", version="1.0.0")
loans = Server("loans", version="1.0.0")
shelf = {"1": "Emma", "2": "Persuasion", "3": "Middlemarch"}


def titles() -> list[str]:
    return list(shelf.values())


@server.tool(read_only=True, tags=["books"])
async def find(
    ctx: Context,
    word: Annotated[str, "a part of the title"],
    limit: Annotated[int, Meta(ge=1)] = 10,
    known: list[str] = Depends(titles),
) -> list[str]:
    """Find books by their title."""
    await ctx.progress(0, len(known))
    return [title for title in known if word in title][:limit]


@server.tool
async def remove(number: str, ctx: Context) -> str:
    """Remove a book from the shelf."""
    if number not in shelf:
        raise ToolError(f"there is no book {number}")
    answer = await ctx.elicit(f"Remove {shelf[number]}?", bool)
    return f"removed {shelf.pop(number)}" if answer == Accepted(True) else "kept"


@loans.tool
def lend(number: str) -> str:
    """Lend a book."""
    return f"lent {shelf[number]}"


server.include(loans, prefix="loans")

if __name__ == "__main__":
    server.run()  # or: server.run(http="127.0.0.1:8000")
