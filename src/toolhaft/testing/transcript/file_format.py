r"""Transcripts: what a client sends and what a server must answer, as a text that people can read.

Its lines:

    # comment                the first one is the rule that the transcript shows
    @ revision 2025-11-25    shake hands silently before the script; several revisions play the
                             script once for each; `handshake` is all that have a handshake;
                             2026-07-28 has none, so nothing is sent for it
    @ can {"roots": {}}      capabilities of the client; only one that has some may be sent requests
    @ envelope {"x": 1}      what `<envelope>` stands for, if it is not the least that there must be
    @ stamp {"x": 1}         what `<stamp>` stands for: who serves, as results of 2026-07-28 say
    > {"json": 1}            send this line
    >> {"x": "\xff"}         send these bytes; \xNN, \\, \r, \t are escapes
    < {"json": 1}            the next line that arrives
    <* {"json": 1}           one of the next lines; neighbours may arrive in any order
    <- nothing               nothing arrives: a ping is sent, and its answer comes next
    ! leave                  the client ends its side; what else may happen is up to who replays

`${[*100000}` in a sent line stands for 100,000 brackets. In sent JSON, `"_meta": "<envelope>"`
is what each request of revision 2026-07-28 says of its client, `{"<envelope>": true, …}` the same
and more, and `"$name"` a value that was captured before. On the expected side:

    "<any>"                  any value
    "<contains:word>"        a string with that word in it, whatever the case; `<lacks:word>` is
                             the opposite, and both may be joined: "<contains:x><lacks:y>"
    "<length:3>"             an array of three
    "$name"                  any string, captured for later
    "<stamp>"                as `_meta`, the stamp; `{"<stamp>": true, …}` the same and more
    {"...": "<any>", …}      other members are allowed
    {"name?": value, …}      this member may be absent
    ["<unordered>", …]       the elements may come in any order

Whatever a transcript says, each line that arrives must be one JSON-RPC 2.0 message (or an array
of them) without duplicate keys, and without `null` members outside of what tools return or log;
and after the script nothing more may arrive, also not when the client closes its side.
"""

import json
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from ...client.json_shapes import as_list, as_object
from ...client.request_meta import CAPABILITIES, VERSION
from ...protocol.revisions import HANDSHAKES, SUPPORTED

Json: TypeAlias = Any

_MARKS: Final = {">", ">>", "<", "<*", "<-", "!"}
_JSON_MARKS: Final = {">", "<", "<*"}
_REPEAT = re.compile(r"\$\{(.+?)\*(\d+)\}")
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|[\\rt])")
_ESCAPES = {b"\\": b"\\", b"r": b"\r", b"t": b"\t"}


class BadTranscript(ValueError):
    """The transcript itself cannot be read."""


class Step(Struct, frozen=True):
    """One line of a transcript: its number, its mark, the rest."""

    number: int
    mark: str
    text: str


class Transcript(Struct, frozen=True):
    """A script for one connection, with what has to be set up before."""

    name: str
    steps: tuple[Step, ...]
    revision: str | None = None
    # Capabilities of the client, if it has any.
    can: Json = None
    envelope: Json = None
    stamp: Json = None
    # Options of whoever replays.
    options: dict[str, str] = msgspec.field(default_factory=dict[str, str])

    @property
    def id(self) -> str:
        """The name that a test report shows."""
        return f"{self.name}@{self.revision}" if self.revision else self.name

    @property
    def shakes_hands(self) -> bool:
        """Does it begin with a handshake that it does not show?"""
        return self.revision in HANDSHAKES

    def meta(self) -> Json:
        """What `<envelope>` stands for."""
        if self.envelope is not None:
            return self.envelope
        return {VERSION: SUPPORTED[0], CAPABILITIES: self.can or {}}


def read(path: str | os.PathLike[str], options: Collection[str] = ()) -> list[Transcript]:
    """Read a file: one transcript for each revision that it names.

    Args:
        options: what may stand after `@` beside what is known here.

    Raises:
        BadTranscript: it is none.
    """
    path = Path(path)
    return parse(path.read_text(encoding="utf-8"), path.name, options)


def parse(text: str, name: str, options: Collection[str] = ()) -> list[Transcript]:
    """Turn the text of a transcript into one script for each revision that it names."""
    known: dict[str, Json] = {}
    own: dict[str, str] = {}
    revisions: list[str | None] = [None]
    steps: list[Step] = []
    for number, line in enumerate(text.split("\n"), 1):
        mark, _, rest = line.strip().partition(" ")
        where = f"{name}:{number}"
        if mark in _MARKS:
            if mark in _JSON_MARKS:
                _decoded(expanded(rest) if mark == ">" else rest, where)
            steps.append(Step(number, mark, rest))
        elif mark == "@":
            option, _, value = rest.strip().partition(" ")
            if option == "revision":
                revisions = list(_revisions(value.split(), where))
            elif option in ("can", "envelope", "stamp"):
                known[option] = _decoded(value, where)
            elif option in options:
                own[option] = value
            else:
                raise BadTranscript(f"{where}: no such option: {option}")
        elif mark and not mark.startswith("#"):
            raise BadTranscript(f"{where}: what is {mark!r}?")
    if not steps:
        raise BadTranscript(f"{name}: no step")
    whole = Transcript(name, tuple(steps), options=own, **known)
    return [msgspec.structs.replace(whole, revision=each) for each in revisions]


def _decoded(text: str, where: str) -> Json:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadTranscript(f"{where}: not JSON: {error}") from None


def _revisions(values: list[str], where: str) -> Iterator[str]:
    for value in values:
        if value == "handshake":
            yield from reversed(HANDSHAKES)
        elif value in SUPPORTED:
            yield value
        else:
            there = ", ".join(["handshake", *SUPPORTED])
            raise BadTranscript(f"{where}: no such revision: {value!r}; there are {there}")


# What is sent


def expanded(text: str) -> str:
    """A line with what it repeats."""
    return _REPEAT.sub(lambda match: match[1] * int(match[2]), text)


def raw(text: str) -> bytes:
    """The bytes that a line stands for."""

    def byte(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return _ESCAPES[code] if code in _ESCAPES else bytes([int(code[1:], 16)])

    return _ESCAPE.sub(byte, expanded(text).encode())


def filled(value: Json, captured: dict[str, Json], envelope: Json) -> Json:
    """A message to send, with the envelope and captured values in it.

    Raises:
        BadTranscript: there is no such value.
    """
    if value == "<envelope>":
        return envelope
    if isinstance(value, str) and value.startswith("$"):
        if value[1:] not in captured:
            raise BadTranscript(f"nothing was captured as {value}")
        return captured[value[1:]]
    if (elements := as_list(value)) is not None:
        return [filled(each, captured, envelope) for each in elements]
    if (given := as_object(value)) is not None:
        members = {
            key: filled(each, captured, envelope)
            for key, each in given.items()
            if key != "<envelope>"
        }
        return {**envelope, **members} if "<envelope>" in given else members
    return value
