"""Entering the lifespan before the first message is read, with a time limit.

A lifespan that fails ends a stdio process, and usually fails at once. So nothing is read or written
until it is entered, but for at most `ENTRY_SECONDS`: a client must not wait for the handshake until
a large model is loaded.
"""

import asyncio
import contextlib
from collections.abc import Callable

from ..process.loop_guard import hide_task
from ..protocol.ports import LifespanState

# Seconds for which the first read waits for the lifespan.
ENTRY_SECONDS = 0.5


class LifespanEntry:
    """A lifespan that is being entered in a task.

    Args:
        failed: called when entering has raised; `error` holds the exception.
    """

    def __init__(self, lifespan: LifespanState | None, failed: Callable[[], None]) -> None:
        self.error: Exception | None = None
        self._failed = failed
        self._task: asyncio.Task[None] | None = None
        if lifespan is not None and not lifespan.entered:
            self._task = asyncio.get_running_loop().create_task(self._run(lifespan))
            hide_task(self._task)

    async def _run(self, lifespan: LifespanState) -> None:
        try:
            await lifespan.wait()
        except Exception as error:
            self.error = error
            self._failed()

    @property
    def is_over(self) -> bool:
        """Whether the lifespan is entered, has failed, or does not exist."""
        return self._task is None or self._task.done()

    async def wait(self, over: asyncio.Event) -> None:
        """Wait until it is entered or has failed, `over` is set, or `ENTRY_SECONDS` have passed."""
        if self._task is None:
            return
        ending = asyncio.get_running_loop().create_task(over.wait())
        hide_task(ending)
        await asyncio.wait(
            [self._task, ending], timeout=ENTRY_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        ending.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await ending

    def stop(self) -> None:
        """Cancel entering; the service ends."""
        if self._task is not None:
            self._task.cancel()
