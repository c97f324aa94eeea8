"""Threads for plain functions. The protocol itself uses none of them, so none can starve it."""

import contextlib
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Final

from .telling import tell

Work = Callable[[], None]

# So many times as many threads as are allowed there may be, with those that are given up.
_MOST_TIMES: Final = 4


class Job:
    """Work that was submitted."""

    __slots__ = ("_shared", "has_begun", "is_over", "work")

    def __init__(self, work: Work, shared: "_Shared") -> None:
        # Until it begins: it may know whoever keeps this.
        self.work: Work | None = work
        self._shared = shared
        self.has_begun = False
        self.is_over = False

    def give_up(self) -> None:
        """Nobody waits for it any more. If it has begun and does not end, another thread takes the
        place of the one that it holds."""
        if self.has_begun and not self.is_over:
            self._shared.lose(self)
            if self.is_over:  # meanwhile
                self._shared.regain(self)


class Lane:
    """Runs work on threads that are started as they are needed, and never block the exit.

    Threads know what they share, and not the lane: they end when nobody has the lane any more."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._begin()

    def _begin(self) -> None:
        self._shared = _Shared(self._size)
        self._end = weakref.finalize(self, self._shared.end)
        self._end.atexit = False

    def begin_anew(self) -> None:
        """For a process that was forked, which has none of the threads: they and the pipe are the
        parent's."""
        self._end.detach()
        self._shared.close()
        self._begin()

    def submit(self, work: Work) -> Job:
        """Run it soon, on whichever thread is free.

        Raises:
            RuntimeError: no thread can be started, and there is none.
        """
        shared = self._shared
        pipe = shared.pipe if shared.pipe is not None else shared.open()
        job = Job(work, shared)
        shared.work.append(job)
        if not shared.take_token() and shared.threads < shared.most and shared.start():
            return job
        try:  # noqa: SIM105 - a context manager costs as much as the rest of this
            os.write(pipe[1], b"-")
        except BlockingIOError:  # enough bytes are in there to wake everybody
            pass
        return job


class _Shared:
    """What a lane and its threads have in common.

    A thread waits for a byte in a pipe, not for a lock: writing one lets go of the interpreter at
    the very moment the thread wakes up, so that it can run at once instead of waiting once more.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        # How many threads there are, and may be: with one more for each that was given up.
        self.threads = 0
        self.most = size
        self._lost: set[Job] = set()
        self.work: deque[Job] = deque()
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

    def lose(self, job: Job) -> None:
        """A thread is held by work that nobody waits for."""
        with self._lock:
            self._lost.add(job)
            are_all_lost = len(self._lost) == self._size * _MOST_TIMES
            self._count_lost()
        if are_all_lost:
            _warn(self.most)
        if self.work and self.threads < self.most:
            self.start()

    def regain(self, job: Job) -> None:
        """The work has come to its end."""
        with self._lock:
            self._lost.discard(job)
            self._count_lost()

    def _count_lost(self) -> None:
        self.most = min(self._size + len(self._lost), self._size * _MOST_TIMES)

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
                job = self.work.popleft()
            except IndexError:  # another thread was quicker
                continue
            job.has_begun = True
            work, job.work = job.work, None
            try:
                if work is not None:
                    work()
            except Exception as error:
                _log(error)
            job.is_over = True
            if job in self._lost:
                self.regain(job)
            del work, job  # and all that they hold, before the next is waited for
            if self.threads > self.most and self._is_one_too_many():
                return
        with self._lock:
            self.threads -= 1
            if not self.threads and self.pipe is not None:
                self._close(self.pipe)

    def _is_one_too_many(self) -> bool:
        """Leave, if somebody has come for a thread that is back now."""
        with self._lock:
            if self.threads <= self.most:
                return False
            self.threads -= 1
            return True

    def _close(self, pipe: tuple[int, int]) -> None:
        for descriptor in pipe:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self.pipe = None


def _warn(threads: int) -> None:
    from logging import getLogger  # noqa: PLC0415

    tell(
        getLogger(__name__).warning,
        "plain functions that were cancelled or took too long, and do not end, hold %s threads: "
        "there is none left for others. Let them look at `ctx.cancelled`, or bound what they wait "
        "for",
        threads,
    )


def _log(error: Exception) -> None:
    from logging import getLogger  # noqa: PLC0415

    tell(getLogger(__name__).error, "work on a thread raised %r", error, exc_info=error)
