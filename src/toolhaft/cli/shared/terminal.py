"""The person at the terminal: reads stdin line by line, and speaks on stderr.

Nothing here holds up the loop, so a request can be cancelled while it waits for an answer.
"""

import asyncio
import os
import sys

from ...process.stderr_log import drain
from .console import complain

_CHUNK = 4096


class Terminal:
    """A terminal that somebody sits at."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""

    def say(self, text: str) -> None:
        """Show a text of the server's, without what a terminal would obey."""
        drain.flush()
        complain(text, end="")

    async def line(self, prompt: str) -> str | None:
        """What is typed up to the end of the line; None if nothing more will come."""
        self.say(prompt)
        while b"\n" not in self._rest:
            await self._readable()
            try:
                data = os.read(self._descriptor, _CHUNK)
            except OSError:  # it has been closed
                data = b""
            if not data:
                self.say("\n")
                return None
            self._rest += data
        typed, _, self._rest = self._rest.partition(b"\n")
        return typed.decode("utf-8", "replace").rstrip("\r")

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(self._descriptor, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._descriptor)


def terminal_at(descriptor: int) -> Terminal | None:
    """The person to ask; None if there is nobody who could read and type."""
    is_there = os.isatty(descriptor) and sys.stderr is not None and sys.stderr.isatty()  # pyright: ignore[reportUnnecessaryComparison]
    return Terminal(descriptor) if is_there else None
