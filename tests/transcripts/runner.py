"""Plays the transcripts of this folder: `toolhaft.testing` replays them against the fixture server.

Beside what every transcript may say, these have two options and some directives:

    @ page_size 2            an option of the fixture server
    @ only add echo          register only these functions of the fixture server
    ! add_tool extra         something happens in the server; see `DIRECTIVES`
"""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
from tests.transcripts import server as fixture

from toolhaft import Server
from toolhaft.testing.transcript.file_format import Transcript
from toolhaft.testing.transcript.file_format import parse as parse_any
from toolhaft.testing.transcript.player import perform

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


def read(path: Path) -> list[Transcript]:
    """Read a file: one transcript for each revision that it names."""
    return parse(path.read_text(encoding="utf-8"), path.name)


def parse(text: str, name: str) -> list[Transcript]:
    """The same for a text."""
    found = parse_any(text, name, options=("page_size", "only"))
    return [msgspec.structs.replace(each, stamp=STAMP) for each in found]


async def play(transcript: Transcript) -> None:
    """Play a transcript against a new fixture server.

    Raises:
        Mismatch: the server did something else; the message says in which line, and what.
    """
    gate = asyncio.Event()
    options = transcript.options
    page_size = int(options["page_size"]) if "page_size" in options else None
    only = frozenset(options["only"].split()) if "only" in options else None
    server = fixture.make(page_size, only=only, gate=gate)
    directives = {verb: partial(act, server) for verb, act in DIRECTIVES.items()}
    await perform(
        transcript, server, directives={**directives, "open_gate": gate.set}, patience=PATIENCE
    )
