"""A server that greets before it is loaded, as a process: what a client may do in that moment."""

import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from tests.processes.fixtures import Serve
from tests.processes.process import HANDSHAKE, PATIENCE, request

INITIALIZE, INITIALIZED = HANDSHAKE
PING = request("alive", "ping")


@pytest.mark.parametrize("how", ["run", "python"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_who_was_greeted_may_end_it_at_once(serve: Serve, how: str, number: signal.Signals) -> None:
    process = serve("", how, opened=False)
    process.send(INITIALIZE)
    process.answer("init")

    process.signal(number)

    assert process.ends() == 0
    assert process.stderr == ""


def test_what_follows_a_greeting_does_not_wait_for_a_lifespan_that_blocks(
    serve: Serve, tmp_path: Path
) -> None:
    source = """
    @contextlib.asynccontextmanager
    async def lifespan(server):
        while not os.path.exists("go"):
            time.sleep(0.01)
        yield

    server = Server("tested", version="1.0.0", lifespan=lifespan)
    """
    process = serve(source, opened=False)

    process.send(INITIALIZE, INITIALIZED, PING)
    assert "result" in process.answer("init")
    assert process.answer("alive")["result"] == {}

    (tmp_path / "go").touch()
    assert process.end() == 0


BLOCKED = """
import contextlib, os, signal, sys, threading
from toolhaft import Limits, Server

@contextlib.asynccontextmanager
async def lifespan(server):
    threading.Event().wait()
    yield

class Meanwhile:
    def find_spec(self, name, path=None, target=None):
        if name == "toolhaft.serve.over_stdio":
            os.kill(os.getpid(), signal.SIGTERM)

limits = Limits(shutdown_seconds=0.5)
server = Server("tested", version="1.0.0", lifespan=lifespan, limits=limits)
sys.meta_path.insert(0, Meanwhile())
server.run()
"""


def test_a_signal_that_came_early_has_its_deadline_too() -> None:
    with subprocess.Popen([sys.executable, "-c", BLOCKED], stdin=subprocess.PIPE) as process:
        try:
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


# What an author gives is looked at before: this stands for what was not thought of.
UNWRITABLE = r"""
from toolhaft.features.instructions import Instructions

Instructions.wire = lambda self: object()
server = Server('tested', version='1')
"""


@pytest.mark.parametrize("how", ["run", "python"])
def test_a_greeting_that_cannot_be_written_is_an_error_and_not_the_end(
    serve: Serve, how: str
) -> None:
    process = serve(UNWRITABLE, how, opened=False)

    process.send(INITIALIZE, PING)

    error = process.answer("init")["error"]
    assert error["code"] == -32603
    assert "initialize failed: TypeError" in error["message"]
    assert process.answer("alive")["result"] == {}
    assert process.end() == 0


MANY = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (1200, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
files = [open(os.devnull) for _ in range(1024)]
"""


def test_a_process_with_many_open_files_is_served(serve: Serve) -> None:
    process = serve(MANY, "python", opened=False)

    process.send(INITIALIZE, PING)

    assert "result" in process.answer("init")
    assert process.answer("alive")["result"] == {}
    assert process.end() == 0


def test_and_its_watch_stands_in_for_a_loop_that_is_held_up(serve: Serve, tmp_path: Path) -> None:
    source = """
    def block():
        say("held")
        while not os.path.exists("go"):
            time.sleep(0.01)

    @server.tool
    async def hold() -> str:
        asyncio.get_running_loop().call_later(0.1, block)
        return "soon"
    """
    process = serve(MANY + dedent(source), "python")
    process.ask_tool(1, "hold")
    process.hears("held")

    assert process.ask("alive", "ping")["result"] == {}

    (tmp_path / "go").touch()
    assert process.end() == 0
