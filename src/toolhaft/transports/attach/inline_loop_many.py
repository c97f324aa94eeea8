"""Inline reading for many clients on one loop: one selector, and a reader for each client."""

import logging
import select
import selectors
from collections.abc import Callable

from ...process.inline_loop import InlineSelector

log = logging.getLogger(__name__)


class ManyInlineSelector(InlineSelector):
    """An inline selector for any number of descriptors, each with its own reader."""

    def __init__(self) -> None:
        super().__init__()
        self._readers: dict[int, ManyInlineReader] = {}

    def register_reader(self, reader: "ManyInlineReader", descriptor: int, events: int) -> None:
        """Poll a descriptor and call its reader's `on_ready`."""
        self._readers[descriptor] = reader
        self._poll.register(descriptor, events)

    def unregister_reader(self, descriptor: int) -> None:
        """Stop polling a descriptor."""
        if self._readers.pop(descriptor, None) is not None:
            self._poll.unregister(descriptor)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for events as the base class does, and serve the clients' descriptors meanwhile."""
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
    """The reader of one descriptor of a `ManyInlineSelector`."""

    __slots__ = ("_descriptor", "_dropped", "_hung_up", "_selector", "_serve")

    def __init__(self, selector: ManyInlineSelector, dropped: Callable[[], None]) -> None:
        self._selector = selector
        # Called after an unexpected exception, with which reading ends.
        self._dropped = dropped
        self._descriptor = -1
        self._serve: Callable[[], None] | None = None
        self._hung_up: Callable[[], None] | None = None

    def listen(
        self, descriptor: int, serve: Callable[[], None], hung_up: Callable[[], None]
    ) -> None:
        """Call `serve` on the loop's thread whenever the descriptor is readable."""
        self._descriptor, self._serve, self._hung_up = descriptor, serve, hung_up
        self._selector.register_reader(self, descriptor, select.POLLIN)

    def await_end(self, descriptor: int, hung_up: Callable[[], None]) -> None:
        """Call `hung_up`, once, on POLLHUP or POLLERR: the other end is fully closed."""
        self._descriptor, self._serve, self._hung_up = descriptor, None, hung_up
        self._selector.register_reader(self, descriptor, 0)

    def pause(self) -> None:
        """Stop reading, but call `hung_up`, once, if the client closes its end."""
        if self._descriptor >= 0 and self._hung_up is not None:
            self.await_end(self._descriptor, self._hung_up)

    def ignore(self) -> None:
        """Stop polling the descriptor."""
        if self._descriptor >= 0:
            self._selector.unregister_reader(self._descriptor)
            self._descriptor = -1

    def on_ready(self) -> None:
        """Handle an event. An exception ends reading for this client, but not for others."""
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
