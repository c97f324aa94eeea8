"""The benchmark's tools on `mcp`, over HTTP."""

import asyncio

from http_serving import serve, wants_json
from mcp.server.mcpserver import Context
from mcp_server import server


@server.tool()
async def add_with_progress(a: int, b: int, ctx: Context) -> int:
    """Add two numbers, and say so before."""
    await ctx.report_progress(1, 2)
    return a + b


@server.tool()
async def add_slowly(a: int, b: int) -> int:
    """Add two numbers after a tenth of a second."""
    await asyncio.sleep(0.1)
    return a + b


if __name__ == "__main__":
    app = server.streamable_http_app(json_response=wants_json())
    serve(app, lifespan=app.router.lifespan_context)
