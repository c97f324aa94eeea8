"""The pages for those who come from elsewhere: before and after give a real client the same."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import ElicitResult
from tests.warm import OURS, THEIRS, warm

MIGRATION = Path(__file__).parents[1] / "docs/examples/migration"
MODES = {"handshake": "legacy", "stateless": "auto"}
every_era = pytest.mark.parametrize("era", MODES)


async def agree(_: Any, params: Any) -> ElicitResult:
    """A user who says yes to everything."""
    [field] = params.requested_schema["properties"]
    return ElicitResult(action="accept", content={field: True})


@asynccontextmanager
async def served(name: str, era: str) -> AsyncIterator[Client]:
    packages = THEIRS if name.endswith("_before") else OURS
    command, *words = warm(packages, str(MIGRATION / f"{name}.py"))
    server = StdioServerParameters(command=command, args=words)
    async with Client(server, mode=MODES[era], elicitation_callback=agree) as client:
        yield client


async def text(client: Client, tool: str, **arguments: Any) -> str:
    [block] = (await client.call_tool(tool, arguments)).content
    return str(block.text).removeprefix(f"Error executing tool {tool}: ")


async def found(client: Client) -> Any:
    value = (await client.call_tool("find", {"word": "a", "limit": 2})).structured_content
    return value["result"] if isinstance(value, dict) else value


async def is_refused(client: Client, tool: str, **arguments: Any) -> bool:
    return bool((await client.call_tool(tool, arguments)).is_error)


async def library(name: str, era: str) -> list[Any]:
    """What a server of the page from-mcp.md answers."""
    async with served(name, era) as client:
        return [
            sorted(tool.name for tool in (await client.list_tools()).tools),
            await found(client),
            await is_refused(client, "find", word="a", limit=0),
            await text(client, "remove", number="1"),
            await text(client, "remove", number="1"),
            (await client.read_resource("book://2")).contents[0].text,
            (await client.get_prompt("review", {"title": "Emma"})).messages[0].content.text,
        ]


@every_era
async def test_coming_from_mcp(era: str) -> None:
    answers = await library("from_mcp_after", era)

    assert answers == [
        ["find", "remove"],
        ["Emma", "Persuasion"],
        True,
        "removed Emma",
        "there is no book 1",
        "Persuasion",
        "Write a review of Emma.",
    ]
    assert await library("from_mcp_before", era) == answers


async def lending(name: str, era: str) -> list[Any]:
    """What a server of the page from-fastmcp.md answers."""
    async with served(name, era) as client:
        return [
            sorted(tool.name for tool in (await client.list_tools()).tools),
            await found(client),
            await is_refused(client, "find", word="a", limit=0),
            await text(client, "loans_lend", number="2"),
            await text(client, "remove", number="7"),
            await text(client, "remove", number="1"),
        ]


@every_era
async def test_coming_from_fastmcp(era: str) -> None:
    answers = await lending("from_fastmcp_after", era)
    *same, removed = await lending("from_fastmcp_before", era)

    assert answers == [
        ["find", "loans_lend", "remove"],
        ["Emma", "Persuasion"],
        True,
        "lent Persuasion",
        "there is no book 7",
        "removed Emma",
    ]
    assert same == answers[:-1]
    if era == "handshake":
        assert removed == "removed Emma"
    else:  # as the page says
        assert "unavailable on 2026-07-28" in removed


@every_era
async def test_an_unknown_tool_is_an_error_that_names_those_there_are(era: str) -> None:
    async with served("from_mcp_after", era) as client:
        with pytest.raises(MCPError, match="there are find, remove"):
            await client.call_tool("nope", {})
