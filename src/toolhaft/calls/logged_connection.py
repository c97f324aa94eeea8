"""A connection that writes each message to the traffic log.

Used only by servers with a traffic log; others have no overhead.
"""

from typing import Any

from ..encoding.envelope import whole
from ..protocol.calls import Event
from ..protocol.framing import Frame
from ..protocol.ports import Traffic
from .connection import Connection
from .output import Output


class LoggedOutput:
    """An output that logs each frame and sends it through another output."""

    def __init__(self, output: Output, traffic: Traffic, name: str) -> None:
        self._output = output
        self._traffic = traffic
        self._name = name
        self.throttle = output.throttle
        self.drained = output.drained

    def send(self, frame: bytes) -> None:
        """Log a frame and send it."""
        self._traffic.message("out", self._name, frame)
        self._output.send(frame)

    def send_pieces(self, pieces: tuple[bytes, ...]) -> None:
        """Log a long frame and send it in one piece."""
        self.send(whole(pieces))

    @property
    def is_full(self) -> bool:
        """See `Output`."""
        return self._output.is_full


class LoggedConnection(Connection):
    """A connection that logs incoming frames. Its output logs outgoing ones."""

    def __init__(self, *given: Any, traffic: Traffic, name: str, **options: Any) -> None:
        super().__init__(*given, **options)
        self._traffic = traffic
        self._name = name

    def receive(self, frame: Frame, principal: str | None = None) -> Event:
        """Log a frame and receive it."""
        self._traffic.message("in", self._name, frame)
        return super().receive(frame, principal)
