"""Calls through included servers: where they run, how they are counted, what bounds them."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

import pytest

from toolhaft import Server
from toolhaft.testing import Client


@pytest.fixture
def program() -> Iterator[asyncio.AbstractEventLoop]:
    """The loop of a program, on a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="program")
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


async def passing(exchange: Any, call: Any) -> Any:
    """A middleware that changes nothing."""
    return await call(exchange)


@contextlib.asynccontextmanager
async def living(_: Server) -> AsyncGenerator[None]:
    """A lifespan that does nothing."""
    yield


@pytest.mark.parametrize("middleware", [(), (passing,)], ids=["bare", "middleware"])
@pytest.mark.parametrize("prefix", [None, "outer"])
async def test_run_on_holds_however_a_tool_is_reached(
    program: asyncio.AbstractEventLoop, middleware: tuple[Callable[..., Any], ...], prefix: str
) -> None:
    inner = Server("inner", middleware=middleware)

    @inner.tool(run_on=program)
    def plain() -> str:
        """Say where it runs."""
        return threading.current_thread().name

    @inner.tool(run_on=program)
    async def waits() -> str:
        """Say where it runs."""
        await asyncio.sleep(0)
        return threading.current_thread().name

    server = inner
    if prefix is not None:
        server = Server("outer")
        server.include(inner, prefix=prefix)
    names = [name if prefix is None else f"{prefix}_{name}" for name in ("plain", "waits")]
    async with Client(server) as client:
        assert [await client.call(name) for name in names] == ["program", "program"]


@pytest.mark.parametrize("lifespan", [None, living], ids=["bare", "lifespan"])
async def test_a_call_three_servers_deep_is_counted_in_each_by_its_own_name(lifespan: Any) -> None:
    git, dev, everything = Server("git", lifespan=lifespan), Server("dev"), Server("all")
    git.add_tool(lambda: "clean", name="status", description="Say it.")
    dev.include(git, prefix="git")
    everything.include(dev, prefix="dev")
    async with Client(everything) as client:
        await client.call("dev_git_status")
    async with Client(dev) as client:
        await client.call("git_status")

    assert git.metrics["tools/call:status"].calls == 2
    assert dev.metrics["tools/call:git_status"].calls == 2
    assert everything.metrics["tools/call:dev_git_status"].calls == 1
    assert everything.metrics["tools/call"].calls == 1


async def test_a_limit_holds_while_a_tool_is_changed() -> None:
    server = Server("s")
    running, most = 0, 0
    begun, go = asyncio.Event(), asyncio.Event()

    @server.tool(limit=1)
    async def work() -> str:
        """Work."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        begun.set()
        await go.wait()
        running -= 1
        return "done"

    async with Client(server) as client:
        first = asyncio.create_task(client.call("work"))
        await begun.wait()
        server.tools["work"].update(description="Work harder.")
        second = asyncio.create_task(client.call("work"))
        await asyncio.sleep(0.05)
        go.set()

        assert await asyncio.gather(first, second) == ["done", "done"]
    assert most == 1
