"""What commands say to people: on stdout what was asked for, on stderr what is wrong.

All of it may hold text of others, so nothing is printed that a terminal would obey.
"""

import json
import os
import sys

from toolhaft_bridge.display import block, json_text


def show(text: str, end: str = "\n") -> None:
    """Print on stdout, at once. Work that is under way goes on, even if it is not read."""
    try:
        print(block(text), end=end, flush=True)
    except BrokenPipeError:
        # What follows, and what is still held back, goes nowhere.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def complain(text: str, end: str = "\n") -> None:
    """Print on stderr, at once; if there is one."""
    print(block(text), end=end, file=sys.stderr, flush=True)


def failed(status: int, message: str) -> int:
    """Say why a command fails; the result is its status."""
    if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdout.flush()
    complain(f"toolhaft: {message}")
    return status


def as_json(value: object) -> str:
    """JSON for people and programs."""
    return json_text(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"
