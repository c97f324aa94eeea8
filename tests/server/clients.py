"""Clients of both eras, in this process and of processes of their own."""

import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from tests.asking import NEW, OLD
from tests.transports.http.servers.web import Site, by_command
from tests.warm import OURS, warm

from toolhaft import Server
from toolhaft.testing import Client, Heard

ROOT = Path(__file__).parents[2]


def following(client: Client, *uris: str) -> AbstractAsyncContextManager[Heard]:
    """Hear of all changes of lists, and of these resources."""
    return client.listen(tools=True, prompts=True, resources=True, uris=uris)


Connect = Callable[[Server], Client]
CLIENTS: dict[str, Connect] = {
    "memory 2025": lambda server: Client(server, OLD),
    "memory 2026": lambda server: Client(server, NEW),
    "http 2025": lambda server: Client.asgi(server.asgi(), revision=OLD),
    "http 2026": lambda server: Client.asgi(server.asgi(), revision=NEW),
}


@asynccontextmanager
async def over_stdio(file: Path, revision: str) -> AsyncGenerator[Client]:
    """A client of a file that is run as a script. It has to end well, and to be silent."""
    async with Client.stdio(warm(OURS, str(file)), revision=revision) as client:
        yield client
    assert (client.exit_status, client.stderr) == (0, "")


@asynccontextmanager
async def over_http(file: Path, revision: str) -> AsyncGenerator[Client]:
    """A client of a file that our command serves. It has to end well."""
    with Site(by_command(file), cwd=ROOT) as site:
        site.is_served()
        url = f"http://127.0.0.1:{site.port}/mcp"
        async with Client.http(url, revision=revision) as client:
            yield client
        assert site.status_after(signal.SIGTERM) == 0
        assert "Traceback" not in site.stderr


ByFile = Callable[[Path], AbstractAsyncContextManager[Client]]
PROCESSES: dict[str, ByFile] = {
    "stdio 2025": lambda file: over_stdio(file, OLD),
    "stdio 2026": lambda file: over_stdio(file, NEW),
    "http 2025": lambda file: over_http(file, OLD),
    "http 2026": lambda file: over_http(file, NEW),
}
