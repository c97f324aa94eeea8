from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from toolhaft import Server

server = Server("demo", version="1.0.0")


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


mcp = server.asgi("/mcp")

Event = MutableMapping[str, Any]


async def app(
    scope: Event,
    receive: Callable[[], Awaitable[Event]],
    send: Callable[[Event], Awaitable[None]],
) -> None:
    """Lifespan events go to the server as well: so it begins and ends with the host."""
    if scope["type"] == "lifespan" or scope["path"] == "/mcp":
        await mcp(scope, receive, send)
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"a page of your own"})
