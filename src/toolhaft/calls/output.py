"""Where the frames of a connection go: a pipe, a stream of events, somebody's function."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from ..encoding.envelope import whole
from ..protocol.calls import READY


class Outlet(Protocol):
    """What a transport sends by. From any thread; nothing waits but `throttle` and `drained`."""

    def send(self, frame: bytes, /) -> None:
        """Send a frame, now or as soon as the client reads."""
        ...

    def send_pieces(self, pieces: tuple[bytes, ...], /) -> None:
        """Send a long frame, which is put together only if it has to be."""
        ...

    @property
    def is_full(self) -> bool:
        """Does the client not read?"""
        ...

    def throttle(self) -> None:
        """For tool threads, after they have sent: wait while the client does not read."""
        ...

    def drained(self) -> Awaitable[None]:
        """Wait until the client has read enough of what was sent; `READY` if it has."""
        ...


class Sink:
    """An outlet with room for everything: a function that takes whole frames, from any thread."""

    is_full = False

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self.send = send

    def send_pieces(self, pieces: tuple[bytes, ...]) -> None:
        """Send a long frame."""
        self.send(whole(pieces))

    def throttle(self) -> None:
        """Nobody has to wait."""

    def drained(self) -> Awaitable[None]:
        """Nobody has to wait."""
        return READY
