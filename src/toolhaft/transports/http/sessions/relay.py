"""Passes on what concerns a session to whichever process serves it at the moment.

A call runs in one process; that it is cancelled, or that its question is answered, may be said to
another one.
"""

import logging
from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct

from ....protocol.ports import Bus

log = logging.getLogger(__name__)


class Told(Struct, array_like=True):
    """A message of a client to its session; without one, the session is over."""

    session: str
    message: bytes | None


_told = msgspec.msgpack.Decoder(Told)


class Relay:
    """The other processes that serve the same service."""

    def __init__(self, bus: Bus | None, topic: str, hear: Callable[[Told], None]) -> None:
        self._bus = bus
        self._topic = topic
        self._hear = hear
        self._leave: Callable[[], Awaitable[None]] | None = None

    async def tell(self, session: str, message: bytes | None) -> None:
        """Somebody else may have use for this."""
        if self._bus is not None:
            told = msgspec.msgpack.encode(Told(session, message))
            await self._bus.publish(self._topic, told)

    async def open(self) -> None:
        """Hear of what others are told, from now on."""
        if self._bus is not None and self._leave is None:
            self._leave = await self._bus.subscribe(self._topic, self._on)

    async def close(self) -> None:
        """Hear no more."""
        if self._leave is not None:
            await self._leave()

    def _on(self, message: bytes) -> None:
        try:
            told = _told.decode(message)
        except msgspec.MsgspecError as error:
            log.warning("a message on the bus cannot be read: %s", error)
            return
        self._hear(told)
