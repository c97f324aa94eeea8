"""A program is attached: what it gets, how clients reach it, and how it ends."""

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.attaching.fixtures import Bridged, Reach, Start
from tests.attaching.hosted import entries
from tests.attaching.living import STAY
from tests.processes.process import text_of

from toolhaft import McpError, Server
from toolhaft.testing import ServerGone

# What attach gives


def test_only_the_owner_can_use_it(server: Server, places: Path) -> None:
    before = os.umask(0)
    try:
        with server.attach() as attached:
            modes = [os.lstat(path).st_mode for path in (attached.socket, places / "toolhaft")]
    finally:
        os.umask(before)

    assert stat.S_ISSOCK(modes[0])
    assert [stat.S_IMODE(mode) for mode in modes] == [0o600, 0o700]


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
