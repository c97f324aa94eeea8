"""The author's `lifespan`: entered once before the first call that may need it, left at the end.

A process may serve on several loops at once, over HTTP and attached. What a lifespan opens belongs
to a loop more often than not, so each of them has a stay of its own.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from ..process.loop_guard import shelter
from ..process.outcome import ends_task

log = logging.getLogger(__name__)

Opener = Callable[[], AbstractAsyncContextManager[Any]]


class _Stay:
    """One time of being entered, on one loop."""

    def __init__(self, opener: Opener) -> None:
        loop = asyncio.get_running_loop()
        self._opener = opener
        self.loop = loop
        self.users = 0
        self.value: Any = None
        self.entered: asyncio.Future[None] = loop.create_future()
        self._leave = asyncio.Event()
        self._task = loop.create_task(self._run())
        shelter(self._task)

    async def end(self) -> None:
        """Nobody serves any more."""
        self._leave.set()
        if not self.entered.done():
            self._task.cancel()  # nobody waits for it to be entered
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
                return  # somebody ends it, or the loop
            log.error("the lifespan failed: %r", error, exc_info=error)
            if not entered.done():
                # A future and a loop carry an Exception; SystemExit would end them.
                told = error if isinstance(error, Exception) else RuntimeError(repr(error))
                entered.set_exception(told)
                entered.exception()  # it was logged; whoever waits gets it too
        finally:
            self.value = None


class Lifespan:
    """Enters and leaves in one task, as context managers require, whoever asks for it."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        # The one that began last is the last.
        self._stays: list[_Stay] = []

    @property
    def value(self) -> Any:
        """What it gives to the calls of this loop."""
        stay = self._stay()
        return None if stay is None else stay.value

    @property
    def entered(self) -> bool:
        """May calls begin?"""
        stay = self._stay()
        if stay is None:
            return False
        entered = stay.entered
        return entered.done() and not entered.cancelled() and entered.exception() is None

    def join(self) -> None:
        """Somebody serves: enter, if nobody has yet. Does not wait."""
        loop = asyncio.get_running_loop()
        # Those of loops that were ended without a word are over.
        self._stays = [stay for stay in self._stays if not stay.loop.is_closed()]
        stay = next((stay for stay in self._stays if stay.loop is loop), None)
        if stay is None:
            stay = _Stay(self._opener)
            self._stays = [*self._stays, stay]
        stay.users += 1

    async def leave(self) -> None:
        """Somebody has stopped serving; the last one waits until the lifespan is left."""
        loop = asyncio.get_running_loop()
        for stay in self._stays:
            if stay.loop is loop:
                stay.users -= 1
                if stay.users == 0:
                    self._stays = [other for other in self._stays if other is not stay]
                    await stay.end()
                return

    async def wait(self) -> None:
        """Wait until calls may begin.

        Raises:
            Exception: what the lifespan raised when it was entered.
        """
        stay = self._stay()
        if stay is not None:
            await asyncio.shield(stay.entered)

    def _stay(self) -> _Stay | None:
        """That of this loop, or of a thread that stands in for one."""
        stays = self._stays
        if len(stays) > 1:
            loop = asyncio._get_running_loop()
            for stay in stays:
                if stay.loop is loop:
                    return stay
        return stays[-1] if stays else None
