"""`toolhaft ps`: which processes are attached."""

import json
import signal
import socket
from pathlib import Path

from tests.attaching.fixtures import Start
from tests.attaching.living import STAY
from tests.toolhaft_bridge.bridges import ps

from toolhaft.cli.commands import ps as cli_ps
from toolhaft.process.sockets import locked


def test_ps_lists_who_is_attached(program: Start, bridge: Start, places: Path) -> None:
    """E-57: what is set up can be seen."""
    living = program(STAY)
    bridge("notes")
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(places / "toolhaft" / "gone.sock"))
    stale.close()
    text = ps()
    after = ps("--json")

    # Others may be attached on this machine.
    head, *listed = text.splitlines()
    [gone, notes] = [line for line in listed if line.split()[0] in ("gone", "notes")]
    assert head.split() == ["NAME", "PID", "SERVER", "VERSION", "SINCE", "CLIENTS"]
    assert gone == "gone   (its process has ended; removed)"
    assert notes.split()[:4] == ["notes", str(living.pid), "notes", "1.0.0"]
    assert notes.split()[-1] == "1"
    [found] = [each for each in json.loads(after) if each["name"] == "notes"]
    assert found["state"] == "attached"
    assert found["socket"] == f"{places}/toolhaft/notes.sock"


def test_ps_removes_nothing_while_another_makes_its_socket(places: Path) -> None:
    path = places / "toolhaft" / "young.sock"
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as young, locked(str(path), 1):
        young.bind(str(path))
        said = ps()
        young.listen()

        assert path.is_socket()
    assert "young  (its process has ended; not removed: another program has locked" in said


def test_ps_sees_who_listens_by_now(places: Path) -> None:
    path = places / "toolhaft" / "young.sock"
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as young:
        young.bind(str(path))
        young.listen()
        found = cli_ps._removed(str(path))

    assert found["state"] == "silent"
    assert path.is_socket()


def test_ps_without_anybody() -> None:
    assert ps() == "no process is attached; server.attach() in a process of yours does it\n"
    assert json.loads(ps("--json")) == []


def test_ps_of_somebody_who_does_not_answer(program: Start) -> None:
    living = program(STAY)
    living.signal(signal.SIGSTOP)
    said = ps()
    living.signal(signal.SIGCONT)

    assert "notes  (no answer within 2 s)" in said
