"""The same shop, served by the `mcp` package."""

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Elicit, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("shop", version="1.0.0", instructions="Sell shoes.", log_level="ERROR")


@server.tool()
def price(pairs: int, each: float = 50.0) -> float:
    """What shoes cost."""
    if pairs < 1:
        raise ToolError("at least one pair")
    return pairs * each


class Size(BaseModel):
    size: int


def which_size() -> Elicit[Size]:
    return Elicit("Which size?", Size)


@server.tool()
async def order(size: Annotated[Size, Resolve(which_size)]) -> str:
    """Order shoes."""
    return f"size {size.size}"


@server.resource("shop://opening-hours", mime_type="text/plain")
def opening_hours() -> str:
    """When the shop is open."""
    return "9 to 5"


@server.resource("shop://shoes/{name}")
def shoe(name: str) -> str:
    """One of the shoes."""
    return f"{name}, brown"


@server.prompt()
def advertise(shoe: str, tone: str = "quiet") -> str:
    """Write an advertisement."""
    return f"Praise {shoe}, {tone}."


if __name__ == "__main__":
    server.run()
