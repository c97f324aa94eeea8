"""SIGINT and SIGTERM: the first one ends the service, a second one the process.

The handlers are installed before there is a loop: a client may end the server right after its
`initialize` was answered.
"""

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class Signals:
    """The signal handlers of a service, from its start to its end."""

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        self._has_come = False
        self._stop: Callable[[], None] | None = None

    def catch(self) -> None:
        """Install the handlers, if this is the main thread."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._on_signal)

    @property
    def are_caught(self) -> bool:
        """Whether the handlers are installed."""
        return bool(self._before)

    def stop_with(self, stop: Callable[[], None]) -> None:
        """Call `stop` at the first signal, or now if it has arrived."""
        self._stop = stop
        if self._has_come:
            stop()

    def release(self) -> None:
        """Restore the previous handlers."""
        while self._before:
            signal.signal(*self._before.popitem())

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._has_come:
            os._exit(128 + number)
        self._has_come = True
        if self._stop is not None:
            self._stop()
