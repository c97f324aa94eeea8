"""The author's `lifespan`: entered once before the first call that may need it, left at the end.

A process may serve on several loops at once, over HTTP and attached. Most resources belong to one
loop, so the lifespan is entered once per loop.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from ..process.loop_guard import hide_task
from ..process.outcome import ends_task

log = logging.getLogger(__name__)

Opener = Callable[[], AbstractAsyncContextManager[Any]]


class _LoopLifespan:
    """The lifespan as entered on one loop."""

    def __init__(self, opener: Opener) -> None:
        loop = asyncio.get_running_loop()
        self._opener = opener
        self.loop = loop
        self.users = 0
        self.value: Any = None
        self.entered: asyncio.Future[None] = loop.create_future()
        self._leave = asyncio.Event()
        self._task = loop.create_task(self._run())
        hide_task(self._task)

    async def end(self) -> None:
        """Leave the lifespan, and wait until it is left."""
        self._leave.set()
        if not self.entered.done():
            self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self) -> None:
        entered, leave = self.entered, self._leave
        try:
            async with self._opener() as self.value:
                entered.set_result(None)
                await leave.wait()
        except BaseException as error:
            if ends_task(error) and (entered.done() or leave.is_set()):
                entered.cancel()
                return  # cancelled by `end`, or with the loop
            log.error("the lifespan failed: %r", error, exc_info=error)
            if not entered.done():
                # Replaced, since SystemExit would stop the loop of a task that awaits the future.
                raised = error if isinstance(error, Exception) else RuntimeError(repr(error))
                entered.set_exception(raised)
                entered.exception()  # marks it as retrieved: it was logged
        finally:
            self.value = None


class Lifespan:
    """The lifespan of a server on all its loops. Enters and leaves in one task per loop, as context
    managers require.
    """

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        # In the order in which they were entered.
        self._per_loop: list[_LoopLifespan] = []

    @property
    def value(self) -> Any:
        """The value of the lifespan for calls on the current loop."""
        entry = self._current()
        return None if entry is None else entry.value

    @property
    def entered(self) -> bool:
        """Whether calls may start."""
        entry = self._current()
        if entry is None:
            return False
        entered = entry.entered
        return entered.done() and not entered.cancelled() and entered.exception() is None

    def join(self) -> None:
        """Add a user on this loop, and start to enter with the first. Does not wait."""
        loop = asyncio.get_running_loop()
        # Loops may have been closed without `leave`.
        self._per_loop = [entry for entry in self._per_loop if not entry.loop.is_closed()]
        entry = next((entry for entry in self._per_loop if entry.loop is loop), None)
        if entry is None:
            entry = _LoopLifespan(self._opener)
            self._per_loop = [*self._per_loop, entry]
        entry.users += 1

    async def leave(self) -> None:
        """Remove a user on this loop; with the last, leave and wait until it is left."""
        loop = asyncio.get_running_loop()
        for entry in self._per_loop:
            if entry.loop is loop:
                entry.users -= 1
                if entry.users == 0:
                    self._per_loop = [other for other in self._per_loop if other is not entry]
                    await entry.end()
                return

    async def wait(self) -> None:
        """Wait until calls may start.

        Raises:
            Exception: the lifespan raised it on entry.
        """
        entry = self._current()
        if entry is not None:
            await asyncio.shield(entry.entered)

    def _current(self) -> _LoopLifespan | None:
        """Return that of the current loop; on a thread without one, the last."""
        per_loop = self._per_loop
        if len(per_loop) > 1:
            loop = asyncio._get_running_loop()
            for entry in per_loop:
                if entry.loop is loop:
                    return entry
        return per_loop[-1] if per_loop else None
