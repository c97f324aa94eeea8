"""Threads for plain functions. The protocol itself uses none of them, so none can starve it."""

import contextlib
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable

from .telling import tell

Work = Callable[[], None]


class Lane:
    """Runs work on threads that are started as they are needed, and never block the exit.

    Threads know what they share, and not the lane: they end when nobody has the lane any more."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._begin()

    def _begin(self) -> None:
        self._shared = _Shared()
        self._end = weakref.finalize(self, self._shared.end)
        self._end.atexit = False

    def begin_anew(self) -> None:
        """For a process that was forked, which has none of the threads: they and the pipe are the
        parent's."""
        self._end.detach()
        self._shared.close()
        self._begin()

    def submit(self, work: Work) -> None:
        """Run it soon, on whichever thread is free.

        Raises:
            RuntimeError: no thread can be started, and there is none.
        """
        shared = self._shared
        pipe = shared.pipe if shared.pipe is not None else shared.open()
        shared.work.append(work)
        if not shared.take_token() and shared.threads < self._size and shared.start():
            return
        try:  # noqa: SIM105 - a context manager costs as much as the rest of this
            os.write(pipe[1], b"-")
        except BlockingIOError:  # enough bytes are in there to wake everybody
            pass


class _Shared:
    """What a lane and its threads have in common.

    A thread waits for a byte in a pipe, not for a lock: writing one lets go of the interpreter at
    the very moment the thread wakes up, so that it can run at once instead of waiting once more.
    """

    def __init__(self) -> None:
        self.threads = 0
        self.work: deque[Work] = deque()
        # A token for each thread that waits. Tokens and work are taken without a lock; should a
        # token ever be stale, all threads were busy, and there are as many as there may be.
        self._idle: deque[None] = deque()
        # Made with the first work, so that a server can be made before a process forks.
        self.pipe: tuple[int, int] | None = None
        self._ended = False
        self._lock = threading.Lock()

    def start(self) -> bool:
        """One more thread, if there is one to be had. It finds its work by itself: what it would
        be given here, its `Thread` would keep alive for as long as it runs."""
        self.threads += 1
        name = f"toolhaft-tool-{self.threads}"
        try:
            threading.Thread(target=self._run, name=name, daemon=True).start()
        except RuntimeError:
            self.threads -= 1
            if not self.threads:
                self.work.pop()
                raise
            return False
        return True

    def open(self) -> tuple[int, int]:
        """The pipe."""
        with self._lock:
            if self.pipe is None:
                self.pipe = os.pipe()
                os.set_blocking(self.pipe[1], False)
            return self.pipe

    def take_token(self) -> bool:
        """Is there a thread that waits?"""
        try:
            self._idle.pop()
        except IndexError:
            return False
        return True

    def end(self) -> None:
        """Nobody gives us work any more."""
        with self._lock:
            self._ended = True
            if self.pipe is not None and self.threads:
                with contextlib.suppress(OSError):  # full, or closed by a process that forked
                    os.write(self.pipe[1], b"-" * self.threads)
            elif self.pipe is not None:
                self._close(self.pipe)

    def close(self) -> None:
        """Let go of the pipe."""
        if self.pipe is not None:
            self._close(self.pipe)

    def _run(self) -> None:
        wake_up = self.open()[0]
        # CPython 3.11 never makes a loop quick that goes round by its own condition.
        while True:
            # Looked for before it is taken: mostly there is none, and an exception costs more.
            if not self.work:
                if self._ended:
                    break
                self._idle.append(None)
                os.read(wake_up, 1)
                continue
            try:
                work = self.work.popleft()
            except IndexError:  # another thread was quicker
                continue
            try:
                work()
            except Exception as error:
                _log(error)
            del work  # and all that it holds, before the next is waited for
        self._leave()

    def _leave(self) -> None:
        with self._lock:
            self.threads -= 1
            if not self.threads and self.pipe is not None:
                self._close(self.pipe)

    def _close(self, pipe: tuple[int, int]) -> None:
        for descriptor in pipe:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self.pipe = None


def _log(error: Exception) -> None:
    from logging import getLogger  # noqa: PLC0415

    tell(getLogger(__name__).error, "work on a thread raised %r", error, exc_info=error)
