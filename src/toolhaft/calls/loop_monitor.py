"""Warnings about coroutines that block the event loop, and with it all other coroutines.

Over stdio the watchdog reads in place of a blocked loop (`transports/stdio/watchdog.py`). Over HTTP
there is only this warning.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Final

from ..protocol.calls import Call
from .call import call_label
from .driver import Driver

log = logging.getLogger(__name__)

# Seconds between two checks, and seconds after which the loop counts as blocked.
_TICK: Final = 0.25


class BlockedLoopLog:
    """Logs calls that block a loop, each label once."""

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def report(self, call: Call | None) -> None:
        """Log the call that blocks the loop. None: code outside of any call."""
        label = "code outside of any call" if call is None else call_label(call)
        if label not in self._logged:
            self._logged.add(label)
            log.warning(
                "%s holds up the event loop; other coroutines wait for it. Make it a plain `def`, "
                "which gets a thread of its own, or await what takes long",
                label,
            )


class LoopMonitor:
    """Context manager that monitors the current loop from a thread, while there are calls.

    Args:
        drivers: returns the drivers on the loop.
    """

    def __init__(self, drivers: Callable[[], list[Driver]]) -> None:
        self._drivers = drivers
        self._log = BlockedLoopLog()
        self._over = threading.Event()

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        threading.Thread(
            target=self._run, args=(loop,), name="toolhaft-lookout", daemon=True
        ).start()

    def __exit__(self, *error: object) -> None:
        self._over.set()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._over.wait(_TICK):
            busy = [driver for driver in self._drivers() if driver.calls]
            if busy and not self._responds(loop):
                culprits = [driver.culprit for driver in busy]
                self._log.report(next(filter(None, culprits), None))

    def _responds(self, loop: asyncio.AbstractEventLoop) -> bool:
        responded = threading.Event()
        try:
            loop.call_soon_threadsafe(responded.set)
        except RuntimeError:  # it is closed
            return True
        return responded.wait(_TICK) or self._over.is_set()
