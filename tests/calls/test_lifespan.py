"""The author's lifespan: entered once, left once, in one task."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

import pytest
from tests.asking import handled

from toolhaft import Context, McpError, Server
from toolhaft.calls.lifespan import Lifespan
from toolhaft.testing import Client, assert_error

PATIENCE = 5


class Story:
    """A lifespan that tells what happens to it."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.tasks: list[object] = []
        self.gate = asyncio.Event()
        self.gate.set()

    @contextlib.asynccontextmanager
    async def open(self, *_server: object) -> AsyncIterator[str]:
        self.tasks.append(asyncio.current_task())
        await self.gate.wait()
        self.told.append("entered")
        try:
            yield "value"
        finally:
            self.tasks.append(asyncio.current_task())
            self.told.append("left")


async def test_it_is_entered_when_somebody_serves_and_left_when_nobody_does() -> None:
    story = Story()
    lifespan = Lifespan(story.open)

    lifespan.join()
    await asyncio.wait_for(lifespan.wait(), PATIENCE)
    value, entered = lifespan.value, lifespan.entered
    await asyncio.wait_for(lifespan.leave(), PATIENCE)

    assert (value, entered) == ("value", True)
    assert story.told == ["entered", "left"]
    assert lifespan.value is None


async def test_what_it_raises_when_it_is_left_is_logged_even_if_it_is_a_cancellation(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @contextlib.asynccontextmanager
    async def opened() -> AsyncIterator[None]:
        yield
        raise asyncio.CancelledError("mine")

    lifespan = Lifespan(opened)
    lifespan.join()
    await asyncio.wait_for(lifespan.wait(), PATIENCE)
    await asyncio.wait_for(lifespan.leave(), PATIENCE)

    assert "the lifespan failed: CancelledError('mine')" in caplog.text


async def test_it_is_not_entered_before_anybody_serves() -> None:
    story = Story()

    lifespan = Lifespan(story.open)
    await asyncio.sleep(0)

    assert lifespan.entered is False
    assert story.told == []


async def test_several_that_serve_share_one() -> None:
    story = Story()
    lifespan = Lifespan(story.open)

    lifespan.join()
    lifespan.join()
    await asyncio.wait_for(lifespan.wait(), PATIENCE)
    await lifespan.leave()
    after_the_first = list(story.told)
    await asyncio.wait_for(lifespan.leave(), PATIENCE)

    assert after_the_first == ["entered"]
    assert story.told == ["entered", "left"]


async def test_it_is_entered_and_left_in_one_task() -> None:
    story = Story()
    lifespan = Lifespan(story.open)

    async def serve() -> None:
        lifespan.join()
        await lifespan.wait()

    await asyncio.create_task(serve())
    await asyncio.create_task(lifespan.leave())

    assert story.tasks[0] is story.tasks[1]


async def test_it_can_be_entered_again() -> None:
    story = Story()
    lifespan = Lifespan(story.open)

    for _ in range(2):
        lifespan.join()
        await asyncio.wait_for(lifespan.wait(), PATIENCE)
        await asyncio.wait_for(lifespan.leave(), PATIENCE)

    assert story.told == ["entered", "left"] * 2


async def test_calls_may_not_begin_before_it_is_entered() -> None:
    story = Story()
    story.gate.clear()
    lifespan = Lifespan(story.open)

    lifespan.join()
    await asyncio.sleep(0)
    entered_before = lifespan.entered
    story.gate.set()
    await asyncio.wait_for(lifespan.wait(), PATIENCE)

    assert entered_before is False
    assert lifespan.entered is True
    await lifespan.leave()


@contextlib.asynccontextmanager
async def broken(*_server: object) -> AsyncIterator[None]:
    raise ConnectionError("no database")
    yield


async def test_a_lifespan_that_fails_is_not_entered(caplog: pytest.LogCaptureFixture) -> None:
    lifespan = Lifespan(broken)

    lifespan.join()
    with pytest.raises(ConnectionError, match="no database"):
        await asyncio.wait_for(lifespan.wait(), PATIENCE)

    # `entered` is «may calls begin?»: they may not, for there is nothing for them to work with.
    assert lifespan.entered is False
    assert "no database" in caplog.text
    await asyncio.wait_for(lifespan.leave(), PATIENCE)


async def test_a_failure_at_the_end_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    @contextlib.asynccontextmanager
    async def breaks_at_the_end() -> AsyncIterator[None]:
        yield
        raise OSError("cannot close")

    lifespan = Lifespan(breaks_at_the_end)
    lifespan.join()
    await asyncio.wait_for(lifespan.wait(), PATIENCE)

    await asyncio.wait_for(lifespan.leave(), PATIENCE)

    assert "cannot close" in caplog.text


def _server(lifespan: object) -> Server:
    server = Server("tested", version="1", lifespan=lifespan)  # type: ignore[arg-type]

    @server.tool
    async def look(ctx: Context) -> str:
        return str(ctx.lifespan)

    return server


async def test_a_tool_finds_the_value() -> None:
    async with Client(_server(Story().open)) as client:
        assert await client.call("look") == "value"


async def test_lists_are_answered_before_it_is_entered() -> None:
    story = Story()
    story.gate.clear()
    server = _server(story.open)
    listing = asyncio.create_task(handled(server, "tools/list"))
    # The answer is there; only the end of the connection has to wait for the lifespan.
    await asyncio.sleep(0)
    story.gate.set()

    answer = await asyncio.wait_for(listing, PATIENCE)

    assert answer["result"]["tools"][0]["name"] == "look"


async def test_no_tool_runs_without_its_lifespan(caplog: pytest.LogCaptureFixture) -> None:
    async with Client(_server(broken)) as client:
        with caplog.at_level(logging.CRITICAL), pytest.raises(McpError) as refused:
            await client.call("look")

    assert_error(refused.value, -32603)
    assert "no database" not in str(refused.value)
