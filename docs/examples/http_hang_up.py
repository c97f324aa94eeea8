import asyncio

from toolhaft import Context, Server

server = Server("reports", version="1.0.0")


@server.tool
async def report(ctx: Context, seconds: float = 60) -> str:
    """Make a report, which takes a while."""
    ctx.hang_up()  # the client comes back for the rest; this goes on
    await asyncio.sleep(seconds)
    return "42 pages"
