"""Where attached processes are found: names, directories, sockets."""

import json
import os
import socket
from pathlib import Path

import pytest
from tests.attaching.fixtures import Bridged, Start
from tests.attaching.living import STAY
from tests.processes.process import line, request
from tests.toolhaft_bridge.bridges import command, left_behind, ps, run

from toolhaft import Server


def test_whoever_is_not_there_is_told_who_is(program: Start, places: Path) -> None:
    program(STAY)
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(places / "toolhaft" / "gone.sock"))
    stale.close()
    asked = line(request(7, "ping"))
    done = run("gone", data=asked)

    told = "no process named 'gone' is attached; attached now: notes"
    assert (done.returncode, done.stderr.decode()) == (2, f"toolhaft: {told}\n")
    # A client that has asked already is told, too.
    assert json.loads(done.stdout) == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": -32603, "message": told},
    }


def test_what_was_left_behind_does_not_hide_who_lives(
    program: Start, bridged: Bridged, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(places / "nowhere"))
    program(STAY)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(places))
    left_behind(places / "toolhaft" / "notes.sock")

    with bridged("notes") as client:
        assert client.call("write", text="a") == 1
    assert command("metrics", "notes").returncode == 0
    states = [each["state"] for each in json.loads(ps("--json")) if each["name"] == "notes"]
    assert states == ["stale", "attached"]


def test_a_directory_that_is_open_to_others_is_named(program: Start, places: Path) -> None:
    program(STAY)
    (places / "toolhaft").chmod(0o755)
    done = run("notes")
    (places / "toolhaft").chmod(0o700)

    assert done.returncode == 2
    assert f"run: chmod 700 {places}/toolhaft" in done.stderr.decode()


def test_a_socket_can_be_named(bridged: Bridged, places: Path) -> None:
    server = Server("named")
    with (
        server.attach(socket=places / "x") as attached,
        bridged("--socket", attached.socket) as client,
    ):
        client.ping()

        assert client.server_info.name == "named"


@pytest.mark.parametrize("name", ["", "a/b", "../a", ".a", "-a", "a b", "x" * 65, "ä"])
def test_a_name_that_is_no_file_name_is_refused(server: Server, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a process"):
        server.attach(name)


def test_a_server_without_letters_needs_a_name() -> None:
    with pytest.raises(ValueError, match=r"'日本', makes no name of a process; give one"):
        Server("日本").attach()


def test_a_path_that_is_too_long_is_refused(server: Server) -> None:
    with pytest.raises(ValueError, match="less than 108 bytes"):
        server.attach(socket="/tmp/" + "x" * 108)


def test_a_directory_that_others_can_use_is_refused(server: Server, places: Path) -> None:
    (places / "toolhaft").mkdir(mode=0o700)
    (places / "toolhaft").chmod(0o750)

    with pytest.raises(OSError, match="chmod 700"):
        server.attach()


def test_a_directory_that_is_a_link_is_refused(server: Server, places: Path) -> None:
    (places / "elsewhere").mkdir(mode=0o700)
    (places / "toolhaft").symlink_to(places / "elsewhere")

    with pytest.raises(OSError, match="no directory"):
        server.attach()


def test_a_directory_of_somebody_else_is_refused(
    server: Server, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (places / "toolhaft").mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: 12345)

    with pytest.raises(OSError, match="belongs to somebody else"):
        server.attach()


def test_a_directory_that_cannot_be_made_is_named(
    server: Server, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.setenv(variable, str(places / "nowhere"))
    with pytest.raises(OSError, match=r"cannot make .*/nowhere/.*; set XDG_RUNTIME_DIR to"):
        server.attach()


def test_without_a_runtime_directory_there_is_one_for_temporary_files(
    server: Server, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(places / "missing"))

    with server.attach() as attached:
        assert attached.socket == f"{places}/toolhaft-{os.getuid()}/my-notes.sock"
