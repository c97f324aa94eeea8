"""The client of the `mcp` package drives the demo over stdio, in every era that it offers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import PromptReference, ResourceTemplateReference
from tests.warm import OURS, warm

ROOT = Path(__file__).parents[2]
# How the client is told to connect, and the revision that has to come of it.
ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
STATELESS = [mode for mode, revision in ERAS.items() if revision == "2026-07-28"]
# The client marks what the newest revision has dropped; older servers are still asked for it.
OLD_METHODS = "ignore:.*(removed|deprecated) as of 2026-07-28:mcp.MCPDeprecationWarning"

every_era = pytest.mark.parametrize("mode", ERAS)


@asynccontextmanager
async def demo(mode: str, **options: Any) -> AsyncIterator[Client]:
    """The example, in a process of its own, with a client connected to it."""
    command, *words = warm(OURS, "-m", "toolhaft", "run", "examples/demo.py")
    server = StdioServerParameters(command=command, args=words, cwd=ROOT)
    async with Client(server, mode=mode, read_timeout_seconds=20, **options) as client:
        yield client


def text_of(result: Any) -> str:
    [block] = result.content
    return str(block.text)


@every_era
async def test_the_client_gets_to_know_the_server(mode: str) -> None:
    async with demo(mode) as client:
        revision = client.protocol_version
        first = await client.list_tools()

    assert revision == ERAS[mode]
    assert [tool.name for tool in first.tools] == ["add", "slow", "write_note"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])  # a pinned client asks for nothing first
async def test_the_server_says_who_it_is_and_what_it_offers(mode: str) -> None:
    async with demo(mode) as client:
        info, offers, instructions = (
            client.server_info,
            client.server_capabilities,
            client.instructions,
        )

    assert info is not None
    assert (info.name, info.version) == ("demo", "1.0.0")
    assert instructions == "Adds numbers and keeps a few notes."
    assert offers.tools is not None
    assert offers.prompts is not None
    assert offers.completions is not None
    assert offers.resources is not None
    assert offers.resources.subscribe is True


@every_era
async def test_a_call_gives_text_and_a_structure(mode: str) -> None:
    async with demo(mode) as client:
        result = await client.call_tool("add", {"a": 1, "b": 2})

    assert result.is_error is False
    assert text_of(result) == "3"
    assert result.structured_content == (3 if mode in STATELESS else {"result": 3})


@every_era
async def test_progress_arrives_before_the_result(mode: str) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total, message))

    async with demo(mode) as client:
        result = await client.call_tool("slow", {"seconds": 0.1}, progress_callback=hear)

    assert text_of(result) == "took 0.1 seconds"
    assert heard[0] == (0.0, 10.0, "step 1 of 10")
    assert [done for done, _, _ in heard] == [float(step) for step in range(11)]


@pytest.mark.filterwarnings(OLD_METHODS)
@every_era
async def test_log_messages_arrive_if_they_are_asked_for(mode: str) -> None:
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(f"{message.level}: {message.data}")

    async with demo(mode, logging_callback=hear, log_level="info") as client:
        if mode not in STATELESS:
            await client.set_logging_level("info")
        await client.call_tool("slow", {"seconds": 0})

    assert heard == ["info: slept 0.0 seconds"]


@every_era
async def test_a_resource_and_a_template_are_read(mode: str) -> None:
    async with demo(mode) as client:
        listed = [resource.uri for resource in (await client.list_resources()).resources]
        templates = (await client.list_resource_templates()).resource_templates
        [names] = (await client.read_resource("notes://all")).contents
        [note] = (await client.read_resource("notes://welcome")).contents

    assert listed == ["notes://all"]
    assert [template.uri_template for template in templates] == ["notes://{name}"]
    assert names.text == "welcome\ntodo"
    assert (note.uri, note.text) == ("notes://welcome", "Hello from toolhaft.")


@every_era
async def test_an_unknown_resource_has_the_code_of_the_revision(mode: str) -> None:
    async with demo(mode) as client:
        with pytest.raises(MCPError) as failure:
            await client.read_resource("notes://missing")

    assert failure.value.code == (-32602 if mode in STATELESS else -32002)


@every_era
async def test_a_prompt_is_listed_and_got(mode: str) -> None:
    async with demo(mode) as client:
        [listed] = (await client.list_prompts()).prompts
        got = await client.get_prompt("greet", {"name": "Ada", "style": "formal"})

    assert [(each.name, bool(each.required)) for each in listed.arguments or []] == [
        ("name", True),
        ("style", False),
    ]
    assert [message.content.text for message in got.messages] == [
        "Write a formal greeting for Ada."
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

    assert style.completion.values == ["formal"]
    assert name.completion.values == ["welcome"]


@every_era
async def test_a_tool_that_fails_says_why(mode: str) -> None:
    async with demo(mode) as client:
        result = await client.call_tool("write_note", {"name": "todo", "text": ""})

    assert result.is_error is True
    assert text_of(result) == "the note 'todo' would be empty; pass some text"


@every_era
async def test_arguments_that_do_not_fit_are_an_answer_for_the_model(mode: str) -> None:
    async with demo(mode) as client:
        result = await client.call_tool("add", {"a": "one"})

    assert result.is_error is True
    assert text_of(result).splitlines() == [
        "invalid arguments for add:",
        'a: expected an integer, got "one"',
        "b: missing",
    ]


@every_era
async def test_an_unknown_tool_is_an_error_of_the_protocol(mode: str) -> None:
    async with demo(mode) as client:
        with pytest.raises(MCPError) as failure:
            await client.call_tool("subtract", {})

    assert failure.value.code == -32602


@every_era
async def test_a_call_that_times_out_harms_nobody(mode: str) -> None:
    async with demo(mode) as client:
        with pytest.raises(MCPError, match=r"[Tt]imed out"):
            await client.call_tool("slow", {"seconds": 30}, read_timeout_seconds=0.3)
        result = await client.call_tool("add", {"a": 1, "b": 2})

    assert text_of(result) == "3"


@every_era
async def test_a_call_that_is_given_up_harms_nobody(mode: str) -> None:
    begun = asyncio.Event()

    async def hear(_done: float, _total: float | None, _message: str | None) -> None:
        begun.set()

    async with demo(mode) as client:
        call = asyncio.ensure_future(
            client.call_tool("slow", {"seconds": 30}, progress_callback=hear)
        )
        await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        result = await client.call_tool("add", {"a": 1, "b": 2})

    assert text_of(result) == "3"


@every_era
async def test_calls_run_side_by_side(mode: str) -> None:
    async with demo(mode) as client:
        slow = asyncio.ensure_future(client.call_tool("slow", {"seconds": 0.5}))
        sums = await asyncio.gather(
            *(client.call_tool("add", {"a": number, "b": 1}) for number in range(50))
        )
        was_under_way = not slow.done()
        last = await slow

    assert [text_of(each) for each in sums] == [str(number + 1) for number in range(50)]
    assert was_under_way
    assert text_of(last) == "took 0.5 seconds"


@pytest.mark.filterwarnings(OLD_METHODS)
async def test_a_session_subscribes_to_a_resource() -> None:
    heard: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    async def hear(message: Any) -> None:
        await heard.put((message.method, str(message.params.uri)))

    async with demo("legacy", message_handler=hear) as client:
        await client.subscribe_resource("notes://todo")
        await client.call_tool("write_note", {"name": "todo", "text": "Rest."})
        first = await asyncio.wait_for(heard.get(), 10)
        await client.unsubscribe_resource("notes://todo")
        await client.call_tool("write_note", {"name": "todo", "text": "Work."})
        await client.send_ping()

    assert first == ("notifications/resources/updated", "notes://todo")
    assert heard.empty()


@pytest.mark.parametrize("mode", STATELESS)
async def test_a_subscription_hears_of_its_resource_only(mode: str) -> None:
    async with demo(mode) as client:
        async with client.listen(
            resource_subscriptions=["notes://todo"], tools_list_changed=True
        ) as subscription:
            honoured = subscription.honored
            await client.call_tool("write_note", {"name": "welcome", "text": "Hello."})
            await client.call_tool("write_note", {"name": "todo", "text": "Rest."})
            async with asyncio.timeout(10):
                event = await anext(aiter(subscription))
        result = await client.call_tool("add", {"a": 1, "b": 2})

    assert honoured.resource_subscriptions == ["notes://todo"]
    assert honoured.tools_list_changed is True
    assert (type(event).__name__, event.uri) == ("ResourceUpdated", "notes://todo")
    assert text_of(result) == "3"
