"""Runs a loop to its end, whatever the code of an author does to it."""

import asyncio
import logging

# The documented way to keep a task out of `asyncio.all_tasks()`.
from asyncio.tasks import (
    _register_task,  # pyright: ignore[reportPrivateUsage]
    _unregister_task,  # pyright: ignore[reportPrivateUsage]
)
from typing import Any, Final
from weakref import WeakSet

from .safe_logging import tell

log = logging.getLogger(__name__)

# Of the loops that are run here, the tasks that are hidden.
_sheltered: Final[dict[asyncio.AbstractEventLoop, "WeakSet[asyncio.Task[Any]]"]] = {}


def run_to_the_end(loop: asyncio.AbstractEventLoop, main: "asyncio.Task[Any]") -> None:
    """Run the loop until `main` is done. A task that a tool left behind may raise SystemExit, which
    asyncio lets through; the service goes on."""
    _sheltered[loop] = WeakSet()
    try:
        shelter(main)
        _run(loop, main)
    finally:
        # Whoever ends what is left finds all of them again.
        for task in _sheltered.pop(loop):
            if not task.done():
                _register_task(task)


def is_run_here(loop: asyncio.AbstractEventLoop) -> bool:
    """Are there tasks to hide on this loop?"""
    return loop in _sheltered


def shelter(task: "asyncio.Task[Any]") -> None:
    """Hide a task of the server's own on a loop that is run here: a tool that cancels every task
    that there is does not find it. Of the loops of others, all tasks are theirs to end."""
    sheltered = _sheltered.get(task.get_loop())
    if sheltered is not None:
        sheltered.add(task)
        _unregister_task(task)


def _run(loop: asyncio.AbstractEventLoop, main: "asyncio.Task[Any]") -> None:
    while True:
        try:
            loop.run_until_complete(main)
            return
        except asyncio.CancelledError:
            tell(log.error, "a tool has cancelled the server's own task; the server ends")
            return
        except (SystemExit, KeyboardInterrupt) as error:
            if main.done():
                raise
            tell(log.error, "a task of a tool raised %s; the server goes on", type(error).__name__)
        except RuntimeError:
            if main.done() or loop.is_closed():
                raise
            tell(log.error, "a tool has stopped the event loop; the server goes on")
        except Exception as error:  # out of a signal's handler, which may run anywhere
            if main.done():
                raise
            tell(
                log.error, "a signal's handler raised %s; the server goes on", type(error).__name__
            )
