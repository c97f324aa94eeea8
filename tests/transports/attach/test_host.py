"""A program is attached: what it gets, how clients reach it, and how it ends."""

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.attaching.fixtures import Bridged, Dial, Reach, Start
from tests.attaching.living import STAY
from tests.processes.process import HANDSHAKE, text_of

from toolhaft import Attachment, Limits, McpError, Server
from toolhaft.process.sockets import UnixSocket, locked
from toolhaft.testing import ServerGone, SyncClient
from toolhaft.transports.attach import host


@pytest.fixture
def server() -> Server:
    server = Server("my notes", version="1.0.0")

    @server.tool
    def who() -> str:
        return threading.current_thread().name

    return server


def is_served(client: SyncClient) -> bool:
    """Does a tool run, and where it should?"""
    return str(client.call("who")).startswith("toolhaft-tool-")


def entries(places: Path) -> list[str]:
    return sorted(each.name for each in (places / "toolhaft").iterdir())


# What attach gives


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


def test_only_the_owner_can_use_it(server: Server, places: Path) -> None:
    before = os.umask(0)
    try:
        with server.attach() as attached:
            modes = [os.lstat(path).st_mode for path in (attached.socket, places / "toolhaft")]
    finally:
        os.umask(before)

    assert stat.S_ISSOCK(modes[0])
    assert [stat.S_IMODE(mode) for mode in modes] == [0o600, 0o700]


def test_a_client_is_served_with_a_session_of_its_own(server: Server, dial: Dial) -> None:
    with server.attach("a") as attached:
        first, second = dial(attached.socket), dial(attached.socket)
        first.shake()
        second.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        refused = second.answer(1)
        said = text_of(first.tool(2, "who"))

        assert attached.clients == 2
        assert first.first == {"toolhaft": 1, "name": "a", "pid": os.getpid()}
        assert refused["error"]["code"] == -32602  # it has shaken no hands
        assert said.startswith("toolhaft-tool-")


def test_a_tool_that_cancels_every_task_ends_no_conversation(server: Server, reach: Reach) -> None:
    @server.tool
    async def cancel_all() -> str:
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        return "cancelled"

    with server.attach() as attached:
        one, other = reach(attached.socket), reach(attached.socket)

        assert one.call("cancel_all") == "cancelled"
        assert is_served(one)
        assert is_served(other)
        assert is_served(reach(attached.socket))


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


async def test_it_works_beside_a_running_loop(server: Server, reach: Reach) -> None:
    """As in Jupyter, where the main thread has a loop that never ends."""
    async with server.attach() as attached:
        assert is_served(reach(attached.socket))  # which blocks this very loop

    assert not attached.attached


async def test_detaching_does_not_hold_up_a_running_loop(server: Server, places: Path) -> None:
    with server.attach() as attached:
        assert attached.attached

    assert not attached.attached  # at once, though its thread may still be ending
    assert repr(attached) == "<Attachment my-notes: detached>"
    assert entries(places) == []


def test_it_works_in_a_thread(server: Server, reach: Reach) -> None:
    found: list[Attachment] = []
    thread = threading.Thread(target=lambda: found.append(server.attach()))
    thread.start()
    thread.join()
    with found[0] as attached:
        assert is_served(reach(attached.socket))


# Names and places


@pytest.mark.parametrize("name", ["", "a/b", "../a", ".a", "-a", "a b", "x" * 65, "ä"])
def test_a_name_that_is_no_file_name_is_refused(server: Server, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a process"):
        server.attach(name)


def test_a_server_without_letters_needs_a_name() -> None:
    with pytest.raises(ValueError, match=r"'日本', makes no name of a process; give one"):
        Server("日本").attach()


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


def test_a_path_that_is_too_long_is_refused(server: Server) -> None:
    with pytest.raises(ValueError, match="less than 108 bytes"):
        server.attach(socket="/tmp/" + "x" * 108)


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


def test_a_directory_that_others_can_use_is_refused(server: Server, places: Path) -> None:
    (places / "toolhaft").mkdir(mode=0o700)
    (places / "toolhaft").chmod(0o750)

    with pytest.raises(OSError, match="chmod 700"):
        server.attach()


def test_a_directory_that_is_a_link_is_refused(server: Server, places: Path) -> None:
    (places / "elsewhere").mkdir(mode=0o700)
    (places / "toolhaft").symlink_to(places / "elsewhere")

    with pytest.raises(OSError, match="no directory"):
        server.attach()


def test_a_directory_of_somebody_else_is_refused(
    server: Server, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (places / "toolhaft").mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: 12345)

    with pytest.raises(OSError, match="belongs to somebody else"):
        server.attach()


def test_a_directory_that_cannot_be_made_is_named(
    server: Server, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.setenv(variable, str(places / "nowhere"))
    with pytest.raises(OSError, match=r"cannot make .*/nowhere/.*; set XDG_RUNTIME_DIR to"):
        server.attach()


def test_without_a_runtime_directory_there_is_one_for_temporary_files(
    server: Server, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(places / "missing"))

    with server.attach() as attached:
        assert attached.socket == f"{places}/toolhaft-{os.getuid()}/my-notes.sock"


def test_windows_is_told_that_it_has_to_wait(
    server: Server, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")

    with pytest.raises(NotImplementedError, match="not supported on Windows yet"):
        server.attach()
    monkeypatch.undo()
    assert list(places.iterdir()) == []


# Who connects


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


def test_whoever_comes_and_goes_leaves_nothing_behind(server: Server, dial: Dial) -> None:
    with server.attach() as attached:
        for first in (b"", b'{"toolhaft"', None):
            for _ in range(20):
                dial(attached.socket, first).close()
        last = dial(attached.socket)
        last.shake()
        last.tool(1, "who")
        for _ in range(1000):
            if attached.clients == 1:
                break
            last.tool(2, "who")

        assert attached.clients == 1


def test_messages_that_come_with_the_first_line_are_served(server: Server, dial: Dial) -> None:
    with server.attach() as attached:
        wire = dial(
            attached.socket,
            b'{"toolhaft":1,"ask":"serve"}\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        )

        assert wire.read()["pid"] == os.getpid()
        assert wire.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_limits_hold_as_on_stdio(dial: Dial) -> None:
    server = Server("s", limits=Limits(message_bytes=1000))
    with server.attach() as attached:
        wire = dial(attached.socket)
        wire.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","x":"' + b"x" * 100_000 + b'"}\n')
        wire.write(b"[" * 900 + b"\n")
        wire.send({"jsonrpc": "2.0", "id": 2, "method": "ping"})
        answers = [wire.read() for _ in range(3)]

    assert "at most 1000 bytes" in answers[0]["error"]["message"]
    assert answers[1]["error"]["code"] == -32700
    assert answers[2]["result"] == {}


def test_a_client_that_does_not_read_holds_up_nobody_else(dial: Dial) -> None:
    server = Server("s", limits=Limits(waiting_bytes=100_000))
    begun: list[int] = []

    @server.tool
    async def much(n: int) -> str:
        begun.append(n)
        return "x" * 100_000

    with server.attach() as attached:
        deaf, other = dial(attached.socket), dial(attached.socket)
        deaf.shake()
        other.shake()
        calls = [
            {
                "jsonrpc": "2.0",
                "id": n,
                "method": "tools/call",
                "params": {"name": "much", "arguments": {"n": n}},
            }
            for n in range(200)
        ]
        deaf.send(*calls)
        said = text_of(other.tool(1, "much", n=-1))
        served = len(begun)
        heard = [deaf.read()["id"] for _ in calls]

    assert len(said) == 100_000
    assert served < 50  # the rest waits until somebody reads
    assert heard == list(range(200))


# The end of the client's words


def test_calls_finish_after_the_client_has_said_all(dial: Dial, server: Server) -> None:
    release = threading.Event()

    @server.tool
    def wait() -> str:
        release.wait(10)
        return "done"

    with server.attach() as attached:
        wire = dial(attached.socket)
        wire.shake()
        # The last line has no end.
        call = {"name": "wait", "arguments": {}}
        last = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        wire.write(json.dumps(last).encode())
        wire.end()
        threading.Timer(1.0, release.set).start()  # longer than a server on stdio would wait

        assert text_of(wire.answer(1)["result"]) == "done"
        assert wire.read() is None


def test_a_client_that_leaves_cancels_its_calls(server: Server, dial: Dial) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    @server.tool
    async def wait() -> None:
        begun.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with server.attach() as attached:
        wire = dial(attached.socket)
        wire.shake()
        call = {"name": "wait", "arguments": {}}
        wire.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        assert begun.wait(10)
        wire.close()

        assert cancelled.wait(10)


# The end of the program

ENDINGS = {
    "the last line": "",
    "sys.exit": "sys.exit(0)",
    "an error": "1 / 0",
    "a thread": "threading.Thread(target=time.sleep, args=(0.3,)).start()",
    "detach": "attached.detach()",
    "a tool that never ends": "",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_program_ends_with_clients_attached(
    program: Start, bridge: Start, places: Path, ending: str
) -> None:
    living = program(f"""
        go = threading.Event()

        @server.tool
        def finish() -> None:
            go.set()

        attached = server.attach()
        say("attached")
        go.wait(30)
        {ENDINGS[ending]}
    """)
    bridges = [bridge("notes", "--wait", "0") for _ in range(3)]
    if ending == "a tool that never ends":
        bridges[1].call(1, "doze", seconds=60)
        bridges[2].call(1, "nap", seconds=60)
        living.hears("dozing")
        living.hears("napping")
    bridges[0].call(2, "finish")
    status = living.ends()

    for each in bridges:
        each.hears("the process 'notes'")
        assert each.ends() == 3
    assert entries(places) == []
    told = [line for line in living.stderr.splitlines() if not line.startswith(("doz", "nap"))]
    if ending == "an error":
        assert status == 1
        assert told[-1] == "ZeroDivisionError: division by zero"
    else:
        assert status == 0
        assert [line for line in told if "cancelled:" not in line] == ["attached"]


async def test_a_program_that_forks_keeps_its_clients(program: Start, bridged: Bridged) -> None:
    """A child has neither the socket nor the clients, and ends without touching them."""
    living = program("""
        @server.tool
        def fork() -> str:
            go.set()
            done.wait(10)
            return "forked"

        go, done = threading.Event(), threading.Event()
        attached = server.attach()
        say("attached")
        go.wait(30)
        child = os.fork()
        if not child:
            attached.detach()
            with server.attach("child") as own:
                say("child is", own.name)
                time.sleep(60)
        say("parent goes on")
        done.set()
        time.sleep(60)
    """)
    first, second = bridged("notes", "--wait=0").client, bridged("child", "--wait=0").client
    async with first:
        forking = asyncio.create_task(first.call("fork"))
        await asyncio.to_thread(living.hears, "child is child")
        async with second:
            written = await second.call("write", text="in the child")
            forked = await forking
            parents = await first.call("read")
            living.signal(signal.SIGKILL)
            with pytest.raises((ServerGone, McpError), match="has ended"):
                await first.call("read")

            assert (written, forked, parents) == (1, "forked", [])
            assert await second.call("read") == ["in the child"]
            os.kill(_pid_of("child"), signal.SIGKILL)
            with pytest.raises((ServerGone, McpError), match="has ended"):
                await second.call("read")


def _pid_of(name: str) -> int:
    listed = subprocess.run(
        [sys.executable, "-m", "toolhaft", "ps", "--json"],
        capture_output=True,
        check=True,
        timeout=30,
    )
    [pid] = [each["pid"] for each in json.loads(listed.stdout) if each["name"] == name]
    found: int = pid
    return found


def test_a_tool_that_forks_answers_once(program: Start, bridge: Start) -> None:
    program("""
        @server.tool
        def fork() -> str:
            return "parent" if os.fork() else "child"

        server.attach()
        stay()
    """)
    client = bridge("notes")
    answers = [text_of(client.ask_tool(number, "fork")) for number in range(5)]
    client.close_input()

    assert answers == ["parent"] * 5
    assert client.left() == []


def test_workers_share_a_program_by_their_ids(program: Start, reach: Reach, places: Path) -> None:
    """As under gunicorn: each worker is attached after the fork."""
    living = program("""
        workers = []
        for number in range(2):
            if child := os.fork():
                workers.append(child)
            else:
                server.attach("web-{pid}")
                say("worker", number, "is attached")
                time.sleep(60)
        signal.signal(signal.SIGTERM, lambda *_: [os.kill(each, 9) for each in workers])
        for each in workers:
            os.wait()
    """)
    living.hears("worker 0")
    living.hears("worker 1")
    names = [name.removesuffix(".sock") for name in entries(places)]
    written = [reach(name).call("write", text="a") for name in names]
    living.signal(signal.SIGTERM)

    assert len(names) == 2
    assert written == [1, 1]
    assert living.ends() == 0


def test_a_worker_whose_name_is_taken_is_told_so(program: Start) -> None:
    program(STAY)
    second = program("server.attach()", attached=None)

    assert second.ends() == 1
    assert "OSError: a process is attached as 'notes' already" in second.stderr
    assert "name='notes-{pid}'" in second.stderr


def test_a_lifespan_is_entered_once_for_all_clients(program: Start, bridged: Bridged) -> None:
    living = program("""
        @contextlib.asynccontextmanager
        async def lifespan(server):
            say("entered")
            yield "open"
            say("left")

        server = Server("span", lifespan=lifespan)

        @server.tool
        def value(ctx: Context) -> str:
            return ctx.lifespan

        with server.attach():
            say("attached")
            sys.stdin.read()
    """)
    for _ in range(2):
        with bridged("span") as client:
            assert client.call("value") == "open"
        assert client.exit_status == 0
    assert living.end() == 0

    assert sorted(living.stderr.split()) == ["attached", "entered", "left"]


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


def test_clients_are_refused_where_the_lifespan_has_failed(program: Start, bridge: Start) -> None:
    living = program(
        """
        @contextlib.asynccontextmanager
        async def lifespan(server):
            raise ConnectionError("no database")
            yield

        server = Server("notes", lifespan=lifespan)
        server.attach()
        stay()
        """
    )
    client = bridge("notes", "--wait=0", opened=False)
    client.send(*HANDSHAKE)

    assert client.ends() != 0
    assert [message for message in client.left() if "result" in message] == []
    assert "its lifespan failed: ConnectionError" in client.stderr
    assert "no database" in living.stderr
