"""The same server by `mcp` and by `fastmcp`, on pipes, and what they answer there."""

import json
import os
import subprocess
import threading
from typing import Any, NamedTuple

from tests.processes.process import HANDSHAKE, line, request
from tests.warm import THEIRS, warm

TOOLS = """
import sys, time

def add(a: int, b: int) -> int:
    return a + b

def echo(text: str) -> str:
    return text

def leave() -> str:
    sys.exit(3)

def surrogate() -> str:
    return "\\ud800"

def secret() -> str:
    raise ValueError("hunter2")

def doze() -> str:
    time.sleep(2)
    return "rested"
"""
MCP = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("m")
for tool in (add, echo, leave, surrogate, secret, doze):
    server.tool()(tool)
"""
FASTMCP = """
from fastmcp import FastMCP
server = FastMCP("f")
for tool in (add, echo, leave, surrogate, secret, doze):
    server.tool(tool)
"""
SERVERS = {
    "mcp": TOOLS + MCP + "server.run()",
    "fastmcp": TOOLS + FASTMCP + "server.run(show_banner=False)",
}
PING = line(request("ping", "ping", {}))
# On a busy machine: who answers is not waited for that long, and who ends is asked to sooner.
_PATIENCE = 20.0


class Talk(NamedTuple):
    """What came of a conversation."""

    # By their ids, and in the order in which they came.
    answers: dict[Any, dict[str, Any]]
    # What was on stdout and is no message.
    noise: list[bytes]
    # None if it was still there, and had answered.
    status: int | None


def talk(
    code: str,
    *messages: bytes,
    until: object,
    revision: str | None = None,
    patience: float = _PATIENCE,
) -> Talk:
    """Shake hands and say this; all that was answered up to the answer `until`, or to the end."""
    handshake = HANDSHAKE if revision is None else _handshake(revision)
    quiet = {"FASTMCP_CHECK_FOR_UPDATES": "off", "FASTMCP_LOG_LEVEL": "CRITICAL"}
    process = subprocess.Popen(
        warm(THEIRS, "-c", code),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **quiet},
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        answers: dict[Any, dict[str, Any]] = {}
        noise: list[bytes] = []
        process.stdin.write(b"".join(map(line, handshake)))
        process.stdin.flush()
        # One whose service is over may neither answer nor close its side as long as ours is open.
        hurry = threading.Timer(patience, process.stdin.close)
        for text in process.stdout:
            try:
                message = json.loads(text)
            except ValueError:
                noise.append(text)
                continue
            if "method" not in message:
                answers[message.get("id")] = message
            if message.get("id") == "init":
                process.stdin.write(b"".join(messages))
                process.stdin.flush()
                hurry.start()
            if message.get("id") == until:
                break
        hurry.cancel()
        process.stdin.close()
        status = process.wait(20) if until not in answers else None
        process.kill()
    return Talk(answers, noise, status)


def _handshake(revision: str) -> list[dict[str, Any]]:
    opening, *rest = HANDSHAKE
    return [{**opening, "params": {**opening["params"], "protocolVersion": revision}}, *rest]


def call(id_: object, name: str, /, **arguments: Any) -> bytes:
    """A call of a tool."""
    return line(request(id_, "tools/call", {"name": name, "arguments": arguments}))
