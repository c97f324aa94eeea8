"""One HTTP response: a body of JSON, or a stream of events."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

from ..protocol.head import Fields
from ..protocol.http import Refused
from ..protocol.sse import HEADERS
from .patience import Patience, Task

Scope: TypeAlias = MutableMapping[str, Any]
Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]

JSON: Final = (b"content-type", b"application/json")


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
        """To be told of each part of a body: begins to wait for the next, unless all of it takes
        longer than this."""
        loop = self.task.get_loop()
        deadline = loop.time() + seconds

        def came() -> bool:
            self.patience.begin(self.task)
            return loop.time() < deadline

        return came

    async def json(self, status: int, body: bytes) -> None:
        """The whole of it."""
        headers = [JSON, (b"content-length", b"%d" % len(body))]
        if self.headers:
            headers += self.headers
        self.begun = self.ended = True
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    async def text(self, body: bytes, kind: str) -> None:
        """The whole of it, for people and for tools."""
        headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(body))]
        self.begun = self.ended = True
        start = {"type": "http.response.start", "status": 200, "headers": headers + self.headers}
        await self.send(start)
        await self.send({"type": "http.response.body", "body": body})

    async def empty(self, status: int) -> None:
        """A status, and nothing more to say."""
        length = [] if status == 204 else [(b"content-length", b"0")]
        headers = [*length, *self.headers]
        self.begun = self.ended = True
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": b""})

    async def refuse(self, refused: Refused) -> None:
        """Say why a request is not let in."""
        self.headers += refused.headers
        await self.json(refused.status, refused.body)

    async def events(self, text: bytes) -> None:
        """A stream that is over as soon as it begins."""
        headers = [*HEADERS, (b"content-length", b"%d" % len(text)), *self.headers]
        self.begun = self.ended = True
        await self.send({"type": "http.response.start", "status": 200, "headers": headers})
        await self.send({"type": "http.response.body", "body": text})

    async def begin(self) -> None:
        """A stream, from now on."""
        self.begun = True
        headers = [*HEADERS, *self.headers]
        await self.send({"type": "http.response.start", "status": 200, "headers": headers})

    async def write(self, data: bytes, *, last: bool = False) -> None:
        """More of a stream, or the last of it.

        Raises:
            Stalled: the client does not read.
        """
        # Not always the task of the request: a stream may go on by another connection.
        task = asyncio.current_task()
        assert task is not None, "who writes is a task"
        self.patience.begin(task)
        self.ended = last
        try:
            await self.send({"type": "http.response.body", "body": data, "more_body": not last})
        finally:
            self.patience.end(task)
