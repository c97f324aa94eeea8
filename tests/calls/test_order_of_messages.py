"""Nothing is sent for a call after its answer, whichever threads report for it."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.calls.callers import Caller
from tests.calls.test_call import PATIENCE
from tests.processes.process import request
from tests.robustness.doors import DOORS, TOOLS, Http
from tests.transports.http.servers.web import META

from toolhaft import Context, Server
from toolhaft.calls.output import Sink
from toolhaft.calls.service import connected


class Slow:
    """Takes a notification only when an answer has overtaken it, or if none does for a while."""

    def __init__(self, taken: Callable[[bytes], None]) -> None:
        self._taken = taken
        self.sending = threading.Event()
        self._answered = threading.Event()

    def __call__(self, frame: bytes) -> None:
        message = json.loads(frame)
        if message.get("method", "").startswith("notifications/"):
            self.sending.set()
            self._answered.wait(0.2)
        elif message.get("id") == 1:
            self._answered.set()
        self._taken(frame)


def progress(ctx: Context) -> None:
    ctx.sync.progress(1)


def log(ctx: Context) -> None:
    ctx.sync.log("info", "still here")


@pytest.mark.parametrize("tell", [progress, log])
@pytest.mark.parametrize("end", ["returns", "raises", "is async"])
async def test_a_message_that_a_thread_is_about_to_send_goes_before_the_answer(
    tell: Callable[[Context], None], end: str
) -> None:
    server = Server("s", version="1.0.0")
    threads: list[threading.Thread] = []
    clients: list[Caller] = []
    slow = Slow(lambda frame: clients[0].heard(frame))

    def report(ctx: Context) -> None:
        threads.append(threading.Thread(target=tell, args=(ctx,)))
        threads[0].start()
        assert slow.sending.wait(PATIENCE)

    def it(ctx: Context) -> str:
        report(ctx)
        if end == "raises":
            raise ValueError
        return "done"

    async def it_async(ctx: Context) -> str:
        report(ctx)
        return "done"

    server.add_tool(it_async if end == "is async" else it, name="it")
    async with connected(server, Sink(slow)) as connection:
        clients.append(client := Caller(connection))
        info = {"name": "test", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        client.request("init", "initialize", params)
        await client.answer("init")
        client.send({"method": "notifications/initialized"})
        client.call(1, token="t")
        await client.answer(1)
        await asyncio.to_thread(threads[0].join, PATIENCE)
        await client.is_alive()

    told = [message.get("method", message.get("id")) for message in client.messages]
    assert told[1:] in (
        ["notifications/progress", 1, "alive"],
        ["notifications/message", 1, "alive"],
    )


REPORTING = """
@server.tool
def busy(ctx: Context) -> str:
    begun = threading.Barrier(5)

    def report(start: int) -> None:
        begun.wait()
        for done in range(start, 400, 4):
            ctx.sync.progress(done)

    for start in range(4):
        threading.Thread(target=report, args=(start,)).start()
    begun.wait()
    return "done"
"""


def call(number: int, **meta: Any) -> dict[str, Any]:
    params = {"name": "busy", "arguments": {}, "_meta": {**meta, "progressToken": number}}
    return request(number, "tools/call", params)


@pytest.mark.parametrize("way", ["stdio", "socket"])
def test_on_a_pipe_no_progress_follows_the_answer(way: str, tmp_path: Path) -> None:
    with DOORS[way](tmp_path, TOOLS + REPORTING) as door:
        for number in range(100):
            door.process.send(call(number))
            door.process.answer(number)
        door.works()
        messages = [json.loads(each) for each in bytes(door.process.wire.data).splitlines()]

    answered: set[int] = set()
    for message in messages:
        if message.get("method") == "notifications/progress":
            assert message["params"]["progressToken"] not in answered
        elif "id" in message:
            answered.add(message["id"])
    assert answered >= set(range(100))


def test_over_http_no_progress_follows_the_answer(tmp_path: Path) -> None:
    with DOORS["http"](tmp_path, TOOLS + REPORTING) as door:
        assert isinstance(door, Http)
        for number in range(100):
            answer = door.process.post(call(number, **META))
            assert answer.text == "done"  # which is in the last message
