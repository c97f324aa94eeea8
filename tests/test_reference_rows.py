"""Rows of `docs/reference-systems.md` that say what is sent, as it is sent."""

from typing import Any

import pytest
from tests.asking import NEW, OLD

from toolhaft import McpError, Result, Server
from toolhaft.testing import Client

SERVER = Server("rows", version="1")


@SERVER.tool
def nothing() -> None: ...


@SERVER.tool
def failed() -> Result:
    return Result(["bad"], error=True)


@SERVER.tool
def number(n: int) -> int:
    return n


@SERVER.resource("x://{name}.txt")
def text(name: str) -> str:
    return name


@SERVER.prompt
def ask() -> str:
    return "?"


@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_no_inputs_are_an_empty_object_that_takes_nothing_else(revision: str) -> None:
    """L-22, L-18 and B-8: and what was not given is not made up."""
    async with Client(SERVER, revision=revision) as client:
        result = await client.request("tools/list")

    tool = result["tools"][0]
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    assert tool == {"name": "nothing", "inputSchema": schema}


@pytest.mark.parametrize("method", ["tools/list", "resources/list", "prompts/list"])
async def test_what_a_server_never_had_it_does_not_list(method: str) -> None:
    """L-46, L-50."""
    async with Client(Server("empty", version="1")) as client:
        with pytest.raises(McpError) as refused:
            await client.request(method)
        assert client.capabilities.keys() & {"tools", "resources", "prompts"} == set()

    assert refused.value.code == -32601


async def test_the_result_of_nothing_has_no_content() -> None:
    """L-25."""
    async with Client(SERVER) as client:
        assert (await client.call_raw("nothing")).content == []
        assert (await client.call_raw("failed")).is_error  # L-26


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "none", "arguments": {}}),  # L-30, B-12
        ("tools/call", {"arguments": {}}),  # L-31
        ("prompts/get", {"name": "none"}),  # L-46
        ("resources/read", {"uri": "x://a/b.txt"}),  # L-49, E-37
    ],
)
async def test_what_is_not_there_is_an_invalid_parameter(
    method: str, params: dict[str, Any]
) -> None:
    async with Client(SERVER) as client:
        with pytest.raises(McpError) as refused:
            await client.request(method, params)

    assert refused.value.code == -32602
