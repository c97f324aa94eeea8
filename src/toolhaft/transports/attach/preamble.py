"""The preamble of a bridge and its answer, one line of JSON each: see `socket_directory`."""

import asyncio
import contextlib
import logging
import os
import socket
from typing import Any, Final

import msgspec

from toolhaft_bridge.socket_directory import VERSION, peer_of

from .hooks import Refused
from .passed_fds import PassedDescriptors

log = logging.getLogger(__name__)

# Bytes of a preamble.
_LONGEST: Final = 65536
# Seconds for a bridge to read the answer.
_PATIENCE: Final = 10.0


class Preamble(msgspec.Struct):
    """The first line of a bridge: protocol version, kind of request, and names of its hooks."""

    toolhaft: int
    ask: str
    init: str | None = None
    stop: str | None = None


async def read_first_line(
    loop: asyncio.AbstractEventLoop, wire: socket.socket, handed: PassedDescriptors
) -> tuple[bytes | None, bytes]:
    """Read the first line, and the bytes after it. None if the peer only tested the connection.

    Raises:
        Refused: the line is incomplete, or too long.
    """
    data = b""
    while b"\n" not in data:
        more = await handed.receive(loop, wire, _LONGEST)
        data += more
        if not more and not data:
            return None, b""
        if not more or len(data) > _LONGEST:
            raise Refused("the first line is how a bridge says what it wants, and none came")
    line, _, rest = data.partition(b"\n")
    return line, rest


def parse_preamble(line: bytes) -> Preamble:
    """Parse the first line.

    Raises:
        Refused: it is not a preamble, or of another version.
    """
    try:
        wanted = msgspec.json.decode(line, type=Preamble)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise Refused(
            "the first line is how a bridge says what it wants, and this is none; connect with "
            "toolhaft attach, which does"
        ) from None
    if wanted.toolhaft != VERSION:
        raise Refused(
            f"it speaks version {VERSION} with bridges, and this one {wanted.toolhaft}; use "
            "the same version of toolhaft on both sides"
        )
    return wanted


def check_user(wire: socket.socket) -> None:
    """Check that the peer runs as the user of this process, or as root.

    Raises:
        Refused: it runs as another user.
    """
    user = peer_of(wire)
    if user is not None and user not in (0, os.getuid()):
        log.warning("uid %d was turned away: the socket is for uid %d", user, os.getuid())
        raise Refused(f"it is for uid {os.getuid()} only, and this is uid {user}")


async def answer_bridge(
    loop: asyncio.AbstractEventLoop, wire: socket.socket, members: dict[str, Any]
) -> None:
    """Send the answer, unless the bridge has disconnected or does not read."""
    line = msgspec.json.encode({"toolhaft": VERSION, **members}) + b"\n"
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            await loop.sock_sendall(wire, line)
