"""MCP over a pair of descriptors: reads in one place, writes in one place, waits for neither."""

import asyncio
import contextlib
import os
import select
import stat
import threading
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Final

from ..calls.connection import Connection
from ..encoding.envelope import LONG
from ..process.inline_loop import Hearing
from ..process.private_fds import never_block
from ..protocol.calls import READY
from ..protocol.framing import Framer

_CHUNK: Final = 65536
_LARGE_CHUNK: Final = 1024 * 1024
# While answers are gathered, no more than this is held back.
_GATHERED: Final = 65536


class Output:
    """Writes frames to a descriptor, from any thread. Gathers them while it is corked."""

    def __init__(self, descriptor: int, framer: Framer, high: int) -> None:
        self._descriptor = descriptor
        self._framer = framer
        self._high = high
        self._loop = asyncio.get_running_loop()
        # What waits for the client belongs to no call, whichever one's message it was that did not
        # fit: what is served next must not see the context variables of that one.
        self._context = copy_context()
        self._lock = threading.Lock()
        self._corked = False
        # Frames that nobody has tried to send yet. Appending needs no lock, since a list is safe to
        # append to: whoever appends looks at the cork afterwards, and whoever pulls the cork
        # flushes afterwards.
        self._frames: list[bytes] = []
        # What the descriptor did not take; None while the client reads.
        self.left: memoryview | None = None
        # How many bytes the frames have, about.
        self._held = 0
        self._watched = False
        self._room: list[asyncio.Future[None]] = []
        self._roomy = threading.Event()
        self._ending = False
        # Called on the loop when there is room again.
        self.relieved: Callable[[], None] | None = None
        # Called on the loop, once, when it is closed at the other end.
        self.broken: Callable[[], None] | None = None
        # How much the client has taken so far.
        self.taken = 0
        never_block(descriptor)

    @property
    def is_full(self) -> bool:
        """Does the client not read? To be asked from any thread."""
        return self.left is not None and len(self.left) + self._held > self._high

    def send(self, frame: bytes) -> None:
        """Send a frame, now or as soon as the client reads."""
        if self.left is None and not self._corked:
            with self._lock:
                if self.left is None and not self._frames:  # nothing to go before it
                    end = self._framer.end
                    if end is not None and len(frame) <= LONG:
                        self._write(frame + end)
                    else:  # not copied for a few bytes
                        self._write_pieces(self._framer.around((frame,)))
                    return
        self._frames.append(frame)
        self._held += len(frame)
        if self.left is None and (not self._corked or self._held > _GATHERED):
            with self._lock:
                if self.left is None:
                    self._flush()

    def send_pieces(self, pieces: tuple[bytes, ...]) -> None:
        """The same for a frame in pieces, which are put together only if they have to wait."""
        if self.left is None and not self._corked:
            with self._lock:
                if self.left is None and not self._frames:
                    self._write_pieces(self._framer.around(pieces))
                    return
        self.send(b"".join(pieces))

    def go_on(self, left: bytes) -> None:
        """Begin with what somebody who wrote before has left: no frame, but the end of one."""
        if left:
            self.left = memoryview(left)
            self.push()

    def cork(self) -> None:
        """Gather frames from now on."""
        self._corked = True

    def uncork(self) -> None:
        """Send what was gathered."""
        self._corked = False
        if self._frames:
            with self._lock:
                if self.left is None:
                    self._flush()

    def push(self) -> None:
        """Send as much as the client takes now."""
        with self._lock:
            if self.left is not None:
                self._write(self.left)
            if self.left is None:
                self._flush()

    def drained(self) -> Awaitable[None]:
        """Wait until there is room; `READY` if there is."""
        return self._drained() if self.left is not None and self.is_full else READY

    async def _drained(self) -> None:
        while self.is_full and not self._ending:
            room = self._loop.create_future()
            self._room.append(room)
            await room

    def throttle(self) -> None:
        """For tool threads, after they have sent: wait until there is room."""
        if self.left is not None and self.is_full:  # mostly there is nothing left to be counted
            self._roomy.clear()
            if self.is_full and not self._ending:
                self._roomy.wait()
            else:  # another one may be about to wait, for what was cleared just now
                self._roomy.set()

    @property
    def waiting(self) -> int:
        """How many bytes the client has yet to take, about."""
        return self._held + (0 if self.left is None else len(self.left))

    @property
    def empty(self) -> bool:
        """Has the client taken everything?"""
        return self.left is None and not self._frames

    async def emptied(self) -> None:
        """Wait until the client has taken everything."""
        self.push()
        while self.left is not None:
            self._room.append(room := self._loop.create_future())
            await room

    def close(self) -> None:
        """The descriptor is about to be closed: whoever still sends something, sends it to nobody,
        and not to what has the same number next."""
        with self._lock:
            if self._watched:
                self._loop.remove_writer(self._descriptor)
            self._descriptor, self.left = -1, None
            self._frames.clear()
        self.end()

    def end(self) -> None:
        """Hold nobody back any more."""
        self._ending = True
        self._make_room()

    def _flush(self) -> None:
        frames, self._frames = self._frames, []
        self._held = 0
        if frames:
            self._write(self._framer.wrap(frames))

    def _write(self, data: bytes | memoryview) -> None:
        try:
            sent = os.write(self._descriptor, data)
        except BlockingIOError:
            sent = 0
        except OSError:  # it is closed, and takes nothing more
            self.left = None
            self._break()
            return
        self.taken += sent
        if sent != len(data):
            self._keep(memoryview(data)[sent:])
        elif self.left is not None:
            self.left = None

    def _write_pieces(self, pieces: tuple[bytes, ...]) -> None:
        size = 0
        for piece in pieces:  # cheaper than to sum up a map
            size += len(piece)
        try:
            sent = os.writev(self._descriptor, pieces)
        except BlockingIOError:
            sent = 0
        except OSError:  # as above
            self._break()
            return
        self.taken += sent
        if sent < size:
            self._keep(memoryview(b"".join(pieces))[sent:])

    def _break(self) -> None:
        broken, self.broken = self.broken, None
        if broken is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(broken, context=self._context)

    def _keep(self, left: memoryview) -> None:
        self.left = left
        if not self._watched:
            self._watched = True
            self._loop.call_soon_threadsafe(self._watch, context=self._context)

    def _watch(self) -> None:
        if self._descriptor >= 0:
            self._loop.add_writer(self._descriptor, self._writable)

    def _writable(self) -> None:
        self.push()
        if self.left is None:
            self._watched = False
            self._loop.remove_writer(self._descriptor)
        if self.left is None or len(self.left) + self._held <= self._high // 4:
            self._make_room()
            if self.relieved is not None:
                self.relieved()

    def _make_room(self) -> None:
        self._roomy.set()
        for room in self._room:
            if not room.done():
                room.set_result(None)
        self._room.clear()


class Input:
    """Reads frames from a descriptor and gives them to a connection.

    Frames are taken on the loop or, while that is held up by a tool that blocks, on the thread of
    the watch; there, coroutines are only queued."""

    def __init__(
        self,
        descriptor: int,
        framer: Framer,
        output: Output,
        connection: Connection,
        *,
        ended: Callable[[], None],
        patience: float | None = 1.0,
        read: Callable[[int, int], bytes] = os.read,
    ) -> None:
        self.descriptor = descriptor
        self._read = read
        never_block(descriptor)
        self._framer = framer
        self._output = output
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._chunk = _CHUNK
        # What tells when there is something to read; a file always has.
        self._ears: Hearing | None = None
        self._paused = False
        self._ended = ended
        self._patience = patience
        self.at_end = False
        # Goes up with everything that is done; stands still while the loop is held up.
        self.turns = 0
        self.serving = False
        # Held for as long as it takes to read and to understand, never while a tool runs.
        self._turn = threading.Lock()

    def start(self, ears: Hearing) -> None:
        """Read from now on."""
        self.start_if_held_up(ears)
        if self._ears is None:
            self._loop.call_soon(self._read_file)
        else:
            ears.listen(self.descriptor, self.read, self._hung_up)

    def start_if_held_up(self, ears: Hearing) -> None:
        """Do not read yet. But if the loop is held up, the watch may."""
        self._output.relieved = self._resume
        if not stat.S_ISREG(os.fstat(self.descriptor).st_mode):
            self._ears = ears

    @property
    def is_behind(self) -> bool:
        """Has something been read that is not served yet?"""
        return bool(self._framer.frames)

    @property
    def waiting(self) -> bool:
        """Is there something that somebody should take up by now?"""
        if self.serving:
            return True
        if self.at_end or self._paused or self._ears is None:
            return False
        poll = select.poll()  # which takes any number, other than `select`
        poll.register(self.descriptor, select.POLLIN)
        return bool(poll.poll(0))

    def read(self) -> None:
        """Take in what is there, and act on it."""
        line = b""
        with self._turn:
            if self.at_end:
                return
            chunk, read = self._chunk, self._read
            try:
                data = read(self.descriptor, chunk)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if chunk == _CHUNK and self._output.left is None:
                line = self._framer.only_line(data)
            if not line:
                self._chunk = _LARGE_CHUNK if len(data) >= _CHUNK else _CHUNK
                self._framer.feed(data)
                if not data:
                    self.at_end = True
        if line:  # as `serve` does with each
            self.serving = True
            self.turns += 1
            self._connection.receive(line)
            self.serving = False
            if self._output.left is None:
                return
        self.serve()
        if not data and not self._framer.frames:
            self._loop.call_soon_threadsafe(self._end)

    def serve(self) -> None:
        """Act on every frame that is complete."""
        frames, output = self._framer.frames, self._output
        self.serving = True
        several = len(frames) > 1
        if several:
            output.cork()
        while frames and (output.left is None or not output.is_full):
            self.turns += 1
            try:
                frame = frames.popleft()
            except IndexError:  # the watch was quicker
                break
            self._connection.receive(frame)
        if several:
            output.uncork()
        self.serving = False
        # Also if there is room again meanwhile: then nobody else comes for what is left.
        if (frames or (output.left is not None and output.is_full)) and not self._paused:
            self._loop.call_soon_threadsafe(self._pause)

    def _pause(self) -> None:
        if not self._output.is_full:
            self._catch_up()
        elif not self._paused:
            self._paused = True
            if self._ears is not None:
                self._ears.pause()

    def _resume(self) -> None:
        if not self._paused:
            return
        self._paused = False
        if not self.at_end and self._ears is not None:
            self._ears.ignore()
            self._ears.listen(self.descriptor, self.read, self._hung_up)
        self._catch_up()
        if self._ears is None and not self.at_end:
            self._loop.call_soon(self._read_file)

    def _hung_up(self) -> None:
        """The client has ended its side while it does not read ours: it may read what is left, but
        if it takes nothing for as long as we may take to end, nobody is there any more. Without a
        `patience`, somebody else tells when it has gone."""
        if self._patience is None:
            return
        self._loop.call_later(self._patience, self._look_again, self._output.taken)

    def _look_again(self, taken: int) -> None:
        if self._paused and self._output.taken == taken:
            self._ended()
        elif self._paused:
            self._hung_up()

    def _catch_up(self) -> None:
        """Serve what had to wait for the client to read."""
        self.serve()
        if self.at_end and not self._framer.frames:
            self._end()

    def _end(self) -> None:
        if self._ears is not None:
            self._ears.ignore()
        self._ended()

    def _read_file(self) -> None:
        """A file is read chunk by chunk, one per turn of the loop."""
        self.read()
        if not self.at_end and not self._paused:
            self._loop.call_soon(self._read_file)
