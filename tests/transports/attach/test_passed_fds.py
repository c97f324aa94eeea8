"""Descriptors that are handed over: who holds them, and what is known when somebody is killed."""

import array
import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.attaching.fixtures import Dial, Start
from tests.attaching.living import BRIDGE, SERVE, STAY, WAITS, until
from tests.processes.process import HANDSHAKE, PATIENCE, Process, line, request, text_of, tool_call

from toolhaft import Server
from toolhaft_bridge.journal import SIZE, blank


def held(pid: int | str) -> set[str]:
    """What the descriptors of a process lead to."""
    folder = Path(f"/proc/{pid}/fd")
    return {os.readlink(each) for each in folder.iterdir() if each.is_symlink()}


def pipes_of(client: Process) -> set[str]:
    return {os.readlink(f"/proc/{client.pid}/fd/{number}") for number in (0, 1)}


def unread(client: Process) -> int:
    """How much is in the pipe that nobody has read."""
    assert client._popen.stdin is not None
    found = fcntl.ioctl(client._popen.stdin, termios.FIONREAD, b"    ")
    return int.from_bytes(found, sys.byteorder)


# Who holds what


def test_a_process_speaks_with_the_client_itself(program: Start, bridge: Start) -> None:
    living = program(STAY)
    client = bridge("notes")
    assert pipes_of(client) <= held(living.pid)
    before = Path(f"/proc/{client.pid}/io").read_text()
    client.ask_tool(1, "write", text="a")
    after = Path(f"/proc/{client.pid}/io").read_text()

    assert after == before  # the bridge has neither read nor written
    pipes = pipes_of(client)
    assert client.end() == 0
    until(lambda: not pipes & held(living.pid))


def test_a_record_is_a_reason_to_copy(program: Start, bridge: Start, tmp_path: Path) -> None:
    living = program(STAY)
    client = bridge("notes", "--log", str(tmp_path / "log"))

    assert not pipes_of(client) & held(living.pid)


def test_without_shared_memory_there_is_copying(program: Start) -> None:
    program(STAY)
    code = f"import os\nif hasattr(os, 'memfd_create'): del os.memfd_create\n{BRIDGE}"
    done = subprocess.run(
        [sys.executable, "-c", code, "attach", "notes"],
        input=line(request(1, "ping")),
        capture_output=True,
        timeout=PATIENCE,
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["id"] == 1


@pytest.mark.parametrize(
    "missing",
    [
        "os.pipe = fail",
        "socket_directory._socket.socket = type('', (_socket.socket,), {'sendmsg': fail})",
    ],
    ids=["no pipe", "no descriptors"],
)
def test_what_cannot_be_handed_over_is_a_reason_to_copy(program: Start, missing: str) -> None:
    """Nobody should be told that the process is not there."""
    program(STAY)
    fail = "def fail(*_): raise OSError(24, 'Too many open files')"
    lines = [
        "import os, _socket",
        "from toolhaft_bridge import socket_directory",
        fail,
        missing,
        BRIDGE,
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines), "attach", "notes"],
        input=line(request(1, "ping")),
        capture_output=True,
        timeout=PATIENCE,
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["id"] == 1


def test_a_client_may_speak_on_sockets(program: Start, tmp_path: Path) -> None:
    """Which is what Node.js gives its children."""
    living = program(STAY)
    ours, theirs = socket.socketpair()
    out, stdout = socket.socketpair()
    with ours, theirs, out, stdout:
        command = [sys.executable, "-c", BRIDGE, "attach", "notes"]
        with subprocess.Popen(command, stdin=theirs, stdout=stdout) as client:
            theirs.close()
            stdout.close()
            out.settimeout(PATIENCE)
            with out.makefile("rb") as answers:
                for number in (1, 2):
                    ours.sendall(line(request(number, "ping")))
                    assert json.loads(answers.readline())["id"] == number
                links = {os.readlink(f"/proc/{client.pid}/fd/{number}") for number in (0, 1)}
                assert links <= held(living.pid)
                ours.shutdown(socket.SHUT_WR)
                rest = answers.read()
            status = client.wait(PATIENCE)

    assert (status, rest) == (0, b"")


def test_a_file_is_not_handed_over(program: Start, tmp_path: Path) -> None:
    program(STAY)
    said, heard = tmp_path / "in", tmp_path / "out"
    said.write_bytes(line(request(1, "ping")))
    with said.open("rb") as stdin, heard.open("wb") as stdout:
        command = [sys.executable, "-c", BRIDGE, "attach", "notes"]
        done = subprocess.run(command, stdin=stdin, stdout=stdout, timeout=PATIENCE, check=False)

    assert done.returncode == 0
    assert json.loads(heard.read_bytes())["id"] == 1


def test_children_of_the_program_get_none_of_it(program: Start, bridge: Start) -> None:
    program("""
        import subprocess

        @server.tool
        def child() -> str:
            code = "import os; print(*(os.readlink(f'/proc/self/fd/{n}') for n in range(3, 64)"
            code += " if os.path.islink(f'/proc/self/fd/{n}')))"
            return subprocess.run(
                [sys.executable, "-c", code], close_fds=False, capture_output=True, text=True
            ).stdout

        server.attach()
        stay()
    """)
    client = bridge("notes")
    seen = text_of(client.ask_tool(1, "child"))

    assert not pipes_of(client) & set(seen.split())
    assert "toolhaft-journal" not in seen


def test_when_the_bridge_is_killed_its_calls_are_cancelled(program: Start, bridge: Start) -> None:
    living = program(WAITS)
    client = bridge("notes")
    client.call(1, "wait")
    living.hears("waiting")
    pipes = pipes_of(client)
    client.signal(signal.SIGKILL)
    living.hears("waited")
    until(lambda: not pipes & held(living.pid))

    assert client.left() == []  # whoever reads is told the end


# What is not taken


@pytest.fixture
def descriptors() -> Iterator[list[int]]:
    """What a bridge gives, and the client's ends of its pipes."""
    (one, two), (three, four), outbox = os.pipe(), os.pipe(), os.pipe()
    made = [one, four, blank(), *outbox, two, three]
    yield made
    for each in made:
        os.close(each)


def offer(path: str, given: list[int]) -> tuple[socket.socket, dict[str, object]]:
    wire = socket.socket(socket.AF_UNIX)
    wire.settimeout(PATIENCE)
    wire.connect(path)
    rights = array.array("i", given)
    wire.sendmsg([SERVE], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    answer = b""
    while not answer.endswith(b"\n"):
        more = wire.recv(4096)
        if not more:
            break
        answer += more
    return wire, json.loads(answer) if answer else {}


def test_what_is_offered_is_taken(descriptors: list[int], places: Path) -> None:
    server = Server("notes")
    before = len(held("self"))
    with server.attach() as attached:
        wire, welcome = offer(attached.socket, descriptors[:5])
        with wire:
            os.write(descriptors[5], line(request(1, "ping")))
            answer = os.read(descriptors[6], 4096)

    assert welcome["taken"] is True
    assert json.loads(answer)["id"] == 1
    assert len(held("self")) <= before


@pytest.mark.parametrize(
    "what", ["four", "a file", "no memory", "little memory", "six", "two outboxes"]
)
def test_what_cannot_be_used_is_let_go(descriptors: list[int], places: Path, what: str) -> None:
    server = Server("notes")
    before = len(held("self"))
    with server.attach() as attached, tempfile.TemporaryFile() as file:
        os.ftruncate(file.fileno(), SIZE)
        given = descriptors[:5]
        if what == "four":
            given = given[:4]
        elif what == "a file":
            given[0] = file.fileno()
        elif what == "no memory":
            given[2] = file.fileno()
        elif what == "six":
            given.append(file.fileno())
        elif what == "two outboxes":
            given[3] = given[0]
        else:
            os.ftruncate(given[2], 4096)
        wire, welcome = offer(attached.socket, given)
        with wire:
            if what == "six":  # of which the system lets us have five
                assert welcome.get("taken") is True
            else:
                assert welcome["pid"] == os.getpid()
                assert "taken" not in welcome
                wire.sendall(line(request(1, "ping")))
                assert json.loads(wire.recv(4096))["id"] == 1

    assert len(held("self")) <= before


def filled(pipe: int) -> None:
    """Write until it takes no more."""
    os.set_blocking(pipe, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(pipe, b"x" * 4096)


def waiting_in(pipe: int) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, b"    "), sys.byteorder)


def test_a_client_that_cannot_be_written_to_is_left_to_its_bridge(
    descriptors: list[int], places: Path
) -> None:
    """Which has the answer in the outbox, and would not know otherwise that nobody delivers it."""
    given = descriptors[:5]
    given[1] = descriptors[6]  # the end at which a client reads
    with Server("notes").attach() as attached:
        wire, welcome = offer(attached.socket, given)
        with wire:
            os.write(descriptors[5], line(request(1, "ping")))
            assert wire.recv(1) == b""
        answer = os.read(descriptors[3], 4096)

    assert welcome["taken"] is True
    assert json.loads(answer)["id"] == 1


def test_a_bridge_that_fills_the_outbox_is_left(descriptors: list[int], places: Path) -> None:
    with Server("notes").attach() as attached:
        wire, _ = offer(attached.socket, descriptors[:5])
        with wire:
            filled(descriptors[4])
            os.write(descriptors[5], line(request(1, "ping")))

            assert wire.recv(1) == b""


def test_a_bridge_that_empties_the_outbox_is_left(descriptors: list[int], places: Path) -> None:
    """What it takes cannot be delivered, however long one waits for the client."""
    with Server("notes").attach() as attached:
        wire, _ = offer(attached.socket, descriptors[:5])
        with wire:
            filled(descriptors[1])  # so that the client takes nothing
            os.write(descriptors[5], line(request(1, "ping")))
            until(lambda: waiting_in(descriptors[3]))
            os.read(descriptors[3], 4096)
            os.read(descriptors[6], 100_000)

            assert wire.recv(1) == b""


def test_a_client_that_does_not_read_is_waited_for(descriptors: list[int], places: Path) -> None:
    with Server("notes").attach() as attached:
        wire, _ = offer(attached.socket, descriptors[:5])
        with wire:
            filled(descriptors[1])
            os.write(descriptors[5], line(request(1, "ping")))
            until(lambda: waiting_in(descriptors[3]))
            os.read(descriptors[6], 100_000)
            until(lambda: waiting_in(descriptors[6]))

            assert json.loads(os.read(descriptors[6], 4096))["id"] == 1


def test_memory_cannot_be_taken_away(descriptors: list[int], places: Path) -> None:
    with Server("notes").attach() as attached:
        wire, welcome = offer(attached.socket, descriptors[:5])
        with wire, pytest.raises(PermissionError):
            os.ftruncate(descriptors[2], 0)

    assert welcome["taken"] is True


def test_whoever_sends_more_and_more_is_left(places: Path, dial: Dial) -> None:
    before = len(held("self"))
    with Server("notes").attach() as attached:
        with socket.socket(socket.AF_UNIX) as wire, tempfile.TemporaryFile() as file:
            wire.settimeout(PATIENCE)
            wire.connect(attached.socket)
            rights = array.array("i", [file.fileno()] * 4)
            for _ in range(2):
                wire.sendmsg([b" "], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
                time.sleep(0.05)
            assert wire.recv(1) == b""
        with dial(attached.socket) as other:
            other.shake()

    assert len(held("self")) <= before


NO_SPLICE = """
    def splice(*given, **more):
        raise OSError(22, "Invalid argument")

    os.splice = splice
    server.attach()
    stay()
"""


@pytest.mark.parametrize("opened", [True, False], ids=["session", "no session"])
def test_if_a_process_cannot_deliver_its_answers_the_bridge_does(
    program: Start, bridge: Start, opened: bool
) -> None:
    living = program(NO_SPLICE)
    client = bridge("notes", opened=opened)
    for number in range(1, 4):
        assert client.ask(number, "ping")["result"] == {}

    assert not pipes_of(client) & held(living.pid)  # from then on it copies
    assert client.end() == 0


# The end of the process


@pytest.mark.parametrize("in_flight", [1, 20])
def test_every_request_is_answered_whenever_the_process_is_killed(
    program: Start, bridge: Start, in_flight: int
) -> None:
    for attempt in range(4):
        living = program(STAY)
        client = bridge("notes", "--wait", "0")
        sent: list[int] = []
        stopping = threading.Event()

        def work(
            client: Process = client, sent: list[int] = sent, over: threading.Event = stopping
        ) -> None:
            number = 0
            while not over.is_set():
                calls = [tool_call(number + n, "write", text="a") for n in range(1, in_flight + 1)]
                number += in_flight
                try:
                    client.send(*calls)
                except BrokenPipeError:
                    return
                sent.extend(call["id"] for call in calls)
                while not over.is_set() and client.wire.data.count(b"\n") < number:
                    time.sleep(0)

        worker = threading.Thread(target=work)
        worker.start()
        until(lambda: len(sent) > 100 + 37 * attempt)  # noqa: B023
        living.signal(signal.SIGKILL)
        assert client.ends() == 3
        stopping.set()
        worker.join(PATIENCE)
        answered: dict[int, list[str]] = {}
        for each in client.left():
            if isinstance(each["id"], int):
                answered.setdefault(each["id"], []).append("result" if "result" in each else "lost")

        # What was sent when nobody was there any more is still in the pipe.
        missing = [tool_call(each, "write", text="a") for each in sent if each not in answered]
        assert unread(client) == len(b"".join(map(line, missing)))
        assert [number for number, each in answered.items() if len(each) > 1] == []
        living.ends()


def test_a_call_that_was_read_is_known_though_nothing_was_done_with_it(
    program: Start, bridge: Start
) -> None:
    living = program("""
        @server.tool(run_on=lambda function: (say("held"), time.sleep(60)))
        def held() -> None: ...

        server.attach()
        stay()
    """)
    client = bridge("notes", "--wait=0")
    client.call(1, "held")
    living.hears("held")
    client.call(2, "write", text="in the pipe")
    living.signal(signal.SIGKILL)
    client.ends()

    assert [each["id"] for each in client.left()] == [1, 2]


def test_what_waits_in_the_outbox_is_not_counted_twice(program: Start, bridge: Start) -> None:
    """Of a client that reads late, the end of one answer and the start of the next wait there."""
    living = program("""
        @server.tool
        async def long() -> str:
            return "x" * 7000

        server.attach()
        stay()
    """)
    client = bridge("notes", "--wait=0", reading=False, opened=False)
    client.send(*HANDSHAKE, *(tool_call(number, "long") for number in range(1, 61)))
    assert client._popen.stdout is not None
    output = client._popen.stdout.fileno()
    heard = b""
    for _ in range(3):  # so that what was held back is gathered, and written as one
        time.sleep(0.2)
        heard += os.read(output, 20_000)
    time.sleep(0.2)
    living.signal(signal.SIGKILL)
    while more := os.read(output, 65536):
        heard += more
    client.ends()
    answered = [json.loads(each)["id"] for each in heard.split(b"\n") if each.endswith(b"}")]

    assert sorted(answered[1:]) == list(range(1, 61))


def test_a_client_that_has_said_all_may_read_late(program: Start, bridge: Start) -> None:
    program("""
        @server.tool
        async def long() -> str:
            return "x" * 20000

        server.attach()
        stay()
    """)
    client = bridge("notes", reading=False, opened=False)
    client.send(*HANDSHAKE, *(tool_call(number, "long") for number in range(1, 41)))
    assert client._popen.stdin is not None
    assert client._popen.stdout is not None
    client._popen.stdin.close()
    time.sleep(1)  # more than the process would wait for whoever is gone
    heard = b""
    while more := os.read(client._popen.stdout.fileno(), 65536):
        heard += more

    assert client.ends() == 0
    assert sum(b'"result"' in each for each in heard.splitlines()) == 41
