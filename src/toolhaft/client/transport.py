"""How messages travel, as a conversation needs to know it."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

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


class OneStream:
    """What a transport on which all messages travel one after the other need not do: there is no
    other way to take a request back, or to hear what belongs to none."""

    @property
    def said(self) -> str:
        return ""

    def agreed(self, version: str) -> None: ...

    def drop(self, id_: Any) -> bool:
        return False

    def forget(self, id_: Any) -> None: ...

    async def listen(self) -> None: ...

    def leave(self) -> None: ...


class Lines:
    """Cuts what comes into messages, of which each is a line."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._rest = bytearray()

    def feed(self, data: bytes) -> None:
        """Something has come."""
        *ends, rest = data.split(b"\n")
        for end in ends:
            line, self._rest = bytes(self._rest + end), bytearray()
            if line.strip():
                self._hear(line)
        self._rest += rest

    def end(self) -> None:
        """Nothing more comes: the last line may lack its end."""
        if self._rest.strip():
            self._hear(bytes(self._rest))
