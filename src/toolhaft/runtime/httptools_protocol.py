"""uvicorn's protocol on httptools, with bounds to what a client may make us keep, and how long.

An application sees a request when its headers are there, and cannot end a connection whose client
does not read. So both are seen to here.
"""

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..protocol.head import LONGEST_HEADERS
from ..protocol.limits import Limits

# Of a head that is not complete yet; one that is, is measured by its own rules.
_MOST_HEAD: Final = 2 * LONGEST_HEADERS
_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class Protocol(HttpToolsProtocol):
    """Closes connections on which a request is begun and not gone on with, and those on which an
    answer is not read."""

    def __init__(self, limits: Limits, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._in_head = True
        self._head_size = 0
        self._patience: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is there; it has so long to say what it wants."""
        super().connection_made(transport)
        self._wait()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its headers are there."""
        self._in_head = False
        self._head_size = 0
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """More of a request, or of several."""
        super().data_received(data)
        if not self._in_head:
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None
            return
        self._head_size += len(data)
        if self._head_size > _MOST_HEAD:
            self.transport.write(_TOO_LARGE)
            self.transport.close()
        elif self._patience is None:
            self._wait()

    def pause_writing(self) -> None:
        """The client does not read as fast as we write."""
        super().pause_writing()
        self._watch(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """It does."""
        super().resume_writing()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        for timer in (self._patience, self._stall):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._patience = self.loop.call_later(self._limits.head_seconds, self.transport.close)

    def _watch(self, left: int) -> None:
        self._stall = self.loop.call_later(self._limits.stall_seconds, self._look, left)

    def _look(self, before: int) -> None:
        """Has it read anything? To close would be to wait for it."""
        left = self.transport.get_write_buffer_size()
        if left < before:
            self._watch(left)
        else:
            self.transport.abort()
