"""Headers that repeat what a message says."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.client.connecting import by_asgi, by_socket

from toolhaft import Context, Server

over_http = pytest.mark.parametrize("over", [by_socket, by_asgi], ids=["socket", "asgi"])


Over = Callable[..., Any]


@over_http
async def test_headers_repeat_what_a_schema_wants_repeated(over: Over) -> None:
    server = Server("s")
    schema = {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "size": {"type": "integer", "x-mcp-header": "Size"},
            "loud": {"type": "boolean", "x-mcp-header": "Loud"},
        },
    }

    @server.tool(input_schema=schema)
    def where(ctx: Context, **arguments: Any) -> dict[str, str]:
        return {name: value for name, value in ctx.headers.items() if "param" in name}

    async with over(server, "2026-07-28") as client:
        assert await client.call("where", region=" süd", size=3, loud=True) == {
            "mcp-param-region": "=?base64?IHPDvGQ=?=",
            "mcp-param-size": "3",
            "mcp-param-loud": "true",
        }
        assert await client.call("where", region="north") == {"mcp-param-region": "north"}
