"""Actions for the next iteration of the event loop, at most one per key."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Hashable

from .safe_logging import log_safely

log = logging.getLogger(__name__)


class NextIteration:
    """The pending actions of one loop. Thread-safe."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._actions: dict[Hashable, Callable[[], None]] = {}
        self._lock = threading.Lock()

    def __call__(self, key: Hashable, action: Callable[[], None]) -> None:
        """Call `action` in the next iteration, unless one with an equal key is pending."""
        with self._lock:
            first = not self._actions
            self._actions.setdefault(key, action)
        if first:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._run_actions)

    def _run_actions(self) -> None:
        with self._lock:
            actions, self._actions = self._actions, {}
        for action in actions.values():
            try:
                action()
            except Exception as error:  # a bug in the library; the other actions still run
                log_safely(
                    log.error, "what was to be done in a moment raised %r", error, exc_info=error
                )
