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

PATIENCE = 20.0


# Options that would not be used

GUARDED = {
    "run": 'server.run(http="127.0.0.1:0", guard=guard)',
    "settings": 'settings = {"guard": guard}\nserver.run(http="127.0.0.1:0", **settings)',
    "main": 'if __name__ == "__main__":\n    server.run(http="127.0.0.1:0", guard=guard)',
    "settings of main": 'settings = {"http": "127.0.0.1:0", "guard": guard}\n'
    'if __name__ == "__main__":\n    server.run(**settings)',
    "settings of a function": "def main():\n    server.run(http=8000, **dict(guard=guard))",
    "function": "def main():\n    server.run(http=8000, guard=guard)",
    "listener": "from toolhaft import Listener\n"
    'Listener("127.0.0.1:0", {"/own": server}, guard=guard).run()',
    "kept listener": "from toolhaft import Listener\n"
    'listener = Listener("127.0.0.1:0", {"/own": server}, guard=guard)',
    "mounted": "from toolhaft import Listener\nlistener = Listener()\n"
    'listener.mount("/own", server, guard=guard)',
    "application": "app = server.asgi(guard=guard)",
}
GUARD = """
async def guard(headers):
    return None
"""


@contextmanager
def running(folder: Path, ending: str, *words: str) -> "Generator[subprocess.Popen[str]]":
    (folder / "author.py").write_text(HEADER + TOOL + GUARD + ending)
    process = subprocess.Popen(
        [sys.executable, "-m", "toolhaft", "run", *words],
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


def said_before_it_serves(process: "subprocess.Popen[str]") -> list[str]:
    assert process.stderr is not None
    said: list[str] = []
    for each in process.stderr:
        if "serving at" in each:
            break
        said.append(each)
    process.send_signal(signal.SIGTERM)
    return said


@pytest.mark.parametrize("ending", GUARDED.values(), ids=GUARDED)
@pytest.mark.parametrize("where", [["--http", "127.0.0.1:0"], ["--uds", "socket"]])
def test_a_guard_that_would_not_be_used_is_refused(
    tmp_path: Path, ending: str, where: list[str]
) -> None:
    with running(tmp_path, ending, "author.py", *where) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        assert ended(process) == (2, "")

    assert said.startswith(
        "toolhaft: author.py has a guard, which toolhaft run --http does not use"
    )
    assert "toolhaft run author.py:listener" in said
    assert "serving at" not in said


@pytest.mark.parametrize("ending", GUARDED.values(), ids=GUARDED)
def test_it_is_served_without_the_guard_if_that_is_said(tmp_path: Path, ending: str) -> None:
    with running(tmp_path, ending, "author.py", "--http", "0", "--no-guard") as process:
        assert said_before_it_serves(process) == []


def test_a_listener_uses_its_guard(tmp_path: Path) -> None:
    with running(tmp_path, GUARDED["kept listener"], "author.py:listener") as process:
        assert said_before_it_serves(process) == []


@pytest.mark.parametrize("ending", GUARDED.values(), ids=GUARDED)
def test_over_stdio_there_is_nothing_to_guard(tmp_path: Path, ending: str) -> None:
    with running(tmp_path, ending, "author.py") as process:
        assert process.stdin is not None
        process.stdin.close()
        assert ended(process)[0] == 0


@pytest.mark.parametrize(
    ("options", "words", "told"),
    [
        ("", (), None),
        ("guard=None, allow_hosts=[]", (), None),
        ('allow_hosts=["a"], metrics=True', (), "allow_hosts and metrics"),
        ('allow_hosts=["a"], metrics=True', ("--metrics",), "allow_hosts"),
        ('path="/x"', ("--path", "/y"), None),
        ('path="/x", workers=1, sessions="stateless"', (), "path and sessions"),
    ],
)
def test_other_options_that_are_not_used_are_named(
    tmp_path: Path, options: str, words: tuple[str, ...], told: str | None
) -> None:
    ending = f'server.run(http="127.0.0.1:0", {options})'
    with running(tmp_path, ending, "author.py", "--http", "0", *words) as process:
        said = said_before_it_serves(process)

    assert len(said) == (told is not None)
    if told is not None:
        assert said[0].startswith(f"toolhaft: author.py passes {told} to server.run, asgi or a ")
