"""The streams of a session over HTTP, of servers that are but a few lines."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from toolhaft.client.http import streamable
from toolhaft.testing import Client, NoAnswer

Json = dict[str, Any]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
Answer = Callable[[str, Json, asyncio.StreamWriter], Awaitable[None]]


def event(message: Json) -> bytes:
    return b"data: " + json.dumps(message).encode() + b"\n\n"


def whole(writer: asyncio.StreamWriter, message: Any, status: str = "200 OK") -> None:
    body = b"" if message is None else json.dumps(message).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nMcp-Session-Id: one\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


def session(
    writer: asyncio.StreamWriter, verb: str, message: Json, revision: str = "2025-11-25"
) -> None:
    """What every session has: a beginning and an end."""
    if message.get("method") == "initialize":
        info = {"name": "few lines", "version": "1"}
        result = {"protocolVersion": revision, "capabilities": {}, "serverInfo": info}
        whole(writer, {"jsonrpc": "2.0", "id": message["id"], "result": result})
    else:
        whole(writer, None, "200 OK" if verb == "DELETE" else "202 Accepted")


@asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[str]:
    """Serves a function; the URL."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length:")[2].partition("\r")[0] or 0)
        body = await reader.readexactly(length)
        await answer(head.split()[0].upper(), json.loads(body) if body else {}, writer)
        writer.close()

    server = await asyncio.start_server(respond, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


async def test_a_session_is_heard_from_its_beginning() -> None:
    """What belongs to no request comes on a stream that a client opens on its own."""
    heard, answered = asyncio.Event(), asyncio.Event()
    asked = {"jsonrpc": "2.0", "id": "q", "method": "roots/list"}

    async def answer(verb: str, message: Json, writer: asyncio.StreamWriter) -> None:
        if verb == "GET":
            writer.write(HEAD + event({"jsonrpc": "2.0", "method": "notifications/changed"}))
            writer.write(event(asked))
            await answered.wait()
            return
        if message.get("id") == "q":
            assert message["result"] == {"roots": [{"uri": "file:///x"}]}
            answered.set()
        session(writer, verb, message)

    async with (
        answering(answer) as url,
        Client.http(
            url,
            revision="2025-11-25",
            timeout=5,
            answers={"roots/list": ["file:///x"]},
            on_notice=lambda _: heard.set(),
        ),
        asyncio.timeout(5),
    ):
        await heard.wait()
        await answered.wait()


@pytest.mark.parametrize("status", ["405 Method Not Allowed", "500 Oops"])
async def test_a_session_need_not_have_a_stream_of_its_own(status: str) -> None:
    verbs: list[str] = []

    async def answer(verb: str, message: Json, writer: asyncio.StreamWriter) -> None:
        verbs.append(verb)
        if verb == "GET":
            whole(writer, None, status)
        elif message.get("method") == "ping":
            whole(writer, {"jsonrpc": "2.0", "id": message["id"], "result": {}})
        else:
            session(writer, verb, message)

    async with (
        answering(answer) as url,
        Client.http(url, revision="2025-11-25", timeout=5) as client,
    ):
        await client.ping()
        async with client.listen(tools=True):
            await client.ping()

    assert "GET" in verbs


def ended_early(asked: list[str]) -> Answer:
    """Streams that end before there is an answer in them; each is noted."""

    async def answer(verb: str, message: Json, writer: asyncio.StreamWriter) -> None:
        if verb == "GET" or message.get("method") == "tools/call":
            asked.append(verb)
            writer.write(HEAD + b"retry: 0\nid: 1\ndata:\n\n")
        else:
            session(writer, verb, message)

    return answer


async def test_a_server_is_not_asked_again_at_once_whatever_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streamable, "_SOONEST", 60)
    asked: list[str] = []
    async with (
        answering(ended_early(asked)) as url,
        Client.http(url, revision="2025-11-25", timeout=5) as client,
    ):
        with pytest.raises(NoAnswer):
            await client.call_raw("x", timeout=0.5)

    assert sorted(asked) == ["GET", "POST"]


async def test_a_request_that_is_given_up_is_not_asked_for_again() -> None:
    """A stream that ends before its answer is taken up again only while somebody waits."""
    async with (
        answering(ended_early([])) as url,
        Client.http(url, revision="2025-11-25", timeout=5) as client,
    ):
        with pytest.raises(NoAnswer):
            await client.call_raw("x", timeout=0.5)
        told = [each["method"] for each in client.wire.sent]
        assert "notifications/cancelled" in told
        transport: Any = client._transport
        assert [id_ for task, id_ in transport._tasks.items() if not task.cancelling()] == []


async def test_the_state_of_a_lifespan_is_handed_on_to_requests() -> None:
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            scope["state"]["database"] = "open"
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        seen.append(dict(scope["state"]))
        scope["state"]["mine"] = True
        body = json.loads((await receive())["body"] or b"{}")
        answer = {"jsonrpc": "2.0", "id": body.get("id"), "result": {"supportedVersions": []}}
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(answer).encode()})

    async with Client.asgi(app, revision="2026-07-28", timeout=5) as client:
        await client.request("x/y")

    assert seen == [{"database": "open"}] * 2


async def test_an_application_may_begin_to_answer_after_its_client_has_left() -> None:
    seen: list[BaseException] = []
    left = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = json.loads((await receive())["body"])
        answer = {"jsonrpc": "2.0", "id": body["id"], "result": {"supportedVersions": []}}
        if body["method"] != "server/discover":
            await left.wait()
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": json.dumps(answer).encode()})
        except BaseException as error:
            seen.append(error)
            raise

    async with Client.asgi(app, revision="2026-07-28", timeout=5) as client:
        with pytest.raises(NoAnswer):
            await client.request("x/y", timeout=0.2)
        left.set()

    assert seen == []
