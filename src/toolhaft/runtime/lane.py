"""Threads for plain functions. The protocol itself uses none of them, so none can starve it."""

import threading
from collections.abc import Callable
from queue import SimpleQueue

Work = Callable[[], None]


class Lane:
    """Runs work on threads that are started as they are needed, and never block the exit."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._queue: SimpleQueue[Work] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        # Threads that wait, minus work that nobody has taken yet.
        self._spare = 0

    def submit(self, work: Work) -> None:
        """Run it soon, on whichever thread is free. The work must not raise."""
        with self._lock:
            start = self._spare <= 0 and self._threads < self._size
            if start:
                self._threads += 1
            else:
                self._spare -= 1
        if start:
            name = f"toolhaft-tool-{self._threads}"
            threading.Thread(target=self._run, args=(work,), name=name, daemon=True).start()
        else:
            self._queue.put(work)

    def _run(self, work: Work) -> None:
        while True:
            work()
            with self._lock:
                self._spare += 1
            work = self._queue.get()
