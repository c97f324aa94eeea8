"""The process ends, and others are answered, although the loop is blocked."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.processes.fixtures import Serve
from tests.processes.process import (
    HANDSHAKE,
    LIFESPAN,
    command_for,
    is_gone,
    line,
    request,
    seconds,
    tool_call,
    write_server,
)
from tests.processes.programs import MANY_TOOLS

BOTH_WAYS = pytest.mark.parametrize("how", ["run", "python"])


ENDS_SOON = 3.0  # the issue says one second


@BOTH_WAYS
def test_the_process_ends_although_a_plain_tool_sleeps(serve: Serve, how: str) -> None:
    server = serve(
        LIFESPAN
        + """
@server.tool
def sleeps() -> str:
    say("sleeping")
    time.sleep(60)
    return "never"
""",
        how,
    )
    server.call(1, "sleeps")
    server.hears("sleeping")

    took = seconds(lambda: server.end(ENDS_SOON))

    assert took < ENDS_SOON
    assert server.ends() == 0
    assert "lifespan left" in server.stderr
    assert "Traceback" not in server.stderr


@BOTH_WAYS
def test_the_process_ends_although_a_coroutine_blocks(serve: Serve, how: str) -> None:
    server = serve(
        """
        @server.tool
        async def blocks() -> str:
            say("blocking")
            time.sleep(60)
            return "never"
        """,
        how,
    )
    server.call(1, "blocks")
    server.hears("blocking")

    took = seconds(lambda: server.end(ENDS_SOON))

    assert took < ENDS_SOON
    assert server.ends() == 0
    assert "Traceback" not in server.stderr


def test_the_process_ends_although_a_thread_of_the_author_lives(serve: Serve) -> None:
    server = serve("threading.Thread(target=time.sleep, args=(60,)).start()")

    took = seconds(lambda: server.end(ENDS_SOON))

    assert took < ENDS_SOON
    assert server.ends() == 0


def test_the_process_ends_although_a_lifespan_does_not_close(serve: Serve) -> None:
    server = serve(
        """
        @contextlib.asynccontextmanager
        async def stubborn(server):
            yield
            await asyncio.sleep(60)

        server = Server("tested", version="1.0.0", lifespan=stubborn)
        """
    )

    took = seconds(lambda: server.end(ENDS_SOON))

    assert took < ENDS_SOON
    assert server.ends() == 0


def test_the_process_ends_although_a_coroutine_ignores_its_cancellation(serve: Serve) -> None:
    server = serve(
        """
        @server.tool
        async def ignores() -> str:
            say("waiting")
            while True:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(60)
        """
    )
    server.call(1, "ignores")
    server.hears("waiting")

    took = seconds(lambda: server.end(ENDS_SOON))

    assert took < ENDS_SOON
    assert server.ends() == 0


def test_a_signal_ends_a_process_whose_loop_is_blocked(serve: Serve) -> None:
    server = serve(
        """
        @server.tool
        async def blocks() -> str:
            say("blocking")
            time.sleep(60)
        """
    )
    server.call(1, "blocks")
    server.hears("blocking")

    server.signal(signal.SIGINT)

    assert seconds(lambda: server.ends(ENDS_SOON)) < ENDS_SOON
    assert server.ends() == 0
    assert "Traceback" not in server.stderr


GO_BETWEEN = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[2:], stdin=int(sys.argv[1]), pass_fds=())
print(child.pid, flush=True)
child.wait()
"""


@BOTH_WAYS
def test_the_death_of_the_parent_ends_the_process(tmp_path: Path, how: str) -> None:
    file = write_server(tmp_path, MANY_TOOLS)
    read_end, write_end = os.pipe()
    os.set_inheritable(read_end, True)
    # The answers of the server come through the same pipe as the pid, after it.
    go_between = [sys.executable, "-c", GO_BETWEEN, str(read_end), *command_for(file, how)]
    parent = subprocess.Popen(
        go_between, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=(read_end,)
    )
    try:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        os.write(write_end, line(request(1, "ping")))
        assert parent.stdout.readline() == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
        watched = os.pidfd_open(pid)

        parent.kill()

        try:
            assert is_gone(watched, 5)  # and its input has not ended: `write_end` is open
        finally:
            os.close(watched)
    finally:
        parent.kill()
        parent.wait(5)
        parent.stdout.close()
        os.close(read_end)
        os.close(write_end)


@BOTH_WAYS
def test_a_client_that_stops_reading_for_good_does_not_hang_the_server(
    serve: Serve, how: str
) -> None:
    server = serve(
        """
        @server.tool
        async def big() -> str:
            say("called")
            return "x" * 100_000
        """,
        how,
        opened=False,
        reading=False,
    )
    server.close_output()
    server.send(*HANDSHAKE, *(tool_call(n, "big") for n in range(20)))
    server.hears("called\n" * 20)

    took = seconds(lambda: server.end(ENDS_SOON))

    assert took < ENDS_SOON
    assert server.ends() == 0
    assert "Traceback" not in server.stderr


def test_while_a_coroutine_blocks_the_loop_others_are_answered(serve: Serve) -> None:
    server = serve(
        """
        @server.tool
        async def blocks() -> str:
            say("blocking")
            time.sleep(2)
            return "late"

        @server.tool
        def plain() -> str:
            return "plain"

        @server.tool
        async def quick() -> str:
            return "quick"
        """
    )
    server.call(1, "blocks")
    server.hears("blocking")

    server.send(request(2, "ping"), request(3, "tools/list"))
    server.send(tool_call(4, "plain"), tool_call(5, "quick"))

    order = [message["id"] for message in server.answers(5)]
    assert sorted(order[:3]) == [2, 3, 4]
    assert sorted(order[3:]) == [1, 5]
    assert "blocks" in server.stderr.partition("blocking")[2]  # the log says who it was


def test_a_call_can_be_cancelled_while_the_loop_is_blocked(serve: Serve) -> None:
    server = serve(
        """
        @server.tool
        async def blocks() -> str:
            say("blocking")
            time.sleep(1.5)
            return "late"
        """
    )
    server.call(1, "blocks")
    server.hears("blocking")

    server.cancel(1)

    assert server.ask(2, "ping")["result"] == {}
    assert server.ask_tool(3, "blocks") == {"content": [{"type": "text", "text": "late"}]}
    assert server.end() == 0
    assert server.left() == []
