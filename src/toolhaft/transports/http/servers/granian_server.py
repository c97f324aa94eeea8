"""Serves an application by granian, which is told to end only when our streams have."""

import socket
from pathlib import Path

from granian.constants import Interfaces
from granian.server.embed import Server

from ..app import App
from .shutdown import Ending
from .tls import Tls


class GranianServer:
    """A server that ends its streams first."""

    def __init__(self, app: App, *, drain: float, tls: Tls | None) -> None:
        self._app = app
        self._tls = tls
        self._server: Server | None = None
        self._ending = Ending(app, drain=drain, leave=self._leave)

    async def run_on(self, sockets: list[socket.socket]) -> None:
        """Serve until somebody ends it.

        Raises:
            OSError: there are several sockets, or one that has no port.
        """
        if len(sockets) != 1 or sockets[0].family == socket.AF_UNIX:
            raise OSError("granian listens at one host and port; use uvicorn for anything else")
        host, port = sockets[0].getsockname()[:2]
        # It makes its own.
        sockets[0].close()
        self._server = Server(
            self._app,
            address=host,
            port=port,
            interface=Interfaces.ASGI,
            websockets=False,
            backlog=2048,
            log_enabled=False,
            ssl_cert=None if self._tls is None else Path(self._tls.certificate),
            ssl_key=None if self._tls is None else Path(self._tls.key),
            ssl_key_password=None if self._tls is None else self._tls.password,
        )
        with self._ending.awaited():
            await self._server.serve()

    def stop(self, drain: float | None = None) -> None:
        """End in order, or with `drain=0` at once. From any thread."""
        self._ending.begin(drain)

    def _leave(self) -> None:
        if self._server is not None:
            self._server.interrupt_signal = True
            self._server.main_loop_interrupt.set()
