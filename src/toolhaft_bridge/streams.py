"""The standard streams of a bridge: stdin and stdout for the client, stderr for messages."""

import os
import select
import stat
import sys
import time

IN = 0
OUT = 1


def never_block(descriptor: int) -> bool:
    """Make a pipe or socket non-blocking; False for anything else.

    A terminal shares its open file description with stderr, which must stay blocking.
    """
    mode = os.fstat(descriptor).st_mode
    is_pipe = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    if is_pipe:
        os.set_blocking(descriptor, False)
    return is_pipe


def hung_up(seconds: float) -> bool:
    """Sleep, then return whether the client has closed stdin with no unread bytes left in it."""
    time.sleep(seconds)
    poll = select.poll()
    poll.register(IN, select.POLLIN)
    return any(event & select.POLLHUP and not event & select.POLLIN for _, event in poll.poll(0))


def complain(words: str) -> None:
    """Write a message to stderr."""
    from .display import record  # noqa: PLC0415 - most bridges never need it

    sys.stderr.write(f"toolhaft: {record(words)}\n")
    sys.stderr.flush()
