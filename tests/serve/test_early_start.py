"""A server over stdio answers before asyncio is loaded, and goes on from there."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from tests.processes.fixtures import Serve
from tests.processes.process import PATIENCE, request
from tests.transports.stdio.greetings import OPENING, written

INITIALIZE = request(1, "initialize", OPENING)


LIST = request(2, "tools/list", {})


SERVER = """
import os, signal, sys
from toolhaft import Server

class Meanwhile:
    def find_spec(self, name, path=None, target=None):
        if name == "asyncio":
            ACTION

server = Server("greeter", version="1")
sys.meta_path.insert(0, Meanwhile())
server.run()
"""


def ended_after(action: str) -> "subprocess.CompletedProcess[bytes]":
    """A server that does something when it begins to load asyncio."""
    return subprocess.run(
        [sys.executable, "-c", SERVER.replace("ACTION", action)],
        input=written(INITIALIZE),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )


def test_the_answer_comes_before_asyncio_is_loaded() -> None:
    ended = ended_after("sys.exit(3)")

    assert ended.returncode == 3
    assert json.loads(ended.stdout)["id"] == 1


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_that_comes_while_asyncio_is_loaded_ends_the_service(name: str) -> None:
    ended = ended_after(f"os.kill(os.getpid(), signal.{name})")

    assert (ended.returncode, ended.stderr) == (0, b"")
    assert json.loads(ended.stdout)["id"] == 1


def test_a_second_one_ends_the_process() -> None:
    ended = ended_after("[os.kill(os.getpid(), signal.SIGTERM) for _ in range(2)]")

    assert ended.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize("how", ["run", "python"])
def test_the_conversation_goes_on_where_the_greeting_ends(serve: Serve, how: str) -> None:
    process = serve("server.tool(lambda: 'said', name='say')", how, opened=False)
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    again = {**INITIALIZE, "id": 3}

    process.write(written(INITIALIZE, initialized, LIST, again, request(4, "ping")))
    answers = {answer["id"]: answer for answer in process.answers(4)}

    assert sorted(answers) == [1, 2, 3, 4]
    assert [tool["name"] for tool in answers[2]["result"]["tools"]] == ["say"]
    assert answers[3]["error"]["code"] == -32600
    assert process.end() == 0


def test_a_long_answer_to_a_greeting_arrives_whole(serve: Serve) -> None:
    source = "server = Server('tested', version='1', instructions='be brief ' * 30_000)"
    process = serve(source, opened=False)

    process.write(written(INITIALIZE))

    assert process.answer(1)["result"]["instructions"] == "be brief " * 30_000
    assert process.end() == 0


@pytest.mark.parametrize("what", ["middleware", "traffic"])
def test_whoever_wants_to_see_every_message_does(tmp_path: Path, what: str) -> None:
    log = tmp_path / "log"
    source = f"""
    from toolhaft import Server
    async def see(exchange, next):
        open({str(log)!r}, "a").write(exchange.method)
        return await next(exchange)
    options = {{"middleware": {{"middleware": [see]}}, "traffic": {{"log_traffic": {str(log)!r}}}}}
    server = Server("greeter", version="1", **options[{what!r}])
    server.run()
    """
    ended = subprocess.run(
        [sys.executable, "-c", dedent(source)],
        input=written(INITIALIZE),
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )

    assert json.loads(ended.stdout)["id"] == 1
    assert "initialize" in log.read_text()
    if what == "traffic":
        assert "serverInfo" in log.read_text()
