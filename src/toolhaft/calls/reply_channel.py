"""The way from a call to its client."""

from collections.abc import Awaitable
from typing import Protocol

from ..encoding.envelope import Outgoing
from ..errors import McpError


class Line(Protocol):
    """Where the messages of a call go. From any thread; nothing waits but `throttle` and
    `drained`."""

    def send(self, frame: bytes, /) -> None:
        """A message on the way to the answer."""
        ...

    def answer(self, frame: Outgoing | None, error: McpError | None) -> None:
        """The end of the call. No frame: nobody wants the answer any more."""
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

    def hang_up(self) -> None:
        """End the connection, if the client can come back for what follows."""
        ...
