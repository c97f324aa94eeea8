"""Streams of events that survive their connection.

Each stream of a session has a number, each event a place in it, and both are the event's id. What
is sent is written to a log first. A client whose connection breaks names the last event it saw, and
goes on from there: with what the log holds, then with what comes.
"""

import asyncio
import logging
from collections.abc import Sequence

from ....process.outcome import ends_task
from ....protocol.http.sse import KEEP_ALIVE, event, events, numbered, primer
from ....protocol.ports import Store
from ..client_timeouts import Stalled
from ..response import ClientIsGone, Response

log = logging.getLogger(__name__)


async def finished(
    store: Store, session: str, number: int, frames: list[bytes], *, seconds: float
) -> bytes:
    """The events of a stream that is over before it begins. The client can come back to it all the
    same, if its connection breaks before it has read them."""
    if not await _is_kept(store, _key(session, number), frames, after=0, seconds=seconds):
        return events(frames)
    return b"".join([numbered(number, place, frame) for place, frame in enumerate(frames, 1)])


async def _is_kept(
    store: Store, key: str, frames: list[bytes], *, after: int, seconds: float
) -> bool:
    """Add messages to the log of a stream. False: the store has failed, and the log says so."""
    try:
        await store.append(key, frames, after=after, seconds=seconds)
    except (Exception, asyncio.CancelledError) as error:
        if ends_task(error):
            raise
        log.error("the store cannot keep a stream, so no client can resume it", exc_info=error)
        return False
    return True


def _key(session: str, number: int) -> str:
    return f"stream/{session}/{number}"


class Stream:
    """Messages on their way to one client, over one connection or over several in turn.

    Without a store nothing is kept, and a client that leaves misses what follows."""

    __slots__ = (
        "_heard",
        "_is_over",
        "_key",
        "_primer",
        "_released",
        "_seconds",
        "_store",
        "number",
        "response",
        "sent",
    )

    def __init__(self, response: Response | None = None) -> None:
        # Where the client listens now; None while it is away.
        self.response = response
        self.number = 0
        # How many messages there were so far, and how many of them this connection has.
        self.sent = 0
        self._heard = 0
        self._store: Store | None = None
        self._key = ""
        self._seconds = 0.0
        self._primer = b""
        self._released: asyncio.Future[None] | None = None
        self._is_over = False

    def keep(self, store: Store, session: str, number: int, *, seconds: float) -> None:
        """Keep what is sent from now on, for so long, for a client that comes back."""
        self._store, self._key = store, _key(session, number)
        self.number = number
        self._seconds = seconds

    def prime(self, milliseconds: int) -> None:
        """Tell the client how to come back before it is told anything else."""
        self._primer = primer(self.number, milliseconds)

    @property
    def is_kept(self) -> bool:
        """Can a client come back?"""
        return self._store is not None

    @property
    def is_primed(self) -> bool:
        """Does the client know that it can come back?"""
        return bool(self._primer)

    async def send(self, frames: list[bytes], *, last: bool = False) -> None:
        """Some messages, after which there may be no more."""
        await self._keep(frames)
        self._is_over = self._is_over or last
        response = self.response
        if response is None:
            return
        # A client that came back meanwhile may have read some of them from the log.
        new = frames[max(0, len(frames) - (self.sent - self._heard)) :]
        text, self._heard = self._text(self.sent - len(new), new), self.sent
        await self._write(response, text, last=last)

    async def _keep(self, frames: list[bytes]) -> None:
        """They are in the log from now on, if there is one."""
        store = self._store
        if store is not None and frames:
            kept = await _is_kept(store, self._key, frames, after=self.sent, seconds=self._seconds)
            self._store = store if kept else None
        self.sent += len(frames)

    async def still_here(self) -> None:
        """Nothing happens, and yet we live."""
        if self.response is not None:
            await self._write(self.response, KEEP_ALIVE, last=False)

    async def _write(self, response: Response, text: bytes, *, last: bool) -> None:
        try:
            if not response.begun:
                await response.begin()
                text = self._primer + text
            await response.write(text, last=last)
        except (Stalled, ClientIsGone):
            self.detach(response)
        if last:
            self.detach(response)

    async def hang_up(self) -> None:
        """End the connection; the client knows how to come back."""
        response = self.response
        if response is not None:
            await self._write(response, b"", last=True)

    def detach(self, response: Response) -> None:
        """The client is not there any more, unless it came back already by another connection."""
        if self.response is response:
            self.response = None
            if self._released is not None and not self._released.done():
                self._released.set_result(None)

    async def resume(self, response: Response, position: int) -> "asyncio.Future[None] | None":
        """Go on over another connection, from behind an event. The result is done when that
        connection is not needed any more; there is none if nobody knows what came after the event.
        """
        frames = await self._after(position)
        if frames is None:
            return None
        await response.begin()
        # Each time there may have been more meanwhile.
        while more := await self._after(position):
            await response.write(self._text(position, more))
            position += len(more)
        if self.response is not None:
            self.detach(self.response)
        self.response, self._heard = response, position
        self._released = asyncio.get_running_loop().create_future()
        if self._is_over:  # while the log was read
            self.detach(response)
        return self._released

    async def replay(self, response: Response, position: int) -> bool:
        """What the log holds of a stream that is over, or is somebody else's. Is there any?"""
        frames = await self._after(position)
        if frames is None:
            return False
        await response.events(self._text(position, frames))
        return True

    async def _after(self, position: int) -> list[bytes] | None:
        """What came behind an event, as far as anybody knows."""
        if position == self.sent and (self.sent or self._primer):
            return []
        if self._store is None or position > self.sent > 0:
            return None
        return await self._store.after(self._key, position)

    def _text(self, before: int, frames: Sequence[bytes]) -> bytes:
        if self._store is None:
            return b"".join(map(event, frames))
        return b"".join(
            numbered(self.number, place, frame)
            for place, frame in enumerate(frames, start=before + 1)
        )
