"""Exceptions of the author's code are never taken for the end of a connection.

Many of them have the class that the transport raises when a client has gone, or that asyncio
raises when a task is cancelled. Each is answered, and the log has the traceback.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from tests.transports.http.asgi import Answer, SessionClient, StatelessClient

from toolhaft import Context, Server
from toolhaft.stores.memory import MemoryStore

RAISED = [
    OSError("mine"),
    PermissionError("mine"),
    ConnectionResetError("mine"),
    BrokenPipeError("mine"),
    TimeoutError("mine"),
    asyncio.CancelledError("mine"),
    StopIteration("mine"),
    StopAsyncIteration("mine"),
]
ENDING = [SystemExit("mine"), KeyboardInterrupt("mine")]


def _name(error: BaseException) -> str:
    return type(error).__name__


raised = pytest.mark.parametrize("error", RAISED, ids=_name)
raised_by_functions = pytest.mark.parametrize("error", RAISED + ENDING, ids=_name)


def new_server(**options: Any) -> Server:
    server = Server("s", version="1", **options)

    @server.tool
    async def echo(text: str) -> str:
        return text

    @server.tool
    async def count(ctx: Context) -> str:
        await ctx.progress(1)
        return "done"

    return server


def is_internal(answer: Answer) -> bool:
    return answer.status == 500 and answer.code == -32603


@raised_by_functions
async def test_what_a_plain_guard_raises_is_500_and_logged(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def guard(headers: Mapping[str, str]) -> str:
        raise error.with_traceback(None)

    answer = await StatelessClient(new_server().asgi(guard=guard)).tool("echo", text="x")

    assert is_internal(answer)
    assert "the guard failed" in answer.json["error"]["message"]
    assert "mine" in caplog.text
    assert "in guard" in caplog.text


@raised_by_functions
async def test_what_an_async_guard_raises_is_500_and_logged(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    async def guard(headers: Mapping[str, str]) -> str:
        await asyncio.sleep(0)
        raise error.with_traceback(None)

    answer = await StatelessClient(new_server().asgi(guard=guard)).tool("echo", text="x")

    assert is_internal(answer)
    assert "the guard failed" in answer.json["error"]["message"]
    assert "mine" in caplog.text
    assert "in guard" in caplog.text


@pytest.mark.parametrize("returned", [{"sub": "ann"}, b"ann", True, 7, ["ann"]], ids=repr)
async def test_a_guard_that_returns_no_name_is_told_what_it_may_return(
    returned: Any, caplog: pytest.LogCaptureFixture
) -> None:
    app = new_server().asgi(guard=lambda headers: returned)
    answer = await StatelessClient(app).tool("echo", text="x")

    assert is_internal(answer)
    assert (
        "the guard failed: it returned something that names no principal"
        in answer.json["error"]["message"]
    )
    assert f"returned {returned!r}" in caplog.text
    assert "a str" in caplog.text
    assert "None" in caplog.text
    assert "Unauthorized" in caplog.text


class FailingStore(MemoryStore):
    """One that cannot do one of the things that it should."""

    def __init__(self, method: str, error: BaseException) -> None:
        super().__init__()
        self._method = method
        self._error = error
        self.broken = False

    def __getattribute__(self, name: str) -> Any:
        if name in ("get", "put", "delete", "append", "after") and self.broken:
            return self._fail if name == self._method else super().__getattribute__(name)
        return super().__getattribute__(name)

    async def _fail(self, *args: Any, **options: Any) -> Any:
        raise self._error.with_traceback(None)


@raised
async def test_a_store_that_cannot_be_written_is_500_and_logged(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    store = FailingStore("put", error)
    store.broken = True
    client = SessionClient(new_server(store=store).asgi())
    answer = await client.request("POST", _initialize())

    assert is_internal(answer)
    assert "mine" in caplog.text
    assert "in _fail" in caplog.text


@raised
async def test_a_store_that_cannot_be_read_is_500_and_logged(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    store = FailingStore("get", error)
    store.broken = True
    client = SessionClient(new_server(store=store).asgi())
    client.session = "of-another-process"
    answer = await client.tool("echo", text="x")

    assert is_internal(answer)
    assert "mine" in caplog.text
    assert "in _fail" in caplog.text


def _initialize() -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        },
    }


@raised
async def test_a_stream_goes_on_when_the_store_cannot_keep_it(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    store = FailingStore("append", error)
    client = SessionClient(new_server(store=store).asgi())
    await client.shake()
    store.broken = True
    answer = await client.tool("count", meta={"progressToken": 1})

    assert answer.status == 200
    assert [message.get("method") for message in answer.messages] == [
        "notifications/progress",
        None,
    ]
    assert "mine" in caplog.text


@raised
async def test_a_stream_that_waits_goes_on_when_the_store_cannot_keep_it(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    store = FailingStore("append", error)
    server = new_server(store=store)

    @server.tool
    async def slow(ctx: Context) -> str:
        await ctx.progress(1)
        await asyncio.sleep(0)
        await ctx.progress(2)
        return "done"

    client = SessionClient(server.asgi())
    await client.shake()
    store.broken = True
    answer = await client.tool("slow", meta={"progressToken": 1})

    assert [message.get("method") for message in answer.messages] == [
        "notifications/progress",
        "notifications/progress",
        None,
    ]
    assert caplog.text.count("the store cannot keep a stream") == 1


class Gone(OSError):
    """What a server raises that is asked to send to a client that has left."""


async def test_a_client_that_has_left_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    app = new_server().asgi()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Any) -> None:
        raise Gone

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
    }
    await app(scope, receive, send)

    assert caplog.text == ""
