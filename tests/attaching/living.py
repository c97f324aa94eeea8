"""What programs in these tests begin with, and a bridge that is only a socket."""

import json
import socket
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from tests.processes.process import HANDSHAKE, PATIENCE, tool_call

BRIDGE = "import sys; from toolhaft_bridge.command import main; sys.exit(main())"
SERVE = b'{"toolhaft":1,"ask":"serve"}\n'
PROGRAM = """\
import asyncio, atexit, contextlib, os, signal, sys, threading, time
from toolhaft import Accepted, Context, Limits, Server, ToolError

def say(*words):
    os.write(2, (" ".join(map(str, words)) + "\\n").encode())

server = Server("notes", version="1.0.0")
notes = []

@server.tool
def write(text: str) -> int:
    notes.append(text)
    return len(notes)

@server.tool
async def read() -> list[str]:
    return notes

@server.tool
async def nap(seconds: float) -> str:
    say("napping")
    await asyncio.sleep(seconds)
    return "rested"

@server.tool
def doze(seconds: float) -> str:
    say("dozing")
    time.sleep(seconds)
    return "rested"

def stay():
    say("attached")
    while True:
        time.sleep(1)

"""
STAY = """
server.attach()
stay()
"""
# Programs whose tool says a megabyte, or is never done.
MUCH = (
    """
@server.tool
async def much() -> str:
    return "x" * 1_000_000
"""
    + STAY
)
WAITS = (
    """
@server.tool
async def wait() -> None:
    say("waiting")
    try:
        await asyncio.sleep(60)
    finally:
        say("waited")
"""
    + STAY
)


def until(found: Callable[[], object]) -> None:
    """Wait for something that happens soon."""
    deadline = time.monotonic() + PATIENCE
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Wire:
    """A connection to an attached process."""

    def __init__(self, path: str, first: bytes | None = None) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(PATIENCE)
        self._socket.connect(path)
        self._file = self._socket.makefile("rb")
        self.first: Any = None
        try:
            self.write(SERVE if first is None else first)
            if first is None:
                self.first = self.read()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Wire":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave without a word."""
        self._file.close()
        self._socket.close()

    def write(self, data: bytes) -> None:
        """Bytes, as they are."""
        self._socket.sendall(data)

    def end(self) -> None:
        """Say nothing more."""
        self._socket.shutdown(socket.SHUT_WR)

    def send(self, *messages: object) -> None:
        """Messages, one per line."""
        self.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def read(self) -> Any:
        """The next message; None at the end."""
        line = self._file.readline()
        return json.loads(line) if line else None

    def answer(self, id_: object) -> dict[str, Any]:
        """The answer to a request; what comes before is passed over."""
        while (message := self.read()) is not None:
            if message.get("id") == id_ and "method" not in message:
                found: dict[str, Any] = message
                return found
        raise AssertionError(f"no answer {id_!r} before the end")

    def shake(self) -> None:
        """The handshake."""
        self.send(*HANDSHAKE)
        assert "result" in self.answer("init")

    def tool(self, id_: object, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The result of a tool."""
        self.send(tool_call(id_, name, **arguments))
        result: dict[str, Any] = self.answer(id_)["result"]
        return result
