"""The clients of the `mcp` and `fastmcp` packages drive the demo over HTTP, in every era."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import fastmcp
import mcp
import pytest
from mcp.types import PromptReference, ResourceTemplateReference
from tests.transports.http.servers.web import HERE, Site

ROOT = Path(__file__).parents[4]
# How a client is told to connect, and the revision that has to come of it.
ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
STATELESS = [mode for mode, revision in ERAS.items() if revision == "2026-07-28"]
# The clients mark what the newest revision has dropped; older servers are still asked for it.
OLD_METHODS = "ignore:.*(removed|deprecated) as of 2026-07-28:mcp.MCPDeprecationWarning"

every_era = pytest.mark.parametrize("mode", ERAS)
every_client = pytest.mark.parametrize("package", ["mcp", "fastmcp"])
stateless = pytest.mark.parametrize("mode", STATELESS)


@contextmanager
def served(sessions: str) -> Iterator[str]:
    """Where the example is served."""
    command = [
        sys.executable, "-m", "toolhaft", "run", "examples/demo.py", "--http", f"{HERE}:0",
        "--sessions", sessions,
    ]  # fmt: skip
    with Site(command, cwd=ROOT) as site:
        site.is_served()
        yield f"http://{HERE}:{site.port}/mcp"
        assert "Traceback" not in site.stderr


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where the example is served as it is by default."""
    with served("auto") as where:
        yield where


@pytest.fixture(scope="module", params=["stateful", "stateless"])
def url_of_mode(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where the example is served in another mode of sessions."""
    with served(request.param) as where:
        yield where


class Client:
    """What both clients can do, by the same names."""

    def __init__(self, client: Any) -> None:
        self.real = client

    @property
    def revision(self) -> str:
        """What was agreed on."""
        return str(self.real.protocol_version)

    async def tools(self) -> list[str]:
        """The names of the tools."""
        found = await self.real.list_tools()
        return [tool.name for tool in getattr(found, "tools", found)]

    async def call(self, name: str, arguments: dict[str, Any], **options: Any) -> str:
        """The text of a tool's result."""
        result = await self.real.call_tool(name, arguments, **options)
        return str(result.content[0].text)

    async def read(self, uri: str) -> str:
        """The text of a resource."""
        found = await self.real.read_resource(uri)
        return str(getattr(found, "contents", found)[0].text)

    async def prompts(self) -> list[str]:
        """The names of the prompts."""
        found = await self.real.list_prompts()
        return [prompt.name for prompt in getattr(found, "prompts", found)]

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        """The text of a prompt."""
        return str((await self.real.get_prompt(name, arguments)).messages[0].content.text)

    async def complete(self, reference: Any, name: str, value: str) -> list[str]:
        """What an argument may be."""
        found = await self.real.complete(reference, {"name": name, "value": value})
        return list(getattr(found, "completion", found).values)

    @property
    def hearing(self) -> str:
        """The keyword by which progress is heard."""
        return "progress_callback" if isinstance(self.real, mcp.Client) else "progress_handler"


@asynccontextmanager
async def connected(package: str, url: str, mode: str, **options: Any) -> AsyncIterator[Client]:
    """A client of a package, connected."""
    if package == "mcp":
        real: Any = mcp.Client(url, mode=mode, read_timeout_seconds=20, **options)
    else:
        real = fastmcp.Client(url, mode=mode, timeout=20, **options)
    async with real as client:
        yield Client(client)


@every_client
@every_era
async def test_the_client_gets_to_know_the_server(package: str, url: str, mode: str) -> None:
    async with connected(package, url, mode) as client:
        assert client.revision == ERAS[mode]
        assert await client.tools() == ["add", "slow", "write_note"]


@every_client
async def test_the_mode_of_sessions_makes_no_difference_to_who_calls_and_reads(
    package: str, url_of_mode: str
) -> None:
    heard: list[float] = []

    async def hear(done: float, _total: float | None, _message: str | None) -> None:
        heard.append(done)

    async with connected(package, url_of_mode, "legacy") as client:
        assert await client.tools() == ["add", "slow", "write_note"]
        assert await client.call("add", {"a": 1, "b": 2}) == "3"
        assert await client.read("notes://welcome") == "Hello from toolhaft."
        assert await client.prompt("greet", {"name": "Ada"}) == "Write a casual greeting for Ada."
        await client.call("slow", {"seconds": 0.1}, **{client.hearing: hear})

    assert heard == [float(step) for step in range(11)]


@every_client
async def test_a_client_of_both_eras_begins_a_session_where_one_is_needed(package: str) -> None:
    with served("stateful") as url:
        async with connected(package, url, "auto") as client:
            assert client.revision == "2025-11-25"
            assert await client.call("add", {"a": 1, "b": 2}) == "3"


@every_client
@every_era
async def test_a_tool_is_called(package: str, url: str, mode: str) -> None:
    async with connected(package, url, mode) as client:
        assert await client.call("add", {"a": 1, "b": 2}) == "3"


@every_client
@every_era
async def test_resources_are_read(package: str, url: str, mode: str) -> None:
    async with connected(package, url, mode) as client:
        names = await client.read("notes://all")
        note = await client.read("notes://welcome")

    assert "welcome" in names.splitlines()
    assert note == "Hello from toolhaft."


@every_client
@every_era
async def test_an_unknown_resource_has_the_code_of_the_revision(
    package: str, url: str, mode: str
) -> None:
    async with connected(package, url, mode) as client:
        with pytest.raises(mcp.MCPError) as failure:
            await client.read("notes://missing")

    assert failure.value.code == (-32602 if mode in STATELESS else -32002)


@every_client
@every_era
async def test_a_prompt_is_listed_and_got(package: str, url: str, mode: str) -> None:
    async with connected(package, url, mode) as client:
        listed = await client.prompts()
        got = await client.prompt("greet", {"name": "Ada", "style": "formal"})

    assert listed == ["greet"]
    assert got == "Write a formal greeting for Ada."


@every_client
@every_era
async def test_arguments_are_completed(package: str, url: str, mode: str) -> None:
    style = PromptReference(type="ref/prompt", name="greet")
    name = ResourceTemplateReference(type="ref/resource", uri="notes://{name}")

    async with connected(package, url, mode) as client:
        assert await client.complete(style, "style", "f") == ["formal"]
        assert await client.complete(name, "name", "w") == ["welcome"]


@every_client
@every_era
async def test_progress_arrives_before_the_result(package: str, url: str, mode: str) -> None:
    heard: list[float] = []

    async def hear(done: float, _total: float | None, _message: str | None) -> None:
        heard.append(done)

    async with connected(package, url, mode) as client:
        text = await client.call("slow", {"seconds": 0.1}, **{client.hearing: hear})

    assert text == "took 0.1 seconds"
    assert heard == [float(step) for step in range(11)]


@every_client
@every_era
async def test_a_name_that_no_header_can_hold_is_read_all_the_same(
    package: str, url: str, mode: str
) -> None:
    async with connected(package, url, mode) as client:
        await client.call("write_note", {"name": "größe", "text": "ß"})

        assert await client.read("notes://größe") == "ß"


@every_client
@every_era
async def test_calls_run_side_by_side(package: str, url: str, mode: str) -> None:
    async with connected(package, url, mode) as client:
        slow = asyncio.ensure_future(client.call("slow", {"seconds": 2.0}))
        sums = await asyncio.gather(
            *(client.call("add", {"a": number, "b": 1}) for number in range(20))
        )
        was_under_way = not slow.done()
        last = await slow

    assert sums == [str(number + 1) for number in range(20)]
    assert was_under_way
    assert last == "took 2.0 seconds"


@every_client
@every_era
async def test_a_call_that_times_out_harms_nobody(package: str, url: str, mode: str) -> None:
    within = "read_timeout_seconds" if package == "mcp" else "timeout"
    async with connected(package, url, mode) as client:
        with pytest.raises(mcp.MCPError, match=r"[Tt]imed out"):
            await client.call("slow", {"seconds": 30}, **{within: 0.3})

        assert await client.call("add", {"a": 1, "b": 2}) == "3"


@every_client
@every_era
async def test_a_tool_that_fails_says_why(package: str, url: str, mode: str) -> None:
    quietly = {} if package == "mcp" else {"raise_on_error": False}
    async with connected(package, url, mode) as client:
        text = await client.call("write_note", {"name": "x", "text": ""}, **quietly)

    assert text == "the note 'x' would be empty; pass some text"


@every_client
@every_era
async def test_a_call_that_is_given_up_harms_nobody(package: str, url: str, mode: str) -> None:
    begun = asyncio.Event()

    async def hear(*_: Any) -> None:
        begun.set()

    async with connected(package, url, mode) as client:
        call = asyncio.ensure_future(client.call("slow", {"seconds": 30}, **{client.hearing: hear}))
        await asyncio.wait_for(begun.wait(), 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        assert await client.call("add", {"a": 1, "b": 2}) == "3"


@pytest.mark.filterwarnings(OLD_METHODS)
@every_client
async def test_a_session_hears_of_a_resource_that_it_follows(package: str, url: str) -> None:
    heard: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    async def hear(message: Any) -> None:
        await heard.put((message.method, str(message.params.uri)))

    async with connected(package, url, "legacy", message_handler=hear) as client:
        follows = client.real if package == "mcp" else client.real.session
        await follows.subscribe_resource("notes://todo")
        await client.call("write_note", {"name": "todo", "text": "Rest."})
        first = await asyncio.wait_for(heard.get(), 10)

    assert first == ("notifications/resources/updated", "notes://todo")


@stateless
async def test_a_subscription_hears_of_its_resource_only(url: str, mode: str) -> None:
    async with connected("mcp", url, mode) as client:
        async with client.real.listen(
            resource_subscriptions=["notes://todo"], tools_list_changed=True
        ) as subscription:
            await client.call("write_note", {"name": "welcome", "text": "Hello from toolhaft."})
            await client.call("write_note", {"name": "todo", "text": "Rest."})
            async with asyncio.timeout(10):
                event = await anext(aiter(subscription))

        assert (type(event).__name__, event.uri) == ("ResourceUpdated", "notes://todo")
        assert await client.call("add", {"a": 1, "b": 2}) == "3"
