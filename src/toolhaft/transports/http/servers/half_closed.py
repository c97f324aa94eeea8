"""Connections whose client has ended its side, and perhaps waits for an answer.

A client that has closed its socket, and one that has shut down only its sending side, look the same
until something is written: the system of the former refuses it, and the connection is reset. So
the application is made to write, and the descriptor is looked at until the answer is complete. A
transport does not do that by itself, for it reads no more.
"""

import asyncio
import select
import sys
from collections.abc import Callable
from typing import Any, Final

# After something was written, which is when a reset comes, and at last, before more is written.
_SOON: Final = 0.02
_SELDOM: Final = 2.0


class HalfClosed:
    """Aborts a connection when it was reset.

    Args:
        write: makes the application write something, unless the answer comes first.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        write: Callable[[], None],
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._write = write
        self._seconds = _SOON
        self._has_written = False
        self._poll: Any = None
        self._timer: asyncio.TimerHandle | None = None
        wire = transport.get_extra_info("socket")
        # TLS has no half-closed connections that asyncio would keep.
        if wire is None or transport.get_extra_info("sslcontext") is not None:
            return
        if sys.platform != "win32":
            self._poll = select.poll()
            self._poll.register(wire.fileno(), 0)  # errors are reported nevertheless

    @property
    def is_over(self) -> bool:
        """Is it known that the client has closed its socket, or can it never be known?"""
        return self._poll is None or bool(self._poll.poll(0))

    def watch(self, *, has_begun: bool) -> None:
        """Look again and again, until the connection is gone.

        Args:
            has_begun: a part of the answer was sent, so that writing more at once costs nothing.
        """
        if has_begun:
            self._has_written = True
            self._write()
        self._look_later()

    def _look_later(self) -> None:
        self._timer = self._loop.call_later(self._seconds, self._look)

    def stop(self) -> None:
        """The connection is gone."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        if self.is_over:
            self._transport.abort()
            return
        self._seconds *= 2
        if self._seconds > _SELDOM or not self._has_written:
            self._has_written = True
            self._seconds = _SOON
            self._write()
        self._look_later()
