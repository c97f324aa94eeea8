"""Serves an application by uvicorn.

Left alone, uvicorn waits for ever for streams that are open, so it is told to end only when ours
have.
"""

import asyncio
import contextlib
import importlib.util
import logging
import socket
from collections.abc import Generator
from functools import partial
from types import FrameType
from typing import Any

import uvicorn

from ....process.stderr_log import StderrHandler
from ....protocol.limits import Limits
from ..app import App
from .shutdown import Ending
from .tls import Tls

_A_MOMENT = 2
_TO_READ = 0.5
# To say farewell by the rules of TLS; then the connection is closed all the same.
_TLS_FAREWELL = 5


class UvicornServer(uvicorn.Server):
    """A server that ends its streams first."""

    def __init__(
        self, app: App, *, limits: Limits, drain: float, tls: Tls | None, patient: bool
    ) -> None:
        super().__init__(_config(app, limits, tls))
        self._handshake_seconds = limits.head_seconds
        self._ending = Ending(app, drain=drain, leave=self._leave, patient=patient)

    async def run_on(self, sockets: list[socket.socket]) -> None:
        """Serve until somebody ends it."""
        # What clients do wrong is no news, and must not hold us up where nobody reads stderr.
        logger = logging.getLogger("uvicorn.error")
        before = logger.level, logger.propagate
        handler = None if logging.getLogger().handlers or logger.handlers else StderrHandler()
        logger.setLevel(logging.ERROR)
        if handler is not None:
            logger.addHandler(handler)
            logger.propagate = False
        try:
            await self.serve(sockets)
        finally:
            logger.setLevel(before[0])
            logger.propagate = before[1]
            if handler is not None:
                logger.removeHandler(handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve. Left alone, uvicorn gives a client a minute for the handshake of TLS: it
        knows no other limit, so its sockets are opened here."""
        if self.config.ssl is None or sockets is None:
            await super().startup(sockets)
            return
        await super().startup([])
        loop = asyncio.get_running_loop()
        for listener in sockets:
            server = await loop.create_server(
                self._new_protocol,
                sock=listener,
                ssl=self.config.ssl,
                backlog=self.config.backlog,
                ssl_handshake_timeout=self._handshake_seconds,
                ssl_shutdown_timeout=_TLS_FAREWELL,
            )
            self.servers.append(server)

    def _new_protocol(self) -> asyncio.Protocol:
        make: Any = self.config.http_protocol_class
        protocol: asyncio.Protocol = make(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

    def stop(self, drain: float | None = None) -> None:
        """End in order, or with `drain=0` at once. From any thread."""
        self._ending.begin(drain)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """What signals do is decided by us."""
        with self._ending.awaited():
            yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal has come."""
        self._ending.on_signal(sig, frame)

    def _leave(self) -> None:
        # Of those who did not leave in time there is nothing more to say.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        self.should_exit = True
        asyncio.get_running_loop().call_later(_TO_READ, self._cut)

    def _cut(self) -> None:
        """End the connections of those who do not read: nobody else would, before the lifespan is
        left."""
        for connection in list(self.server_state.connections):
            if connection.transport.get_write_buffer_size():
                connection.transport.abort()


def _config(app: App, limits: Limits, tls: Tls | None) -> uvicorn.Config:
    files: dict[str, Any] = {}
    if tls is not None:
        files = {
            "ssl_certfile": tls.certificate,
            "ssl_keyfile": tls.key,
            "ssl_keyfile_password": tls.password,
        }
    return uvicorn.Config(
        app,
        interface="asgi3",
        loop="none",
        http=_protocol(app, limits),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_A_MOMENT,
        **files,
    )


def _protocol(app: App, limits: Limits) -> Any:
    if importlib.util.find_spec("httptools") is None:
        return "h11"
    from .uvicorn_protocol import Protocol  # noqa: PLC0415

    return partial(Protocol, app, limits)
