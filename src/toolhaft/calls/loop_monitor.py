"""Who holds up an event loop: a coroutine that blocks keeps all others from their turn.

Over a pipe somebody stands in for the loop (`watch.py`). Over HTTP nobody can, so it is told.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Final

from ..protocol.calls import Call
from .call import told
from .driver import Driver

log = logging.getLogger(__name__)

# How often somebody looks, and how long a loop may be away by then.
_TICK: Final = 0.25


class Blame:
    """Names those who hold up a loop, each of them once."""

    def __init__(self) -> None:
        self._blamed: set[str] = set()

    def lay_on(self, call: Call | None) -> None:
        """This one does. None: it is no call."""
        who = "code outside of any call" if call is None else told(call)
        if who not in self._blamed:
            self._blamed.add(who)
            log.warning(
                "%s holds up the event loop; other coroutines wait for it. Make it a plain `def`, "
                "which gets a thread of its own, or await what takes long",
                who,
            )


class Lookout:
    """Looks after the loop that runs a `with` block, while there are calls.

    Args:
        drivers: those who run them.
    """

    def __init__(self, drivers: Callable[[], list[Driver]]) -> None:
        self._drivers = drivers
        self._blame = Blame()
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
            if busy and not self._is_there(loop):
                culprits = [driver.culprit for driver in busy]
                self._blame.lay_on(next(filter(None, culprits), None))

    def _is_there(self, loop: asyncio.AbstractEventLoop) -> bool:
        there = threading.Event()
        try:
            loop.call_soon_threadsafe(there.set)
        except RuntimeError:  # it is closed
            return True
        return there.wait(_TICK) or self._over.is_set()
