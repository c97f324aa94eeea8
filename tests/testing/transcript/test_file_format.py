"""Transcripts as texts, and texts that are none."""

from pathlib import Path

import pytest
from tests.testing.offering import make
from tests.transcripts.runner import parse

from toolhaft.testing import BadTranscript, replay


async def test_a_transcript_may_do_something_to_the_server(tmp_path: Path) -> None:
    server = make()
    path = tmp_path / "changes.txt"
    path.write_text(
        "# Changes are told.\n@ revision 2025-11-25\n! remove add\n"
        '< {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}}\n'
    )

    await replay(path, server, directives={"remove": server.remove_tool})
    with pytest.raises(BadTranscript, match="nobody knows how to 'remove'; known are leave"):
        await replay(path, make())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("> {", r"bad.txt:2: not JSON: Expecting"),
        ('> {}\n< {"a"', r"bad.txt:3: not JSON: Expecting"),
        ("@ can {\n> {}", r"bad.txt:2: not JSON: Expecting"),
        ("@ revision 2020\n> {}", r"bad.txt:2: no such revision: '2020'; there are .*handshake"),
        ('> {"a": "$state"}', r"bad.txt:2: nothing was captured as \$state"),
    ],
    ids=["sent", "expected", "option", "revision", "capture"],
)
async def test_what_cannot_be_read_is_told_by_its_line(
    tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(f"# Bad.\n{text}\n")

    with pytest.raises(BadTranscript, match=words):
        await replay(path, make())


@pytest.mark.parametrize(
    "text", ["", "# nothing", "? what", "@ colour red\n<- nothing", "@ revision 1999\n<- nothing"]
)
def test_an_unreadable_transcript_is_refused(text: str) -> None:
    with pytest.raises(BadTranscript):
        parse(text, "bad.txt")
