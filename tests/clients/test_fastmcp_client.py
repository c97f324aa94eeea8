"""The client of the `fastmcp` package drives the demo over stdio, in every era that it offers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from mcp import MCPError
from mcp.types import PromptReference, ResourceTemplateReference
from tests.warm import OURS, warm

ROOT = Path(__file__).parents[2]
# How the client is told to connect, and the revision that has to come of it.
ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
STATELESS = [mode for mode, revision in ERAS.items() if revision == "2026-07-28"]
# The client calls methods of `mcp` that are marked as dropped by the newest revision.
OLD_METHODS = "ignore:.*(removed|deprecated) as of 2026-07-28:mcp.MCPDeprecationWarning"

every_era = pytest.mark.parametrize("mode", ERAS)


@asynccontextmanager
async def demo(mode: str, **options: Any) -> AsyncIterator[Client[StdioTransport]]:
    """The example, in a process of its own, with a client connected to it."""
    command, *words = warm(OURS, "-m", "toolhaft", "run", "examples/demo.py")
    transport = StdioTransport(command, words, cwd=str(ROOT), keep_alive=False)
    async with Client(transport, mode=mode, timeout=20, **options) as client:
        yield client


@every_era
async def test_the_client_gets_to_know_the_server(mode: str) -> None:
    async with demo(mode) as client:
        revision = client.protocol_version
        names = [tool.name for tool in await client.list_tools()]

    assert revision == ERAS[mode]
    assert names == ["add", "slow", "write_note"]


@every_era
async def test_a_call_gives_a_number_back(mode: str) -> None:
    async with demo(mode) as client:
        await client.list_tools()  # the client reads the structure by the tool's schema
        result = await client.call_tool("add", {"a": 1, "b": 2})

    assert result.content[0].text == "3"
    assert result.structured_content == (3 if mode in STATELESS else {"result": 3})


@every_era
async def test_progress_arrives_before_the_result(mode: str) -> None:
    heard: list[float] = []

    async def hear(done: float, _total: float | None, _message: str | None) -> None:
        heard.append(done)

    async with demo(mode) as client:
        result = await client.call_tool("slow", {"seconds": 0.1}, progress_handler=hear)

    assert result.content[0].text == "took 0.1 seconds"
    assert heard == [float(step) for step in range(11)]


@every_era
async def test_a_resource_and_a_template_are_read(mode: str) -> None:
    async with demo(mode) as client:
        listed = [str(resource.uri) for resource in await client.list_resources()]
        templates = [each.uri_template for each in await client.list_resource_templates()]
        [names] = await client.read_resource("notes://all")
        [note] = await client.read_resource("notes://welcome")

    assert listed == ["notes://all"]
    assert templates == ["notes://{name}"]
    assert names.text == "welcome\ntodo"
    assert note.text == "Hello from toolhaft."


@every_era
async def test_an_unknown_resource_has_the_code_of_the_revision(mode: str) -> None:
    async with demo(mode) as client:
        with pytest.raises(MCPError) as failure:
            await client.read_resource("notes://missing")

    assert failure.value.code == (-32602 if mode in STATELESS else -32002)


@every_era
async def test_a_prompt_is_listed_and_got(mode: str) -> None:
    async with demo(mode) as client:
        names = [prompt.name for prompt in await client.list_prompts()]
        got = await client.get_prompt("greet", {"name": "Ada"})

    assert names == ["greet"]
    assert [message.content.text for message in got.messages] == [
        "Write a casual greeting for Ada."
    ]


@every_era
async def test_arguments_are_completed(mode: str) -> None:
    async with demo(mode) as client:
        style = await client.complete(
            PromptReference(type="ref/prompt", name="greet"), {"name": "style", "value": "f"}
        )
        name = await client.complete(
            ResourceTemplateReference(type="ref/resource", uri="notes://{name}"),
            {"name": "name", "value": "w"},
        )

    assert style.values == ["formal"]
    assert name.values == ["welcome"]


@every_era
async def test_a_tool_that_fails_says_why(mode: str) -> None:
    async with demo(mode) as client:
        with pytest.raises(ToolError) as failure:
            await client.call_tool("write_note", {"name": "todo", "text": ""})

    assert str(failure.value) == "the note 'todo' would be empty; pass some text"


@every_era
async def test_a_call_that_times_out_harms_nobody(mode: str) -> None:
    async with demo(mode) as client:
        with pytest.raises(MCPError, match=r"[Tt]imed out"):
            await client.call_tool("slow", {"seconds": 30}, timeout=0.3)
        result = await client.call_tool("add", {"a": 1, "b": 2})

    assert result.content[0].text == "3"


@every_era
async def test_calls_run_side_by_side(mode: str) -> None:
    async with demo(mode) as client:
        slow = asyncio.ensure_future(client.call_tool("slow", {"seconds": 0.5}))
        sums = await asyncio.gather(
            *(client.call_tool("add", {"a": number, "b": 1}) for number in range(50))
        )
        was_under_way = not slow.done()
        await slow

    assert [each.content[0].text for each in sums] == [str(number + 1) for number in range(50)]
    assert was_under_way


@pytest.mark.filterwarnings(OLD_METHODS)
async def test_a_session_sets_its_log_level_and_pings() -> None:
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(f"{message.level}: {message.data}")

    async with demo("legacy", log_handler=hear) as client:
        await client.set_logging_level("warning")
        await client.call_tool("slow", {"seconds": 0})
        await client.set_logging_level("info")
        await client.call_tool("slow", {"seconds": 0})
        lives = await client.ping()

    assert lives
    assert heard == ["info: slept 0.0 seconds"]


@pytest.mark.filterwarnings(OLD_METHODS)
async def test_a_session_subscribes_to_a_resource() -> None:
    heard: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    async def hear(message: Any) -> None:
        await heard.put((message.method, str(message.params.uri)))

    async with demo("legacy", message_handler=hear) as client:
        await client.session.subscribe_resource("notes://todo")
        await client.call_tool("write_note", {"name": "todo", "text": "Rest."})
        first = await asyncio.wait_for(heard.get(), 10)

    assert first == ("notifications/resources/updated", "notes://todo")
