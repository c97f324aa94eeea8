"""A client in the same process: real frames, and the protocol as any client speaks it."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from ..errors import McpError
from ..protocol.revisions import Revision
from ..runtime.connection import Connection
from ..runtime.service import Service, connected

Json: TypeAlias = dict[str, Any]
Hear: TypeAlias = Callable[[str, Json], None]

_CLIENT = {"name": "toolhaft", "version": "0.0.0"}
_LEVEL = "debug"


class Conversation:
    """Requests and their answers, one after the other, with one server."""

    def __init__(self, revision: Revision, hear: Hear) -> None:
        self._revision = revision
        self._hear = hear
        self._loop = asyncio.get_running_loop()
        self._connection: Connection | None = None
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._last_id = 0
        self._capabilities: Json | None = None

    async def begin(self, connection: Connection) -> None:
        """Talk over this connection from now on, beginning as the revision asks for."""
        self._connection = connection
        if not self._revision.handshake:
            return
        params = {
            "protocolVersion": self._revision.date,
            "capabilities": {},
            "clientInfo": _CLIENT,
        }
        opened = await self.request("initialize", params)
        offered: Json = opened["capabilities"]
        self._capabilities = offered
        self._send({"method": "notifications/initialized"})
        if "logging" in offered:
            await self.request("logging/setLevel", {"level": _LEVEL})

    async def request(self, method: str, params: Json) -> Json:
        """Ask, and wait for the result. Cancelled while it waits, it cancels the request.

        Raises:
            McpError: the server refuses.
        """
        self._last_id = id_ = self._last_id + 1
        answer = self._waiting[id_] = self._loop.create_future()
        meta = {**self._envelope(), "progressToken": id_}
        self._send({"id": id_, "method": method, "params": {**params, "_meta": meta}})
        try:
            message = await answer
        except asyncio.CancelledError:
            self._send({"method": "notifications/cancelled", "params": {"requestId": id_}})
            raise
        finally:
            del self._waiting[id_]
        if "error" in message:
            error = message["error"]
            raise McpError(error["message"], code=error["code"])
        result: Json = message["result"]
        return result

    async def capabilities(self) -> Json:
        """What the server offers."""
        if self._capabilities is not None:
            return self._capabilities
        found = await self.request("server/discover", {})
        offered: Json = found["capabilities"]
        return offered

    async def all_of(self, method: str, member: str) -> list[Json]:
        """The entries of a list, from all of its pages."""
        page = await self.request(method, {})
        entries: list[Json] = page[member]
        while "nextCursor" in page:
            page = await self.request(method, {"cursor": page["nextCursor"]})
            entries += page[member]
        return entries

    def take(self, frame: bytes) -> None:
        """What the server sends. From any thread."""
        self._loop.call_soon_threadsafe(self._take, frame)

    def _take(self, frame: bytes) -> None:
        message: Json = json.loads(frame)
        if "method" in message:
            self._hear(message["method"], message.get("params", {}))
            return
        answer = self._waiting.get(message.get("id", 0))
        if answer is not None and not answer.done():
            answer.set_result(message)

    def _send(self, message: Json) -> None:
        assert self._connection is not None, "a conversation begins with a connection"
        # The standard library's JSON, since msgspec's has no integers beyond 64 bits.
        text = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"), ensure_ascii=False)
        self._connection.receive(text.encode("utf-8", "surrogatepass"))

    def _envelope(self) -> Json:
        if self._revision.handshake:
            return {}
        return {
            "io.modelcontextprotocol/protocolVersion": self._revision.date,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": _CLIENT,
            "io.modelcontextprotocol/logLevel": _LEVEL,
        }


@asynccontextmanager
async def conversation(
    service: Service, revision: Revision, hear: Hear
) -> AsyncGenerator[Conversation]:
    """A conversation that lasts as long as the block, within the service's lifespan.

    Args:
        hear: gets the method and the parameters of each notification.
    """
    talk = Conversation(revision, hear)
    async with connected(service, talk.take) as connection:
        await talk.begin(connection)
        yield talk
