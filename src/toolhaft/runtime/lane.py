"""Threads for plain functions. The protocol itself uses none of them, so none can starve it."""

import contextlib
import logging
import os
import threading
from collections import deque
from collections.abc import Callable

log = logging.getLogger(__name__)

Work = Callable[[], None]


class Lane:
    """Runs work on threads that are started as they are needed, and never block the exit.

    A thread waits for a byte in a pipe, not for a lock: writing one lets go of the interpreter at
    the very moment the thread wakes up, so that it can run at once instead of waiting once more.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._threads = 0
        self._work: deque[Work] = deque()
        # A token for each thread that waits. Tokens and work are taken without a lock; should a
        # token ever be stale, all threads were busy, and there are as many as there may be.
        self._idle: deque[None] = deque()
        # Made with the first work, so that a server can be made before a process forks.
        self._pipe: tuple[int, int] | None = None
        self._lock = threading.Lock()

    def submit(self, work: Work) -> None:
        """Run it soon, on whichever thread is free.

        Raises:
            RuntimeError: no thread can be started, and there is none.
        """
        pipe = self._pipe if self._pipe is not None else self._open()
        if not self._take_token() and self._threads < self._size and self._start(work):
            return
        self._work.append(work)
        with contextlib.suppress(BlockingIOError):  # enough bytes are in there to wake everybody
            os.write(pipe[1], b"-")

    def _start(self, work: Work) -> bool:
        self._threads += 1
        name = f"toolhaft-tool-{self._threads}"
        try:
            threading.Thread(target=self._run, args=(work,), name=name, daemon=True).start()
        except RuntimeError:
            self._threads -= 1
            if not self._threads:
                raise
            return False
        return True

    def _open(self) -> tuple[int, int]:
        with self._lock:
            if self._pipe is None:
                self._pipe = os.pipe()
                os.set_blocking(self._pipe[1], False)
            return self._pipe

    def _take_token(self) -> bool:
        try:
            self._idle.pop()
        except IndexError:
            return False
        return True

    def _run(self, work: Work) -> None:
        while True:
            try:
                work()
            except Exception as error:
                log.error("work on a thread raised %r", error, exc_info=error)
            work = self._next()

    def _next(self) -> Work:
        wake_up = self._open()[0]
        while True:
            try:
                return self._work.popleft()
            except IndexError:
                self._idle.append(None)
            os.read(wake_up, 1)
