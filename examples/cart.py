"""A shopping cart over HTTP: each session has one, and nobody gets at that of another.

`python examples/cart.py` serves at http://127.0.0.1:8080/mcp, or at the port in HTTP_PORT. It knows
Alice and Bob by their tokens: `Authorization: Bearer alice-token`.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from toolhaft import Context, Server, SessionData, ToolError, Unauthorized

server = Server("cart", version="1.0.0", instructions="Keeps a shopping cart for each session.")

# Real ones would be long and random, and not in the source.
TOKENS = {"alice-token": "alice", "bob-token": "bob"}
PRICES = {"tea": 320, "milk": 119, "bread": 265}  # in cents

Quantity = Annotated[int, Meta(ge=1, le=100)]


@dataclass
class Cart:
    owner: str
    items: dict[str, int]
    total: int  # in cents


def guard(headers: Mapping[str, str]) -> str:
    """Who sends a request. What is returned is `ctx.principal`."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or token not in TOKENS:
        raise Unauthorized("send the token of a customer: Authorization: Bearer …")
    return TOKENS[token]


# Coroutines that never wait are not interrupted, so two calls at once lose nothing.


@server.tool
async def add_item(item: str, ctx: Context, quantity: Quantity = 1) -> Cart:
    """Put something into the cart."""
    if item not in PRICES:
        raise ToolError(f"we have no {item!r}; we have {', '.join(PRICES)}")
    items = _items(ctx)
    return _keep(ctx, {**items, item: items.get(item, 0) + quantity})


@server.tool
async def remove_item(item: str, ctx: Context) -> Cart:
    """Take all of one thing out of the cart."""
    items = _items(ctx)
    if item not in items:
        raise ToolError(f"there is no {item!r} in the cart")
    del items[item]
    return _keep(ctx, items)


@server.tool(read_only=True)
async def list_items(ctx: Context) -> Cart:
    """What is in the cart."""
    return _cart(ctx, _items(ctx))


def _session(ctx: Context) -> SessionData:
    if ctx.session is None:
        raise ToolError("a cart needs a session; use a client that begins with `initialize`")
    return ctx.session


def _items(ctx: Context) -> dict[str, int]:
    return _session(ctx).get("items", {}, type=dict[str, int])


def _keep(ctx: Context, items: dict[str, int]) -> Cart:
    _session(ctx)["items"] = items
    return _cart(ctx, items)


def _cart(ctx: Context, items: dict[str, int]) -> Cart:
    total = sum(PRICES[item] * quantity for item, quantity in items.items())
    return Cart(owner=ctx.principal or "nobody", items=items, total=total)


if __name__ == "__main__":
    port = os.environ.get("HTTP_PORT", "8080")
    server.run(http=port, sessions="stateful", guard=guard)
