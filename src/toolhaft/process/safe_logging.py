"""Tells the log, whose handlers are the author's and may raise: that ends nothing of ours."""

import contextlib
import os
from collections.abc import Callable

_STDERR = 2


def tell(log: Callable[..., object], *values: object, **more: object) -> None:
    """Log something. If a handler raises, that is said on stderr, and all goes on."""
    try:
        log(*values, **more)
    except Exception as error:
        line = f"toolhaft: a handler of the log raised {type(error).__name__}; told was: {values}\n"
        with contextlib.suppress(OSError):  # nobody reads that either
            os.write(_STDERR, line.encode("utf-8", "replace"))
