"""Reads the rest of a request's body, as long as it is not too long."""

from collections.abc import Callable

from ...protocol.http.rules import Refused, refused, too_long
from .response import ClientIsGone, Event, Receive


class TurnedAway(Exception):
    """A request that is not served, and its answer."""

    def __init__(self, refusal: Refused) -> None:
        self.refused = refusal


async def received(receive: Receive) -> Event:
    """The next message of the server about a request.

    Raises:
        ClientIsGone: the connection has ended.
    """
    try:
        return await receive()
    except OSError as error:
        raise ClientIsGone from error


async def whole(message: Event, receive: Receive, most: int, came: Callable[[], bool]) -> bytes:
    """The body of a request, of which this is the first message. Of each part `came` is told, and
    says whether there is time for another.

    Raises:
        TurnedAway: it is too long, or comes drop by drop.
        ClientIsGone: nobody sends the rest.
    """
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
            return parts[0] if len(parts) == 1 else b"".join(parts)
        if not came():
            raise TurnedAway(refused(408, "the body took too long to come", connection="close"))
        message = await received(receive)
