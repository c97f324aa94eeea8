"""`toolhaft read`, in a process of its own."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.running import toolhaft, write_server

REVISIONS = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]


READABLE = """
    @server.resource("notes://text")
    def text() -> str:
        return "no end of line"

    @server.resource("notes://bytes", mime_type="image/gif")
    def bytes_() -> bytes:
        return b"GIF\\x00\\xff"

    @server.resource("notes://both")
    def both() -> list[Any]:
        return [b"\\xff", "one", "two\\n"]
"""


@pytest.mark.parametrize("revision", [REVISIONS[0], REVISIONS[-1]])
@pytest.mark.parametrize(
    ("uri", "data"),
    [
        ("notes://text", b"no end of line"),
        ("notes://bytes", b"GIF\x00\xff"),
        ("notes://both", b"\xffone\ntwo\n"),
    ],
)
def test_a_resource_is_written_byte_for_byte(
    tmp_path: Path, uri: str, data: bytes, revision: str
) -> None:
    write_server(tmp_path, READABLE)
    command = [sys.executable, "-m", "toolhaft", "read", "author.py", uri, "--revision", revision]

    piped = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=30, check=True)
    saved = subprocess.run(
        [*command, "-o", "file"], cwd=tmp_path, capture_output=True, timeout=30, check=True
    )

    assert (piped.stdout, piped.stderr) == (data, b"")
    assert (saved.stdout, saved.stderr) == (b"", b"")
    assert (tmp_path / "file").read_bytes() == data


@pytest.mark.parametrize(
    ("uri", "out", "err"),
    [
        ("notes://text", "no end of line\r\n", ""),
        ("notes://bytes", "", "[image/gif, 5 bytes]; -o FILE writes them to a file\n"),
    ],
)
def test_a_terminal_gets_lines_and_no_bytes(tmp_path: Path, uri: str, out: str, err: str) -> None:
    write_server(tmp_path, READABLE)
    ours, theirs = pty.openpty()

    done = subprocess.run(
        [sys.executable, "-m", "toolhaft", "read", "author.py", uri],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=30,
        check=True,
    )
    os.write(theirs, b"end")
    shown = b""
    while not shown.endswith(b"end"):
        shown += os.read(ours, 1000)
    os.close(ours)
    os.close(theirs)

    assert (shown.decode(), done.stderr) == (f"{out}end", err)


def test_a_resource_as_json(tmp_path: Path) -> None:
    write_server(tmp_path, READABLE)

    done = toolhaft("read", "author.py", "notes://bytes", "--json", cwd=tmp_path)

    [contents] = json.loads(done.stdout)["contents"]
    assert contents == {"uri": "notes://bytes", "blob": "R0lGAP8=", "mimeType": "image/gif"}


@pytest.mark.parametrize("revision", [REVISIONS[0], REVISIONS[-1]])
def test_a_resource_that_is_not_there_is_refused(tmp_path: Path, revision: str) -> None:
    write_server(tmp_path, READABLE)

    done = toolhaft("read", "author.py", "notes://x", "--revision", revision, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("toolhaft: resource not found: 'notes://x'; there are notes://")
