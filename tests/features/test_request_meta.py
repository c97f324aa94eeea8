"""`ctx.meta`: what the client sent in `_meta`, for functions, dependencies and middleware."""

from typing import Annotated, Any

import pytest
from tests.asking import OLD, told
from tests.server.clients import CLIENTS, Connect

from toolhaft import Context, Depends, Server
from toolhaft.protocol.calls import Exchange, Next, Result
from toolhaft.testing import Client

every_client = pytest.mark.parametrize("connect", CLIENTS.values(), ids=CLIENTS)
SENT = {"example.com/trace": {"id": "7f", "sampled": True}, "progressToken": 3}


def traced(ctx: Context) -> str:
    """A dependency that looks at the trace."""
    return str(ctx.meta["example.com/trace"]["id"])


def serving() -> Server:
    server = Server("meta", version="1")

    @server.tool
    async def tool(ctx: Context) -> Any:
        return {"sent": dict(ctx.meta)}

    @server.tool
    def plain(trace: Annotated[str, Depends(traced)]) -> str:
        return trace

    @server.resource("meta://{name}")
    def resource(name: str, ctx: Context) -> str:
        return str(ctx.meta[name])

    @server.prompt
    def prompt(ctx: Context) -> str:
        return str(ctx.meta["progressToken"])

    return server


@every_client
async def test_a_tool_reads_all_that_the_client_sent(connect: Connect) -> None:
    async with connect(serving()) as client:
        result = await told(client, "tools/call", name="tool", arguments={}, _meta=SENT)

    sent = result["structuredContent"]["sent"]
    assert {name: sent[name] for name in SENT} == SENT


@every_client
async def test_dependencies_resources_and_prompts_read_the_same(connect: Connect) -> None:
    async with connect(serving()) as client:
        called = await told(client, "tools/call", name="plain", arguments={}, _meta=SENT)
        read = await told(client, "resources/read", uri="meta://progressToken", _meta=SENT)
        got = await told(client, "prompts/get", name="prompt", _meta=SENT)

    assert called["content"][0]["text"] == "7f"
    assert read["contents"][0]["text"] == "3"
    assert got["messages"][0]["content"]["text"] == "3"


async def test_it_is_empty_where_the_client_sent_none() -> None:
    async with Client(serving(), OLD) as client:
        result = await told(client, "tools/call", name="tool", arguments={})

    assert result["structuredContent"] == {"sent": {}}


async def test_it_is_read_only() -> None:
    server = Server("meta", version="1")

    @server.tool
    def change(ctx: Context) -> str:
        meta: Any = ctx.meta
        with pytest.raises(TypeError):
            meta["progressToken"] = 4
        return str(ctx.meta["progressToken"])

    async with Client(server) as client:
        result = await told(client, "tools/call", name="change", arguments={}, _meta=SENT)

    assert result["content"][0]["text"] == "3"


@every_client
async def test_middleware_reads_it_for_every_method(connect: Connect) -> None:
    seen: dict[str, Any] = {}

    async def watch(exchange: Exchange, call: Next) -> Result:
        seen[exchange.method] = exchange.meta.get("example.com/trace")
        return await call(exchange)

    server = Server("meta", version="1", middleware=[watch])
    server.add_tool(lambda: "done", name="tool")
    async with connect(server) as client:
        await told(client, "tools/list", _meta=SENT)
        await told(client, "tools/call", name="tool", _meta=SENT)

    assert seen["tools/list"] == seen["tools/call"] == SENT["example.com/trace"]


async def test_an_included_server_reads_it_as_well() -> None:
    outer = Server("outer", version="1")
    outer.include(serving(), "in")
    async with Client(outer) as client:
        result = await told(client, "tools/call", name="in_plain", arguments={}, _meta=SENT)

    assert result["content"][0]["text"] == "7f"
