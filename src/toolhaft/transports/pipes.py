"""MCP over a pair of file descriptors: `Input` reads, `Output` writes, neither blocks."""

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
from ..process.inline_loop import InlineReader
from ..process.private_fds import never_block
from ..protocol.calls import READY
from ..protocol.framing import Framer

# Bytes per read; the larger size after a read that filled the smaller one.
_CHUNK: Final = 65536
_LARGE_CHUNK: Final = 1024 * 1024
# Bytes gathered while corked before they are written all the same.
_CORKED_BYTES: Final = 65536


class Output:
    """Writes frames to a descriptor, from any thread; while corked, gathers them.

    Args:
        high: unsent bytes from which senders have to wait.
    """

    def __init__(self, descriptor: int, framer: Framer, high: int) -> None:
        self._descriptor = descriptor
        self._framer = framer
        self._high = high
        self._loop = asyncio.get_running_loop()
        # Context of the loop callbacks, which serve frames of any call: not the context of the call
        # that sent the frame that did not fit.
        self._context = copy_context()
        self._lock = threading.Lock()
        self._corked = False
        # Frames not yet written. Appending needs no lock: `send` checks the cork after it appends,
        # and `uncork` flushes after it clears the cork, so no frame is left behind.
        self._frames: list[bytes] = []
        # Bytes that the descriptor did not accept; None while the client reads.
        self.left: memoryview | None = None
        # Bytes in `_frames`; approximate, as threads add to it without the lock.
        self._held = 0
        self._watched = False
        self._room: list[asyncio.Future[None]] = []
        self._roomy = threading.Event()
        self._ending = False
        # Called on the loop when the unsent bytes have fallen to a quarter of `high`.
        self.on_room: Callable[[], None] | None = None
        # Called on the loop, once, when a write fails because the other end is closed.
        self.on_broken: Callable[[], None] | None = None
        # Bytes written so far.
        self.taken = 0
        never_block(descriptor)

    @property
    def is_full(self) -> bool:
        """Whether more than `high` bytes are unsent. Safe from any thread."""
        return self.left is not None and len(self.left) + self._held > self._high

    def send(self, frame: bytes) -> None:
        """Write a frame now, or queue it until the client reads."""
        if self.left is None and not self._corked:
            with self._lock:
                if self.left is None and not self._frames:  # no earlier frame waits
                    end = self._framer.end
                    if end is not None and len(frame) <= LONG:
                        self._write(frame + end)
                    else:  # `writev` avoids a copy of a long frame
                        self._write_pieces(self._framer.around((frame,)))
                    return
        self._frames.append(frame)
        self._held += len(frame)
        if self.left is None and (not self._corked or self._held > _CORKED_BYTES):
            with self._lock:
                if self.left is None:
                    self._flush()

    def send_pieces(self, pieces: tuple[bytes, ...]) -> None:
        """Send a frame given in pieces, which are joined only if they have to wait."""
        if self.left is None and not self._corked:
            with self._lock:
                if self.left is None and not self._frames:
                    self._write_pieces(self._framer.around(pieces))
                    return
        self.send(b"".join(pieces))

    def send_remainder(self, left: bytes) -> None:
        """Send the unsent end of what was written to the descriptor before this object existed."""
        if left:
            self.left = memoryview(left)
            self.push()

    def cork(self) -> None:
        """Gather frames instead of writing each."""
        self._corked = True

    def uncork(self) -> None:
        """Write the gathered frames."""
        self._corked = False
        if self._frames:
            with self._lock:
                if self.left is None:
                    self._flush()

    def push(self) -> None:
        """Write as many unsent bytes as the descriptor accepts now."""
        with self._lock:
            if self.left is not None:
                self._write(self.left)
            if self.left is None:
                self._flush()

    def drained(self) -> Awaitable[None]:
        """Wait while the output is full; `READY` if it is not."""
        return self._drained() if self.left is not None and self.is_full else READY

    async def _drained(self) -> None:
        while self.is_full and not self._ending:
            room = self._loop.create_future()
            self._room.append(room)
            await room

    def throttle(self) -> None:
        """Block a worker thread, after it has sent, while the output is full."""
        if self.left is not None and self.is_full:  # `left` first: cheap, and usually None
            self._roomy.clear()
            if self.is_full and not self._ending:
                self._roomy.wait()
            else:  # another thread may be about to wait for the event cleared above
                self._roomy.set()

    @property
    def waiting(self) -> int:
        """Unsent bytes, approximately."""
        return self._held + (0 if self.left is None else len(self.left))

    @property
    def empty(self) -> bool:
        """Whether nothing is unsent."""
        return self.left is None and not self._frames

    async def emptied(self) -> None:
        """Wait until nothing is unsent."""
        self.push()
        while self.left is not None:
            self._room.append(room := self._loop.create_future())
            await room

    def close(self) -> None:
        """Drop all unsent and later frames; call before the descriptor is closed.

        The system may reuse its number, and a late frame must not go to another file."""
        with self._lock:
            if self._watched:
                self._loop.remove_writer(self._descriptor)
            self._descriptor, self.left = -1, None
            self._frames.clear()
        self.end()

    def end(self) -> None:
        """Release all waiting senders; later ones do not wait."""
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
        except OSError:  # the other end is closed
            self.left = None
            self._report_broken()
            return
        self.taken += sent
        if sent != len(data):
            self._keep_unsent(memoryview(data)[sent:])
        elif self.left is not None:
            self.left = None

    def _write_pieces(self, pieces: tuple[bytes, ...]) -> None:
        size = 0
        for piece in pieces:  # faster than sum(map(len, pieces))
            size += len(piece)
        try:
            sent = os.writev(self._descriptor, pieces)
        except BlockingIOError:
            sent = 0
        except OSError:  # as above
            self._report_broken()
            return
        self.taken += sent
        if sent < size:
            self._keep_unsent(memoryview(b"".join(pieces))[sent:])

    def _report_broken(self) -> None:
        on_broken, self.on_broken = self.on_broken, None
        if on_broken is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(on_broken, context=self._context)

    def _keep_unsent(self, left: memoryview) -> None:
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
            if self.on_room is not None:
                self.on_room()

    def _make_room(self) -> None:
        self._roomy.set()
        for room in self._room:
            if not room.done():
                room.set_result(None)
        self._room.clear()


class Input:
    """Reads frames from a descriptor and passes them to a connection.

    Reads on the loop or, while a tool blocks the loop, on the watchdog's thread; there, coroutines
    are only queued.

    Args:
        ended: called on the loop at the end of input, or when the client is considered gone.
        stall_seconds: how long a client that has closed its side may leave our output unread; None
            if the end of the client is detected elsewhere.
        read: reads from the descriptor, as `os.read`.
    """

    def __init__(
        self,
        descriptor: int,
        framer: Framer,
        output: Output,
        connection: Connection,
        *,
        ended: Callable[[], None],
        stall_seconds: float | None = 1.0,
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
        # Reports when the descriptor is readable; None for a regular file, which always is.
        self._poller: InlineReader | None = None
        self._paused = False
        self._ended = ended
        self._stall_seconds = stall_seconds
        self.at_end = False
        # Frames passed on so far. The watchdog takes a count that stands still for a sign that
        # the loop may be blocked.
        self.frames_served = 0
        self.serving = False
        # Held while bytes are read and split into frames, never while a tool runs.
        self._read_lock = threading.Lock()

    def start(self, poller: InlineReader) -> None:
        """Start reading on the loop."""
        self.start_if_held_up(poller)
        if self._poller is None:
            self._loop.call_soon(self._read_file)
        else:
            poller.listen(self.descriptor, self.read, self._on_hang_up)

    def start_if_held_up(self, poller: InlineReader) -> None:
        """Let the watchdog read if the loop is blocked, without reading on the loop yet."""
        self._output.on_room = self._resume
        if not stat.S_ISREG(os.fstat(self.descriptor).st_mode):
            self._poller = poller

    @property
    def is_behind(self) -> bool:
        """Whether complete frames wait to be served."""
        return bool(self._framer.frames)

    @property
    def waiting(self) -> bool:
        """Whether a frame is being served or there are bytes to read."""
        if self.serving:
            return True
        if self.at_end or self._paused or self._poller is None:
            return False
        poll = select.poll()  # `select` fails for descriptors above 1023
        poll.register(self.descriptor, select.POLLIN)
        return bool(poll.poll(0))

    def read(self) -> None:
        """Read once without blocking, and serve the complete frames."""
        line = b""
        with self._read_lock:
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
        if line:  # as `serve` does, without the queue
            self.serving = True
            self.frames_served += 1
            self._connection.receive(line)
            self.serving = False
            if self._output.left is None:
                return
        self.serve()
        if not data and not self._framer.frames:
            self._loop.call_soon_threadsafe(self._end)

    def serve(self) -> None:
        """Pass complete frames to the connection until the output is full."""
        frames, output = self._framer.frames, self._output
        self.serving = True
        several = len(frames) > 1
        if several:
            output.cork()
        while frames and (output.left is None or not output.is_full):
            self.frames_served += 1
            try:
                frame = frames.popleft()
            except IndexError:  # the other thread took it
                break
            self._connection.receive(frame)
        if several:
            output.uncork()
        self.serving = False
        # Also if the output has room again by now: `on_room` was called already, so the remaining
        # frames would wait for ever. `_pause` checks.
        if (frames or (output.left is not None and output.is_full)) and not self._paused:
            self._loop.call_soon_threadsafe(self._pause)

    def _pause(self) -> None:
        if not self._output.is_full:
            self._catch_up()
        elif not self._paused:
            self._paused = True
            if self._poller is not None:
                self._poller.pause()

    def _resume(self) -> None:
        if not self._paused:
            return
        self._paused = False
        if not self.at_end and self._poller is not None:
            self._poller.ignore()
            self._poller.listen(self.descriptor, self.read, self._on_hang_up)
        self._catch_up()
        if self._poller is None and not self.at_end:
            self._loop.call_soon(self._read_file)

    def _on_hang_up(self) -> None:
        """Start the stall timer: the client has closed its side while our output is full.

        It may still read; if it reads nothing for `stall_seconds`, it is considered gone."""
        if self._stall_seconds is None:
            return
        self._loop.call_later(self._stall_seconds, self._check_stalled, self._output.taken)

    def _check_stalled(self, taken: int) -> None:
        if self._paused and self._output.taken == taken:
            self._ended()
        elif self._paused:
            self._on_hang_up()

    def _catch_up(self) -> None:
        """Serve the frames that waited for room in the output."""
        self.serve()
        if self.at_end and not self._framer.frames:
            self._end()

    def _end(self) -> None:
        if self._poller is not None:
            self._poller.ignore()
        self._ended()

    def _read_file(self) -> None:
        """Read one chunk of a regular file per loop iteration."""
        self.read()
        if not self.at_end and not self._paused:
            self._loop.call_soon(self._read_file)
