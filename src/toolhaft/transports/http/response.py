"""One HTTP response: a body of JSON, or a stream of events."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

from ...protocol.http.headers import Fields
from ...protocol.http.rules import Refused
from ...protocol.http.sse import FINISHED, HEADERS
from .client_timeouts import Patience, Task

Scope: TypeAlias = MutableMapping[str, Any]
Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]

JSON: Final = (b"content-type", b"application/json")
JSON_ONLY: Final = (JSON,)


class ClientIsGone(Exception):
    """The connection of a request has ended before the request was read, or its answer written.

    An `OSError` is turned into this where the connection is used, and nowhere else: one that the
    author's code raises is an error of that code."""


class Whole(Struct, frozen=True):
    """A response that can be written in one go."""

    status: int
    body: bytes
    # Without its length.
    headers: tuple[tuple[bytes, bytes], ...] = JSON_ONLY

    @staticmethod
    def refusing(refused: Refused) -> "Whole":
        """Says why a request is not let in."""
        return Whole(refused.status, refused.body, (JSON, *refused.headers))


class Response(Struct, eq=False):
    """Written in one go or piece by piece. The task that writes is patient, but not for ever."""

    send: Send
    patience: Patience
    task: Task
    # On every response to this request.
    headers: Fields = []  # each has its own: msgspec sees to that
    # Something was written already, or everything.
    begun: bool = False
    ended: bool = False

    def patient(self, seconds: float) -> Callable[[], bool]:
        """A function to be called with each part of a body: begins to wait for the next, unless all
        of it takes longer than this."""
        loop = self.task.get_loop()
        deadline = loop.time() + seconds

        def came() -> bool:
            self.patience.expect(self.task)
            return loop.time() < deadline

        return came

    async def whole(self, whole: Whole) -> None:
        """All of it.

        Raises:
            ClientIsGone: there is no connection to send it on.
        """
        body = whole.body
        headers = [*whole.headers, (b"content-length", b"%d" % len(body)), *self.headers]
        self.begun = self.ended = True
        try:
            await self.send(
                {"type": "http.response.start", "status": whole.status, "headers": headers}
            )
            await self.send({"type": "http.response.body", "body": body})
        except OSError as error:
            raise ClientIsGone from error

    async def json(self, status: int, body: bytes) -> None:
        """JSON, and nothing after it."""
        await self.whole(Whole(status, body))

    async def text(self, body: bytes, kind: str) -> None:
        """The whole of it, for people and for tools."""
        await self.whole(Whole(200, body, ((b"content-type", kind.encode()),)))

    async def empty(self, status: int) -> None:
        """A status, and nothing more to say."""
        length = [] if status == 204 else [(b"content-length", b"0")]
        headers = [*length, *self.headers]
        self.begun = self.ended = True
        try:
            await self.send({"type": "http.response.start", "status": status, "headers": headers})
            await self.send({"type": "http.response.body", "body": b""})
        except OSError as error:
            raise ClientIsGone from error

    async def refuse(self, refused: Refused) -> None:
        """Say why a request is not let in."""
        await self.whole(Whole.refusing(refused))

    async def events(self, text: bytes) -> None:
        """A stream that is over as soon as it begins."""
        await self.whole(Whole(200, text, FINISHED))

    async def begin(self) -> None:
        """A stream, from now on."""
        self.begun = True
        headers = [*HEADERS, *self.headers]
        try:
            await self.send({"type": "http.response.start", "status": 200, "headers": headers})
        except OSError as error:
            raise ClientIsGone from error

    async def write(self, data: bytes, *, last: bool = False) -> None:
        """More of a stream, or the last of it.

        Raises:
            Stalled: the client does not read.
            ClientIsGone: there is no connection to send it on.
        """
        # Not always the task of the request: a stream may go on by another connection.
        task = asyncio.current_task()
        assert task is not None, "who writes is a task"
        self.patience.begin(task)
        self.ended = last
        try:
            await self.send({"type": "http.response.body", "body": data, "more_body": not last})
        except OSError as error:
            raise ClientIsGone from error
        finally:
            self.patience.end(task)
