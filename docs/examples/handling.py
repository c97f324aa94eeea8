import asyncio
import json
from typing import Any

from toolhaft import Server

server = Server("demo", version="1.0.0")


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def main() -> None:
    request: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "add",
            "arguments": {"a": 1, "b": 2},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    }
    answer = await server.handle(request)  # bytes and str are answered in kind
    print(json.dumps(answer))


if __name__ == "__main__":
    asyncio.run(main())
