"""Server-sent events: messages on a stream that stays open."""

from collections.abc import Iterable
from typing import Final

HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    # A proxy that gathers the stream would hold back what is meant to come at once.
    (b"x-accel-buffering", b"no"),
)
# The same for a stream that is over when it begins, as a value of its own to be known by.
FINISHED: Final = (*HEADERS,)
# A line that no client looks at, so that nobody takes a quiet stream for a dead one.
KEEP_ALIVE: Final = b": still here\n\n"


def event(frame: bytes) -> bytes:
    """A message; JSON as we write it has no line breaks."""
    return b"event: message\ndata: %b\n\n" % frame


def events(frames: Iterable[bytes]) -> bytes:
    """Messages, at least one."""
    return b"event: message\ndata: %b\n\n" % b"\n\nevent: message\ndata: ".join(frames)


def numbered(stream: int, position: int, frame: bytes) -> bytes:
    """A message that a client can name later, to be told what came after it."""
    return b"id: %d-%d\nevent: message\ndata: %b\n\n" % (stream, position, frame)


def primer(stream: int, milliseconds: int) -> bytes:
    """The first event of a stream: nothing yet but its name, and when to come back."""
    return b"id: %d-0\nretry: %d\ndata: \n\n" % (stream, milliseconds)


def place(last_event: str) -> tuple[int, int] | None:
    """The stream and the position that an event's id names, if it is one of ours."""
    stream, dash, position = last_event.partition("-")
    if not (dash and _is_number(stream) and _is_number(position)):
        return None
    return int(stream), int(position)


def endpoint(uri: str) -> bytes:
    """Where to post to: the first event of a stream of the oldest revision."""
    return b"event: endpoint\ndata: %b\n\n" % uri.encode()


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18
