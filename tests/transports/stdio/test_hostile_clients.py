"""Clients that send too much, too oddly or too early, and tools that do so: the server lives on."""

import asyncio
import json
from typing import Any

import pytest
from tests.processes.fixtures import Serve
from tests.processes.process import (
    HANDSHAKE,
    LIFESPAN,
    Process,
    request,
    seconds,
    text_of,
    tool_call,
)

from toolhaft import Server
from toolhaft.protocol.handshake import Session
from toolhaft.types.tools import CallToolResult

MIB = 1024 * 1024
QUICKLY = 15.0  # what takes quadratic time takes minutes
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def open_as(server: Process, revision: str) -> None:
    params = {
        "protocolVersion": revision,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    }
    assert server.ask("init", "initialize", params)["result"]["protocolVersion"] == revision


def initialize(revision: str) -> dict[str, Any]:
    params = {
        "protocolVersion": revision,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    }
    return request(0, "initialize", params)


# Frames


@pytest.mark.parametrize("digits", [100, 4_000, 5_000])
def test_digits_in_an_escaped_key_and_in_a_number_are_answered(serve: Serve, digits: int) -> None:
    server = serve("")
    ones = b"1" * digits

    server.write(
        b'{"jsonrpc":"2.0","id":1,"method":"ping","\\u%b":1,"x":%b}\n' % (ones, ones),
    )

    assert server.answer(1)["jsonrpc"] == "2.0"
    assert server.ask(2, "ping")["result"] == {}
    assert server.end() == 0


def frame_of_members(start: bytes, member: bytes) -> bytes:
    """As many members as fit into 4 MB; `@` stands for a number, so that no two are the same."""
    count = (4 * MIB - len(start) - 2) // len(member.replace(b"@", b"%06d" % 0))
    assert count > 8_000
    return start + b"".join(member.replace(b"@", b"%06d" % n) for n in range(count)) + b"}\n"


@pytest.mark.parametrize(
    "member",
    [
        b',"@' + b"k" * 60 + b'":1',
        b',"@' + b"\\u006b" * 60 + b'":1',
        b',"@":"@' + b"v" * 60 + b'"',
        b',"@":"@' + b"v" * 480 + b'"',
        b',"@":["@",' + b"[]," * 30 + b"[]]",
    ],
    ids=["long keys", "escaped keys", "values", "long values", "arrays"],
)
@pytest.mark.parametrize(
    "start",
    [b'{"jsonrpc":"2.0","id":1,"method":"ping"', b'{"jsonrpc":"1.0","id":1,"method":"ping"'],
    ids=["message", "no message"],
)
def test_thousands_of_extra_members_are_refused_quickly(
    serve: Serve, start: bytes, member: bytes
) -> None:
    server = serve("")
    frame = frame_of_members(start, member)
    answers: list[dict[str, Any]] = []

    def ask() -> None:
        server.write(frame)
        answers.append(server.answer(1))

    took = seconds(ask)

    assert "error" in answers[0]
    assert took < QUICKLY
    assert server.ask(2, "ping")["result"] == {}


def test_a_ping_after_many_empty_lines_is_answered(serve: Serve) -> None:
    server = serve("", opened=False)

    server.write(b"\n" * 200_000)

    assert server.ask(1, "ping")["result"] == {}


def test_empty_lines_in_a_session_are_not_kept(serve: Serve) -> None:
    server = serve("")
    assert server.ask(1, "ping")["result"] == {}
    before = server.memory("VmRSS")

    server.write(b"\n" * 20_000_000)

    assert server.ask(2, "ping")["result"] == {}
    assert server.memory("VmHWM") - before < 16 * MIB


def test_empty_lines_before_anything_else_are_not_kept(serve: Serve) -> None:
    server = serve(LIFESPAN, opened=False)
    server.hears("lifespan entered")
    before = server.memory("VmRSS")

    server.write(b"\n" * 20_000_000)

    assert server.ask(1, "ping")["result"] == {}
    assert server.memory("VmHWM") - before < 16 * MIB


@pytest.mark.parametrize("revision", [None, "2025-03-26"])
def test_a_batch_of_a_million_is_refused_once_and_quickly(
    serve: Serve, revision: str | None
) -> None:
    server = serve("", opened=False)
    if revision is not None:
        open_as(server, revision)
    assert server.ask("warm", "ping")["result"] == {}
    batch = b"[" + b",".join([b"1"] * 1_000_000) + b"]\n"
    answers: list[dict[str, Any]] = []

    def ask() -> None:
        server.write(batch)
        answers.extend(server.answers(1))

    took = seconds(ask)

    assert answers[0]["error"]["code"] == -32600
    assert took < QUICKLY
    assert server.ask(1, "ping")["result"] == {}
    assert server.end() == 0
    assert server.left() == []


# What is remembered


def test_a_uri_that_is_too_long_is_not_subscribed_to(serve: Serve) -> None:
    server = serve(
        """
        @server.resource("a://{x}")
        def read(x: str) -> str:
            return x
        """
    )

    answer = server.ask(1, "resources/subscribe", {"uri": "a://" + "y" * 3_000_000})

    assert answer["error"]["code"] == -32602
    assert len(answer["error"]["message"]) < 1_000
    assert server.ask(2, "resources/subscribe", {"uri": "a://y"})["result"] == {}


def test_subscriptions_are_counted(serve: Serve) -> None:
    server = serve(
        """
        @server.resource("a://{x}")
        def read(x: str) -> str:
            return x
        """
    )

    server.send(*(request(n, "resources/subscribe", {"uri": f"a://{n}"}) for n in range(1_001)))

    assert [server.answer(n)["result"] for n in range(1_000)] == [{}] * 1_000
    assert server.answer(1_000)["error"]["code"] == -32602
    server.ask("less", "resources/unsubscribe", {"uri": "a://0"})
    assert server.ask("more", "resources/subscribe", {"uri": "a://more"})["result"] == {}


def test_a_session_hears_only_of_the_lists_that_it_was_told_of(serve: Serve) -> None:
    server = serve(
        """
        def greeting() -> str:
            return "hello"

        def extra() -> str:
            return "extra"

        @server.tool
        def grow() -> str:
            server.add_prompt(greeting)
            server.add_tool(extra)
            return "grown"
        """
    )

    server.ask_tool(1, "grow")
    server.wire.wait_for(
        lambda: b"notifications/tools/list_changed" in server.wire.data, "news of tools"
    )

    assert server.end() == 0
    assert [message["method"] for message in server.left()] == ["notifications/tools/list_changed"]


# Tools


def test_a_plain_tool_that_logs_waits_for_a_client_that_does_not_read(serve: Serve) -> None:
    server = serve(
        """
        @server.tool
        def flood(ctx: Context) -> str:
            say("flooding")
            for _ in range(5_000):
                ctx.sync.log("error", "x" * 100_000)
            say("all is logged")
            return "done"
        """,
        opened=False,
        reading=False,
    )
    level = request("level", "logging/setLevel", {"level": "debug"})
    server.send(*HANDSHAKE, level, tool_call(1, "flood"))
    server.hears("flooding")
    before = server.memory("VmRSS")

    with pytest.raises(AssertionError, match="all is logged"):
        server.hears("all is logged", within=2.0)  # half a gigabyte takes less than that

    assert server.memory("VmHWM") - before < 64 * MIB


def test_an_unread_stderr_does_not_stop_other_coroutines(serve: Serve) -> None:
    server = serve(
        """
        @server.tool
        async def prints() -> str:
            print("x" * 300_000)
            return "printed"

        @server.tool
        async def waits() -> str:
            await asyncio.sleep(0.05)
            return "waited"
        """,
        reading_stderr=False,
    )
    server.call(1, "prints")

    answers = [text_of(server.ask_tool(n, "waits")) for n in range(2, 5)]

    assert answers == ["waited"] * 3
    assert text_of(server.answer(1)["result"]) == "printed"


@pytest.mark.parametrize("pause", ["", "await asyncio.sleep(0)"])
def test_a_call_that_is_cancelled_in_the_same_write_cancels_its_children(
    serve: Serve, pause: str
) -> None:
    server = serve(
        f"""
        @server.tool
        async def gathers() -> str:
            {pause or "pass"}
            children = [asyncio.ensure_future(asyncio.sleep(600)) for _ in range(3)]
            for child in children:
                child.add_done_callback(lambda child: say(f"cancelled: {{child.cancelled()}}"))
            say("gathering")
            await asyncio.gather(*children)
            return "never"

        @server.tool
        async def tasks() -> int:
            return sum("sleep" in repr(task.get_coro()) for task in asyncio.all_tasks())
        """
    )
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}

    server.send(tool_call(1, "gathers"), cancelled)

    if not pause:  # otherwise it may be cancelled before it has any
        server.hears("cancelled: True\n" * 3)
    assert text_of(server.ask_tool(2, "tasks")) == "0"
    assert server.end() == 0
    assert "cancelled: False" not in server.stderr
    assert server.left() == []


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("kind", ["async", "plain"])
def test_progress_that_is_no_number_is_an_error_of_the_tool(
    serve: Serve, kind: str, number: str
) -> None:
    server = serve(
        f"""
        @server.tool(name="async")
        async def coroutine(ctx: Context) -> str:
            await ctx.progress(float("{number}"))
            return "sent"

        @server.tool(name="plain")
        def plain(ctx: Context) -> str:
            ctx.sync.progress(float("{number}"))
            return "sent"
        """
    )
    params = {"name": kind, "arguments": {}, "_meta": {"progressToken": "p"}}

    result = server.ask(1, "tools/call", params)["result"]

    assert result["isError"] is True
    assert "ValueError" in text_of(result)
    assert server.end() == 0
    assert server.left() == []
    assert b"null" not in server.wire.data


@pytest.mark.parametrize("tool", ["coroutine", "plain"])
def test_an_error_that_cannot_be_shown_is_an_error_all_the_same(serve: Serve, tool: str) -> None:
    server = serve(
        """
        class Bad(Exception):
            def __str__(self):
                raise Bad

        server = Server("tested", version="1.0.0", errors="show")

        @server.tool
        async def coroutine() -> str:
            raise Bad

        @server.tool
        def plain() -> str:
            raise Bad
        """
    )

    result = server.ask_tool(1, tool)

    assert result["isError"] is True
    assert "Bad" in text_of(result)
    assert server.ask(2, "ping")["result"] == {}
    assert server.end() == 0


# One message at a time


@pytest.mark.parametrize(
    ("revision", "structured"), [("2025-11-25", {"result": [1]}), ("2026-07-28", [1])]
)
async def test_structured_content_that_is_a_list_is_what_the_revision_knows(
    revision: str, structured: object
) -> None:
    server, session = Server("tested", version="1"), Session()

    @server.tool
    def lists() -> CallToolResult:
        return CallToolResult(content=[], structured_content=[1])

    params: dict[str, Any] = {"name": "lists", "arguments": {}}
    if revision == "2026-07-28":
        params["_meta"] = META
    else:
        await server.handle(initialize(revision), session)

    answer = await server.handle(request(1, "tools/call", params), session)

    assert answer is not None
    assert answer["result"]["structuredContent"] == structured


async def test_a_subscription_is_over_at_once_where_nobody_can_be_told() -> None:
    server = Server("tested", version="1")

    @server.tool
    def anything() -> str:
        return "anything"

    params = {"notifications": {"toolsListChanged": True}, "_meta": META}

    async with asyncio.timeout(QUICKLY):
        answer = await server.handle(json.dumps(request(1, "subscriptions/listen", params)))

    assert answer is not None
    assert json.loads(answer)["id"] == 1
    assert "result" in json.loads(answer)


def test_a_client_that_ends_its_side_and_reads_late_gets_all_and_nothing_is_said(
    serve: Serve,
) -> None:
    source = """
    server = Server("tested", version="1.0.0", limits=Limits(waiting_bytes=1000))

    @server.tool(thread=False)
    def long() -> str:
        return "x" * 100_000
    """
    process = serve(source, opened=False, reading=False)
    process.send(*HANDSHAKE, *(tool_call(number, "long") for number in range(30)))
    process.close_input()
    process.start_reading()

    assert process.ends() == 0

    assert [answer["id"] for answer in process.left()] == ["init", *range(30)]
    assert process.stderr == ""
