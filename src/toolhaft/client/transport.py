"""How messages travel, as a conversation needs to know it."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

Json: TypeAlias = dict[str, Any]
Id: TypeAlias = int | float | str
Hear: TypeAlias = Callable[[bytes], None]
# No answer will come: to this request or, if it is None, to any.
Lost: TypeAlias = Callable[[Any, Exception], None]


class Transport(Protocol):
    """Carries messages to one server and back, all on the loop it was opened on."""

    @property
    def said(self) -> str:
        """What the server has said beside the protocol, such as on stderr."""
        ...

    async def open(self, hear: Hear, lost: Lost) -> None:
        """Reach the server.

        Raises:
            ServerGone: there is none.
        """
        ...

    async def send(self, frame: bytes, message: Any) -> None:
        """Send a message, which is also given as it was before it became bytes. Over HTTP, what has
        no id of its own, such as a batch, is sent when its answers have come."""
        ...

    def agreed(self, version: str) -> None:
        """A handshake has settled which revision is spoken."""
        ...

    def drop(self, id_: Any) -> bool:
        """Take a request back, if this transport has a way to; else a message has to say so."""
        ...

    def forget(self, id_: Any) -> None:
        """Nobody waits for the answer to this request any longer."""
        ...

    async def listen(self) -> None:
        """Hear what belongs to no request from now on, if that has to be asked for."""
        ...

    def leave(self) -> None:
        """Send nothing more. What is under way may still come."""
        ...

    async def close(self) -> None:
        """End."""
        ...
