"""How a service ends: with every answer that somebody still reads, and always."""

import asyncio
import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.processes.fixtures import Serve
from tests.processes.process import (
    HANDSHAKE,
    PATIENCE,
    Process,
    command_for,
    line,
    tool_call,
    write_server,
)

from toolhaft import Server

ENDS = 5.0
BIG = """
@server.tool
def plain(n: int) -> str:
    say(f"{n} bytes")
    return "x" * n

@server.tool
async def coroutine(n: int) -> str:
    say(f"{n} bytes")
    return "x" * n
"""
BOTH_KINDS = pytest.mark.parametrize("tool", ["plain", "coroutine"])


def read_slowly(server: Process, pause: float) -> bytes:
    """All that comes until the end of the stream, a pipe's worth at a time."""
    assert server._popen.stdout is not None
    descriptor = server._popen.stdout.fileno()
    data = bytearray()
    while True:
        assert select.select([descriptor], [], [], PATIENCE)[0], "the stream does not end"
        chunk = os.read(descriptor, 65536)
        if not chunk:
            return bytes(data)
        data += chunk
        time.sleep(pause)  # the client is slow: this is what is tested


# The client has ended its side


@BOTH_KINDS
def test_an_answer_that_is_still_to_be_read_is_whole(serve: Serve, tool: str) -> None:
    server = serve(BIG, opened=False, reading=False)
    server.send(*HANDSHAKE, tool_call(1, tool, n=900_000))
    server.hears("900000 bytes")

    server.close_input()
    server.start_reading()

    assert server.answer(1)["result"]["content"] == [{"type": "text", "text": "x" * 900_000}]
    assert server.ends(ENDS) == 0


def test_an_answer_to_a_call_right_before_the_end_is_whole(serve: Serve) -> None:
    server = serve(BIG, opened=False, reading=False)
    server.send(*HANDSHAKE, tool_call(1, "coroutine", n=900_000))

    server.close_input()
    server.start_reading()

    assert server.answer(1)["result"]["content"] == [{"type": "text", "text": "x" * 900_000}]
    assert server.ends(ENDS) == 0


@BOTH_KINDS
def test_a_client_that_reads_nothing_and_leaves_does_not_keep_the_process(
    serve: Serve, tool: str
) -> None:
    server = serve(BIG, opened=False, reading=False)
    server.send(*HANDSHAKE, *(tool_call(n, tool, n=300_000) for n in range(29)))
    server.hears("300000 bytes\n" * 4)

    server.close_input()

    assert server.ends(ENDS) == 0
    assert "Traceback" not in server.stderr


CHATTY = """
@server.tool
async def reports(ctx: Context) -> None:
    say("reports")
    for number in itertools.count(1):
        await ctx.progress(number)

@server.tool
async def logs(ctx: Context) -> None:
    say("logs")
    while True:
        await ctx.log("error", "again")

@server.tool
def plain(ctx: Context) -> None:
    say("plain")
    for number in itertools.count(1):
        ctx.sync.progress(number)
"""


@pytest.mark.parametrize("tool", ["reports", "logs", "plain"])
@pytest.mark.parametrize("reads_on", [True, False])
def test_a_tool_that_never_stops_reporting_does_not_keep_the_process(
    serve: Serve, tool: str, reads_on: bool
) -> None:
    source = "import itertools\nfrom toolhaft import Context\n" + CHATTY
    server = serve(source, opened=False, reading=reads_on)
    message = tool_call(1, tool)
    message["params"]["_meta"] = {"progressToken": 1}
    server.send(*HANDSHAKE, message)
    server.hears(tool)

    if not reads_on:
        server.close_output()
    server.close_input()

    assert server.ends(ENDS) == 0
    assert "Traceback" not in server.stderr


@BOTH_KINDS
def test_a_client_that_leaves_and_reads_slowly_gets_every_answer(serve: Serve, tool: str) -> None:
    server = serve(BIG, opened=False, reading=False)
    server.send(*HANDSHAKE, *(tool_call(n, tool, n=300_000) for n in range(29)))
    server.hears("300000 bytes\n" * 4)

    server.close_input()
    data = read_slowly(server, pause=0.01)

    assert data.count(b"x" * 300_000) == 29
    assert data.count(b"\n") == 30
    assert data.endswith(b"}\n")
    assert server.ends(ENDS) == 0


# Threads that are all taken

HOLDERS = """
released = threading.Event()

@server.tool
def hold() -> str:
    say("held")
    released.wait(600)
    return "released"

@server.tool
def mark() -> str:
    with open("marker", "a") as file:
        file.write("ran")
    return "marked"

@server.tool
def plain() -> str:
    return "plain"

@server.tool
async def release() -> str:
    released.set()
    return "done"
"""


def call_and_cancel(count: int) -> bytes:
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    return b"".join(
        line(tool_call(f"m{n}", "mark")) + line({**cancelled, "params": {"requestId": f"m{n}"}})
        for n in range(count)
    )


def test_thousands_of_cancelled_calls_behind_blocked_threads_hold_up_nothing(serve: Serve) -> None:
    server = serve(HOLDERS)
    server.send(*(tool_call(n, "hold") for n in range(64)))
    server.hears("held\n" * 64)

    server.write(call_and_cancel(70_000))

    assert server.ask("ping", "ping")["result"] == {}
    assert server.end(ENDS) == 0


def test_cancelled_calls_that_wait_for_a_thread_never_run(serve: Serve, tmp_path: Path) -> None:
    server = serve(HOLDERS)
    server.send(*(tool_call(n, "hold") for n in range(64)))
    server.hears("held\n" * 64)
    server.write(call_and_cancel(1_500))
    server.call("plain", "plain")

    server.call("release", "release")
    for n in range(64):
        server.answer(n)
    server.answer("plain")

    assert not (tmp_path / "marker").exists()
    assert server.end(ENDS) == 0
    assert [message["id"] for message in server.left()] == ["release"]


# Before it has begun


def test_a_lifespan_that_exits_ends_the_server_with_its_own_status(serve: Serve) -> None:
    server = serve(
        """
        @contextlib.asynccontextmanager
        async def lifespan(server):
            sys.exit("no configuration")
            yield

        server = Server("tested", version="1.0.0", lifespan=lifespan)

        @server.tool
        async def coroutine() -> str:
            return "ran"

        @server.tool
        def plain() -> str:
            return "ran"
        """,
        opened=False,
    )
    server.send(*HANDSHAKE, tool_call(1, "coroutine"), tool_call(2, "plain"))

    assert server.ends(ENDS) == 3
    assert server.left() == []
    assert "no configuration" in server.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-"])
def test_a_closed_stdin_or_stdout_is_said_in_one_line(tmp_path: Path, closed: str) -> None:
    command = command_for(write_server(tmp_path, ""))

    result = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *command],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=PATIENCE,
        text=True,
    )

    assert result.returncode == 2
    assert result.stderr.startswith("toolhaft: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("end", ["signal", "input"])
def test_a_coroutine_that_is_cut_off_at_the_deadline_is_named(serve: Serve, end: str) -> None:
    server = serve(
        """
        @server.tool
        async def blocks() -> str:
            say("blocking")
            time.sleep(60)

        @server.tool
        async def waits() -> str:
            say("waiting")
            await asyncio.sleep(60)
        """
    )
    server.call(1, "waits")
    server.hears("waiting")
    server.call(2, "blocks")
    server.hears("blocking")

    if end == "signal":
        server.signal(signal.SIGTERM)
    else:
        server.close_input()

    assert server.ends() == 0
    told = "toolhaft: WARNING: the service ends; cut off: tools/call 'blocks', tools/call 'waits'\n"
    assert server.stderr.count(told) == 1


def test_who_does_not_read_what_is_named_does_not_keep_the_process(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(
        """
        @server.tool
        async def blocks() -> str:
            os.write(2, b"x" * 4096)  # which is all that there is room for
            open("blocking", "w").close()
            time.sleep(60)
        """,
        reading_stderr=False,
        stderr_size=4096,
    )
    server.call(1, "blocks")
    eventually((tmp_path / "blocking").exists)

    server.signal(signal.SIGTERM)

    assert server.ends(ENDS) == 0


def eventually(found: Callable[[], bool]) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + PATIENCE
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("tool", ["waits", "returns"])
def test_a_request_during_the_end_is_told_that_the_server_ends(serve: Serve, tool: str) -> None:
    server = serve(
        """
        limits = Limits(shutdown_seconds=10, finish_seconds=1)
        server = Server("tested", version="1.0.0", limits=limits)

        @server.tool
        async def cleans_up() -> None:
            say("working")
            try:
                await asyncio.Event().wait()
            finally:
                say("cleaning up")
                await asyncio.sleep(0.5)

        @server.tool
        async def waits() -> None:
            await asyncio.sleep(60)

        @server.tool
        async def returns() -> int:
            return 5
        """
    )
    server.call(1, "cleans_up")
    server.hears("working")
    server.signal(signal.SIGTERM)
    server.hears("cleaning up")

    server.call(2, tool)

    error = server.answer(2)["error"]
    assert error == {"code": -32603, "message": "the server ends; try again in a moment"}
    assert server.ends() == 0
    assert "ERROR" not in server.stderr


# Over streams


async def serve_until_reset(server: Server, sent: bytes, answered: asyncio.Event) -> None:
    """Serve a client that sends this and, once it was answered, resets the connection."""
    served: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await server.serve(reader, writer)
        except BaseException as error:
            served.set_exception(error)
        else:
            served.set_result(None)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    listener = await asyncio.start_server(accepted, "127.0.0.1", 0)
    async with listener, asyncio.timeout(PATIENCE):
        address = listener.sockets[0].getsockname()
        with socket.create_connection(address, timeout=PATIENCE) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(sent)
            await answered.wait()
        await served


@pytest.mark.parametrize("size", [1, 10_000_000])
async def test_a_connection_that_is_reset_ends_the_service_quietly(size: int) -> None:
    server, answered = Server("tested", version="1"), asyncio.Event()

    @server.tool
    async def big(n: int) -> str:
        asyncio.get_running_loop().call_soon(answered.set)
        return "x" * n

    sent = b"".join(map(line, (*HANDSHAKE, tool_call(1, "big", n=size))))

    assert await serve_until_reset(server, sent, answered) is None


async def test_a_connection_that_is_reset_during_a_call_ends_the_service_quietly() -> None:
    server, begun = Server("tested", version="1"), asyncio.Event()

    @server.tool
    async def wait() -> str:
        begun.set()
        await asyncio.sleep(600)
        return "never"

    sent = b"".join(map(line, (*HANDSHAKE, tool_call(1, "wait"))))

    assert await serve_until_reset(server, sent, begun) is None


@pytest.mark.parametrize("how", ["run", "python"])
def test_a_stdout_that_is_closed_ends_the_server(tmp_path: Path, how: str) -> None:
    source = """
        @server.tool
        async def long() -> str:
            return "x" * 200_000

        if __name__ == "__main__":
            server.run()
    """
    path = write_server(tmp_path, source)
    command = command_for(path) if how == "run" else [sys.executable, str(path)]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(line(HANDSHAKE[0]))
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(line(HANDSHAKE[1]) + line(tool_call(1, "long")))
        process.stdin.flush()
        try:
            status = process.wait(PATIENCE)
        finally:
            process.kill()
        said = process.stderr.read().decode()

    assert status == 1
    assert said == "toolhaft: tested ends: stdout is closed, so that no answer can be sent\n"
