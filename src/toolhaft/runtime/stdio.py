"""MCP over a pair of descriptors: reads in one place, writes in one place, waits for neither."""

import asyncio
import os
import select
import stat
import threading
from collections.abc import Callable
from typing import Final

from ..protocol.framing import Framer
from .connection import Connection

_CHUNK: Final = 65536
_LARGE_CHUNK: Final = 1024 * 1024
# While answers are gathered, no more than these are held back.
_GATHERED: Final = 256


class Output:
    """Writes frames to a descriptor, from any thread. Gathers them while it is corked."""

    def __init__(self, descriptor: int, framer: Framer, high: int) -> None:
        self._descriptor = descriptor
        self._wrap = framer.wrap
        self._high = high
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._corked = False
        # Frames that nobody has tried to send yet. Appending needs no lock: whoever appends looks
        # at the cork afterwards, and whoever pulls the cork flushes afterwards.
        self._frames: list[bytes] = []
        # What the descriptor did not take.
        self._left: memoryview | None = None
        self._watched = False
        self._room: list[asyncio.Future[None]] = []
        # Called on the loop when there is room again.
        self.relieved: Callable[[], None] | None = None
        mode = os.fstat(descriptor).st_mode
        # A terminal shares its description with stderr, which must stay as it is.
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            os.set_blocking(descriptor, False)

    @property
    def full(self) -> bool:
        """Does the client not read?"""
        return self._left is not None and len(self._left) > self._high

    def send(self, frame: bytes) -> None:
        """Send a frame, now or as soon as the client reads."""
        self._frames.append(frame)
        if not self._corked or len(self._frames) > _GATHERED:
            self.flush()

    def cork(self) -> None:
        """Gather frames from now on."""
        self._corked = True

    def uncork(self) -> None:
        """Send what was gathered."""
        self._corked = False
        if self._frames:
            self.flush()

    def flush(self) -> None:
        """Send what can be sent."""
        with self._lock:
            frames, self._frames = self._frames, []
            data: bytes | memoryview = self._wrap(frames)
            if self._left is not None:
                data = b"".join((self._left, data))
            if data:
                self._write(data)

    async def drained(self) -> None:
        """Wait until there is room."""
        while self.full:
            room = self._loop.create_future()
            self._room.append(room)
            await room

    def _write(self, data: bytes | memoryview) -> None:
        try:
            sent = os.write(self._descriptor, data)
        except BlockingIOError:
            sent = 0
        except OSError:
            # Nobody reads any more. The end of input, which follows, is the end of us.
            sent = len(data)
        self._left = memoryview(data)[sent:] if sent < len(data) else None
        if self._left is not None and not self._watched:
            self._watched = True
            self._loop.call_soon_threadsafe(self._watch)

    def _watch(self) -> None:
        self._loop.add_writer(self._descriptor, self._writable)

    def _writable(self) -> None:
        with self._lock:
            if self._left is not None:
                self._write(self._left)
            if self._left is None:
                self._watched = False
                self._loop.remove_writer(self._descriptor)
        if self._left is None or len(self._left) <= self._high // 4:
            for room in self._room:
                if not room.done():
                    room.set_result(None)
            self._room.clear()
            if self.relieved is not None:
                self.relieved()


class Input:
    """Reads frames from a descriptor and gives them to a connection.

    Frames are taken on the loop or, while that is held up by a tool that blocks, on the thread of
    the watch; there, coroutines are only queued."""

    def __init__(
        self, descriptor: int, framer: Framer, output: Output, connection: Connection
    ) -> None:
        self.descriptor = descriptor
        self._framer = framer
        self._output = output
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._chunk = _CHUNK
        # Can the loop tell when there is something to read? Not for files.
        self._polled = True
        self._paused = False
        self.ended = asyncio.Event()
        self.at_end = False
        # Goes up with everything that is done; stands still while the loop is held up.
        self.turns = 0
        self.serving = False
        # Held for as long as it takes to read and to understand, never while a tool runs.
        self._turn = threading.Lock()

    def start(self) -> None:
        """Read from now on."""
        self._output.relieved = self._resume
        try:
            self._loop.add_reader(self.descriptor, self.read)
        except (OSError, NotImplementedError):
            self._polled = False
            threading.Thread(target=self._read_file, name="toolhaft-stdin", daemon=True).start()

    @property
    def waiting(self) -> bool:
        """Is there something that somebody should take up by now?"""
        if self.serving:
            return True
        if self.at_end or self._paused or not self._polled:
            return False
        return bool(select.select([self.descriptor], [], [], 0)[0])

    def read(self) -> None:
        """Take in what is there, and act on it."""
        with self._turn:
            if self.at_end:
                return
            data = self._read()
            if data is None:
                return
            self._take(data)
        self.serve()
        if not data:
            self._loop.call_soon_threadsafe(self._end)

    def serve(self) -> None:
        """Act on every frame that is complete."""
        frames, connection, output = self._framer.frames, self._connection, self._output
        self.serving = True
        output.cork()
        while frames:
            self.turns += 1
            try:
                frame = frames.popleft()
            except IndexError:  # the watch was quicker
                break
            connection.act(connection.understand(frame))
        output.uncork()
        self.serving = False
        self.turns += 1
        if output.full:
            self._loop.call_soon_threadsafe(self._pause)

    def _read(self) -> bytes | None:
        try:
            return os.read(self.descriptor, self._chunk)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def _take(self, data: bytes) -> None:
        self._chunk = _LARGE_CHUNK if len(data) >= _CHUNK else _CHUNK
        self._framer.feed(data)
        self.at_end = not data

    def _pause(self) -> None:
        if self._output.full and not self._paused:
            self._paused = True
            if self._polled:
                self._loop.remove_reader(self.descriptor)

    def _resume(self) -> None:
        if self._paused:
            self._paused = False
            if self._polled and not self.at_end:
                self._loop.add_reader(self.descriptor, self.read)

    def _end(self) -> None:
        if self._polled:
            self._loop.remove_reader(self.descriptor)
        self.ended.set()

    def _read_file(self) -> None:
        """Read what cannot be waited for, on a thread; the loop takes chunk after chunk."""
        while not self.at_end:
            data = self._read() or b""
            taken = threading.Event()
            self._loop.call_soon_threadsafe(self._take_up, data, taken)
            taken.wait()

    def _take_up(self, data: bytes, taken: threading.Event) -> None:
        with self._turn:
            self._take(data)
        self.serve()
        taken.set()
        if not data:
            self._end()
