import asyncio

from toolhaft import Server

server = Server("bounds", version="1.0.0")


@server.tool(timeout=0.2)
async def ask(question: str) -> str:
    """Ask a service that may not answer."""
    await asyncio.sleep(60)
    return f"the answer to {question}"


@server.tool(limit=1)
async def print_page(page: int) -> str:
    """There is one printer: calls that come meanwhile wait in line."""
    await asyncio.sleep(0.01)
    return f"printed page {page}"
