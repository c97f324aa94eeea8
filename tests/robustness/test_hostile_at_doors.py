"""Clients that send too much, too slowly, or half, and that leave: others are served as ever.

Each case ends with a normal call, and where much was sent, with the memory that it took given back.
How much is held at most is in `tests/transports/stdio/test_process.py` and
`tests/transports/http/servers`.
"""

import itertools
import json
import socket
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.processes.process import request
from tests.robustness.doors import MIB, Door, Http, HttpSession, Stdio, settle
from tests.transports.http.servers.web import calls, head, listens, posted, posting

# What an allocator may keep for itself after it had much more.
KEPT = 24 * MIB
MANY = 1500


@pytest.fixture
def memory(door: Door) -> Iterator[None]:
    """What a case has taken is given back."""
    door.works()
    before = door.memory
    yield
    door.works()
    door.memory_comes_back(before, KEPT)


def ways(*names: str) -> pytest.MarkDecorator:
    """For what can only be done at some doors."""
    return pytest.mark.parametrize("way", names, indirect=True, scope="module")


# --- too much -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("memory")
def test_a_message_of_64_mib(door: Door) -> None:
    door.pour(itertools.repeat(b" " * MIB, 64))


@pytest.mark.usefixtures("memory")
def test_many_messages_just_over_the_limit(door: Door) -> None:
    for _ in range(10):
        door.pour(iter([b'{"jsonrpc":"2.0","id":"', b"x" * (4 * MIB), b'"}']))


@pytest.mark.usefixtures("memory")
def test_many_messages_just_under_the_limit(door: Door) -> None:
    text = "x" * (4 * MIB - 1000)

    for _ in range(5):
        assert door.call("add", a=1, b=text).is_error


@pytest.mark.usefixtures("memory")
def test_a_message_of_a_million_members(door: Door) -> None:
    members = b",".join(b'"%d":1' % number for number in range(300_000))

    for _ in range(2):
        [answer] = door.say(b'{"jsonrpc":"2.0","id":1,"method":"ping",%b}' % members)
        assert "error" in answer


@pytest.mark.usefixtures("memory")
def test_results_of_many_mib(door: Door) -> None:
    for _ in range(4):
        assert len(door.call("big", size=8 * MIB).text) == 8 * MIB


# --- too many -------------------------------------------------------------------------------------


def messages(door: Door, method: str, **params: Any) -> list[dict[str, Any]]:
    whole = {**params, **door.envelope}
    return [request(f"many-{number}", method, whole) for number in range(MANY)]


def answered_once(door: Door, sent: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each has an answer, and none has two."""
    answers = door.burst(sent)

    assert Counter(each["id"] for each in answers) == Counter(each["id"] for each in sent)
    return answers


@pytest.mark.usefixtures("memory")
def test_a_flood_of_calls(door: Door) -> None:
    sums = messages(door, "tools/call", name="add", arguments={"a": 1, "b": 2})

    answers = answered_once(door, sums)

    assert all(each["result"]["content"][0]["text"] == "3" for each in answers)


@pytest.mark.usefixtures("memory")
def test_a_flood_of_calls_that_fail(door: Door) -> None:
    failing = messages(door, "tools/call", name="add", arguments={"a": "one"})

    answers = answered_once(door, failing)

    assert all(each["result"]["isError"] for each in answers)


@pytest.mark.usefixtures("memory")
def test_a_flood_of_lists(door: Door) -> None:
    answers = answered_once(door, messages(door, "tools/list"))

    assert all(each["result"]["tools"] for each in answers)


@pytest.mark.usefixtures("memory")
def test_a_flood_of_what_is_unknown(door: Door) -> None:
    answers = answered_once(door, messages(door, "no/such/method"))

    assert {each["error"]["code"] for each in answers} == {-32601}


@pytest.mark.usefixtures("memory")
def test_a_flood_of_notifications(door: Door) -> None:
    methods = ["notifications/cancelled", "notifications/progress", "notifications/none"]
    params = {"requestId": "nobody", "progressToken": 1, "progress": 1, **door.envelope}
    notes = [
        {"jsonrpc": "2.0", "method": method, "params": params}
        for method in methods
        for _ in range(MANY // 3)
    ]

    assert door.burst(notes) == []


def test_calls_that_are_begun_and_taken_back(door: Door) -> None:
    for _ in range(5):
        pending = [door.begin("slow", seconds=30) for _ in range(30)]
        settle()
        for each in pending:
            each.cancel()
        door.works()


# --- too slow, and half ---------------------------------------------------------------------------


def test_a_call_byte_by_byte(door: Door) -> None:
    assert door.stutter("add", a=20, b=22).text == "42"
    door.works()


@ways("stdio", "socket")
def test_half_of_a_message_and_then_something_else(door: Door) -> None:
    assert isinstance(door, Stdio)
    half = json.dumps(request(1, "ping"))[:20].encode()

    door.process.write(half)
    settle()
    [answer] = door.say(b"")

    assert answer["error"]["code"] == -32700
    door.works()


@ways("stdio", "socket")
def test_blank_lines_without_end(door: Door) -> None:
    assert isinstance(door, Stdio)

    for _ in range(100):
        door.process.write(b"\n \r\n\t" * 2_000)

    door.works()


Attack = Callable[[Http, Any], None]


def _says_nothing(door: Http, connection: Any) -> None:
    pass


def _half_a_head(door: Http, connection: Any) -> None:
    connection.send(head("POST", "/mcp", door.headers)[:-10])


def _half_a_body(door: Http, connection: Any) -> None:
    connection.send(posting(door.message("add", a=1, b=2), door.headers)[:-10])


def _no_end_of_chunks(door: Http, connection: Any) -> None:
    fields = {**posted(b"", door.headers), "Transfer-Encoding": "chunked"}
    connection.send(head("POST", "/mcp", fields) + b'5\r\n{"a":\r\n')


def _closes_its_half(door: Http, connection: Any) -> None:
    connection.send(posting(door.message("slow", seconds=5), door.headers))
    connection.socket.shutdown(socket.SHUT_WR)


def _resets(door: Http, connection: Any) -> None:
    connection.send(posting(door.message("slow", seconds=5), door.headers))
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def _leaves_its_answer(door: Http, connection: Any) -> None:
    connection.send(posting(door.message("big", size=MIB), door.headers))


def _opens_a_stream(door: Http, connection: Any) -> None:
    connection.send(posting(listens(), {}))


def _asks_twice(door: Http, connection: Any) -> None:
    connection.send(posting(door.message("slow", seconds=5), door.headers) * 2)


ATTACKS: dict[str, Attack] = {
    "says nothing": _says_nothing,
    "says half of its headers": _half_a_head,
    "says half of its body": _half_a_body,
    "does not end its chunks": _no_end_of_chunks,
    "closes its half": _closes_its_half,
    "resets its connection": _resets,
    "does not read its answer": _leaves_its_answer,
    "does not read its stream": _opens_a_stream,
    "asks twice and does not wait": _asks_twice,
}


@ways("http", "session")
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_hundred_connections_of_which_each(door: Door, attack: Attack) -> None:
    assert isinstance(door, Http)
    before, files = door.memory, door.process.descriptors
    connections = [door.process.connect() for _ in range(100)]

    for connection in connections:
        attack(door, connection)
    door.works()  # while they are there
    for connection in connections:
        connection.close()

    door.works()
    door.memory_comes_back(before, KEPT)
    door.files_come_back(files)


@ways("http", "session")
def test_a_thousand_that_come_and_go(door: Door) -> None:
    assert isinstance(door, Http)
    before, files = door.memory, door.process.descriptors

    for _ in range(1000):
        door.process.connect().close()

    door.works()
    door.memory_comes_back(before, KEPT)
    door.files_come_back(files)


@ways("session")
def test_a_thousand_sessions_that_nobody_ends(door: Door) -> None:
    assert isinstance(door, HttpSession)
    before = door.memory

    for _ in range(1000):
        door.process.open_session()

    door.works()
    assert door.memory - before < 20 * MIB


@ways("http", "session")
def test_a_client_that_does_not_read_holds_up_itself_only(door: Door) -> None:
    assert isinstance(door, Http)
    before = door.memory
    deaf = door.process.connect()

    # In one connection, so that the answers wait for each other.
    for _ in range(50):
        deaf.send(posting(calls("big", size=MIB)))
    for _ in range(5):
        door.works()
    grown = door.memory - before
    deaf.close()

    assert grown < KEPT
    door.works()
    door.memory_comes_back(before, KEPT)
