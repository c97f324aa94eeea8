"""Metrics as people and Prometheus read them: the table, the text, `/metrics`."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from tests.asking import handled as ask
from tests.observe.samples import read, value
from tests.transports.http.asgi import Answer, SessionClient, StatelessClient, request

from toolhaft import Limits, Listener, Server, ToolError
from toolhaft.testing import Client


@pytest.fixture
def server() -> Server:
    made = Server("notes", version="1")

    @made.tool(thread=False)
    def add(a: int, b: int) -> int:
        return a + b

    @made.tool(thread=False)
    def fail() -> str:
        raise ToolError("no")

    return made


# /metrics


async def scraped(listener: Listener, verb: str = "GET", **headers: str | None) -> Answer:
    client = StatelessClient(listener.app, "/metrics")
    return await client.request(verb, **headers)


async def test_a_listener_shows_the_metrics_of_all_services_by_their_paths(
    server: Server,
) -> None:
    other = Server("other", version="1")
    listener = Listener(8000, {"/notes": server, "/other": other}, metrics=True)
    async with Client.asgi(listener.app, "/notes") as client:
        await client.call("add", a=1, b=2)
    async with Client.asgi(listener.app, "/other") as client:
        assert client.server_info.name == "other"

    answer = await scraped(listener)

    assert answer.status == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    _, samples = read(answer.body.decode())
    notes = {"server": "notes", "path": "/notes", "name": "add"}
    there = {"server": "other", "path": "/other", "method": "server/discover"}
    assert value(samples, "toolhaft_calls_total", **notes, outcome="ok") == 1
    assert value(samples, "toolhaft_calls_total", **there, outcome="ok") == 1


async def test_without_being_asked_for_there_are_no_metrics(server: Server) -> None:
    answer = await scraped(Listener(8000, {"/mcp": server}))

    assert answer.status == 404


async def test_metrics_are_for_those_whom_the_doors_let_in(server: Server) -> None:
    listener = Listener(8000, {"/mcp": server}, metrics=True)

    answers = [
        await scraped(listener, host="evil.example"),
        await scraped(listener, origin="https://evil.example"),
        await scraped(listener, "POST"),
    ]

    assert [answer.status for answer in answers] == [421, 403, 405]


def _key(headers: Mapping[str, str]) -> str | None:
    return "ada" if headers.get("authorization") == "Bearer good" else None


async def test_metrics_of_a_guarded_service_are_for_those_whom_it_lets_in(server: Server) -> None:
    other = Server("other", version="1")
    await ask(server, "server/discover")
    await ask(other, "server/discover")
    listener = Listener(8000, {"/notes": server}, guard=_key, metrics=True)
    nobody = await scraped(listener)
    listener.mount("/other", other, guard=None)

    somebody = await scraped(listener)
    ada = await scraped(listener, authorization="Bearer good")

    assert nobody.status == 401
    assert b'server="notes"' not in somebody.body
    assert b'server="other"' in somebody.body
    assert b'server="notes"' in ada.body


async def test_a_request_that_is_refused_resets_nothing(server: Server) -> None:
    other = Server("other", version="1")
    await ask(server, "server/discover")
    await ask(other, "server/discover")
    listener = Listener(8000, {"/notes": server}, guard=_key, metrics=True)
    listener.mount("/other", other, guard=None)

    refused = [
        await scraped(listener, "DELETE", origin="https://evil.example"),
        await scraped(listener, "DELETE", host="evil.example"),
    ]
    let_in_by_one = await scraped(listener, "DELETE")

    assert [answer.status for answer in refused] == [403, 421]
    assert b'server="other"' in let_in_by_one.body
    assert b'server="notes"' not in let_in_by_one.body
    after = await scraped(listener, authorization="Bearer good")
    _, samples = read(after.body.decode())
    counted = {dict(labels)["server"] for name, labels in samples if name.endswith("_count")}
    assert counted == {"notes"}


async def test_a_guard_that_breaks_lets_nobody_in(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(headers: Any) -> str:
        raise RuntimeError("no key file")

    answer = await scraped(Listener(8000, {"/mcp": server}, guard=broken, metrics=True))

    assert answer.status == 500
    assert b"no key file" not in answer.body
    assert "no key file" in caplog.text


def test_the_place_of_the_metrics_is_taken(server: Server) -> None:
    with pytest.raises(ValueError, match="/metrics has the metrics"):
        Listener(8000, {"/metrics": server}, metrics=True)


async def test_too_many_calls_at_once_are_errors_of_the_method() -> None:
    server = Server("small", version="1", limits=Limits(all_calls=1))
    begun, go_on = asyncio.Event(), asyncio.Event()

    @server.tool
    async def wait() -> str:
        begun.set()
        await go_on.wait()
        return "done"

    client = StatelessClient(server.asgi(), "/mcp")
    first = client.start_tool("wait")
    await begun.wait()
    second = await client.tool("wait")
    go_on.set()
    await first.answer()

    assert second.status == 503
    found = server.metrics["tools/call"]
    assert (found.calls, found.errors) == (2, 1)
    assert server.metrics["tools/call:wait"].calls == 2


async def test_a_stream_too_many_is_an_error_of_the_method() -> None:
    server = Server("small", version="1", limits=Limits(streams=1))
    server.add_tool(lambda: "here", name="look", description="Look.")
    client = StatelessClient(server.asgi(), "/mcp")
    wanted = {"notifications": {"toolsListChanged": True}}
    first = client.start("subscriptions/listen", id=1, **wanted)
    await first.begun()
    second = await client.ask("subscriptions/listen", id=2, **wanted)
    found = server.metrics["subscriptions/listen"]
    first.disconnect()
    await first.ended()

    assert second.status == 503
    assert (found.calls, found.errors, found.in_flight) == (1, 1, 1)


async def test_all_calls_of_a_batch_that_is_too_large_are_errors() -> None:
    server = Server("small", version="1", limits=Limits(calls=2))
    server.add_tool(lambda: "here", name="look", description="Look.")
    client = SessionClient(server.asgi(), "/mcp")
    await client.shake("2025-03-26")
    calls = [request(number, "tools/call", name="look") for number in range(3)]
    answer = await client.post([*calls, {"jsonrpc": "2.0", "id": 4, "method": 5}], **client.own)

    assert answer.status == 503
    found = server.metrics["tools/call:look"]
    assert (found.calls, found.errors, found.timed) == (3, 3, 0)
    assert server.metrics["(invalid)"].errors == 1


async def test_an_id_that_is_in_use_is_an_error_of_the_tool() -> None:
    server = Server("small", version="1")
    begun, go_on = asyncio.Event(), asyncio.Event()

    @server.tool
    async def wait() -> str:
        begun.set()
        await go_on.wait()
        return "done"

    client = SessionClient(server.asgi(), "/mcp")
    await client.shake()
    first = client.start_tool("wait", id=7)
    await begun.wait()
    await client.tool("wait", id=7)
    go_on.set()
    await first.answer()

    found = server.metrics["tools/call:wait"]
    assert (found.calls, found.errors) == (2, 1)
    assert "tools/call:(unknown)" not in server.metrics
