"""The benchmark's tools as a bare ASGI app: about the most that Python can do behind a server.

Read the body, decode it, call, encode, send. No errors, no checks but that the session is known, no
cancellation: a library that does all of that cannot be expected to cost less.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from http_serving import serve
from limit_server import (
    ENCODED_RESULTS,
    ENCODED_STAMP,
    TOOLS,
    CallParams,
    Envelope,
    Sum,
    decode_call,
    decode_envelope,
    encode,
)
from msgspec import Struct

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

JSON_HEADERS = [(b"content-type", b"application/json")]
SSE_HEADERS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]


# What comes before the result is written by the app.
SAME_AS = {"add_with_progress": "add"}


class Meta(Struct, gc=False):
    progress_token: int | str = msgspec.field(name="progressToken")


async def add_slowly(arguments: Sum) -> int:
    """Add two numbers after a tenth of a second."""
    await asyncio.sleep(0.1)
    return arguments.a + arguments.b


decode_sum = TOOLS["add"].decode
decode_meta = msgspec.json.Decoder(Meta).decode

sessions: set[bytes] = set()


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request of either era."""
    if scope["type"] != "http":
        return
    headers = dict(scope["headers"])
    session = headers.get(b"mcp-session-id")
    if session is not None and session not in sessions:
        await respond(send, 404, b"", [])
    elif scope["method"] == "GET":
        await keep_open(receive, send)
    else:
        message = decode_envelope(await body_of(receive))
        await answer(message, send, stateless=session is None)


async def body_of(receive: Receive) -> bytes:
    event = await receive()
    body: bytes = event["body"]
    while event.get("more_body"):
        event = await receive()
        body += event["body"]
    return body


async def answer(message: Envelope, send: Send, *, stateless: bool) -> None:
    if message.method == "tools/call":
        await answer_call(message, send, stateless=stateless)
    elif message.id is None:
        await respond(send, 202, b"", [])
    else:
        headers = JSON_HEADERS
        if message.method == "initialize":
            session = uuid.uuid4().hex.encode()
            sessions.add(session)
            headers = [*JSON_HEADERS, (b"mcp-session-id", session)]
        await respond(send, 200, reply(message, ENCODED_RESULTS[message.method]), headers)


async def answer_call(message: Envelope, send: Send, *, stateless: bool) -> None:
    call = decode_call(message.params)
    if call.name != "add_with_progress":
        await respond(send, 200, await called(message, call, stateless=stateless), JSON_HEADERS)
        return
    await send({"type": "http.response.start", "status": 200, "headers": SSE_HEADERS})
    await send({"type": "http.response.body", "body": progress_of(call), "more_body": True})
    result = await called(message, call, stateless=stateless)
    await send({"type": "http.response.body", "body": b"data: %b\n\n" % result})


async def called(message: Envelope, call: CallParams, *, stateless: bool) -> bytes:
    """Call the tool and encode the reply; those of 2026-07-28 have a stamp."""
    if call.name == "add_slowly":
        value: Any = await add_slowly(decode_sum(call.arguments))
    else:
        tool = TOOLS[SAME_AS.get(call.name, call.name)]
        value = tool.call(tool.decode(call.arguments))
    encoded = encode(value)
    result = b'{"content":[{"type":"text","text":%b}],"structuredContent":{"result":%b}%b}' % (
        encoded if type(value) is str else b'"%b"' % encoded,
        encoded,
        ENCODED_STAMP if stateless else b"",
    )
    return reply(message, result)


def reply(message: Envelope, result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encode(message.id), result)


def progress_of(call: CallParams) -> bytes:
    token = encode(decode_meta(call.meta).progress_token)
    return (
        b'data: {"jsonrpc":"2.0","method":"notifications/progress",'
        b'"params":{"progressToken":%b,"progress":1,"total":2}}\n\n' % token
    )


async def respond(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    headers = [*headers, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def keep_open(receive: Receive, send: Send) -> None:
    """The stream of a session, on which nothing happens until the client goes away."""
    await send({"type": "http.response.start", "status": 200, "headers": SSE_HEADERS})
    await send({"type": "http.response.body", "body": b": open\n\n", "more_body": True})
    while (await receive())["type"] != "http.disconnect":
        pass


if __name__ == "__main__":
    serve(app)
