"""What is said on stdout, and why a command fails on stderr.

Work that is under way goes on, even if nobody listens any more.
"""

import os
import sys

WRONG_COMMAND = 2
CANNOT_CHANGE = 3
NO_ANSWER = 4


def say(text: str, end: str = "\n") -> None:
    """Say something, at once."""
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError:
        # What follows, and what is still held back, goes nowhere.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def failed(status: int, message: str) -> int:
    """Say why; the result is the status."""
    sys.stdout.flush()
    print(f"toolhaft: {message}", file=sys.stderr)
    return status
