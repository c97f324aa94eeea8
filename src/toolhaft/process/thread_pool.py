"""The thread pool for plain functions. The protocol itself runs on none of its threads, so that
functions which block cannot starve it."""

import contextlib
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Final

from .safe_logging import tell

Work = Callable[[], None]

# With the threads of abandoned jobs there may be up to this many times the size of the pool.
_MOST_TIMES: Final = 4


class Job:
    """Work that was submitted. Its flags change under the lock of the pool."""

    __slots__ = ("_pool", "is_abandoned", "is_over", "work")

    def __init__(self, work: Work, pool: "_Pool") -> None:
        # None once it has begun: it may hold a reference to the owner of this job.
        self.work: Work | None = work
        self._pool = pool
        self.is_over = False
        self.is_abandoned = False

    def give_up(self) -> None:
        """Its result is not needed any more. If it has begun and does not end, the pool may start
        another thread in place of the one that it occupies."""
        self._pool.abandon(self)


class Lane:
    """Runs work on daemon threads, which are started as they are needed.

    Threads have a reference to the pool, not to the lane, and end when the lane is collected."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._begin()

    def _begin(self) -> None:
        self._pool = _Pool(self._size)
        self._end = weakref.finalize(self, self._pool.end)
        self._end.atexit = False

    def begin_anew(self) -> None:
        """For a forked process, which has none of the threads: they and the pipe belong to the
        parent."""
        self._end.detach()
        self._pool.close()
        self._begin()

    def submit(self, work: Work) -> Job:
        """Run it as soon as a thread is free.

        Raises:
            RuntimeError: there is no thread, and none can be started.
        """
        pool = self._pool
        job = Job(work, pool)
        with pool.lock:
            pool.queue.append(job)
            if pool.idle:
                pool.idle -= 1
            else:
                pool.grow()
                return job
        os.write(pool.wake_up, b"-")
        return job


class _Pool:
    """The queue of a lane and the threads that serve it.

    A thread that finds the queue empty counts itself as idle and waits for a byte in a pipe. What
    changes the counts happens under the lock, and holds at all times:

    1. `idle` is the number of threads that wait, or are about to, for a byte that is not yet
       promised to them. A byte is written only after `idle` was lowered for it, so a byte wakes
       exactly one thread, and the pipe never has more bytes than there are threads.
    2. `idle` is raised only while the queue is empty, and each job that is queued while there are
       idle threads wakes one. So while a thread is idle, each queued job has a thread that is
       awake and will look at the queue before it waits.
    3. A job that is queued while no thread is idle is taken by the next thread that becomes free.
       If there may be more threads, one is started: `threads` is at most `most`, which is the size
       and one more for each abandoned job that still occupies a thread, up to a limit.

    The pipe is there for speed. Writing to it releases the interpreter lock at the very moment the
    thread wakes up, so that it runs at once; a thread that is woken by a `threading.Lock` has to
    wait for the interpreter lock once more.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self.lock = threading.Lock()
        self.queue: deque[Job] = deque()
        self.idle = 0
        self.threads = 0
        self.most = size
        self._abandoned = 0
        # The ends of the pipe. It is made with the first thread, so that a server can be made
        # before a process forks, and closed when the last thread has gone.
        self._waits_at = self.wake_up = -1
        self._close: weakref.finalize[[tuple[int, int]], _Pool] | None = None
        self._ended = False

    def grow(self) -> None:
        """Start a thread if there may be one more. It finds its work by itself: an argument would
        stay alive for as long as the thread. To be called with the lock, so that the thread that
        starts is not counted by others before it is known to run.

        Raises:
            RuntimeError: there is none, and none can be started for the job that was queued last.
        """
        if self.threads >= self.most:
            return
        name = f"toolhaft-tool-{self.threads + 1}"
        try:
            if self._close is None:
                self._open()
            threading.Thread(target=self._run, name=name, daemon=True).start()
        except (RuntimeError, OSError, MemoryError) as error:
            if not self.threads:
                self.queue.pop()
                raise RuntimeError(f"no thread can be started: {error}") from error
        else:
            self.threads += 1

    def abandon(self, job: Job) -> None:
        """Let another thread take the place of one that is occupied by a job."""
        with self.lock:
            if job.is_over or job.is_abandoned or job.work is not None:
                return
            job.is_abandoned = True
            self._abandoned += 1
            are_all_abandoned = self._abandoned == self._size * _MOST_TIMES
            self._set_most()
            if self.queue and not self.idle:
                self.grow()
        if are_all_abandoned:
            _warn(self.most)

    def _set_most(self) -> None:
        self.most = min(self._size + self._abandoned, self._size * _MOST_TIMES)

    def _open(self) -> None:
        self._waits_at, self.wake_up = ends = os.pipe()
        os.set_blocking(self.wake_up, False)
        self._close = weakref.finalize(self, _close, ends)
        self._close.atexit = False

    def close(self) -> None:
        """Close the pipe, which happens by itself when the last thread has gone."""
        if self._close is not None:
            self._close()

    def end(self) -> None:
        """There will be no more work. This may run in the garbage collector, on a thread that has
        the lock, so it must not take it. A byte for each thread is enough for those that wait, and
        those that are about to; what is too much does no harm any more."""
        self._ended = True
        if self._close is not None and self._close.alive:
            with contextlib.suppress(OSError):  # full, or closed in a process that was forked
                os.write(self.wake_up, b"-" * self.threads)

    def _run(self) -> None:
        lock, queue = self.lock, self.queue
        job: Job | None = None
        work: Work | None = None
        # CPython 3.11 never specializes a loop that is closed by a condition of its own.
        while True:
            with lock:
                if job is not None:
                    job.is_over = True
                    if job.is_abandoned and self._is_replaced():
                        return
                if queue:
                    job = queue.popleft()
                    work, job.work = job.work, None
                elif self._ended:
                    self.threads -= 1
                    return
                else:
                    job = None
                    self.idle += 1
            if job is None:
                os.read(self._waits_at, 1)
                continue
            try:
                if work is not None:
                    work()
            except BaseException as error:  # a thread that ended here would still be counted
                _log(error)
            work = None  # nothing that it refers to is held while the next is waited for

    def _is_replaced(self) -> bool:
        """An abandoned job has ended. If another thread has taken the place of this one, it leaves:
        only here there can be one too many, since only here `most` is lowered."""
        self._abandoned -= 1
        self._set_most()
        if self.threads <= self.most:
            return False
        self.threads -= 1
        return True


def _close(ends: tuple[int, int]) -> None:
    for descriptor in ends:
        os.close(descriptor)


def _warn(threads: int) -> None:
    from logging import getLogger  # noqa: PLC0415

    tell(
        getLogger(__name__).warning,
        "plain functions that were cancelled or took too long, and do not end, hold %s threads: "
        "there is none left for others. Let them look at `ctx.cancelled`, or bound what they wait "
        "for",
        threads,
    )


def _log(error: BaseException) -> None:
    from logging import getLogger  # noqa: PLC0415

    tell(getLogger(__name__).error, "work on a thread raised %r", error, exc_info=error)
