"""Waits for clients, but not for ever: one timer for all that wait."""

import asyncio
from types import TracebackType


class Stalled(Exception):
    """The client neither sends nor reads."""


class Patience:
    """To be entered with `with` around a wait for the client; raises `Stalled` if it is long."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds
        self._since: dict[asyncio.Task[object], float] = {}
        self._late: set[asyncio.Task[object]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "clients are waited for in a task"
        self._since[task] = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds / 2, self._look)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        del self._since[task]
        if task in self._late:
            self._late.discard(task)
            task.uncancel()
            raise Stalled from None

    def _look(self) -> None:
        self._timer = None
        before = self._loop.time() - self._seconds
        for task, since in self._since.items():
            if since < before and task not in self._late:
                self._late.add(task)
                task.cancel()
        if self._since:
            self._timer = self._loop.call_later(self._seconds / 2, self._look)

    def close(self) -> None:
        """Nobody waits any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
