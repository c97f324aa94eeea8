"""Outcomes of work that another task or thread waits for."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Ended:
    """A value or an exception. Carries SystemExit and its like, which would stop the loop if a task
    raised them.
    """

    __slots__ = ("_error", "_value")

    def __init__(self, value: Any = None, error: BaseException | None = None) -> None:
        self._value = value
        self._error = error

    def value(self) -> Any:
        """Return the value, or raise the exception."""
        if self._error is not None:
            raise self._error
        return self._value


def ends_task(error: BaseException) -> bool:
    """Return whether an exception of the author's code means that the current task was cancelled or
    closed. A `CancelledError` alone is no proof: the code may have awaited another task or future
    that was cancelled.
    """
    if isinstance(error, GeneratorExit):
        return True
    if not isinstance(error, asyncio.CancelledError):
        return False
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def guarded(outcome: Coroutine[Any, Any, Any]) -> Ended:
    """Await a coroutine and return its outcome. Never raises."""
    try:
        return Ended(await outcome)
    except BaseException as error:
        return Ended(error=error)


async def end_of(
    future: "asyncio.Future[Any]", interrupted: Callable[[], None] | None = None
) -> bool:
    """Wait until a future is done, even if the current task is cancelled.

    Args:
        interrupted: called at each cancellation.

    Returns:
        Whether the current task was cancelled.
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
