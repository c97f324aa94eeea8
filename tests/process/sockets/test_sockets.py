"""Unix sockets: who has the name, and who removes the file."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.attaching.fixtures import Dial, Start
from tests.attaching.hosted import entries
from tests.attaching.living import STAY

from toolhaft import Server
from toolhaft.process.sockets import UnixSocket, locked
from toolhaft.transports.attach import host


def test_a_name_that_is_taken_is_refused(server: Server, places: Path) -> None:
    """E-1: a second start."""
    with server.attach("a") as attached:
        with pytest.raises(OSError, match=r"attached as 'a' already.*name='a-\{pid\}'"):
            Server("other").attach("a")
        with pytest.raises(OSError, match="somebody else does"):
            Server("other").attach(socket=attached.socket)

        assert attached.attached
        assert entries(places) == ["a.sock"]


def test_what_a_dead_process_left_is_removed(server: Server, program: Start, dial: Dial) -> None:
    dead = program(STAY)
    dead.signal(signal.SIGKILL)
    dead.ends()
    with server.attach("notes") as attached:
        wire = dial(attached.socket)

        assert wire.first["pid"] == os.getpid()


def test_a_directory_that_another_has_locked_is_named(
    server: Server, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "_PATIENCE", 0.05)
    with locked(str(places / "x"), 1), pytest.raises(OSError, match="another program has locked"):
        server.attach(socket=places / "x")


def test_a_socket_is_removed_once(places: Path) -> None:
    """The number of its file may be given to the next one."""
    unix = UnixSocket(str(places / "x"))
    unix.remove()
    (places / "x").touch()
    unix._inode = (places / "x").stat().st_ino
    unix.remove()
    unix.socket.close()

    assert (places / "x").exists()


def test_what_is_no_socket_is_left_alone(server: Server, places: Path) -> None:
    (places / "file").write_text("precious")
    with pytest.raises(OSError, match="no socket"):
        server.attach(socket=places / "file")

    assert (places / "file").read_text() == "precious"


def test_sockets_are_not_given_to_children(server: Server) -> None:
    def held() -> bytes:
        """The descriptors that a child gets."""
        code = "import os; print(os.listdir('/proc/self/fd'))"
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, capture_output=True, check=True, close_fds=False, timeout=30
        ).stdout

    before = held()
    with server.attach() as attached, socket.socket(socket.AF_UNIX) as wire:
        wire.connect(attached.socket)

        assert held() == before
