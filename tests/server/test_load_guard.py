"""A file that ends with an unguarded `run()`: whoever loads it is not held up by that."""

import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.running import HEADER
from tests.cli.unguarded import TOOL, ended
from tests.processes.process import HANDSHAKE, line

PATIENCE = 20.0


ENDINGS = {
    "stdio": "server.run()",
    "http": 'server.run(http="127.0.0.1:0", path="/own")',
    "listener": 'from toolhaft import Listener\nListener("127.0.0.1:0", {"/own": server}).run()',
}


EACH_ENDING = pytest.mark.parametrize("ending", ENDINGS)


@contextmanager
def begun(folder: Path, ending: str, *arguments: str) -> "Generator[subprocess.Popen[str]]":
    """A command whose stdin stays open, as that of a terminal does."""
    (folder / "author.py").write_text(HEADER + TOOL + ENDINGS[ending])
    process = subprocess.Popen(
        [sys.executable, "-m", "toolhaft", *arguments],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    deadline = threading.Timer(PATIENCE, process.kill)
    deadline.start()
    try:
        with process:
            yield process
    finally:
        deadline.cancel()


@EACH_ENDING
def test_a_tool_is_called(tmp_path: Path, ending: str) -> None:
    with begun(tmp_path, ending, "call", "author.py", "add", "a=1") as process:
        assert ended(process) == (0, "3\n")


@EACH_ENDING
def test_a_server_is_checked(tmp_path: Path, ending: str) -> None:
    command = ("check", "author.py", "--timeout", "5", "--level", "error")
    with begun(tmp_path, ending, *command) as process:
        assert ended(process) == (0, "author.py: no errors\n")


@EACH_ENDING
def test_a_server_is_served_where_the_command_says_and_nowhere_else(
    tmp_path: Path, ending: str
) -> None:
    command = ("run", "author.py", "--http", "127.0.0.1:0", "--path", "/asked")
    with begun(tmp_path, ending, *command) as process:
        assert process.stderr is not None
        where = next((each for each in process.stderr if "serving at" in each), "")
        process.send_signal(signal.SIGTERM)
        status, _ = ended(process)
        rest = process.stderr.read()

    assert "/asked" in where
    assert "/own" not in where + rest
    assert status == 0


@EACH_ENDING
def test_a_server_is_served_over_stdio(tmp_path: Path, ending: str) -> None:
    with begun(tmp_path, ending, "run", "author.py") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line(HANDSHAKE[0]).decode())
        process.stdin.flush()
        answer = process.stdout.readline()
        process.stdin.close()
        status, _ = ended(process)

    assert answer.startswith('{"jsonrpc":"2.0","id":"init","result":')
    assert status == 0
