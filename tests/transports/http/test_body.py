"""What one client may ask of the service, and what it cannot do to it."""

import asyncio
import threading
from typing import Any

import pytest
from tests.asking import NEW, OLD
from tests.transports.http.asgi import (
    SessionClient,
    StatelessClient,
    encoded,
    mirrored,
    request,
)
from tests.transports.http.bodies import Torrent, head, new_server

from toolhaft import Context, Server
from toolhaft.testing import Client

# Bodies


async def test_a_body_that_says_it_is_too_long_is_not_read() -> None:
    client = StatelessClient(new_server(message_bytes=100).asgi())
    answer = await client.begin("POST", head(content_length="101")).answer()

    assert (answer.status, answer.headers["connection"]) == (413, "close")
    assert "100 bytes" in answer.json["error"]["message"]


async def test_a_body_that_becomes_too_long_is_read_no_further() -> None:
    client = StatelessClient(new_server(message_bytes=100).asgi())
    exchange = client.begin("POST", head(transfer_encoding="chunked"))
    for _ in range(3):
        exchange.feed(b" " * 40, more=True)
    answer = await exchange.answer()

    assert (answer.status, answer.headers["connection"]) == (413, "close")


async def test_a_body_in_one_part_that_is_too_long_is_refused() -> None:
    client = StatelessClient(new_server(message_bytes=100).asgi())
    exchange = client.begin("POST", head(transfer_encoding="chunked"))
    exchange.feed(b" " * 101)

    assert (await exchange.answer()).status == 413


async def test_a_body_of_the_largest_size_is_read() -> None:
    body = encoded(request(1, "ping"))
    client = SessionClient(new_server(message_bytes=len(body)).asgi(sessions="stateless"))

    assert (await client.post(body)).status == 200


async def test_a_body_may_come_in_any_parts() -> None:
    client = SessionClient(new_server().asgi(sessions="stateless"))
    exchange = client.begin("POST", {"content-type": "application/json"})
    for byte in encoded(request(1, "ping")):
        exchange.feed(bytes([byte]), more=True)
    exchange.feed(b"")

    assert (await exchange.answer()).json["result"] == {}


@pytest.mark.parametrize("coding", ["gzip", "br", "gzip, identity", "x"])
async def test_a_body_that_is_packed_is_refused(coding: str) -> None:
    client = StatelessClient(new_server().asgi())
    answer = await client.begin("POST", head(content_encoding=coding)).answer()

    assert answer.status == 415


async def test_a_body_with_two_lengths_is_refused_and_the_connection_ends() -> None:
    client = StatelessClient(new_server().asgi())
    fields = head(content_length="2", transfer_encoding="chunked")
    answer = await client.begin("POST", fields).answer()

    assert (answer.status, answer.headers["connection"]) == (400, "close")


@pytest.mark.parametrize("kind", ["text/plain", "application/jsonx", "", None])
async def test_a_body_that_is_no_json_is_refused(kind: str | None) -> None:
    client = StatelessClient(new_server().asgi())
    answer = await client.request("POST", request(1, "ping"), content_type=kind)

    assert answer.status == 415


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream", "text/html", ""])
async def test_a_client_that_does_not_take_both_forms_is_refused(accept: str) -> None:
    client = StatelessClient(new_server().asgi())
    answer = await client.request("POST", request(1, "ping"), accept=accept)

    assert answer.status == 406


@pytest.mark.parametrize(
    "accept", ["*/*", "application/*, text/*", "TEXT/*,application/json", None]
)
async def test_a_client_may_accept_by_wildcards_or_say_nothing(accept: str | None) -> None:
    client = SessionClient(new_server().asgi(sessions="stateless"))

    assert (await client.request("POST", request(1, "ping"), accept=accept)).status == 200


# Clients that do not read


async def test_a_tool_waits_for_a_client_that_does_not_read() -> None:
    server = new_server(waiting_bytes=10_000)
    torrent = Torrent(server)
    exchange = StatelessClient(server.asgi()).start_tool("torrent", meta={"progressToken": 1})
    await exchange.event()
    exchange.stop_reading()
    for _ in range(200):
        await asyncio.sleep(0)

    assert torrent.sent < 100
    exchange.disconnect()


async def test_the_thread_of_a_tool_is_free_again_when_its_client_leaves() -> None:
    server = new_server(waiting_bytes=1000, threads=1)
    freed = threading.Event()

    @server.tool
    def torrent(ctx: Context) -> None:
        try:
            for done in range(1, 1_000_000):
                ctx.sync.progress(done, message="x" * 1000)
                ctx.check()
        finally:
            freed.set()

    exchange = StatelessClient(server.asgi()).start_tool("torrent", meta={"progressToken": 1})
    await exchange.event()
    exchange.stop_reading()
    exchange.disconnect()
    is_free = await asyncio.get_running_loop().run_in_executor(None, freed.wait, 3)

    assert is_free


async def test_a_listener_that_does_not_read_is_cut_at_a_bounded_buffer() -> None:
    server = new_server(waiting_bytes=1000)
    client = StatelessClient(server.asgi())
    names = [f"a://{'x' * 1000}/{number}" for number in range(100)]
    server.add_resource(lambda: "x", "a://1", name="one")
    exchange = client.start(
        "subscriptions/listen", notifications={"resourceSubscriptions": ["a://" + "x" * 1000]}
    )
    await exchange.event()
    exchange.stop_reading()
    for name in names:
        server.resource_updated(name)
        await asyncio.sleep(0)

    await exchange.ended()
    assert not exchange.complete


async def test_a_session_that_does_not_read_its_news_is_cut_at_a_bounded_buffer() -> None:
    server = new_server(waiting_bytes=1000)
    server.add_resource(lambda: "x", "a://1", name="one")
    client = SessionClient(server.asgi())
    await client.shake()
    await client.ask("resources/subscribe", uri="a://" + "x" * 1000)
    stream = client.listen()
    await stream.event()
    stream.stop_reading()
    for number in range(100):
        server.resource_updated(f"a://{'x' * 1000}/{number}")
        await asyncio.sleep(0)

    await stream.ended()
    assert not stream.complete


async def test_a_session_whose_stream_was_cut_can_listen_again() -> None:
    server = new_server(stall_seconds=0.02)
    client = SessionClient(server.asgi())
    await client.shake()
    stream = client.listen()
    await stream.event()
    stream.stop_reading()
    server.add_tool(lambda: "y", name="y")
    await stream.ended()

    assert await client.listen().begun() == 200


async def test_an_answer_that_is_not_read_ends_its_request() -> None:
    client = StatelessClient(new_server(stall_seconds=0.02).asgi())
    exchange = client.start_tool("echo", text="x")
    exchange.stop_reading()
    await exchange.ended()

    assert not exchange.complete
    assert (await client.tool("echo", text="y")).text == "y"


# Tools that break


class Odd(BaseException):
    """What nobody expects."""


BREAKS = [SystemExit, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit, Odd, RecursionError]


def breaking(kind: type[BaseException]) -> Server:
    server = new_server()

    @server.tool
    async def soon() -> str:
        raise kind

    @server.tool
    async def later() -> str:
        await asyncio.sleep(0)
        raise kind

    @server.tool
    async def streaming(ctx: Context) -> str:
        await ctx.progress(1)
        await asyncio.sleep(0)
        raise kind

    @server.tool
    def threaded() -> str:
        raise kind

    return server


@pytest.mark.parametrize("kind", BREAKS)
@pytest.mark.parametrize("tool", ["soon", "later", "threaded"])
async def test_a_tool_that_breaks_is_answered_and_the_service_lives(
    kind: type[BaseException], tool: str
) -> None:
    async with Client.asgi(breaking(kind).asgi(), revision=NEW) as client:
        assert (await client.call_raw(tool)).is_error
        assert await client.call("echo", text="x") == "x"


@pytest.mark.parametrize("kind", BREAKS)
@pytest.mark.parametrize("tool", ["soon", "later", "threaded"])
async def test_a_tool_that_breaks_leaves_its_session_and_others_alive(
    kind: type[BaseException], tool: str
) -> None:
    app = breaking(kind).asgi()
    async with (
        Client.asgi(app, revision=OLD) as client,
        Client.asgi(app, revision=OLD, lifespan=False) as other,
    ):
        session = client.session_id
        assert (await client.call_raw(tool)).is_error
        for each in (client, other):
            assert await each.call("echo", text="x") == "x"

        assert client.session_id == session != other.session_id


@pytest.mark.parametrize("kind", BREAKS)
async def test_a_tool_that_breaks_within_its_stream_ends_it(kind: type[BaseException]) -> None:
    told: list[float] = []
    async with Client.asgi(
        breaking(kind).asgi(), revision=NEW, on_progress=lambda done, *_: told.append(done)
    ) as client:
        assert (await client.call_raw("streaming")).is_error

    assert told == [1]


async def test_a_tool_that_breaks_tells_nothing_of_how() -> None:
    server = new_server()

    @server.tool
    async def leaks() -> str:
        raise KeyError("secret detail")

    async with Client.asgi(server.asgi(), revision=NEW) as client:
        assert (await client.call_raw("leaks")).is_error

    assert "secret detail" not in str(client.wire)


# Headers


async def test_too_many_headers_are_431() -> None:
    client = StatelessClient(new_server().asgi())
    fields = [(b"host", b"localhost"), *((b"x-%d" % n, b"x") for n in range(200))]

    assert (await client.begin_raw("POST", fields).answer()).status == 431


async def test_too_many_headers_of_one_name_are_431() -> None:
    client = StatelessClient(new_server().asgi())
    fields = [(b"host", b"localhost"), *((b"x-a", b"x") for n in range(200))]

    assert (await client.begin_raw("POST", fields).answer()).status == 431


async def test_headers_that_are_too_long_are_431() -> None:
    client = StatelessClient(new_server().asgi())
    fields = [(b"host", b"localhost"), (b"x-a", b"x" * 40_000)]

    assert (await client.begin_raw("POST", fields).answer()).status == 431


async def test_names_of_headers_that_are_too_long_are_431() -> None:
    client = StatelessClient(new_server().asgi())
    fields = [(b"host", b"localhost"), (b"x" * 40_000, b"x")]

    assert (await client.begin_raw("POST", fields).answer()).status == 431


@pytest.mark.parametrize(
    "name",
    [
        "host",
        "origin",
        "authorization",
        "content-type",
        "content-length",
        "mcp-session-id",
        "last-event-id",
    ],
)
async def test_a_header_by_which_requests_are_routed_comes_once(name: str) -> None:
    client = StatelessClient(new_server().asgi())
    params = {"name": "echo", "arguments": {"text": "x"}}
    sent = {"host": "localhost", **head(**mirrored("tools/call", params))}
    fields = [(k.encode(), v.encode()) for k, v in sent.items() if k != name]
    again = (name.encode(), sent.get(name, "x").encode())
    answer = await client.begin_raw("POST", [*fields, again, again]).answer()

    assert answer.status == 400
    assert name in answer.json["error"]["message"]


async def test_an_argument_that_is_mirrored_is_mirrored_once() -> None:
    server = new_server()

    async def where(**arguments: Any) -> str:
        return str(arguments.get("region"))

    schema = {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    }
    server.add_tool(where, input_schema=schema)
    params = {"name": "where", "arguments": {"region": "eu, us"}}
    body = request(
        1,
        "tools/call",
        **params,
        _meta={
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    )
    sent = {"host": "localhost", **head(**mirrored("tools/call", params))}
    twice = [(b"mcp-param-region", b"eu"), (b"mcp-param-region", b"us")]
    fields = [(name.encode(), value.encode()) for name, value in sent.items()]
    exchange = StatelessClient(server.asgi()).begin_raw("POST", [*fields, *twice])
    exchange.feed(encoded(body))
    answer = await exchange.answer()

    assert answer.status == 400
