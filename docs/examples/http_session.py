from dataclasses import dataclass

from toolhaft import Context, Server, ToolError

server = Server("reader", version="1.0.0")


@dataclass
class Place:
    book: str
    page: int = 0


@server.tool(needs_session=True)
async def turn(ctx: Context, pages: int = 1, book: str | None = None) -> Place:
    """Turn pages, or begin with another book."""
    assert ctx.session is not None, "it needs one"
    place = ctx.session.get("place", type=Place)
    if book is not None:
        place = Place(book)
    elif place is None:
        raise ToolError("say which book")
    place.page += pages
    ctx.session["place"] = place
    return place
