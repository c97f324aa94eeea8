"""Logging that never raises: handlers belong to the author and may be broken."""

import contextlib
import os
from collections.abc import Callable

_STDERR = 2


def log_safely(log: Callable[..., object], *values: object, **more: object) -> None:
    """Call a log method. If a handler raises, write a line to stderr instead."""
    try:
        log(*values, **more)
    except Exception as error:
        line = f"toolhaft: a handler of the log raised {type(error).__name__}; told was: {values}\n"
        with contextlib.suppress(OSError):  # stderr is closed
            os.write(_STDERR, line.encode("utf-8", "replace"))
