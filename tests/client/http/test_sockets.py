"""HTTP over sockets, with servers that answer strangely or not at all."""

import asyncio
from typing import Any

import pytest
from tests.client.connecting import serving
from tests.testing.offering import make

from toolhaft.testing import (
    BadAnswer,
    Client,
    NoAnswer,
    Refused,
    ServerGone,
)


async def test_who_is_not_there_is_said_not_to_be_there() -> None:
    with pytest.raises(ServerGone, match=r"nothing listens at http://127\.0\.0\.1:9/mcp"):
        async with Client.http("http://127.0.0.1:9/mcp"):
            pass
    with pytest.raises(ValueError, match="'localhost:80' is no URL of a server"):
        async with Client.http("localhost:80"):
            pass


@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [
        (b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\nlost", Refused, "answers with 500: lost"),
        (b"SSH-2.0-x\r\n\r\n", BadAnswer, "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nlost", ServerGone, "has hung up"),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", BadAnswer, "answers with no message: b'hello'"),
        (b"HTTP/1.1 202 OK\r\n\r\n", BadAnswer, "answers a request with nothing"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hi\n\n",
            ServerGone,
            "has ended the stream without an answer",
        ),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n",
            Refused,
            "answers with 404: abc",
        ),
    ],
    ids=["500", "no HTTP", "cut off", "no JSON", "nothing", "an empty stream", "in chunks"],
)
async def test_strange_answers_over_http_are_told(answer: bytes, error: Any, told: str) -> None:
    server, url = await serving(answer)
    async with server:
        with pytest.raises(error, match=told):
            async with Client.http(url, revision="2025-11-25"):
                pass


async def test_what_takes_no_message_is_not_waited_for() -> None:
    server = make().asgi()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            first = await receive()
            if b"notifications" in first["body"]:
                await asyncio.sleep(60)

            async def again() -> Any:
                return first

            await server(scope, again, send)

    with pytest.raises(NoAnswer, match=r"notifications/initialized: no answer within 0\.5 seconds"):
        async with Client.asgi(app, revision="2025-11-25", timeout=0.5):
            pass
