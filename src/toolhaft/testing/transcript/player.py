"""Replay a transcript: send what it sends, and see that what comes is what it says."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from itertools import groupby
from typing import Any, TypeAlias

from ...client.channel import encoded
from ...client.failures import NoAnswer
from ...client.json_shapes import as_object, parsed
from ...client.request_meta import opening
from ...client.transport import Transport
from ...protocol.revisions import REVISIONS
from ...server.server import Server
from ..client import Client
from ..memory_pipe import Pipe
from ..requests import INFO
from .comparison import Comparison, decode, fault_of
from .file_format import BadTranscript, Step, Transcript, expanded, filled, raw, read

Json: TypeAlias = Any
# What `!` lines do, by their first word; they are given the others.
Directives: TypeAlias = Mapping[str, Callable[..., object]]

PATIENCE = 5.0
_SHOWN = 2000


class Mismatch(AssertionError):
    """The server did not do what the transcript says; the message says in which line, and what."""


async def replay(
    path: str | os.PathLike[str],
    target: Server | Client,
    *,
    directives: Directives | None = None,
    patience: float = PATIENCE,
) -> None:
    """Replay a file, once for each revision that it names.

    Args:
        target: a server, or a client that is not open yet, for servers that are elsewhere.
        directives: what `!` lines do.
        patience: seconds after which a line that has not come is missing.

    Raises:
        Mismatch: the server does something else.
        BadTranscript: the file cannot be read.
    """
    for transcript in read(path):
        await perform(transcript, target, directives=directives, patience=patience)


async def perform(
    transcript: Transcript,
    target: Server | Client,
    *,
    directives: Directives | None = None,
    patience: float = PATIENCE,
) -> None:
    """The same for one transcript."""
    transport = target.transport() if isinstance(target, Client) else Pipe(target.serve)
    performance = _Performance(transcript, transport, directives or {}, patience)
    try:
        await performance.begin()
        await performance.play()
        await performance.end()
    finally:
        await performance.close()


class _Performance:
    def __init__(
        self, transcript: Transcript, transport: Transport, directives: Directives, patience: float
    ) -> None:
        self._transcript = transcript
        self._transport = transport
        self._directives = directives
        self._patience = patience
        self._comparison = Comparison(transcript.stamp)
        self._frames: asyncio.Queue[bytes | Exception] = asyncio.Queue()
        self._probes = 0
        self._has_left = False
        self._is_closed = False

    async def begin(self) -> None:
        opening = self._transport.open(
            self._frames.put_nowait, lambda _, error: self._frames.put_nowait(error)
        )
        await self._in_time(opening, 0, "a server")
        if self._transcript.shakes_hands:
            await self._shake_hands(str(self._transcript.revision))

    async def _shake_hands(self, revision: str) -> None:
        can: dict[str, Any] = self._transcript.can or {}
        params = {**opening(REVISIONS[revision], {}, INFO), "capabilities": can}
        await self._send(_message("initialize", id="handshake", params=params), 0)
        result = {"protocolVersion": revision, "...": "<any>"}
        expected = {"jsonrpc": "2.0", "id": "handshake", "result": result}
        await self._expect([Step(0, "<", json.dumps(expected))])
        await self._send(_message("notifications/initialized"), 0)

    async def play(self) -> None:
        for mark, group in groupby(self._transcript.steps, lambda step: step.mark):
            if mark == "<*":
                await self._expect(list(group))
                continue
            for step in group:
                await self._perform(step)

    async def _perform(self, step: Step) -> None:
        if step.mark == ">":
            await self._send(json.loads(expanded(step.text)), step.number)
        elif step.mark == ">>":
            await self._send_bytes(raw(step.text), step.number)
        elif step.mark == "<":
            await self._expect([step])
        elif step.mark == "<-":
            await self._expect_nothing(step.number)
        else:
            self._direct(step)

    async def end(self) -> None:
        """See that nothing is left over, neither before nor after the client leaves."""
        last = self._transcript.steps[-1].number
        if not self._has_left:
            await self._expect_nothing(last)
        try:
            await self.close()
        except NoAnswer as error:
            raise self._mismatch(last, "the server stops", str(error)) from None
        while not self._frames.empty():
            frame = self._frames.get_nowait()
            if isinstance(frame, bytes):
                raise self._mismatch(last, "nothing after the end", _shown(frame))

    async def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            await self._transport.close()

    def _direct(self, step: Step) -> None:
        verb, *words = step.text.split()
        if verb == "leave":
            self._has_left = True
            self._transport.leave()
        elif verb in self._directives:
            self._directives[verb](*words)
        else:
            known = ", ".join(["leave", *self._directives])
            where = f"{self._transcript.name}:{step.number}"
            raise BadTranscript(f"{where}: nobody knows how to {verb!r}; known are {known}")

    async def _send(self, message: Json, number: int) -> None:
        meta = self._transcript.meta()
        try:
            whole = filled(message, self._comparison.captured, meta)
        except BadTranscript as error:
            raise BadTranscript(f"{self._transcript.name}:{number}: {error}") from None
        sending = self._transport.send(encoded(whole), whole)
        await self._in_time(sending, number, "a server that takes what is sent")

    async def _send_bytes(self, frame: bytes, number: int) -> None:
        try:
            message = parsed(frame)
        except ValueError:
            message = None
        sending = self._transport.send(frame, message)
        await self._in_time(sending, number, "a server that takes what is sent")

    async def _in_time(self, doing: Awaitable[None], number: int, expected: str) -> None:
        try:
            async with asyncio.timeout(self._patience):
                await doing
        except TimeoutError:
            got = f"nothing within {self._patience:g} seconds"
            raise self._mismatch(number, expected, got) from None

    async def _expect(self, steps: list[Step]) -> None:
        """Take as many lines as there are steps; each step must fit one of them."""
        open_steps = list(steps)
        while open_steps:
            got = await self._receive(open_steps[0].number, open_steps[0].text)
            for step in open_steps:
                if self._comparison.same(json.loads(step.text), got):
                    open_steps.remove(step)
                    break
            else:
                first = open_steps[0]
                problem = self._comparison.complaint if len(open_steps) == 1 else "fits none"
                raise self._mismatch(first.number, first.text, f"{json.dumps(got)}\n  {problem}")

    async def _expect_nothing(self, number: int) -> None:
        """What a server still has to say comes before its answer to a ping, whatever that is."""
        self._probes += 1
        probe = f"probe {self._probes}"
        await self._send(_message("ping", id=probe), number)
        got = await self._receive(number, "nothing but the answer to a ping")
        if (as_object(got) or {}).get("id") != probe:
            raise self._mismatch(number, "nothing but the answer to a ping", json.dumps(got))

    async def _receive(self, number: int, expected: str) -> Json:
        try:
            async with asyncio.timeout(self._patience):
                frame = await self._frames.get()
        except TimeoutError:
            raise self._mismatch(number, expected, "nothing came") from None
        if isinstance(frame, Exception):
            raise self._mismatch(number, expected, str(frame)) from None
        try:
            message = decode(frame)
        except ValueError as error:
            raise self._mismatch(number, expected, f"{_shown(frame)}\n  {error}") from None
        if fault := fault_of(message, may_ask=self._transcript.can is not None):
            raise self._mismatch(number, expected, f"{_shown(frame)}\n  {fault}")
        self._look_for_revision(message)
        return message

    def _look_for_revision(self, message: Json) -> None:
        result = as_object((as_object(message) or {}).get("result")) or {}
        if "protocolVersion" in result:
            self._transport.agreed(str(result["protocolVersion"]))

    def _mismatch(self, number: int, expected: str, got: str) -> Mismatch:
        place = f"{self._transcript.name}:{number}"
        if self._transcript.revision:
            place += f" ({self._transcript.revision})"
        return Mismatch(f"{place}\n  expected {expected}\n  got      {got}")


def _message(method: str, **members: Json) -> Json:
    return {"jsonrpc": "2.0", "method": method, **members}


def _shown(line: bytes) -> str:
    """A line as a failure shows it, cut if it is long."""
    return repr(line if len(line) <= _SHOWN else line[:_SHOWN] + b"...")
