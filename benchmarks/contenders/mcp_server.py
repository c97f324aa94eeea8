"""The benchmark's tools on `mcp`."""

import os

from mcp.server import MCPServer
from pydantic import BaseModel


class Item(BaseModel):
    name: str
    price: int
    quantity: int
    tags: list[str]


class Query(BaseModel):
    text: str
    limit: int
    items: list[Item]


# Quiet, so that log lines are not part of what is measured.
server = MCPServer("bench", version="1", log_level="WARNING")


@server.tool()
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def add_sync(a: int, b: int) -> int:
    """Add two numbers on a thread."""
    return a + b


@server.tool()
async def echo(text: str) -> str:
    """Give the text back."""
    return text


async def search(query: Query) -> int:
    """Add up what the items of the query cost."""
    return sum(item.price * item.quantity for item in query.items)


# Whatever the others take, this package reads arguments with pydantic.
for name in ("search_structs", "search_dataclasses"):
    server.tool(name=name)(search)
if "BENCH_MODELS" in os.environ:
    server.tool(name="search_models")(search)


def register_filler(number: int) -> None:
    """Register one more tool, from a function of its own as in a real program."""

    @server.tool(name=f"filler_{number:04}")
    async def filler(path: str, pattern: str, depth: int = 3, hidden: bool = False) -> str:
        """Look for a pattern in the files below a path."""
        return f"{path} {pattern} {depth} {hidden}"


for number in range(int(os.environ.get("BENCH_FILLERS", "0"))):
    register_filler(number)

if __name__ == "__main__":
    server.run()
