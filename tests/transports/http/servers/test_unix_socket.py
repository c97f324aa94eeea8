"""Serving at a Unix socket: for its owner only, and nobody else's file is harmed."""

import os
import signal
import socket
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.processes.process import PATIENCE
from tests.transports.http.servers.web import (
    Connection,
    Site,
    by_command,
    calls,
    eventually,
    listens,
    posting,
    write,
)  # fmt: skip

from toolhaft.testing import SyncClient

PLAIN = """
@server.tool
def hello() -> str:
    return "hello"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the socket is to be."""
    return tmp_path / "tested.sock"


@pytest.fixture
def serve_at(tmp_path: Path) -> Iterator[Callable[[Path], Site]]:
    """Start a server at a path, and wait until it is there."""
    with ExitStack() as stack:

        def start(path: Path) -> Site:
            command = by_command(write(tmp_path, PLAIN), "--uds", str(path))
            site = stack.enter_context(Site(command, cwd=tmp_path))
            stack.callback(site.close_all)
            site.hears("serving at ")
            eventually(lambda: is_answered(path), "an answer")
            return site

        yield start


def connect(path: Path) -> Connection:
    """A connection to a socket in the file system."""
    plain = socket.socket(socket.AF_UNIX)
    try:
        plain.connect(str(path))
    except OSError:
        plain.close()
        raise
    return Connection(plain)


def is_answered(path: Path) -> bool:
    """Is there a server?"""
    with SyncClient.http("http://localhost/mcp", uds=path) as client:
        return bool(client.call("hello") == "hello")


def refused(tmp_path: Path, path: Path) -> "subprocess.CompletedProcess[str]":
    """A server that cannot listen there."""
    command = by_command(write(tmp_path, PLAIN, "other.py"), "--uds", str(path))
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


Start = Callable[[Path], Site]


def test_only_its_owner_can_use_the_socket(serve_at: Start, path: Path) -> None:
    site = serve_at(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert f"serving at unix:{path}" in site.stderr


def test_the_socket_is_removed_at_the_end(serve_at: Start, path: Path) -> None:
    site = serve_at(path)
    with connect(path) as connection:
        connection.send(posting(listens()))
        connection.head()
        assert connection.next()["method"] == "notifications/subscriptions/acknowledged"

        site.signal(signal.SIGTERM)

        assert connection.next()["id"] == "listen"
    assert site.ends() == 0
    assert not path.exists()
    assert "Traceback" not in site.stderr


def test_any_name_is_good_for_who_can_open_the_socket(serve_at: Start, path: Path) -> None:
    serve_at(path)

    with connect(path) as connection:
        assert connection.post(calls("hello"), {"Host": "anything"}).text == "hello"


def test_a_foreign_page_is_refused_at_a_socket_too(serve_at: Start, path: Path) -> None:
    serve_at(path)

    with connect(path) as connection:
        answer = connection.post(calls("hello"), {"Origin": "https://evil.example"})

    assert answer.status == 403


def test_a_socket_that_nobody_listens_to_any_more_is_replaced(serve_at: Start, path: Path) -> None:
    site = serve_at(path)
    site.signal(signal.SIGKILL)
    site.ends()
    assert path.is_socket()

    serve_at(path)

    assert is_answered(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_socket_that_somebody_listens_to_is_left_alone(
    serve_at: Start, path: Path, tmp_path: Path
) -> None:
    serve_at(path)

    done = refused(tmp_path, path)

    assert done.returncode == 2
    assert done.stderr == f"toolhaft: cannot listen at {path}: somebody else does\n"
    assert is_answered(path)


@pytest.mark.parametrize("kind", ["a file", "a folder", "a link"])
def test_what_is_no_socket_is_left_alone(tmp_path: Path, path: Path, kind: str) -> None:
    kept = tmp_path / "kept.txt"
    kept.write_text("kept")
    make: dict[str, Callable[[], object]] = {
        "a file": lambda: path.write_text("kept"),
        "a folder": path.mkdir,
        "a link": lambda: path.symlink_to(kept),
    }
    make[kind]()

    done = refused(tmp_path, path)

    assert done.returncode == 2
    assert done.stderr.startswith(f"toolhaft: cannot listen at {path}")
    assert "Traceback" not in done.stderr
    assert path.is_dir() if kind == "a folder" else path.read_text() == "kept"
    assert kept.read_text() == "kept"


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    done = refused(tmp_path, tmp_path / "missing" / "tested.sock")

    assert done.returncode == 2
    assert f"cannot listen at {tmp_path}/missing/tested.sock: No such file" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_path_that_is_too_long_is_said(tmp_path: Path) -> None:
    done = refused(tmp_path, tmp_path / ("x" * 150))

    assert done.returncode == 2
    assert "too long" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_socket_that_took_the_place_of_ours_is_left_alone(serve_at: Start, path: Path) -> None:
    site = serve_at(path)
    path.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        inode = os.stat(path).st_ino

        assert site.status_after(signal.SIGTERM) == 0

        assert os.stat(path).st_ino == inode
