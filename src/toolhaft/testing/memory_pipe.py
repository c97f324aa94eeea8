"""A server over a pair of streams in memory: every byte goes through its framing."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from ..client.failures import NoAnswer, ServerGone
from ..client.transport import Hear, Lost
from ..protocol.ports import Reader, Writer

_PATIENCE = 5.0


class Pipe:
    """A `Transport`, whose server reads from and writes to this, as `server.serve` does."""

    said = ""

    def __init__(self, serve: Callable[[Reader, Writer], Awaitable[None]]) -> None:
        self._serve = serve
        self._reader: asyncio.StreamReader | None = None
        self._serving: asyncio.Future[None] | None = None
        self._rest = b""

    async def open(self, hear: Hear, lost: Lost) -> None:
        self._hear, self._lost = hear, lost
        self._reader = asyncio.StreamReader()
        self._serving = asyncio.ensure_future(self._serve(self._reader, self))
        self._serving.add_done_callback(self._ended)

    async def send(self, frame: bytes, message: Any) -> None:
        assert self._reader is not None, "it is opened first"
        self._reader.feed_data(frame + b"\n")

    def agreed(self, version: str) -> None: ...

    def drop(self, id_: Any) -> bool:
        return False

    def forget(self, id_: Any) -> None: ...

    async def listen(self) -> None: ...

    def leave(self) -> None:
        if self._reader is not None and not self._reader.at_eof():
            self._reader.feed_eof()

    async def close(self) -> None:
        if self._serving is None:
            return
        self.leave()
        await asyncio.wait({self._serving}, timeout=_PATIENCE)
        if not self._serving.done():
            self._serving.cancel()
            await asyncio.gather(self._serving, return_exceptions=True)
            raise NoAnswer("the server goes on after the client has left")
        self._serving.result()

    # What the server does

    def write(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._hear(line)

    async def drain(self) -> None: ...

    def _ended(self, serving: "asyncio.Future[None]") -> None:
        if self._rest:
            self._hear(self._rest)
        if not serving.cancelled():
            error = serving.exception()
            self._lost(None, ServerGone(f"the end: {error!r}" if error else "the end"))
