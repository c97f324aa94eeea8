"""The client of the `mcp` package inside a living program, through bridges, in both eras."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from tests.attaching.fixtures import Start
from tests.attaching.living import BRIDGE

ERAS = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28", "auto": "2026-07-28"}

# A program that lives on a loop of its own, and changes its state all the time.
LIVING = """
    state = {"ticks": 0, "words": []}

    @server.tool
    async def ticks() -> int:
        return state["ticks"]

    @server.tool
    async def add(word: str, ctx: Context) -> list[str]:
        words = state["words"]
        await ctx.progress(1, 2)
        await asyncio.sleep(0.01)
        words.append(word)
        await ctx.progress(2, 2)
        return words

    @server.tool
    async def name(ctx: Context) -> str:
        answer = await ctx.elicit("Your name?", str)
        state["words"].append(answer.value)
        return f"Hello {answer.value} after {state['ticks'] > 0}"

    async def main():
        async with server.attach(run_on=asyncio.get_running_loop()):
            say("attached")
            while True:
                state["ticks"] += 1
                await asyncio.sleep(0.001)

    asyncio.run(main())
"""


@contextlib.asynccontextmanager
async def bridged(mode: str, log: Path | None = None, **options: Any) -> AsyncIterator[Client]:
    """A client behind a bridge of its own."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-c", BRIDGE, "attach", "notes", "--wait=5"],
        env=dict(os.environ) | ({} if log is None else {"TOOLHAFT_LOG": str(log)}),
    )
    async with Client(server, mode=mode, read_timeout_seconds=20, **options) as client:
        yield client


def structure(result: Any) -> Any:
    found = result.structured_content
    return found["result"] if isinstance(found, dict) else found


@pytest.mark.parametrize("mode", ERAS)
async def test_two_clients_share_the_state_of_a_living_program(program: Start, mode: str) -> None:
    program(LIVING)
    heard: list[float] = []

    async def hear(done: float, total: float | None, message: str | None) -> None:
        heard.append(done)

    async def answer(context: Any, params: Any) -> Any:
        from mcp.types import ElicitResult  # noqa: PLC0415

        return ElicitResult(action="accept", content={"value": "Ada"})

    async with bridged(mode, elicitation_callback=answer) as first, bridged(mode) as second:
        revision = first.protocol_version
        before = structure(await first.call_tool("ticks", {}))
        added = await asyncio.gather(
            *(
                client.call_tool("add", {"word": word}, progress_callback=hear)
                for client, word in ((first, "a"), (second, "b"), (first, "c"), (second, "d"))
            )
        )
        words = structure(await first.call_tool("add", {"word": "e"}))
        hello = await first.call_tool("name", {})
        after = structure(await second.call_tool("ticks", {}))

    assert revision == ERAS[mode]
    assert sorted(words[:4]) == ["a", "b", "c", "d"]
    assert words[4:] == ["e"]
    assert [each.is_error for each in added] == [False] * 4
    assert sorted(heard) == [1.0] * 4 + [2.0] * 4
    assert hello.content[0].text == "Hello Ada after True"
    assert 0 < before < after


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_client_is_told_when_the_program_is_killed(program: Start, mode: str) -> None:
    """And goes on with the next one."""
    living = program(LIVING)
    async with bridged(mode) as client:
        call = asyncio.create_task(client.call_tool("nap", {"seconds": 60}))
        await asyncio.to_thread(living.hears, "napping")
        living.signal(signal.SIGKILL)
        with pytest.raises(MCPError) as failure:
            await call
        await asyncio.to_thread(program, LIVING)
        words = structure(await client.call_tool("add", {"word": "again"}))

    assert failure.value.code == -32603
    assert failure.value.message == (
        f"the process 'notes' (pid {living.pid}) has ended before it answered"
    )
    assert words == ["again"]
