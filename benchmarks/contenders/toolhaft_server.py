"""The benchmark's tools on toolhaft."""

import os
from dataclasses import dataclass

from msgspec import Struct

from toolhaft import Server


class Item(Struct):
    name: str
    price: int
    quantity: int
    tags: list[str]


class Query(Struct):
    text: str
    limit: int
    items: list[Item]


@dataclass
class ItemData:
    name: str
    price: int
    quantity: int
    tags: list[str]


@dataclass
class QueryData:
    text: str
    limit: int
    items: list[ItemData]


server = Server("bench", version="1")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def add_sync(a: int, b: int) -> int:
    """Add two numbers on a thread."""
    return a + b


@server.tool
async def echo(text: str) -> str:
    """Give the text back."""
    return text


@server.tool
async def search_structs(query: Query) -> int:
    """Add up what the items of the query cost."""
    return sum(item.price * item.quantity for item in query.items)


@server.tool
async def search_dataclasses(query: QueryData) -> int:
    """Add up what the items of the query cost."""
    return sum(item.price * item.quantity for item in query.items)


if "BENCH_MODELS" in os.environ:
    from models import QueryModel

    @server.tool
    async def search_models(query: QueryModel) -> int:
        """Add up what the items of the query cost."""
        return sum(item.price * item.quantity for item in query.items)


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
