"""The stack from the wire to a tool: each frame is one that an engineer who debugs has to read."""

import contextlib
import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.processes.process import PATIENCE

SERVER = '''
import asyncio, os, sys, traceback, toolhaft
from toolhaft import Server

server = Server("frames", version="1")
SOURCE = os.path.dirname(toolhaft.__file__)


def frames() -> int:
    return sum(frame.filename.startswith(SOURCE) for frame in traceback.extract_stack())


@server.tool
async def depth() -> int:
    """The frames of this call: all of them, less those below any callback of the loop."""
    here, loop = frames(), asyncio.get_running_loop()
    below = loop.create_future()
    loop.call_soon(lambda: below.set_result(frames()))
    return here - await below


if __name__ == "__main__":
    server.run(http=sys.argv[1] if len(sys.argv) > 1 else None)
'''
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "depth",
}


def call(number: int) -> bytes:
    params = {"name": "depth", "arguments": {}, "_meta": META}
    request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    return json.dumps(request, separators=(",", ":")).encode()


def depth(answer: bytes) -> int:
    return int(json.loads(answer)["result"]["content"][0]["text"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "frames.py"
    path.write_text(SERVER)
    return path


@pytest.fixture
def connection(file: Path) -> Iterator[http.client.HTTPConnection]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(file), f"127.0.0.1:{port}"])
    try:
        with contextlib.closing(_connected(port)) as connected:
            yield connected
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _connected(port: int) -> http.client.HTTPConnection:
    deadline = time.monotonic() + PATIENCE
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.connect()
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, "the server does not listen"
            time.sleep(0.02)
        else:
            return connection


def _posted(connection: http.client.HTTPConnection, body: bytes) -> bytes:
    connection.request("POST", "/mcp", body, HEADERS)
    return connection.getresponse().read()


def test_a_tool_over_stdio_is_at_most_six_frames_from_the_wire(file: Path) -> None:
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, str(file)], **streams) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        depths = []
        for number in range(4):
            process.stdin.write(call(number) + b"\n")
            process.stdin.flush()
            depths.append(depth(process.stdout.readline()))
        process.stdin.close()

    assert max(depths[1:]) <= 6  # the first one waits until the rest of the server is loaded


def test_a_tool_over_http_is_at_most_eight_frames_from_the_wire(
    connection: http.client.HTTPConnection,
) -> None:
    depths = [depth(_posted(connection, call(number))) for number in range(4)]

    # With a head that was parsed before, one frame less: that of the parser's callback.
    assert max(depths) <= 8
    assert min(depths) <= 7
