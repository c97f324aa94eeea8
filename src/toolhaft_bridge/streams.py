"""The three streams of a bridge: a client is on stdin and stdout, a person may look at stderr."""

import os
import select
import stat
import sys
import time

IN = 0
OUT = 1


def never_block(descriptor: int) -> bool:
    """A terminal shares its description with stderr, which must stay as it is. Is it a pipe?"""
    mode = os.fstat(descriptor).st_mode
    is_pipe = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    if is_pipe:
        os.set_blocking(descriptor, False)
    return is_pipe


def hung_up(seconds: float) -> bool:
    """Wait for so long. Has the client left, without a word that we have not read?"""
    time.sleep(seconds)
    poll = select.poll()
    poll.register(IN, select.POLLIN)
    return any(event & select.POLLHUP and not event & select.POLLIN for _, event in poll.poll(0))


def complain(words: str) -> None:
    """Say it on stderr."""
    from .display import record  # noqa: PLC0415 - which most bridges never need

    sys.stderr.write(f"toolhaft: {record(words)}\n")
    sys.stderr.flush()
