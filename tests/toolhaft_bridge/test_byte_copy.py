"""What goes over a bridge that copies: all of it, in order, however slowly somebody reads."""

import _socket
import contextlib
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests.attaching.living import until
from tests.processes.process import PATIENCE

from toolhaft_bridge import byte_copy
from toolhaft_bridge.bridge import Silent
from toolhaft_bridge.byte_copy import Copying
from toolhaft_bridge.ledger import Ledger

A_LOT = 3_000_000


class Recorded(Silent):
    """A record of the traffic."""

    def __init__(self) -> None:
        self.said: list[tuple[str, bytes]] = []

    def note(self, direction: str, data: bytes) -> None:
        self.said.append((direction, data))

    def end(self, direction: str) -> None:
        self.said.append((direction, b""))


class Bridged:
    """A client and a process, with copying between them on a thread of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stdin, self.says = os.pipe()
        self.hears, self.stdout = os.pipe()
        for each in (self.stdin, self.stdout):
            os.set_blocking(each, False)
        monkeypatch.setattr(byte_copy, "IN", self.stdin)
        monkeypatch.setattr(byte_copy, "OUT", self.stdout)
        ours, self.process = socket.socketpair()
        self.process.settimeout(PATIENCE)
        self._wire = _socket.socket(fileno=ours.detach())
        self._wire.setblocking(False)
        self.ledger, self.traffic = Ledger(), Recorded()
        self.copying = Copying(
            self._wire, self.ledger, self.traffic, is_watched=True, client_ended=False
        )
        self._thread = threading.Thread(target=self.copying.run)
        self._thread.start()

    def say(self, data: bytes) -> threading.Thread:
        """Write all of it, on a thread of its own."""
        thread = threading.Thread(target=self._say, args=(data,))
        thread.start()
        return thread

    def _say(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.says, data) :]

    def heard(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            found += os.read(self.hears, count - len(found))
        return found

    def ended(self) -> bool:
        self._thread.join(PATIENCE)
        return not self._thread.is_alive()

    def close(self) -> None:
        self.process.close()
        for each in (self.says, self.hears):
            if each >= 0:
                os.close(each)
        assert self.ended()
        for each in (self.stdin, self.stdout):
            os.close(each)
        self._wire.close()


class Exclusive:
    """Polls as POSIX has it: that somebody has gone, and that one can write to it, are never said
    together. Linux does."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self.register, self.unregister = self._poll.register, self._poll.unregister

    def poll(self) -> list[tuple[int, int]]:
        gone, writable = select.POLLHUP, select.POLLOUT
        found = self._poll.poll()
        return [(each, event & ~(writable if event & gone else 0)) for each, event in found]


@pytest.fixture
def bridged(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bridged]:
    made = Bridged(monkeypatch)
    yield made
    made.close()


def received(process: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        found += process.recv(count - len(found))
    return found


def numbered(count: int) -> bytes:
    return b"".join(b"%04000d\n" % number for number in range(count // 4001))


def as_much_as_goes(said: bytes, write: Callable[[bytes], int]) -> int:
    """Write until nothing goes any further; how much that was."""
    sent, before = 0, -1
    while sent > before:
        before = sent
        with contextlib.suppress(BlockingIOError):
            while sent < len(said):
                sent += write(said[sent:])
        time.sleep(0.1)
    assert sent < len(said)
    return sent


def test_bytes_go_both_ways_as_they_come(bridged: Bridged) -> None:
    os.write(bridged.says, b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert received(bridged.process, 40) == b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    os.write(bridged.says, b"\n")
    assert received(bridged.process, 1) == b"\n"
    until(lambda: bridged.ledger.open)  # which is told a moment after the process
    assert list(bridged.ledger.open) == [b"1"]
    bridged.process.sendall(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    assert bridged.heard(37) == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
    bridged.process.close()

    assert bridged.ended()
    assert bridged.ledger.open == {}
    assert [direction for direction, _ in bridged.traffic.said] == ["in", "in", "out"]


def test_who_reads_late_gets_all_of_it(bridged: Bridged) -> None:
    said = numbered(A_LOT)
    saying = bridged.say(said)
    answering = threading.Thread(target=bridged.process.sendall, args=(said,))
    answering.start()
    saying.join(0.1)
    answering.join(0.1)
    assert saying.is_alive()
    assert answering.is_alive()

    assert bridged.heard(len(said)) == said
    assert received(bridged.process, len(said)) == said
    saying.join(PATIENCE)
    answering.join(PATIENCE)


def test_the_end_of_a_client_is_told_behind_all_that_it_said(bridged: Bridged) -> None:
    """It has said more than the process takes at once, and ended before the process reads."""
    said = numbered(A_LOT)
    os.set_blocking(bridged.says, False)
    sent = as_much_as_goes(said, lambda rest: os.write(bridged.says, rest))
    os.close(bridged.says)
    bridged.says = -1
    assert received(bridged.process, sent) == said[:sent]

    assert bridged.process.recv(1) == b""
    bridged.process.sendall(b"more\n")
    assert bridged.heard(5) == b"more\n"
    bridged.process.close()
    assert bridged.ended()
    assert bridged.copying.client_ended
    assert not bridged.copying.nobody_reads


@pytest.mark.parametrize("poll", [select.poll, Exclusive], ids=["linux", "posix"])
def test_what_a_process_said_last_is_heard_though_nobody_took_what_came_before(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, poll: Any
) -> None:
    """It has ended while neither side took anything."""
    polls = SimpleNamespace(poll=poll, POLLIN=select.POLLIN, POLLOUT=select.POLLOUT)
    monkeypatch.setattr(byte_copy, "select", polls)
    bridged: Bridged = request.getfixturevalue("bridged")
    bridged.process.setblocking(False)
    said = numbered(A_LOT)
    sent = as_much_as_goes(said, bridged.process.send)
    filling = bridged.say(numbered(A_LOT))
    filling.join(0.1)
    assert filling.is_alive()
    bridged.process.close()

    assert bridged.heard(sent) == said[:sent]
    assert bridged.ended()
    os.set_blocking(bridged.stdin, True)  # nobody else reads it any more
    while filling.is_alive():
        os.read(bridged.stdin, A_LOT)
        filling.join(0.001)


def test_when_nobody_reads_any_more_it_is_over(bridged: Bridged) -> None:
    os.close(bridged.hears)
    bridged.hears = -1

    assert bridged.ended()
    assert bridged.copying.nobody_reads
