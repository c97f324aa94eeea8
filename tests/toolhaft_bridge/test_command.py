"""The command that starts a bridge, and what it loads."""

import json
import subprocess
import sys

import pytest
from tests.attaching.fixtures import Start
from tests.attaching.living import STAY
from tests.processes.process import line, request, tool_call
from tests.toolhaft_bridge.bridges import run


def test_a_bridge_loads_nothing_that_is_slow(program: Start) -> None:
    """E-58: the bridge is small, and there at once."""
    program(STAY)
    code = (
        "import sys; before = set(sys.modules)\n"
        "from toolhaft_bridge.command import main\n"
        "sys.argv[1:] = ['attach', 'notes']; status = main()\n"
        "print(sorted(set(sys.modules) - before), file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=line(tool_call(1, "x")), capture_output=True, timeout=20
    )

    assert done.returncode == 0, done.stderr
    loaded = set(eval(done.stderr))
    assert {name for name in loaded if not name.startswith("toolhaft_bridge")} <= {
        "_socket",
        "select",
        "stat",
        "time",
        "_stat",
    }
    assert "toolhaft_bridge.messages" not in loaded


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "needs a NAME or a --socket"),
        (["a", "--socket", "b"], "needs a NAME or a --socket"),
        (["a", "b"], "does not understand 'b'"),
        (["a", "--wat"], "does not understand '--wat'"),
        (["a/b"], "cannot be the name of a process"),
        (["a", "--wait=soon"], "'soon' is no number of seconds"),
        (["a", "--wait", "-1"], "'-1' is no number of seconds"),
        (["--socket", "/tmp/" + "y" * 200], "the path of a socket has less than"),
        (["--socket", "/dev/null/x"], "no process is attached at /dev/null/x: Not a directory"),
        (["a", "--wait=-1"], "'-1' is no number of seconds"),
        (["a", "--init", "x"], "'x' is not MODULE:FUNCTION"),
        (["a", "--stop", 'x:"y"'], "is not MODULE:FUNCTION"),
        (["a", "--stop"], "--stop needs a value"),
        (["a", "--log", "/nowhere/at/all"], "cannot write the log '/nowhere/at/all'"),
        (["--socket", "/nowhere"], "no process is attached at /nowhere"),
        (["a", "--wait", "0.01"], "no process named 'a' is attached within 0.01 s"),
        (["a"], "no process named 'a' is attached; no process is attached now"),
    ],
)
def test_a_wrong_command_is_explained(words: list[str], told: str) -> None:
    """E-58, E-62: options that mean nothing, and a log that cannot be written."""
    done = run(*words)

    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.decode().startswith("toolhaft: ")
    assert told in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_the_usual_command_is_a_bridge_too(program: Start) -> None:
    program(STAY)
    done = subprocess.run(
        [sys.executable, "-m", "toolhaft", "attach", "notes"],
        input=line(request(1, "ping")),
        capture_output=True,
        timeout=30,
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["result"] == {}
