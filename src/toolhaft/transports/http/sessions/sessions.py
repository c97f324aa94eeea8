"""The sessions of clients that begin with `initialize`, for a transport that forgets.

A session is a value under an id that nobody can guess, written to the store whenever it changes. It
ends when its client says so, when nobody has used it for a while, or when there are too many and it
is the one used least recently.
"""

import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable

import msgspec

from ....protocol.handshake import Session
from ....protocol.http.headers import Head
from ....protocol.http.sse import primer
from ....protocol.limits import Limits
from ....protocol.peer import Peer
from ....protocol.ports import Store
from ....protocol.subscriptions import Change
from ..pending_reply import Reply
from .event_log import Stream, finished

log = logging.getLogger(__name__)

_MOST_MISSED = 32
# Milliseconds after which a client may come back.
_COME_BACK = 500


class Full(Exception):
    """No more sessions can be held."""


class Live:
    """A session that is in use here, and where its client listens."""

    __slots__ = (
        "_missed",
        "_number",
        "calls",
        "id",
        "listening",
        "news",
        "peer",
        "placed",
        "saved",
        "session",
        "streams",
        "used",
    )

    def __init__(self, peer: Peer, used: float) -> None:
        assert peer.session.id is not None, "over HTTP a session has an id"
        self.peer = peer
        # What is known of the client, and what the client calls it.
        self.session = peer.session
        self.id = peer.session.id
        # When it was used last, put behind all others, and written down.
        self.used = used
        self.placed = used
        self.saved = used
        # How many of its calls are under way.
        self.calls = 0
        # What the client hears of without having asked, while it listens; and by which stream, now
        # or before.
        self.news: Reply | None = None
        self.listening: Stream | None = None
        # Changes that came while it did not.
        self._missed: set[Change] | None = None
        # Of the last stream to which the client can come back; 0 is none.
        self._number = 0
        # Streams whose call is under way, by number.
        self.streams: dict[int, Stream] | None = None

    def speaks(self, head: Head) -> bool:
        """Is this the header of a request in the revision that was agreed on? One that names none
        is."""
        return head.layout.version < 0 or head.revision is self.session.caller.revision

    @property
    def is_idle(self) -> bool:
        """Does nobody wait for anything?"""
        return not self.calls and self.news is None

    def leave(self, now: float, calls: int = 0) -> None:
        """Some of its calls are over, or somebody has stopped listening: it was in use till now."""
        self.calls -= calls
        self.used = max(self.used, now)

    def keep(self, stream: Stream, store: Store, limits: Limits) -> None:
        """Let the client come back to a stream."""
        stream.keep(store, self.id, self._next_number(), seconds=limits.resume_seconds)
        if self._polls:
            stream.prime(_COME_BACK)

    async def finished(self, frames: list[bytes], store: Store, limits: Limits) -> bytes:
        """The text of a stream that is over before it begins, to which the client can come back."""
        number = self._next_number()
        seconds = limits.resume_seconds
        text = await finished(store, self.id, number, frames, seconds=seconds)
        return primer(number, _COME_BACK) + text if self._polls else text

    @property
    def _polls(self) -> bool:
        """Does the client come back by itself?"""
        return self.session.caller.revision.polling

    def _next_number(self) -> int:
        """Others may serve the same session: what begins at random does not clash."""
        self._number = number = (self._number or secrets.randbits(48)) + 1
        return number

    def open_stream(self, stream: Stream) -> None:
        """A call's stream that a client may come back to."""
        if self.streams is None:
            self.streams = {}
        self.streams[stream.number] = stream

    def close_stream(self, stream: Stream) -> None:
        """The call is over; what is in the log can still be had."""
        if self.streams is not None:
            self.streams.pop(stream.number, None)

    def miss(self, change: Change) -> None:
        """Something changed, and nobody listens now."""
        if self._missed is None:
            self._missed = set()
        if len(self._missed) < _MOST_MISSED:
            self._missed.add(change)

    def missed(self) -> set[Change]:
        """What changed since somebody listened."""
        missed, self._missed = self._missed or set(), None
        return missed


class Sessions:
    """All sessions of one service, as far as they are in use here."""

    def __init__(
        self,
        store: Store,
        limits: Limits,
        *,
        peer: Callable[[Session], Peer],
        ended: Callable[[Live], None],
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._peer = peer
        self._most = limits.sessions
        self._seconds = limits.session_seconds
        self._ended = ended
        self._clock = clock
        # In the order of their last use, about: one that was put behind all others not long ago
        # stays where it is. To move it is to touch three others, which are in no cache if there are
        # thousands.
        self._live: OrderedDict[str, Live] = OrderedDict()
        self._not_long = limits.session_seconds / 16

    def all(self) -> list[Live]:
        """Every session there is."""
        return list(self._live.values())

    async def open(self, peer: Peer) -> Live:
        """A new session, whose client is known by now."""
        peer.session.id = secrets.token_urlsafe(32)
        live = await self._add(peer)
        await self.save(live)
        return live

    def in_use(self, id_: str) -> Live | None:
        """A session by its id, whoever it belongs to, if it is in use here."""
        return self._live.get(id_)

    def here(self, id_: str, principal: str | None) -> Live | None:
        """A session by its id, for whom it belongs to, if it is in use here."""
        live = self._live.get(id_)
        if live is None or live.session.caller.principal != principal:
            return None
        now = self._clock()
        if now - live.saved > self._seconds / 4:
            return None  # `find` sees to it that it lives on in the store, or ends
        live.used = now
        if now - live.placed > self._not_long:
            self._place(live, now)
        return live

    async def find(self, id_: str, principal: str | None) -> Live | None:
        """A session by its id, for whom it belongs to, wherever it was used before."""
        self.expire()
        live = self._live.get(id_)
        # Its place may be behind one that was used later.
        if live is not None and live.is_idle and live.used < self._clock() - self._seconds:
            self.drop(id_)
            live = None
        if live is None:
            return await self._recall(id_, principal)
        if live.session.caller.principal != principal:
            return None
        live.used = self._clock()
        self._place(live, live.used)
        if live.used - live.saved > self._seconds / 4:
            await self.save(live)
        return live

    async def save(self, live: Live) -> None:
        """Write it down, unless it is over."""
        if self._live.get(live.id) is not live:
            return
        live.saved = self._clock()
        written = live.session.remember()
        await self._store.put(_key(live.id), written, seconds=self._seconds)

    async def end(self, id_: str) -> None:
        """The client needs it no more."""
        self.drop(id_)
        await self._store.delete(_key(id_))

    def drop(self, id_: str) -> None:
        """It is over, or is somebody else's now."""
        live = self._live.pop(id_, None)
        if live is not None:
            self._ended(live)

    def expire(self) -> None:
        """Forget those that nobody has used for long."""
        now = self._clock()
        before = now - self._seconds
        while self._live:
            oldest = next(iter(self._live.values()))
            if oldest.used >= before:
                return
            if oldest.is_idle:
                self.drop(oldest.id)
            else:  # somebody is there
                oldest.used = now
                self._place(oldest, now)

    def _place(self, live: Live, now: float) -> None:
        live.placed = now
        self._live.move_to_end(live.id)

    async def _recall(self, id_: str, principal: str | None) -> Live | None:
        written = await self._store.get(_key(id_))
        if written is None:
            return None
        try:
            session = Session.recalled(id_, written)
        except msgspec.MsgspecError as error:
            log.warning("a session in the store cannot be read: %s", error)
            return None
        if session.caller.principal != principal:
            return None
        # Somebody else may have recalled it meanwhile.
        return self._live.get(id_) or await self._add(self._peer(session))

    async def _add(self, peer: Peer) -> Live:
        self.expire()
        live = Live(peer, self._clock())
        self._live[live.id] = live
        if len(self._live) > self._most:
            await self._make_room(live)
        return live

    async def _make_room(self, new: Live) -> None:
        """End the session that was used least recently of those that nobody uses now; if the new
        one has an owner, rather one of the same.

        Raises:
            Full: all of them are in use.
        """
        owner = new.session.caller.principal
        found, is_own = None, False
        for live in self._live.values():
            if is_own and found is not None and live.placed > found.used:
                break  # all that follow were used later
            if live is new or not live.is_idle:
                continue
            owns = live.session.caller.principal == owner
            if found is None or owns > is_own or (owns == is_own and live.used < found.used):
                found, is_own = live, owns
        if found is None:
            await self.end(new.id)
            raise Full
        await self.end(found.id)


def _key(id_: str) -> str:
    return f"session/{id_}"
