"""The outgoing side of a connection: a pipe, an event stream, or a function."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from ..encoding.envelope import whole
from ..protocol.calls import READY


class Output(Protocol):
    """Sends the frames of a connection. Thread-safe; only `throttle` and `drained` wait."""

    def send(self, frame: bytes, /) -> None:
        """Send a frame now, or buffer it until the client reads."""
        ...

    def send_pieces(self, pieces: tuple[bytes, ...], /) -> None:
        """Send a long frame, which is joined only if necessary."""
        ...

    @property
    def is_full(self) -> bool:
        """Whether there is backpressure: the client does not read."""
        ...

    def throttle(self) -> None:
        """Block a worker thread while there is backpressure. Called after sending."""
        ...

    def drained(self) -> Awaitable[None]:
        """Return an awaitable that ends with the backpressure: `READY` if there is none."""
        ...


class Sink:
    """An output without backpressure: a thread-safe function that takes whole frames."""

    is_full = False

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self.send = send

    def send_pieces(self, pieces: tuple[bytes, ...]) -> None:
        """Send a long frame in one piece."""
        self.send(whole(pieces))

    def throttle(self) -> None:
        """Do nothing."""

    def drained(self) -> Awaitable[None]:
        """Return `READY`."""
        return READY
