"""Servers over HTTP in processes of their own, and clients that speak to them byte by byte.

The clients are made of plain sockets, so that they can do what no library lets them do: say half of
something, say it twice, or not read. Nothing here waits without a limit.
"""

import contextlib
import json
import os
import re
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

from tests.processes.process import PATIENCE, Process, request

from toolhaft.testing import SyncClient

HEADER = """\
import asyncio, contextlib, os, signal, subprocess, sys, threading, time
from toolhaft import Context, Limits, Listener, Server, ToolError, Unauthorized

def say(text):
    os.write(2, (text + "\\n").encode())

server = Server("tested", version="1.0.0")
"""
LIFESPAN = """\
@contextlib.asynccontextmanager
async def lifespan(server):
    say("lifespan entered")
    try:
        yield
    finally:
        say("lifespan left")

"""
MIB = 1024 * 1024
HERE = "127.0.0.1"
NEWEST = "2026-07-28"
OF_SESSIONS = "2025-11-25"
META = {
    "io.modelcontextprotocol/protocolVersion": NEWEST,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_SERVING = re.compile(r"serving at (https?)://[^:]+:(\d+)")
_OFTEN = 0.02

Fields = Mapping[str, str]


# Servers


class Site(Process):
    """A server that listens, in a process of its own."""

    def __init__(self, command: Sequence[str], *, cwd: Path, address: str = HERE) -> None:
        super().__init__(command, cwd=cwd)
        self.address = address
        self.port = 0
        self.certificate: Path | None = None
        self._connections: list[Connection] = []

    def is_served(self, path: str = "/readyz") -> "Site":
        """Wait until it serves; the port is what it says."""
        self.hears("serving at ")
        self.hears("(Ctrl-C ends it)\n")
        found = _SERVING.search(self.stderr)
        assert found is not None, self.stderr
        self.port = int(found[2])
        self.answers_at(path)
        return self

    def answers_at(self, path: str) -> None:
        """Wait until a GET there is good."""
        eventually(lambda: self._is_good(path), f"{path} of {self.stderr}")

    def _is_good(self, path: str) -> bool:
        with contextlib.suppress(OSError, EOFError):
            return self.get(path).status == 200
        return False

    def connect(self) -> "Connection":
        """A connection, closed with the server at the latest."""
        plain: socket.socket = socket.create_connection((self.address, self.port), PATIENCE)
        if self.certificate is not None:
            context = ssl.create_default_context(cafile=str(self.certificate))
            plain = context.wrap_socket(plain, server_hostname="localhost")
        return self.keep(Connection(plain))

    def keep(self, connection: "Connection") -> "Connection":
        """Close it at the end."""
        self._connections.append(connection)
        return connection

    def close_all(self) -> None:
        """Close every connection."""
        for connection in self._connections:
            connection.close()
        self._connections.clear()

    def get(self, path: str) -> "Answer":
        """A plain GET, over a connection of its own."""
        with self.connect() as connection:
            connection.send(head("GET", path))
            return connection.answer()

    def post(self, message: object, headers: Fields | None = None, path: str = "/mcp") -> "Answer":
        """A message, over a connection of its own."""
        with self.connect() as connection:
            return connection.post(message, headers, path)

    def url(self, path: str = "/mcp") -> str:
        """Where a service is."""
        scheme, host = ("http", HERE) if self.certificate is None else ("https", "localhost")
        return f"{scheme}://{host}:{self.port}{path}"

    def client(
        self,
        headers: Fields | None = None,
        *,
        path: str = "/mcp",
        revision: str = NEWEST,
        **more: Any,
    ) -> SyncClient:
        """A client of the kit, not open yet."""
        return SyncClient.http(
            self.url(path),
            headers=headers,
            revision=revision,
            certificate=self.certificate,
            **more,
        )

    def call(self, name: str, /, **arguments: Any) -> str:
        """The text of a tool's result, for a client of the newest revision."""
        with self.client() as client:
            return client.call_raw(name, arguments).text

    def stream(
        self, message: object, headers: Fields | None = None, path: str = "/mcp"
    ) -> "Connection":
        """A connection on which a stream was begun by posting a message."""
        connection = self.connect()
        connection.send(posting(message, headers, path))
        opened = connection.head()
        assert opened.status == 200, opened
        assert opened.headers["content-type"] == "text/event-stream"
        return connection

    def open_session(
        self, headers: Fields | None = None, revision: str = OF_SESSIONS, path: str = "/mcp"
    ) -> "Session":
        """A session, with its handshake done."""
        return Session(self, headers, revision=revision, path=path)

    def status_after(self, number: signal.Signals, within: float = PATIENCE) -> int:
        """Send a signal and wait for the end; the exit status."""
        self.signal(number)
        return self.ends(within)

    def growth(self, action: Callable[[], object]) -> int:
        """By how many bytes the memory of the process grows at most, while something is done."""
        before = self.memory("VmRSS")
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")  # forgets the highest figure so far
        action()
        return self.memory("VmHWM") - before

    def holds(self, connection: "Connection") -> bool:
        """Has the process still got its end of this connection?"""
        own = f":{self.port:04X}"
        other = f":{connection.socket.getsockname()[1]:04X}"
        for entry in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            fields = entry.split()
            if fields[1].endswith(own) and fields[2].endswith(other):
                return fields[9] != "0"  # what nobody has got any more has no inode
        return False

    def lets_go(self, connection: "Connection", within: float = 6.0) -> None:
        """Wait until it has not, though the client reads nothing."""
        eventually(lambda: not self.holds(connection), "the end of the connection", within)

    @property
    def descriptors(self) -> int:
        """How many files and sockets it has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))


def write(folder: Path, source: str, name: str = "author.py") -> Path:
    """A file with a server: the usual imports, and what the test adds."""
    path = folder / name
    path.write_text(HEADER + dedent(source))
    return path


def by_command(file: Path, *options: str) -> list[str]:
    """How our command serves a file, at any free port."""
    where = [] if "--uds" in options or "--http" in options else ["--http", f"{HERE}:0"]
    return [sys.executable, "-m", "toolhaft", "run", str(file), *where, *options]


def as_script(file: Path) -> list[str]:
    """How Python runs a file that serves by itself."""
    return [sys.executable, str(file)]


# Clients


class Head(NamedTuple):
    """The first part of an answer."""

    status: int
    headers: dict[str, str]


class Answer(NamedTuple):
    """An answer, read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The message in it; the last one, if it is a stream."""
        if self.headers.get("content-type") == "text/event-stream":
            return [json.loads(data) for data in data_of(self.body) if data][-1]
        return json.loads(self.body)

    @property
    def result(self) -> dict[str, Any]:
        """The result in it."""
        assert self.status == 200, self
        result: dict[str, Any] = self.json["result"]
        return result

    @property
    def text(self) -> str:
        """The text of a tool's result that has one text block."""
        [block] = self.result["content"]
        text: str = block["text"]
        return text

    @property
    def error(self) -> str:
        """The message of the error in it."""
        message: str = self.json["error"]["message"]
        return message


class Connection:
    """One connection, used by hand."""

    def __init__(self, plain: socket.socket) -> None:
        plain.settimeout(PATIENCE)
        self.socket = plain
        self._reader = plain.makefile("rb")
        self._chunked = False

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave."""
        self._reader.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Bytes, as they are."""
        self.socket.sendall(data)

    def send_until_refused(self, parts: Iterator[bytes]) -> int:
        """Bytes, until nobody takes them any more; how many were taken."""
        taken = 0
        with contextlib.suppress(ConnectionError):
            for part in parts:
                self.socket.sendall(part)
                taken += len(part)
        return taken

    def post(self, message: object, headers: Fields | None = None, path: str = "/mcp") -> Answer:
        """A message and its answer. The connection can be used again."""
        self.send(posting(message, headers, path))
        return self.answer()

    def head(self) -> Head:
        """The first part of an answer; of one that asks for more, that of the next."""
        line = self._reader.readline()
        if not line:
            raise EOFError("the connection was closed without an answer")
        status = int(line.split()[1])
        headers: dict[str, str] = {}
        while (line := self._reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            assert name.lower() not in headers, f"{name} was sent twice"
            headers[name.lower()] = value.strip()
        self._chunked = headers.get("transfer-encoding") == "chunked"
        return self.head() if status == 100 else Head(status, headers)

    def status(self) -> int:
        """The status of an answer; 0 if the connection is closed instead."""
        with contextlib.suppress(ConnectionError, EOFError):
            return self.head().status
        return 0

    def answer(self) -> Answer:
        """A whole answer."""
        status, headers = self.head()
        if self._chunked:
            return Answer(status, headers, b"".join(self.chunks()))
        if "content-length" in headers:
            return Answer(status, headers, self._reader.read(int(headers["content-length"])))
        return Answer(status, headers, b"" if status == 204 else self._reader.read())

    def chunks(self) -> Iterator[bytes]:
        """The parts of a body, as they come, until it is complete."""
        while True:
            size = self._reader.readline()
            if not size:
                raise EOFError("the stream was cut off")
            data = self._reader.read(int(size, 16))
            self._reader.readline()
            if not data:
                return
            yield data

    def messages(self) -> Iterator[dict[str, Any]]:
        """The messages of a stream, as they come."""
        for chunk in self.chunks():
            for data in data_of(chunk):
                if data:
                    yield json.loads(data)

    def next(self) -> dict[str, Any]:
        """The next message of a stream."""
        return next(self.messages())

    def take(self, size: int, *, after: float = 0.0) -> bytes:
        """So many bytes of a body, after a pause."""
        time.sleep(after)
        return self._reader.read(size)

    def rest(self) -> bytes:
        """All that comes until the connection is closed, by whichever means."""
        with contextlib.suppress(ConnectionError):
            return self._reader.read()
        return b""

    def is_closed(self) -> bool:
        """Does the other side end the connection in time?"""
        try:
            while self.socket.recv(65536):
                pass
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        return True


class Session:
    """A client of the era of sessions."""

    def __init__(
        self, site: Site, headers: Fields | None = None, *, revision: str, path: str = "/mcp"
    ) -> None:
        self.site = site
        self._path = path
        opening = {
            "protocolVersion": revision,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"},
        }
        answer = site.post(request("init", "initialize", opening), headers, path)
        assert answer.status == 200, answer
        self.id = answer.headers.get("mcp-session-id")
        self.headers = {**(headers or {}), "MCP-Protocol-Version": revision}
        if self.id is not None:
            self.headers["Mcp-Session-Id"] = self.id
        ready = self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert ready.status == 202, ready

    def post(self, message: object) -> Answer:
        """A message and its answer."""
        return self.site.post(message, self.headers, self._path)

    def call(self, name: str, /, **arguments: Any) -> str:
        """The text of a tool's result."""
        return self.post(tool_call(1, name, **arguments)).text

    def listen(self, headers: Fields | None = None) -> Connection:
        """A connection on which its GET was sent; the answer is not read yet."""
        connection = self.site.connect()
        accept = {"Accept": "text/event-stream", **self.headers, **(headers or {})}
        connection.send(head("GET", self._path, accept))
        return connection

    def news(self) -> Connection:
        """A connection on which its stream of news was begun."""
        connection = self.listen()
        opened = connection.head()
        assert opened.status == 200, opened
        return connection

    def end(self) -> Answer:
        """Say that it is over."""
        with self.site.connect() as connection:
            connection.send(head("DELETE", self._path, self.headers))
            return connection.answer()


# Messages


def tool_call(id_: object, name: str, /, **arguments: Any) -> dict[str, Any]:
    """A call of a tool in a session; with a token, so that there can be progress."""
    params = {"name": name, "arguments": arguments, "_meta": {"progressToken": "p"}}
    return request(id_, "tools/call", params)


def asks(id_: object, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A request of the newest revision."""
    meta = {**META, "progressToken": "p"}
    return request(id_, method, {**(params or {}), "_meta": meta})


def calls(name: str, /, **arguments: Any) -> dict[str, Any]:
    """A call of a tool in the newest revision."""
    return asks(1, "tools/call", {"name": name, "arguments": arguments})


def listens(id_: object = "listen", **notifications: Any) -> dict[str, Any]:
    """A subscription of the newest revision: to the tools, if nothing else is said."""
    wanted = notifications or {"toolsListChanged": True}
    return asks(id_, "subscriptions/listen", {"notifications": wanted})


def posted(message: object, headers: Fields | None = None) -> dict[str, str]:
    """The headers with which a message is posted; those that repeat the body, where its revision
    has them."""
    fields = {
        "Host": "localhost",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    if isinstance(message, dict) and NEWEST in json.dumps(message.get("params", {})):
        params = message["params"]
        name = params.get("name", params.get("uri"))
        fields |= {"MCP-Protocol-Version": NEWEST, "Mcp-Method": message["method"]}
        fields |= {} if name is None else {"Mcp-Name": name}
    return {**fields, **(headers or {})}


def posting(message: object, headers: Fields | None = None, path: str = "/mcp") -> bytes:
    """The bytes of a POST."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    fields = {**posted(message, headers), "Content-Length": str(len(body))}
    return head("POST", path, fields) + body


def head(verb: str, path: str, headers: Fields | None = None) -> bytes:
    """The bytes of a request up to its body."""
    fields = {"Host": "localhost", **(headers or {})}
    return lines(f"{verb} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()))


def lines(*texts: str) -> bytes:
    """Lines, and an empty one behind them."""
    return "".join(f"{text}\r\n" for text in (*texts, "")).encode("latin-1")


def data_of(chunk: bytes) -> list[bytes]:
    """The data of every event in a part of a stream."""
    return [
        line.removeprefix(b"data:").strip()
        for line in chunk.splitlines()
        if line.startswith(b"data:")
    ]


def eventually(found: Callable[[], Any], what: str, within: float = PATIENCE) -> Any:
    """Wait until something is so; the result is what was found."""
    deadline = time.monotonic() + within
    while not (result := found()):
        assert time.monotonic() < deadline, f"{what}: not within {within} s"
        time.sleep(_OFTEN)
    return result
