"""Server-sent events: messages on a stream that stays open."""

from collections.abc import Iterable
from typing import Final

HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    # Keeps nginx from buffering the stream.
    (b"x-accel-buffering", b"no"),
)
# The same for a stream whose events are all known when it starts; told apart by identity.
FINISHED: Final = (*HEADERS,)
# An SSE comment, which clients ignore; keeps proxies from closing an idle stream.
KEEP_ALIVE: Final = b": still here\n\n"


def event(frame: bytes) -> bytes:
    """Encode a message as an event. Our JSON has no line breaks, so one `data` line suffices."""
    return b"event: message\ndata: %b\n\n" % frame


def events(frames: Iterable[bytes]) -> bytes:
    """Encode one or more messages as events."""
    return b"event: message\ndata: %b\n\n" % b"\n\nevent: message\ndata: ".join(frames)


def numbered(stream: int, position: int, frame: bytes) -> bytes:
    """Encode a message with an event id, from which a client can resume the stream."""
    return b"id: %d-%d\nevent: message\ndata: %b\n\n" % (stream, position, frame)


def primer(stream: int, milliseconds: int) -> bytes:
    """Encode the first event of a stream: an id to resume from, and the delay before a retry."""
    return b"id: %d-0\nretry: %d\ndata: \n\n" % (stream, milliseconds)


def place(last_event: str) -> tuple[int, int] | None:
    """Parse an event id into stream and position; None if the id is not one of ours."""
    stream, dash, position = last_event.partition("-")
    if not (dash and _is_number(stream) and _is_number(position)):
        return None
    return int(stream), int(position)


def endpoint(uri: str) -> bytes:
    """Encode the URI for POST requests: the first event of a stream of revision 2024-11-05."""
    return b"event: endpoint\ndata: %b\n\n" % uri.encode()


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18
