from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.routing import Route

from toolhaft import Context, Server

open_files: list[str] = []


@asynccontextmanager
async def files(server: Server) -> AsyncGenerator[list[str]]:
    """Stands for what has to be opened, and closed at the end."""
    open_files.append("ledger")
    try:
        yield open_files
    finally:
        open_files.clear()


server = Server("demo", version="1.0.0", lifespan=files)


@server.tool
def opened(ctx: Context) -> list[str]:
    """What is open."""
    found: list[str] = ctx.lifespan
    return found


mcp = server.asgi()
app = Starlette(routes=[Route("/mcp", mcp)], lifespan=mcp.lifespan)
