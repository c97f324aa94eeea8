"""A loop whose selector serves one descriptor without leaving its post.

A loop that waits for many things pays for that each time it wakes up: events are looked up, made
into callbacks, queued and run. While a loop waits, there is one thing it nearly always waits for:
the next message of its client. So that is polled for beside everything else, and served right away;
and as long as nobody wants a turn of the loop, the next one is polled for where we are.
"""

import asyncio
import select
import selectors
from collections.abc import Callable
from contextvars import Context
from typing import Protocol, TypeVarTuple

Arguments = TypeVarTuple("Arguments")


def _nothing() -> None:
    """Nobody wants to know."""


class Hearing(Protocol):
    """What tells that a client has said something."""

    def listen(
        self, descriptor: int, serve: Callable[[], None], hung_up: Callable[[], None], /
    ) -> None:
        """Call `serve` on the loop's thread whenever there is something to read."""
        ...

    def pause(self) -> None:
        """Read no more for now, but call `hung_up`, once, if the client ends its side."""
        ...

    def ignore(self) -> None:
        """Listen no more."""
        ...


class Ears(selectors.DefaultSelector):
    """The selector of a `Loop`."""

    def __init__(self) -> None:
        super().__init__()
        self._poll = select.poll()
        # Everything that the loop waits for is ready when its own descriptor is.
        self._poll.register(self.fileno(), select.POLLIN)
        self._descriptor = -1
        self._serve: Callable[[], None] | None = None
        self._hung_up: Callable[[], None] = _nothing
        # Something waits for the next turn of the loop.
        self.wanted = True

    def listen(
        self, descriptor: int, serve: Callable[[], None], hung_up: Callable[[], None]
    ) -> None:
        """Call `serve` on the loop's thread whenever there is something to read."""
        self._descriptor, self._serve, self._hung_up = descriptor, serve, hung_up
        self._poll.register(descriptor, select.POLLIN)

    def pause(self) -> None:
        """Read no more for now, but call `hung_up`, once, if the client ends its side."""
        self._serve = None
        if self._descriptor >= 0:  # else it has ended its side already
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
        milliseconds = None if timeout is None else max(0, timeout * 1000)
        poll, found = self._poll.poll, False
        self.wanted = False
        while not found:
            for descriptor, _ in poll(milliseconds):
                if descriptor != self._descriptor:
                    found = True
                elif self._serve is not None:
                    self._serve()
                else:
                    self.ignore()
                    self._hung_up()
            if self.wanted or self._descriptor < 0 or timeout is not None:
                break
        return super().select(0) if found else []


class Loop(asyncio.SelectorEventLoop):
    """An event loop that says when it is wanted."""

    def __init__(self, ears: Ears | None = None) -> None:
        self.ears = Ears() if ears is None else ears
        super().__init__(self.ears)

    def call_soon(
        self,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """As any loop does. (From other threads the selector is woken up.)"""
        self.ears.wanted = True
        return super().call_soon(callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """As any loop does."""
        self.ears.wanted = True
        return super().call_at(when, callback, *args, context=context)

    def stop(self) -> None:
        """As any loop does."""
        self.ears.wanted = True
        super().stop()
