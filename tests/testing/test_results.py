"""What a server has answered, as values of types."""

import pytest
from tests.testing.offering import PIXEL, REVISIONS, Log, make

from toolhaft import McpError, Server
from toolhaft.testing import (
    Client,
    ToolFailed,
)
from toolhaft.types.content import ImageContent, TextContent

every_revision = pytest.mark.parametrize("revision", REVISIONS)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def server(log: Log) -> Server:
    return make(log)


@pytest.mark.parametrize("revision", REVISIONS[:3])
async def test_a_call_returns_what_the_tool_returned(server: Server, revision: str) -> None:
    async with Client(server, revision) as client:
        assert await client.call("add", a=1, b=2) == 3
        assert await client.call("add", {"a": 1}, b=2) == 3
        assert await client.call("point", {"x": 1, "y": 2}) == {"x": 1, "y": 2}
        assert await client.call("wrapped") == {"result": 7}
        assert await client.call("words", text='{"result": 7}') == '{"result": 7}'
        assert await client.call("nothing") is None
        assert await client.call("picture") == ImageContent(PIXEL, "image/png")
        assert await client.call("several") == ["one", ImageContent(PIXEL, "image/png")]


@pytest.mark.parametrize("revision", REVISIONS[3:])
async def test_before_structured_content_a_call_returns_text(server: Server, revision: str) -> None:
    async with Client(server, revision) as client:
        assert await client.call("add", a=1, b=2) == "3"


@every_revision
async def test_a_tool_that_fails_fails_the_test(server: Server, revision: str) -> None:
    async with Client(server, revision) as client:
        with pytest.raises(ToolFailed, match=r"^fails: no luck today$") as failure:
            await client.call("fails")
        whole = await client.call_raw("fails")

    assert failure.value.result == whole
    assert (whole.is_error, whole.text) == (True, "no luck today")


async def test_call_raw_gives_all_of_the_answer(server: Server) -> None:
    async with Client(server) as client:
        result = await client.call_raw("add", {"a": 1, "b": 2})

    assert (result.content, result.structured, result.is_error) == ([TextContent("3")], 3, False)


@every_revision
async def test_resources_are_read(server: Server, revision: str) -> None:
    async with Client(server, revision) as client:
        assert await client.read("notes://all") == "milk"
        assert await client.read("notes://eggs") == "about eggs"
        assert await client.read("blob://one") == b"\x00\xff"
        [contents] = await client.read_raw("notes://all")
        with pytest.raises(McpError, match="it is gone"):
            await client.read("notes://gone")

    assert (contents.uri, contents.mime_type) == ("notes://all", "text/plain")


@every_revision
async def test_prompts_are_written_and_completed(server: Server, revision: str) -> None:
    async with Client(server, revision) as client:
        answer = await client.prompt("review", code="x = 1")
        completed = await client.complete("greet", "mood", "h")
        given = await client.complete("review", "style", "", {"code": "x"})

    assert answer.texts == [("user", "Review x = 1, brief."), ("assistant", "Gladly.")]
    assert completed.values == ["happy"]
    assert given.values == ["brief", "long"]
