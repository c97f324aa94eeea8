"""Reads the body of a request, as long as it is not too long and does not take too long."""

from ..protocol.http import Refused, refused, too_long
from .patience import Patience, Stalled
from .response import Event, Receive


class TurnedAway(Exception):
    """A request that is not served, and its answer."""

    def __init__(self, refusal: Refused) -> None:
        self.refused = refusal


class ClientIsGone(Exception):
    """The client has left before its request was read."""


async def read(receive: Receive, most: int, patience: Patience) -> bytes:
    """The whole body.

    Raises:
        TurnedAway: it is too long, or the rest of it does not come.
        ClientIsGone: nobody sends it.
    """
    try:
        with patience:
            message = await receive()
        if message["type"] == "http.request" and not message.get("more_body"):
            body: bytes = message.get("body", b"")
            if len(body) > most:
                raise TurnedAway(too_long(most))
            return body
        return await _rest(message, receive, most, patience)
    except Stalled:
        refusal = refused(408, "the rest of the body did not come", connection="close")
        raise TurnedAway(refusal) from None


async def _rest(message: Event, receive: Receive, most: int, patience: Patience) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            raise ClientIsGone
        part: bytes = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if size > most:
            raise TurnedAway(too_long(most))
        if not message.get("more_body"):
            return b"".join(parts)
        with patience:
            message = await receive()
