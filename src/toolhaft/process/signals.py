"""Ctrl-C and SIGTERM: the first one ends the service, a second one the process.

They are caught before there is a loop: a client that was greeted may want us to end at once.
"""

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class Signals:
    """What is done about signals while a service begins, runs and ends."""

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        self._has_come = False
        self._stop: Callable[[], None] | None = None

    def catch(self) -> None:
        """From now on; only the main thread can."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._on_signal)

    @property
    def are_caught(self) -> bool:
        """Are they ours?"""
        return bool(self._before)

    def stop_with(self, stop: Callable[[], None]) -> None:
        """What ends the service: called with the first signal, or now if that has come."""
        self._stop = stop
        if self._has_come:
            stop()

    def release(self) -> None:
        """Leave them to whoever had them before."""
        while self._before:
            signal.signal(*self._before.popitem())

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._has_come:
            os._exit(128 + number)
        self._has_come = True
        if self._stop is not None:
            self._stop()
