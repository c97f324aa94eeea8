"""A server in the same process: real frames, without a pipe between."""

import asyncio
import contextlib
from typing import Any

from ..calls.connection import Connection
from ..calls.output import Sink
from ..calls.service import Service, connected
from .transport import Hear, Lost, OneStream


class InMemory(OneStream):
    """One connection to a server, within its lifespan."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._block = contextlib.AsyncExitStack()
        self._connection: Connection | None = None

    async def open(self, hear: Hear, lost: Lost) -> None:
        loop = asyncio.get_running_loop()

        def take(frame: bytes) -> None:  # from any thread
            loop.call_soon_threadsafe(hear, frame)

        entered = self._block.enter_async_context(connected(self._service, Sink(take)))
        self._connection = await entered

    async def send(self, frame: bytes, message: Any) -> None:
        assert self._connection is not None, "it is opened first"
        self._connection.receive(frame)

    async def close(self) -> None:
        await self._block.aclose()
