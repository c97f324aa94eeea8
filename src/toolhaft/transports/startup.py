"""How a service over stdio begins: with its lifespan, or not at all.

A lifespan that fails ends the process, and most that do fail at once. So nothing is read or
written before it is entered, or has taken a while: a client must not wait for its greeting until a
large model is loaded.
"""

import asyncio
import contextlib
from collections.abc import Callable

from ..process.loop_guard import shelter
from ..protocol.ports import LifespanState

A_WHILE = 0.5


class Entry:
    """Looks after a lifespan that is being entered.

    Args:
        failed: called when it could not be.
    """

    def __init__(self, lifespan: LifespanState | None, failed: Callable[[], None]) -> None:
        self.error: Exception | None = None
        self._failed = failed
        self._task: asyncio.Task[None] | None = None
        if lifespan is not None and not lifespan.entered:
            self._task = asyncio.get_running_loop().create_task(self._run(lifespan))
            shelter(self._task)

    async def _run(self, lifespan: LifespanState) -> None:
        try:
            await lifespan.wait()
        except Exception as error:
            self.error = error
            self._failed()

    @property
    def is_over(self) -> bool:
        """Is there nothing to wait for?"""
        return self._task is None or self._task.done()

    async def wait(self, over: asyncio.Event) -> None:
        """Wait until it is entered or has failed, but not for long, and not beyond the end."""
        if self._task is None:
            return
        ending = asyncio.get_running_loop().create_task(over.wait())
        shelter(ending)
        await asyncio.wait(
            [self._task, ending], timeout=A_WHILE, return_when=asyncio.FIRST_COMPLETED
        )
        ending.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await ending

    def stop(self) -> None:
        """The service ends, whatever becomes of it."""
        if self._task is not None:
            self._task.cancel()
