"""Coroutines that are begun at once, each in a task of its own."""

import asyncio
import contextlib
import contextvars
import gc
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from toolhaft.process.eager_tasks import EagerTasks, OutsideTask

PATIENCE = 5


class Running:
    """A pump, and what it told."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.ended: dict[str, Any] = {}
        self.failed: dict[str, BaseException] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self._over: dict[str, asyncio.Event] = {}
        self.pump: EagerTasks[str] = EagerTasks(
            self.loop, on_result=self._end, on_error=self._fail, on_wait=self.tasks.__setitem__
        )

    def _end(self, key: str, value: Any) -> None:
        self.ended[key] = value
        self._event(key).set()

    def _fail(self, key: str, error: BaseException) -> None:
        self.failed[key] = error
        self._event(key).set()

    def _event(self, key: str) -> asyncio.Event:
        return self._over.setdefault(key, asyncio.Event())

    async def outside(self, *starts: tuple[str, Coroutine[Any, Any, Any]]) -> None:
        """Start coroutines where no task is: in a callback of the loop, as a reader does."""
        done = self.loop.create_future()

        def start() -> None:
            for key, coroutine in starts:
                self.pump.start(key, coroutine)
            done.set_result(None)

        await asyncio.sleep(0)  # the pump parks its first task
        self.loop.call_soon(start)
        await done

    async def over(self, *keys: str) -> None:
        for key in keys:
            await asyncio.wait_for(self._event(key).wait(), PATIENCE)


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    running = Running()
    yield running
    await running.pump.close(PATIENCE)


async def give(value: Any) -> Any:
    return value


async def give_later(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


async def test_a_coroutine_that_does_not_wait_ends_where_it_is_started(running: Running) -> None:
    ended_at_once: list[bool] = []

    async def give_and_look() -> int:
        running.loop.call_soon(lambda: ended_at_once.append("a" in running.ended))
        return 1

    await running.outside(("a", give_and_look()))
    await asyncio.sleep(0)

    assert running.ended == {"a": 1}
    assert ended_at_once == [True]
    assert running.tasks == {}


async def test_a_coroutine_that_waits_gets_a_task(running: Running) -> None:
    await running.outside(("a", give_later(1)))
    await running.over("a")

    assert running.ended == {"a": 1}
    assert set(running.tasks) == {"a"}


async def test_many_coroutines_started_together_all_end(running: Running) -> None:
    await running.outside(*((str(n), (give, give_later)[n % 2](n)) for n in range(100)))
    await running.over(*(str(n) for n in range(100)))

    assert running.ended == {str(n): n for n in range(100)}


async def test_a_coroutine_started_inside_of_a_task_ends_too(running: Running) -> None:
    running.pump.start("a", give(1))
    running.pump.start("b", give_later(2))
    await running.over("a", "b")

    assert running.ended == {"a": 1, "b": 2}


async def test_a_coroutine_may_start_others(running: Running) -> None:
    async def start_another() -> str:
        running.pump.start("inner", give_later("inner"))
        return "outer"

    await running.outside(("outer", start_another()))
    await running.over("outer", "inner")

    assert running.ended == {"outer": "outer", "inner": "inner"}


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        SystemExit(3),
        KeyboardInterrupt(),
        GeneratorExit(),
        asyncio.CancelledError(),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
async def test_whatever_a_coroutine_raises_is_told(
    running: Running, error: BaseException, later: bool
) -> None:
    async def fail() -> None:
        if later:
            await asyncio.sleep(0)
        raise error

    await running.outside(("bad", fail()), ("good", give_later(1)))
    await running.over("bad", "good")

    assert running.failed == {"bad": error}
    assert running.ended == {"good": 1}


async def test_the_current_task_is_the_same_from_the_first_step_to_the_last(
    running: Running,
) -> None:
    async def look() -> list[asyncio.Task[Any] | None]:
        seen = [asyncio.current_task()]
        await asyncio.sleep(0)
        return [*seen, asyncio.current_task()]

    await running.outside(("a", look()), ("b", look()))
    await running.over("a", "b")

    assert running.ended["a"] == [running.tasks["a"]] * 2
    assert running.ended["b"] == [running.tasks["b"]] * 2
    assert running.tasks["a"] is not running.tasks["b"]


async def test_nobody_is_the_current_task_after_a_start(running: Running) -> None:
    seen: list[object] = []
    running.loop.call_soon(running.pump.start, "a", give(1))
    running.loop.call_soon(running.pump.start, "b", give_later(1))
    running.loop.call_soon(lambda: seen.append(asyncio.current_task()))
    await running.over("a", "b")

    assert seen == [None]


async def _timeout_at_once() -> str:
    async with asyncio.timeout(PATIENCE):  # noqa: ASYNC100 - entering it is what is tested
        return "done"


async def _timeout_strikes() -> str:
    try:
        async with asyncio.timeout(0.001):
            await asyncio.sleep(PATIENCE)
    except TimeoutError:
        return "done"
    return "late"


async def _group() -> str:
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(give_later("do"))
        second = tasks.create_task(give("ne"))
    return first.result() + second.result()


async def _cancels_itself() -> str:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    try:
        await asyncio.sleep(PATIENCE)
    except asyncio.CancelledError:
        task.uncancel()
    await asyncio.sleep(0)
    return "done"


async def _cancels_itself_and_ends() -> str:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    return "done"


@pytest.mark.parametrize(
    "function",
    [_timeout_at_once, _timeout_strikes, _group, _cancels_itself, _cancels_itself_and_ends],
    ids=lambda function: function.__name__,
)
async def test_what_needs_a_task_works_in_the_first_step(
    running: Running, function: Callable[[], Coroutine[Any, Any, str]]
) -> None:
    await running.outside(("a", function()))
    await running.over("a")
    # And what it did to its task is not felt by the next.
    await running.outside(("b", give_later(1)), ("c", give(2)))
    await running.over("b", "c")

    assert running.ended == {"a": "done", "b": 1, "c": 2}
    assert running.failed == {}


async def test_a_task_that_is_cancelled_fails_its_coroutine_only(running: Running) -> None:
    await running.outside(("a", asyncio.sleep(PATIENCE)), ("b", give_later(1)))

    running.tasks["a"].cancel()
    await running.over("a", "b")

    assert isinstance(running.failed["a"], asyncio.CancelledError)
    assert running.ended == {"b": 1}


async def test_a_task_may_be_cancelled_as_soon_as_it_is_known() -> None:
    failed: dict[str, BaseException] = {}
    over = asyncio.Event()

    def fail(key: str, error: BaseException) -> None:
        failed[key] = error
        over.set()

    pump: EagerTasks[str] = EagerTasks(
        asyncio.get_running_loop(),
        on_result=lambda _key, _value: over.set(),
        on_error=fail,
        on_wait=lambda _key, task: task.cancel() and None,
    )
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(pump.start, "a", asyncio.sleep(PATIENCE))
    await asyncio.wait_for(over.wait(), PATIENCE)
    await pump.close(PATIENCE)

    assert isinstance(failed["a"], asyncio.CancelledError)


owner: contextvars.ContextVar[str] = contextvars.ContextVar("owner", default="nobody")


async def test_what_a_coroutine_sets_is_its_own(running: Running) -> None:
    async def claim(name: str, later: bool) -> list[str]:
        seen = [owner.get()]
        owner.set(name)
        if later:
            await asyncio.sleep(0)
        return [*seen, owner.get()]

    await running.outside(*((str(n), claim(str(n), n % 2 == 1)) for n in range(10)))
    await running.over(*(str(n) for n in range(10)))

    assert running.ended == {str(n): ["nobody", str(n)] for n in range(10)}
    assert owner.get() == "nobody"


async def test_closing_cancels_what_waits_and_runs_its_cleanup(running: Running) -> None:
    cleaned: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append("cleaned")

    await running.outside(("a", wait()), ("b", wait()))
    await asyncio.sleep(0)
    await running.pump.close(PATIENCE)

    assert cleaned == ["cleaned", "cleaned"]
    assert {type(error) for error in running.failed.values()} == {asyncio.CancelledError}


async def test_closing_does_not_wait_for_what_does_not_stop(running: Running) -> None:
    release = asyncio.Event()

    async def insist() -> str:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "at last"

    await running.outside(("a", insist()))
    await asyncio.sleep(0)
    await asyncio.wait_for(running.pump.close(0.01), PATIENCE)

    assert running.ended == {}
    release.set()
    await running.over("a")


async def test_closing_leaves_no_coroutine_unawaited() -> None:
    running = Running()
    running.pump.start("a", give(1))
    running.pump.start("b", give_later(1))

    await running.pump.close(PATIENCE)
    gc.collect()  # what was never awaited would warn, and warnings are errors

    assert set(running.ended) | set(running.failed) <= {"a", "b"}


async def test_an_idle_pump_closes_at_once() -> None:
    running = Running()

    await asyncio.wait_for(running.pump.close(PATIENCE), PATIENCE)

    assert running.failed == {}


async def test_whoever_ends_a_loop_ends_an_idle_pump_too() -> None:
    before = asyncio.all_tasks()
    Running()
    await asyncio.sleep(0)  # parked by now
    (parked,) = asyncio.all_tasks() - before

    parked.cancel()

    done, _ = await asyncio.wait([parked], timeout=PATIENCE)
    assert done == {parked}


async def test_a_pump_goes_on_after_all_tasks_were_cancelled() -> None:
    running = Running()
    await asyncio.sleep(0)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await asyncio.sleep(0)

    running.pump.start("a", give(1))
    await running.over("a")

    assert running.ended == {"a": 1}


async def test_no_task_is_left_by_a_pump_that_is_closed_while_a_coroutine_begins() -> None:
    before = asyncio.all_tasks()
    running = Running()

    def close_and_begin() -> None:  # which closes it before the task has heard of the coroutine
        closing.append(asyncio.ensure_future(running.pump.close(PATIENCE)))
        running.pump.start("a", asyncio.sleep(60))

    closing: list[asyncio.Task[None]] = []
    await asyncio.sleep(0)  # the pump parks its first task
    running.loop.call_soon(close_and_begin)
    await running.over("a")
    await closing[0]

    assert isinstance(running.failed["a"], asyncio.CancelledError)
    assert asyncio.all_tasks() == before


async def test_a_pump_that_is_closed_begins_nothing() -> None:
    running, begun = Running(), False

    async def begin() -> None:
        nonlocal begun
        begun = True
        await asyncio.sleep(60)

    before = asyncio.all_tasks()
    await running.outside()
    await running.pump.close(PATIENCE)
    await running.outside(("a", begin()))
    await running.over("a")

    assert not begun
    assert isinstance(running.failed["a"], asyncio.CancelledError)
    assert asyncio.all_tasks() <= before


@pytest.mark.parametrize("inner_waits", [False, True])
@pytest.mark.parametrize("outer_waits", [False, True])
async def test_a_coroutine_may_start_another_outside_of_its_task(
    running: Running, inner_waits: bool, outer_waits: bool
) -> None:
    async def inner() -> str:
        if inner_waits:
            await asyncio.sleep(0)
        return "inner"

    async def outer() -> str:
        task = asyncio.current_task()
        assert task is not None
        with OutsideTask(running.loop, task):
            running.pump.start("inner", inner())
        if outer_waits:
            await asyncio.sleep(0)
        return "outer"

    await running.outside(("outer", outer()))
    await running.over("inner", "outer")

    assert running.ended == {"inner": "inner", "outer": "outer"}
    assert running.failed == {}


async def test_who_is_told_of_an_end_and_raises_does_not_end_the_pump() -> None:
    loop, ended = asyncio.get_running_loop(), list[str]()
    loop.set_exception_handler(lambda *_: None)

    def end(key: str, _: object) -> None:
        ended.append(key)
        if key == "a":
            raise ZeroDivisionError

    pump: EagerTasks[str] = EagerTasks(
        loop, on_result=end, on_error=lambda *_: None, on_wait=lambda *_: None
    )

    async def work() -> None: ...

    pump.start("a", work())  # later: the task is not parked yet
    pump.start("b", work())
    for _ in range(5):
        await asyncio.sleep(0)
    pump.start("c", work())
    for _ in range(5):
        await asyncio.sleep(0)

    assert ended == ["a", "b", "c"]
    await pump.close(1)


async def test_a_coroutine_that_has_to_wait_for_its_turn_sees_what_its_starter_saw(
    running: Running,
) -> None:
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nobody")

    async def who() -> str:
        return name.get()

    def start_as(who_comes: str, key: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        context = contextvars.copy_context()
        context.run(name.set, who_comes)
        running.loop.call_soon(running.pump.start, key, coroutine, context=context)

    await asyncio.sleep(0)  # the pump parks its first task
    start_as("ann", "takes the task", give_later(1))
    start_as("bob", "second", who())
    start_as("cid", "third", who())
    await running.over("takes the task", "second", "third")

    assert (running.ended["second"], running.ended["third"]) == ("bob", "cid")


async def test_what_a_coroutine_has_caught_is_not_kept_while_it_waits(running: Running) -> None:
    class Large:
        pass

    kept: list[weakref.ref[Large]] = []
    goes_on = asyncio.Event()

    async def hold() -> None:
        large = Large()
        kept.append(weakref.ref(large))
        await asyncio.sleep(PATIENCE)

    async def catch() -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.001):
                await hold()
        await goes_on.wait()

    await running.outside(("it", catch()))
    while not kept:  # noqa: ASYNC110 - the coroutine brings it about
        await asyncio.sleep(0)
    await asyncio.sleep(0.05)
    left = kept[0]()
    goes_on.set()
    await running.over("it")

    assert left is None
