"""The tool that blocks the event loop is named."""

import time

import pytest
from tests.processes.fixtures import Serve
from tests.processes.process import tool_call


@pytest.mark.parametrize("after_a_wait", [False, True])
def test_the_tool_that_holds_up_the_loop_is_named_and_no_other(
    serve: Serve, after_a_wait: bool
) -> None:
    server = serve(
        f"""
        @server.tool
        async def waits() -> str:
            await asyncio.sleep(0.01)
            return "waited"

        @server.tool
        async def blocks() -> str:
            if {after_a_wait}:
                await asyncio.sleep(0)
            say("blocks now")
            time.sleep(1)
            return "blocked"

        @server.tool
        async def innocent() -> str:
            return "done"
        """
    )
    # In one go: the second and the third cannot begin where they come.
    server.send(tool_call(1, "waits"), tool_call(2, "blocks"), tool_call(3, "innocent"))
    server.hears("blocks now")
    server.send(tool_call(4, "innocent"))
    server.hears("holds up the event loop")

    assert "tools/call 'blocks' holds up" in server.stderr


BLOCKING = """
@server.tool
async def one() -> str:
    say("one now")
    time.sleep(1)
    return "one"

@server.tool
async def two() -> str:
    say("two now")
    time.sleep(1)
    return "two"

@server.tool(timeout=30)
async def bounded() -> str:
    await asyncio.sleep(0.05)
    say("bounded now")
    time.sleep(1)
    return "bounded"

@server.tool
async def innocent() -> str:
    return "done"

left_behind = []

@server.tool
async def leaves_a_task() -> str:
    async def block() -> None:
        await asyncio.sleep(0.2)
        say("left behind now")
        time.sleep(1)

    left_behind.append(asyncio.create_task(block()))
    return "left"
"""


def test_a_tool_that_came_while_the_loop_was_held_up_is_named_if_it_does_so_too(
    serve: Serve,
) -> None:
    server = serve(BLOCKING)
    server.call(1, "one")
    server.hears("one now")
    server.call(2, "two")
    server.hears("tools/call 'one' holds up")  # so the watch has read the second
    server.hears("two now")
    time.sleep(0.1)  # until the watch has left the reading to the loop again
    server.call(3, "innocent")

    server.hears("tools/call 'two' holds up")


def test_a_tool_with_a_time_limit_is_named_if_it_holds_up_the_loop(serve: Serve) -> None:
    server = serve(BLOCKING)
    server.send(tool_call(1, "bounded"), tool_call(2, "innocent"))
    server.hears("bounded now")
    server.call(3, "innocent")

    server.hears("tools/call 'bounded' holds up")


def test_nobody_is_named_for_a_task_that_was_left_behind(serve: Serve) -> None:
    server = serve(BLOCKING)
    server.call(1, "leaves_a_task")
    server.answer(1)
    server.call(2, "innocent")
    server.answer(2)
    server.hears("left behind now")
    server.call(3, "innocent")

    server.hears("code outside of any call holds up the event loop")
