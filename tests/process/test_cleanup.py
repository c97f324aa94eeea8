"""What follows the `yield` of a dependency runs to its end, whatever happens to the call."""

import asyncio
import random
import sys
import threading
from collections.abc import AsyncGenerator, Generator
from typing import Any, NamedTuple, cast

import pytest
from tests.calls.callers import Told, caller_of, failure_in
from tests.calls.test_call import PATIENCE

from toolhaft import Depends, Limits, Server
from toolhaft.calls.call import RunningCall
from toolhaft.server.lifespans import Lifespans
from toolhaft.types.wire import RequestMeta


class Driven(NamedTuple):
    """As much of a driver as a cleanup needs."""

    loop: asyncio.AbstractEventLoop
    cleanup_seconds: float
    cleaning: set[RunningCall]


@pytest.fixture
def server() -> Server:
    return Server("s", version="1.0.0", errors="show")


@pytest.fixture
async def told() -> Told:
    return Told()


def text_in(answer: dict[str, object]) -> str:
    result = answer["result"]
    assert isinstance(result, dict)
    assert not result.get("isError"), answer
    return str(result["content"][0]["text"])


@pytest.mark.parametrize("options", [{}, {"timeout": 30}, {"limit": 1}], ids=str)
@pytest.mark.parametrize("times", [1, 2])
async def test_a_cancellation_does_not_interrupt_it(
    server: Server, told: Told, options: dict[str, float], times: int
) -> None:
    released = asyncio.Event()

    async def dependency() -> AsyncGenerator[str]:
        yield "made"
        told("cleaning")
        await released.wait()
        told("cleaned")

    @server.tool(**options)  # type: ignore[call-overload,untyped-decorator]
    async def it(_: str = Depends(dependency)) -> None:
        pass

    async with caller_of(server) as client:
        client.call(1)
        assert await told.next() == "cleaning"
        for _ in range(times):
            client.cancel(1)
            await client.is_alive()
        released.set()
        assert await told.next() == "cleaned"
        assert client.answers(1) == []


async def test_a_cancellation_does_not_interrupt_what_another_one_has_begun(
    server: Server, told: Told
) -> None:
    released = asyncio.Event()

    @server.tool(timeout=0.05)
    async def it() -> None:
        told("begun")
        try:
            await asyncio.Event().wait()
        finally:
            told("cleaning")
            await released.wait()
            told("cleaned")

    async with caller_of(server) as client:
        client.call(1)
        assert await told.next() == "begun"
        assert failure_in(await client.answer(1)) == "tool 'it' took longer than 0.05 s"
        assert await told.next() == "cleaning"

    # The end of the service was the second one.
    assert not released.is_set()
    async with caller_of(server) as client:
        client.call(1)
        assert await told.next() == "begun"
        client.cancel(1)
        assert await told.next() == "cleaning"
        await asyncio.sleep(0.1)  # for longer than the timeout
        released.set()
        assert await told.next() == "cleaned"


@pytest.mark.parametrize("is_plain", [False, True])
async def test_a_timeout_neither_interrupts_it_nor_drops_the_result(
    server: Server, told: Told, is_plain: bool
) -> None:
    timeout = 0.1

    async def dependency() -> AsyncGenerator[str]:
        yield "made"
        await asyncio.sleep(3 * timeout)
        told("cleaned")

    def plain_dependency() -> Generator[str]:
        yield "made"
        threading.Event().wait(3 * timeout)
        told("cleaned")

    if is_plain:

        @server.tool(timeout=timeout)
        def it(value: str = Depends(plain_dependency)) -> str:
            return value
    else:

        @server.tool(name="it", timeout=timeout)
        async def it_async(value: str = Depends(dependency)) -> str:
            return value

    async with caller_of(server) as client:
        assert text_in(await client.ask(1)) == "made"
    assert told.all == ["cleaned"]


async def test_a_timeout_does_not_replace_what_the_function_raised(server: Server) -> None:
    async def dependency() -> AsyncGenerator[str]:
        try:
            yield "made"
        finally:
            await asyncio.sleep(0.2)

    @server.tool(timeout=0.05)
    async def it(_: str = Depends(dependency)) -> str:
        raise ValueError("wrong")

    async with caller_of(server) as client:
        assert "took longer" not in failure_in(await client.ask(1))


@pytest.mark.parametrize("is_plain", [False, True])
async def test_it_has_a_bound_of_its_own(
    told: Told, caplog: pytest.LogCaptureFixture, is_plain: bool
) -> None:
    server = Server("s", version="1.0.0", limits=Limits(cleanup_seconds=0.05))
    released = threading.Event()

    async def second() -> AsyncGenerator[str]:
        try:
            yield "made"
        finally:
            await asyncio.Event().wait()

    async def first(value: str = Depends(second)) -> AsyncGenerator[str]:
        try:
            yield value
        finally:
            await asyncio.Event().wait()

    def plain_dependency() -> Generator[str]:
        yield "made"
        released.wait(PATIENCE)

    if is_plain:

        @server.tool(timeout=0.05)
        def it(value: str = Depends(plain_dependency)) -> str:
            return value
    else:

        @server.tool(name="it", timeout=0.05)
        async def it_async(value: str = Depends(first)) -> str:
            return value

    async with caller_of(server) as client:
        answer = await client.ask(1)
        released.set()

    assert text_in(answer) == "made"
    assert "tools/call 'it': the cleanup took longer than 0.05 s" in caplog.text


async def test_its_own_timeouts_work_in_it(server: Server, told: Told) -> None:
    async def dependency() -> AsyncGenerator[str]:
        async with asyncio.TaskGroup():
            yield "made"
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            told("cleaned")

    @server.tool
    async def it(value: str = Depends(dependency)) -> str:
        return value

    async with caller_of(server) as client:
        assert text_in(await client.ask(1)) == "made"
    assert told.all == ["cleaned"]


async def test_the_end_of_the_service_does_not_interrupt_it(told: Told) -> None:
    server = Server("s", version="1.0.0", limits=Limits(finish_seconds=0.2))
    released = asyncio.Event()

    async def dependency() -> AsyncGenerator[str]:
        yield "made"
        told("cleaning")
        await released.wait()
        told("cleaned")

    @server.tool
    async def it(value: str = Depends(dependency)) -> str:
        return value

    async with caller_of(server) as client:
        client.call(1)
        assert await told.next() == "cleaning"
        # All calls are cancelled after 0.2 s, and what cleans up then gets as long again.
        asyncio.get_running_loop().call_later(0.3, released.set)

    assert told.all == ["cleaning", "cleaned"]


async def test_it_is_not_interrupted_on_the_loop_of_a_program(server: Server, told: Told) -> None:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    released = threading.Event()

    async def dependency() -> AsyncGenerator[str]:
        yield "made"
        told("cleaning")
        await asyncio.to_thread(released.wait, PATIENCE)
        told("cleaned")

    @server.tool(run_on=loop, timeout=0.1)
    async def it(value: str = Depends(dependency)) -> str:
        return value

    try:
        async with caller_of(server) as client:
            client.call(1)
            assert await told.next() == "cleaning"
            await asyncio.sleep(0.2)  # for longer than the timeout
            released.set()
            assert await told.next() == "cleaned"
            assert text_in(await client.answer(1)) == "made"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)
        loop.close()


async def test_under_mixed_load_all_that_was_opened_is_closed(server: Server) -> None:
    opened, closed = 0, 0

    async def dependency() -> AsyncGenerator[str]:
        nonlocal opened, closed
        opened += 1
        try:
            yield "made"
        finally:
            await asyncio.sleep(0.002)
            await asyncio.sleep(0.002)
            closed += 1

    @server.tool(timeout=0.01)
    async def it(seconds: float, _: str = Depends(dependency)) -> None:
        await asyncio.sleep(seconds)

    choose = random.Random(1)
    async with caller_of(server) as client:
        for number in range(300):
            client.call(number, seconds=choose.choice([0, 0.004, 0.008, 0.02]))
            if choose.random() < 0.5:
                asyncio.get_running_loop().call_later(choose.random() * 0.02, client.cancel, number)
            if choose.random() < 0.2:
                await asyncio.sleep(0.001)

    assert opened > 0
    assert closed == opened


class Stay:
    """A lifespan that takes its time to be left."""

    entered = True

    def __init__(self) -> None:
        self.leaving = asyncio.Event()
        self.may_leave = asyncio.Event()

    def join(self) -> None: ...

    async def leave(self) -> None:
        self.leaving.set()
        await self.may_leave.wait()

    async def wait(self) -> None: ...


async def test_every_lifespan_is_left_even_if_that_is_cancelled() -> None:
    first, second = Stay(), Stay()
    lifespans = Lifespans(first)
    lifespans.add(second)
    lifespans.join()
    leaving = asyncio.create_task(lifespans.leave())
    await second.leaving.wait()
    first.may_leave.set()

    leaving.cancel()

    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert first.leaving.is_set()


async def test_threads_that_clean_up_for_one_call_lose_no_record_of_each_other() -> None:
    driver = Driven(asyncio.get_running_loop(), 60.0, set())
    running = RunningCall(1, "tools/call", None, cast(Any, None), cast(Any, None), RequestMeta())
    running.driver = cast(Any, driver)
    lost: list[int] = []

    def clean_up() -> None:
        for number in range(8_000):
            cleanup = running.clean_up(b"", None)
            if running.cleanups is None or running not in driver.cleaning:
                lost.append(number)
            cleanup.end()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=clean_up) for _ in range(4)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)

    assert lost == []
    assert running.cleanups is None
    assert driver.cleaning == set()
