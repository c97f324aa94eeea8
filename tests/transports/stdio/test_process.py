"""The server as a client meets it: a process, two pipes, signals, and an end."""

import asyncio
import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from tests.asking import answer_to
from tests.processes.fixtures import Serve, Served
from tests.processes.process import (
    HANDSHAKE,
    LIFESPAN,
    Process,
    command_for,
    framed,
    is_gone,
    line,
    memory_of,
    request,
    seconds,
    text_of,
    tool_call,
    write_server,
)
from tests.processes.programs import LISTEN, MANY_TOOLS, PONGS, STREAMS, _bodies

from toolhaft.testing import Client, SyncClient

MIB = 1024 * 1024
BOTH_WAYS = pytest.mark.parametrize("how", ["run", "python"])
ENDS_SOON = 3.0  # the issue says one second


def says_nothing_else(client: Client | SyncClient) -> bool:
    """Did it get one answer for each request, and not a byte more?"""
    asked = [message["id"] for message in client.wire.sent if "id" in message]
    return sorted(message["id"] for message in client.wire.received) == sorted(asked)


# Standard output belongs to the protocol


def test_a_print_at_import_time_goes_to_stderr(served: Served) -> None:
    with served("print('hello from import')") as client:
        client.ping()

    assert client.exit_status == 0
    assert "hello from import\n" in client.stderr
    assert says_nothing_else(client)


@BOTH_WAYS
def test_a_print_in_a_tool_goes_to_stderr(served: Served, how: str) -> None:
    client = served(
        """
        @server.tool
        def prints() -> str:
            print("hello from tool", flush=True)
            return "done"
        """,
        how,
    )

    with client:
        assert client.call("prints") == "done"

    assert client.exit_status == 0
    assert "hello from tool\n" in client.stderr
    assert says_nothing_else(client)


@BOTH_WAYS
def test_bytes_written_to_descriptor_one_go_to_stderr(served: Served, how: str) -> None:
    client = served(
        """
        @server.tool
        async def writes() -> str:
            os.write(1, b"hello from write\\n")
            sys.stdout.buffer.write(b"hello from buffer\\n")
            sys.stdout.buffer.flush()
            sys.__stdout__.write("hello from the original\\n")
            sys.__stdout__.flush()
            return "done"
        """,
        how,
    )

    with client:
        assert client.call("writes") == "done"

    assert client.exit_status == 0
    assert "hello from write\n" in client.stderr
    assert "hello from buffer\n" in client.stderr
    assert "hello from the original\n" in client.stderr
    assert says_nothing_else(client)


@BOTH_WAYS
def test_what_a_child_process_prints_goes_to_stderr(served: Served, how: str) -> None:
    client = served(
        """
        @server.tool
        def echoes() -> int:
            return subprocess.run(["echo", "hello from child"]).returncode

        @server.tool
        async def echoes_async() -> int:
            child = await asyncio.create_subprocess_exec("echo", "hello from async child")
            return await child.wait()
        """,
        how,
    )

    with client:
        assert client.call("echoes") == 0
        assert client.call("echoes_async") == 0

    assert client.exit_status == 0
    assert "hello from child\n" in client.stderr
    assert "hello from async child\n" in client.stderr
    assert says_nothing_else(client)


def _line_of(file: Path, text: str) -> int:
    lines = file.read_text().splitlines()
    return next(number for number, each in enumerate(lines, 1) if text in each)


def test_the_first_print_is_reported_once_with_its_file_and_line(
    served: Served, tmp_path: Path
) -> None:
    client = served(
        """
        print("first")

        @server.tool
        def prints() -> str:
            print("second")
            return "done"
        """
    )
    file = tmp_path / "author.py"

    with client:
        assert client.call("prints") == "done"

    assert client.exit_status == 0
    assert client.stderr.count("author.py:") == 1
    assert f"{file}:{_line_of(file, 'first')}\n" in client.stderr


def test_a_print_in_a_tool_is_reported_with_its_line(served: Served, tmp_path: Path) -> None:
    client = served(
        """
        @server.tool
        def prints(text: str) -> str:
            print(text)
            return "done"
        """,
        "python",
    )
    file = tmp_path / "author.py"

    with client:
        client.call("prints", text="a")
        client.call("prints", text="b")

    assert client.exit_status == 0
    assert client.stderr.count("author.py:") == 1
    assert f"{file}:{_line_of(file, 'print(text)')}\n" in client.stderr


@BOTH_WAYS
async def test_a_tool_that_reads_stdin_finds_its_end(served: Served, how: str) -> None:
    client = served(
        """
        @server.tool
        def reads() -> list[str]:
            try:
                line = input()
            except EOFError:
                line = "EOFError"
            child = subprocess.run(["cat"], capture_output=True, timeout=10)
            return [line, sys.stdin.read(), repr(os.read(0, 10)), repr(child.stdout)]
        """,
        how,
    )

    async with client.client as both:
        read, _ = await asyncio.gather(both.call("reads"), both.ping())

    assert read == ["EOFError", "", "b''", "b''"]
    assert says_nothing_else(both)


# The end of input


@BOTH_WAYS
def test_the_end_of_input_cancels_calls_and_closes_the_lifespan(serve: Serve, how: str) -> None:
    server = serve(
        LIFESPAN
        + """
@server.tool
async def waits() -> str:
    say("waiting")
    try:
        await asyncio.Event().wait()
    finally:
        say("cleaned up")
    return "never"
""",
        how,
    )
    server.call(1, "waits")
    server.hears("waiting")

    took = seconds(lambda: server.end(ENDS_SOON))

    assert took < ENDS_SOON
    assert server.ends() == 0
    assert server.stderr.index("cleaned up") < server.stderr.index("lifespan left")
    assert "Traceback" not in server.stderr
    assert [message["id"] for message in server.left()] == []


def test_code_after_run_is_reached_in_a_script(serve: Serve) -> None:
    server = serve(
        """
        import atexit
        atexit.register(say, "atexit ran")
        if __name__ == "__main__":
            server.run()
            say("after run")
            sys.exit(7)
        """,
        "python",
    )

    assert server.end() == 7
    assert server.stderr == "after run\natexit ran\n"


@BOTH_WAYS
@pytest.mark.parametrize("tool", ["plain", "inline", "quick", "waiting"])
def test_requests_sent_before_the_end_of_input_are_answered(
    serve: Serve, how: str, tool: str
) -> None:
    server = serve(MANY_TOOLS, how, opened=False)

    server.send(*HANDSHAKE, *(tool_call(n, tool, n=n) for n in range(20)))

    assert server.end() == 0
    server.answer("init")
    answered = {m["id"]: m["result"]["structuredContent"] for m in server.left()}
    assert answered == {n: {"result": n} for n in range(20)}


@pytest.mark.parametrize("tool", ["plain", "quick"])
def test_a_last_line_without_its_end_is_answered(serve: Serve, tool: str) -> None:
    server = serve(MANY_TOOLS)

    server.write(line(tool_call(1, tool, n=5)).rstrip())

    assert server.end() == 0
    assert server.answer(1)["result"]["structuredContent"] == {"result": 5}


def test_a_subscription_is_completed_at_the_end(serve: Serve) -> None:
    server = serve(MANY_TOOLS)
    server.send(LISTEN)
    server.wire.wait_for(lambda: b"acknowledged" in server.wire.data, "acknowledgement")

    assert server.end() == 0
    assert [m["id"] for m in server.left() if "result" in m] == ["listen"]


def test_input_from_a_file_is_answered(tmp_path: Path) -> None:
    file = write_server(tmp_path, MANY_TOOLS)
    sent = tmp_path / "sent"
    calls = [tool_call(n, "plain" if n % 2 else "waiting", n=n) for n in range(500)]
    sent.write_bytes(b"".join(line(message) for message in [*HANDSHAKE, *calls]))

    with (
        sent.open("rb") as stdin,
        Process(command_for(file), cwd=tmp_path, stdin=stdin.fileno()) as server,
    ):
        assert server.ends() == 0
        server.answer("init")

        answered = {m["id"]: m["result"]["structuredContent"] for m in server.left()}

        assert answered == {n: {"result": n} for n in range(500)}


def test_input_and_output_may_both_be_files(tmp_path: Path) -> None:
    file = write_server(tmp_path, MANY_TOOLS)
    sent, received = tmp_path / "sent", tmp_path / "received"
    sent.write_bytes(b"".join(map(line, [*HANDSHAKE, tool_call(1, "plain", n=5)])))

    with sent.open("rb") as stdin, received.open("wb") as stdout:
        done = subprocess.run(
            command_for(file), stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, timeout=20
        )

    assert done.returncode == 0
    assert done.stderr == b""
    assert received.read_bytes().splitlines()[1] == (
        b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"5"}],'
        b'"structuredContent":{"result":5}}}'
    )


def test_empty_input_ends_the_process_at_once(tmp_path: Path) -> None:
    file = write_server(tmp_path, MANY_TOOLS)

    with Process(command_for(file), cwd=tmp_path, stdin=subprocess.DEVNULL) as server:
        assert server.ends() == 0
        assert server.left() == []
        assert server.stderr == ""


# Too much of something


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "cut off"])
def test_a_line_of_256_mib_is_skipped_in_bounded_memory(serve: Serve, closed: bool) -> None:
    server = serve(MANY_TOOLS)
    before = server.memory()
    chunk = b"x" * MIB

    server.write(b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"')
    for _ in range(256):
        server.write(chunk)
    server.write(b'"}}\n' if closed else b"\n")

    error = server.answer(7)["error"]
    assert error["code"] == -32700
    assert server.memory() - before < 32 * MIB
    assert server.ask_tool(8, "plain", n=1)["structuredContent"] == {"result": 1}
    assert server.end() == 0
    assert server.left() == []


RAISES = """
@server.tool
def raises(n: int) -> str:
    raise ValueError("x" * 200)

@server.tool
async def raises_async(n: int) -> str:
    raise ValueError("x" * 200)

@server.tool
async def prints(size: int) -> str:
    print("x" * size)
    return "printed"
"""


@BOTH_WAYS
@pytest.mark.parametrize("tool", ["raises", "raises_async"])
def test_a_client_that_never_reads_stderr_is_answered(serve: Serve, how: str, tool: str) -> None:
    server = serve(RAISES, how, reading_stderr=False, stderr_size=4096)

    server.send(*(tool_call(n, tool, n=n) for n in range(200)))

    answers = server.answers(200)
    assert sorted(m["id"] for m in answers) == list(range(200))
    assert all(m["result"]["isError"] for m in answers)
    assert seconds(lambda: server.end(ENDS_SOON)) < ENDS_SOON
    assert server.ends() == 0


def test_a_coroutine_that_prints_to_an_unread_stderr_harms_only_itself(serve: Serve) -> None:
    server = serve(RAISES, reading_stderr=False, stderr_size=4096)

    server.call(1, "prints", size=100_000)

    assert server.ask(2, "ping")["result"] == {}
    assert seconds(lambda: server.end(ENDS_SOON)) < ENDS_SOON
    assert server.ends() == 0


@pytest.mark.parametrize("tool", ["big", "big_async", "big_waiting"])
def test_a_client_that_does_not_read_is_served_in_bounded_memory(serve: Serve, tool: str) -> None:
    server = serve(
        LIFESPAN
        + """
@server.tool
def big(n: int) -> str:
    return "x" * 65536

@server.tool
async def big_async(n: int) -> str:
    return "x" * 65536

@server.tool
async def big_waiting(n: int) -> str:
    await asyncio.sleep(0)
    return "x" * 65536
""",
        opened=False,
        reading=False,
    )
    server.hears("lifespan entered")
    before = server.memory()
    done = threading.Event()

    def write() -> None:
        server.send(*HANDSHAKE, *(tool_call(n, tool, n=n) for n in range(1500)))
        done.set()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    # Either everything is taken in, or the server stops reading; both can only be waited for.
    done.wait(1.5)

    peak = server.memory()
    server.start_reading()
    answers = server.answers(1501, 30)
    writer.join(10)
    assert sorted(m["id"] for m in answers if m["id"] != "init") == list(range(1500))
    assert all(len(text_of(m["result"])) == 65536 for m in answers if m["id"] != "init")
    assert server.end() == 0
    assert server.left() == []
    assert peak - before < 32 * MIB


def test_a_hundred_tools_that_block_leave_the_server_awake(serve: Serve) -> None:
    server = serve(
        """
        @server.tool
        def sleeps() -> str:
            say("sleeping")
            time.sleep(30)
        """
    )
    server.send(*(tool_call(n, "sleeps") for n in range(100)))
    server.hears("sleeping")

    server.send(request("ping", "ping"), request("list", "tools/list"))

    assert server.answer("ping", 3)["result"] == {}
    assert server.answer("list", 3)["result"]["tools"][0]["name"] == "sleeps"
    assert seconds(lambda: server.end(ENDS_SOON)) < ENDS_SOON
    assert server.ends() == 0


SLOW = """
server = Server("tested", version="1.0.0", limits=Limits(calls=100))

@server.tool
async def slow() -> str:
    say("waiting")
    await asyncio.sleep(1)
    return "done"

@server.tool
def slow_plain() -> str:
    time.sleep(0.2)
    return "done"
"""


@pytest.mark.parametrize("tool", ["slow", "slow_plain"])
def test_calls_beyond_the_limit_are_refused_and_none_is_lost(serve: Serve, tool: str) -> None:
    server = serve(SLOW)

    server.send(*(tool_call(n, tool) for n in range(2000)))

    answers = server.answers(2000)
    assert sorted(m["id"] for m in answers) == list(range(2000))
    done = [m["id"] for m in answers if "result" in m]
    refused = [m["error"] for m in answers if "error" in m]
    assert 100 <= len(done) < 2000
    assert set(range(100)) <= set(done)
    assert all(error["code"] == -32603 and "too many" in error["message"] for error in refused)
    assert text_of(server.ask_tool("after", "slow_plain")) == "done"
    assert server.end() == 0
    assert server.left() == []


def test_three_thousand_calls_at_once_are_all_answered_by_default(serve: Serve) -> None:
    server = serve(
        """
        @server.tool
        async def slow() -> str:
            await asyncio.sleep(1)
            return "done"
        """
    )

    server.send(*(tool_call(n, "slow") for n in range(3000)))

    answers = server.answers(3000)
    assert sorted(m["id"] for m in answers) == list(range(3000))
    assert any("error" in m for m in answers)
    assert sum("result" in m for m in answers) >= 256


def test_at_the_limit_of_calls_a_ping_is_still_answered(serve: Serve) -> None:
    server = serve(SLOW)
    server.send(*(tool_call(n, "slow") for n in range(100)))
    server.hears("waiting\n" * 100)

    server.send(request("ping", "ping"), request("list", "tools/list"))

    assert server.answer("ping").get("result") == {}
    assert "result" in server.answer("list")


# Tools that misbehave

EXCEPTIONS = {
    "SystemExit": "SystemExit(3)",
    "KeyboardInterrupt": "KeyboardInterrupt()",
    "GeneratorExit": "GeneratorExit()",
    "StopIteration": "StopIteration(5)",
    "StopAsyncIteration": "StopAsyncIteration()",
    "CancelledError": "asyncio.CancelledError()",
    "RecursionError": "RecursionError()",
    "MemoryError": "MemoryError()",
    "Rude": "Rude('not an Exception')",
    "BaseExceptionGroup": "BaseExceptionGroup('several', [SystemExit(1), KeyboardInterrupt()])",
}


@pytest.mark.parametrize("kind", EXCEPTIONS)
async def test_whatever_a_tool_raises_harms_its_own_call_only(served: Served, kind: str) -> None:
    client = served(
        f"""
        class Rude(BaseException):
            pass

        @server.tool
        async def at_once() -> str:
            raise {EXCEPTIONS[kind]}

        @server.tool
        async def later() -> str:
            await asyncio.sleep(0)
            raise {EXCEPTIONS[kind]}

        @server.tool
        def on_a_thread() -> str:
            raise {EXCEPTIONS[kind]}

        @server.tool(thread=False)
        def inline() -> str:
            raise {EXCEPTIONS[kind]}

        @server.tool
        async def waits() -> str:
            await asyncio.sleep(0.2)
            return "unharmed"

        @server.resource("r://async")
        async def resource() -> str:
            raise {EXCEPTIONS[kind]}

        @server.resource("r://plain")
        def plain_resource() -> str:
            raise {EXCEPTIONS[kind]}

        @server.prompt
        async def prompt() -> str:
            await asyncio.sleep(0)
            raise {EXCEPTIONS[kind]}
        """
    )
    tools = ("at_once", "later", "on_a_thread", "inline")

    async with client.client as caller:
        innocent = asyncio.create_task(caller.call("waits"))
        failed = [await caller.call_raw(name) for name in tools]
        others = [
            await answer_to(caller, "resources/read", uri="r://async"),
            await answer_to(caller, "resources/read", uri="r://plain"),
            await answer_to(caller, "prompts/get", name="prompt"),
        ]
        unharmed = await innocent

    assert all(result.is_error for result in failed)
    # Python itself turns a StopIteration that leaves a coroutine into a RuntimeError.
    told = (kind, "RuntimeError") if kind == "StopIteration" else (kind,)
    assert all(any(k in result.text for k in told) for result in failed)
    assert [answer["error"]["code"] for answer in others] == [-32603] * 3
    assert unharmed == "unharmed"
    assert caller.exit_status == 0
    assert says_nothing_else(caller)


def test_plain_functions_that_were_cancelled_and_do_not_end_harm_no_others(serve: Serve) -> None:
    server = serve(
        """
        from toolhaft import Limits

        server = Server("few threads", version="1", limits=Limits(threads=2))

        @server.tool
        def hang() -> None:
            say("hangs")
            time.sleep(600)

        @server.tool
        def add(a: int, b: int) -> int:
            return a + b
        """
    )
    server.send(tool_call(1, "hang"), tool_call(2, "hang"))
    server.hears("hangs\nhangs\n")

    for number in (1, 2):
        notice = {"method": "notifications/cancelled", "params": {"requestId": number}}
        server.send({"jsonrpc": "2.0", **notice})
    server.call(3, "add", a=1, b=2)

    assert server.answer(3)["result"]["structuredContent"] == {"result": 3}


def test_a_tool_that_stops_the_loop_does_not_stop_the_server(served: Served) -> None:
    client = served(
        """
        @server.tool
        async def stop(later: bool) -> str:
            if later:
                await asyncio.sleep(0.01)
            asyncio.get_running_loop().stop()
            return "stopped"
        """
    )

    with client:
        for later in (False, True, False):
            assert client.call("stop", later=later) == "stopped"

    assert client.exit_status == 0
    assert "a tool has stopped the event loop" in client.stderr


def test_a_tool_that_cancels_every_task_does_not_end_the_server(served: Served) -> None:
    client = served(
        """
        @contextlib.asynccontextmanager
        async def lifespan(server):
            yield
            say("lifespan left")

        server = Server("tested", version="1.0.0", lifespan=lifespan)

        @server.tool
        async def cancel_all() -> str:
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            return "cancelled"

        @server.tool
        async def hello() -> str:
            await asyncio.sleep(0.01)
            return "hello"
        """
    )

    with client:
        for _ in range(2):
            assert client.call("cancel_all") == "cancelled"
            assert client.call("hello") == "hello"
        assert "lifespan left" not in client.stderr

    assert client.exit_status == 0
    assert client.stderr == "lifespan left\n"


@pytest.mark.parametrize("error", ["SystemExit(3)", "KeyboardInterrupt()"])
async def test_what_a_tool_leaves_behind_may_raise_without_harm(served: Served, error: str) -> None:
    client = served(
        f"""
        def raise_it():
            raise {error}

        async def rude():
            raise {error}

        background = []

        @server.tool
        async def task_left_behind() -> str:
            background.append(asyncio.create_task(rude()))
            return "done"

        @server.tool
        async def callback() -> str:
            asyncio.get_running_loop().call_soon(raise_it)
            return "done"

        @server.tool
        def thread_left_behind() -> str:
            threading.Thread(target=raise_it).start()
            return "done"

        @server.tool
        async def awaits_task() -> str:
            await asyncio.create_task(rude())
            return "done"

        @server.tool
        async def group() -> str:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(rude())
            return "done"

        @server.tool
        async def waits() -> str:
            await asyncio.sleep(0.2)
            return "unharmed"
        """
    )

    async with client.client as caller:
        innocent = asyncio.create_task(caller.call("waits"))
        for name in ("task_left_behind", "callback", "thread_left_behind"):
            assert await caller.call(name) == "done"
        for name in ("awaits_task", "group"):
            assert (await caller.call_raw(name)).is_error
        assert await innocent == "unharmed"

    assert caller.exit_status == 0
    assert says_nothing_else(caller)


@pytest.mark.parametrize("tool", ["forks", "forks_async", "forks_inline"])
def test_a_tool_that_forks_is_answered_once_and_leaves_no_process(serve: Serve, tool: str) -> None:
    server = serve(
        """
        @server.tool
        def forks() -> str:
            return f"child {os.fork()}"

        @server.tool(thread=False)
        def forks_inline() -> str:
            return f"child {os.fork()}"

        @server.tool
        async def forks_async() -> str:
            return f"child {os.fork()}"
        """
    )

    child = int(text_of(server.ask_tool(1, tool)).removeprefix("child "))
    watched = os.pidfd_open(child)

    try:
        assert server.ask(2, "ping")["result"] == {}
        assert is_gone(watched, 3)
        assert server.end() == 0
        assert server.left() == []
    finally:
        os.close(watched)
        _end(child)


def test_a_server_that_forked_goes_on(served: Served) -> None:
    client = served(
        """
        @server.tool
        async def forks() -> int:
            child = os.fork()
            if child == 0:
                os._exit(0)
            return os.waitpid(child, 0)[1]

        @server.tool
        async def waits() -> str:
            await asyncio.sleep(0.05)
            return "done"
        """
    )

    with client:
        assert [client.call("forks") for _ in range(3)] == [0, 0, 0]
        assert client.call("waits") == "done"

    assert client.exit_status == 0
    assert says_nothing_else(client)


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@pytest.mark.parametrize("tool", ["closes", "closes_async"])
def test_a_tool_that_closes_the_standard_descriptors_harms_nobody(serve: Serve, tool: str) -> None:
    server = serve(
        """
        def close():
            for number in (0, 1, 2):
                os.close(number)
            return "closed"

        @server.tool
        def closes() -> str:
            return close()

        @server.tool
        async def closes_async() -> str:
            return close()

        @server.tool
        def opens() -> str:
            return open(__file__).readline()

        @server.tool
        def prints() -> str:
            print("x", flush=True)
            return "printed"

        @server.tool
        def raises() -> str:
            raise ValueError
        """
    )

    assert text_of(server.ask_tool(1, tool)) == "closed"
    assert text_of(server.ask_tool(2, "opens")).startswith("import")
    server.ask_tool(3, "prints")  # however it ends, it is answered
    assert server.ask_tool(4, "raises")["isError"] is True
    assert server.ask(5, "ping")["result"] == {}
    assert server.end(ENDS_SOON) == 0
    assert server.left() == []


VALUES = {
    "an object": ("Any", "object()"),
    "a wrong type": ("int", "'three'"),
    "a wrong member": ("list[int]", "[1, 'two']"),
    "a number for text": ("str", "5"),
    "nothing for an object": ("dict[str, int]", "None"),
    "a list in itself": ("list", "circular()"),
    "100,000 levels": ("list", "deep(100_000)"),
    "a coroutine": ("Any", "asyncio.Event"),
    "a generator": ("Any", "(x for x in [1])"),
    "a key of a class": ("dict", "{object(): 1}"),
    "an integer beyond 64 bits": ("Any", "object"),
}


@pytest.mark.parametrize("what", VALUES)
def test_a_value_that_cannot_be_sent_is_a_failed_call(served: Served, what: str) -> None:
    annotation, value = VALUES[what]
    client = served(
        f"""
        from typing import Any

        def circular():
            items = []
            items.append(items)
            return items

        def deep(levels):
            items = []
            for _ in range(levels):
                items = [items]
            return items

        @server.tool
        def plain() -> {annotation}:
            return {value}

        @server.tool
        async def waiting() -> {annotation}:
            await asyncio.sleep(0)
            return {value}

        @server.tool
        def undeclared():
            return {value}
        """
    )

    with client:
        assert client.call_raw("plain").is_error
        assert client.call_raw("waiting").is_error
        assert isinstance(client.call_raw("undeclared").content, list)
        client.ping()

    assert client.exit_status == 0
    assert says_nothing_else(client)


@pytest.mark.parametrize("annotation", ["str", "Any", "list[str]"])
def test_a_lone_surrogate_in_text_is_replaced(serve: Serve, annotation: str) -> None:
    value = "['\\udc80']" if annotation == "list[str]" else "'name \\udc80'"
    server = serve(
        f"""
        from typing import Any

        @server.tool
        def text() -> {annotation}:
            return {value}

        @server.tool
        def raises() -> str:
            raise ToolError("not \\udc80 found")
        """
    )

    result = server.ask_tool(1, "text")
    assert "isError" not in result
    assert "\ufffd" in result["content"][0]["text"]
    assert server.ask_tool(2, "raises")["isError"] is True
    assert server.end() == 0
    assert b"udc80" not in bytes(server.wire.data)


@pytest.mark.parametrize("value", ["float('nan')", "float('inf')", "[float('-inf')]"])
def test_what_json_has_no_number_for_is_never_sent(serve: Serve, value: str) -> None:
    server = serve(
        f"""
        @server.tool
        def number():
            return {value}

        @server.tool
        def declared() -> float:
            return {value if "[" not in value else "float('nan')"}
        """
    )

    server.ask_tool(1, "number")
    declared = server.ask_tool(2, "declared")

    # `null` is not the number that the published schema promises.
    assert declared.get("isError") is True
    assert server.end() == 0
    assert b"NaN" not in bytes(server.wire.data)
    assert b"Infinity" not in bytes(server.wire.data)


# Cancellation, order, isolation


CANCELLABLE = """
@server.tool
def looks(ctx: Context) -> str:
    say("working")
    while not ctx.cancelled:
        time.sleep(0.005)
    say("saw it")
    return "late"

@server.tool
def checks(ctx: Context) -> str:
    say("working")
    try:
        while True:
            ctx.check()
            time.sleep(0.005)
    except Exception:
        say("caught by accident")
    finally:
        say("saw it")

@server.tool
async def waits() -> str:
    say("working")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        say("saw it")
        raise

@server.tool
async def insists() -> str:
    say("working")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        say("saw it")
    return "late"
"""


@pytest.mark.parametrize("tool", ["looks", "checks", "waits", "insists"])
def test_a_cancelled_call_learns_of_it_and_is_not_answered(serve: Serve, tool: str) -> None:
    server = serve(CANCELLABLE)
    server.call(1, tool)
    server.hears("working")

    server.cancel(1)

    server.hears("saw it")
    assert server.ask(2, "ping")["result"] == {}
    assert server.end() == 0
    assert server.left() == []
    assert "caught by accident" not in server.stderr
    assert "failed" not in server.stderr


@pytest.mark.parametrize("tool", ["looks", "checks"])
def test_the_end_of_input_tells_plain_tools_too(serve: Serve, tool: str) -> None:
    server = serve(CANCELLABLE)
    server.call(1, tool)
    server.hears("working")

    assert server.end(ENDS_SOON) == 0
    assert "saw it" in server.stderr


def test_calls_are_answered_in_the_order_of_their_ends(serve: Serve) -> None:
    server = serve(
        """
        gates = {name: threading.Event() for name in "abc"}

        @server.tool
        def plain(name: str) -> str:
            say("at " + name)
            gates[name].wait(20)
            return name

        @server.tool
        async def opens(name: str) -> str:
            gates[name].set()
            return "opened"
        """
    )
    server.send(*(tool_call(name, "plain", name=name) for name in "abc"))
    for name in "abc":
        server.hears(f"at {name}")

    order = []
    for name in "cab":
        server.call(f"open {name}", "opens", name=name)
        server.answer(f"open {name}")
        order.append(server.answers(1)[0]["id"])

    assert order == ["c", "a", "b"]


@pytest.mark.parametrize("tool", ["plain", "inline", "quick", "waiting"])
def test_a_context_variable_of_one_call_is_not_seen_by_another(served: Served, tool: str) -> None:
    client = served(
        """
        owner = contextvars.ContextVar("owner", default="nobody")

        def claim(name):
            before = owner.get()
            owner.set(name)
            return before

        @server.tool
        def plain(name: str) -> str:
            return claim(name)

        @server.tool(thread=False)
        def inline(name: str) -> str:
            return claim(name)

        @server.tool
        async def quick(name: str) -> str:
            return claim(name)

        @server.tool
        async def waiting(name: str) -> str:
            await asyncio.sleep(0)
            return claim(name)
        """
    )

    with client:
        assert [client.call(tool, name=f"call {n}") for n in range(3)] == ["nobody"] * 3


async def test_a_context_variable_lasts_for_the_whole_of_its_call(served: Served) -> None:
    client = served(
        """
        owner = contextvars.ContextVar("owner", default="nobody")

        @server.tool
        async def claims(name: str) -> list[str]:
            token = owner.set(name)
            await asyncio.sleep(0)
            seen = [owner.get(), await asyncio.create_task(get())]
            seen.append(await asyncio.to_thread(owner.get))
            owner.reset(token)
            return [*seen, owner.get()]

        async def get():
            return owner.get()
        """
    )
    async with client.client as caller:
        seen = await asyncio.gather(*(caller.call("claims", name=f"call {n}") for n in range(10)))

    assert seen == [[f"call {n}"] * 3 + ["nobody"] for n in range(10)]


FIRST_STEPS = {
    "timeout": """
        async with asyncio.timeout(10):
            return "done"
    """,
    "timeout that waits": """
        async with asyncio.timeout(10):
            await asyncio.sleep(0)
        return "done"
    """,
    "timeout that strikes": """
        try:
            async with asyncio.timeout(0):
                await asyncio.sleep(20)
        except TimeoutError:
            return "done"
    """,
    "group": """
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(asyncio.sleep(0, "done"))
        return task.result()
    """,
    "group that fails": """
        async def fail():
            raise ValueError
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(fail())
                await asyncio.sleep(20)
        except* ValueError:
            pass
        await asyncio.sleep(0)
        return "done"
    """,
    "current task": """
        first = asyncio.current_task()
        await asyncio.sleep(0)
        return "done" if first is not None and asyncio.current_task() is first else "other"
    """,
    "cancelling itself": """
        asyncio.current_task().cancel()
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            asyncio.current_task().uncancel()
        return "done"
    """,
    "gather": """
        return (await asyncio.gather(asyncio.sleep(0, "done"), asyncio.sleep(0)))[0]
    """,
    "wait_for": """
        return await asyncio.wait_for(asyncio.sleep(0, "done"), 10)
    """,
    "shield": """
        return await asyncio.shield(asyncio.sleep(0, "done"))
    """,
    "thread": """
        return await asyncio.to_thread(lambda: "done")
    """,
    "subprocess": """
        child = await asyncio.create_subprocess_exec("echo", "done", stdout=subprocess.PIPE)
        return (await child.communicate())[0].decode().strip()
    """,
}


async def test_asyncio_works_in_the_first_step_of_a_tool(served: Served) -> None:
    names = {f"tool_{title.replace(' ', '_')}": title for title in FIRST_STEPS}
    functions = (
        f"@server.tool\nasync def {name}() -> str:\n    {FIRST_STEPS[title].strip()}\n"
        for name, title in names.items()
    )
    source = "\n".join(function.replace("\n        ", "\n    ") for function in functions)
    async with served(source).client as client:
        one_by_one = {name: await client.call(name) for name in names}
        together = await asyncio.gather(*map(client.call, names))

    assert one_by_one == dict.fromkeys(names, "done")
    assert together == ["done"] * len(names)


# Content-Length framing


@pytest.mark.parametrize("kind", STREAMS)
def test_who_sends_headers_is_answered_with_headers(serve: Serve, kind: str) -> None:
    server = serve(MANY_TOOLS, opened=False)

    server.write(STREAMS[kind])

    assert server.end() == 0
    assert _bodies(bytes(server.wire.data)) == PONGS


def test_messages_with_headers_may_come_byte_by_byte(serve: Serve) -> None:
    server = serve(MANY_TOOLS, opened=False)

    for byte in STREAMS["CRLF"]:
        server.write(bytes([byte]))

    assert server.end() == 0
    assert _bodies(bytes(server.wire.data)) == PONGS


def test_tools_are_called_with_headers_too(serve: Serve) -> None:
    server = serve(MANY_TOOLS, opened=False)

    server.write(b"".join(map(framed, [*HANDSHAKE, tool_call(1, "plain", n=4)])))
    server.write(framed(tool_call(2, "waiting", n=5)))

    assert server.end() == 0
    _, *results = sorted(_bodies(bytes(server.wire.data)), key=lambda body: b"init" not in body)
    assert len(results) == 2
    assert all(b'"structuredContent":{"result":' in body for body in results)


# The command


def test_an_idle_server_is_small(serve: Serve) -> None:
    server = serve(MANY_TOOLS)
    server.ask_tool(1, "waiting", n=1)

    assert memory_of(server.pid, "VmRSS") < 45 * MIB  # the issue says 30, measured elsewhere
