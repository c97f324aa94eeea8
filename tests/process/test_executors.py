"""Executors that cannot run a function are refused, and those that fail to are noticed."""

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import pytest

from toolhaft import Server
from toolhaft.testing import Client, play

PATIENCE = 10


def greet() -> str:
    return "hello"


class InterpreterPoolExecutor(ThreadPoolExecutor):
    """The one of Python 3.14, which is a thread pool by its class, is known by its module."""


InterpreterPoolExecutor.__module__ = "concurrent.futures.interpreter"


@pytest.mark.parametrize("kind", [ProcessPoolExecutor, InterpreterPoolExecutor])
def test_an_executor_of_another_process_or_interpreter_is_refused(
    kind: Callable[[int], Any],
) -> None:
    server = Server("s", version="1.0.0")
    with kind(1) as pool:
        with pytest.raises(TypeError, match=r"PoolExecutor: .*run_in_executor\(pool, function"):
            server.add_tool(greet, run_on=pool)
        with pytest.raises(TypeError, match=r"PoolExecutor: .*run_in_executor\(pool, function"):
            server.attach(run_on=pool)


def test_a_coroutine_function_is_refused() -> None:
    server = Server("s", version="1.0.0")

    async def submit(function: Callable[[], None]) -> None:
        function()

    with pytest.raises(TypeError, match="is a coroutine function, which nothing would await"):
        server.add_tool(greet, run_on=submit)


async def test_what_is_said_instead_works() -> None:
    server = Server("s", version="1.0.0")
    with ProcessPoolExecutor(1) as pool:

        @server.tool
        async def far() -> str:
            return await asyncio.get_running_loop().run_in_executor(pool, greet)

        assert (await play(server, "far")).text == "hello"


async def test_a_call_that_its_executor_cancels_is_answered() -> None:
    server = Server("s", version="1.0.0")
    pool, gate = ThreadPoolExecutor(1), threading.Event()
    begun = threading.Event()

    def occupy() -> None:
        begun.set()
        gate.wait(PATIENCE)

    pool.submit(occupy)
    assert begun.wait(PATIENCE)
    submitted = threading.Event()

    class Watched:
        def submit(self, function: Callable[[], None]) -> "Future[None]":
            found = pool.submit(function)
            submitted.set()
            return found

    server.add_tool(greet, run_on=Watched())

    async def shut_down() -> None:
        await asyncio.to_thread(submitted.wait, PATIENCE)
        pool.shutdown(wait=False, cancel_futures=True)

    async with Client(server) as client:
        called, _ = await asyncio.gather(client.call_raw("greet"), shut_down())
    gate.set()

    assert called.is_error
    assert called.text == "the program did not run this: its executor has cancelled it"


async def test_a_call_whose_executor_breaks_is_answered() -> None:
    server = Server("s", version="1.0.0")

    def fails() -> None:
        raise OSError("no display")

    with ThreadPoolExecutor(1, initializer=fails) as pool:
        server.add_tool(greet, run_on=pool)
        called = await play(server, "greet")

    assert "the program did not run this: BrokenThreadPool" in called.text


async def test_an_executor_that_never_runs_anything_is_noticed_by_the_timeout() -> None:
    server = Server("s", version="1.0.0")
    nothing: queue.Queue[Callable[[], None]] = queue.Queue()
    server.add_tool(greet, run_on=nothing.put, timeout=0.05)

    assert (await play(server, "greet")).text == "tool 'greet' took longer than 0.05 s"
    nothing.get_nowait()()  # too late, and without effect
