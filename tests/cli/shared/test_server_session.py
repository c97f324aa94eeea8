"""`toolhaft list`, `call`, `read` and `prompt` with servers that run already."""

import contextlib
import json
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from textwrap import dedent

import pytest
from tests.cli.running import toolhaft
from tests.processes.process import Process
from tests.transports.http.servers.web import HEADER, Site, as_script, by_command, write

Command = Callable[[Path], list[str]]

COUNTER = """
    from typing import Annotated
    from msgspec import Meta

    count = 0

    @server.tool
    def up(by: int = 1) -> int:
        \"\"\"Count.\"\"\"
        global count
        count += by
        return count

    @server.tool
    def fail() -> str:
        raise ToolError("it broke")

    @server.tool
    def where(region: Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})]) -> str:
        return region

    @server.resource("notes://all", mime_type="text/plain")
    def notes() -> str:
        return "all of it"

    @server.prompt
    def review(diff: str) -> str:
        return f"look: {diff}"
"""
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
ATTACHED = (
    COUNTER
    + """
    server.attach(name="counter")
    say("attached")
    while True:
        time.sleep(1)
"""
)


@contextlib.contextmanager
def served(folder: Path, source: str, command: Command = by_command) -> Iterator[str]:
    """The URL of a server in a process of its own."""
    with Site(command(write(folder, source)), cwd=folder) as site:
        yield f"http://127.0.0.1:{site.is_served().port}/mcp"


@contextlib.contextmanager
def answering(status: int, body: bytes, **headers: str) -> Iterator[str]:
    """The URL of something that gives one answer to everybody."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


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


@pytest.mark.parametrize(
    ("status", "body", "headers", "told"),
    [
        (200, b"<html>Hello</html>", {}, "answers with no message: b'<html>Hello</html>'; is this"),
        (404, b"lost", {}, "answers with 404: lost; is the path right? Often it is /mcp\n"),
        (401, b'{"error": "invalid_token"}', {}, "; give --header 'Authorization: …'\n"),
        (307, b"", {"location": "/mcp/"}, "answers with 307, and points to /mcp/, which is not f"),
        (500, b"", {}, "answers with 500\n"),
        (200, b'{"jsonrpc":"2.0","id":1,"result":[]}', {}, "the server's response has no result"),
    ],
    ids=["a page", "nothing there", "OAuth", "moved", "broken", "no object"],
)
def test_what_is_no_server_is_told(
    tmp_path: Path, status: int, body: bytes, headers: dict[str, str], told: str
) -> None:
    with answering(status, body, **headers) as url:
        done = toolhaft("list", url, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (4, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_where_nothing_listens_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        done = toolhaft("list", url, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == f"toolhaft: nothing listens at {url}\n"


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


@pytest.mark.usefixtures("attached")
def test_a_target_that_is_the_name_of_a_process_is_explained(tmp_path: Path) -> None:
    done = toolhaft("call", "counter", "up", cwd=tmp_path)

    assert done.returncode == 2
    assert "a process named 'counter' is attached, and --attach counter reaches it" in done.stderr


def test_a_process_that_is_not_attached_is_told(tmp_path: Path, attached: Process) -> None:
    other = toolhaft("list", "--attach", "other", cwd=tmp_path)
    attached.signal(signal.SIGKILL)
    attached.ends()
    ended = toolhaft("list", "--attach", "counter", cwd=tmp_path)
    header = toolhaft("list", "--attach", "counter", "--header", "a: b", cwd=tmp_path)

    assert (other.returncode, other.stdout) == (2, "")
    assert other.stderr == (
        "toolhaft: no process named 'other' is attached; attached now: counter\n"
    )
    assert ended.returncode == header.returncode == 2
    assert ended.stderr == (
        "toolhaft: the process that was attached as 'counter' has ended; "
        "no process is attached now\n"
    )
    assert header.stderr.startswith("toolhaft: --header is for servers at a URL")


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
