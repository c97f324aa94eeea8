"""What a bridge hands over: the descriptors of its client, and a journal for what is said on them.

A bridge that copies makes each call pass two processes more than on stdio. With the descriptors the
process is the only one on the way. Whether the bridge is still there tells the connection to it,
on which nothing else is said; what it must know if this process ends, the journal.
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

# Input, output, journal, and the two ends of the outbox.
_COUNT: Final = 5
# Not every C library has both.
_CAN: Final = hasattr(os, "splice") and hasattr(fcntl, "F_ADD_SEALS")
# As much as a pipe takes.
_CHUNK: Final = 65536


class PassedDescriptors:
    """The descriptors that came with the first line; closed with us, whoever uses them or not."""

    def __init__(self) -> None:
        self._descriptors: list[int] = []
        self.journal: Journal | None = None

    @property
    def input(self) -> int:
        """What the client says."""
        return self._descriptors[0]

    @property
    def output(self) -> int:
        """What it hears."""
        return self._descriptors[1]

    @property
    def outbox(self) -> tuple[int, int]:
        """Both ends of a pipe, of which the bridge has the first, too."""
        return self._descriptors[3], self._descriptors[4]

    async def receive(
        self, loop: asyncio.AbstractEventLoop, wire: socket.socket, size: int
    ) -> bytes:
        """What comes on the wire, without the descriptors that come with it, which are kept."""
        if sys.platform != "linux":
            return await loop.sock_recv(wire, size)
        room = socket.CMSG_LEN(_COUNT * 4)
        while True:
            try:
                data, control, _, _ = wire.recvmsg(size, room, socket.MSG_CMSG_CLOEXEC)
            except BlockingIOError:
                await _readable(loop, wire)
                continue
            for level, kind, rights in control:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    found = array.array("i", rights[: len(rights) // 4 * 4])
                    self._descriptors.extend(found)
            if len(self._descriptors) > _COUNT:
                raise ConnectionAbortedError("somebody sends more descriptors than there are uses")
            return data

    def take(self) -> bool:
        """Can the client be spoken to on these? If not, it will be on the wire."""
        if len(self._descriptors) != _COUNT or sys.platform != "linux" or not _CAN:
            return False
        try:
            *pipes, memory, outbox, into = self._descriptors
            if not (all(map(is_pipe, pipes)) and _are_ends(outbox, into)):
                return False
            for each in (outbox, into):
                os.set_blocking(each, False)
            # Who made it smaller afterwards would end this process.
            fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
            if os.fstat(memory).st_size < SIZE:
                return False
            self.journal = Journal(mmap.mmap(memory, SIZE))
        except (OSError, ValueError) as error:
            log.debug("what a bridge has handed over cannot be used: %s", error)
        return self.journal is not None

    def close(self) -> None:
        """Let go of all of them."""
        if self.journal is not None:
            self.journal.close()
            self.journal = None
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()

    def disown(self) -> None:
        """In a process that was forked off: they are the parent's."""
        if self.journal is not None:
            self.journal.disown()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in self._descriptors:
            os.dup2(null, descriptor, inheritable=False)
        os.close(null)


def _are_ends(out: int, into: int) -> bool:
    """Are these two the ends of one pipe? Else what is written would never come out."""
    one, other = os.fstat(out), os.fstat(into)
    return stat.S_ISFIFO(one.st_mode) and (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def _held_by(pipe: int) -> int:
    """How much lies in a pipe."""
    count = fcntl.ioctl(pipe, termios.FIONREAD, bytes(array.array("i", [0])))
    return int.from_bytes(count, sys.byteorder)


async def _readable(loop: asyncio.AbstractEventLoop, wire: socket.socket) -> None:
    ready: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(wire, tell)
    try:
        await ready
    finally:
        loop.remove_reader(wire)


class RecordedOutput(Output):
    """Writes frames so that the bridge knows of each byte whether it was written.

    What cannot be delivered is left in the outbox. With the end of the connection, to which
    `broken` has to lead, the bridge delivers that, and answers whatever else was asked."""

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
        # How much is in the outbox.
        self._waiting = 0
        # Into a socket that somebody makes wait again, who shares it, the system would wait.
        self._is_socket = stat.S_ISSOCK(os.fstat(handed.output).st_mode)

    def _write_pieces(self, pieces: tuple[bytes, ...]) -> None:
        self._write(b"".join(pieces))

    def _write(self, data: bytes | memoryview) -> None:
        rest = memoryview(data) if len(data) > _CHUNK else data
        try:
            while (rest or self._waiting) and self._descriptor >= 0 and not self._is_broken:
                if not self._waiting:
                    count = self._waiting = self._journal.write(self._into, rest)
                    rest = rest[count:]
                sent = self._deliver()
                self._waiting -= sent
                self.taken += sent
        except OSError as error:
            # Nobody but us writes to the outbox or empties it. If somebody does, there is nothing
            # to be waited for: it would be tried again and again.
            if isinstance(error, BlockingIOError) and _held_by(self._outbox) == self._waiting:
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
        return os.splice(self._outbox, self._descriptor, self._waiting, flags=os.SPLICE_F_NONBLOCK)
