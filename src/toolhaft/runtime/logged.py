"""A connection with a traffic log: the same as without, and each message is written down.

A server without a log knows nothing of this, and pays nothing for it.
"""

from collections.abc import Callable
from typing import Any

from ..protocol.calls import Event
from ..protocol.framing import Frame
from ..protocol.ports import Traffic
from .connection import Connection


def logged_send(
    send: Callable[[bytes], None], traffic: Traffic, name: str
) -> Callable[[bytes], None]:
    """Log what goes out."""

    def logged(frame: bytes) -> None:
        traffic.message("out", name, frame)
        send(frame)

    return logged


class LoggedConnection(Connection):
    """A connection that logs what comes in; what goes out is logged by what it sends with."""

    def __init__(self, *given: Any, traffic: Traffic, name: str, **options: Any) -> None:
        super().__init__(*given, **options)
        self._traffic = traffic
        self._name = name

    def receive(self, frame: Frame, principal: str | None = None) -> Event:
        """Log a frame, understand it and do what it asks for."""
        self._traffic.message("in", self._name, frame)
        return super().receive(frame, principal)
