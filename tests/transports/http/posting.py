"""Tools that report, and clients that post."""

from typing import Any

from tests.transports.http.asgi import StatelessClient

from toolhaft import Context, Server


def echo(text: str) -> str:
    return text


async def chatty(ctx: Context) -> str:
    await ctx.progress(1, 2)
    return "said"


def new_server(**options: Any) -> Server:
    server = Server("s", version="1", **options)
    server.add_tool(echo, thread=False)
    server.add_tool(chatty)
    return server


def new_client(server: Server | None = None, **options: Any) -> StatelessClient:
    return StatelessClient((server or new_server()).asgi(**options))
