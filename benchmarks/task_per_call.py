"""Plain ways to start calls, with the interface of the library's eager start."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class TaskPerCall:
    """Starts each coroutine as a task of asyncio."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        ended: Callable[[Any, Any], None],
        failed: Callable[[Any, BaseException], None],
        waits: Callable[[Any, asyncio.Task[None]], None],
        begins: Callable[[Any], None] | None = None,
    ) -> None:
        self._loop = loop
        self._ended = ended
        self._failed = failed
        self._waits = waits
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, key: Any, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Start a coroutine in the next iteration of the loop."""
        self._keep(key, self._loop.create_task(self._run(key, coroutine)))

    def _keep(self, key: Any, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._waits(key, task)

    async def _run(self, key: Any, coroutine: Coroutine[Any, Any, Any]) -> None:
        try:
            result = await coroutine
        except BaseException as error:
            self._failed(key, error)
        else:
            self._ended(key, result)

    async def close(self, seconds: float, spared: Any = None) -> None:
        """Cancel what runs, and wait for it."""
        self.cancel(spared)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    def cancel(self, spared: Any = None) -> None:
        """Cancel what runs."""
        for task in self._tasks:
            if spared is None or not spared(task):
                task.cancel()


class StandardEagerTasks(TaskPerCall):
    """Starts each coroutine at once, by `eager_start` of asyncio (Python 3.12)."""

    def start(self, key: Any, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Start a coroutine now."""
        make: Any = asyncio.Task
        task = make(self._run(key, coroutine), loop=self._loop, eager_start=True)
        if not task.done():
            self._keep(key, task)
