"""So many at once, and the others in line: over tasks, threads and loops."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolhaft.process.concurrency_limit import ConcurrencyLimit

PATIENCE = 5


class Visit:
    """Somebody who enters, stays until told to leave, and leaves."""

    def __init__(self, gate: ConcurrencyLimit) -> None:
        self._gate = gate
        self._leave = asyncio.Event()
        self.inside = asyncio.Event()
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        async with self._gate:
            self.inside.set()
            await self._leave.wait()

    async def enters(self) -> None:
        await asyncio.wait_for(self.inside.wait(), PATIENCE)

    async def leaves(self) -> None:
        self._leave.set()
        await asyncio.wait_for(self.task, PATIENCE)


async def turns(count: int = 5) -> None:
    """Let the loop do what it can."""
    for _ in range(count):
        await asyncio.sleep(0)


async def visits(gate: ConcurrencyLimit, count: int) -> list[Visit]:
    found = [Visit(gate) for _ in range(count)]
    await turns()
    return found


def inside(found: list[Visit]) -> list[int]:
    return [place for place, each in enumerate(found) if each.inside.is_set()]


async def test_a_free_gate_is_entered_without_waiting() -> None:
    entering = ConcurrencyLimit(1).__aenter__()

    with pytest.raises(StopIteration):
        entering.send(None)


@pytest.mark.parametrize("size", [1, 2, 7])
async def test_as_many_enter_as_the_gate_is_wide(size: int) -> None:
    found = await visits(ConcurrencyLimit(size), 10)

    assert inside(found) == list(range(size))
    for each in found:
        await each.leaves()


async def test_those_who_wait_enter_in_the_order_they_came() -> None:
    found = await visits(ConcurrencyLimit(1), 20)

    for place, each in enumerate(found):
        await each.enters()
        assert inside(found) == list(range(place + 1))
        await each.leaves()


async def test_nobody_passes_those_who_wait() -> None:
    gate = ConcurrencyLimit(1)
    first, second = await visits(gate, 2)

    first._leave.set()
    third = Visit(gate)  # comes while the second has been called and is not inside yet
    await second.enters()
    await turns()

    assert not third.inside.is_set()
    await second.leaves()
    await third.leaves()


async def test_a_place_is_free_again_after_an_error() -> None:
    gate = ConcurrencyLimit(1)

    for _ in range(3):
        with pytest.raises(ValueError, match="inside"):
            async with gate:
                raise ValueError("inside")

    async with asyncio.timeout(PATIENCE), gate:
        pass


async def test_one_who_gives_up_leaves_the_line() -> None:
    found = await visits(ConcurrencyLimit(1), 4)

    found[1].task.cancel()
    found[2].task.cancel()
    await turns()
    await found[0].leaves()
    await found[3].enters()

    assert inside(found) == [0, 3]
    await found[3].leaves()


async def test_one_who_gives_up_when_called_calls_the_next() -> None:
    gate = ConcurrencyLimit(1)
    first, second, third = await visits(gate, 3)

    async with asyncio.timeout(PATIENCE):
        first._leave.set()
        await first.task  # the second one has been called
        second.task.cancel()
        await third.enters()

    assert not second.inside.is_set()
    await third.leaves()


@pytest.mark.parametrize("steps", range(6))
async def test_a_cancellation_at_any_step_loses_no_place(steps: int) -> None:
    gate = ConcurrencyLimit(1)
    first, second, third = await visits(gate, 3)

    first._leave.set()
    await turns(steps)
    second.task.cancel()
    await third.enters()

    await third.leaves()
    async with asyncio.timeout(PATIENCE), gate:
        pass


async def test_all_who_were_called_may_give_up_at_once() -> None:
    gate = ConcurrencyLimit(3)
    found = await visits(gate, 9)

    for each in found[:3]:
        each._leave.set()
    await asyncio.gather(*(each.task for each in found[:3]))
    for each in found[3:]:
        each.task.cancel()
    await asyncio.gather(*(each.task for each in found[3:]), return_exceptions=True)

    again = await visits(gate, 4)
    assert inside(again) == [0, 1, 2]
    for each in again:
        await each.leaves()


async def test_many_wait_and_all_get_in() -> None:
    gate, now, most = ConcurrencyLimit(3), 0, 0

    async def visit() -> None:
        nonlocal now, most
        async with gate:
            now += 1
            most = max(most, now)
            await asyncio.sleep(0)
            now -= 1

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(visit() for _ in range(3000)))

    assert (now, most) == (0, 3)


async def test_giving_up_in_any_order_loses_no_place() -> None:
    gate, entered = ConcurrencyLimit(2), 0

    async def visit(n: int) -> None:
        nonlocal entered
        async with gate:
            entered += 1
            for _ in range(n % 4):
                await asyncio.sleep(0)

    tasks = [asyncio.create_task(visit(n)) for n in range(300)]
    for turn, task in enumerate(tasks):
        if turn % 3 == 0:
            task.cancel()
        if turn % 7 == 0:
            await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*tasks, return_exceptions=True)

    assert entered >= 200
    found = await visits(gate, 3)
    assert inside(found) == [0, 1]
    for each in found:
        await each.leaves()


async def test_a_deadline_in_line_is_a_cancellation_like_any_other() -> None:
    gate = ConcurrencyLimit(1)
    [first] = await visits(gate, 1)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01), gate:
            pass

    await first.leaves()
    async with asyncio.timeout(PATIENCE), gate:
        pass


# Several loops


def on_threads(count: int, main: Callable[[int], Any]) -> None:
    """Run a coroutine on so many loops, each on a thread."""
    failed: list[BaseException] = []

    def run(n: int) -> None:
        try:
            asyncio.run(main(n))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE * 2)
    assert not any(thread.is_alive() for thread in threads)
    assert failed == []


def test_a_gate_may_be_made_without_a_loop_and_used_on_several() -> None:
    gate = ConcurrencyLimit(1)

    async def main() -> None:
        async with gate:
            pass

    for _ in range(3):
        asyncio.run(main())


@pytest.mark.parametrize("size", [1, 3])
def test_the_gate_counts_over_all_loops(size: int) -> None:
    gate, lock, now, most, total = ConcurrencyLimit(size), threading.Lock(), 0, 0, 0

    async def visit() -> None:
        nonlocal now, most, total
        async with gate:
            with lock:
                now += 1
                most = max(most, now)
                total += 1
            await asyncio.sleep(0)
            with lock:
                now -= 1

    async def main(_: int) -> None:
        await asyncio.gather(*(visit() for _ in range(100)))

    on_threads(5, main)

    assert (now, total) == (0, 500)
    assert 1 <= most <= size


def test_giving_up_on_several_loops_loses_no_place() -> None:
    gate = ConcurrencyLimit(2)

    async def visit() -> None:
        async with gate:
            await asyncio.sleep(0)

    async def main(n: int) -> None:
        tasks = [asyncio.create_task(visit()) for _ in range(100)]
        for place, task in enumerate(tasks):
            if (place + n) % 3 == 0:
                await asyncio.sleep(0)
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def both_places() -> None:
        async with asyncio.timeout(PATIENCE), gate, gate:
            pass

    on_threads(5, main)

    asyncio.run(both_places())


def test_one_whose_loop_is_closed_is_passed_over() -> None:
    gate = ConcurrencyLimit(1)
    loop = asyncio.new_event_loop()
    entering = gate.__aenter__()

    async def wait_elsewhere() -> None:
        entering.send(None)

    async def hold_and_leave() -> None:
        await gate.__aenter__()
        await asyncio.to_thread(loop.run_until_complete, wait_elsewhere())
        await asyncio.to_thread(loop.close)
        await gate.__aexit__()
        async with asyncio.timeout(PATIENCE), gate:
            pass

    asyncio.run(hold_and_leave())
    entering.close()

    asyncio.run(hold_again(gate))


async def hold_again(gate: ConcurrencyLimit) -> None:
    """The gate is as wide as before: one enters, a second one waits."""
    first, second = await visits(gate, 2)
    assert inside([first, second]) == [0]
    await first.leaves()
    await second.leaves()


async def test_one_may_be_let_in_by_another_thread() -> None:
    gate = ConcurrencyLimit(1)
    await gate.__aenter__()
    [waiting] = await visits(gate, 1)

    await asyncio.to_thread(asyncio.run, gate.__aexit__())

    await waiting.enters()
    await waiting.leaves()
