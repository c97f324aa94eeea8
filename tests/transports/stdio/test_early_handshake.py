"""The first answer, which is given before there is a loop; and that nothing is lost over it."""

import json
import os
import select
import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests.processes.process import request
from tests.transports.stdio.greetings import OPENING, written

from toolhaft import Server
from toolhaft.protocol.framing import Framer, FramingName
from toolhaft.protocol.handshake import NEW, Session
from toolhaft.protocol.peer import Peer
from toolhaft.transports.stdio.early_handshake import answer_handshake

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE = request(1, "initialize", OPENING)
DISCOVER = request(1, "server/discover", {"_meta": META})
LIST = request(2, "tools/list", {})


class Wires:
    """A client that writes and reads by hand, and the server that greets it."""

    def __init__(self, server: Server, framing: FramingName = "auto") -> None:
        self.server = server
        self.framer = Framer(server.limits.message_bytes, framing)
        self.session = Session()
        self.input, self.mouth = os.pipe()
        self.ear, self.output = os.pipe()

    def greet(self) -> bytes:
        peer = Peer(self.server.info, session=self.session, stateless=self.server.stateless)
        return answer_handshake(
            self.server, peer, self.framer, input_=self.input, output=self.output
        )

    def heard(self) -> bytes:
        """What has come so far."""
        return os.read(self.ear, 1 << 20) if select.select([self.ear], [], [], 0)[0] else b""

    @property
    def answers(self) -> list[Any]:
        return [json.loads(line) for line in self.heard().splitlines()]

    def close(self) -> None:
        for each in (self.input, self.mouth, self.ear, self.output):
            try:
                os.close(each)
            except OSError:
                assert each in (self.mouth, self.ear), "only the client hangs up"


@pytest.fixture
def wires() -> Iterator[Wires]:
    server = Server("greeter", version="1", instructions="be brief")
    server.tool(lambda: "", name="nothing")
    wires = Wires(server)
    yield wires
    wires.close()


def test_a_client_that_has_begun_is_answered(wires: Wires) -> None:
    os.write(wires.mouth, written(INITIALIZE))

    assert wires.greet() == b""

    [answer] = wires.answers
    assert answer["id"] == 1
    assert answer["result"]["instructions"] == "be brief"
    assert answer["result"]["capabilities"]["tools"] == {"listChanged": True}
    assert wires.session.caller.client is not None
    assert wires.server.metrics["initialize"].calls == 1


def test_so_is_one_without_a_handshake(wires: Wires) -> None:
    os.write(wires.mouth, written(DISCOVER))

    assert wires.greet() == b""

    [answer] = wires.answers
    assert answer["result"]["resultType"] == "complete"
    assert wires.session.state == NEW
    assert wires.server.metrics["server/discover"].calls == 1


def test_what_follows_is_left_in_its_order(wires: Wires) -> None:
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    rest = written(initialized, LIST, DISCOVER)
    os.write(wires.mouth, written(DISCOVER, INITIALIZE) + rest + b'{"half":')

    assert wires.greet() == b""

    assert [answer["id"] for answer in wires.answers] == [1, 1]
    assert list(wires.framer.frames) == rest.splitlines()
    wires.framer.feed(b"1}\n")
    assert wires.framer.frames[-1] == b'{"half":1}'


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(LIST, id="another request"),
        pytest.param({"jsonrpc": "2.0", "method": "initialize"}, id="a notification"),
        pytest.param([INITIALIZE], id="a batch"),
        pytest.param({"jsonrpc": "2.0", "id": None, "method": "initialize"}, id="no id"),
        pytest.param("initialize", id="no message"),
    ],
)
def test_everything_else_is_left_as_it_came(wires: Wires, first: object) -> None:
    os.write(wires.mouth, written(first, INITIALIZE))

    assert wires.greet() == b""

    assert wires.heard() == b""
    assert list(wires.framer.frames) == written(first, INITIALIZE).splitlines()
    assert wires.session.state == NEW
    assert wires.server.metrics.total.calls == 0


def test_a_greeting_that_is_not_complete_is_left(wires: Wires) -> None:
    os.write(wires.mouth, written(INITIALIZE)[:20])

    assert wires.greet() == b""
    wires.framer.feed(written(INITIALIZE)[20:])

    assert wires.heard() == b""
    assert list(wires.framer.frames) == written(INITIALIZE).splitlines()


def test_nobody_waits_for_a_client_that_says_nothing(wires: Wires) -> None:
    assert wires.greet() == b""
    assert wires.heard() == b""


def test_the_end_of_input_is_found_again(wires: Wires) -> None:
    os.close(wires.mouth)

    assert wires.greet() == b""
    assert os.read(wires.input, 1) == b""
    assert not wires.framer.frames


def test_a_greeting_that_is_wrong_is_refused(wires: Wires) -> None:
    wrong = request(7, "initialize", {"protocolVersion": 1})
    os.write(wires.mouth, written(wrong, INITIALIZE, {**INITIALIZE, "id": 9}))

    assert wires.greet() == b""

    first, second, third = wires.answers
    assert (first["id"], first["error"]["code"]) == (7, -32602)
    assert (second["id"], "result" in second) == (1, True)
    assert (third["id"], third["error"]["code"]) == (9, -32600)
    assert wires.server.metrics["initialize"].errors == 2


def test_who_sends_headers_is_greeted_with_headers(wires: Wires) -> None:
    text = json.dumps(INITIALIZE).encode()
    os.write(wires.mouth, b"Content-Length: %d\r\n\r\n%b" % (len(text), text))

    assert wires.greet() == b""

    head, body = wires.heard().split(b"\r\n\r\n")
    assert head == b"Content-Length: %d" % len(body)
    assert json.loads(body)["id"] == 1


def test_what_a_pipe_does_not_take_is_left_to_be_sent(wires: Wires) -> None:
    wires.server = Server("greeter", version="1", instructions="be brief " * 30_000)
    os.write(wires.mouth, written(INITIALIZE))

    left = wires.greet()

    assert left
    answer = wires.heard() + left
    assert json.loads(answer)["result"]["instructions"] == "be brief " * 30_000


def test_a_pipe_that_takes_nothing_makes_nobody_wait(wires: Wires) -> None:
    while select.select([], [wires.output], [], 0)[1]:
        os.write(wires.output, b"-" * 4096)
    os.write(wires.mouth, written(INITIALIZE))

    assert json.loads(wires.greet())["id"] == 1


def test_what_is_no_pipe_is_left_to_those_who_serve(wires: Wires) -> None:
    os.write(wires.mouth, written(INITIALIZE))
    peer = Peer(wires.server.info, session=wires.session)
    with open(os.devnull, "wb") as output:
        left = answer_handshake(
            wires.server, peer, wires.framer, input_=wires.input, output=output.fileno()
        )

    assert json.loads(left)["id"] == 1


def test_a_client_that_does_not_listen_any_more_harms_nobody(wires: Wires) -> None:
    os.write(wires.mouth, written(INITIALIZE))
    os.close(wires.ear)

    assert wires.greet() == b""


def test_a_socket_is_as_good_as_a_pipe(wires: Wires) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(written(INITIALIZE))
        peer = Peer(wires.server.info, session=wires.session)

        answer_handshake(
            wires.server, peer, wires.framer, input_=ours.fileno(), output=ours.fileno()
        )

        assert json.loads(theirs.recv(4096))["id"] == 1


def test_who_takes_a_part_gets_the_rest_and_nothing_twice(
    wires: Wires, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.write(wires.mouth, written(INITIALIZE))
    write = os.write
    with monkeypatch.context() as patched:  # as a socket does whose buffer is small
        patched.setattr(os, "write", lambda output, data: write(output, data[:20]))
        left = wires.greet()

    begun = wires.heard()
    assert (len(begun), json.loads(begun + left)["id"]) == (20, 1)


def test_a_bug_of_ours_is_answered(wires: Wires, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(wires.server, "dispatch", SimpleNamespace(outcome=broken))
    os.write(wires.mouth, written(INITIALIZE))

    assert wires.greet() == b""

    [answer] = wires.answers
    assert answer["error"]["code"] == -32603
    assert "a secret" not in answer["error"]["message"]
    assert wires.session.state == NEW
    assert wires.server.metrics["initialize"].errors == 1
