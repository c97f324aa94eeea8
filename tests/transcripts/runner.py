r"""Reads a transcript and plays it against a server, in memory.

A transcript is a text file, one rule of the protocol each. Its lines:

    # comment                the first one is the rule
    @ revision 2025-11-25    shake hands silently before the script; several revisions play the
                             script once for each; `handshake` is all that have a handshake;
                             2026-07-28 has none, so nothing is sent for it
    @ page_size 2            an option of the fixture server
    @ only add echo          register only these functions of the fixture server
    @ can {"roots": {}}      capabilities of the client; only one that has some may be sent requests
    > {"json": 1}            send this line
    >> {"x": "\xff"}         send these bytes; \xNN, \\, \r, \t are escapes
    < {"json": 1}            the next line that arrives
    <* {"json": 1}           one of the next lines; neighbours may arrive in any order
    <- nothing               nothing arrives: a ping is sent, and its answer comes next
    ! add_tool extra         something happens in the server; see `DIRECTIVES`

`${[*100000}` in a sent line stands for 100,000 brackets. In sent JSON, `"_meta": "<envelope>"`
is the least that revision 2026-07-28 asks for, `{"<envelope>": true, …}` the same and more, and
`"$name"` a value that was captured before. On the expected side:

    "<any>"                  any value
    "<contains:word>"        a string with that word in it, whatever the case; `<lacks:word>` is
                             the opposite, and both may be joined: "<contains:x><lacks:y>"
    "<length:3>"             an array of three
    "$name"                  any string, captured for later
    "<stamp>"                as `_meta`: who serves, as each result of 2026-07-28 says
    {"...": "<any>", …}      other members are allowed
    {"name?": value, …}      this member may be absent
    ["<unordered>", …]       the elements may come in any order

Whatever a transcript says, each line that arrives must be one JSON-RPC 2.0 message (or an array
of them) without duplicate keys, and without `null` members outside of what tools return or log;
and after the script nothing more may
arrive, also not when the client closes its side.
"""

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.transcripts import server as fixture

from toolhaft import Server

HANDSHAKE_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_REVISIONS = ("2026-07-28",)
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
STAMP = {
    "io.modelcontextprotocol/serverInfo": {
        "name": "fixture",
        "title": "Fixture",
        "version": "1.2.3",
        "description": "A server for transcripts.",
        "websiteUrl": "https://example.org/",
        "icons": [
            {"src": "https://example.org/icon.png", "mimeType": "image/png", "sizes": ["48x48"]}
        ],
    }
}
PATIENCE = 5.0
"""Seconds after which a line that has not come is missing."""

Json = Any


class Mismatch(AssertionError):
    """The server did not do what the transcript says."""


class BadTranscript(ValueError):
    """The transcript itself cannot be read."""


@dataclass(frozen=True)
class Step:
    """One line of a transcript: its number, its mark, the rest."""

    number: int
    mark: str
    text: str


@dataclass(frozen=True)
class Transcript:
    """A script for one connection, with what has to be set up before."""

    name: str
    steps: tuple[Step, ...]
    revision: str | None = None
    page_size: int | None = None
    only: frozenset[str] | None = None
    can: Json = None

    @property
    def id(self) -> str:
        """The name that a test report shows."""
        return f"{self.name}@{self.revision}" if self.revision else self.name


# Reading


def read(path: Path) -> list[Transcript]:
    """Read a file: one transcript for each revision that it names."""
    return parse(path.read_text(encoding="utf-8"), path.name)


def parse(text: str, name: str) -> list[Transcript]:
    """Turn the text of a transcript into one script for each revision that it names."""
    transcript = Transcript(name, ())
    revisions: list[str | None] = [None]
    steps: list[Step] = []
    for number, line in enumerate(text.split("\n"), 1):
        mark, _, rest = line.strip().partition(" ")
        if mark == "@":
            option, *values = rest.split()
            if option == "revision":
                revisions = list(_revisions(values))
            else:
                transcript = _with_option(transcript, option, values)
        elif mark in {">", ">>", "<", "<*", "<-", "!"}:
            steps.append(Step(number, mark, rest))
        elif mark and not mark.startswith("#"):
            raise BadTranscript(f"{name}:{number}: what is {mark!r}?")
    if not steps:
        raise BadTranscript(f"{name}: no step")
    return [replace(transcript, steps=tuple(steps), revision=each) for each in revisions]


def _revisions(values: list[str]) -> Iterator[str]:
    for value in values:
        if value == "handshake":
            yield from HANDSHAKE_REVISIONS
        elif value in HANDSHAKE_REVISIONS + STATELESS_REVISIONS:
            yield value
        else:
            raise BadTranscript(f"no such revision: {value}")


def _with_option(transcript: Transcript, option: str, values: list[str]) -> Transcript:
    if option == "page_size":
        return replace(transcript, page_size=int(values[0]))
    if option == "only":
        return replace(transcript, only=frozenset(values))
    if option == "can":
        return replace(transcript, can=json.loads(" ".join(values)))
    raise BadTranscript(f"{transcript.name}: no such option: {option}")


# What is sent

_REPEAT = re.compile(r"\$\{(.+?)\*(\d+)\}")
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|[\\rt])")
_ESCAPES = {b"\\": b"\\", b"r": b"\r", b"t": b"\t"}


def _expand(text: str) -> str:
    return _REPEAT.sub(lambda match: match[1] * int(match[2]), text)


def _raw(text: str) -> bytes:
    def byte(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return _ESCAPES[code] if code in _ESCAPES else bytes([int(code[1:], 16)])

    return _ESCAPE.sub(byte, _expand(text).encode())


def _fill(value: Json, captured: dict[str, Json], envelope: Json) -> Json:
    """Put the envelope and captured values into a message to send."""
    if value == "<envelope>":
        return envelope
    if isinstance(value, str) and value.startswith("$"):
        return captured[value[1:]]
    if isinstance(value, list):
        return [_fill(each, captured, envelope) for each in value]
    if isinstance(value, dict):
        members = {key: each for key, each in value.items() if key != "<envelope>"}
        filled = {key: _fill(each, captured, envelope) for key, each in members.items()}
        return envelope | filled if "<envelope>" in value else filled
    return value


# What is expected

_MATCHERS = re.compile(r"(?:<(?:contains|lacks):[^<>]+>)+")
_MATCHER = re.compile(r"<(contains|lacks):([^<>]+)>")
_LENGTH = re.compile(r"<length:(\d+)>")


@dataclass
class _Comparison:
    """Compares what came with what was expected; remembers where they first differed."""

    captured: dict[str, Json] = field(default_factory=dict)
    complaint: str = ""

    def same(self, expected: Json, got: Json, where: str = "") -> bool:
        if expected == "<any>":
            return True
        if expected == "<stamp>":
            expected = STAMP
        if isinstance(expected, dict) and isinstance(got, dict):
            return self._same_object(expected, got, where)
        if isinstance(expected, list) and isinstance(got, list):
            return self._same_array(expected, got, where)
        if isinstance(expected, str) and self._fits(expected, got):
            return True
        # JSON knows no difference between 1 and true that Python would not blur.
        if type(expected) is type(got) and expected == got:
            return True
        return self._differ(where, f"expected {expected!r}, got {got!r}")

    def _fits(self, expected: str, got: Json) -> bool:
        if expected.startswith("$") and isinstance(got, str):
            self.captured[expected[1:]] = got
            return True
        if match := _LENGTH.fullmatch(expected):
            return isinstance(got, list) and len(got) == int(match[1])
        if _MATCHERS.fullmatch(expected) and isinstance(got, str):
            return all(
                (word.lower() in got.lower()) == (kind == "contains")
                for kind, word in _MATCHER.findall(expected)
            )
        return False

    def _same_object(self, expected: dict[str, Json], got: dict[str, Json], where: str) -> bool:
        if "<stamp>" in expected:
            expected = STAMP | {key: expected[key] for key in expected if key != "<stamp>"}
        others = expected.keys() & {"..."}
        required = {key for key in expected.keys() - others if not key.endswith("?")}
        named = {key.removesuffix("?"): each for key, each in expected.items() if key != "..."}
        if missing := sorted(required - got.keys()):
            return self._differ(where, f"no member {missing[0]!r}")
        if not others and (unknown := sorted(got.keys() - named.keys())):
            return self._differ(where, f"unexpected member {unknown[0]!r}")
        return all(
            self.same(each, got[key], f"{where}.{key}") for key, each in named.items() if key in got
        )

    def _same_array(self, expected: list[Json], got: list[Json], where: str) -> bool:
        if expected and expected[0] == "<unordered>":
            rest = list(got)
            if len(rest) != len(expected) - 1:
                return self._differ(where, f"{len(expected) - 1} elements expected, got {rest!r}")
            for each in expected[1:]:
                found = next((other for other in rest if self.same(each, other, where)), None)
                if found is None:
                    return False
                rest.remove(found)
            return True
        if len(expected) != len(got):
            return self._differ(where, f"{len(expected)} elements expected, got {len(got)}")
        return all(
            self.same(each, other, f"{where}[{index}]")
            for index, (each, other) in enumerate(zip(expected, got, strict=True))
        )

    def _differ(self, where: str, complaint: str) -> bool:
        self.complaint = f"at {where.lstrip('.') or 'the top'}: {complaint}"
        return False


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate keys")
    return members


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def decode(line: bytes) -> Json:
    """Read one line as strictly as a client may."""
    return json.loads(line.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_constant)


def fault_of(message: Json, *, may_ask: bool = False) -> str | None:
    """Say why a message of the server is not one, by rules that hold for every transcript."""
    if isinstance(message, list):
        return next(filter(None, map(fault_of, message)), None) if message else "an empty batch"
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return "not a JSON-RPC 2.0 message"
    if len({"result", "error", "method"} & message.keys()) != 1:
        return "not exactly one of result, error and method"
    if "method" in message and "id" in message and not may_ask:
        return "a request, which this server has no reason to send"
    return "a member is null" if _has_null(message) else None


def _has_null(value: Json, parent: str = "") -> bool:
    if isinstance(value, dict):
        # What a tool returns or logs is its author's, null or not.
        authors = {"structuredContent", "data" if parent == "params" else ""}
        ours = [(key, each) for key, each in value.items() if key not in authors]
        return any(each is None or _has_null(each, key) for key, each in ours)
    return isinstance(value, list) and any(map(_has_null, value))


# Playing

DIRECTIVES: dict[str, Callable[[Server, str], object]] = {
    "add_prompt": lambda server, name: server.add_prompt(fixture.extra, name=name),
    "add_resource": lambda server, uri: server.add_resource(fixture.extra, uri),
    "add_tool": lambda server, name: server.add_tool(fixture.extra, name=name),
    "remove_tool": lambda server, name: server.remove_tool(name),
    "resource_updated": lambda server, uri: server.resource_updated(uri),
}
"""What `!` lines do to the server.

Besides, `! open_gate` lets the tools `hold` and `trail` go on, and `! leave` closes the client's
side, which otherwise happens after the last line.
"""


async def play(transcript: Transcript) -> None:
    """Play a transcript against a new fixture server.

    Raises:
        Mismatch: the server did something else; the message says in which line, and what.
    """
    gate = asyncio.Event()
    server = fixture.make(transcript.page_size, only=transcript.only, gate=gate)
    async with _connected(server) as connection:
        player = _Player(transcript, server, gate, connection)
        await player.shake_hands()
        await player.play()
        await player.end()


@dataclass
class _Connection:
    """Both ends of a pipe in memory, one of them served."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    server_writer: asyncio.StreamWriter
    serving: "asyncio.Task[None]"

    async def send(self, line: bytes) -> None:
        self.writer.write(line + b"\n")
        await self.writer.drain()

    async def receive(self) -> bytes:
        """Take the next line that the server has written."""
        reading = asyncio.create_task(self.reader.readline())
        waiting = {reading, self.serving}
        await asyncio.wait(waiting, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if self.serving.done():
            self.server_writer.close()  # so that the pipe ends behind the last line
            await asyncio.wait({reading}, timeout=PATIENCE)
        if reading.done() and (line := reading.result()):
            return line
        reading.cancel()
        raise Mismatch(f"the end: {self.serving!r}" if self.serving.done() else "nothing came")

    async def rest(self) -> bytes:
        """Wait for the server to stop, and return what it still had to say."""
        done, _ = await asyncio.wait({self.serving}, timeout=PATIENCE)
        if not done:
            raise Mismatch("the server goes on after the client has left")
        self.serving.result()
        self.server_writer.close()
        return await self.reader.read()


@asynccontextmanager
async def _connected(server: Server) -> AsyncIterator[_Connection]:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours, limit=2**26)
    server_reader, server_writer = await asyncio.open_connection(sock=theirs)
    serving = asyncio.create_task(server.serve(server_reader, server_writer))
    try:
        yield _Connection(reader, writer, server_writer, serving)
    finally:
        serving.cancel()
        await asyncio.wait({serving})
        for each in (writer, server_writer):
            each.close()
            with suppress(ConnectionError):
                await each.wait_closed()


@dataclass
class _Player:
    """One performance of a transcript."""

    transcript: Transcript
    server: Server
    gate: asyncio.Event
    connection: _Connection
    comparison: _Comparison = field(default_factory=_Comparison)
    probes: int = 0
    left: bool = False

    async def shake_hands(self) -> None:
        revision = self.transcript.revision
        if revision not in HANDSHAKE_REVISIONS:
            return
        client = {"name": "transcript", "version": "1"}
        params = {
            "protocolVersion": revision,
            "capabilities": self.transcript.can or {},
            "clientInfo": client,
        }
        await self._send(_message("initialize", id="handshake", params=params))
        expected = {
            "jsonrpc": "2.0",
            "id": "handshake",
            "result": {"protocolVersion": revision, "...": "<any>"},
        }
        await self._expect([Step(0, "<", json.dumps(expected))])
        await self._send(_message("notifications/initialized"))

    async def play(self) -> None:
        for mark, group in groupby(self.transcript.steps, lambda step: step.mark):
            if mark == "<*":
                await self._expect(list(group))
                continue
            for step in group:
                await self._perform(step)

    async def _perform(self, step: Step) -> None:
        if step.mark == ">":
            await self._send(json.loads(_expand(step.text)))
        elif step.mark == ">>":
            await self.connection.send(_raw(step.text))
        elif step.mark == "<":
            await self._expect([step])
        elif step.mark == "<-":
            await self._expect_nothing(step.number)
        else:
            self._direct(*step.text.split())

    async def end(self) -> None:
        """See that nothing is left over, neither before nor after the client leaves."""
        last = self.transcript.steps[-1].number
        if not self.left:
            await self._expect_nothing(last)
            self._leave()
        try:
            rest = await self.connection.rest()
        except Mismatch as exc:
            raise self._mismatch(last, "the server stops", str(exc)) from None
        if rest:
            raise self._mismatch(last, "nothing after the end", _shown(rest))

    def _direct(self, verb: str, *words: str) -> None:
        if verb == "open_gate":
            self.gate.set()
        elif verb == "leave":
            self._leave()
        else:
            DIRECTIVES[verb](self.server, *words)

    def _leave(self) -> None:
        self.left = True
        self.connection.writer.write_eof()

    async def _send(self, message: Json) -> None:
        can = {"io.modelcontextprotocol/clientCapabilities": self.transcript.can or {}}
        filled = _fill(message, self.comparison.captured, ENVELOPE | can)
        await self.connection.send(json.dumps(filled, ensure_ascii=False).encode())

    async def _expect(self, steps: list[Step]) -> None:
        """Take as many lines as there are steps; each step must fit one of them."""
        open_steps = list(steps)
        while open_steps:
            got = await self._receive(open_steps[0].number, open_steps[0].text)
            for step in open_steps:
                if self.comparison.same(json.loads(step.text), got):
                    open_steps.remove(step)
                    break
            else:
                first = open_steps[0]
                problem = self.comparison.complaint if len(open_steps) == 1 else "fits none"
                raise self._mismatch(first.number, first.text, f"{json.dumps(got)}\n  {problem}")

    async def _expect_nothing(self, number: int) -> None:
        self.probes += 1
        probe = f"probe {self.probes}"
        await self._send(_message("ping", id=probe))
        got = await self._receive(number, "nothing but the answer to a ping")
        if got != {"jsonrpc": "2.0", "id": probe, "result": {}}:
            raise self._mismatch(number, "nothing but the answer to a ping", json.dumps(got))

    async def _receive(self, number: int, expected: str) -> Json:
        try:
            line = await self.connection.receive()
        except Mismatch as exc:
            raise self._mismatch(number, expected, str(exc)) from None
        try:
            message = decode(line)
        except ValueError as exc:
            raise self._mismatch(number, expected, f"{_shown(line)}\n  {exc}") from None
        if fault := fault_of(message, may_ask=self.transcript.can is not None):
            raise self._mismatch(number, expected, f"{_shown(line)}\n  {fault}")
        return message

    def _mismatch(self, number: int, expected: str, got: str) -> Mismatch:
        place = f"{self.transcript.name}:{number}"
        if self.transcript.revision:
            place += f" ({self.transcript.revision})"
        return Mismatch(f"{place}\n  expected {expected}\n  got      {got}")


def _message(method: str, **members: Json) -> Json:
    return {"jsonrpc": "2.0", "method": method, **members}


def _shown(line: bytes) -> str:
    """A line as a failure shows it, cut if it is long."""
    return repr(line if len(line) <= 2000 else line[:2000] + b"...")
