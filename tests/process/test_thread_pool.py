"""Threads for plain functions: as many as are needed, never more than allowed."""

import gc
import os
import threading
import time
from types import SimpleNamespace

import pytest

from toolhaft.process.thread_pool import ThreadPool

PATIENCE = 5


def test_work_runs_on_another_thread() -> None:
    where: list[int] = []
    done = threading.Event()

    def work() -> None:
        where.append(threading.get_ident())
        done.set()

    ThreadPool(2).submit(work)

    assert done.wait(PATIENCE)
    assert where != [threading.get_ident()]


def test_no_thread_is_started_before_there_is_work() -> None:
    before = threading.active_count()

    ThreadPool(64)

    assert threading.active_count() == before


def test_work_that_blocks_does_not_hold_up_other_work() -> None:
    lane, gate, done = ThreadPool(4), threading.Event(), threading.Event()
    for _ in range(3):
        lane.submit(lambda: gate.wait(PATIENCE) and None)

    lane.submit(done.set)

    assert done.wait(PATIENCE)
    gate.set()


def test_all_threads_can_be_busy_at_once() -> None:
    lane, together = ThreadPool(8), threading.Barrier(9)

    for _ in range(8):
        lane.submit(lambda: together.wait(PATIENCE) and None)

    assert together.wait(PATIENCE) >= 0  # it would break if one were missing


def test_there_are_never_more_threads_than_allowed() -> None:
    lane, gate, lock = ThreadPool(3), threading.Event(), threading.Lock()
    threads: set[int] = set()
    finished = threading.Semaphore(0)

    def work() -> None:
        with lock:
            threads.add(threading.get_ident())
        gate.wait(PATIENCE)
        finished.release()

    for _ in range(20):
        lane.submit(work)
    gate.set()

    assert all(finished.acquire(timeout=PATIENCE) for _ in range(20))
    assert len(threads) <= 3


def test_a_thread_that_is_free_is_used_again() -> None:
    lane, names = ThreadPool(64), set()
    for _ in range(20):
        done = threading.Event()

        def work(done: threading.Event = done) -> None:
            names.add(threading.current_thread().name)
            done.set()

        lane.submit(work)
        assert done.wait(PATIENCE)

    # A thread counts as free only a moment after its work has said so.
    assert len(names) < 20


def test_work_that_had_to_queue_is_done_in_order() -> None:
    lane, gate, order, done = ThreadPool(1), threading.Event(), [], threading.Event()
    lane.submit(lambda: gate.wait(PATIENCE) and None)

    for number in range(10):
        lane.submit(lambda number=number: order.append(number))  # type: ignore[misc]
    lane.submit(done.set)
    gate.set()

    assert done.wait(PATIENCE)
    assert order == list(range(10))


def test_work_that_comes_while_a_thread_wakes_up_needs_no_other_to_begin_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lane, together = ThreadPool(8), threading.Barrier(7)
    lane.submit(lambda: None)
    while not lane._workers.idle:
        time.sleep(0.001)
    held: list[tuple[int, bytes]] = []

    def hold(pipe: int, data: bytes) -> None:
        held.append((pipe, data))

    monkeypatch.setattr("toolhaft.process.thread_pool.os", SimpleNamespace(write=hold))
    for _ in range(6):
        lane.submit(lambda: together.wait(PATIENCE) and None)
    monkeypatch.undo()
    threads = lane._workers.threads
    for pipe, data in held:
        os.write(pipe, data)

    assert (threads, len(held)) == (1, 1)
    assert together.wait(PATIENCE) >= 0  # it would break if one did not begin


def test_work_may_submit_work() -> None:
    lane, done = ThreadPool(1), threading.Event()

    lane.submit(lambda: lane.submit(done.set))

    assert done.wait(PATIENCE)


def test_many_threads_may_submit_at_once() -> None:
    lane, finished = ThreadPool(4), threading.Semaphore(0)

    def submit() -> None:
        for _ in range(100):
            lane.submit(finished.release)

    submitters = [threading.Thread(target=submit) for _ in range(8)]
    for submitter in submitters:
        submitter.start()
    for submitter in submitters:
        submitter.join(PATIENCE)

    assert all(finished.acquire(timeout=PATIENCE) for _ in range(800))


def test_its_threads_do_not_keep_the_process_alive() -> None:
    lane, daemon, done = ThreadPool(1), [], threading.Event()

    def work() -> None:
        daemon.append(threading.current_thread().daemon)
        done.set()

    lane.submit(work)

    assert done.wait(PATIENCE)
    assert daemon == [True]


def test_threads_and_descriptors_go_with_the_lane() -> None:
    names = {thread.name for thread in threading.enumerate()}
    before = len(os.listdir("/proc/self/fd"))
    lane = ThreadPool(4)
    done = [threading.Event() for _ in range(4)]
    for event in done:
        lane.submit(event.set)
    for event in done:
        assert event.wait(PATIENCE)

    del lane
    gc.collect()
    mine = [t for t in threading.enumerate() if t.name not in names]
    for thread in mine:
        thread.join(PATIENCE)

    assert not any(thread.is_alive() for thread in mine)
    assert len(os.listdir("/proc/self/fd")) <= before


def test_work_that_is_given_up_and_does_not_end_costs_nobody_a_thread() -> None:
    lane, gate = ThreadPool(2), threading.Event()
    begun, done = threading.Semaphore(0), threading.Event()

    def hang() -> None:
        begun.release()
        gate.wait(PATIENCE)

    jobs = [lane.submit(hang) for _ in range(2)]
    for _ in jobs:
        assert begun.acquire(timeout=PATIENCE)
    lane.submit(done.set)
    assert not done.wait(0.05)

    jobs[0].give_up()

    assert done.wait(PATIENCE)
    gate.set()


def test_a_thread_that_is_back_leaves_if_another_has_taken_its_place() -> None:
    lane, gate = ThreadPool(1), threading.Event()
    begun, done = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        gate.wait(PATIENCE)

    job = lane.submit(hang)
    assert begun.wait(PATIENCE)
    job.give_up()
    lane.submit(done.set)
    assert done.wait(PATIENCE)
    assert lane._workers.threads == 2

    gate.set()

    deadline = time.monotonic() + PATIENCE
    while lane._workers.threads > 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (lane._workers.threads, lane._workers.most) == (1, 1)


def test_there_is_an_end_to_threads_for_what_was_given_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lane, gate = ThreadPool(2), threading.Event()
    begun, done = threading.Semaphore(0), threading.Event()

    def hang() -> None:
        begun.release()
        gate.wait(PATIENCE)

    for _ in range(8):
        job = lane.submit(hang)
        assert begun.acquire(timeout=PATIENCE)
        job.give_up()
    lane.submit(done.set)

    assert not done.wait(0.05)
    assert lane._workers.threads == 8
    assert "hold 8 threads: there is none left for others" in caplog.text
    gate.set()
    assert done.wait(PATIENCE)


def test_work_that_is_given_up_before_it_begins_or_after_it_ended_changes_nothing() -> None:
    lane, gate, begun = ThreadPool(1), threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        gate.wait(PATIENCE)

    lane.submit(hang)
    assert begun.wait(PATIENCE)
    done = threading.Event()
    waits = lane.submit(done.set)
    waits.give_up()
    gate.set()
    assert done.wait(PATIENCE)
    while not waits.is_over:
        time.sleep(0.001)
    waits.give_up()

    assert (lane._workers.threads, lane._workers.most) == (1, 1)
