"""What is quick to measure: how long an import takes, and a server to its first answer.

Of several tries the shortest, for whatever else the machine does only adds to that; and the time of
the processor beside it, to which it adds less.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
TRIES = 9
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "proof", "version": "1"},
    },
}


class Took(NamedTuple):
    """Milliseconds: by the clock, and of the processor."""

    clock: float
    processor: float

    def __sub__(self, other: "Took") -> "Took":
        return Took(self.clock - other.clock, self.processor - other.processor)

    def __str__(self) -> str:
        return f"{self.clock:.0f} ms ({self.processor:.0f} ms of the processor)"


def best(once: Callable[[], None]) -> Took:
    """The shortest of several tries."""

    def taken() -> Took:
        before, start = os.times(), time.perf_counter()
        once()
        clock, after = time.perf_counter() - start, os.times()
        spent = after.children_user + after.children_system
        spent -= before.children_user + before.children_system
        return Took(clock * 1000, spent * 1000)

    found = [taken() for _ in range(TRIES)]
    return Took(min(each.clock for each in found), min(each.processor for each in found))


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=30)


def _first_answer(command: list[str]) -> None:
    data = json.dumps(_HELLO).encode() + b"\n"
    done = subprocess.run(command, cwd=ROOT, input=data, capture_output=True, timeout=30)
    if b'"result"' not in done.stdout:
        raise RuntimeError(f"{command}: no answer: {done.stdout!r} {done.stderr!r}")


def timings() -> dict[str, Took]:
    """What is told of each."""
    bare = best(lambda: _python("pass"))
    server = [sys.executable, "-m", "toolhaft", "run", "examples/demo.py"]
    return {
        "Python itself": bare,
        "import toolhaft": best(lambda: _python("import toolhaft")) - bare,
        "from toolhaft import Server": best(lambda: _python("from toolhaft import Server")) - bare,
        "a server from its start through its first answer to its end": best(
            lambda: _first_answer(server)
        ),
    }
