"""An event loop as it comes, which reads by `add_reader`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Readers:
    """Has the loop read one descriptor. While paused, a client that hangs up is not noticed."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._descriptor = -1

    def listen(
        self, descriptor: int, serve: Callable[[], None], hung_up: Callable[[], None]
    ) -> None:
        """Call `serve` whenever there is something to read."""
        self._descriptor = descriptor
        self._loop.add_reader(descriptor, serve)

    def pause(self) -> None:
        """Read no more for now."""
        self._loop.remove_reader(self._descriptor)

    def ignore(self) -> None:
        """Read no more."""
        self._loop.remove_reader(self._descriptor)


class ReaderLoop(asyncio.SelectorEventLoop):
    """The standard loop, in the place of the library's own."""

    def __init__(self) -> None:
        super().__init__()
        self.inline_selector = Readers(self)
