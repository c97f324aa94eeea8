"""Clients of both eras, in memory and over HTTP, that hear what a server tells them."""

import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Any

from toolhaft import Server
from toolhaft import testing as kit

Json = dict[str, Any]
NEW, OLD = "2026-07-28", "2025-11-25"
# For what should happen at once, on a machine that others use, too.
PATIENCE = 15


class Client:
    """A client whose answers are looked at as they were sent."""

    def __init__(self, client: kit.Client, block: contextlib.AsyncExitStack) -> None:
        self._client = client
        self._block = block
        self._heard: kit.Heard | None = None

    async def ask(self, method: str, **params: Any) -> Json:
        """The result, or the error, of a request."""
        answer = await self._client.raw(self._client.requests.request(method, params))
        found: Json = answer["result"] if "result" in answer else answer["error"]
        return found

    async def follow(self, *uris: str) -> None:
        """Hear of all changes of lists, and of these resources."""
        following = self._client.listen(tools=True, prompts=True, resources=True, uris=uris)
        self._heard = await self._block.enter_async_context(following)

    @property
    def heard(self) -> kit.Heard:
        """What it hears."""
        assert self._heard is not None, "it follows nothing"
        return self._heard


async def hears(client: Client) -> str:
    """The method of the next notification."""
    return (await client.heard.next(PATIENCE)).method


@contextlib.asynccontextmanager
async def _opened(client: kit.Client) -> AsyncGenerator[Client]:
    async with client, contextlib.AsyncExitStack() as block:
        yield Client(client, block)


def asking(server: Server, revision: str = NEW) -> contextlib.AbstractAsyncContextManager[Client]:
    """A client in memory."""
    return _opened(kit.Client(server, revision))


def over_http(server: Server, revision: str) -> contextlib.AbstractAsyncContextManager[Client]:
    """A client over HTTP, without a socket."""
    return _opened(kit.Client.asgi(server.asgi(), revision=revision))


Connect = Callable[[Server], "contextlib.AbstractAsyncContextManager[Client]"]
CLIENTS: dict[str, Connect] = {
    "memory 2025": lambda server: asking(server, OLD),
    "memory 2026": lambda server: asking(server, NEW),
    "http 2025": lambda server: over_http(server, OLD),
    "http 2026": lambda server: over_http(server, NEW),
}
