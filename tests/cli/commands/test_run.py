"""`toolhaft run`: what is served, and what is refused."""

import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tests.cli.running import toolhaft
from tests.processes.process import command_for, write_server
from tests.processes.programs import MANY_TOOLS, PONGS, STREAMS, _bodies

from toolhaft.testing import SyncClient


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


def test_a_framing_may_be_demanded(tmp_path: Path) -> None:
    file = write_server(tmp_path, MANY_TOOLS)

    done = subprocess.run(
        [*command_for(file), "--framing", "content-length"],
        input=STREAMS["CRLF"],
        capture_output=True,
        timeout=20,
    )

    assert done.returncode == 0
    assert _bodies(done.stdout) == PONGS


def _command(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "toolhaft", *arguments],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
    )


def _is_a_clear_refusal(done: "subprocess.CompletedProcess[str]") -> bool:
    ours = str(Path("src", "toolhaft"))
    return done.returncode == 2 and done.stdout == "" and ours not in done.stderr


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    done = _command("run", "nowhere.py", cwd=tmp_path)

    assert _is_a_clear_refusal(done)
    assert done.stderr == "toolhaft: there is no file 'nowhere.py'\n"


def test_a_missing_module_is_named(tmp_path: Path) -> None:
    done = _command("run", "nowhere", cwd=tmp_path)

    assert _is_a_clear_refusal(done)
    assert "'nowhere'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_module_without_a_server_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("x = 1\n")

    done = _command("run", "empty.py", cwd=tmp_path)

    assert _is_a_clear_refusal(done)
    assert "empty.py has no Server" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_module_with_several_servers_is_refused_with_their_names(tmp_path: Path) -> None:
    source = "from toolhaft import Server\nfirst = Server('a')\nsecond = Server('b')\n"
    (tmp_path / "two.py").write_text(source)

    done = _command("run", "two.py", cwd=tmp_path)

    assert _is_a_clear_refusal(done)
    assert "first" in done.stderr
    assert "second" in done.stderr
    assert _command("run", "two.py:second", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    "what",
    [
        "raise ValueError('broken on purpose')",
        "import no_such_module_at_all",
        "raise SystemExit(7)",
    ],
)
def test_a_module_that_raises_is_shown_with_its_own_lines_only(tmp_path: Path, what: str) -> None:
    (tmp_path / "broken.py").write_text(f"x = 1\n{what}\n")

    done = _command("run", "broken.py", cwd=tmp_path)

    assert _is_a_clear_refusal(done)
    assert 'broken.py", line 2' in done.stderr
    assert what.split("(")[0].split()[-1] in done.stderr


def test_a_module_with_a_syntax_error_is_shown_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("x = 1\ndef (\n")

    done = _command("run", "broken.py", cwd=tmp_path)

    assert _is_a_clear_refusal(done)
    assert 'broken.py", line 2' in done.stderr
    assert "SyntaxError" in done.stderr


@pytest.mark.parametrize("arguments", [["run", "x.py", "--no-such"], ["--no-such"], ["fly"], []])
def test_a_command_that_is_not_understood_is_refused(tmp_path: Path, arguments: list[str]) -> None:
    done = _command(*arguments, cwd=tmp_path)

    assert _is_a_clear_refusal(done)
    assert done.stderr.startswith("usage: toolhaft")


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"]])
def test_help_is_given(tmp_path: Path, arguments: list[str]) -> None:
    done = _command(*arguments, cwd=tmp_path)

    assert done.returncode == 0
    assert done.stdout.startswith("usage: toolhaft")
    assert done.stderr == ""


@pytest.mark.parametrize(
    "target", ["author.py", "author.py:server", "author", "author:server", "author:make"]
)
def test_a_target_may_be_a_file_a_module_or_a_name_in_it(tmp_path: Path, target: str) -> None:
    write_server(tmp_path, "def make():\n    return server\n" + MANY_TOOLS)
    with SyncClient.stdio(["toolhaft", "run", target], cwd=tmp_path) as client:
        assert client.call("plain", n=5) == 5

    assert client.exit_status == 0
