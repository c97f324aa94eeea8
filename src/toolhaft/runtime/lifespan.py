"""The author's `lifespan`: entered once before the first call that may need it, left at the end."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

log = logging.getLogger(__name__)

Opener = Callable[[], AbstractAsyncContextManager[Any]]


class Lifespan:
    """Enters and leaves in one task, as context managers require, whoever asks for it."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self._users = 0
        self._task: asyncio.Task[None] | None = None
        self._leave: asyncio.Event | None = None
        self._entered: asyncio.Future[None] | None = None
        self.value: Any = None

    @property
    def entered(self) -> bool:
        """May calls begin?"""
        entered = self._entered
        return entered is not None and entered.done() and entered.exception() is None

    def join(self) -> None:
        """Somebody serves: enter, if nobody has yet. Does not wait."""
        loop = asyncio.get_running_loop()
        if self._task is not None and self._task.get_loop() is not loop:
            # Of a loop that was ended without a word.
            self._task, self._users = None, 0
        self._users += 1
        if self._task is None:
            self._entered = loop.create_future()
            self._leave = asyncio.Event()
            self._task = loop.create_task(self._run(self._entered, self._leave))

    async def leave(self) -> None:
        """Somebody has stopped serving; the last one waits until the lifespan is left."""
        self._users -= 1
        if self._users == 0 and self._task is not None and self._leave is not None:
            self._leave.set()
            task, self._task = self._task, None
            if self._entered is not None and not self._entered.done():
                task.cancel()  # nobody waits for it to be entered
            await asyncio.wait([task])

    async def wait(self) -> None:
        """Wait until calls may begin.

        Raises:
            Exception: what the lifespan raised when it was entered.
        """
        if self._entered is not None:
            await asyncio.shield(self._entered)

    async def _run(self, entered: "asyncio.Future[None]", leave: asyncio.Event) -> None:
        try:
            async with self._opener() as self.value:
                entered.set_result(None)
                await leave.wait()
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and (entered.done() or leave.is_set()):
                entered.cancel()
                return  # somebody ends it, or the loop
            log.error("the lifespan failed: %r", error, exc_info=error)
            if not entered.done():
                # A future and a loop carry an Exception; SystemExit would end them.
                told = error if isinstance(error, Exception) else RuntimeError(repr(error))
                entered.set_exception(told)
                entered.exception()  # it was logged; whoever waits gets it too
        finally:
            if self._entered is entered:
                self.value = None
