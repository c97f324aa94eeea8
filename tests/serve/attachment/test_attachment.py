"""What `server.attach` takes and gives."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.attaching.fixtures import Reach
from tests.attaching.hosted import entries, is_served

from toolhaft import Server


def test_it_returns_at_once_and_says_where_it_is(server: Server, places: Path) -> None:
    """E-1: a life span, and no flag of the process."""
    with server.attach() as attached:
        assert attached.name == "my-notes"
        assert attached.socket == f"{places}/toolhaft/my-notes.sock"
        assert repr(attached) == "<Attachment my-notes: 0 clients>"
        assert attached.attached

    assert not attached.attached
    assert repr(attached) == "<Attachment my-notes: detached>"
    assert entries(places) == []


def test_a_second_detach_does_nothing(server: Server) -> None:
    """E-1."""
    attached = server.attach()
    attached.detach()
    attached.detach()

    assert not attached.attached


def test_it_can_be_attached_again(server: Server, reach: Reach) -> None:
    for _ in range(3):
        with server.attach() as attached:
            assert is_served(reach(attached.socket))


def test_it_can_be_attached_under_two_names(server: Server, places: Path) -> None:
    with server.attach("a"), server.attach("b"):
        assert entries(places) == ["a.sock", "b.sock"]


def test_a_pid_can_be_part_of_the_name(server: Server) -> None:
    with server.attach("web-{pid}") as attached:
        assert attached.name == f"web-{os.getpid()}"


def test_a_socket_can_have_any_path(server: Server, places: Path, reach: Reach) -> None:
    with server.attach(socket=places / "x") as attached:
        assert (attached.name, attached.socket) == (None, f"{places}/x")
        assert is_served(reach(attached.socket))
    assert not (places / "x").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": 1}, "the name of a process is a str"),
        ({"name": "a", "socket": "b"}, "a name or a socket"),
        ({"init": 1}, "init takes a function"),
        ({"stop": "x"}, "stop takes a function"),
        ({"run_on": 1}, "run_on takes an event loop"),
        ({"nme": "a"}, "attach\\(\\) knows no 'nme'; it takes socket, init, stop, run_on"),
    ],
)
def test_wrong_options_are_refused(server: Server, options: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        server.attach(**options)


def test_windows_is_told_that_it_has_to_wait(
    server: Server, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")

    with pytest.raises(NotImplementedError, match="not supported on Windows yet"):
        server.attach()
    monkeypatch.undo()
    assert list(places.iterdir()) == []
