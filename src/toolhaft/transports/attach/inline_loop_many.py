"""Inline reading for many clients on one loop: one selector, and a reader for each client."""

import logging
import select
import selectors
from collections.abc import Callable

from ...process.inline_loop import InlineSelector

log = logging.getLogger(__name__)


class ManyInlineSelector(InlineSelector):
    """Serves any number of descriptors without leaving its post."""

    def __init__(self) -> None:
        super().__init__()
        self._readers: dict[int, ManyInlineReader] = {}

    def attend(self, reader: "ManyInlineReader", descriptor: int, events: int) -> None:
        """Poll for a descriptor."""
        self._readers[descriptor] = reader
        self._poll.register(descriptor, events)

    def leave(self, descriptor: int) -> None:
        """Poll for it no more."""
        if self._readers.pop(descriptor, None) is not None:
            self._poll.unregister(descriptor)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait, as any selector does; what clients send meanwhile is served here."""
        milliseconds = None if timeout is None else max(0, timeout * 1000)
        poll, readers, found = self._poll.poll, self._readers, False
        self.iteration_wanted = False
        while not found:
            for descriptor, _ in poll(milliseconds):
                reader = readers.get(descriptor)
                if reader is None:
                    found = True
                else:
                    reader.on_ready()
            if self.iteration_wanted or timeout is not None:
                break
        return super().select(0) if found else []


class ManyInlineReader:
    """One descriptor of many."""

    __slots__ = ("_descriptor", "_dropped", "_hung_up", "_selector", "_serve")

    def __init__(self, selector: ManyInlineSelector, dropped: Callable[[], None]) -> None:
        self._selector = selector
        # Called if the client cannot be served any more.
        self._dropped = dropped
        self._descriptor = -1
        self._serve: Callable[[], None] | None = None
        self._hung_up: Callable[[], None] | None = None

    def listen(
        self, descriptor: int, serve: Callable[[], None], hung_up: Callable[[], None]
    ) -> None:
        """Call `serve` on the loop's thread whenever there is something to read."""
        self._descriptor, self._serve, self._hung_up = descriptor, serve, hung_up
        self._selector.attend(self, descriptor, select.POLLIN)

    def await_end(self, descriptor: int, hung_up: Callable[[], None]) -> None:
        """Call `hung_up`, once, when the other side is closed altogether."""
        self._descriptor, self._serve, self._hung_up = descriptor, None, hung_up
        self._selector.attend(self, descriptor, 0)

    def pause(self) -> None:
        """Read no more for now, but call `hung_up`, once, if the client ends its side."""
        if self._descriptor >= 0 and self._hung_up is not None:
            self.await_end(self._descriptor, self._hung_up)

    def ignore(self) -> None:
        """Listen no more."""
        if self._descriptor >= 0:
            self._selector.leave(self._descriptor)
            self._descriptor = -1

    def on_ready(self) -> None:
        """Something has come. A bug of ours must not end the others' service."""
        try:
            if self._serve is not None:
                self._serve()
            else:
                self.ignore()
                if self._hung_up is not None:
                    self._hung_up()
        except Exception as error:
            self.ignore()
            log.error("a client is served no more", exc_info=error)
            self._dropped()
