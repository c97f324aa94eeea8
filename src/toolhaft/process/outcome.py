"""How work ended that somebody else waits for."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Ended:
    """How something ended. Raising SystemExit and its like would end a task's loop, too."""

    __slots__ = ("_error", "_value")

    def __init__(self, value: Any = None, error: BaseException | None = None) -> None:
        self._value = value
        self._error = error

    def value(self) -> Any:
        """What it gave; or else it raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._value


def ends_task(error: BaseException) -> bool:
    """Does this exception, raised out of the author's code, end the task that runs now? It does if
    the task was cancelled or is being closed. A `CancelledError` alone says nothing: the code may
    have waited for something else that was cancelled."""
    if isinstance(error, GeneratorExit):
        return True
    if not isinstance(error, asyncio.CancelledError):
        return False
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def guarded(outcome: Coroutine[Any, Any, Any]) -> Ended:
    """Wait for an outcome, whatever it is."""
    try:
        return Ended(await outcome)
    except BaseException as error:
        return Ended(error=error)


async def end_of(
    future: "asyncio.Future[Any]", interrupted: Callable[[], None] | None = None
) -> bool:
    """Wait until it is done, whatever comes. Was there something to interrupt us?

    Args:
        interrupted: is called when something does.
    """
    was_interrupted = False
    while not future.done():
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError:
            was_interrupted = True
            if interrupted is not None:
                interrupted()
    return was_interrupted
