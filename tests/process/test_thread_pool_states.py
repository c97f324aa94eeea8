"""The thread pool as a state machine: whatever happens to jobs, the ones that must run do run.

The model is simple, because the pool is: jobs begin in the order in which they were submitted, as
soon as fewer jobs are under way than there may be threads.
"""

import fcntl
import gc
import os
import sys
import termios
import threading
import time
import warnings
from collections.abc import Callable

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from toolhaft.process.thread_pool import Job, ThreadPool

PATIENCE = 10.0
MOST_TIMES = 4


class Held:
    """A job that goes on until it is released."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.released = threading.Event()
        self.job: Job | None = None

    def __call__(self) -> None:
        self.begun.set()
        assert self.released.wait(PATIENCE)

    @property
    def is_over(self) -> bool:
        assert self.job is not None
        return self.job.is_over


def eventually(holds: Callable[[], bool], what: str) -> None:
    """Wait for something that other threads are about to do."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.001)


def bytes_in(pipe: int) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


class Pool(RuleBasedStateMachine):
    """Jobs that are held, so that it is known which of them occupy a thread."""

    def __init__(self) -> None:
        super().__init__()
        # What all other tests have left need not be looked at whenever a lane is collected.
        gc.freeze()
        self.size = 2
        self.interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)  # so that threads meet in every possible order
        self.lane: ThreadPool | None = ThreadPool(self.size)
        # In the order of their submission; those under way are the first ones.
        self.under_way: list[Held] = []
        self.abandoned: list[Held] = []
        self.queued: list[Held] = []

    def teardown(self) -> None:
        gc.unfreeze()
        sys.setswitchinterval(self.interval)
        for held in (*self.under_way, *self.abandoned, *self.queued):
            held.released.set()

    @property
    def most(self) -> int:
        return min(self.size + len(self.abandoned), self.size * MOST_TIMES)

    def settle(self) -> None:
        """In the model: what can begin, begins."""
        while self.queued and len(self.under_way) + len(self.abandoned) < self.most:
            self.under_way.append(self.queued.pop(0))

    # What a server does

    @rule(count=st.integers(1, 12))
    def submit(self, count: int) -> None:
        assert self.lane is not None
        for _ in range(count):
            held = Held()
            held.job = self.lane.submit(held)
            self.queued.append(held)
        self.settle()

    @rule(count=st.integers(1, 30))
    def burst(self, count: int) -> None:
        """Short jobs, which run if any thread can be had, and else wait with the others."""
        assert self.lane is not None
        if self.queued or len(self.under_way) + len(self.abandoned) == self.most:
            return
        done = threading.Semaphore(0)
        for _ in range(count):
            self.lane.submit(lambda: done.release())
        assert all(done.acquire(timeout=PATIENCE) for _ in range(count)), "calls are not served"

    @rule(count=st.integers(1, 3))
    def burst_that_raises(self, count: int) -> None:
        """What a job raises does not cost a thread."""
        assert self.lane is not None
        if self.queued or len(self.under_way) + len(self.abandoned) == self.most:
            return
        jobs = [self.lane.submit(_exits) for _ in range(count)]
        eventually(lambda: all(job.is_over for job in jobs), "calls are not served")

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        held = data.draw(st.sampled_from(self.under_way))
        self.under_way.remove(held)
        self.release(held)

    @precondition(lambda self: self.abandoned)
    @rule(data=st.data())
    def finish_what_was_abandoned(self, data: st.DataObject) -> None:
        held = data.draw(st.sampled_from(self.abandoned))
        self.abandoned.remove(held)
        self.release(held)

    @precondition(lambda self: self.under_way or self.abandoned or self.queued)
    @rule()
    def finish_all(self) -> None:
        every = [*self.under_way, *self.abandoned, *self.queued]
        self.under_way, self.abandoned, self.queued = [], [], []
        for held in every:
            held.released.set()
        eventually(lambda: all(held.is_over for held in every), "released jobs end")

    def release(self, held: Held) -> None:
        held.released.set()
        eventually(lambda: held.is_over, "a released job ends")
        self.settle()

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), times=st.integers(1, 2))
    def time_out(self, data: st.DataObject, times: int) -> None:
        held = data.draw(st.sampled_from(self.under_way))
        assert held.job is not None
        for _ in range(times):
            held.job.give_up()
        self.under_way.remove(held)
        self.abandoned.append(held)
        self.settle()

    @precondition(lambda self: self.queued)
    @rule(data=st.data())
    def give_up_before_it_begins(self, data: st.DataObject) -> None:
        held = data.draw(st.sampled_from(self.queued))
        assert held.job is not None
        held.job.give_up()

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def give_up_while_it_ends(self, data: st.DataObject) -> None:
        held = data.draw(st.sampled_from(self.under_way))
        assert held.job is not None
        self.under_way.remove(held)
        held.released.set()
        held.job.give_up()
        eventually(lambda: held.is_over, "a released job ends")
        held.job.give_up()
        self.settle()

    @rule()
    def fork(self) -> None:
        """The child has none of the threads, and serves with its own."""
        assert self.lane is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads, we know
            child = os.fork()
        if not child:
            os._exit(_serves_anew(self.lane))
        _, status = os.waitpid(child, 0)
        assert status == 0, "a forked process serves"

    @precondition(lambda self: not self.queued)
    @rule()
    def end(self) -> None:
        """Without the lane its threads end; another one takes its place."""
        assert self.lane is not None
        pool, self.lane = self.lane._workers, None
        gc.collect()
        for held in (*self.under_way, *self.abandoned):
            held.released.set()
        eventually(lambda: pool.threads == 0, "its threads end")
        self.under_way, self.abandoned = [], []
        self.lane = ThreadPool(self.size)

    # What holds at all times

    @invariant()
    def every_job_runs_that_can(self) -> None:
        for held in self.under_way:
            assert held.begun.wait(PATIENCE), "a job that could begin does not"
        assert not any(held.begun.is_set() for held in self.queued)

    @invariant()
    def the_counts_are_right(self) -> None:
        assert self.lane is not None
        pool = self.lane._workers
        occupied = len(self.under_way) + len(self.abandoned)

        def are_right() -> bool:
            with pool.lock:
                return (
                    occupied <= pool.threads <= pool.most == self.most
                    and pool.idle == pool.threads - occupied
                    and pool.seeking == 0
                    and [job.work for job in pool.queue] == self.queued
                    and (pool.wake_up < 0 or bytes_in(pool._waits_at) == 0)
                )

        eventually(are_right, f"{vars(pool)}")


def _exits() -> None:
    raise SystemExit  # of a function; the pool only logs it


def _serves_anew(lane: ThreadPool) -> int:
    try:
        lane.reset_after_fork()
        done = threading.Semaphore(0)
        for _ in range(5):
            lane.submit(lambda: done.release())
        return 0 if all(done.acquire(timeout=PATIENCE) for _ in range(5)) else 1
    except BaseException:
        return 2


TestPool = Pool.TestCase
# What fails is shown as it was found: to look for something shorter means to wait for what does not
# come, each time.
TestPool.settings = settings(
    max_examples=12,
    stateful_step_count=30,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
