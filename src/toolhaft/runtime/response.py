"""One HTTP response: a body of JSON, or a stream of events."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from ..protocol.http import Fields, Refused
from ..protocol.sse import HEADERS
from .patience import Patience

Scope: TypeAlias = MutableMapping[str, Any]
Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]

_JSON: Final = (b"content-type", b"application/json")


class Response:
    """Written in one go or piece by piece."""

    __slots__ = ("_patience", "_send", "ended", "headers", "streaming")

    def __init__(self, send: Send, patience: Patience, headers: Fields) -> None:
        self._send = send
        self._patience = patience
        # On every response to this request.
        self.headers = headers
        self.streaming = False
        self.ended = False

    async def json(self, status: int, body: bytes) -> None:
        """The whole of it."""
        headers = [_JSON, (b"content-length", b"%d" % len(body)), *self.headers]
        await self._whole(status, headers, body)

    async def empty(self, status: int) -> None:
        """A status, and nothing more to say."""
        length = [] if status == 204 else [(b"content-length", b"0")]
        await self._whole(status, [*length, *self.headers], b"")

    async def refuse(self, refused: Refused) -> None:
        """Say why a request is not let in."""
        self.headers += refused.headers
        await self.json(refused.status, refused.body)

    async def begin(self) -> None:
        """A stream, from now on."""
        self.streaming = True
        headers = [*HEADERS, *self.headers]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def write(self, data: bytes) -> None:
        """More of a stream.

        Raises:
            Stalled: the client does not read.
        """
        with self._patience:
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self, data: bytes = b"") -> None:
        """The last of a stream.

        Raises:
            Stalled: the client does not read.
        """
        self.ended = True
        with self._patience:
            await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def _whole(self, status: int, headers: Fields, body: bytes) -> None:
        self.ended = True
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        with self._patience:
            await self._send({"type": "http.response.body", "body": body})
