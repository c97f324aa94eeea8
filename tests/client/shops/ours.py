"""A shop, served by toolhaft."""

from typing import Literal

from toolhaft import Accepted, Context, Server, ToolError

server = Server("shop", version="1.0.0", instructions="Sell shoes.")


@server.tool
def price(pairs: int, each: float = 50.0) -> float:
    """What shoes cost."""
    if pairs < 1:
        raise ToolError("at least one pair")
    return pairs * each


@server.tool
async def order(ctx: Context) -> str:
    """Order shoes."""
    size = await ctx.elicit(
        "Which size?",
        {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]},
    )
    return f"size {size.value['size']}" if isinstance(size, Accepted) else "nothing"


@server.resource("shop://opening-hours", mime_type="text/plain")
def opening_hours() -> str:
    """When the shop is open."""
    return "9 to 5"


@server.resource("shop://shoes/{name}")
def shoe(name: str) -> str:
    """One of the shoes."""
    return f"{name}, brown"


@server.prompt
def advertise(shoe: str, tone: Literal["loud", "quiet"] = "quiet") -> str:
    """Write an advertisement."""
    return f"Praise {shoe}, {tone}."


if __name__ == "__main__":
    server.run()
