"""What is to be done in the next turn of the loop, and only once for a key."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Hashable

from .safe_logging import tell

log = logging.getLogger(__name__)


class Soon:
    """Things to do on a loop, asked for from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._actions: dict[Hashable, Callable[[], None]] = {}
        self._lock = threading.Lock()

    def __call__(self, key: Hashable, action: Callable[[], None]) -> None:
        """Do something in the next turn of the loop, and only once for a key. From any thread."""
        with self._lock:
            first = not self._actions
            self._actions.setdefault(key, action)
        if first:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits
                self._loop.call_soon_threadsafe(self._act)

    def _act(self) -> None:
        with self._lock:
            actions, self._actions = self._actions, {}
        for action in actions.values():
            try:
                action()
            except Exception as error:  # a bug of ours; the others are to be done all the same
                tell(log.error, "what was to be done in a moment raised %r", error, exc_info=error)
