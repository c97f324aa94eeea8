"""`toolhaft list`, `call`, `read` and `prompt` with servers that run already."""

import contextlib
import json
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from tests.cli.running import toolhaft
from tests.cli.shared.running_servers import ATTACHED, COUNTER
from tests.processes.process import Process
from tests.transports.http.servers.web import HEADER, Site, as_script, by_command, write

Command = Callable[[Path], list[str]]

GUARDED = """
    def guard(headers):
        if headers.get("authorization") != "Bearer good":
            raise Unauthorized("send a token")
        return "somebody"

    @server.tool
    def up() -> int:
        return 1

    server.run(http="127.0.0.1:0", guard=guard)
"""


@contextlib.contextmanager
def served(folder: Path, source: str, command: Command = by_command) -> Iterator[str]:
    """The URL of a server in a process of its own."""
    with Site(command(write(folder, source)), cwd=folder) as site:
        yield f"http://127.0.0.1:{site.is_served().port}/mcp"


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where sockets are, for this test alone. Their paths have to be short."""
    folder = Path(tempfile.mkdtemp(prefix="th-", dir="/tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def attached(tmp_path: Path, runtime: Path) -> Iterator[Process]:
    """A process that is attached as `counter`."""
    file = tmp_path / "program.py"
    file.write_text(HEADER + dedent(ATTACHED))
    with Process([sys.executable, str(file)], cwd=tmp_path) as process:
        process.hears("attached")
        yield process


# At a URL


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_nothing_but_progress_is_told_beside_the_result(tmp_path: Path, revision: str) -> None:
    source = """
        @server.tool
        async def count(to: int, ctx: Context) -> int:
            for each in range(to):
                await ctx.progress(each + 1, to)
            return to
    """
    with served(tmp_path, dedent(source)) as url:
        called = toolhaft("call", url, "count", "to=2", "--revision", revision, cwd=tmp_path)

    assert (called.stdout, called.stderr) == ("2\n", "progress 1/2\nprogress 2/2\n")


def test_a_server_at_a_url_is_used_as_one_in_a_file(tmp_path: Path) -> None:
    with served(tmp_path, COUNTER) as url:
        listed = toolhaft("list", url, cwd=tmp_path)
        called = toolhaft("call", url, "up", "by=4", cwd=tmp_path)
        again = toolhaft("call", url, "up", "--json", cwd=tmp_path)
        failed = toolhaft("call", url, "fail", cwd=tmp_path)
        read = toolhaft("read", url, "notes://all", cwd=tmp_path)
        prompted = toolhaft("prompt", url, "review", "diff=x", cwd=tmp_path)
        refused = toolhaft("call", url, "down", cwd=tmp_path)
        wrong = toolhaft("call", url, "up", "by=x", cwd=tmp_path)

    assert (listed.returncode, listed.stderr) == (0, "")
    assert "  up(by: int = 1)\n      Count.\n" in listed.stdout
    assert (called.returncode, called.stdout) == (0, "4\n")
    assert json.loads(again.stdout)["structuredContent"] == 5
    assert (failed.returncode, failed.stderr) == (5, "it broke\n")
    assert read.stdout == "all of it"
    assert prompted.stdout == "user:\nlook: x\n"
    assert (refused.returncode, refused.stderr[:29]) == (4, "toolhaft: unknown tool: 'down")
    assert (wrong.returncode, wrong.stderr) == (2, "toolhaft: by: expected an integer, got 'x'\n")


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25", "2025-03-26"])
def test_a_revision_can_be_chosen_for_a_url(tmp_path: Path, revision: str) -> None:
    with served(tmp_path, COUNTER) as url:
        done = toolhaft("call", url, "up", "--json", "--revision", revision, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert ("resultType" in json.loads(done.stdout)) == (revision == "2026-07-28")


def test_an_argument_that_a_header_repeats_is_repeated(tmp_path: Path) -> None:
    with served(tmp_path, COUNTER) as url:
        done = toolhaft("call", url, "where", '{"region": "north"}', cwd=tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (0, "north\n", "")


def test_headers_are_sent(tmp_path: Path) -> None:
    with served(tmp_path, GUARDED, as_script) as url:
        none = toolhaft("call", url, "up", cwd=tmp_path)
        bad = toolhaft("call", url, "up", "--header", "Authorization: Bearer bad", cwd=tmp_path)
        good = toolhaft("call", url, "up", "--header", "Authorization:Bearer good", cwd=tmp_path)

    assert none.returncode == bad.returncode == 4
    assert none.stderr == (
        f"toolhaft: {url} answers with 401: send a token; give --header 'Authorization: …'\n"
    )
    assert bad.stderr.endswith("; it does not take the Authorization that --header gave\n")
    assert (good.returncode, good.stdout) == (0, "1\n")


def test_who_does_not_answer_in_time_is_left(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        done = toolhaft("list", url, "--timeout", "0.5", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (4, "")
    assert "no answer within 0.5 seconds" in done.stderr


def test_a_contract_holds_a_server_at_a_url(tmp_path: Path) -> None:
    with served(tmp_path, COUNTER) as url:
        written = toolhaft("contract", url, "url.lock", cwd=tmp_path)
        same = toolhaft("contract", "author.py", "url.lock", "--check", cwd=tmp_path)

    assert (written.returncode, written.stderr) == (0, "")
    assert (same.returncode, same.stdout) == (0, "url.lock: nothing has changed\n")


# Attached


@pytest.mark.usefixtures("attached")
def test_an_attached_process_is_reached_by_its_name(tmp_path: Path) -> None:
    first = toolhaft("call", "--attach", "counter", "up", "by=2", cwd=tmp_path)
    second = toolhaft("call", "up", "--att=counter", "--revision", "2025-11-25", cwd=tmp_path)
    listed = toolhaft("list", "tools", "--attach", "counter", cwd=tmp_path)
    read = toolhaft("read", "--attach", "counter", "notes://all", cwd=tmp_path)
    prompted = toolhaft("prompt", "review", "diff=x", "--attach", "counter", cwd=tmp_path)
    failed = toolhaft("call", "--attach", "counter", "fail", cwd=tmp_path)

    assert (first.returncode, first.stdout, first.stderr) == (0, "2\n", "")
    assert (second.returncode, second.stdout, second.stderr) == (0, "3\n", "")
    assert "up(by: int = 1)" in listed.stdout
    assert read.stdout == "all of it"
    assert prompted.stdout == "user:\nlook: x\n"
    assert failed.returncode == 5


def test_a_process_that_ends_in_the_middle_is_told(tmp_path: Path, runtime: Path) -> None:
    source = """
        @server.tool
        def leave() -> str:
            os._exit(3)

        server.attach(name="counter")
        say("attached")
        while True:
            time.sleep(1)
    """
    file = tmp_path / "program.py"
    file.write_text(HEADER + dedent(source))
    with Process([sys.executable, str(file)], cwd=tmp_path) as process:
        process.hears("attached")
        done = toolhaft("call", "--attach", "counter", "leave", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == "toolhaft: the process 'counter' has ended, or hung up\n"
