"""What keeps a server over HTTP from starting is said in a line, and the exit status is not 0."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.processes.process import PATIENCE
from tests.transports.http.servers.conftest import Serve
from tests.transports.http.servers.web import (
    HERE,
    NEWEST,
    OF_SESSIONS,
    Site,
    as_script,
    by_command,
    write,
)

PLAIN = """
@server.tool
def hello() -> str:
    return "hello"
"""
# Put before everything else on the path, it hides a package that is installed.
HIDING = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        return None

    def invalidate_caches(self):
        pass

import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = (
    lambda name, package=None: None if name in {names!r} else found(name, package)
)
sys.meta_path.insert(0, Hidden())
"""


class Refused:
    """A command that ended at once."""

    def __init__(self, done: "subprocess.CompletedProcess[str]") -> None:
        self.status = done.returncode
        self.stderr = done.stderr

    @property
    def is_clear(self) -> bool:
        """Is it said by us, without a traceback?"""
        return self.stderr.startswith("toolhaft: ") and "Traceback" not in self.stderr


def refused(command: list[str], *, path: Path | None = None) -> Refused:
    """Run a command that ends by itself."""
    before = [] if path is None else first_on_the_path(path)
    return Refused(
        subprocess.run(
            [*before, *command], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    )


def first_on_the_path(folder: Path) -> list[str]:
    """How to run a command that looks for modules here first."""
    others = os.environ.get("PYTHONPATH")
    return ["env", f"PYTHONPATH={folder}" + ("" if others is None else f":{others}")]


def hide(folder: Path, *names: str) -> Path:
    """A folder that hides packages from whoever has it on its path."""
    (folder / "sitecustomize.py").write_text(HIDING.format(names=names))
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A server that is fine by itself."""
    return write(tmp_path, PLAIN)


# Where to listen


def test_a_port_that_is_taken_is_said_to_be(file: Path) -> None:
    with socket.create_server((HERE, 0)) as other:
        port = other.getsockname()[1]

        ended = refused(by_command(file, "--http", f"{HERE}:{port}"))

    assert ended.status == 2
    assert ended.is_clear
    assert ended.stderr == (
        f"toolhaft: cannot listen at {HERE} port {port}: Address already in use; choose another "
        "port, or end what listens there\n"
    )


def test_a_port_of_another_server_of_ours_is_taken(serve: Serve, file: Path) -> None:
    site = serve(PLAIN)

    ended = refused(by_command(file, "--http", f"{HERE}:{site.port}"))

    assert ended.status == 2
    assert ended.is_clear


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--http", "nonsense"], "is no address"),
        (["--http", "127.0.0.1:99999"], "is no address"),
        (["--http", "192.0.2.1:0"], "cannot listen at 192.0.2.1"),
        (["--http", "no.such.host.invalid:0"], "no.such.host.invalid"),
        (["--http", "127.0.0.1:0", "--uds", "/tmp/s"], "--http and --uds"),
        (["--http", "127.0.0.1:0", "--path", "mcp"], "it begins with '/'"),
        (["--http", "127.0.0.1:0", "--path", "/healthz"], "/healthz"),
        (["--http", "127.0.0.1:0", "--tls", "no.pem", "no.key"], "no.pem"),
    ],
    ids=[
        "no address", "no port", "not ours", "no host", "two places", "no path", "our path",
        "no certificate",
    ],
)  # fmt: skip
def test_where_nobody_can_listen_is_said(file: Path, options: list[str], said: str) -> None:
    ended = refused(by_command(file, *options))

    assert ended.status == 2
    assert ended.is_clear, ended.stderr
    assert said in ended.stderr


@pytest.mark.parametrize("workers", ["0", "-1", "two", "1001"])
def test_a_number_of_workers_that_is_none_is_said(file: Path, workers: str) -> None:
    ended = refused(by_command(file, "--workers", workers))

    assert ended.status == 2
    assert "--workers" in ended.stderr


def test_sessions_that_several_workers_cannot_keep_are_refused(file: Path) -> None:
    ended = refused(by_command(file, "--workers", "2", "--sessions", "stateful"))

    assert ended.status == 2
    assert ended.is_clear
    assert "sessions='stateful' with several workers needs a store" in ended.stderr
    assert "serving at" not in ended.stderr


def test_workers_that_a_runner_cannot_have_are_refused(file: Path) -> None:
    ended = refused(by_command(file, "--workers", "2", "--runner", "granian"))

    assert ended.status == 2
    assert ended.is_clear
    assert "use uvicorn" in ended.stderr


# What is missing


@pytest.mark.parametrize(("runner", "extra"), [("uvicorn", "http"), ("granian", "granian")])
def test_a_missing_runner_is_said_with_how_to_install_it(
    file: Path, tmp_path: Path, runner: str, extra: str
) -> None:
    ended = refused(by_command(file, "--runner", runner), path=hide(tmp_path, runner))

    assert ended.status == 2
    assert ended.is_clear
    assert f'pip install "toolhaft[{extra}]"' in ended.stderr


def test_a_script_is_told_how_to_install_a_missing_runner(tmp_path: Path) -> None:
    file = write(tmp_path, PLAIN + 'server.run(http="127.0.0.1:0")\n')

    ended = refused(as_script(file), path=hide(tmp_path, "uvicorn"))

    assert ended.status == 1
    assert ended.stderr.splitlines()[-1].startswith("ModuleNotFoundError")
    assert 'pip install "toolhaft[http]"' in ended.stderr


def test_without_the_faster_parts_it_serves_all_the_same(serve: Serve, tmp_path: Path) -> None:
    hidden = hide(tmp_path, "httptools", "uvloop")
    site = serve(PLAIN, before=first_on_the_path(hidden))

    for revision in (NEWEST, OF_SESSIONS):
        with site.client(revision=revision) as client:
            assert client.call("hello") == "hello"


# Lifespans


FAILING = """
@contextlib.asynccontextmanager
async def lifespan(server):
    raise {error}
    yield

server = Server("tested", lifespan=lifespan)
"""


@pytest.mark.parametrize(
    "error", ["ValueError('no database')", "SystemExit(0)", "KeyboardInterrupt()"]
)
def test_a_lifespan_that_fails_at_the_start_ends_the_server(tmp_path: Path, error: str) -> None:
    file = write(tmp_path, FAILING.format(error=error))

    ended = refused(by_command(file))

    assert ended.status == 3
    assert "the lifespan of tested failed" in ended.stderr
    assert error.split("(")[0] in ended.stderr


def test_a_server_whose_lifespan_fails_does_not_say_that_it_serves(tmp_path: Path) -> None:
    file = write(tmp_path, FAILING.format(error="ValueError('no database')"))

    ended = refused(by_command(file))

    assert "serving at" not in ended.stderr


# Names


def test_a_script_listens_where_it_says(serve: Serve) -> None:
    site: Site = serve(PLAIN + 'server.run(http=0, path="/here/it/is")\n', script=True)

    assert f"http://{HERE}:{site.port}/here/it/is" in site.stderr
    assert site.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, path="/mcp").status == 404
    answer = site.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, path="/here/it/is")
    assert answer.status == 200


def test_nothing_that_speaks_http_is_imported_over_stdio(file: Path) -> None:
    script = "import sys, toolhaft; print(sorted({'uvicorn', 'asyncio', 'ssl'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, timeout=PATIENCE, check=True,
    )  # fmt: skip

    assert done.stdout.strip() == "[]"
