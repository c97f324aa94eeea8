"""The benchmark's tools on `fastmcp`, over HTTP."""

import asyncio

from fastmcp import Context
from fastmcp_server import server
from http_serving import serve, wants_json


@server.tool
async def add_with_progress(a: int, b: int, ctx: Context) -> int:
    """Add two numbers, and say so before."""
    await ctx.report_progress(1, 2)
    return a + b


@server.tool
async def add_slowly(a: int, b: int) -> int:
    """Add two numbers after a tenth of a second."""
    await asyncio.sleep(0.1)
    return a + b


if __name__ == "__main__":
    app = server.http_app(path="/mcp", json_response=wants_json())
    serve(app, lifespan=app.lifespan)
