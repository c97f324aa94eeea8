"""The transport of 2024-11-05: a stream on which everything comes, and an address to post to."""

import asyncio
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.transports.http.asgi import (
    Answer,
    Client,
    Exchange,
    Message,
    StatelessClient,
    encoded,
    initialize,
    request,
)

from toolhaft import Context, Limits, Server


class PairClient(Client):
    """One that listens at one place and posts to another."""

    def __init__(self, app: Any, path: str = "/mcp/sse", **headers: str) -> None:
        super().__init__(app, path, **headers)
        self.endpoint = ""

    async def listen(self) -> Exchange:
        """Open the stream, and be told where to post."""
        stream = self.open("GET", accept="text/event-stream")
        event = await stream.event()
        assert event.name == "endpoint"
        self.endpoint = str(event.data)
        return stream

    def start(self, body: Any, **headers: str) -> Exchange:
        """Post a message, and wait for nothing."""
        data = body if isinstance(body, bytes) else encoded(body)
        exchange = self.begin_post({"content-length": str(len(data)), **headers})
        exchange.feed(data)
        return exchange

    def begin_post(self, headers: dict[str, str]) -> Exchange:
        """The head of a message."""
        where = urlsplit(self.endpoint)
        fields = {**self.headers, "content-type": "application/json", **headers}
        scope: Message = {
            "type": "http",
            "method": "POST",
            "path": where.path,
            "query_string": where.query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in fields.items()],
        }
        return Exchange(self.app, scope)

    async def say(self, body: Any, **headers: str) -> Answer:
        """Post a message."""
        return await self.start(body, **headers).answer()

    async def shake(self) -> Exchange:
        """Open the stream and begin with `initialize`."""
        stream = await self.listen()
        assert (await self.say(initialize("2024-11-05"))).status == 202
        assert (await stream.message())["result"]["protocolVersion"] == "2024-11-05"
        return stream

    async def tool(self, name: str, id: Any = 1, **given: Any) -> Answer:
        """Begin to call a tool."""
        return await self.say(request(id, "tools/call", name=name, arguments=given))


def new_server(**limits: Any) -> Server:
    server = Server("s", version="1", limits=Limits(**limits))

    @server.tool
    def echo(text: str) -> str:
        return text

    @server.tool
    def whose(ctx: Context) -> str:
        return str(ctx.principal)

    return server


def by_name(headers: Any) -> str | None:
    name: str | None = headers.get("authorization")
    return name


def new_client(server: Server | None = None, **options: Any) -> PairClient:
    return PairClient((server or new_server()).asgi(legacy_sse=True, **options))


def text(message: Any) -> str:
    said: str = message["result"]["content"][0]["text"]
    return said


class Held:
    """A tool that waits until the test lets it go."""

    def __init__(self, server: Server) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.cancelled = asyncio.Event()
        server.add_tool(self.run, name="held")

    async def run(self) -> str:
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "let go"

    async def has_begun(self) -> None:
        await asyncio.wait_for(self.begun.wait(), 5)


# The stream


async def test_the_stream_begins_with_the_address_to_post_to() -> None:
    stream = new_client().open("GET", accept="text/event-stream")
    event = await stream.event()

    assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream")
    assert event.name == "endpoint"
    assert str(event.data).startswith("/mcp/sse?session=")


async def test_each_stream_has_an_address_of_its_own() -> None:
    client = new_client()
    await client.listen()
    first = client.endpoint
    await client.listen()

    assert first != client.endpoint


async def test_what_is_posted_is_answered_on_the_stream() -> None:
    client = new_client()
    stream = await client.listen()
    answer = await client.say(initialize("2024-11-05", id=7))
    message = await stream.message()

    assert (answer.status, answer.body) == (202, b"")
    assert (message["id"], message["result"]["protocolVersion"]) == (7, "2024-11-05")


async def test_tools_are_called() -> None:
    client = new_client()
    stream = await client.shake()
    await client.tool("echo", id="a", text="hello")
    message = await stream.message()

    assert (message["id"], text(message)) == ("a", "hello")


async def test_messages_come_as_events_of_their_name() -> None:
    client = new_client()
    stream = await client.listen()
    await client.say(initialize("2024-11-05"))

    assert (await stream.event()).name == "message"


async def test_a_notification_is_202_and_not_answered() -> None:
    client = new_client()
    stream = await client.shake()
    answer = await client.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    await client.tool("echo", id=5, text="next")

    assert answer.status == 202
    assert (await stream.message())["id"] == 5


async def test_a_batch_is_202_and_answered_on_the_stream_where_there_are_batches() -> None:
    client = new_client()
    stream = await client.listen()
    await client.say(initialize("2025-03-26"))
    await stream.message()
    answer = await client.say([request(1, "ping"), request(2, "ping")])
    message = await stream.message()

    assert answer.status == 202
    assert sorted(each["id"] for each in message) == [1, 2]


async def test_a_batch_is_202_and_refused_on_the_stream_where_there_are_none() -> None:
    client = new_client()
    stream = await client.shake()
    answer = await client.say([request(1, "ping"), request(2, "ping")])

    assert answer.status == 202
    assert (await stream.message())["error"]["code"] == -32600


async def test_what_is_no_json_is_answered_on_the_stream() -> None:
    client = new_client()
    stream = await client.shake()
    answer = await client.say(b"{")

    assert answer.status == 202
    assert (await stream.message())["error"]["code"] == -32700


async def test_news_come_on_the_stream() -> None:
    server = new_server()
    client = new_client(server)
    stream = await client.shake()
    await client.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    server.add_tool(lambda: "x", name="x")

    assert (await stream.message())["method"] == "notifications/tools/list_changed"


async def test_a_quiet_stream_is_told_that_we_are_still_here() -> None:
    stream = await new_client(new_server(quiet_seconds=0.01)).listen()

    assert [(await stream.event()).comment for _ in range(2)] == ["still here", "still here"]


async def test_a_call_is_cancelled_by_its_client() -> None:
    server = new_server()
    held, client = Held(server), new_client(server)
    await client.shake()
    await client.tool("held", id=4)
    await held.has_begun()
    params = {"requestId": 4}
    await client.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    await asyncio.wait_for(held.cancelled.wait(), 5)


async def test_the_calls_of_a_client_that_leaves_are_cancelled() -> None:
    server = new_server()
    held, client = Held(server), new_client(server)
    stream = await client.shake()
    await client.tool("held")
    await held.has_begun()
    stream.disconnect()
    await stream.ended()

    await asyncio.wait_for(held.cancelled.wait(), 5)


async def test_two_clients_with_the_same_ids_are_not_mixed_up() -> None:
    app = new_server().asgi(legacy_sse=True)
    clients = [PairClient(app), PairClient(app)]
    streams = [await client.shake() for client in clients]
    for client, said in zip(clients, ("one", "two"), strict=True):
        await client.tool("echo", id=1, text=said)

    assert [text(await stream.message()) for stream in streams] == ["one", "two"]


async def test_a_cancellation_does_not_reach_another_clients_call_of_the_same_id() -> None:
    server = new_server()
    held = Held(server)
    app = server.asgi(legacy_sse=True)
    first, second = PairClient(app), PairClient(app)
    stream, _ = await first.shake(), await second.shake()
    await first.tool("held", id=1)
    await held.has_begun()
    params = {"requestId": 1}
    await second.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
    held.go.set()

    assert text(await stream.message()) == "let go"


# Who may post


@pytest.mark.parametrize("query", ["", "?session=", "?session=unknown", "?session=a&session=b"])
async def test_an_unknown_session_is_404(query: str) -> None:
    client = new_client()
    await client.listen()
    client.endpoint = "/mcp/sse" + query

    assert (await client.say(initialize("2024-11-05"))).status == 404


async def test_the_session_of_a_client_that_has_left_is_404() -> None:
    client = new_client()
    stream = await client.shake()
    stream.disconnect()
    await stream.ended()

    assert (await client.say(request(1, "ping"))).status == 404


async def test_the_session_of_another_principal_is_404() -> None:
    app = new_server().asgi(legacy_sse=True, guard=by_name)
    alice = PairClient(app, authorization="alice")
    await alice.shake()
    bob = PairClient(app, authorization="bob")
    bob.endpoint = alice.endpoint

    assert (await bob.tool("whose")).status == 404


async def test_a_tool_knows_the_principal() -> None:
    app = new_server().asgi(legacy_sse=True, guard=by_name)
    client = PairClient(app, authorization="alice")
    stream = await client.shake()
    await client.tool("whose")

    assert text(await stream.message()) == "alice"


async def test_who_is_not_let_in_gets_no_stream() -> None:
    answer = await new_client(guard=by_name).request("GET", accept="text/event-stream")

    assert answer.status == 401


async def test_who_is_not_let_in_cannot_post() -> None:
    app = new_server().asgi(legacy_sse=True, guard=by_name)
    alice = PairClient(app, authorization="alice")
    await alice.shake()
    nobody = PairClient(app)
    nobody.endpoint = alice.endpoint

    assert (await nobody.tool("whose")).status == 401


async def test_a_page_of_elsewhere_gets_no_stream() -> None:
    answer = await new_client().request(
        "GET", accept="text/event-stream", origin="https://evil.example"
    )

    assert answer.status == 403


async def test_a_page_of_elsewhere_cannot_post() -> None:
    client = new_client()
    await client.shake()

    assert (await client.say(request(1, "ping"), origin="https://evil.example")).status == 403


async def test_a_foreign_name_of_this_machine_gets_no_stream() -> None:
    answer = await new_client().request("GET", accept="text/event-stream", host="evil.example")

    assert answer.status == 421


async def test_a_foreign_name_of_this_machine_cannot_post() -> None:
    client = new_client()
    await client.shake()

    assert (await client.say(request(1, "ping"), host="evil.example")).status == 421


# Bounds


async def test_who_does_not_take_events_gets_none() -> None:
    assert (await new_client().request("GET", accept="application/json")).status == 406


@pytest.mark.parametrize("verb", ["DELETE", "PUT"])
async def test_other_verbs_have_no_meaning(verb: str) -> None:
    answer = await new_client().request(verb)

    assert (answer.status, answer.headers["allow"]) == (405, "GET, POST")


async def test_a_body_that_says_it_is_too_long_is_413() -> None:
    client = new_client(new_server(message_bytes=1000))
    await client.shake()

    assert (await client.say(request(1, "ping", x="x" * 1000))).status == 413


async def test_a_body_that_becomes_too_long_is_413() -> None:
    client = new_client(new_server(message_bytes=1000))
    await client.shake()
    post = client.begin_post({})
    post.feed(b" " * 800, more=True)
    post.feed(b" " * 800, more=True)

    assert (await post.answer()).status == 413


async def test_a_body_in_parts_is_read() -> None:
    client = new_client()
    stream = await client.shake()
    post = client.begin_post({})
    data = encoded(request(9, "ping"))
    post.feed(data[:10], more=True)
    post.feed(data[10:])

    assert (await post.answer()).status == 202
    assert (await stream.message())["id"] == 9


async def test_a_body_that_does_not_come_is_408() -> None:
    client = new_client(new_server(stall_seconds=0.05))
    await client.shake()
    post = client.begin_post({})
    post.feed(b"{", more=True)

    assert (await post.answer()).status == 408


async def test_what_is_no_json_by_its_type_is_415() -> None:
    client = new_client()
    await client.shake()

    assert (await client.say(request(1, "ping"), **{"content-type": "text/plain"})).status == 415


async def test_no_more_streams_than_allowed_are_open() -> None:
    client = new_client(new_server(streams=1))
    await client.listen()
    answer = await client.request("GET", accept="text/event-stream")

    assert (answer.status, answer.headers["retry-after"]) == (503, "5")


async def test_a_stream_that_has_ended_makes_room() -> None:
    client = new_client(new_server(streams=1))
    stream = await client.listen()
    stream.disconnect()
    await stream.ended()

    assert await client.open("GET", accept="text/event-stream").begun() == 200


async def test_no_more_calls_than_allowed_are_under_way() -> None:
    server = new_server(all_calls=1)
    held, client = Held(server), new_client(server)
    await client.shake()
    await client.tool("held", id=1)
    await held.has_begun()

    answer = await client.tool("held", id=2)
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")


async def test_a_stream_that_ends_while_a_body_comes_is_404() -> None:
    client = new_client()
    stream = await client.shake()
    post = client.begin_post({})
    data = encoded(request(9, "ping"))
    post.feed(data[:10], more=True)
    await asyncio.sleep(0)
    stream.disconnect()
    await stream.ended()
    post.feed(data[10:])

    answer = await post.answer()
    assert answer.status == 404
    assert b"GET a new one" in answer.body


# Where


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_by_default_there_is_no_such_transport(verb: str) -> None:
    client = Client(new_server().asgi(), "/mcp/sse")

    assert (await client.request(verb, accept="text/event-stream")).status == 404


async def test_the_other_transports_are_served_beside_it() -> None:
    client = StatelessClient(new_server().asgi(legacy_sse=True))

    assert (await client.tool("echo", text="x")).text == "x"


async def test_a_service_may_be_at_a_path_that_ends_like_that_of_a_stream() -> None:
    client = StatelessClient(new_server().asgi(path="/sse", legacy_sse=True), "/sse")

    assert (await client.tool("echo", text="x")).text == "x"


async def test_a_service_at_such_a_path_has_its_streams_below_it() -> None:
    client = PairClient(new_server().asgi(path="/sse", legacy_sse=True), "/sse/sse")
    stream = await client.shake()
    await client.tool("echo", text="x")

    assert client.endpoint.startswith("/sse/sse?")
    assert text(await stream.message()) == "x"


async def test_a_slash_too_many_is_forgiven() -> None:
    client = PairClient(new_server().asgi(legacy_sse=True), "/mcp/sse/")
    stream = await client.shake()
    await client.tool("echo", text="x")

    assert text(await stream.message()) == "x"


# Ends


async def test_a_stream_on_which_nobody_waits_ends_with_the_service() -> None:
    app: Any = new_server().asgi(legacy_sse=True)
    stream = await PairClient(app).shake()
    app.end_streams()

    assert (await stream.answer()).status == 200


async def test_a_call_is_answered_before_its_stream_ends_with_the_service() -> None:
    server = new_server()
    held, app = Held(server), server.asgi(legacy_sse=True)
    client = PairClient(app)
    stream = await client.shake()
    await client.tool("held", id=3)
    await held.has_begun()
    ending: Any = app
    ending.end_streams()
    held.go.set()
    [*_, event] = (await stream.answer()).events

    assert (event.message["id"], text(event.message)) == (3, "let go")


async def test_a_service_that_ends_is_busy_as_long_as_a_call_is_under_way() -> None:
    server = new_server()
    held, app = Held(server), server.asgi(legacy_sse=True)
    ending: Any = app
    client = PairClient(app)
    stream = await client.shake()
    await client.tool("held")
    await held.has_begun()
    ending.end_streams()
    before = ending.busy
    held.go.set()
    await stream.answer()

    assert (before, ending.busy) == (True, False)


async def test_a_service_that_ends_opens_no_streams() -> None:
    app: Any = new_server().asgi(legacy_sse=True)
    client = PairClient(app)
    await client.listen()
    app.end_streams()
    answer = await client.request("GET", accept="text/event-stream")

    assert answer.status == 503


async def test_a_call_that_is_abandoned_is_answered_with_an_error() -> None:
    server = new_server()
    held, app = Held(server), server.asgi(legacy_sse=True)
    ending: Any = app
    client = PairClient(app)
    stream = await client.shake()
    await client.tool("held", id=3)
    await held.has_begun()
    ending.end_streams()
    ending.abandon()
    [*_, event] = (await stream.answer()).events

    assert (event.message["id"], event.message["error"]["code"]) == (3, -32603)
