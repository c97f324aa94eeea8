"""Streamable HTTP, from the client's side: a POST for each message, a GET to hear the rest."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import Any

from msgspec import Struct

from ..failures import BadAnswer, Refused, ServerGone
from ..json_shapes import Json, as_list, as_object, is_silent, parsed
from ..pending_requests import key_of
from ..request_meta import VERSION
from ..transport import Hear, Lost
from .headers import mirrors, routing
from .http_exchange import Exchanges, Response
from .sse_events import events

_STREAM = "text/event-stream"
_ACCEPT = f"application/json, {_STREAM}"
_SHOWN = 300
# Who asks is not known: about that, the status says more than any message.
_UNKNOWN = 401
_SECONDS_TO_COME_BACK = 1.0
# Whatever a server says, it is not asked more often than this.
_SOONEST = 0.05
_INITIALIZED = "notifications/initialized"
_SECONDS_TO_LEAVE = 5.0


class Http:
    """One client of an endpoint: in a session, or in none."""

    said = ""

    def __init__(
        self, exchanges: Exchanges, headers: Mapping[str, str], session: str | None = None
    ) -> None:
        self._exchanges = exchanges
        self._headers = {name.lower(): value for name, value in headers.items()}
        # The session that it is in: one that it begins, or that of another.
        self.session = session
        self._is_guest = session is not None
        self._version: str | None = None
        self._schemas: dict[Any, Json] = {}
        self._tasks: dict[asyncio.Task[None], Any] = {}
        self._ears: asyncio.Task[None] | None = None
        self._begun: asyncio.Future[None] | None = None

    async def open(self, hear: Hear, lost: Lost) -> None:
        self._hear, self._lost = hear, lost
        await self._exchanges.open()

    async def send(self, frame: bytes, message: Any) -> None:
        request = as_object(message) or {}
        if "method" not in request or "id" not in request:
            await self._post(frame, message, None)
            if request.get("method") == _INITIALIZED and self._version is not None:
                self._prick_up_ears()  # and do not wait: a server need not have such a stream
            return
        task = asyncio.create_task(self._post(frame, message, request["id"]))
        self._tasks[task] = request["id"]
        task.add_done_callback(self._done)

    def agreed(self, version: str) -> None:
        self._version = version

    def drop(self, id_: Any) -> bool:
        """Without a handshake, closing the stream of a request is how it is cancelled."""
        if self._version is not None:
            return False
        self.forget(id_)
        return True

    def forget(self, id_: Any) -> None:
        for task, id_of in self._tasks.items():
            if key_of(id_of) == key_of(id_):
                task.cancel()

    async def listen(self) -> None:
        if self._version is None:
            return
        begun, ears = self._prick_up_ears()
        await asyncio.wait({begun, ears}, return_when=asyncio.FIRST_COMPLETED)
        if ears.done():
            ears.result()

    def _prick_up_ears(self) -> "tuple[asyncio.Future[None], asyncio.Task[None]]":
        if self._begun is None or self._ears is None or self._ears.done():
            self._begun = asyncio.get_running_loop().create_future()
            self._ears = asyncio.create_task(self._overhear(self._begun))
            # Who listens is told what went wrong; nobody else needs to know.
            self._ears.add_done_callback(lambda ears: ears.cancelled() or ears.exception())
        return self._begun, self._ears

    def leave(self) -> None: ...

    async def close(self) -> None:
        tasks = [*self._tasks, *filter(None, [self._ears])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.session is not None and not self._is_guest:
            with suppress(ServerGone, TimeoutError):
                async with asyncio.timeout(_SECONDS_TO_LEAVE):
                    await self._end_session()
        await self._exchanges.close()

    async def _end_session(self) -> None:
        async with self._exchanges.request("DELETE", self._fields({}), b"") as response:
            await response.read()

    # One request

    async def _post(self, frame: bytes, message: Any, id_: Any) -> None:
        fields = self._fields(
            {"content-type": "application/json", "accept": _ACCEPT, **self._routing(message)}
        )
        place = _Place()
        async with self._exchanges.request("POST", fields, frame) as response:
            if "mcp-session-id" in response.headers:
                self.session = response.headers["mcp-session-id"]
            if response.headers.get("content-type", "").startswith(_STREAM):
                is_answered = await self._hear_answer(response, place, _requests_in(message))
            else:
                await self._hear_whole(response, id_)
                is_answered = True
        if not is_answered and id_ is not None and not await self._come_back(place):
            raise ServerGone(f"{self._exchanges.name} has ended the stream without an answer")

    async def _hear_whole(self, response: Response, id_: Any) -> None:
        body, name = await response.read(), self._exchanges.name
        if response.status == 200 and _responses_in(body):
            self._take(body)
            return
        answer = _message(body)
        error = as_object((answer or {}).get("error"))  # that of OAuth is a word
        if answer is not None and response.status != _UNKNOWN and (response.status < 400 or error):
            if id_ is not None and answer.get("id") is None:
                # An error that does not say to what can only be meant for this.
                body = json.dumps({**answer, "id": id_}).encode()
            self._take(body)
        elif 300 <= response.status < 400 and "location" in response.headers:
            moved = f"and points to {response.headers['location']}, which is not followed"
            raise Refused(f"{name} answers with {response.status}, {moved}", response.status)
        elif response.status >= 400:
            shown = str((error or {}).get("message", body[:_SHOWN].decode("utf-8", "replace")))
            raise Refused(f"{name} answers with {response.status}: {shown}", response.status)
        elif body.strip():
            raise BadAnswer(f"{name} answers with no message: {body[:_SHOWN]!r}")
        elif id_ is not None:
            raise BadAnswer(f"{name} answers a request with nothing")

    async def _hear_answer(self, response: Response, place: "_Place", answers: int = 1) -> bool:
        """Hear a stream up to its last answer; False if it ends before."""
        # Left before its end, a generator would be closed by a task that nobody waits for.
        async with aclosing(self._messages(response, place)) as messages:
            async for data in messages:
                message = self._take(data)
                if message is not None:
                    answers -= "method" not in message
                else:
                    answers -= _responses_in(data)
                if answers <= 0:
                    return True
        return False

    async def _messages(self, response: Response, place: "_Place") -> AsyncGenerator[bytes]:
        async with aclosing(events(response.body)) as heard:
            async for event in heard:
                if event.id is not None:
                    place.id = event.id
                if event.retry is not None:
                    place.seconds = max(_SOONEST, event.retry / 1000)
                if event.data:
                    yield event.data.encode()

    async def _come_back(self, place: "_Place") -> bool:
        """A server of 2025-11-25 may close a stream before its answer, and expects us again."""
        is_answered = False
        while place.id is not None and not is_answered:
            await asyncio.sleep(place.seconds)
            fields = self._fields({"accept": _STREAM, "last-event-id": place.id})
            async with self._exchanges.request("GET", fields, b"") as response:
                if response.status != 200:
                    await self._hear_whole(response, None)
                is_answered = await self._hear_answer(response, place)
        return is_answered

    async def _overhear(self, begun: "asyncio.Future[None]") -> None:
        """What belongs to no request."""
        place = _Place()
        while True:
            seen = {} if place.id is None else {"last-event-id": place.id}
            fields = self._fields({"accept": _STREAM, **seen})
            async with self._exchanges.request("GET", fields, b"") as response:
                if response.status != 200:  # 405: it has nothing to tell
                    return
                if not begun.done():
                    begun.set_result(None)
                async with aclosing(self._messages(response, place)) as messages:
                    async for data in messages:
                        self._take(data)
            if place.id is None:
                return
            await asyncio.sleep(place.seconds)

    def _take(self, data: bytes) -> Json | None:
        """Hear a message; from lists of tools, learn what headers have to repeat."""
        message = _message(data)
        result = as_object((message or {}).get("result")) or {}
        for tool in map(as_object, as_list(result.get("tools")) or []):
            if tool is not None and (schema := as_object(tool.get("inputSchema"))) is not None:
                self._schemas[tool.get("name")] = schema
        self._hear(data)
        return message

    # Headers

    def _fields(self, more: Mapping[str, str]) -> dict[str, str]:
        fields = dict(more)
        if self.session is not None:
            fields["mcp-session-id"] = self.session
        if self._version is not None and "mcp-protocol-version" not in fields:
            fields["mcp-protocol-version"] = self._version
        return {**fields, **self._headers}

    def _routing(self, message: Any) -> dict[str, str]:
        request = as_object(message) or {}
        params = as_object(request.get("params")) or {}
        if VERSION not in (as_object(params.get("_meta")) or {}):
            return {}
        schema = self._schemas.get(params.get("name"), {})
        return {**routing(request), **dict(mirrors(schema, params.get("arguments")))}

    def _done(self, task: "asyncio.Task[None]") -> None:
        id_ = self._tasks.pop(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self._lost(id_, error if isinstance(error, Exception) else ServerGone(repr(error)))


class _Place(Struct):
    """Where a stream was left, and when to come back."""

    id: str | None = None
    seconds: float = _SECONDS_TO_COME_BACK


def _requests_in(message: Any) -> int:
    """How many answers a message gets; one at least, if only that it is none."""
    return max(1, sum(not is_silent(each) for each in as_list(message) or []))


def _responses_in(body: bytes) -> int:
    """How many answers travel as one array; 0 if it is none."""
    if not body.lstrip().startswith(b"["):
        return 0
    try:
        parts = as_list(parsed(body)) or []
    except ValueError:
        return 0
    return sum("method" not in (as_object(each) or {}) for each in parts)


def _message(body: bytes) -> Json | None:
    try:
        return as_object(parsed(body))
    except ValueError:
        return None
