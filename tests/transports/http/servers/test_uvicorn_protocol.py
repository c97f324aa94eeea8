"""Answers without a task: by the short way a client is told what it would be told by the long one.

`Protocol` is given bytes as a transport would, cut anywhere. What it writes is compared with what
it writes if no service is ever at hand, so that everything goes to the application.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.transports.http.asgi import ENVELOPE, STATELESS
from tests.transports.http.servers.lines import (
    Line,
    bodies,
    call,
    call_in,
    known_to,
    listing,
    opened,
    request,
    served,
)

from toolhaft import Server
from toolhaft.protocol.limits import Limits

# Which way

AT_ONCE: dict[str, Callable[[int], bytes]] = {
    "a call": lambda id_: call(id_, "add", a=1, b=2),
    "a call that tells something before": lambda id_: call(id_, "tell", times=2),
    "a call that fails": lambda id_: call(id_, "fail"),
    "wrong arguments": lambda id_: call(id_, "add", a="x"),
    "a list": listing,
    "an unknown tool": lambda id_: call(id_, "nothing"),
    "a wrong route": lambda id_: call(id_, "add", a=1, b=2).replace(b"Name: add", b"Name: sub"),
}


@pytest.mark.parametrize("kind", AT_ONCE)
async def test_what_waits_for_nothing_goes_the_short_way(kind: str) -> None:
    async with served() as app:
        line = Line(app)
        await line.hear(listing(1))  # whoever comes first is looked at closely, on the long way
        await line.quiet()
        first, line.wire.written, line.protocol.cycle = line.wire.written, b"", None  # type: ignore[assignment]
        await line.hear(AT_ONCE[kind](2))
        await line.hear(AT_ONCE[kind](12345))

        assert first.startswith(b"HTTP/1.1 200 OK\r\n")
        assert line.wire.written.count(b"HTTP/1.1 ") == 2
        assert line.went_short == 3
        assert not line.tasks
        line.close()


async def test_a_guard_is_asked_once_in_the_task_of_its_request() -> None:
    server = Server("demo")
    name: ContextVar[str] = ContextVar("name", default="nobody")
    asked = 0

    def guard(headers: Mapping[str, str]) -> str:
        nonlocal asked
        asked += 1
        if "x-name" in headers:
            name.set(headers["x-name"])
        return "somebody"

    @server.tool
    async def who() -> str:
        return name.get()

    named = call(1, "who").replace(b"\r\nHost", b"\r\nX-Name: ann\r\nHost")
    async with served(server, guard=guard) as app:
        line = Line(app)
        for data in (named, named, call(1, "who"), named, call(1, "who")):
            await line.hear(data)
            await line.quiet()

        said = [each["result"]["content"][0]["text"] for each in bodies(line.wire.written)]
        assert said == ["ann", "ann", "nobody", "ann", "nobody"]
        assert asked == 5
        line.close()


# Calls that wait


@pytest.mark.parametrize(
    "headers",
    [
        {"Expect": "100-continue"},
        {"Connection": "close"},
        {"Origin": "http://localhost"},
        {"Host": "evil.example"},
        {"Content-Type": "text/plain"},
        {"Accept": "text/html"},
    ],
    ids=str,
)
async def test_what_is_unusual_goes_the_long_way(headers: dict[str, str]) -> None:
    usual = call(1, "add", a=1, b=2)
    head, _, body = usual.partition(b"\r\n\r\n")
    names = {name.lower() for name in headers}
    lines = [
        each for each in head.decode().split("\r\n") if each.split(":")[0].lower() not in names
    ]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    unusual = "\r\n".join(lines).encode() + b"\r\n\r\n" + body
    written = []
    for short in (True, False):
        async with served() as app:
            line = Line(app, short=short)
            await line.hear(usual)
            await line.quiet()
            await line.hear(usual)
            before = line.state.total_requests
            await line.hear(unusual)
            assert line.tasks or not short or line.state.total_requests == before
            await line.quiet()
            written.append(line.wire.written)
            line.close()

    assert written[0] == written[1]


async def test_nobody_is_answered_out_of_turn() -> None:
    async with served() as app:
        line = Line(app)
        await line.hear(call(1, "add", a=1, b=2))
        await line.quiet()
        await line.hear(call(2, "wait") + call(3, "add", a=1, b=2) + call(4, "add", a=1, b=2))
        await line.quiet()
        await line.hear(call(5, "wait"))
        await line.hear(call(6, "add", a=1, b=2))
        await line.quiet()

        assert [each["id"] for each in bodies(line.wire.written)] == [1, 2, 3, 4, 5, 6]
        line.close()


async def test_a_long_answer_is_whole() -> None:
    text = "x" * 200_000
    async with served() as app:
        line = Line(app)
        for id_ in (1, 2):
            await line.hear(call(id_, "echo", text="x" * 50_000))
            await line.quiet()
        await line.hear(call(3, "echo", text=text))  # too long to be held back
        await line.quiet()

        answers = bodies(line.wire.written)
        assert [each["result"]["content"][0]["text"] for each in answers] == [
            "x" * 50_000, "x" * 50_000, text,
        ]  # fmt: skip
        line.close()


# The same by both ways


REQUESTS: list[Callable[[int], bytes]] = [
    *AT_ONCE.values(),
    lambda id_: call(id_, "wait"),
    lambda id_: call(id_, "plain"),
    lambda id_: call(id_, "echo", text="é" * id_),
    lambda id_: request(b"{", {"MCP-Protocol-Version": STATELESS}),
    lambda id_: request(b"[]", {"MCP-Protocol-Version": STATELESS}),
    lambda id_: request({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    lambda id_: request({"jsonrpc": "2.0", "id": id_, "method": "ping"}),
    lambda id_: request({"jsonrpc": "2.0", "id": id_, "result": {}}),
    lambda id_: request(b"{}", verb="DELETE"),
    lambda id_: request(b"{}", url="/nowhere"),
    lambda id_: listing(id_).replace(b" /mcp ", b" /mcp/ "),
    lambda id_: listing(id_).replace(b" /mcp ", b" /mcp?x=1 "),
    lambda id_: call(id_, "add", a=1, b=2).replace(b"\r\n\r\n", b"\r\nMcp-Name: add\r\n\r\n", 1),
]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(REQUESTS) - 1), st.integers(1, 2000)), max_size=8),
    st.lists(st.integers(0, 3000), max_size=6),
    st.booleans(),
)
def test_both_ways_say_the_same(
    wanted: list[tuple[int, int]], cuts: list[int], together: bool
) -> None:
    requests = [REQUESTS[kind](id_) for kind, id_ in wanted]
    text = b"".join(requests)
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    chunks = [text[a:b] for a, b in pairwise(places)]

    async def said(*, short: bool) -> bytes:
        async with served() as app:
            line = Line(app, short=short)
            for chunk in chunks if together else requests:
                await line.hear(chunk)
                if not together:
                    await line.quiet()
            await line.quiet()
            line.close()
            return line.wire.written

    assert asyncio.run(said(short=True)) == asyncio.run(said(short=False))


CALLS: list[tuple[str, dict[str, object]]] = [
    ("add", {"a": 1, "b": 2}), ("tell", {"times": 2}), ("wait", {}), ("add", {}),
]  # fmt: skip


@pytest.mark.parametrize("count", [1, 2])
async def test_both_ways_say_the_same_in_sessions(count: int) -> None:
    written = []
    for short in (True, False):
        async with served() as app:
            line = Line(app, short=short)
            sessions = [await opened(line) for _ in range(count)]
            for id_, (tool, arguments) in enumerate(CALLS * 3):
                await line.hear(call_in(sessions[id_ % 3 % count], id_, tool, arguments))
                await line.quiet()
            written.append(line.wire.written)
            line.close()

    def plain(text: bytes) -> list[bytes]:
        """Without what is different each time: the numbers of streams."""
        return [each for each in text.split(b"\n") if not each.startswith((b"id: ", b"content-l"))]

    assert plain(written[0]) == plain(written[1])
    assert written[0].count(b"HTTP/1.1 200 OK") == 12


async def test_sessions_that_take_turns_go_the_short_way() -> None:
    async with served() as app:
        others = Line(app)
        sessions = [await opened(others) for _ in range(3)]
        line = Line(app)
        for id_ in range(9):
            await line.hear(call_in(sessions[id_ % 3], id_, "add", {"a": 1, "b": id_}))

        assert line.went_short == 9
        sums = [body["result"]["structuredContent"]["result"] for body in bodies(line.wire.written)]
        assert sums == [1 + id_ for id_ in range(9)]
        line.close()
        others.close()


@pytest.mark.parametrize("other", ["nobody's", "a\rb", "a\0b", "a\x7fb", "a b", "é", "x" * 500, ""])
async def test_a_session_that_is_none_is_told_the_same_by_both_ways(other: str) -> None:
    written = []
    for short in (True, False):
        async with served() as app:
            line = Line(app, short=short)
            session = await opened(line)
            for id_, each in enumerate([session, other, session, other]):
                await line.hear(call_in(each, id_, "add", {"a": 1, "b": 2}))
                await line.quiet()
            written.append(line.wire.written)
            line.close()

    assert written[0] == written[1]
    assert written[0].count(b"HTTP/1.1 200 OK") in (1, 2)


async def test_a_service_that_is_another_now_answers_what_is_known() -> None:
    async with served() as app:
        line = Line(app)
        for id_ in range(3):
            await line.hear(call(id_, "add", a=1, b=2))
        mounted = app.mounted[0]
        await app.unmount("/mcp")
        await line.hear(call(3, "add", a=1, b=2))
        await line.quiet()
        assert b"HTTP/1.1 404" in line.wire.written

        app.mount("/mcp", mounted)
        line.wire.written = b""
        for id_ in range(20):
            await line.hear(call(id_, "add", a=1, b=2))
            await line.quiet()
        before = line.state.total_requests
        await line.hear(call(20, "add", a=1, b=2))
        assert line.state.total_requests == before + 1
        assert not line.tasks
        assert line.wire.written.count(b"HTTP/1.1 200 OK") == 21
        line.close()


async def test_nobody_whose_head_is_known_is_answered_out_of_turn() -> None:
    async with served() as app:
        line = Line(app)
        session = await known_to(line)
        await line.hear(call_in(session, 3, "wait", {}))
        await line.hear(call_in(session, 4, "add", {"a": 1, "b": 2}))
        await line.quiet()

        assert [each["id"] for each in bodies(line.wire.written)] == [3, 4]
        line.close()


async def test_a_request_in_the_body_of_another_is_a_body() -> None:
    usual = call(1, "add", a=1, b=2)
    outer = request(usual).removesuffix(usual)
    written = []
    for short in (True, False):
        async with served() as app:
            line = Line(app, short=short)
            for data in (usual, usual, usual, outer, usual, usual):
                await line.hear(data)
                if data is not outer:
                    await line.quiet()
            written.append(line.wire.written)
            line.close()

    assert written[0] == written[1]
    refused = ["error" in each for each in bodies(written[0])]
    assert refused == [False, False, False, True, False]


async def test_of_two_requests_that_come_at_once_none_is_known_by_the_head_of_the_other() -> None:
    one, other = call(1, "add", a=1, b=2), call(2, "echo", text="xyz")  # of the same length
    async with served() as app:
        line = Line(app)
        await line.hear(one)
        await line.quiet()
        for data in (one + other, one, other):
            await line.hear(data)

        answers = bodies(line.wire.written)
        assert [each["id"] for each in answers] == [1, 1, 2, 1, 2]
        assert all("result" in each for each in answers)
        line.close()


async def test_what_ends_one_request_and_has_another_is_not_known() -> None:
    usual = call(1, "add", a=1, b=2)
    async with served() as app:
        line = Line(app)
        await line.hear(usual)
        await line.quiet()
        await line.hear(usual[:-5])
        await line.hear(usual[-5:] + usual)
        assert line.wire.written.count(b"HTTP/1.1 200 OK") == 3
        await line.hear(usual[-5:] + usual)

        assert line.wire.written.count(b"HTTP/1.1 200 OK") == 3
        assert b"HTTP/1.1 400" in line.wire.written
        line.close()


async def test_a_client_that_does_not_read_waits_its_turn_with_a_head_that_is_known() -> None:
    async with served() as app:
        line = Line(app)
        session = await known_to(line)
        line.protocol.pause_writing()
        await line.hear(call_in(session, 3, "add", {"a": 1, "b": 2}))
        assert line.wire.written == b""

        line.protocol.resume_writing()
        await line.quiet()
        assert [each["id"] for each in bodies(line.wire.written)] == [3]
        line.close()


async def test_a_head_that_is_known_keeps_the_connection_after_the_long_way() -> None:
    async with served() as app:
        line = Line(app)
        session = await known_to(line)
        await line.hear(call_in(session, 3, "wait", {}))
        await line.hear(b"\r\n")  # now the application answers
        await line.quiet()
        assert line.protocol.timeout_keep_alive_task is not None
        await line.hear(call_in(session, 4, "add", {"a": 1, "b": 2}))

        assert line.protocol.timeout_keep_alive_task is None
        assert [each["id"] for each in bodies(line.wire.written)] == [3, 4]
        line.close()


def routed(method: str, params: Mapping[str, object]) -> bytes:
    """Whatever it asks for, its headers say that it calls the tool `add`."""
    named = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": "tools/call", "Mcp-Name": "add"}
    params = {**params, "_meta": ENVELOPE}
    return request({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, named)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/call", {"name": "sub"}, -32020),
        ("prompts/get", {"name": "add"}, -32020),
        ("tools/list", {}, -32020),
        ("prompts/get", {}, -32020),
        ("tools/call", {}, -32602),
    ],
    ids=str,
)
async def test_a_head_that_is_known_is_compared_with_each_body(
    method: str, params: Mapping[str, object], code: int
) -> None:
    usual = routed("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
    async with served() as app:
        line = Line(app)
        for data in (usual, usual, usual, routed(method, params), routed(method, params), usual):
            await line.hear(data)
            await line.quiet()

        codes = [each.get("error", {}).get("code") for each in bodies(line.wire.written)]
        assert codes == [None, None, None, code, code, None]
        line.close()


async def test_a_body_that_is_too_long_is_refused_if_its_head_is_known() -> None:
    server = Server("demo", limits=Limits(message_bytes=400))
    heard: list[int] = []

    @server.tool
    async def echo(text: str) -> None:
        heard.append(len(text))

    async with served(server) as app:
        line = Line(app)
        for size in (1, 1, 2, 300):
            line.wire.written = b""
            await line.hear(call(1, "echo", text="x" * size))
            await line.quiet()

        assert line.wire.written.startswith(b"HTTP/1.1 413")
        assert heard == [1, 1, 2]
        line.close()


async def test_a_session_that_has_ended_is_over_for_a_head_that_is_known() -> None:
    """Even if the same application has served on another loop meanwhile."""
    async with served() as app:
        line, other = Line(app), Line(app)
        session = await known_to(line)

        async def elsewhere() -> None:
            there = Line(app)
            await there.hear(listing(1))
            await there.quiet()
            there.close()

        await asyncio.to_thread(asyncio.run, elsewhere())
        await other.hear(request(b"", {"Mcp-Session-Id": session}, verb="DELETE"))
        await other.quiet()
        assert other.wire.written.startswith(b"HTTP/1.1 204")
        await line.hear(call_in(session, 3, "add", {"a": 1, "b": 2}))
        await line.quiet()

        assert line.wire.written.startswith(b"HTTP/1.1 404")
        line.close()
        other.close()


async def test_requests_at_once_have_the_context_variables_of_their_own() -> None:
    server = Server("demo")
    name: ContextVar[str] = ContextVar("name", default="nobody")

    def guard(headers: Mapping[str, str]) -> str:
        name.set(headers["x-name"])
        return "somebody"

    @server.tool
    async def who() -> str:
        return name.get()

    @server.tool
    async def who_later() -> str:
        await asyncio.sleep(0)
        return name.get()

    names = [f"user {number}" for number in range(8)]
    async with served(server, guard=guard) as app:
        lines = [Line(app) for _ in names]
        for number, line in enumerate(lines):
            data = call(1, "who" if number % 2 else "who_later")
            named = f"\r\nX-Name: {names[number]}\r\nHost".encode()
            line.protocol.data_received(data.replace(b"\r\nHost", named))
        for line in lines:
            await line.quiet()

        said = [bodies(line.wire.written)[0]["result"]["content"][0]["text"] for line in lines]
        assert said == names
        for line in lines:
            line.close()
