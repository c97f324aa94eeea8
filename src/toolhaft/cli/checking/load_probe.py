"""Loads a target in a process of its own, and tells how that went.

Run as `python -X importtime -m toolhaft.cli.checking.load_probe TARGET`. What the author's code
prints
is on stdout; our own report is a line on stderr, between the lines of the interpreter.
"""

import io
import json
import os
import sys
import time
from typing import Any

from ..target import BadTarget, load
from . import MARK


class Overheard(io.TextIOWrapper):
    """Stands in for `sys.stdout`, and remembers who was the first to print."""

    printed_at = ""

    def write(self, text: str, /) -> int:
        """Write, and note from where."""
        if not self.printed_at:
            frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
            self.printed_at = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        return super().write(text)


def tell(**report: Any) -> None:
    """A line for who has started us."""
    sys.stderr.flush()
    os.write(2, f"\n{MARK}{json.dumps(report)}\n".encode())


def main(target: str) -> None:
    """Load it, and leave."""
    sys.stdout = overheard = Overheard(
        sys.stdout.buffer, encoding="utf-8", errors="replace", write_through=True
    )
    tell(begun=True)
    begun = time.perf_counter()
    failed = ""
    try:
        load(target)
    except BadTarget as error:
        failed = str(error)
    seconds = time.perf_counter() - begun
    overheard.flush()
    tell(failed=failed, seconds=seconds, printed_at=overheard.printed_at)
    os._exit(0)  # whatever threads the author's code has begun


if __name__ == "__main__":
    main(sys.argv[1])
