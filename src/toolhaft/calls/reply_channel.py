"""The reply channel: where the messages of one call are sent."""

from collections.abc import Awaitable
from typing import Protocol

from ..encoding.envelope import Outgoing
from ..errors import McpError


class ReplyChannel(Protocol):
    """Sends the messages of one call. Thread-safe; only `throttle` and `drained` wait."""

    def send(self, frame: bytes, /) -> None:
        """Send a message before the answer."""
        ...

    def answer(self, frame: Outgoing | None, error: McpError | None) -> None:
        """End the call with an answer. No frame: the call was cancelled, or has no answer."""
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

    def hang_up(self) -> None:
        """Close the connection, if the client can reconnect for further messages."""
        ...
