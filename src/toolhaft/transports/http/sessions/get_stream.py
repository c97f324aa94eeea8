"""GET: a stream of news for a session, or the rest of a stream that broke."""

import asyncio
import contextlib
from collections.abc import Callable, Generator
from threading import get_ident

from msgspec import UNSET, UnsetType

from ....calls.driver import Driver
from ....encoding.envelope import Id
from ....errors import InternalError
from ....protocol.http.headers import LAST_EVENT, Head
from ....protocol.http.rules import refused, takes
from ....protocol.http.sse import place
from ....protocol.limits import Limits
from ....protocol.peer import notice
from ....protocol.ports import Store
from ....protocol.subscriptions import Change
from ..body import TurnedAway
from ..pending_reply import Reply
from ..respond import Answering, gone
from ..response import Receive, Response
from .event_log import Stream
from .sessions import Live

# Not 404, by which a client would take the session for lost.
_FORGOTTEN = "nobody knows any more what came after this event"


class Listening:
    """The streams that clients listen to without having asked for anything."""

    def __init__(
        self,
        driver: Driver,
        answering: Answering,
        sessions: Callable[[], list[Live]],
        store: Store,
        limits: Limits,
    ) -> None:
        self._driver = driver
        self._answering = answering
        self._sessions = sessions
        self._store = store
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._open = 0

    async def serve(self, head: Head, live: Live, response: Response, receive: Receive) -> None:
        """Answer GET.

        Raises:
            TurnedAway: there is no such stream, or no more may be opened.
        """
        if not takes(head.raw.get(b"accept"), b"text/event-stream"):
            raise TurnedAway(refused(406, "Accept must have text/event-stream"))
        last = head.text(LAST_EVENT)
        if last is None:
            self._check(live)
            stream = Stream(response)
            live.keep(stream, self._store, self._limits)
            live.listening = stream
            await self._listen(live, stream, receive)
            return
        where = place(last)
        if where is None:
            raise TurnedAway(refused(400, "Last-Event-ID must be the id of an event of ours"))
        await self._resume(*where, live, response, receive)

    async def _resume(
        self, number: int, position: int, live: Live, response: Response, receive: Receive
    ) -> None:
        """Go on with a stream: with that of a call that is under way, with that of the news, or
        with one of which only the log is left."""
        if live.listening is not None and live.listening.number == number:
            if live.news is not None:
                live.news.leave()  # by a connection that is dead, as its client knows
            self.check_room()
            if await live.listening.resume(response, position) is None:
                raise TurnedAway(refused(400, _FORGOTTEN))
            await self._listen(live, live.listening, receive)
            return
        stream = (live.streams or {}).get(number)
        if stream is None:
            stream = Stream()
            stream.keep(self._store, live.id, number, seconds=self._limits.resume_seconds)
            if not await stream.replay(response, position):
                raise TurnedAway(refused(400, _FORGOTTEN))
            return
        released = await stream.resume(response, position)
        if released is None:
            raise TurnedAway(refused(400, _FORGOTTEN))
        response.patience.end(response.task)
        await _until(released, receive)
        stream.detach(response)
        if not response.ended:  # by another connection, or by a client that is gone
            await response.write(b"", last=True)

    def _check(self, live: Live) -> None:
        """May there be one more stream of news?"""
        if live.news is not None and not live.news.gone:
            raise TurnedAway(refused(409, "this session has a stream already"))
        self.check_room()

    def check_room(self, id_: Id | UnsetType = UNSET) -> None:
        """May anybody else listen?

        Raises:
            TurnedAway: there are too many.
        """
        if self._open >= self._limits.streams:
            error = InternalError("too many streams are open; try again in a moment")
            raise TurnedAway(refused(503, error, id_, retry_after="5"))

    @contextlib.contextmanager
    def counted(self) -> Generator[None]:
        """Somebody listens."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    async def _listen(self, live: Live, stream: Stream, receive: Receive) -> None:
        """News for a session, until somebody ends it."""
        live.news = reply = Reply(self._loop, get_ident(), self._limits.waiting_bytes)
        with self.counted():
            try:
                for change in live.missed():
                    reply.send(_news(live, change))
                await self._answering.news(reply, stream, receive)
            finally:
                if live.news is reply:
                    live.news = None
                live.leave(self._loop.time())

    def hear(self, change: Change) -> None:
        """Something changed. From any thread."""
        self._driver.soon((self, change), lambda: self._tell(change))

    def _tell(self, change: Change) -> None:
        for live in self._sessions():
            if not live.session.interests.match(change):
                continue
            if live.news is None or live.news.gone:
                live.miss(change)
            else:
                live.news.send(_news(live, change))

    def end(self) -> None:
        """Let everybody go."""
        for live in self._sessions():
            if live.news is not None:
                live.news.close()


def _news(live: Live, change: Change) -> bytes:
    method, params = change.notification()
    return notice(method, params, live.session.caller.revision)


async def _until(released: "asyncio.Future[None]", receive: Receive) -> None:
    """Wait until a connection is not needed any more, or the client leaves it."""
    watcher = asyncio.ensure_future(gone(receive))
    try:
        await asyncio.wait([released, watcher], return_when=asyncio.FIRST_COMPLETED)
    finally:
        watcher.cancel()
