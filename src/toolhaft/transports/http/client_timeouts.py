"""Waits for clients, but not for ever: one timer for all that wait."""

import asyncio
from typing import Any, TypeAlias

from .disconnect_log import cut_offs

Task: TypeAlias = "asyncio.Task[Any]"


class Stalled(Exception):
    """The client neither sends nor reads."""


class Patience:
    """Knows which tasks wait for a client, and until when. One that waits too long is cancelled.

    Args:
        seconds: how long a client may take to read.
        gap: how long it may take to send more of a body; by default as long.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, seconds: float, gap: float | None = None
    ) -> None:
        self._loop = loop
        self._seconds = seconds
        self._gap = seconds if gap is None else gap
        self._often = min(self._seconds, self._gap) / 4
        # By a clock that ticks now and then, which is exact enough and costs nothing to read.
        self._now = 0.0
        self._until: dict[Task, float] = {}
        self._late: set[Task] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, task: Task) -> None:
        """From now on, this task waits for a client."""
        if self._timer is None:
            self._tick()
        self._until[task] = self._now + self._seconds

    def expect(self, task: Task) -> None:
        """From now on, this task waits for a client to send more of a body."""
        if self._timer is None:
            self._tick()
        self._until[task] = self._now + self._gap

    def end(self, task: Task) -> None:
        """It waits no more, for whatever reason.

        Raises:
            Stalled: it waited for too long, and was cancelled for that.
        """
        self._until.pop(task, None)
        if self._late and task in self._late:
            self._late.discard(task)
            task.uncancel()
            raise Stalled

    def _tick(self) -> None:
        self._now = self._loop.time()
        for task, until in self._until.items():
            if until < self._now and self._interrupt(task):
                cut_offs.tell("it has neither sent nor read anything for too long")
        self._timer = self._loop.call_later(self._often, self._look)

    def _look(self) -> None:
        if self._until:
            self._tick()
        else:
            self._timer = None

    def hurry(self) -> None:
        """Wait for nobody any more."""
        for task in self._until:
            self._interrupt(task)

    def _interrupt(self, task: Task) -> bool:
        """Once: `end` takes back one cancellation. Was this the first time?"""
        if task in self._late:
            return False
        self._late.add(task)
        task.cancel()
        return True

    def close(self) -> None:
        """Nobody waits any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
