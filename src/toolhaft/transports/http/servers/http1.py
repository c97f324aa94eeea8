"""HTTP/1 as our connections write it, where uvicorn does it in another way or not at all."""

import asyncio
from collections.abc import Sized
from typing import Any, Final, TypeAlias

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from ....protocol.http.sse import FINISHED
from ..response import JSON_ONLY, Whole

_Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]


def _head(status: int, headers: _Headers) -> bytes:
    """What comes before the body, with a mark for its length."""
    lines = [b"%b: %b\r\n" % (name, value.replace(b"%", b"%%")) for name, value in headers]
    return STATUS_LINE[status] + b"".join(lines) + b"content-length: %d\r\n\r\n"


# Of nearly all answers: JSON, and events that are all there.
_OF_JSON: Final = _head(200, JSON_ONLY)
_OF_EVENTS: Final = _head(200, FINISHED)


def head_of(whole: Whole) -> bytes:
    """What comes before the body of a response."""
    status, headers = whole.status, whole.headers
    if status == 200 and headers is JSON_ONLY:
        return _OF_JSON % len(whole.body)
    if status == 200 and headers is FINISHED:
        return _OF_EVENTS % len(whole.body)
    return _head(status, headers) % len(whole.body)


class Flow(FlowControl):
    """Reads no more while requests wait for their turn: each that has its turn would let in some
    more."""

    def __init__(self, transport: asyncio.Transport, queue: Sized) -> None:
        super().__init__(transport)
        self._queue = queue

    def resume_reading(self) -> None:
        """Read again, unless there are requests to be answered first."""
        if not self._queue:
            super().resume_reading()


async def unchunked(app: Any, cycle: Any, scope: Any, receive: Any, send: Any) -> None:
    """Serve a client of HTTP/1.0, which knows no chunks: the end of the connection is the end of
    the body. uvicorn closes the connection, but sends chunks if there is no length."""

    async def send_plain(message: Any) -> None:
        # It checks each part against a length that was told. So each part has its own.
        cycle.chunked_encoding = False
        cycle.expected_content_length = len(message.get("body", b""))
        await send(message)

    await app(scope, receive, send_plain)
