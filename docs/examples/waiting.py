import asyncio
import time

from toolhaft import Context, Server

server = Server("jobs", version="1.0.0")


@server.tool
async def fetch(pages: int, ctx: Context) -> str:
    """A coroutine awaits the context, and is cancelled where it waits."""
    for page in range(pages):
        await ctx.progress(page, pages, f"page {page + 1}")
        await asyncio.sleep(0.01)
    await ctx.log("info", {"pages": pages})
    return f"fetched {pages} pages for {ctx.client.name or 'somebody'}"


@server.tool
def crunch(rounds: int, ctx: Context) -> str:
    """A plain function runs on a thread: `ctx.sync` has no awaits, `ctx.check()` may raise."""
    for done in range(rounds):
        ctx.check()
        ctx.sync.progress(done, rounds)
        time.sleep(0.01)
    return f"crunched {rounds} rounds"
