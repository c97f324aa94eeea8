"""Signals at every moment: the process ends as it should, or goes on as if there had been none.

Signals while calls run, the loop is blocked or streams are open are tried in
`tests/transports/stdio/test_process.py` and `tests/transports/http/servers/test_shutdown.py`.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE

import pytest
from tests.processes.process import Process, command_for, write_server
from tests.robustness.conftest import Opens
from tests.robustness.doors import TOOLS, Door, settle
from tests.transports.http.servers.web import Site, by_command, write

ENDING = [signal.SIGINT, signal.SIGTERM]
each_signal = pytest.mark.parametrize("number", ENDING, ids=lambda each: each.name)
# A program that we are only attached to ends as it likes.
ours = pytest.mark.parametrize("way", ["stdio", "http", "session"], indirect=True, scope="module")
SLOW_TO_IMPORT = """
say("importing")
time.sleep(1)
say("imported")
"""
SLOW_TO_END = """
@contextlib.asynccontextmanager
async def lifespan(server):
    say("entered")
    yield
    say("leaving")
    await asyncio.sleep(30)

server = Server("tested", version="1.0.0", lifespan=lifespan)

@server.tool
async def waits() -> str:
    say("working")
    await asyncio.Event().wait()
"""


def starts(way: str, folder: Path, source: str) -> Process:
    """A server that nobody has spoken to, nor waited for."""
    if way == "stdio":
        return Process(command_for(write_server(folder, source)), cwd=folder)
    return Site(by_command(write(folder, source)), cwd=folder)


@pytest.fixture
def begun(way: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Process]:
    with ExitStack() as stack:
        yield stack.enter_context(starts(way, tmp_path, request.param + TOOLS))


def is_quiet(process: Process) -> bool:
    return "Traceback" not in process.stderr


@ours
@pytest.mark.parametrize("begun", [SLOW_TO_IMPORT], indirect=True, ids=[""])
@each_signal
def test_while_the_module_is_imported(begun: Process, number: signal.Signals) -> None:
    begun.hears("importing")
    begun.signal(number)

    # The default of the system for SIGTERM, as nobody serves yet.
    assert begun.ends() in (-number, 128 + number)
    assert is_quiet(begun)


@ours
@pytest.mark.parametrize("begun", ["say('imported')\n"], indirect=True, ids=[""])
@pytest.mark.parametrize("after", [0.0, 0.02, 0.1, 0.3])
@each_signal
def test_right_after_the_module_was_imported(
    begun: Process, number: signal.Signals, after: float
) -> None:
    begun.hears("imported")
    time.sleep(after)
    begun.signal(number)

    assert begun.ends() in (0, -number, 128 + number)


@ours
@each_signal
def test_before_the_first_call(opens: Opens, number: signal.Signals) -> None:
    door = opens("")

    assert door.ends_after(number) == 0
    assert is_quiet(door.process)


@ours
@each_signal
def test_in_the_middle_of_a_message(opens: Opens, way: str, number: signal.Signals) -> None:
    door = opens("")
    if way == "stdio":
        door.process.write(b'{"jsonrpc":')
    else:
        assert isinstance(door.process, Site)
        door.process.connect().send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n")
    settle()

    assert door.ends_after(number) == 0
    assert is_quiet(door.process)


@ours
@each_signal
def test_while_it_ends_a_second_one_ends_it_at_once(opens: Opens, number: signal.Signals) -> None:
    door = opens(SLOW_TO_END)
    door.begin("waits")
    door.process.hears("working")
    door.process.signal(number)
    settle(0.3)

    assert door.ends_after(number) in (0, 128 + number)


@ours
def test_many_of_both_kinds(opens: Opens) -> None:
    door = opens(SLOW_TO_END)
    door.begin("waits")
    door.process.hears("working")

    for number in ENDING * 10:
        door.process.signal(number)

    assert door.process.ends() in (0, 130, 143)
    assert is_quiet(door.process)


HARMLESS = [signal.SIGWINCH, signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGPIPE]


@pytest.mark.parametrize("number", HARMLESS, ids=lambda each: each.name)
def test_one_that_means_nothing_to_it(door: Door, number: signal.Signals) -> None:
    pending = door.begin("slow", seconds=0.2)
    for _ in range(20):
        door.process.signal(number)

    assert pending.result().text == "slept"
    door.works()


def test_a_process_that_was_stopped_goes_on(door: Door) -> None:
    pending = door.begin("slow", seconds=0.1)
    door.process.signal(signal.SIGSTOP)
    waiting = door.begin("add", a=20, b=22)
    settle(0.3)
    door.process.signal(signal.SIGCONT)

    assert (pending.result().text, waiting.result().text) == ("slept", "42")
    door.works()


@ours
@pytest.mark.parametrize("number", [*ENDING, signal.SIGKILL], ids=lambda each: each.name)
def test_whoever_comes_next_is_served(opens: Opens, number: signal.Signals) -> None:
    first = opens("")
    first.begin("slow", seconds=0.5)
    settle()
    first.ends_after(number)

    opens("").works()


IN_THE_BACKGROUND = """
import os, signal, time
from tests.conftest import pytest_configure
signal.signal(signal.SIGINT, signal.SIG_IGN)
pytest_configure()
os.kill(os.getpid(), signal.SIGINT)
time.sleep(30)
"""


def test_these_tests_hold_where_interrupts_were_ignored_at_the_start() -> None:
    ended = subprocess.run([sys.executable, "-c", IN_THE_BACKGROUND], check=False, stderr=PIPE)

    assert ended.returncode == -signal.SIGINT
