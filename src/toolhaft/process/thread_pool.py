"""The thread pool for plain functions.

The protocol itself runs on none of its threads, so functions that block cannot starve it.
"""

import contextlib
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Final

from .safe_logging import log_safely

Work = Callable[[], None]

# Upper bound on live threads, as a multiple of `size`. A thread stuck in an abandoned job is
# replaced, but only up to this bound.
_MOST_TIMES: Final = 4


class Job:
    """Submitted work. Its flags change under the lock of the workers."""

    __slots__ = ("_workers", "is_abandoned", "is_over", "work")

    def __init__(self, work: Work, workers: "_Workers") -> None:
        # None once it has started: it may hold a reference to the owner of this job.
        self.work: Work | None = work
        self._workers = workers
        self.is_over = False
        self.is_abandoned = False

    def give_up(self) -> None:
        """Declare the result unneeded. If the job has started and does not end, another thread may
        be started in place of the one it occupies.
        """
        self._workers.abandon(self)


class ThreadPool:
    """Runs work on daemon threads, which are started on demand.

    The threads refer to `_Workers`, not to this object, and end when it is garbage-collected.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._make_workers()

    def _make_workers(self) -> None:
        self._workers = _Workers(self._size)
        self._end = weakref.finalize(self, self._workers.end)
        self._end.atexit = False

    def reset_after_fork(self) -> None:
        """Replace the workers in a forked process: threads and pipe belong to the parent."""
        self._end.detach()
        self._workers.close()
        self._make_workers()

    def submit(self, work: Work) -> Job:
        """Queue work for the next free thread.

        Raises:
            RuntimeError: there is no thread, and none can be started.
        """
        workers = self._workers
        job = Job(work, workers)
        with workers.lock:
            workers.queue.append(job)
            if workers.seeking:
                return job
            wake_up_bytes = workers.call(1)
        if wake_up_bytes:
            os.write(workers.wake_up, wake_up_bytes)
        return job


class _Workers:
    """The queue of a thread pool and the threads that serve it.

    A thread that finds the queue empty counts itself as idle and waits for a byte in a pipe. A
    thread that was woken or started is seeking until it has checked the queue. The counts change
    only under the lock. Invariants:

    1. `idle` is the number of threads that wait, or are about to, for a byte that is not yet
       promised to them. A byte is written only after `idle` was lowered for it, so a byte wakes
       exactly one thread, and the pipe never has more bytes than there are threads.
    2. While a job is queued, a thread is seeking, unless no thread is idle and no more can be
       started. So no job waits for the end of another while there is a thread for it.
    3. A seeking thread that finds several jobs calls two other threads before it starts the first
       job. A thread that has finished a job takes the next and calls none: by invariant 2 another
       thread is seeking.
    4. `threads` is at most `most`, which is the size and one more for each abandoned job that still
       occupies a thread, up to a limit.

    Waking a thread for each job costs more than most jobs do. Of many jobs that arrive together,
    the first thread runs all the short ones before another thread gets the interpreter lock. If
    they are not short, each thread that gets the lock calls two more, so all jobs start after a
    number of switches that grows with the logarithm of their number. With 32 calls of a short
    function in flight over HTTP this saves more than a third of the CPU time.

    The pipe is there for speed. Writing to it releases the interpreter lock at the very moment the
    thread wakes up, so that it runs at once; a thread that is woken by a `threading.Lock` has to
    wait for the interpreter lock once more.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self.lock = threading.Lock()
        self.queue: deque[Job] = deque()
        self.idle = 0
        self.seeking = 0
        self.threads = 0
        self.most = size
        self._abandoned = 0
        # The ends of the pipe. It is made with the first thread, so that a server can be made
        # before a process forks, and closed when the last thread has gone.
        self._waits_at = self.wake_up = -1
        self._close: weakref.finalize[[tuple[int, int]], _Workers] | None = None
        self._ended = False

    def call(self, count: int) -> bytes:
        """Make up to `count` threads seek: idle ones first, then new ones. The caller holds the
        lock.

        Returns:
            The bytes to write to the pipe after the lock is released, one per woken thread.

        Raises:
            RuntimeError: there is no thread, and none can be started for the last queued job.
        """
        woken = min(count, self.idle)
        self.idle -= woken
        self.seeking += woken
        for _ in range(min(count - woken, self.most - self.threads)):
            self._grow()
        return b"-" * woken

    def _grow(self) -> None:
        """Start a thread. It takes its work from the queue: an argument of the thread would stay
        alive as long as the thread. It waits for the lock, so it is counted before it runs.
        """
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
            self.seeking += 1

    def abandon(self, job: Job) -> None:
        """Allow another thread in place of the one that a job occupies."""
        with self.lock:
            if job.is_over or job.is_abandoned or job.work is not None:
                return
            job.is_abandoned = True
            self._abandoned += 1
            are_all_abandoned = self._abandoned == self._size * _MOST_TIMES
            self._set_most()
            wake_up_bytes = self.call(1) if self.queue and not self.seeking else b""
        if wake_up_bytes:
            os.write(self.wake_up, wake_up_bytes)
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
        """End all threads. This may run in the garbage collector on a thread that holds the lock,
        so it must not take the lock. One byte per thread wakes all that wait or are about to; any
        excess bytes do no harm.
        """
        self._ended = True
        if self._close is not None and self._close.alive:
            with contextlib.suppress(OSError):  # full, or closed in a process that was forked
                os.write(self.wake_up, b"-" * self.threads)

    def _run(self) -> None:
        lock, queue = self.lock, self.queue
        job: Job | None = None
        work: Work | None = None
        wake_up_bytes = b""
        # CPython 3.11 does not specialize a `while` loop with a condition.
        while True:
            with lock:
                is_seeking = job is None
                if job is None:
                    self.seeking -= 1
                else:
                    job.is_over = True
                    if job.is_abandoned and self._is_replaced():
                        return
                if queue:
                    job = queue.popleft()
                    work, job.work = job.work, None
                    if is_seeking and queue:
                        wake_up_bytes = self.call(min(2, len(queue)))
                elif self._ended:
                    self.threads -= 1
                    return
                else:
                    job = None
                    self.idle += 1
            if job is None:
                os.read(self._waits_at, 1)
                continue
            if wake_up_bytes:
                os.write(self.wake_up, wake_up_bytes)
                wake_up_bytes = b""
            try:
                assert work is not None, "a job is taken once"
                work()
            except BaseException as error:  # a dead thread would still be counted
                _log(error)
            work = None  # do not keep its references alive while waiting

    def _is_replaced(self) -> bool:
        """Account for the end of an abandoned job. Returns True if the thread must end because
        another has replaced it: only here there can be one too many, since only here `most` is
        lowered.
        """
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

    log_safely(
        getLogger(__name__).warning,
        "plain functions that were cancelled or took too long, and do not end, hold %s threads: "
        "there is none left for others. Let them look at `ctx.cancelled`, or bound what they wait "
        "for",
        threads,
    )


def _log(error: BaseException) -> None:
    from logging import getLogger  # noqa: PLC0415

    log_safely(getLogger(__name__).error, "work on a thread raised %r", error, exc_info=error)
