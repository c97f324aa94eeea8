"""How the tests of metrics talk to a server."""

from typing import Any

from toolhaft import Server

Json = dict[str, Any]
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}


async def ask(server: Server, method: str, **params: Any) -> Json:
    """The whole answer to one request."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": META, **params}}
    answer = await server.handle(message)
    assert answer is not None
    return answer


async def call(server: Server, name: str, **arguments: Any) -> Json:
    """The answer to a call of a tool."""
    return await ask(server, "tools/call", name=name, arguments=arguments)
