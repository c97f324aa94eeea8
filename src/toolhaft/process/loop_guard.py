"""Protection of the event loop from tools that stop it, raise SystemExit or cancel all tasks."""

import asyncio
import logging

# The documented way to keep a task out of `asyncio.all_tasks()`.
from asyncio.tasks import (
    _register_task,  # pyright: ignore[reportPrivateUsage]
    _unregister_task,  # pyright: ignore[reportPrivateUsage]
)
from typing import Any, Final
from weakref import WeakSet

from .safe_logging import log_safely

log = logging.getLogger(__name__)

# Loops that `run_until_done` runs, each with the tasks hidden from `asyncio.all_tasks()`.
_hidden_tasks: Final[dict[asyncio.AbstractEventLoop, "WeakSet[asyncio.Task[Any]]"]] = {}


def run_until_done(loop: asyncio.AbstractEventLoop, main: "asyncio.Task[Any]") -> None:
    """Run the loop until `main` is done. SystemExit raised by a leftover task of a tool stops a
    loop of asyncio; here the loop is started again.
    """
    _hidden_tasks[loop] = WeakSet()
    try:
        hide_task(main)
        _run(loop, main)
    finally:
        # So that the shutdown of the loop can cancel them.
        for task in _hidden_tasks.pop(loop):
            if not task.done():
                _register_task(task)


def is_run_here(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether `run_until_done` runs this loop."""
    return loop in _hidden_tasks


def hide_task(task: "asyncio.Task[Any]") -> None:
    """Hide a task of the server from `asyncio.all_tasks()`, so that a tool that cancels all tasks
    spares it. Does nothing on a loop of the program, which may have to cancel all its tasks.
    """
    hidden = _hidden_tasks.get(task.get_loop())
    if hidden is not None:
        hidden.add(task)
        _unregister_task(task)


def _run(loop: asyncio.AbstractEventLoop, main: "asyncio.Task[Any]") -> None:
    while True:
        try:
            loop.run_until_complete(main)
            return
        except asyncio.CancelledError:
            log_safely(log.error, "a tool has cancelled the server's own task; the server ends")
            return
        except (SystemExit, KeyboardInterrupt) as error:
            if main.done():
                raise
            log_safely(
                log.error, "a task of a tool raised %s; the server goes on", type(error).__name__
            )
        except RuntimeError:
            if main.done() or loop.is_closed():
                raise
            log_safely(log.error, "a tool has stopped the event loop; the server goes on")
        except Exception as error:  # of a signal handler, which may run at any point
            if main.done():
                raise
            log_safely(
                log.error, "a signal's handler raised %s; the server goes on", type(error).__name__
            )
