"""Waits for clients, but not for ever: one timer for all that wait."""

import asyncio
from typing import Any, TypeAlias

Task: TypeAlias = "asyncio.Task[Any]"


class Stalled(Exception):
    """The client neither sends nor reads."""


class Patience:
    """Knows who waits for a client, and since when. Who waits too long is cancelled."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds
        # By a clock that ticks now and then, which is exact enough and costs nothing to read.
        self._now = 0.0
        self._since: dict[Task, float] = {}
        self._late: set[Task] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, task: Task) -> None:
        """From now on, this task waits for a client."""
        if self._timer is None:
            self._tick()
        self._since[task] = self._now

    def end(self, task: Task) -> None:
        """It waits no more, for whatever reason.

        Raises:
            Stalled: it waited for too long, and was cancelled for that.
        """
        self._since.pop(task, None)
        if self._late and task in self._late:
            self._late.discard(task)
            task.uncancel()
            raise Stalled

    def _tick(self) -> None:
        self._now = self._loop.time()
        for task, since in self._since.items():
            if since < self._now - self._seconds:
                self._interrupt(task)
        self._timer = self._loop.call_later(self._seconds / 4, self._look)

    def _look(self) -> None:
        if self._since:
            self._tick()
        else:
            self._timer = None

    def hurry(self) -> None:
        """Wait for nobody any more."""
        for task in self._since:
            self._interrupt(task)

    def _interrupt(self, task: Task) -> None:
        """Once: `end` takes back one cancellation."""
        if task not in self._late:
            self._late.add(task)
            task.cancel()

    def close(self) -> None:
        """Nobody waits any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
