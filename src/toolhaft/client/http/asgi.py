"""An ASGI application in the same process, asked as a server would ask it."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from ..failures import ServerGone
from .http_exchange import Response

Message: TypeAlias = Any
Application: TypeAlias = Callable[
    [Any, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]

_HOST = "localhost"
_SECONDS_TO_END = 5.0


class InProcess:
    """A path of an application, and its lifespan while it is used, if nobody else runs that."""

    def __init__(self, app: Application, path: str, *, lifespan: bool = True) -> None:
        self.name = f"the application at {path}"
        self._app = app
        self._path = path
        self._lives = lifespan
        self._events: asyncio.Queue[Message] = asyncio.Queue()
        self._told: asyncio.Queue[Message] = asyncio.Queue()
        self._living: asyncio.Future[None] | None = None
        # What the lifespan hands on to requests.
        self._state: dict[str, Any] = {}

    async def open(self) -> None:
        if not self._lives:
            return
        scope: Message = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": self._state}
        self._events.put_nowait({"type": "lifespan.startup"})
        self._living = asyncio.ensure_future(self._app(scope, self._events.get, self._told.put))
        said = await self._said()
        if said is not None and said["type"] == "lifespan.startup.failed":
            raise ServerGone(f"{self.name} does not start: {said.get('message', '')}")

    async def close(self) -> None:
        if self._living is not None and not self._living.done():
            self._events.put_nowait({"type": "lifespan.shutdown"})
            await asyncio.wait({self._living}, timeout=_SECONDS_TO_END)
            self._living.cancel()
        await asyncio.gather(*filter(None, [self._living]), return_exceptions=True)

    async def _said(self) -> Message | None:
        """What the lifespan says; nothing if the application has none."""
        assert self._living is not None
        saying = asyncio.ensure_future(self._told.get())
        await asyncio.wait({saying, self._living}, return_when=asyncio.FIRST_COMPLETED)
        if saying.done():
            return saying.result()
        saying.cancel()
        return None

    @contextlib.asynccontextmanager
    async def request(
        self, verb: str, headers: Mapping[str, str], body: bytes
    ) -> AsyncGenerator[Response]:
        """One request."""
        fields = {"host": _HOST, **headers, "content-length": str(len(body))}
        path = self._path.partition("?")[0]
        scope: Message = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": verb,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": self._path.partition("?")[2].encode(),
            "root_path": "",
            "headers": [(k.lower().encode(), v.encode("latin-1")) for k, v in fields.items()],
            "server": (_HOST, 80),
            "client": ("127.0.0.1", 1),
            "state": dict(self._state),
        }
        answer = _Answer(body)
        running = asyncio.ensure_future(self._app(scope, answer.receive, answer.send))
        running.add_done_callback(answer.end)
        try:
            response = await answer.begun
            async with contextlib.aclosing(response.body):
                yield response
        finally:
            answer.gone.set()
            # As behind a real server: the application learns that nobody listens, and ends.
            await asyncio.wait({running}, timeout=_SECONDS_TO_END)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


class _Answer:
    """What an application sends."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._parts: asyncio.Queue[bytes | ServerGone | None] = asyncio.Queue()
        self._status = 0
        self._headers: dict[str, str] = {}
        self.begun: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self.gone = asyncio.Event()

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = {
                k.decode().lower(): v.decode("latin-1") for k, v in message.get("headers", ())
            }
            if not self.begun.done():  # else nobody waits for it any more
                self.begun.set_result(Response(self._status, self._headers, self._read()))
            return
        self._parts.put_nowait(message.get("body", b""))
        if not message.get("more_body"):
            self._parts.put_nowait(None)

    def end(self, running: "asyncio.Future[None]") -> None:
        """It has returned, or raised."""
        error = None if running.cancelled() else running.exception()
        if not self.begun.done():
            self.begun.set_exception(ServerGone(f"the application has not answered: {error!r}"))
        elif error is not None:
            self._parts.put_nowait(ServerGone(f"the application broke off: {error!r}"))
        else:
            self._parts.put_nowait(None)

    async def _read(self) -> AsyncGenerator[bytes]:
        while (part := await self._parts.get()) is not None:
            if isinstance(part, ServerGone):
                raise part
            yield part
