"""The bridge: what it copies, what it costs, what it says and how it ends."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from tests.attaching.fixtures import Bridged, Dial, Reach, Start
from tests.attaching.living import PROGRAM, STAY, WAITS, until
from tests.processes.process import HANDSHAKE, PATIENCE, line, request, text_of, tool_call
from tests.toolhaft_bridge.bridges import command, left_behind, run, unread

from toolhaft import Server
from toolhaft_bridge.traffic import Traffic

both_ways = pytest.mark.usefixtures("way")

# Starts the programs of these tests again, under the name of the one before.
AGAIN = """
    @server.tool
    def which() -> str:
        return "new"

    server.attach()
    stay()
"""


# Starting


async def test_a_bridge_waits_for_its_process(program: Start, bridged: Bridged) -> None:
    """E-58."""
    early = bridged("notes", "--wait").client

    async def use() -> Any:
        async with early:
            return await early.call("write", text="a")

    using = asyncio.create_task(use())
    await asyncio.to_thread(program, STAY)

    assert await using == 1
    assert (early.exit_status, early.stderr) == (0, "")


def test_a_process_that_hangs_up_is_no_process_that_is_not_there(
    bridge: Start, places: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(places / "x"))
        listener.listen()
        listener.settimeout(PATIENCE)
        client = bridge("--socket", str(places / "x"), opened=False)
        wire, _ = listener.accept()
        assert wire.recv(1000).startswith(b'{"toolhaft":1,"ask":"serve"')
        wire.close()

        assert client.ends() == 2
    assert f"the process at {places}/x hung up without an answer; see its log" in client.stderr


def test_a_process_that_does_not_answer_is_told(program: Start, bridge: Start) -> None:
    living = program(STAY)
    living.signal(signal.SIGSTOP)
    patient = bridge("notes", opened=False)
    patient.send(*HANDSHAKE)
    hasty = bridge("notes", opened=False)
    hasty.close_input()
    patient.hears("the process 'notes' is there, but does not answer; waiting for it")

    assert hasty.ends() == 2
    assert "the process 'notes' has not answered" in hasty.stderr
    living.signal(signal.SIGCONT)
    assert "result" in patient.answer("init")


def test_a_bridge_stops_waiting_when_its_client_leaves(bridge: Start) -> None:
    early = bridge("notes", "--wait", opened=False)
    early.close_input()

    assert early.ends() == 2


def test_what_is_piped_in_waits_with_the_bridge(program: Start, tmp_path: Path) -> None:
    file = tmp_path / "late.py"
    file.write_text("import time; time.sleep(0.5)\n" + PROGRAM + STAY)
    with subprocess.Popen([sys.executable, str(file)], stderr=subprocess.DEVNULL) as late:
        done = run("notes", "--wait=20", data=line(request(1, "ping")))
        late.kill()

    assert done.returncode == 0
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}


# Copying


@both_ways
def test_the_last_line_needs_no_end(program: Start) -> None:
    """E-61: an unterminated last line is not dropped."""
    program(STAY)
    done = run("notes", data=line(request(1, "ping")) + line(request(2, "ping")).rstrip())

    assert (done.returncode, done.stderr) == (0, b"")
    assert [json.loads(each)["id"] for each in done.stdout.splitlines()] == [1, 2]


@both_ways
def test_answers_come_after_the_end_of_input(program: Start) -> None:
    program(STAY)
    messages = [*HANDSHAKE, tool_call(1, "nap", seconds=1.2), tool_call(2, "doze", seconds=1.0)]
    done = run("notes", data=b"".join(map(line, messages)))

    answers = {each["id"]: each for each in map(json.loads, done.stdout.splitlines())}
    assert (done.returncode, done.stderr) == (0, b"")
    assert [text_of(answers[id_]["result"]) for id_ in (1, 2)] == ["rested", "rested"]


@both_ways
@pytest.mark.parametrize("size", [1, 1000, 100_000, 600_000])
def test_what_is_long_comes_through(program: Start, bridged: Bridged, size: int) -> None:
    """E-13: bytes are copied, whatever letters they are."""
    program("""
        @server.tool
        async def echo(text: str) -> str:
            return text

        server.attach()
        stay()
    """)
    text = ('äöü €😀 \\ " ' * (size // 10 + 1))[:size]
    with bridged("notes") as client:
        assert client.call("echo", text=text) == text

    assert client.exit_status == 0


@both_ways
def test_blank_lines_and_carriage_returns_are_tolerated(program: Start) -> None:
    """E-61."""
    program(STAY)
    data = b"\r\n\n" + line(request(1, "ping")).rstrip() + b"\r\n\n"
    done = run("notes", data=data)

    assert json.loads(done.stdout)["id"] == 1


def test_what_is_no_json_is_answered_by_the_process(program: Start) -> None:
    """E-3: nothing is dropped on the way, and nothing breaks."""
    program(STAY)
    done = run("notes", data=b"nonsense\n\xff\xfe\n" + line(request(1, "ping")))

    codes = [json.loads(each).get("error", {}).get("code") for each in done.stdout.splitlines()]
    assert codes == [-32700, -32700, None]


@both_ways
def test_content_length_comes_through(program: Start) -> None:
    program(STAY)
    body = json.dumps(request(1, "ping")).encode()
    framed = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    done = run("notes", data=framed * 2)

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"Content-Length: ") == 2


@both_ways
def test_a_client_that_is_gone_takes_its_call_along(program: Start, bridge: Start) -> None:
    living = program(WAITS)
    client = bridge("notes", opened=False, reading=False)
    client.send(*HANDSHAKE, tool_call(1, "wait"))
    assert b"result" in client._popen.stdout.readline()  # type: ignore[union-attr]
    living.hears("waiting")
    client.close_input()
    client.close_output()

    assert client.ends() == 0
    living.hears("waited")


@both_ways
def test_a_process_that_does_not_read_is_waited_for_in_bounded_memory(
    program: Start, bridge: Start
) -> None:
    living = program(STAY)
    client = bridge("notes")
    living.signal(signal.SIGSTOP)
    os.set_blocking(client._popen.stdin.fileno(), False)  # type: ignore[union-attr]
    data, written = line(request(1, "ping", {"x": "x" * 100_000})), 0
    quiet = 0
    while quiet < 20 and written < 100_000_000:
        try:
            client.write(data)
            written += len(data)
        except BlockingIOError:
            quiet += 1
            time.sleep(0.02)
    memory = client.memory()
    living.signal(signal.SIGCONT)

    assert quiet == 20
    assert written < 10_000_000
    assert memory < 50_000_000


async def test_many_bridges_lead_to_one_state(program: Start, bridged: Bridged) -> None:
    program(STAY)
    async with contextlib.AsyncExitStack() as stack:
        opening = (stack.enter_async_context(bridged("notes").client) for _ in range(4))
        clients = [await each for each in opening]
        counts = [await each.call("write", text="a") for each in clients]

    assert counts == [1, 2, 3, 4]


def test_a_program_may_print(program: Start, bridge: Start) -> None:
    """L-6: its stdout is nobody's wire."""
    living = program("""
        @server.tool
        def speak() -> str:
            print("spurious output", flush=True)
            os.write(1, b"and more")
            return "spoken"

        server.attach()
        stay()
    """)
    client = bridge("notes")

    assert text_of(client.ask_tool(1, "speak")) == "spoken"
    client.end()
    assert client.left() == []
    assert bytes(living.wire.data) == b"spurious output\nand more"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("{", -32700),
        ('{"jsonrpc":"2.0","id":1,"method":"ping"} trailing', -32700),
        ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        ('{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
        ('{"jsonrpc":"2.0","id":1}', -32600),
        ("[]", -32600),
        ('"text"', -32600),
        ('{"jsonrpc":"2.0","id":1,"method":"no/such"}', -32601),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no"}}', -32602),
        ('{"jsonrpc":"2.0","method":"no/such"}', None),
        ('{"jsonrpc":"2.0","id":0,"method":"ping"}', 0),
        ('{"jsonrpc":"2.0","id":"","method":"ping"}', 0),
    ],
)
def test_messages_are_answered_as_on_stdio(program: Start, message: str, code: int | None) -> None:
    """E-3 to E-7, E-12: by the process, with the codes that the specification has."""
    program(STAY)
    data = b"".join(map(line, HANDSHAKE)) + message.encode() + b"\n" + line(request("last", "ping"))
    done = run("notes", data=data)

    _, *answers, last = map(json.loads, done.stdout.splitlines())
    assert last["id"] == "last"
    if code is None:
        assert answers == []
    else:
        assert [each.get("error", {}).get("code", 0) for each in answers] == [code]


@pytest.mark.parametrize("asked", ["2024-11-05", "2025-06-18", "1999-01-01"])
def test_each_client_gets_the_revision_it_asks_for(
    program: Start, bridge: Start, asked: str
) -> None:
    """E-8 to E-11: negotiated, with our own name and what is registered."""
    program("""
        server = Server("notes", version="1.2.3", instructions="")

        @server.tool
        def one() -> int:
            return 1

        server.attach()
        stay()
    """)
    clients = [bridge("notes", opened=False) for _ in range(2)]
    params = {"capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    first = clients[0].ask(1, "initialize", {"protocolVersion": asked, **params})["result"]
    second = clients[1].ask(1, "initialize", {"protocolVersion": "2025-11-25", **params})["result"]

    assert first["protocolVersion"] == (asked if asked > "2000" else "2025-11-25")
    assert second["protocolVersion"] == "2025-11-25"
    assert first["serverInfo"] == {"name": "notes", "version": "1.2.3"}
    assert set(first["capabilities"]) == {"tools", "logging"}
    assert first["instructions"] == ""


async def test_messages_can_be_handled_one_by_one_beside_clients(dial: Dial) -> None:
    """E-2."""
    server = Server("s")
    with server.attach() as attached:
        wire = dial(attached.socket)
        wire.send(request(1, "ping"))

        assert await server.handle(request(2, "ping")) == {"jsonrpc": "2.0", "id": 2, "result": {}}
        assert wire.read()["id"] == 1


# The end of the process


@both_ways
def test_each_open_request_is_answered_once_when_the_process_is_killed(
    program: Start, bridge: Start
) -> None:
    """E-61: a failure of the process is not the end in the middle."""
    living = program(STAY)
    client = bridge("notes", "--wait", "0")
    client.ask_tool(1, "write", text="answered before")
    client.send(
        tool_call(2, "nap", seconds=60),
        tool_call("two", "nap", seconds=60),
        {"method": "tools/call", "params": {"name": "nap"}, "jsonrpc": "2.0", "id": 3},
        {"id": 'ä,"', "jsonrpc": "2.0", "method": "tools/call", "params": {"name": "doze"}},
        tool_call(5, "nap", seconds=60),
    )
    client.cancel(5)
    client.ask(6, "ping")
    living.hears("napping")
    living.signal(signal.SIGKILL)
    status = client.ends()
    left = client.left()

    pid = living.pid
    words = f"the process 'notes' (pid {pid}) has ended"
    lost = [each for each in left if each.get("error", {}).get("code") == -32603]
    assert {each["id"]: each["error"]["message"] for each in lost} == dict.fromkeys(
        (2, "two"), f"{words} before it answered"
    )
    assert len(left) == 4  # two calls lacked an argument, and were answered before
    assert status == 3
    assert client.stderr == f"toolhaft: {words}\n"


@both_ways
def test_half_an_answer_is_ended_before_the_error(program: Start, bridge: Start) -> None:
    living = program("""
        @server.tool
        async def much() -> str:
            return "x" * 3_000_000

        server.attach()
        stay()
    """)
    client = bridge("notes", "--wait=0", opened=False, reading=False)
    client.send(*HANDSHAKE, tool_call(1, "much"))
    until(lambda: unread(client._popen.stdout) > 60_000)
    living.signal(signal.SIGKILL)
    living.ends()
    client.start_reading()
    client.ends()
    client.wire.wait_for_end()
    *_, broken, last = bytes(client.wire.data).splitlines()

    assert broken.startswith(b'{"jsonrpc":"2.0","id":1,"result":')
    assert len(broken) < 3_000_000
    assert json.loads(last)["id"] == 1
    assert json.loads(last)["error"]["code"] == -32603


@both_ways
@pytest.mark.parametrize("open_calls", [0, 1])
def test_a_session_goes_on_after_a_restart(program: Start, bridge: Start, open_calls: int) -> None:
    living = program("""
        @server.resource("notes://all")
        def all_notes() -> str:
            return "old"

        server.attach()
        stay()
    """)
    client = bridge("notes")
    client.ask(1, "logging/setLevel", {"level": "warning"})
    client.ask(2, "resources/subscribe", {"uri": "notes://all"})
    if open_calls:
        client.call(3, "nap", seconds=60)
        living.hears("napping")
    living.signal(signal.SIGKILL)
    client.hears("waiting 10 s for it to come back")
    client.call(4, "say_so")  # which waits in the pipe
    program("""
        @server.resource("notes://all")
        def all_notes() -> str:
            return "new"

        @server.tool
        async def say_so(ctx: Context) -> str:
            await ctx.log("info", "not wanted")
            await ctx.log("error", "wanted")
            server.resource_updated("notes://all")
            return ctx.client.name

        server.attach()
        stay()
    """)
    answer = client.answer(4)
    client.hears("is back")
    until(lambda: b"notes://all" in client.wire.data)
    status = client.end()
    heard = client.left()

    assert text_of(answer["result"]) == "test"
    assert status == 0
    assert [each["id"] for each in heard if "id" in each] == [3] * open_calls
    methods = [each["method"] for each in heard if "method" in each]
    assert methods.count("notifications/message") == 1
    assert methods.count("notifications/resources/updated") == 1
    assert "notifications/tools/list_changed" in methods
    during = " during 1 call" if open_calls else ""
    assert f"has ended{during}; waiting 10 s" in client.stderr


@both_ways
def test_without_a_handshake_nothing_has_to_be_told(program: Start, bridged: Bridged) -> None:
    living = program(STAY)
    with bridged("notes", revision="2026-07-28") as client:
        first = client.call("write", text="a")
        living.signal(signal.SIGKILL)
        until(lambda: "waiting" in client.stderr)
        program(AGAIN)
        second = client.call("write", text="a")

    assert (first, second) == (1, 1)
    # What the server says of itself, two calls, and not a word more.
    assert len(client.wire.received) == 3


@both_ways
def test_a_line_that_was_begun_is_ended_in_the_next_process(program: Start, bridge: Start) -> None:
    living = program(STAY)
    client = bridge("notes")
    start, end = line(tool_call(1, "which"))[:30], line(tool_call(1, "which"))[30:]
    client.write(start)
    until(lambda: unread(client._popen.stdin) == 0)
    living.signal(signal.SIGKILL)
    client.hears("waiting")
    program(AGAIN)
    client.hears("is back")
    client.write(end)

    assert text_of(client.answer(1)["result"]) == "new"


@both_ways
def test_a_process_that_ends_in_order_is_waited_for_as_well(
    program: Start, bridged: Bridged
) -> None:
    living = program("server.attach(); say('attached'); sys.stdin.read()")
    with bridged("notes") as client:
        living.end()
        until(lambda: "waiting 10 s" in client.stderr)
        program(AGAIN)

        assert client.call("which") == "new"


@both_ways
def test_who_does_not_come_back_is_given_up(program: Start, bridge: Start) -> None:
    living = program(STAY)
    client = bridge("notes", "--wait", "0.3")
    living.signal(signal.SIGKILL)
    client.hears("waiting 0.3 s")
    client.call(1, "write", text="meanwhile")
    status = client.ends()
    [answer] = client.left()

    assert status == 3
    assert client.stderr.endswith("has ended, and has not come back\n")
    assert answer["id"] == 1
    assert answer["error"]["message"].endswith("has ended, and has not come back")


@both_ways
def test_a_client_that_leaves_ends_the_wait(program: Start, bridge: Start) -> None:
    living = program(STAY)
    client = bridge("notes", "--wait")
    living.signal(signal.SIGKILL)
    client.hears("waiting")

    assert client.end() == 3


@both_ways
def test_a_client_of_content_length_is_not_kept(program: Start, bridge: Start) -> None:
    """Of whom it is not known what is open."""
    living = program(STAY)
    client = bridge("notes", opened=False)
    body = line(request(1, "ping"))
    client.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    client.wire.wait_for(lambda: b"result" in client.wire.data, "an answer")
    living.signal(signal.SIGKILL)

    assert client.ends() == 3


def test_another_revision_cannot_be_told(program: Start, bridge: Start, places: Path) -> None:
    living = program(STAY)
    client = bridge("notes", "--wait")
    living.signal(signal.SIGKILL)
    living.ends()
    client.hears("waiting")
    path = places / "toolhaft" / "notes.sock"
    path.unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(PATIENCE)
        wire, _ = listener.accept()
        with wire, wire.makefile("rwb") as file:
            assert json.loads(file.readline())["ask"] == "serve"
            file.write(b'{"toolhaft":1,"name":"notes","pid":1}\n')
            file.flush()
            assert json.loads(file.readline())["method"] == "initialize"
            result = b'{"protocolVersion":"2030-01-01","capabilities":{}}'
            file.write(b'{"jsonrpc":"2.0","id":"init","result":%b}\n' % result)
            file.flush()
            status = client.ends()

    assert status == 3
    assert "speaks revision 2030-01-01 instead of 2025-11-25" in client.stderr


@both_ways
def test_an_interrupted_bridge_says_nothing(program: Start, bridge: Start) -> None:
    program(STAY)
    client = bridge("notes")
    client.signal(signal.SIGINT)

    assert client.ends() == 130
    assert client.stderr == ""


# The record


@pytest.mark.parametrize("how", ["option", "variable"])
def test_all_messages_are_recorded(
    program: Start, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E-56, E-62: a log by an option or a variable, with time and direction."""
    program(STAY)
    log = tmp_path / "traffic.jsonl"
    words = ["--log", str(log)] if how == "option" else []
    if how == "variable":
        monkeypatch.setenv("TOOLHAFT_LOG", str(log))
    done = run("notes", *words, data=b"nonsense\n" + line(request(1, "ping")).rstrip())

    entries = [json.loads(each) for each in log.read_text().splitlines()]
    times = [each.pop("time") for each in entries]
    pids = {each.pop("pid") for each in entries}
    assert done.returncode == 0
    assert times == sorted(times)
    assert all(len(each) == len("2026-07-28T00:00:00.000Z") for each in times)
    assert len(pids) == 1
    assert log.stat().st_mode & 0o777 == 0o600
    assert entries[0] == {"event": "connected to 'notes'"}
    assert entries[-1] == {"event": "done"}
    assert [each for each in entries if each.get("direction") == "in"] == [
        {"direction": "in", "text": "nonsense"},
        {"direction": "in", "message": request(1, "ping")},
    ]
    out = [each["message"] for each in entries if each.get("direction") == "out"]
    assert [each.get("result") for each in out] == [None, {}]


def test_a_log_that_takes_no_more_ends_and_nothing_else(program: Start) -> None:
    program(STAY)
    done = run("notes", "--log", "/dev/full", data=line(request(1, "ping")))

    assert done.returncode == 0
    assert json.loads(done.stdout)["result"] == {}
    assert done.stderr == b"toolhaft: the log ends: No space left on device\n"


def test_secrets_are_not_recorded(program: Start, tmp_path: Path) -> None:
    program(STAY)
    call = tool_call(1, "write", text="kept", password="hunter2", more='{"api_key": "hunter2"}')
    broken = b'{"Authorization": "Bearer hunter2"\n'
    run("notes", "--log", str(tmp_path / "log"), data=line(call) + broken)
    text = (tmp_path / "log").read_text()
    entries = [json.loads(each) for each in text.splitlines()]

    assert "hunter2" not in text
    given = entries[1]["message"]["params"]["arguments"]
    assert given["text"] == "kept"
    assert given["password"] == "[redacted]"
    assert json.loads(given["more"]) == {"api_key": "[redacted]"}
    assert entries[2]["text"] == '{"Authorization" [redacted]'


def test_the_record_of_a_long_line_is_its_beginning(tmp_path: Path) -> None:
    record = Traffic(str(tmp_path / "log"))
    tracemalloc.start()
    try:
        record.note("in", b'{"x": "')
        for _ in range(300):
            record.note("in", b"x" * 65536)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    record.note("in", b'"}\n' + line(request(1, "ping")))
    os.close(record._file)
    long, ping = [json.loads(each) for each in (tmp_path / "log").read_text().splitlines()]

    assert peak < 1_000_000
    assert (long["cut"], long["bytes"]) == (True, 7 + 300 * 65536 + 2)
    assert long["text"].startswith('{"x": "xxx')
    assert len(long["text"]) < 5000
    assert ping["message"] == request(1, "ping")


def test_the_end_of_a_process_is_recorded(program: Start, bridge: Start, tmp_path: Path) -> None:
    living = program(STAY)
    client = bridge("notes", "--log", "log", "--wait=0")
    client.call(1, "nap", seconds=60)
    living.hears("napping")
    living.signal(signal.SIGKILL)
    client.ends()
    entries = [json.loads(each) for each in (tmp_path / "log").read_text().splitlines()]

    assert entries[-1]["event"].endswith("has ended")
    assert entries[-2]["message"]["error"]["code"] == -32603


# ps


def test_metrics_of_a_process_by_its_name(reach: Reach) -> None:
    server = Server("s")
    server.add_tool(lambda: "here", name="look", description="Look.")
    with server.attach("counted"):
        reach("counted").call("look")
        table = command("metrics", "counted")
        listed = command("metrics", "counted", "--json")

    assert (table.returncode, table.stderr) == (0, "")
    assert "look" in table.stdout
    [page] = json.loads(listed.stdout)
    calls = {(each["method"], each.get("name")): each["calls"] for each in page["requests"]}
    assert calls["tools/call", "look"] == 1


def test_metrics_of_a_name_that_nobody_has() -> None:
    with Server("s").attach("here"):
        done = command("metrics", "there")

    assert done.returncode == 4
    assert done.stdout == ""
    assert "no process named 'there' is attached; attached now: here." in done.stderr


@pytest.mark.parametrize("name", ["gone", "my.app"])
def test_metrics_of_a_process_that_has_ended(places: Path, name: str) -> None:
    left_behind(places / "toolhaft" / "gone.sock")
    with Server("s").attach("here"):
        done = command("metrics", name)

    assert done.returncode == 4
    assert f"no process named '{name}' is attached; attached now: here." in done.stderr


def test_nothing_of_a_client_reaches_another(dial: Dial) -> None:
    server = Server("s")
    with server.attach() as attached:
        wires = [dial(attached.socket) for _ in range(3)]
        for number, wire in enumerate(wires):
            wire.send(request(number, "ping"))

        assert [wire.read()["id"] for wire in wires] == [0, 1, 2]
