"""The benchmark's tools on toolhaft, over HTTP, served as `run` serves them: by uvicorn on uvloop
and httptools, with toolhaft's own short way to answers. How it answers depends on what a tool does.
"""

import asyncio

from http_serving import port
from toolhaft_server import server

from toolhaft import Context


@server.tool
async def add_with_progress(a: int, b: int, ctx: Context) -> int:
    """Add two numbers, and say so before."""
    await ctx.progress(1, 2)
    return a + b


@server.tool
async def add_slowly(a: int, b: int) -> int:
    """Add two numbers after a tenth of a second."""
    await asyncio.sleep(0.1)
    return a + b


if __name__ == "__main__":
    server.run(http=f"127.0.0.1:{port()}", path="/mcp", sessions="auto")
