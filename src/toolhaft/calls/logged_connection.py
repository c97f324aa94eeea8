"""A connection with a traffic log: the same as without, and each message is written down.

A server without a log knows nothing of this, and pays nothing for it.
"""

from typing import Any

from ..encoding.envelope import whole
from ..protocol.calls import Event
from ..protocol.framing import Frame
from ..protocol.ports import Traffic
from .connection import Connection
from .output import Outlet


class LoggedOutlet:
    """Logs what goes out, and sends it by another outlet."""

    def __init__(self, outlet: Outlet, traffic: Traffic, name: str) -> None:
        self._outlet = outlet
        self._traffic = traffic
        self._name = name
        self.throttle = outlet.throttle
        self.drained = outlet.drained

    def send(self, frame: bytes) -> None:
        """Log a frame and send it."""
        self._traffic.message("out", self._name, frame)
        self._outlet.send(frame)

    def send_pieces(self, pieces: tuple[bytes, ...]) -> None:
        """The same for a long frame, which the log has whole."""
        self.send(whole(pieces))

    @property
    def is_full(self) -> bool:
        """Does the client not read?"""
        return self._outlet.is_full


class LoggedConnection(Connection):
    """A connection that logs what comes in; what goes out is logged by its outlet."""

    def __init__(self, *given: Any, traffic: Traffic, name: str, **options: Any) -> None:
        super().__init__(*given, **options)
        self._traffic = traffic
        self._name = name

    def receive(self, frame: Frame, principal: str | None = None) -> Event:
        """Log a frame, understand it and do what it asks for."""
        self._traffic.message("in", self._name, frame)
        return super().receive(frame, principal)
