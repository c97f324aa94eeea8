"""How long one request keeps a server from everything else, and how much memory it takes.

A pause is the CPU time that the process spends between two turns of its event loop: with the GIL
held by a thread, that is time in which no other client is served. CPU time is the same on a machine
that has other things to do.
"""

import asyncio
import gc
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

from tests.transports.http.asgi import ENVELOPE, Answer, Client, SessionClient, encoded, mirrored

from toolhaft import Server

MIB = 1024 * 1024
# The default of `Limits.message_bytes`, less what the envelope takes.
FULL = 4 * MIB - 4096


class Cost(NamedTuple):
    """What one request has cost."""

    pause: float
    memory: int
    answer: Answer

    @property
    def told(self) -> Any:
        """The answer as a message, which may have come as the last one of a stream."""
        return self.answer.messages[-1] if self.answer.is_stream else self.answer.json

    @property
    def is_refused(self) -> bool:
        return "error" in self.told or bool(self.told["result"].get("isError"))

    @property
    def words(self) -> str:
        """What the client is told."""
        told = self.told
        if "error" in told:
            return str(told["error"]["message"])
        return str(told["result"]["content"][0]["text"]) if told["result"]["content"] else ""


class _Heartbeat:
    """Takes every turn of the loop that it can get."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        last = time.process_time()
        while True:
            await asyncio.sleep(0)
            now = time.process_time()
            self.longest = max(self.longest, now - last)
            last = now


def body_of(method: str, params: bytes) -> bytes:
    """A request whose parameters, without the last brace, are given as text."""
    meta = encoded(ENVELOPE)
    text = b'{"jsonrpc":"2.0","id":1,"method":"%b","params":%b,"_meta":%b}}'
    return text % (method.encode(), params, meta)


async def cost_of(server: Server, method: str, params: bytes, name: str = "") -> Cost:
    """Send one request over HTTP, in memory, to a loop that has other things to do."""
    client = Client(server.asgi())
    headers = mirrored(method, {"name": name, "uri": name})
    await _posted(client, "tools/list", b'{"cursor":null', mirrored("tools/list", {}))
    body = body_of(method, params)
    gc.collect()
    before = _peak(reset=True)
    heartbeat = _Heartbeat()
    beating = asyncio.ensure_future(heartbeat.run())
    try:
        answer = await client.open("POST", body, **headers).answer()
        await asyncio.sleep(0)  # so that the last pause is counted as well
    finally:
        beating.cancel()
    return Cost(heartbeat.longest, _peak() - before, answer)


async def cost_of_call(server: Server, name: str, arguments: bytes) -> Cost:
    """The same for a call of a tool, whose arguments are given as text."""
    params = b'{"name":"%b","arguments":%b' % (name.encode(), arguments)
    return await cost_of(server, "tools/call", params, name)


async def pause_for_batch(server: Server, calls: list[Any]) -> float:
    """The longest pause while a batch of messages is answered."""
    client = SessionClient(server.asgi())
    await client.shake("2025-03-26")
    await client.tell("notifications/initialized")
    heartbeat = _Heartbeat()
    beating = asyncio.ensure_future(heartbeat.run())
    try:
        answer = await client.open("POST", calls, **client.own).answer()
        await asyncio.sleep(0)
    finally:
        beating.cancel()
    assert len(answer.json) == len(calls)
    return heartbeat.longest


async def _posted(client: Client, method: str, params: bytes, headers: dict[str, str]) -> Answer:
    return await client.post(body_of(method, params), **headers)


def _peak(*, reset: bool = False) -> int:
    """The most memory that this process has had since the last reset, in bytes."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    match = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert match is not None
    return int(match[1]) * 1024
