"""Cleanup of a call: it closes its dependencies, and the server does not interrupt it.

A cancellation of the call during its cleanup is held back until the cleanup is over. A cleanup has
a time limit of its own, so that one that hangs does not hold its call forever.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Any, Final

from .outcome import Ended
from .safe_logging import log_safely

log = logging.getLogger(__name__)

# Held while a cleanup is added to or removed from the cleanups of its call: several threads may
# clean up for one call.
COUNTING: Final = threading.Lock()


class Cleanup:
    """One cleanup in progress. It runs in the current task, or on a worker thread, where it cannot
    be cancelled.
    """

    def __init__(
        self, cleanups: "Cleanups", ended: Ended, seconds: float, name: Callable[[], str]
    ) -> None:
        self._cleanups = cleanups
        # The outcome of the function, before its cleanup.
        self.ended = ended
        self._seconds = seconds
        self._name = name
        # Number of times the time limit cancelled it.
        self._cancellations = 0
        self._task = _current_task()
        self._timer: asyncio.TimerHandle | None = None
        if self._task is not None:
            self._bound(self._task)

    def _bound(self, task: "asyncio.Task[Any]") -> None:
        self._timer = task.get_loop().call_later(self._seconds, self._expire, task)

    def _expire(self, task: "asyncio.Task[Any]") -> None:
        self._cancellations += 1
        warn(self._name(), self._seconds, "it is cancelled")
        task.cancel()
        self._bound(task)  # the cleanup of another dependency may follow

    @property
    def expired(self) -> bool:
        """Whether it exceeded its time limit."""
        return self._cancellations > 0

    def end(self) -> None:
        """Stop the timer, undo the cancellations of the time limit, and report the end."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            for _ in range(self._cancellations):
                self._task.uncancel()
        self._cleanups.end(self)


class Cleanups:
    """The cleanups of one call in progress, and the cancellations held back until their end.
    Thread-safe.

    Args:
        ended: called with `COUNTING` held when the last cleanup is over.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, ended: Callable[[], None]) -> None:
        self._loop = loop
        self._ended = ended
        self._under_way: list[Cleanup] = []
        self._held_back: list[asyncio.Task[Any]] = []

    def start(self, ended: Ended, seconds: float, name: Callable[[], str]) -> Cleanup:
        """Add a cleanup. The caller holds `COUNTING`."""
        cleanup = Cleanup(self, ended, seconds, name)
        self._under_way.append(cleanup)
        return cleanup

    def end(self, cleanup: Cleanup) -> None:
        """Remove a cleanup; after the last one, cancel the tasks that were held back."""
        with COUNTING:
            self._under_way.remove(cleanup)
            if self._under_way:
                return
            tasks, self._held_back = self._held_back, []
            self._ended()
        with contextlib.suppress(RuntimeError):  # the loop is closed, and its tasks are over
            for task in tasks:
                # In the next iteration of the loop: a task without further work is done by then.
                self._loop.call_soon_threadsafe(cancel_once, task)

    def hold_back(self, task: "asyncio.Task[Any]") -> bool:
        """Cancel a task after the last cleanup. Returns False if no cleanup is in progress."""
        with COUNTING:
            if self._under_way:
                self._held_back.append(task)
            return bool(self._under_way)

    @property
    def result(self) -> Ended | None:
        """The outcome of the function, while a cleanup is in progress."""
        with COUNTING:
            return self._under_way[-1].ended if self._under_way else None


def cancel_once(task: "asyncio.Task[Any]") -> None:
    """Cancel a task, unless it was cancelled before: it may be in its cleanup since then."""
    if not task.done() and not task.cancelling():
        task.cancel()


def warn(call: str, seconds: float, consequence: str) -> None:
    """Log that a cleanup took too long."""
    log_safely(log.warning, "%s: the cleanup took longer than %g s; %s", call, seconds, consequence)


def _current_task() -> "asyncio.Task[Any] | None":
    try:
        return asyncio.current_task()
    except RuntimeError:  # on a worker thread
        return None
