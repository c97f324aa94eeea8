"""`toolhaft run`: what is served, and what is refused."""

import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tests.cli.running import toolhaft


def test_what_is_said_of_http_is_refused_over_stdio(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text('from toolhaft import Server\nserver = Server("s")\n')

    done = toolhaft("run", str(file), "--workers", "2", "--allow-host", "a.example", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr == (
        "toolhaft: --workers and --allow-host: only over HTTP; say where, as in "
        "--http 127.0.0.1:8000\n"
    )


LISTENER = """\
import sys
from toolhaft import Listener, Server

server = Server("s")
listener = Listener("127.0.0.1:0", {"/s": server})
print("printed")
"""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_listener_is_run_as_it_is(tmp_path: Path, workers: str) -> None:
    file = tmp_path / "server.py"
    file.write_text(LISTENER)
    command = [sys.executable, "-m", "toolhaft", "run", f"{file}:listener", "--workers", workers]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        where = next(line for line in lines if "serving at" in line)
        url = where.split()[3].removesuffix("/s") + "/healthz"
        with urllib.request.urlopen(url, timeout=10) as answer:
            status = answer.status
        process.send_signal(signal.SIGTERM)
        process.wait(15)

    assert (status, process.returncode) == (200, 0)


def test_a_listener_is_no_server_to_call(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text(LISTENER)

    done = toolhaft("list", f"{file}:listener", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr.endswith("is a Listener, which can only be run; name one of its servers\n")


def test_a_listener_says_itself_where_it_listens(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text(LISTENER)

    done = toolhaft("run", f"{file}:listener", "--http", "127.0.0.1:0", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr.endswith("is a Listener, and says itself where it listens\n")
