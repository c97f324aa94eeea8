"""The loop's selector, which serves one descriptor without leaving its post.

A loop that waits for many things pays for that each time it wakes up: events are looked up, made
into callbacks, queued and run. While a loop waits, there is one thing it nearly always waits for:
the next message of its client. So that is polled for beside everything else, and served right away.
"""

import select
import selectors
from collections.abc import Callable


def _nothing() -> None:
    """Nobody wants to know."""


class Ears(selectors.DefaultSelector):
    """To be given to `asyncio.SelectorEventLoop`."""

    def __init__(self) -> None:
        super().__init__()
        self._poll = select.poll()
        # Everything that the loop waits for is ready when its own descriptor is.
        self._poll.register(self.fileno(), select.POLLIN)
        self._descriptor = -1
        self._serve: Callable[[], None] | None = None
        self._hung_up: Callable[[], None] = _nothing

    def listen(
        self, descriptor: int, serve: Callable[[], None], hung_up: Callable[[], None]
    ) -> None:
        """Call `serve` on the loop's thread whenever there is something to read."""
        self._descriptor, self._serve, self._hung_up = descriptor, serve, hung_up
        self._poll.register(descriptor, select.POLLIN)

    def pause(self) -> None:
        """Read no more for now, but call `hung_up`, once, if the client ends its side."""
        self._serve = None
        self._poll.modify(self._descriptor, 0)

    def ignore(self) -> None:
        """Listen no more."""
        self._serve = None
        if self._descriptor >= 0:
            self._poll.unregister(self._descriptor)
            self._descriptor = -1

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait, as any selector does; what the client sends meanwhile is served here."""
        if self._descriptor < 0:
            return super().select(timeout)
        ready = self._poll.poll(None if timeout is None else max(0, timeout * 1000))
        found = False
        for descriptor, _ in ready:
            if descriptor != self._descriptor:
                found = True
            elif self._serve is not None:
                self._serve()
            else:
                self.ignore()
                self._hung_up()
        return super().select(0) if found else []
