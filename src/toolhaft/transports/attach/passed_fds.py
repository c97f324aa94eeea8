"""File descriptors passed by a bridge: its client's pipes, a journal in shared memory, an outbox.

A bridge that copies bytes is a second process on the way of each request and each answer. With
passed descriptors the process reads and writes the client's pipes itself. The socket then only
shows, by its end, that the bridge has exited; the journal has what the bridge needs if this process
ends.
"""

import array
import asyncio
import fcntl
import logging
import mmap
import os
import socket
import stat
import sys
import termios
from collections.abc import Callable
from typing import Final

from toolhaft_bridge.journal import SIZE, Journal

from ...process.private_fds import is_pipe
from ...protocol.framing import Framer
from ..pipes import Output

log = logging.getLogger(__name__)

# Descriptors that are passed: input, output, journal, and the two ends of the outbox.
_COUNT: Final = 5
# Whether the C library has both functions that passed descriptors need.
_IS_SUPPORTED: Final = hasattr(os, "splice") and hasattr(fcntl, "F_ADD_SEALS")
# Capacity of a pipe in bytes.
_CHUNK: Final = 65536


class PassedDescriptors:
    """The descriptors that came with the preamble. `close` closes them, used or not."""

    def __init__(self) -> None:
        self._descriptors: list[int] = []
        self.journal: Journal | None = None

    @property
    def input(self) -> int:
        """The pipe from the client."""
        return self._descriptors[0]

    @property
    def output(self) -> int:
        """The pipe, or socket, to the client."""
        return self._descriptors[1]

    @property
    def outbox(self) -> tuple[int, int]:
        """Read end and write end of a pipe, of which the bridge has the read end, too."""
        return self._descriptors[3], self._descriptors[4]

    async def receive(
        self, loop: asyncio.AbstractEventLoop, wire: socket.socket, size: int
    ) -> bytes:
        """Receive bytes from the socket, and keep the descriptors that come with them."""
        if sys.platform != "linux":
            return await loop.sock_recv(wire, size)
        room = socket.CMSG_LEN(_COUNT * 4)
        while True:
            try:
                data, control, _, _ = wire.recvmsg(size, room, socket.MSG_CMSG_CLOEXEC)
            except BlockingIOError:
                await _wait_readable(loop, wire)
                continue
            for level, kind, rights in control:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    found = array.array("i", rights[: len(rights) // 4 * 4])
                    self._descriptors.extend(found)
            if len(self._descriptors) > _COUNT:
                raise ConnectionAbortedError("somebody sends more descriptors than there are uses")
            return data

    def take(self) -> bool:
        """Open the journal and return whether the descriptors can be used; else use the socket."""
        if len(self._descriptors) != _COUNT or sys.platform != "linux" or not _IS_SUPPORTED:
            return False
        try:
            *pipes, memory, outbox, into = self._descriptors
            if not (all(map(is_pipe, pipes)) and _is_one_pipe(outbox, into)):
                return False
            for each in (outbox, into):
                os.set_blocking(each, False)
            # If the file shrank later, access to the mapping would raise SIGBUS.
            fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
            if os.fstat(memory).st_size < SIZE:
                return False
            self.journal = Journal(mmap.mmap(memory, SIZE))
        except (OSError, ValueError) as error:
            log.debug("what a bridge has handed over cannot be used: %s", error)
        return self.journal is not None

    def close(self) -> None:
        """Close the journal and all descriptors."""
        if self.journal is not None:
            self.journal.close()
            self.journal = None
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()

    def disown(self) -> None:
        """In a forked child: replace the descriptors, which stay the parent's, by /dev/null."""
        if self.journal is not None:
            self.journal.disown()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in self._descriptors:
            os.dup2(null, descriptor, inheritable=False)
        os.close(null)


def _is_one_pipe(out: int, into: int) -> bool:
    """Return whether these are the ends of one pipe; else written bytes would never arrive."""
    one, other = os.fstat(out), os.fstat(into)
    return stat.S_ISFIFO(one.st_mode) and (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def _bytes_in(pipe: int) -> int:
    """Return the number of unread bytes in a pipe."""
    count = fcntl.ioctl(pipe, termios.FIONREAD, bytes(array.array("i", [0])))
    return int.from_bytes(count, sys.byteorder)


async def _wait_readable(loop: asyncio.AbstractEventLoop, wire: socket.socket) -> None:
    ready: asyncio.Future[None] = loop.create_future()

    def settle() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(wire, settle)
    try:
        await ready
    finally:
        loop.remove_reader(wire)


class RecordedOutput(Output):
    """Writes frames through the outbox and the journal, so that each byte is accounted for.

    Bytes that cannot be written to the client stay in the outbox. When the connection ends, which
    `broken` has to cause, the bridge delivers them and answers the requests that are left."""

    def __init__(
        self,
        handed: PassedDescriptors,
        framer: Framer,
        high: int,
        journal: Journal,
        *,
        broken: Callable[[], None],
    ) -> None:
        super().__init__(handed.output, framer, high)
        self._journal = journal
        self._outbox, self._into = handed.outbox
        self._broken = broken
        self._is_broken = False
        # Bytes in the outbox.
        self._outbox_bytes = 0
        # Another process that shares a socket may set it to blocking again; then `splice` blocks.
        self._is_socket = stat.S_ISSOCK(os.fstat(handed.output).st_mode)

    def _write_pieces(self, pieces: tuple[bytes, ...]) -> None:
        self._write(b"".join(pieces))

    def _write(self, data: bytes | memoryview) -> None:
        rest = memoryview(data) if len(data) > _CHUNK else data
        try:
            while (rest or self._outbox_bytes) and self._descriptor >= 0 and not self._is_broken:
                if not self._outbox_bytes:
                    count = self._outbox_bytes = self._journal.write(self._into, rest)
                    rest = rest[count:]
                sent = self._deliver()
                self._outbox_bytes -= sent
                self.taken += sent
        except OSError as error:
            # If another process wrote to the outbox or read from it, the counts differ, and waiting
            # for the client to be writable would retry for ever.
            if isinstance(error, BlockingIOError) and _bytes_in(self._outbox) == self._outbox_bytes:
                self.left = memoryview(rest)
                if not self._watched:
                    self._watched = True
                    self._loop.call_soon_threadsafe(self._watch, context=self._context)
                return
            log.debug("a client cannot be written to: %s", error)
            self._is_broken = True
            self._loop.call_soon_threadsafe(self._broken)
        self.left = None

    def _deliver(self) -> int:
        if sys.platform != "linux":
            raise OSError("there is no splice here")
        if self._is_socket and os.get_blocking(self._descriptor):
            os.set_blocking(self._descriptor, False)
        return os.splice(
            self._outbox, self._descriptor, self._outbox_bytes, flags=os.SPLICE_F_NONBLOCK
        )
