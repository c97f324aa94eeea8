"""Time limits, limits of calls at once and generators, in a server that is a process."""

import signal

import pytest
from tests.processes.fixtures import Serve
from tests.processes.process import request, text_of

HEADER = "from toolhaft import Depends\n"
HANGS = """
@server.tool(timeout=0.05)
def hangs() -> str:
    say("hangs")
    threading.Event().wait()
    return "never"

@server.tool
def plain() -> str:
    return "plain"
"""


def progressing(id_: object, name: str, token: object) -> dict[str, object]:
    """A call that wants to hear of its progress."""
    params = {"name": name, "arguments": {}, "_meta": {"progressToken": token}}
    return request(id_, "tools/call", params)


@pytest.mark.parametrize("how", ["run", "python"])
def test_a_plain_tool_that_hangs_for_ever_does_not_keep_the_process(serve: Serve, how: str) -> None:
    server = serve(HANGS, how)

    for id_ in range(5):
        result = server.ask_tool(id_, "hangs")
        assert result["isError"] is True
        assert text_of(result) == "tool 'hangs' took longer than 0.05 s"
    assert text_of(server.ask_tool("after", "plain")) == "plain"

    assert server.end() == 0
    assert server.left() == []


def test_a_signal_ends_a_process_whose_tools_hang(serve: Serve) -> None:
    server = serve(HANGS)
    server.call(1, "hangs")
    server.hears("hangs")
    server.answer(1)
    server.call(2, "hangs")

    server.signal(signal.SIGTERM)

    server.ends()
    assert [each["id"] for each in server.left()] in ([], [2])


def test_the_end_of_input_ends_a_process_whose_tools_hang_within_their_time(serve: Serve) -> None:
    server = serve(HANGS.replace("timeout=0.05", "timeout=60, limit=1"))
    for id_ in range(3):
        server.call(id_, "hangs")
    server.hears("hangs")

    assert server.end() == 0
    assert server.left() == []
    assert server.stderr.count("hangs\n") == 1


@pytest.mark.parametrize("form", ["def", "async def"])
def test_two_hundred_calls_pass_a_limit_of_three(serve: Serve, form: str) -> None:
    rest = "await asyncio.sleep(0.001)" if form == "async def" else "time.sleep(0.001)"
    server = serve(
        f"""
        lock, now, most, count = threading.Lock(), 0, 0, 0

        @server.tool(limit=3)
        {form} visit(n: int) -> int:
            global now, most, count
            with lock:
                now += 1
                most = max(most, now)
                count += 1
            {rest}
            with lock:
                now -= 1
            return n

        @server.tool
        def seen() -> list[int]:
            return [now, most, count]
        """
    )

    for n in range(200):
        server.call(n, "visit", n=n)
    answers = server.answers(200)

    assert {each["id"]: text_of(each["result"]) for each in answers} == {
        n: str(n) for n in range(200)
    }
    now, most, count = server.ask_tool("seen", "seen")["structuredContent"]["result"]
    assert (now, count) == (0, 200)
    assert most <= 3
    assert server.end() == 0
    assert server.left() == []


def test_two_hundred_calls_of_which_half_are_cancelled_leave_the_line_whole(serve: Serve) -> None:
    server = serve(
        """
        @server.tool(limit=2, timeout=30)
        async def visit(n: int) -> int:
            await asyncio.sleep(0.001)
            return n
        """
    )

    for n in range(200):
        server.call(n, "visit", n=n)
        if n % 2:
            server.cancel(n)
    for n in range(0, 200, 2):
        assert text_of(server.answer(n)["result"]) == str(n)

    assert text_of(server.ask_tool("last", "visit", n=7)) == "7"
    assert server.end() == 0


@pytest.mark.parametrize("form", ["def", "async def"])
def test_a_generator_that_is_cancelled_cleans_up_and_is_silent(serve: Serve, form: str) -> None:
    rest = "await asyncio.sleep(0.005)" if form == "async def" else "time.sleep(0.005)"
    server = serve(
        f"""
        {HEADER}
        def connection():
            try:
                yield "open"
            finally:
                say("closed")

        @server.tool
        {form} counts(db: str = Depends(connection)):
            try:
                while True:
                    yield "again"
                    {rest}
            finally:
                say("stopped")
        """
    )

    server.send(progressing(1, "counts", "token"))
    first, second, third = server.answers(3)
    server.cancel(1)
    server.hears("stopped")
    server.hears("closed")
    assert server.ask("ping", "ping")["result"] == {}
    server.ask("again", "ping")
    left_after_cancel = len(server.wire.data)
    server.ask("once more", "ping")

    assert [each["params"]["progress"] for each in (first, second, third)] == [1, 2, 3]
    assert {each["params"]["message"] for each in (first, second, third)} == {"again"}
    assert b"counts" not in server.wire.data
    late = bytes(server.wire.data[left_after_cancel:])
    assert b"notifications/progress" not in late
    assert server.end() == 0
    assert [each for each in server.left() if each.get("id") == 1] == []


@pytest.mark.parametrize("form", ["def", "async def"])
def test_the_end_of_input_stops_a_generator(serve: Serve, form: str) -> None:
    rest = "await asyncio.sleep(0.005)" if form == "async def" else "time.sleep(0.005)"
    server = serve(
        f"""
        @server.tool
        {form} counts():
            try:
                while True:
                    yield "again"
                    {rest}
            finally:
                say("stopped")
        """
    )

    server.send(progressing(1, "counts", "token"))
    server.answers(2)

    assert server.end() == 0
    assert "stopped\n" in server.stderr


def test_progress_comes_before_the_result_and_never_after(serve: Serve) -> None:
    server = serve(
        """
        @server.tool
        def counts():
            for n in range(100):
                yield f"step {n}"
            return "done"
        """
    )

    server.send(progressing(1, "counts", 0))
    messages = server.answers(101)

    assert [each["params"]["progress"] for each in messages[:-1]] == list(range(1, 101))
    assert text_of(messages[-1]["result"]) == "done"
    assert server.end() == 0
    assert server.left() == []
