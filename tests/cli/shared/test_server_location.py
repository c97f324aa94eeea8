"""Where the server of a command is, and what is said if there is none."""

import contextlib
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from textwrap import dedent

import pytest
from tests.cli.running import toolhaft
from tests.cli.shared.running_servers import ATTACHED
from tests.processes.process import Process
from tests.transports.http.servers.web import HEADER


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
