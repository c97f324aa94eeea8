"""An attached process, by its name or its socket, which carries the lines of a stdio server."""

import _socket
import asyncio
import contextlib
import os
import socket
import sys
from typing import Any

from toolhaft_bridge.socket_directory import (
    NotAttached,
    Refused,
    ask,
    attached_now,
    connect,
    paths_of,
)

from .failures import ServerGone
from .transport import Hear, Lines, Lost, OneStream

_PATIENCE = 5.0


def is_attached(name: str) -> bool:
    """Does a process go by this name? It need not answer."""
    return sys.platform != "win32" and bool(paths_of(name))


class Attached(OneStream):
    """One client of an attached process, without a bridge between."""

    def __init__(self, name: str | os.PathLike[str]) -> None:
        # A name has no slash in it, and the path of a socket has one.
        self._name = os.fspath(name)
        self._pipe: _Pipe | None = None

    async def open(self, hear: Hear, lost: Lost) -> None:
        """Connect.

        Raises:
            NotAttached: there is no such process.
            ServerGone: it turns us away.
        """
        if sys.platform == "win32":
            raise NotAttached("attach is not supported on Windows yet")
        # Not on this loop, which may be that of the process.
        wire = await asyncio.to_thread(self._wire)
        loop = asyncio.get_running_loop()
        gone = ServerGone(f"the process {self._name!r} has ended, or hung up")
        _, self._pipe = await loop.create_unix_connection(
            lambda: _Pipe(hear, lost, gone), sock=wire
        )

    def _wire(self) -> socket.socket:
        wire = self._connected()
        try:
            ask(wire, "serve")
        except (Refused, OSError) as error:
            wire.close()
            raise ServerGone(f"the process {self._name!r} does not serve us: {error}") from None
        found = socket.socket(fileno=wire.detach())
        found.setblocking(False)
        return found

    def _connected(self) -> _socket.socket:
        paths = [self._name] if os.sep in self._name else paths_of(self._name)
        for path in paths:
            with contextlib.suppress(OSError):  # what a process has left behind
                return connect(path, _PATIENCE)
        if paths:
            raise NotAttached(
                f"the process that was attached as {self._name!r} has ended; {attached_now()}"
            )
        raise NotAttached(f"no process named {self._name!r} is attached; {attached_now()}")

    async def send(self, frame: bytes, message: Any) -> None:
        assert self._pipe is not None, "it is opened first"
        self._pipe.write(frame + b"\n")

    async def close(self) -> None:
        if self._pipe is not None:
            await self._pipe.close()


class _Pipe(asyncio.Protocol):
    """What comes over the socket."""

    def __init__(self, hear: Hear, lost: Lost, gone: ServerGone) -> None:
        self._lines = Lines(hear)
        self._lost = lost
        self._gone = gone
        self._wire: Any = None
        self._over = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._wire = transport

    def data_received(self, data: bytes) -> None:
        self._lines.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._over.set()
        self._lost(None, self._gone)

    def write(self, data: bytes) -> None:
        if not self._wire.is_closing():
            self._wire.write(data)

    async def close(self) -> None:
        self._wire.close()
        await self._over.wait()
