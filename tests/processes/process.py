"""A server in a process of its own, spoken to through pipes; nothing here waits without a limit."""

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent
from types import TracebackType
from typing import Any

PATIENCE = 15.0  # for what should happen at once, on a machine that others use too
HEADER = """\
import asyncio, contextlib, contextvars, os, signal, subprocess, sys, threading, time
from toolhaft import Context, Limits, Server, ToolError

def say(text):
    os.write(2, (text + "\\n").encode())

server = Server("tested", version="1.0.0")
"""
FOOTER = """
if __name__ == "__main__":
    server.run()
"""
LIFESPAN = """\
@contextlib.asynccontextmanager
async def lifespan(server):
    say("lifespan entered")
    try:
        yield
    finally:
        say("lifespan left")

server = Server("tested", version="1.0.0", lifespan=lifespan)
"""


def write_server(folder: Path, source: str, name: str = "author.py") -> Path:
    """A file with a server: the usual imports, what the test adds, and the call of `run`."""
    path = folder / name
    path.write_text(HEADER + dedent(source) + FOOTER)
    return path


def command_for(file: Path, how: str = "run") -> list[str]:
    """How a client starts it: by our command, or as a plain script."""
    return [sys.executable, *(["-m", "toolhaft", "run"] if how == "run" else []), str(file)]


def request(id_: object, method: str, params: object = None) -> dict[str, Any]:
    """A request as a client of the handshake era sends it."""
    message = {"jsonrpc": "2.0", "id": id_, "method": method}
    return message if params is None else {**message, "params": params}


def tool_call(id_: object, name: str, /, **arguments: Any) -> dict[str, Any]:
    """A request for a tool."""
    return request(id_, "tools/call", {"name": name, "arguments": arguments})


def line(message: object) -> bytes:
    """A message as one line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def framed(message: object, *, end: str = "\r\n", more: str = "") -> bytes:
    """A message behind a Content-Length header."""
    body = json.dumps(message).encode()
    return f"Content-Length: {len(body)}{end}{more}{end}".encode() + body


HANDSHAKE = [
    request(
        "init",
        "initialize",
        {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"},
        },
    ),
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]


class Collected:
    """Bytes that a thread reads from a descriptor, for others to wait for."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = os.dup(descriptor)  # its own: nobody closes it under the thread
        self._changed = threading.Condition()
        self.data = bytearray()
        self.ended = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                chunk = os.read(self._descriptor, 1024 * 1024)
            except OSError:
                chunk = b""
            with self._changed:
                self.data += chunk
                self.ended = not chunk
                self._changed.notify_all()
            if not chunk:
                os.close(self._descriptor)
                return

    def wait_for(self, found: Callable[[], Any], what: str, within: float = PATIENCE) -> Any:
        """Wait until something is found in what was read; the end of the stream ends the wait."""
        with self._changed:
            self._changed.wait_for(lambda: found() or self.ended, within)
            result = found()
        assert result, f"{what}: not within {within} s; got {bytes(self.data[-2000:])!r}"
        return result

    def wait_for_end(self, within: float = PATIENCE) -> None:
        """Wait until every writer has closed its end."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.ended, within), "the stream does not end"


class Process:
    """A server that was started, and what a client does with it."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        stdin: int = subprocess.PIPE,
        reading: bool = True,
        reading_stderr: bool = True,
        stderr_size: int | None = None,
    ) -> None:
        self._popen = subprocess.Popen(
            list(command),
            cwd=cwd,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        assert self._popen.stdout is not None
        assert self._popen.stderr is not None
        self.pid = self._popen.pid
        if stderr_size is not None:
            fcntl.fcntl(self._popen.stderr, fcntl.F_SETPIPE_SZ, stderr_size)
        self._out: Collected | None = None
        self._err: Collected | None = None
        self._scanned = 0
        self._lines: deque[dict[str, Any]] = deque()
        if reading:
            self.start_reading()
        if reading_stderr:
            self._err = Collected(self._popen.stderr.fileno())

    def __enter__(self) -> "Process":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._popen.poll() is None:
            self._popen.kill()
        self._popen.wait(PATIENCE)
        for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            # A child of a tool may hold the other end; its reader then stays behind, as a daemon.
            if pipe is not None:
                pipe.close()

    # What a client sends

    def write(self, data: bytes) -> None:
        """Bytes, as they are."""
        assert self._popen.stdin is not None
        view = memoryview(data)
        while view:
            view = view[os.write(self._popen.stdin.fileno(), view) :]

    def send(self, *messages: object) -> None:
        """Messages, one per line, in one write if they are small."""
        self.write(b"".join(line(message) for message in messages))

    def open(self) -> None:
        """Shake hands."""
        self.send(*HANDSHAKE)
        assert "result" in self.answer("init")

    def call(self, id_: object, name: str, /, **arguments: Any) -> None:
        """Call a tool; the answer is waited for elsewhere."""
        self.send(tool_call(id_, name, **arguments))

    def cancel(self, id_: object) -> None:
        """Take a request back."""
        params = {"requestId": id_}
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    def close_input(self) -> None:
        """The end of what we send."""
        assert self._popen.stdin is not None
        self._popen.stdin.close()

    def close_output(self) -> None:
        """We read no answers any more."""
        assert self._popen.stdout is not None
        self._popen.stdout.close()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._popen.send_signal(number)

    # What a client sees

    def start_reading(self) -> None:
        """Read answers from now on."""
        assert self._popen.stdout is not None
        self._out = Collected(self._popen.stdout.fileno())

    @property
    def wire(self) -> Collected:
        """All that came over stdout."""
        assert self._out is not None
        return self._out

    @property
    def stderr(self) -> str:
        """All that came over stderr, so far."""
        assert self._err is not None
        return self._err.data.decode("utf-8", "replace")

    def hears(self, text: str, within: float = PATIENCE) -> None:
        """Wait until this is said on stderr."""
        assert self._err is not None
        err = self._err
        err.wait_for(lambda: text.encode() in err.data, f"{text!r} on stderr", within)

    def _take_lines(self) -> deque[dict[str, Any]]:
        data = self.wire.data
        while (end := data.find(b"\n", self._scanned)) >= 0:
            text, self._scanned = bytes(data[self._scanned : end]), end + 1
            message = json.loads(text)  # raises for whatever else is on the wire
            assert message["jsonrpc"] == "2.0"
            self._lines.append(message)
        return self._lines

    def answer(self, id_: object, within: float = PATIENCE) -> dict[str, Any]:
        """Wait for the answer to one request; others are left for later."""

        def found() -> dict[str, Any] | None:
            return next((m for m in self._take_lines() if _has_id(m, id_)), None)

        message: dict[str, Any] = self.wire.wait_for(found, f"answer {id_!r}", within)
        self._lines.remove(message)
        return message

    def answers(self, count: int, within: float = PATIENCE) -> list[dict[str, Any]]:
        """Wait for so many messages, of whatever kind."""
        self.wire.wait_for(lambda: len(self._take_lines()) >= count, f"{count} answers", within)
        return [self._lines.popleft() for _ in range(count)]

    def messages(self) -> list[dict[str, Any]]:
        """All messages that have come so far and that nobody has taken."""
        taken = list(self._take_lines())
        self._lines.clear()
        return taken

    def left(self) -> list[dict[str, Any]]:
        """All messages that nobody has taken, after the end of the stream."""
        self.wire.wait_for_end()
        taken = list(self._take_lines())
        assert self._scanned == len(self.wire.data), "the last line is not terminated"
        return taken

    def ask(self, id_: object, method: str, params: object = None) -> dict[str, Any]:
        """A request and its answer."""
        self.send(request(id_, method, params))
        return self.answer(id_)

    def ask_tool(self, id_: object, name: str, /, **arguments: Any) -> dict[str, Any]:
        """A call of a tool and its result."""
        self.call(id_, name, **arguments)
        result: dict[str, Any] = self.answer(id_)["result"]
        return result

    # How it ends

    def ends(self, within: float = PATIENCE) -> int:
        """Wait for the end of the process and of its streams; the exit status."""
        status = self._popen.wait(within)
        if self._err is not None:
            self._err.wait_for_end()
        return status

    def end(self, within: float = PATIENCE) -> int:
        """Close the input and wait; the exit status."""
        self.close_input()
        return self.ends(within)

    def memory(self, field: str = "VmHWM") -> int:
        """A figure of the kernel's about the process, in bytes."""
        return memory_of(self.pid, field)


def _has_id(message: dict[str, Any], id_: object) -> bool:
    # Not just equal: to Python, True is 1.
    own = message.get("id")
    return type(own) is type(id_) and own == id_ and "method" not in message


def memory_of(pid: int, field: str) -> int:
    """A figure out of /proc/PID/status, in bytes."""
    for entry in Path(f"/proc/{pid}/status").read_text().splitlines():
        if entry.startswith(field + ":"):
            return int(entry.split()[1]) * 1024
    raise LookupError(field)


def text_of(result: dict[str, Any]) -> str:
    """The text of a tool's result that has one text block."""
    [block] = result["content"]
    text: str = block["text"]
    return text


def is_gone(pidfd: int, within: float = PATIENCE) -> bool:
    """Does the process behind this descriptor end in time?"""
    return bool(select.select([pidfd], [], [], within)[0])


def seconds(action: Callable[[], object]) -> float:
    """How long something takes."""
    start = time.monotonic()
    action()
    return time.monotonic() - start
