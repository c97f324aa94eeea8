"""What a bridge says first, and how it is answered."""

import os
import sys

import pytest
from tests.attaching.fixtures import Dial

from toolhaft import Server


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (b"hello\n", "connect with toolhaft attach"),
        (b"\xff\n", "connect with toolhaft attach"),
        (b"[" * 60000 + b"\n", "connect with toolhaft attach"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n', "connect with toolhaft attach"),
        (b'{"toolhaft":2,"ask":"serve"}\n', "version 1 with bridges, and this one 2"),
        (
            b'{"toolhaft":1,"ask":"money"}\n',
            "asked for serve, info, metrics, reset-metrics, not for 'money'",
        ),
        (b'{"toolhaft":1,"ask":"serve","init":"nowhere:f"}\n', "No module named 'nowhere'"),
        (b'{"toolhaft":1,"ask":"serve","init":"os:nothing"}\n', "AttributeError"),
        (b'{"toolhaft":1,"ask":"serve","stop":"os:sep"}\n', "is no function"),
        (b"x" * 70000, "and none came"),
    ],
    ids=["words", "bytes", "depth", "mcp", "version", "wish", "module", "name", "sep", "length"],
)
def test_an_unknown_first_line_is_told_why(
    server: Server, dial: Dial, first: bytes, words: str
) -> None:
    with server.attach() as attached:
        wire = dial(attached.socket, first)
        said = wire.read()
        after = wire.read()
        other = dial(attached.socket)

        assert words in said["error"]
        assert after is None
        assert "error" not in other.first


def test_a_process_says_who_it_is(server: Server, dial: Dial) -> None:
    with server.attach() as attached:
        dial(attached.socket)
        said = dial(attached.socket, b'{"toolhaft":1,"ask":"info","later":"more"}\n').read()

    since = said.pop("since")
    assert since > 1_700_000_000
    assert said == {
        "toolhaft": 1,
        "name": "my-notes",
        "pid": os.getpid(),
        "server": "my notes",
        "version": "1.0.0",
        "clients": 1,
        "program": sys.argv[0],
    }


def test_somebody_else_is_turned_away(
    server: Server, dial: Dial, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server.attach() as attached:
        monkeypatch.setattr("toolhaft.transports.attach.preamble.peer_of", lambda wire: 12345)
        said = dial(attached.socket, b'{"toolhaft":1,"ask":"serve"}\n').read()

    assert said["error"] == f"it is for uid {os.getuid()} only, and this is uid 12345"


def test_messages_that_come_with_the_first_line_are_served(server: Server, dial: Dial) -> None:
    with server.attach() as attached:
        wire = dial(
            attached.socket,
            b'{"toolhaft":1,"ask":"serve"}\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        )

        assert wire.read()["pid"] == os.getpid()
        assert wire.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}
