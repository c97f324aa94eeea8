"""Dependencies and headers: what they may be, and what they fill in."""

from typing import Annotated

import pytest
from tests.asking import OLD
from tests.calls.callers import add, asked, asked_for, caller_of, text_in

from toolhaft import Context, Depends, Header, Server
from toolhaft.protocol.calls import Exchange, Next, Result
from toolhaft.testing import Client

KINDS = ["tool", "resource", "prompt"]


every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def server() -> Server:
    return Server("tested", version="1", errors="show")


async def _tenant(exchange: Exchange, call: Next) -> Result:
    exchange.headers = {"x-tenant": "acme", "x-count": "5", "x-bad": "five"}
    return await call(exchange)


@pytest.fixture
def over_http() -> Server:
    """A server that sees headers, as it does over HTTP."""
    return Server("tested", version="1", middleware=[_tenant], errors="show")


async def test_headers_fill_parameters_of_functions_and_dependencies(over_http: Server) -> None:
    async def count(n: Annotated[int, Header("X-Count")]) -> int:
        return n + 1

    @over_http.tool
    def it(
        ctx: Context,
        tenant: Annotated[str, Header("X-Tenant")],
        missing: Annotated[str, Header("X-Missing")] = "default",
        n: int = Depends(count),
    ) -> str:
        return f"{tenant} {missing} {n} {ctx.headers['x-tenant']}"

    async with caller_of(over_http) as client:
        client.request(1, "tools/list", {})
        [listed] = (await client.answer(1))["result"]["tools"]
        answer = await client.ask(2)

    assert text_in(answer) == "acme default 6 acme"
    assert listed["inputSchema"]["properties"] == {}


async def test_a_header_that_does_not_fit_is_named(over_http: Server) -> None:
    @over_http.tool
    def it(n: Annotated[int, Header("X-Bad")]) -> int:
        return n

    async with Client(over_http, OLD) as client:
        answer = await asked(client)

    assert answer["error"]["code"] == -32602
    assert "X-Bad" in answer["error"]["message"]


async def test_a_header_may_be_a_default(over_http: Server) -> None:
    @over_http.tool
    def it(n: int = Header("x-COUNT")) -> int:  # type: ignore[assignment]
        return n

    async with Client(over_http, OLD) as client:
        answer = await asked(client)

    assert answer["result"]["structuredContent"] == {"result": 5}


@every_kind
async def test_a_header_that_is_needed_and_not_there_is_named(server: Server, kind: str) -> None:
    def it(tenant: Annotated[str, Header("X-Tenant")]) -> str:
        return tenant

    add(server, kind, it)

    async with Client(server, OLD) as client:
        answer = await asked_for(client, kind)

    assert answer["error"]["code"] == -32602
    assert "X-Tenant" in answer["error"]["message"]


async def test_without_http_there_are_no_headers(server: Server) -> None:
    @server.tool
    def it(ctx: Context, tenant: Annotated[str | None, Header("X-Tenant")] = None) -> str:
        return f"{dict(ctx.headers)} {tenant}"

    async with Client(server, OLD) as client:
        answer = await asked(client)

    assert text_in(answer) == "{} None"
