"""Inline reading: an event loop with a selector that serves one descriptor inside `select`.

A loop iteration has a cost: events are looked up, made into callbacks, queued and run. Nearly
always the event is the next message of the client. So the selector polls the client's descriptor
together with its own, serves the client in `select`, and polls again. It returns to the loop only
if a callback was scheduled, or another descriptor is ready.

Gain: 11 % less CPU per small call over stdio, one by one; none with many calls in flight
(`./dev bench --without inline-reading`).
"""

import asyncio
import select
import selectors
from collections.abc import Callable
from contextvars import Context
from typing import Protocol, TypeVarTuple

Arguments = TypeVarTuple("Arguments")


def _nothing() -> None:
    """Do nothing: the default for `hung_up`."""


class InlineReader(Protocol):
    """The reader of one descriptor: calls back when there are bytes to read."""

    def listen(
        self, descriptor: int, serve: Callable[[], None], hung_up: Callable[[], None], /
    ) -> None:
        """Call `serve` on the loop's thread whenever the descriptor is readable."""
        ...

    def pause(self) -> None:
        """Stop reading, but call `hung_up`, once, if the client closes its end."""
        ...

    def ignore(self) -> None:
        """Stop polling the descriptor."""
        ...


class InlineSelector(selectors.DefaultSelector):
    """The selector of a `Loop`."""

    def __init__(self) -> None:
        super().__init__()
        self._poll = select.poll()
        # The descriptor of the selector itself is readable when one of its registered ones is
        # ready.
        self._poll.register(self.fileno(), select.POLLIN)
        self._descriptor = -1
        self._serve: Callable[[], None] | None = None
        self._hung_up: Callable[[], None] = _nothing
        # Whether a callback waits for the next iteration of the loop.
        self.iteration_wanted = True

    def listen(
        self, descriptor: int, serve: Callable[[], None], hung_up: Callable[[], None]
    ) -> None:
        """Call `serve` on the loop's thread whenever the descriptor is readable."""
        self._descriptor, self._serve, self._hung_up = descriptor, serve, hung_up
        self._poll.register(descriptor, select.POLLIN)

    def pause(self) -> None:
        """Stop reading, but call `hung_up`, once, if the client closes its end."""
        self._serve = None
        if self._descriptor >= 0:  # else the client has closed its end already
            self._poll.modify(self._descriptor, 0)

    def ignore(self) -> None:
        """Stop polling the descriptor."""
        self._serve = None
        if self._descriptor >= 0:
            self._poll.unregister(self._descriptor)
            self._descriptor = -1

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for events as the base class does, and serve the client's descriptor meanwhile."""
        if self._descriptor < 0:
            return super().select(timeout)
        milliseconds = None if timeout is None else max(0, timeout * 1000)
        poll, found = self._poll.poll, False
        self.iteration_wanted = False
        while not found:
            for descriptor, _ in poll(milliseconds):
                if descriptor != self._descriptor:
                    found = True
                elif self._serve is not None:
                    self._serve()
                else:
                    self.ignore()
                    self._hung_up()
            if self.iteration_wanted or self._descriptor < 0 or timeout is not None:
                break
        return super().select(0) if found else []


class Loop(asyncio.SelectorEventLoop):
    """An event loop that makes its selector return when a callback is scheduled."""

    def __init__(self, selector: InlineSelector | None = None) -> None:
        self.inline_selector = InlineSelector() if selector is None else selector
        super().__init__(self.inline_selector)

    def call_soon(
        self,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """See the base class. (`call_soon_threadsafe` wakes the selector through a socket.)"""
        self.inline_selector.iteration_wanted = True
        return super().call_soon(callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """See the base class."""
        self.inline_selector.iteration_wanted = True
        return super().call_at(when, callback, *args, context=context)

    def stop(self) -> None:
        """See the base class."""
        self.inline_selector.iteration_wanted = True
        super().stop()
