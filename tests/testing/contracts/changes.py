"""Changes of a contract, and what is told of them."""

import asyncio
import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec

from toolhaft import Server
from toolhaft.testing import contract_of
from toolhaft.testing.contracts.differences import differences

Json = dict[str, Any]


class Point(msgspec.Struct):
    x: int
    y: int = 0


def made() -> Server:
    server = Server("shop", version="1.0.0", instructions="Sells.\nAnd sends.")

    @server.tool(read_only=True)
    def find(words: list[str], limit: Annotated[int, "how many"] = 10) -> Point:
        """Find something.

        It takes a while."""
        return Point(1)

    @server.tool
    def order(article: str, speed: Literal["normal", "express"] = "normal") -> None:
        """Order it."""

    @server.resource("shop://prices", mime_type="text/csv")
    def prices() -> str:
        """All prices."""
        return ""

    @server.resource("shop://article/{number}")
    def article(number: str) -> str:
        """One article."""
        return ""

    @server.prompt
    def advice(about: str, tone: str = "kind") -> str:
        """Ask for advice."""
        return about

    return server


def changed(change: Callable[[Json], None]) -> list[tuple[str, bool]]:
    """What is said after a change to the contract."""
    before = asyncio.run(contract_of(made()))
    after = json.loads(json.dumps(before))
    change(after)
    return [(str(each), each.breaks) for each in differences(before, after)]


def in_an_object(**members: Any) -> Json:
    return {"type": "object", "properties": members}


def told(before: Json, after: Json) -> list[tuple[bool, str]]:
    """What is said of arguments that change."""
    old, new = ({"tools": {"t": {"inputSchema": each}}} for each in (before, after))
    return [(each.breaks, str(each)) for each in differences(old, new)]
