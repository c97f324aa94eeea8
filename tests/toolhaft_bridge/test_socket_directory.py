"""Where attached processes are found: names, directories, sockets."""

import json
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
