"""Servers that say what a script says, and clients of them."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from toolhaft import Server
from toolhaft.client.conversation import Conversation
from toolhaft.client.transport import Hear, Lost, OneStream

Json = dict[str, Any]


class Scripted(OneStream):
    """A server that is a function: from a message to what it sends back."""

    def __init__(self, answer: Callable[[Json], list[Any]]) -> None:
        self._answer = answer

    async def open(self, hear: Hear, lost: Lost) -> None:
        self.hear, self.lost = hear, lost

    async def send(self, frame: bytes, message: Any) -> None:
        for each in self._answer(message):
            asyncio.get_running_loop().call_soon(self.hear, json.dumps(each).encode())

    async def close(self) -> None: ...


def result(message: Json, **members: Any) -> Json:
    return {"jsonrpc": "2.0", "id": message["id"], "result": members}


def opened(message: Json) -> list[Json]:
    if message.get("method") != "initialize":
        return []
    info = {"name": "scripted", "version": "1"}
    version = message["params"]["protocolVersion"]
    return [result(message, protocolVersion=version, capabilities={}, serverInfo=info)]


def talking(answer: Callable[[Json], list[Any]], timeout: float = 5) -> Conversation:
    info = {"name": "test", "version": "1"}
    return Conversation(Scripted(answer), revision="2025-11-25", info=info, timeout=timeout)


def adding() -> Server:
    server = Server("adding", version="1")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    return server
