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
        on_result: Callable[[Any, Any], None],
        on_error: Callable[[Any, BaseException], None],
        on_wait: Callable[[Any, asyncio.Task[None]], None],
        on_start: Callable[[Any], None] | None = None,
    ) -> None:
        self._loop = loop
        self._on_result = on_result
        self._on_error = on_error
        self._on_wait = on_wait
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, key: Any, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Start a coroutine in the next iteration of the loop."""
        self._keep(key, self._loop.create_task(self._run(key, coroutine)))

    def _keep(self, key: Any, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._on_wait(key, task)

    async def _run(self, key: Any, coroutine: Coroutine[Any, Any, Any]) -> None:
        try:
            result = await coroutine
        except BaseException as error:
            self._on_error(key, error)
        else:
            self._on_result(key, result)

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
