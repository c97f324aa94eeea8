"""Files that a user names are written, and not what a link of that name points to."""

import asyncio
import os
import stat
import sys
from pathlib import Path

import pytest

from toolhaft import Server
from toolhaft.cli import main
from toolhaft.testing import Client, record
from toolhaft.testing.contracts.contract import write_contract
from toolhaft.traffic import TrafficLog
from toolhaft_bridge.outputs import open_log, open_to_write, replace
from toolhaft_bridge.traffic import Traffic

SERVER = """\
from toolhaft import Server

server = Server("notes", version="1")

@server.resource("notes://one")
def one() -> str:
    return "remote"
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def link(tmp_path: Path) -> Path:
    """A link, as a repository may contain it, to a file of the user."""
    (tmp_path / "precious").write_text("mine")
    link = tmp_path / "link"
    link.symlink_to("precious")
    return link


def test_a_file_is_written_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("something longer")

    replace(str(path), b"new")

    assert path.read_bytes() == b"new"


def test_a_link_to_a_file_is_refused_and_nothing_is_lost(link: Path) -> None:
    with pytest.raises(OSError, match="symbolic link; give the name of the file"):
        replace(str(link), b"new")

    assert link.read_text() == "mine"


def test_a_link_to_nothing_makes_no_file(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("authorized_keys")

    with pytest.raises(FileNotFoundError, match="it is a symbolic link to a file that does not"):
        replace(str(link), b"new")

    assert not (tmp_path / "authorized_keys").exists()


def test_a_link_to_what_is_no_file_is_followed(tmp_path: Path) -> None:
    """As `/dev/stderr` is."""
    ear, mouth = os.pipe()
    link = tmp_path / "link"
    link.symlink_to(f"/proc/self/fd/{mouth}")

    os.close(opened := open_to_write(str(link), os.O_WRONLY | os.O_TRUNC))
    replace(str(link), b"heard")

    assert opened >= 0
    assert os.read(ear, 9) == b"heard"
    for each in (ear, mouth):
        os.close(each)


@pytest.mark.parametrize("before", [0o644, 0o660, 0o604, 0o400 | 0o200])
def test_a_log_that_is_there_already_is_from_now_on_for_its_owner(
    tmp_path: Path, before: int
) -> None:
    path = tmp_path / "log"
    path.write_text("earlier\n")
    path.chmod(before)

    log = TrafficLog(path)
    log.open()
    log.close()
    first = mode(path)
    path.chmod(before)
    Traffic(str(path)).event("bye")

    assert (first, mode(path)) == (0o600, 0o600)
    assert path.read_text().startswith("earlier\n")


def test_a_log_of_others_that_all_may_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    path.touch(0o644)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chmod", refuse)
    monkeypatch.setattr(os, "supports_fd", {refuse})
    with pytest.raises(OSError, match="other users can read it"):
        open_log(str(path))


def test_a_traffic_log_is_not_written_through_a_link(link: Path) -> None:
    with pytest.raises(OSError, match="symbolic link"):
        TrafficLog(link).open()
    with pytest.raises(OSError, match="symbolic link"):
        Traffic(str(link))

    assert link.read_text() == "mine"


def test_a_contract_is_not_written_through_a_link(link: Path) -> None:
    with pytest.raises(OSError, match="symbolic link"):
        write_contract(link, {"tools": []})

    assert link.read_text() == "mine"


async def recorded(path: Path) -> None:
    async with record(Client(Server("notes", version="1")), path):
        pass


def test_a_recording_is_not_written_through_a_link(link: Path) -> None:
    with pytest.raises(OSError, match="symbolic link"):
        asyncio.run(recorded(link))

    assert link.read_text() == "mine"


def test_what_a_server_sends_is_not_written_through_a_link(
    link: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "notes.py").write_text(SERVER)
    notes = str(tmp_path / "notes.py")

    status = main(["read", notes, "notes://one", "--output", str(link)])

    assert (status, link.read_text()) == (2, "mine")
    assert "symbolic link" in capfd.readouterr().err
