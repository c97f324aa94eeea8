"""The ways to a server, behind one face, so that a case is written once and tried at each.

A door is a server in a process of its own, and a normal client of it. What a case does to the
server it does by `say`, `begin`, `pour` or the process; `works` is how each case ends.
"""

import contextlib
import itertools
import json
import signal
import socket
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from tests.attaching.living import SERVE
from tests.processes import process
from tests.processes.process import (
    PATIENCE,
    Collected,
    Process,
    command_for,
    request,
    write_server,
)
from tests.transports.http.servers import web
from tests.transports.http.servers.web import Site, by_command, eventually

MIB = 1024 * 1024
_CONNECTIONS = 8
# glibc keeps what was freed if it once had larger blocks; what we measure is what the server keeps.
HONEST = ["env", "MALLOC_MMAP_THRESHOLD_=131072"]
# Every server of the programme has these.
TOOLS = """
@server.tool
def add(a: int, b: int) -> int:
    return a + b

@server.tool
async def slow(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "slept"

@server.tool
def big(size: int) -> str:
    return "x" * size

"""


class Result(NamedTuple):
    """What came of a call: the text of its result, or the message of the error."""

    text: str
    is_error: bool


class Pending(ABC):
    """A call whose answer nobody has waited for yet."""

    @abstractmethod
    def result(self, within: float = PATIENCE) -> Result:
        """Wait for it."""

    @abstractmethod
    def cancel(self) -> None:
        """Take it back, in the way of this door."""


class Door(ABC):
    """A server, and a way to it."""

    process: Process
    # What every message says of its client, where there is no handshake that said it.
    envelope: ClassVar[dict[str, Any]] = {}

    # What a normal client does

    @abstractmethod
    def begin(self, name: str, /, **arguments: Any) -> Pending:
        """Call a tool; the answer is waited for elsewhere."""

    def call(self, name: str, /, **arguments: Any) -> Result:
        """Call a tool."""
        return self.begin(name, **arguments).result()

    def works(self) -> None:
        """A normal call is answered as ever."""
        assert self.call("add", a=1, b=2) == Result("3", is_error=False)

    # What another kind of client does

    @abstractmethod
    def say(self, payload: bytes) -> list[dict[str, Any]]:
        """Send bytes as a message, and gather the answers. There is at least one."""

    @abstractmethod
    def burst(self, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Send many messages as fast as it goes, and gather one answer for each that has an id."""

    @abstractmethod
    def pour(self, parts: Iterator[bytes]) -> None:
        """Send the parts of one message, until it ends or nobody takes them any more."""

    @abstractmethod
    def stutter(self, name: str, /, **arguments: Any) -> Result:
        """Call a tool, byte by byte."""

    # What happens to the process

    def memory_comes_back(self, start: int, within: int) -> None:
        """Wait until it is about where it was."""
        eventually(
            lambda: self.process.memory("VmRSS") - start <= within,
            f"back to {start // MIB} + {within // MIB} MiB from {self.memory // MIB}",
        )

    @property
    def memory(self) -> int:
        """What it takes now."""
        return self.process.memory("VmRSS")

    def ends_after(self, number: signal.Signals, within: float = PATIENCE) -> int:
        """Send a signal, and wait for the end; the exit status."""
        self.process.signal(number)
        return self.process.ends(within)


def _result(message: dict[str, Any]) -> Result:
    if "error" in message:
        return Result(message["error"]["message"], is_error=True)
    result = message["result"]
    text = "".join(block.get("text", "") for block in result["content"])
    return Result(text, is_error=result.get("isError", False))


# --- stdio ----------------------------------------------------------------------------------------


class Stdio(Door):
    """One client, on the pipes of the process; or on a socket, where the same lines are spoken."""

    def __init__(self, server: Process) -> None:
        self.process = server
        self._ids = itertools.count(1000)

    def begin(self, name: str, /, **arguments: Any) -> Pending:
        id_ = next(self._ids)
        self.process.call(id_, name, **arguments)
        return _OnPipe(self.process, id_)

    def say(self, payload: bytes) -> list[dict[str, Any]]:
        self.process.messages()  # of others, before
        self.process.write(payload + b"\n")
        [first] = self.process.answers(1)
        while "method" in first:
            [first] = self.process.answers(1)
        # One answer may take longer than one to a message behind it, so we wait for that first.
        id_ = next(self._ids)
        self.process.write(process.line(request(id_, "ping")))
        self.process.answer(id_)
        said = [first, *self.process.messages()]
        return [each for each in said if "method" not in each]

    def burst(self, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        self.process.messages()  # of others, before
        # Somebody must read meanwhile, which is what the thread of the process does.
        self.process.send(*messages)
        return self.process.answers(sum("id" in each for each in messages), within=40)

    def pour(self, parts: Iterator[bytes]) -> None:
        for part in parts:
            self.process.write(part)
        self.process.write(b"\n")

    def stutter(self, name: str, /, **arguments: Any) -> Result:
        id_ = next(self._ids)
        for byte in process.line(process.tool_call(id_, name, **arguments)):
            self.process.write(bytes([byte]))
        return _result(self.process.answer(id_))


class _OnPipe(Pending):
    def __init__(self, server: Process, id_: int) -> None:
        self._process = server
        self._id = id_

    def result(self, within: float = PATIENCE) -> Result:
        return _result(self._process.answer(self._id, within))

    def cancel(self) -> None:
        self._process.cancel(self._id)


# --- a socket of a program that runs --------------------------------------------------------------


class Attached(Process):
    """A program with a server in it, and one client of its socket, in place of the pipes."""

    def connect(self, path: Path) -> "Attached":
        """Become a client."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        self._socket.sendall(SERVE)
        while self._socket.recv(1) != b"\n":  # the line that says who serves
            pass
        self._collected = Collected(self._socket.fileno())
        return self

    @property
    def wire(self) -> Collected:
        return self._collected

    def write(self, data: bytes) -> None:
        self._socket.sendall(data)

    def leave(self) -> None:
        """Leave without a word."""
        self._socket.close()


# --- HTTP -----------------------------------------------------------------------------------------


class Http(Door):
    """Clients of the newest revision: each request stands for itself, on its own connection."""

    process: Site
    envelope: ClassVar[dict[str, Any]] = {"_meta": web.META}

    def __init__(self, site: Site) -> None:
        self.process = site

    def message(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """A call, as it is posted."""
        return web.calls(name, **arguments)

    @property
    def headers(self) -> dict[str, str]:
        """What is sent beside it."""
        return {}

    def files_come_back(self, start: int) -> None:
        """Wait until it has let go of the connections of others."""
        eventually(
            lambda: self.process.descriptors <= start + 5,
            f"{start} descriptors of {self.process.descriptors}",
        )

    def begin(self, name: str, /, **arguments: Any) -> Pending:
        connection = self.process.connect()
        connection.send(web.posting(self.message(name, **arguments), self.headers))
        return _Posted(connection)

    def say(self, payload: bytes) -> list[dict[str, Any]]:
        answer = self.process.post(payload, {**self.headers, **self._routed(payload)})
        if not answer.body:
            return []
        found = answer.json
        return found if isinstance(found, list) else [found]

    def burst(self, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            shares = [messages[start::_CONNECTIONS] for start in range(_CONNECTIONS)]
            return list(itertools.chain(*pool.map(self._post_all, shares)))

    def _post_all(self, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        connection = self.process.connect()
        for message in messages:
            answer = connection.post(message, self.headers)
            if "id" in message:
                found.append(answer.json)
            else:
                assert answer.status in (202, 400), answer
            if answer.headers.get("connection") == "close":
                connection = self.process.connect()
        return found

    def _routed(self, payload: bytes) -> dict[str, str]:
        """The headers that repeat what stands in a message, if anybody can read it."""
        try:
            return web.posted(json.loads(payload))
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            return {}

    def pour(self, parts: Iterator[bytes]) -> None:
        fields = {**web.posted(b"", self.headers), "Transfer-Encoding": "chunked"}
        chunks = (b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
        with self.process.connect() as connection:
            connection.send(web.head("POST", "/mcp", fields))
            connection.send_until_refused(itertools.chain(chunks, [b"0\r\n\r\n"]))

    def stutter(self, name: str, /, **arguments: Any) -> Result:
        with self.process.connect() as connection:
            connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in web.posting(self.message(name, **arguments), self.headers):
                connection.send(bytes([byte]))
            return _result(connection.answer().json)


class HttpSession(Http):
    """A client that has shaken hands."""

    envelope: ClassVar[dict[str, Any]] = {}

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._session = site.open_session()
        self._ids = itertools.count(1000)

    def message(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        return web.tool_call(next(self._ids), name, **arguments)

    @property
    def headers(self) -> dict[str, str]:
        return self._session.headers

    def begin(self, name: str, /, **arguments: Any) -> Pending:
        message = self.message(name, **arguments)
        connection = self.process.connect()
        connection.send(web.posting(message, self.headers))
        return _InSession(connection, self._session, message["id"])


class _Posted(Pending):
    def __init__(self, connection: web.Connection) -> None:
        self._connection = connection

    def result(self, within: float = PATIENCE) -> Result:
        self._connection.socket.settimeout(within)
        return _result(self._connection.answer().json)

    def cancel(self) -> None:
        self._connection.close()  # which is how it is said


class _InSession(_Posted):
    def __init__(self, connection: web.Connection, session: web.Session, id_: int) -> None:
        super().__init__(connection)
        self._session = session
        self._id = id_

    def cancel(self) -> None:
        params = {"requestId": self._id}
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        assert self._session.post(note).status == 202


# --- all ------------------------------------------------------------------------------------------

Open = Callable[[Path, str], contextlib.AbstractContextManager[Door]]


@contextlib.contextmanager
def stdio(folder: Path, source: str) -> Iterator[Door]:
    """A server on pipes."""
    command = [*HONEST, *command_for(write_server(folder, source))]
    with Process(command, cwd=folder) as server:
        server.open()
        yield Stdio(server)


@contextlib.contextmanager
def attached(folder: Path, source: str) -> Iterator[Door]:
    """A program that serves at a socket, beside what it does anyway."""
    program, path = folder / "program.py", folder / "program.sock"
    program.write_text(f"{process.HEADER}{source}\n{_ATTACHED.format(path=str(path))}")
    with Attached([*HONEST, sys.executable, str(program)], cwd=folder) as server:
        server.hears("attached")
        server.connect(path).open()
        try:
            yield Stdio(server)
        finally:
            server.leave()


_ATTACHED = """
server.attach(socket={path!r})
say("attached")
while True:
    time.sleep(1)
"""


@contextlib.contextmanager
def http(folder: Path, source: str) -> Iterator[Door]:
    """A server that listens, and clients of the newest revision."""
    with _site(folder, source) as site:
        yield Http(site)


@contextlib.contextmanager
def session(folder: Path, source: str) -> Iterator[Door]:
    """A server that listens, and a client that has shaken hands."""
    with _site(folder, source) as site:
        yield HttpSession(site)


@contextlib.contextmanager
def _site(folder: Path, source: str) -> Iterator[Site]:
    with Site([*HONEST, *by_command(web.write(folder, source))], cwd=folder) as site:
        try:
            yield site.is_served()
        finally:
            site.close_all()


# A new way to a server gets a line here, and every case of the programme is tried on it.
DOORS: dict[str, Open] = {"stdio": stdio, "socket": attached, "http": http, "session": session}


def settle(seconds: float = 0.05) -> None:
    """Time for what must not happen to happen."""
    time.sleep(seconds)
