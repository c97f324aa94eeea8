"""The same shop, served by `fastmcp`."""

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError

server = FastMCP("shop", version="1.0.0", instructions="Sell shoes.")


@server.tool
def price(pairs: int, each: float = 50.0) -> float:
    """What shoes cost."""
    if pairs < 1:
        raise ToolError("at least one pair")
    return pairs * each


@server.resource("shop://opening-hours", mime_type="text/plain")
def opening_hours() -> str:
    """When the shop is open."""
    return "9 to 5"


@server.resource("shop://shoes/{name}")
def shoe(name: str) -> str:
    """One of the shoes."""
    return f"{name}, brown"


@server.prompt
def advertise(shoe: str, tone: str = "quiet") -> str:
    """Write an advertisement."""
    return f"Praise {shoe}, {tone}."


if __name__ == "__main__":
    server.run(show_banner=False)
