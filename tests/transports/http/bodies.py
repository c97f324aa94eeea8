"""Servers and requests with bodies of any length."""

import asyncio
from typing import Any

from tests.transports.http.asgi import ACCEPT

from toolhaft import Context, Limits, Server


def new_server(**limits: Any) -> Server:
    server = Server("s", version="1", limits=Limits(progress_per_second=1_000_000, **limits))
    server.add_tool(lambda text: text, name="echo", thread=False)
    return server


def head(**more: str) -> dict[str, str]:
    """Of a POST whose body comes in parts."""
    return {
        "content-type": "application/json",
        "accept": ACCEPT,
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/list",
        **{name.replace("_", "-"): value for name, value in more.items()},
    }


class Torrent:
    """A tool that tells more than anybody reads."""

    def __init__(self, server: Server) -> None:
        self.ended = asyncio.Event()
        self.sent = 0
        server.add_tool(self.run, name="torrent")

    async def run(self, ctx: Context) -> None:
        try:
            while True:
                self.sent += 1
                await ctx.progress(self.sent, message="x" * 1000)
                await asyncio.sleep(0)
        finally:
            self.ended.set()
