"""A warm command does what the plain one would have done."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.warm import OURS, warm

TELLS = """
import json, os, sys
print(json.dumps([sys.argv, os.getcwd(), os.environ.get("TOLD"), __name__, sys.stdin.read()]))
print("é", file=sys.stderr)
sys.exit(3)
"""
# For longer than a test may take: none passes because the program has ended by itself.
SLEEPS = "import os, time; os.write(1, b'%d\\n' % os.getpid()); time.sleep(100)"

# Forks, so that the copy forgets what is to be done at the end, or does it.
FORKS = """
import atexit, os, subprocess, sys
from tests.warm import warm
command = warm("json", "-c", "print('still there')")
if not (child := os.fork()):
    atexit.{}()
    os._exit(0)
os.waitpid(child, 0)
sys.exit(subprocess.run(command).returncode)
"""


def done(command: list[str], folder: Path) -> tuple[int, bytes, bytes]:
    ended = subprocess.run(
        command,
        cwd=folder,
        input="ü".encode(),
        capture_output=True,
        check=False,
        env={**os.environ, "TOLD": "a=b"},
    )
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.parametrize("kind", ["code", "file", "module"])
def test_it_says_the_same_as_the_plain_one(kind: str, tmp_path: Path) -> None:
    (tmp_path / "tells.py").write_text(TELLS, encoding="utf-8")
    words = {"code": ["-c", TELLS], "file": ["tells.py"], "module": ["-m", "tells"]}[kind]

    told = done(warm(OURS, *words, "one", "\udcff"), tmp_path)

    status, out, err = done([sys.executable, *words, "one", "\udcff"], tmp_path)
    assert (status, err) == (3, "é\n".encode())
    assert told == (status, out, err)


def started() -> "tuple[subprocess.Popen[bytes], int]":
    process = subprocess.Popen(warm(OURS, "-c", SLEEPS), stdout=subprocess.PIPE)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def test_a_signal_is_passed_on_and_ends_both() -> None:
    process, program = started()
    with process:
        process.send_signal(signal.SIGTERM)

    assert process.returncode == -signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(program, 0)


def test_the_end_of_a_program_that_is_killed_is_told() -> None:
    process, program = started()
    with process:
        os.kill(program, signal.SIGKILL)

    assert process.returncode == -signal.SIGKILL


def test_a_program_ends_with_whoever_stands_for_it() -> None:
    process, _ = started()
    with process:
        process.kill()
        assert process.stdout is not None

        # The end comes when nobody has it open.
        assert process.stdout.read() == b""


# A process of `multiprocessing` begins with the one, since Python 3.13, and ends with the other.
@pytest.mark.parametrize("does", ["_clear", "_run_exitfuncs"])
def test_a_fork_of_the_process_that_asks_takes_nothing_away(does: str) -> None:
    root = Path(__file__).parents[2]

    status, out, err = done([sys.executable, "-W", "error", "-c", FORKS.format(does)], root)

    assert (status, out, err) == (0, b"still there\n", b"")
