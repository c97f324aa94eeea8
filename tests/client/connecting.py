"""Servers over HTTP and in processes, for the client for tests."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

from toolhaft import Listener, Server
from toolhaft.testing import (
    Client,
)


@asynccontextmanager
async def listening(server: Server, **options: Any) -> AsyncIterator[str]:
    """A server that listens on a port of the system's choice; its URL."""
    listener = Listener("127.0.0.1:0", {"/mcp": server}, **options)
    serving = asyncio.create_task(listener.serve())
    try:
        async with asyncio.timeout(15):
            while True:
                try:
                    url = listener.url
                    port = int(url.rpartition(":")[2])
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.01)
                else:
                    writer.close()
                    await writer.wait_closed()
                    break
        yield f"{url}/mcp"
    finally:
        listener.stop(now=True)
        await serving


@asynccontextmanager
async def by_socket(server: Server, revision: str | None, **options: Any) -> AsyncIterator[Client]:
    own = {name: options.pop(name) for name in ("guard", "sessions") if name in options}
    async with (
        listening(server, **own) as url,
        Client.http(url, revision=revision, **options) as client,
    ):
        yield client


@asynccontextmanager
async def by_asgi(server: Server, revision: str | None, **options: Any) -> AsyncIterator[Client]:
    own = {name: options.pop(name) for name in ("guard", "sessions") if name in options}
    async with Client.asgi(server.asgi(**own), revision=revision, **options) as client:
        yield client


async def serving(answer: bytes) -> tuple[asyncio.Server, str]:
    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(respond, "127.0.0.1", 0)
    return server, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


def script(folder: Path, source: str) -> list[str]:
    path = folder / "script.py"
    path.write_text(dedent(source))
    return [sys.executable, str(path)]
