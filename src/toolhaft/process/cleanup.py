"""The time in which a call closes what it has opened: nothing of the server interrupts it.

A cancellation of the call that comes meanwhile is held back until the cleanup is over. So that a
cleanup which hangs does not hold its call forever, it has a time limit of its own.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Any, Final

from .outcome import Ended
from .safe_logging import tell

log = logging.getLogger(__name__)

# Held while a cleanup is counted in or out, so that a call never loses the record of one that is
# under way: several threads may clean up for one call.
COUNTING: Final = threading.Lock()


class Cleanup:
    """One cleanup that is under way: of the current task, or of a thread, which cannot be
    cancelled."""

    def __init__(
        self, cleanups: "Cleanups", ended: Ended, seconds: float, name: Callable[[], str]
    ) -> None:
        self._cleanups = cleanups
        # How the function itself has ended.
        self.ended = ended
        self._seconds = seconds
        self._name = name
        # How many times it was cancelled because it took too long.
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
        """Did it take too long?"""
        return self._cancellations > 0

    def end(self) -> None:
        """It is over."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            for _ in range(self._cancellations):
                self._task.uncancel()
        self._cleanups.end(self)


class Cleanups:
    """The cleanups of one call that are under way, and the cancellations that wait for their end.
    To be used from any thread.

    Args:
        ended: called with `COUNTING` held when the last of them is over.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, ended: Callable[[], None]) -> None:
        self._loop = loop
        self._ended = ended
        self._under_way: list[Cleanup] = []
        self._held_back: list[asyncio.Task[Any]] = []

    def begin(self, ended: Ended, seconds: float, name: Callable[[], str]) -> Cleanup:
        """One more is under way. To be called with `COUNTING` held."""
        cleanup = Cleanup(self, ended, seconds, name)
        self._under_way.append(cleanup)
        return cleanup

    def end(self, cleanup: Cleanup) -> None:
        """One is over."""
        with COUNTING:
            self._under_way.remove(cleanup)
            if self._under_way:
                return
            tasks, self._held_back = self._held_back, []
            self._ended()
        with contextlib.suppress(RuntimeError):  # the loop is closed, and its tasks are over
            for task in tasks:
                # In the next turn of the loop: one that has nothing left to do is done by then.
                self._loop.call_soon_threadsafe(cancel_once, task)

    def hold_back(self, task: "asyncio.Task[Any]") -> bool:
        """Cancel a task when all are over. Is one under way?"""
        with COUNTING:
            if self._under_way:
                self._held_back.append(task)
            return bool(self._under_way)

    @property
    def result(self) -> Ended | None:
        """How the function has ended whose cleanup is under way."""
        with COUNTING:
            return self._under_way[-1].ended if self._under_way else None


def cancel_once(task: "asyncio.Task[Any]") -> None:
    """Cancel a task, unless that was done before: what it does since then may be its cleanup."""
    if not task.done() and not task.cancelling():
        task.cancel()


def warn(call: str, seconds: float, consequence: str) -> None:
    """Log that a cleanup took too long."""
    tell(log.warning, "%s: the cleanup took longer than %g s; %s", call, seconds, consequence)


def _current_task() -> "asyncio.Task[Any] | None":
    try:
        return asyncio.current_task()
    except RuntimeError:  # on a thread
        return None
