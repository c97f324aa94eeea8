"""What is said on stdout. Work that is under way goes on, even if nobody listens any more."""

import os
import sys


def say(text: str, end: str = "\n") -> None:
    """Say something, at once."""
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError:
        # What follows, and what is still held back, goes nowhere.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
