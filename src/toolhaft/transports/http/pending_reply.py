"""The line of one HTTP request: keeps the messages of a call until they are written.

Whether the answer is one JSON body or a stream is decided by what the call does: a stream is begun
with the first message that comes before the answer.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from threading import get_ident
from typing import Any, Final

from msgspec import Struct

from ...encoding.envelope import Outgoing, whole
from ...errors import McpError
from ...protocol.calls import READY
from .disconnect_log import cut_offs

# A client that is behind by so many times what may wait, and is sent still more, does not read.
_PATIENCE: Final = 8
_A_MOMENT: Final = 0.05


# Who sends and who takes may both find out at once whether it is full.
_COUNTING: Final = threading.Lock()


class Reply(Struct, eq=False):
    """Filled from any thread, emptied on the loop, whose thread this is."""

    _loop: asyncio.AbstractEventLoop
    _thread: int
    # How much may wait to be written before those who send have to wait.
    _high: int
    # Does it, for a client that is there? Set under `_COUNTING`.
    is_full: bool = False
    frames: list[bytes] = []  # each has its own: msgspec sees to that
    # The answer, once the call is over; None if there is none.
    final: bytes | None = None
    error: McpError | None = None
    over: bool = False
    # The client has left.
    gone: bool = False
    # The author wants the client to come back for the rest.
    hung_up: bool = False
    # The client will not come back: what comes now is lost.
    lost: bool = False
    # The task that writes; whether it is held up by the client just now; and whether it was
    # cancelled because the client is behind by too much.
    writer: "asyncio.Task[Any] | None" = None
    held: bool = False
    interrupted: bool = False
    # How often something was written; None while nobody wonders whether it still is.
    writes: int = 0
    _suspected: int | None = None
    _size: int = 0
    # Called on the loop after a change. A thread that finds None does not wake it, which saves
    # 6 % of the CPU time of a short plain function. So code that sets this has to check
    # `has_changed` afterwards.
    on_change: Callable[[], None] | None = None
    _waiter: "asyncio.Future[bool] | None" = None
    _room: "list[asyncio.Future[bool]] | None" = None
    _roomy: threading.Condition | None = None

    # The side of the call

    def send(self, frame: bytes) -> None:
        """A message on the way to the answer."""
        if self.held and self._size > _PATIENCE * self._high and self._suspected is None:
            self._suspected = self.writes
            self._loop.call_soon_threadsafe(self._loop.call_later, _A_MOMENT, self._look)
        if not self.lost:
            self.frames.append(frame)
            size = len(frame)
            self._size += size  # in one step, as far as threads are concerned; see `metrics.py`
            if self._size > self._high:
                self._fill()
            if self.on_change is not None:
                self._wake()

    def send_pieces(self, pieces: tuple[bytes, ...]) -> None:
        """A long one, which here is written as any other."""
        self.send(whole(pieces))

    def answer(self, frame: Outgoing | None, error: McpError | None) -> None:
        """The end of the call."""
        if error is not None:
            self.error = error
        # Last: who finds it finds the rest as well.
        self.final = whole(frame) if isinstance(frame, tuple) else frame
        self.over = True
        if self.on_change is not None:
            self._wake()

    def throttle(self) -> None:
        """For tool threads, after they have sent: wait while the client does not read."""
        if not self.is_full:
            return
        if self._roomy is None:
            with _COUNTING:
                self._roomy = self._roomy or threading.Condition()
        with self._roomy:
            self._roomy.wait_for(lambda: not self.is_full)

    def drained(self) -> Awaitable[None]:
        """Wait until the client has read enough of what was sent."""
        return self._drained() if self.is_full else READY

    async def _drained(self) -> None:
        while self.is_full:
            if self._room is None:
                self._room = []
            self._room.append(room := self._loop.create_future())
            await room

    def hang_up(self) -> None:
        """End the connection, not the call."""
        self.hung_up = True
        self._wake()

    # The side of the request

    @property
    def has_changed(self) -> bool:
        """Whether there are frames to send, or the call or the connection is over."""
        return bool(self.frames) or self.over or self.gone or self.hung_up

    async def changed(self, seconds: float | None = None) -> bool:
        """Wait until there is something to do; False if nothing comes for so long."""
        if self.has_changed:
            return True
        self._waiter = waiter = self._loop.create_future()
        self.on_change = partial(_settle, waiter, True)
        timer = None if seconds is None else self._loop.call_later(seconds, _settle, waiter, False)
        try:
            return self.has_changed or bool(await waiter)  # a thread may have been quicker
        finally:
            self.on_change = self._waiter = None
            if timer is not None:
                timer.cancel()

    def take(self) -> list[bytes]:
        """The messages that have come."""
        # In two steps, each of which a thread that sends meanwhile cannot break.
        taken = self.frames[:]
        if taken:
            del self.frames[: len(taken)]
            size = sum(map(len, taken))
            self._size -= size
            with _COUNTING:
                self.is_full = self._size > self._high and not self.gone
            if not self.is_full:
                self._make_room()
        return taken

    def rest(self) -> list[bytes]:
        """The messages of a call that is over, and its answer: there will be no more."""
        if self._size > self._high or self._room is not None or self._roomy is not None:
            self._let_go()
        # A copy, to which nothing is added that a thread sends too late.
        return self.frames[:] if self.final is None else [*self.frames, self.final]

    def doubt(self) -> None:
        """The client may be gone: if nothing is being written to it, end the wait for something to
        write, as if it had been quiet for long."""
        if self._waiter is not None:
            _settle(self._waiter, False)

    def leave(self) -> None:
        """The client is gone. What comes now is kept only if it may come back."""
        self.gone = True
        self._let_go()
        self._wake()

    def stay(self) -> None:
        """What comes from now on is kept for a client that may come back."""
        with _COUNTING:
            self.gone = self.interrupted = False
            self.is_full = self._size > self._high

    def discard(self) -> None:
        """The client is gone and will not come back: what comes now is for nobody."""
        self.lost = self.gone = True
        self.frames.clear()
        self._size = 0
        self._let_go()

    def close(self) -> None:
        """No more will come: the end of a stream that answers nothing."""
        self.answer(None, None)

    def _fill(self) -> None:
        with _COUNTING:
            if self._size > self._high:  # nobody takes what comes after the answer
                self.is_full = not (self.gone or self.over)

    def _look(self) -> None:
        """Let go of a client that does not read: nothing was written since it was suspected, and
        too much waits. A burst alone is no reason."""
        suspected, self._suspected = self._suspected, None
        behind = self._size > _PATIENCE * self._high
        still = self.held and behind and suspected == self.writes
        if still and not self.interrupted and self.writer is not None:
            self.interrupted = self.gone = True
            cut_offs.tell(f"it does not read, and {self._size:,} bytes wait for it")
            self._let_go()
            self.writer.cancel()

    def _let_go(self) -> None:
        """Nobody has to wait any more."""
        with _COUNTING:
            self.is_full = False
        self._make_room()

    def _make_room(self) -> None:
        if self._roomy is not None:
            with self._roomy:
                self._roomy.notify_all()
        if self._room is not None and get_ident() == self._thread:
            self._let_in()
        elif self._room is not None:
            self._loop.call_soon_threadsafe(self._let_in)

    def _let_in(self) -> None:
        waiting, self._room = self._room or [], None
        for room in waiting:
            _settle(room, True)

    def _wake(self) -> None:
        if get_ident() == self._thread:
            self._awaken()
        else:
            self._loop.call_soon_threadsafe(self._awaken)

    def _awaken(self) -> None:
        if self.on_change is not None:
            self.on_change()


def _settle(future: "asyncio.Future[bool]", value: bool) -> None:
    if not future.done():
        future.set_result(value)
