"""Running contenders over HTTP: a server, its sessions and streams, and the load on it."""

from __future__ import annotations

import ctypes
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Protocol, Self

import msgspec
from http_workloads import (
    ACCEPT,
    INITIALIZED,
    PATH,
    SLOW_SECONDS,
    BurstOfCalls,
    HeldMemory,
    HttpCalls,
    HttpStage,
    headers,
    http_plan,
)
from measuring import HERE, CannotMeasure, Contender, Measured, Sample, environment
from workloads import ID_MARK, INITIALIZE_PARAMS, Workload, request

START_DEADLINE = 30.0
LOAD_DEADLINE = 60.0
CLIENT_TIMEOUT = 20.0
SETTLING = 0.3  # seconds in which a server ends what it does after an answer
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1

INITIALIZE = request("initialize", INITIALIZE_PARAMS, handshake=True).replace(ID_MARK, "1")


@dataclass(frozen=True)
class HttpContender(Contender):
    @property
    def script(self) -> Path:
        return HERE / "contenders" / f"http_{self.name.replace('-', '_')}.py"

    @property
    def python(self) -> str:
        """Ours: nobody is started anew for what is measured here."""
        return sys.executable


SERVED = "import uvicorn, uvloop, httptools"

HTTP_CONTENDERS = (
    HttpContender("toolhaft", f"{SERVED}; from toolhaft import Server"),
    HttpContender("toolhaft-asgi", f"{SERVED}; from toolhaft import Server"),
    HttpContender("mcp", f"{SERVED}; from mcp.server import MCPServer"),
    HttpContender("fastmcp", f"{SERVED}; from fastmcp import FastMCP"),
    HttpContender("limit", f"{SERVED}, msgspec"),
    HttpContender("limit-granian", f"{SERVED}, msgspec, granian"),
)


class Outcome(msgspec.Struct):
    """What http_load.c prints."""

    calls: int
    wall_seconds: float
    cpu_seconds: float
    bytes_per_answer: float
    failure: str | None


@dataclass
class Serving:
    """A server that runs, and what we hold open on it."""

    process: subprocess.Popen[bytes]
    port: int
    sessions: list[str] = field(default_factory=list)
    streams: list[socket.socket] = field(default_factory=list)

    def hold_sessions(self, count: int) -> None:
        """Open sessions until there are that many."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=CLIENT_TIMEOUT)
        try:
            while len(self.sessions) < count:
                self.sessions.append(open_session(connection))
        finally:
            connection.close()

    def hold_streams(self, count: int) -> None:
        """Open streams until there are that many, each of a session of its own."""
        self.hold_sessions(count)
        while len(self.streams) < count:
            session = self.sessions[len(self.streams)]
            self.streams.append(open_stream(self.port, session))

    def resident_kib(self) -> int:
        """The resident size, added up page by page: the sum in `status` is up to 1 MiB late."""
        rollup = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return next(int(line.split()[1]) for line in rollup.splitlines() if line[:4] == "Rss:")


def open_session(connection: HTTPConnection) -> str:
    """The handshake of 2025-11-25; returns the id of the session."""
    named = headers("2025-11-25", "initialize")
    connection.request("POST", PATH, INITIALIZE, named)
    response = connection.getresponse()
    said = response.read()
    session = response.headers["Mcp-Session-Id"]
    if response.status != 200 or session is None:
        raise CannotMeasure(f"no session: {response.status} {said[:200]!r}")
    connection.request("POST", PATH, INITIALIZED, {**named, "Mcp-Session-Id": session})
    response = connection.getresponse()
    said = response.read()
    if response.status != 202:
        raise CannotMeasure(f"initialized was not accepted: {response.status} {said[:200]!r}")
    return session


def open_stream(port: int, session: str) -> socket.socket:
    """Send the GET for the stream of a session and wait until it is open."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=CLIENT_TIMEOUT)
    connection.sendall(
        f"GET {PATH} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: {ACCEPT}\r\n"
        f"MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n\r\n".encode()
    )
    head = b""
    while b"\r\n\r\n" not in head:
        if not (more := connection.recv(65536)):
            break
        head += more
    if not head.startswith(b"HTTP/1.1 200") or b"text/event-stream" not in head.lower():
        raise CannotMeasure(f"no stream: {head[:200]!r}")
    return connection


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def die_with_parent() -> None:
    """Should the benchmark be killed, its server must not stay behind."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def serving(contender: Contender, stage: HttpStage) -> Iterator[Serving]:
    """Start a contender's server, wait until it listens, and stop it in the end.

    Raises:
        CannotMeasure: It does not start, or something failed while it was up; with its last words.
    """
    port = free_port()
    command = contender.command(str(port), stage.answer, stage.place)
    with tempfile.TemporaryFile("w+", errors="replace") as complaints:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=complaints,
            stderr=complaints,
            env=environment(models=stage.models),
            preexec_fn=die_with_parent,
        )
        server = Serving(process, port)
        try:
            wait_until_listening(server)
            yield server
        except (CannotMeasure, OSError, HTTPException) as why:
            complaints.seek(0)
            last_words = complaints.read().strip().splitlines()[-1:]
            raise CannotMeasure("; ".join([str(why) or repr(why), *last_words])) from why
        finally:
            for stream in server.streams:
                stream.close()
            process.kill()
            process.wait()


def wait_until_listening(server: Serving) -> None:
    deadline = time.monotonic() + START_DEADLINE
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            raise CannotMeasure(f"the server ended with {server.process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", server.port), timeout=1).close()
        except OSError:
            time.sleep(0.01)
        else:
            return
    raise CannotMeasure(f"the server does not listen after {START_DEADLINE:.0f} s")


class Measure(Protocol):
    """How one kind of row is measured on a server that runs."""

    def __call__(
        self, server: Serving, workload: Workload, /, *, load: Path, seconds: float
    ) -> Sample: ...


def run_load(server: Serving, calls: HttpCalls, *, load: Path, seconds: float) -> Outcome:
    sessions: list[str] = []
    if calls.has_sessions:
        server.hold_sessions(calls.sessions)
        sessions = server.sessions[: calls.sessions]
    plan = http_plan(
        calls,
        port=server.port,
        pid=server.process.pid,
        sessions=sessions,
        seconds=seconds,
        deadline=LOAD_DEADLINE,
    )
    ended = subprocess.run(
        [str(load)],
        input=plan,
        stdout=subprocess.PIPE,
        text=True,
        timeout=LOAD_DEADLINE + 10,
        check=False,
    )
    if not ended.stdout:
        raise CannotMeasure(f"load ended with {ended.returncode}")
    outcome = msgspec.json.decode(ended.stdout, type=Outcome)
    if outcome.failure is not None:
        raise CannotMeasure(f"{calls.name}: {outcome.failure}")
    return outcome


def measure_rate(server: Serving, calls: HttpCalls, *, load: Path, seconds: float) -> Sample:
    outcome = run_load(server, calls, load=load, seconds=seconds)
    return Sample(outcome.calls / outcome.wall_seconds, beside=cpu_per_call(outcome))


def measure_burst(server: Serving, calls: HttpCalls, *, load: Path, seconds: float) -> Sample:
    outcome = run_load(server, calls, load=load, seconds=SLOW_SECONDS)
    return Sample(outcome.wall_seconds, beside=cpu_per_call(outcome))


def cpu_per_call(outcome: Outcome) -> float:
    return outcome.cpu_seconds / outcome.calls * 1e6


def measure_held(server: Serving, row: HeldMemory, *, load: Path, seconds: float) -> Sample:
    hold = server.hold_sessions
    if row.held == "stream":
        hold = server.hold_streams
        server.hold_sessions(row.before + row.count)  # so that they are not counted
    hold(row.before)
    time.sleep(SETTLING)
    before = server.resident_kib()
    hold(row.before + row.count)
    time.sleep(SETTLING)
    return Sample((server.resident_kib() - before) / row.count)


MEASURES: dict[type[Workload], Measure] = {
    HttpCalls: measure_rate,
    BurstOfCalls: measure_burst,
    HeldMemory: measure_held,
}


class HttpTurns:
    """The servers of a stage, all of them up at once, so that they can take turns at short
    intervals: on a shared machine the next second may be half as fast as this one."""

    def __init__(self, load: Path, stage: HttpStage) -> None:
        self._load = load
        self._stage = stage
        self._open = ExitStack()
        self._servers: dict[str, Serving] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        with suppress(CannotMeasure):  # they were told of it when it happened
            self._open.close()

    def start(self, contender: Contender) -> Measured:
        """Start a contender's server."""
        try:
            server = self._open.enter_context(serving(contender, self._stage))
        except CannotMeasure as why:
            return Measured({}, str(why))
        self._servers[contender.name] = server
        return Measured({})

    def measure(self, contender: Contender, workload: Workload, *, seconds: float) -> Measured:
        """One turn of a contender."""
        server = self._servers[contender.name]
        try:
            sample = MEASURES[type(workload)](server, workload, load=self._load, seconds=seconds)
        except (CannotMeasure, OSError, HTTPException) as why:
            return Measured({}, str(why) or repr(why))
        return Measured({workload: [sample]})
