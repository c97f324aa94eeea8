"""Copies bytes between a client, on stdin and stdout, and the socket of one process.

Bytes are forwarded as they arrive, unchanged. A source is polled only while its destination accepts
data, so backpressure passes from one side to the other.
"""

import _socket
import os
import select

from .bridge import Silent
from .ledger import Ledger
from .streams import IN, OUT

_CHUNK = 65536
_LARGE_CHUNK = 1024 * 1024


class Copying:
    """Copying for one process, from its first answer to its end.

    Args:
        traffic: the log of all messages, if one is kept.
        stdout_is_pipe: `poll` reports that stdout was closed, even with nothing to write.
        client_ended: stdin has reached its end already.
    """

    def __init__(
        self,
        wire: _socket.socket,
        ledger: Ledger,
        traffic: Silent | None,
        *,
        is_watched: bool,
        client_ended: bool,
    ) -> None:
        self._wire = wire
        self._ledger = ledger
        self._traffic = traffic
        self._is_watched = is_watched
        self.client_ended = client_ended
        self.nobody_reads = False
        # Bytes that were read, but not written yet.
        self._to_process: memoryview | None = None
        self._to_client: memoryview | None = None
        # Whether the poll masks must be computed again.
        self._changed = True

    def run(self) -> None:
        """Copy until the process has ended and its output is written, or stdout is closed."""
        poll, process, read = select.poll(), self._wire.fileno(), os.read
        wait, writable = poll.poll, select.POLLOUT
        # Bytes per read: the large size after a read that filled the small one.
        sizes = {IN: _CHUNK, process: _CHUNK}
        masks: dict[int, int] = {}
        while True:
            if self._changed:
                self._changed = False
                masks = self._register(poll, masks)
            for ready, event in wait():
                if event & writable or (ready != IN and (ready == OUT or self._to_client)):
                    self._push(ready, event)
                else:
                    try:
                        data = read(ready, sizes[ready])
                    except BlockingIOError:
                        continue
                    except OSError:
                        data = b""
                    sizes[ready] = _CHUNK if len(data) < _CHUNK else _LARGE_CHUNK
                    if ready == IN:
                        self._from_client(data)
                    elif data:
                        self._from_process(data)
                    else:
                        return
                if self.nobody_reads:
                    return

    def _register(self, poll: "select.poll", before: dict[int, int]) -> dict[int, int]:
        """Update the poll masks: read a source only while its destination accepts data."""
        process = self._wire.fileno()
        says = not self.client_ended and self._to_process is None
        masks = {
            IN: select.POLLIN if says else 0,
            OUT: 0 if self._to_client is None else select.POLLOUT,
            process: (select.POLLIN if self._to_client is None else 0)
            | (0 if self._to_process is None else select.POLLOUT),
        }
        if not before and self._is_watched:
            poll.register(OUT, 0)  # POLLERR and POLLHUP are reported even with an empty mask
        for descriptor, mask in masks.items():
            if mask == before.get(descriptor, 0):
                continue
            if mask or (descriptor == OUT and self._is_watched):
                poll.register(descriptor, mask)
            else:
                poll.unregister(descriptor)
        return masks

    def _from_client(self, data: bytes) -> None:
        if not data:
            self._said_all()
            return
        try:
            sent = self._wire.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            sent = len(data)  # the process has ended; the next read from it returns b""
        if sent < len(data):
            self._to_process, self._changed = memoryview(data)[sent:], True
        self._ledger.sent(data)
        if self._traffic is not None:
            self._traffic.note("in", data)

    def _from_process(self, data: bytes) -> None:
        try:
            sent = os.write(OUT, data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.nobody_reads = True
            return
        if sent < len(data):
            self._to_client, self._changed = memoryview(data)[sent:], True
        self._ledger.came(data)
        if self._traffic is not None:
            self._traffic.note("out", data)

    def _push(self, ready: int, event: int) -> None:
        """Write pending bytes, as far as they are accepted."""
        self._changed = True
        if not event & select.POLLOUT:
            # One side was closed. The last output of a process is read once there is room for it.
            self._to_process, self.nobody_reads = None, ready == OUT
            return
        if self._to_client is not None:
            try:
                self._to_client = self._to_client[os.write(OUT, self._to_client) :] or None
            except BlockingIOError:
                pass
            except OSError:
                self.nobody_reads = True
        if self._to_process is not None:
            try:
                self._to_process = self._to_process[self._wire.send(self._to_process) :] or None
            except BlockingIOError:
                pass
            except OSError:
                self._to_process = None
            if self._to_process is None and self.client_ended:
                self._end_input()

    def _said_all(self) -> None:
        self.client_ended = self._changed = True
        self._ledger.end()
        if self._traffic is not None:
            self._traffic.end("in")
        if self._to_process is None:
            self._end_input()

    def _end_input(self) -> None:
        """Tell the process that no more input follows. Answers may still arrive."""
        try:  # noqa: SIM105  # contextlib takes a while to load
            self._wire.shutdown(_socket.SHUT_WR)
        except OSError:
            pass  # the process has ended; the next read from it returns b""
