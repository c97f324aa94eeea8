"""Clients that shake hands: sessions `auto`, `stateful` and `stateless`."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.asking import NEW
from tests.testing.offering import add_memory
from tests.transports.http.asgi import Answer, App, Client, SessionClient, initialize, request

from toolhaft import Context, Limits, McpError, Server, Unauthorized, testing
from toolhaft.protocol.peer import Peer
from toolhaft.stores.memory import MemoryStore
from toolhaft.transports.http.sessions.sessions import Sessions
from toolhaft.types.wire import Implementation

MODES = ["auto", "stateful", "stateless"]
REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


def new_server(**options: Any) -> Server:
    server = Server("s", version="1", **options)
    server.add_tool(lambda text: text, name="echo", thread=False)

    add_memory(server)
    return server


def new_client(server: Server | None = None, **options: Any) -> SessionClient:
    return SessionClient((server or new_server()).asgi(**options))


def kit(app: App, revision: str = "2025-11-25", **options: Any) -> testing.Client:
    """A client of the kit, not open yet, that leaves lifespans alone: there may be several."""
    return testing.Client.asgi(app, revision=revision, lifespan=False, **options)


async def shaken(server: Server | None = None, **options: Any) -> SessionClient:
    client = new_client(server, **options)
    await client.shake()
    return client


# Beginning


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_handshake_opens_a_session(revision: str) -> None:
    async with kit(new_server().asgi(), revision) as client:
        assert client.revision == revision
        assert re.fullmatch(r"[\x21-\x7e]{32,}", client.session_id or "")


async def test_the_handshake_is_answered_by_one_body() -> None:
    answer = await new_client().shake()

    assert answer.headers["content-type"] == "application/json"


async def test_the_revision_without_a_handshake_is_not_given_in_one() -> None:
    answer = await new_client().shake("2026-07-28")

    assert answer.json["result"]["protocolVersion"] == "2025-11-25"


async def test_a_newer_client_may_shake_hands_too() -> None:
    client = new_client()
    answer = await client.post(initialize("2099-01-01"), mcp_protocol_version="2099-01-01")

    assert answer.json["result"]["protocolVersion"] == "2025-11-25"
    assert "mcp-session-id" in answer.headers


async def test_no_two_sessions_have_the_same_id() -> None:
    app = new_server().asgi()
    ids = set()
    for _ in range(50):
        async with kit(app) as client:
            ids.add(client.session_id)

    assert len(ids) == 50


async def test_a_refused_handshake_opens_no_session() -> None:
    body = request(0, "initialize", protocolVersion=3)
    answer = await new_client().post(body)

    assert answer.code == -32602
    assert "mcp-session-id" not in answer.headers


async def test_a_stateless_service_mints_no_session() -> None:
    async with kit(new_server().asgi(sessions="stateless")) as client:
        assert await client.call("recall") == "no session"
        assert client.session_id is None


@pytest.mark.parametrize("mode", ["auto", "stateful"])
async def test_initialize_with_a_live_session_is_refused(mode: Any) -> None:
    client = await shaken(sessions=mode)
    answer = await client.post(initialize(), **client.own)

    assert (answer.status, answer.code) == (400, -32600)
    assert (await client.ask("ping")).json["result"] == {}


@pytest.mark.parametrize("mode", ["auto", "stateful"])
async def test_initialize_with_an_unknown_session_opens_a_new_one(mode: Any) -> None:
    client = new_client(sessions=mode)
    answer = await client.post(initialize(), mcp_session_id="of-yesterday")

    assert answer.status == 200
    assert answer.headers["mcp-session-id"] != "of-yesterday"


@pytest.mark.parametrize("mode", MODES)
async def test_changes_are_declared_where_a_client_can_be_told_of_them(mode: Any) -> None:
    server = new_server()
    server.add_resource(lambda: "", "x://a", name="a")
    async with kit(server.asgi(sessions=mode)) as client:
        declared = client.capabilities

    told = {} if mode == "stateless" else {"listChanged": True}
    followed = {} if mode == "stateless" else {"subscribe": True}
    assert declared["tools"] == told
    assert declared["resources"] == {**told, **followed}


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
async def test_nothing_is_followed_without_a_session(method: str) -> None:
    server = new_server()
    server.add_resource(lambda: "", "x://a", name="a")
    async with kit(server.asgi(sessions="stateless")) as client:
        with pytest.raises(McpError, match="no session in which") as refused:
            await client.request(method, {"uri": "x://a"})

    assert refused.value.code == -32601


async def test_a_stateless_service_shakes_hands_as_often_as_one_likes() -> None:
    client = new_client(sessions="stateless")
    client.headers["mcp-session-id"] = "whatever"

    assert [(await client.shake()).status for _ in range(2)] == [200, 200]


# Going on


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("revision", REVISIONS)
async def test_calls_follow_the_handshake(mode: Any, revision: str) -> None:
    client = new_client(sessions=mode)
    await client.shake(revision)
    accepted = await client.tell("notifications/initialized")
    answer = await client.tool("echo", text="hello")

    assert (accepted.status, accepted.body) == (202, b"")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.text == "hello"


async def test_results_of_a_session_have_nothing_of_newer_revisions() -> None:
    async with kit(new_server().asgi()) as client:
        assert set(await client.request("tools/list")) == {"tools"}


@pytest.mark.parametrize("mode", ["auto", "stateful"])
async def test_a_session_remembers_what_a_tool_put_into_it(mode: Any) -> None:
    async with kit(new_server().asgi(sessions=mode)) as client:
        await client.call("remember", value="milk")

        assert await client.call("recall") == "milk"


async def test_sessions_do_not_see_what_is_in_each_other() -> None:
    app = new_server().asgi()
    async with kit(app) as first, kit(app) as second:
        await first.call("remember", value="milk")

        assert await second.call("recall") == "nothing"


@pytest.mark.parametrize("mode", ["auto", "stateless"])
async def test_a_client_without_a_session_is_served_without_one(mode: Any) -> None:
    client = await shaken(sessions=mode)
    client.session = None

    assert (await client.tool("recall")).text == "no session"


async def test_a_stateless_service_does_not_look_at_the_id_of_a_session() -> None:
    async with kit(new_server().asgi(sessions="stateless"), session="whatever") as client:
        assert await client.call("recall") == "no session"


@pytest.mark.parametrize("verb", ["POST", "GET", "DELETE"])
async def test_a_stateful_service_needs_the_id_of_a_session(verb: str) -> None:
    client = await shaken(sessions="stateful")
    client.session = None
    answer = await client.request(verb, request(4, "ping"), **client.own)

    assert (answer.status, answer.code) == (400, -32600)
    assert "Mcp-Session-Id" in answer.json["error"]["message"]


async def test_who_opens_the_address_in_a_browser_reads_what_it_is() -> None:
    answer = await new_client().request("GET", accept="text/html")

    assert answer.status == 400
    assert answer.json["error"]["message"].startswith("this is an MCP endpoint")


@pytest.mark.parametrize("mode", ["auto", "stateless"])
async def test_a_client_without_a_session_is_told_how_it_can_be_asked(mode: Any) -> None:
    server = new_server()

    @server.tool
    async def asks(ctx: Context) -> str:
        return str(await ctx.elicit("Who?", str))

    answer = await new_client(server, sessions=mode).tool("asks")

    assert answer.text == (
        "this needs to ask something, and the client cannot be asked on this connection, which has "
        "no session: begin with `initialize`, and send the Mcp-Session-Id that comes with its "
        "answer. If none comes, this server keeps no sessions; whoever runs it has to do so with "
        "one worker, or with sessions that are kept"
    )


@pytest.mark.parametrize("mode", ["auto", "stateful"])
@pytest.mark.parametrize("verb", ["POST", "GET", "DELETE"])
async def test_an_unknown_session_is_404(mode: Any, verb: str) -> None:
    client = await shaken(sessions=mode)
    client.session = "nobody"
    answer = await client.request(verb, request(4, "ping"), **client.own)

    assert (answer.status, answer.code) == (404, -32600)


async def test_the_refusal_of_a_request_has_its_id() -> None:
    client = await shaken(sessions="stateful")
    client.session = "nobody"
    unknown = await client.ask("ping", id="a")
    client.session = None
    missing = await client.ask("ping", id="b")

    assert (unknown.json["id"], missing.json["id"]) == ("a", "b")


async def test_a_notification_to_an_unknown_session_is_404() -> None:
    client = await shaken()
    client.session = "nobody"

    assert (await client.tell("notifications/initialized")).status == 404


async def test_without_a_version_a_session_goes_on_in_its_own() -> None:
    client = await shaken()
    answer = await client.post(request(1, "ping"), mcp_session_id=client.session)

    assert answer.json["result"] == {}


@pytest.mark.parametrize("version", ["1999-01-01", "", "2025-11-25, 2025-11-25", "é"])
async def test_a_version_that_nobody_knows_is_400(version: str) -> None:
    client = await shaken()
    fields = [
        (b"host", b"127.0.0.1"),
        (b"content-type", b"application/json"),
        (b"mcp-session-id", str(client.session).encode()),
        (b"mcp-protocol-version", version.encode("latin-1")),
    ]
    exchange = client.begin_raw("POST", fields)
    exchange.feed(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    answer = await exchange.answer()

    assert answer.status == 400


@pytest.mark.parametrize("with_session", [True, False])
@pytest.mark.parametrize("version", ["2023-01-01", "2027-01-01", "foo"])
async def test_the_refusal_of_a_version_names_the_header_and_what_we_speak(
    version: str, with_session: bool
) -> None:
    client = await shaken()
    session = {"mcp_session_id": client.session} if with_session else {}
    answer = await client.post(request(1, "tools/list"), mcp_protocol_version=version, **session)

    assert (answer.status, answer.code) == (400, -32602)
    assert answer.json["error"]["message"] == (
        f"the header MCP-Protocol-Version is '{version}'; this server speaks 2026-07-28, "
        "2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"
    )


async def test_an_unknown_method_is_an_error_in_the_body() -> None:
    answer = await (await shaken()).ask("no/such")

    assert (answer.status, answer.code) == (200, -32601)


async def test_an_unknown_tool_is_an_error_in_the_body() -> None:
    answer = await (await shaken()).tool("nobody")

    assert (answer.status, answer.code) == (200, -32602)


@pytest.mark.parametrize(("body", "code"), [(b"{", -32700), (b"{}", -32600), (b"[]", -32600)])
async def test_what_is_no_message_is_400(body: bytes, code: int) -> None:
    client = await shaken()
    answer = await client.post(body, **client.own)

    assert (answer.status, answer.code) == (400, code)


async def test_a_response_that_nobody_waits_for_is_accepted() -> None:
    client = await shaken()
    answer = await client.post({"jsonrpc": "2.0", "id": 9, "result": {}}, **client.own)

    assert (answer.status, answer.body) == (202, b"")


async def test_a_tool_asks_its_client_on_the_stream_of_its_call() -> None:
    server = new_server()

    @server.tool
    async def asks(ctx: Context) -> str:
        return str(await ctx.roots())

    client = new_client(server)
    await client.shake("2025-11-25", roots={})
    exchange = client.start_tool("asks", id=3)
    asked = await exchange.message()
    reply = {"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": "file:///a"}]}}
    accepted = await client.post(reply, **client.own)
    answer = await exchange.message()

    assert (asked["method"], accepted.status) == ("roots/list", 202)
    assert "file:///a" in answer["result"]["content"][0]["text"]


async def test_another_session_cannot_answer_for_a_client() -> None:
    server = new_server()

    @server.tool
    async def asks(ctx: Context) -> str:
        return str(await ctx.roots())

    client = new_client(server)
    await client.shake("2025-11-25", roots={})
    stranger = SessionClient(client.app)
    await stranger.shake()
    exchange = client.start_tool("asks", id=3)
    asked = await exchange.message()
    for who, name in ((stranger, "forged"), (client, "true")):
        roots = {"roots": [{"uri": f"file:///{name}"}]}
        reply = {"jsonrpc": "2.0", "id": asked["id"], "result": roots}
        assert (await who.post(reply, **who.own)).status == 202
    answer = await exchange.message()

    assert "file:///true" in answer["result"]["content"][0]["text"]


async def test_a_client_without_a_session_cannot_be_asked_and_is_told_so() -> None:
    server = new_server()

    @server.tool
    async def asks(ctx: Context) -> str:
        return str(await ctx.roots())

    async with kit(server.asgi(sessions="stateless")) as client:
        refused = await client.call_raw("asks")

    assert refused.is_error
    assert "sessions that are kept" in refused.text


async def test_the_level_of_logs_belongs_to_the_session() -> None:
    server = new_server()

    @server.tool
    async def logs(ctx: Context) -> str:
        await ctx.log("warning", "careful")
        return "done"

    app = server.asgi()
    heard: dict[str, list[Any]] = {"first": [], "second": []}
    async with (
        kit(app, on_notice=heard["first"].append) as first,
        kit(app, on_notice=heard["second"].append) as second,
    ):
        await first.set_level("error")
        for client in (first, second):
            assert await client.call("logs") == "done"

    assert heard["first"] == []
    assert [notice.params["data"] for notice in heard["second"]] == ["careful"]


# The same ids


async def test_an_id_that_is_in_flight_is_refused_and_the_first_is_answered() -> None:
    server, begun, go = new_server(), asyncio.Event(), asyncio.Event()

    @server.tool
    async def waits() -> str:
        begun.set()
        await go.wait()
        return "first"

    client = await shaken(server)
    exchange = client.start_tool("waits", id=1)
    await begun.wait()
    second = await client.tool("echo", id=1, text="second")
    go.set()

    assert second.code == -32600
    assert (await exchange.answer()).text == "first"


async def test_an_id_can_be_used_again_after_its_answer() -> None:
    client = await shaken()

    assert [(await client.tool("echo", id=1, text=t)).text for t in "ab"] == ["a", "b"]


async def test_a_hundred_sessions_with_the_same_id_get_their_own_answers() -> None:
    server, ready = new_server(), asyncio.Barrier(100)

    @server.tool
    async def meet(text: str, ctx: Context) -> str:
        await ctx.progress(1, message=text)
        await ready.wait()
        return text

    app = server.asgi()
    clients = [SessionClient(app) for _ in range(100)]
    for client in clients:
        await client.shake()
    exchanges = [
        client.start_tool("meet", id=1, meta={"progressToken": 1}, text=f"{n}")
        for n, client in enumerate(clients)
    ]
    answers = [await exchange.answer() for exchange in exchanges]

    told = [answer.messages[0]["params"]["message"] for answer in answers]
    said = [answer.messages[-1]["result"]["content"][0]["text"] for answer in answers]
    assert told == said == [f"{n}" for n in range(100)]


async def test_a_hundred_clients_without_sessions_with_the_same_id_get_their_own_answers() -> None:
    server, ready = new_server(), asyncio.Barrier(100)

    @server.tool
    async def meet(text: str) -> str:
        await ready.wait()
        return text

    app = server.asgi(sessions="stateless")
    exchanges = [SessionClient(app).start_tool("meet", id=1, text=f"{n}") for n in range(100)]

    assert [(await exchange.answer()).text for exchange in exchanges] == [
        f"{n}" for n in range(100)
    ]


# Cancelling and leaving


class Long:
    """A tool that waits until it is cancelled or let go."""

    def __init__(self, server: Server) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.ended = asyncio.Event()
        self.cancelled = False
        server.add_tool(self.run, name="long")

    async def run(self) -> str:
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        finally:
            self.ended.set()
        return "done"


async def test_a_notification_cancels_a_call_of_its_session() -> None:
    server = new_server()
    long, client = Long(server), await shaken(server)
    exchange = client.start_tool("long", id=7)
    await long.begun.wait()
    await client.tell("notifications/cancelled", requestId=7)
    await exchange.ended()

    assert long.cancelled
    assert b"result" not in exchange.body


async def test_a_call_that_was_cancelled_gets_202_and_no_answer() -> None:
    server = new_server()
    long, client = Long(server), await shaken(server)
    call = client.start_tool("long", id=7)
    await long.begun.wait()
    await client.tell("notifications/cancelled", requestId=7)
    answer = await call.answer()

    assert (answer.status, answer.body) == (202, b"")


async def test_a_call_whose_session_is_ended_is_stopped_and_told_so() -> None:
    server = new_server()
    long, client = Long(server), await shaken(server)
    call = client.start_tool("long", id=7)
    await long.begun.wait()
    ended = await client.end()
    answer = await call.answer()

    assert ended.status == 204
    assert (answer.status, answer.code, answer.json["id"]) == (200, -32603, 7)
    assert answer.json["error"]["message"] == "the session is over"


async def test_a_notification_does_not_cancel_the_call_of_another_session() -> None:
    server = new_server()
    long, client = Long(server), await shaken(server)
    stranger = SessionClient(client.app)
    await stranger.shake()
    exchange = client.start_tool("long", id=7)
    await long.begun.wait()
    await stranger.tell("notifications/cancelled", requestId=7)
    stranger.session = None
    await stranger.tell("notifications/cancelled", requestId=7)
    long.go.set()

    assert (await exchange.answer()).text == "done"


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_leaves_does_not_cancel_its_call(mode: Any) -> None:
    server = new_server()
    long, client = Long(server), await shaken(server, sessions=mode)
    exchange = client.start_tool("long")
    await long.begun.wait()
    exchange.disconnect()
    await exchange.ended()
    assert not long.ended.is_set()
    long.go.set()
    await asyncio.wait_for(long.ended.wait(), 5)

    assert not long.cancelled


async def test_a_call_whose_client_has_left_can_still_be_cancelled() -> None:
    server = new_server()
    long, client = Long(server), await shaken(server)
    exchange = client.start_tool("long", id=7)
    await long.begun.wait()
    exchange.disconnect()
    await exchange.ended()
    await client.tell("notifications/cancelled", requestId=7)
    await asyncio.wait_for(long.ended.wait(), 5)

    assert long.cancelled


# Ending


@pytest.mark.parametrize("mode", ["auto", "stateful"])
async def test_a_client_ends_its_session(mode: Any) -> None:
    client = await shaken(sessions=mode)
    ended = await client.end()

    assert (ended.status, ended.body) == (204, b"")
    assert (await client.ask("ping")).status == 404
    assert (await client.end()).status == 404


async def test_the_end_of_a_session_cancels_its_calls() -> None:
    server = new_server()
    long, client = Long(server), await shaken(server)
    exchange = client.start_tool("long")
    await long.begun.wait()
    await client.end()
    await exchange.ended()

    assert long.cancelled


async def test_the_end_of_a_session_cancels_its_calls_even_if_nobody_waits_for_them() -> None:
    server = new_server()
    long, client = Long(server), await shaken(server)
    exchange = client.start_tool("long")
    await long.begun.wait()
    exchange.disconnect()
    await exchange.ended()
    await client.end()

    await asyncio.wait_for(long.ended.wait(), 1)
    assert long.cancelled


async def test_the_end_of_a_session_leaves_the_calls_of_others_alone() -> None:
    server = new_server()
    long, app = Long(server), server.asgi()
    async with kit(app) as client:
        async with kit(app):
            call = asyncio.create_task(client.call("long"))
            await long.begun.wait()
        long.go.set()

        assert await call == "done"


async def test_the_end_of_a_session_ends_its_stream() -> None:
    client = await shaken()
    stream = client.listen()
    await stream.event()
    await client.end()

    assert (await stream.answer()).status == 200


@pytest.mark.parametrize("verb", ["GET", "DELETE"])
async def test_a_stateless_service_has_nothing_to_get_or_to_delete(verb: str) -> None:
    client = await shaken(sessions="stateless")
    answer = await client.request(verb, mcp_session_id="x")

    assert (answer.status, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("mode", ["auto", "stateful"])
@pytest.mark.parametrize("verb", ["GET", "DELETE"])
async def test_who_speaks_a_revision_that_nobody_knows_gets_and_deletes_nothing(
    verb: str, mode: Any
) -> None:
    client = await shaken(sessions=mode)
    answer = await client.request(verb, **{**client.own, "mcp_protocol_version": "2031-01-01"})

    assert answer.status == 400
    assert "2025-11-25" in answer.body.decode()
    assert ("2026-07-28" in answer.body.decode()) is (mode == "auto")
    assert (await client.ask("ping")).status == 200


async def test_a_notification_of_a_revision_that_nobody_knows_is_refused() -> None:
    client = await shaken()
    body = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
    answer = await client.post(body, **{**client.own, "mcp_protocol_version": "2031-01-01"})

    assert answer.status == 400
    assert "2025-11-25" in answer.json["error"]["message"]


@pytest.mark.parametrize("verb", ["PUT", "PATCH", "HEAD", "TRACE"])
async def test_other_verbs_have_no_meaning(verb: str) -> None:
    client = await shaken()
    answer = await client.request(verb, **client.own)

    assert (answer.status, answer.headers["allow"]) == (405, "GET, POST, DELETE")


async def test_a_session_that_nobody_uses_is_over() -> None:
    client = await shaken(new_server(limits=Limits(session_seconds=0.001)))
    loop = asyncio.get_running_loop()
    passed = loop.create_future()
    loop.call_later(0.01, passed.set_result, None)
    await passed

    assert (await client.ask("ping")).status == 404


async def test_one_session_too_many_ends_the_one_used_least_recently() -> None:
    server = new_server(limits=Limits(sessions=2))
    first = await shaken(server)
    second, third = SessionClient(first.app), SessionClient(first.app)
    await second.shake()
    await first.ask("ping")
    await third.shake()

    answers = [await client.ask("ping") for client in (first, second, third)]
    assert [answer.status for answer in answers] == [200, 404, 200]


async def test_of_many_sessions_those_end_that_nobody_has_used_for_long() -> None:
    now, ended = 0.0, list[str]()
    info = Implementation(name="s", version="1")
    sessions = Sessions(
        MemoryStore(),
        Limits(session_seconds=100),
        peer=lambda session: Peer(info, session=session),
        ended=lambda live: ended.append(live.id),
        clock=lambda: now,
    )
    opened = [await sessions.open(Peer(info)) for _ in range(6)]
    busy = opened[3]
    busy.calls = 1
    now = 20.0
    used = opened[1::2]
    for live in used:
        assert sessions.here(live.id, None) is live

    now = 22.0
    assert sessions.here(used[2].id, None) is used[2]  # and stays behind the others

    now = 101.0
    sessions.expire()
    assert ended == [live.id for live in opened[::2]]
    assert sessions.all() == used

    now = 121.0
    assert sessions.here(used[2].id, None) is None  # who is written down too long ago is looked for
    assert await sessions.find(used[2].id, None) is used[2]
    assert sessions.all() == [busy, used[2]]


async def test_a_session_that_nobody_used_for_too_long_is_over_whoever_is_before_it() -> None:
    now = 0.0
    info = Implementation(name="s", version="1")
    sessions = Sessions(
        MemoryStore(clock=lambda: now),
        Limits(session_seconds=100),
        peer=lambda session: Peer(info, session=session),
        ended=lambda _: None,
        clock=lambda: now,
    )
    first = await sessions.open(Peer(info))
    now = 1.0
    second = await sessions.open(Peer(info))
    now = 6.0
    assert sessions.here(first.id, None) is first

    now = 103.0
    assert await sessions.find(second.id, None) is None
    assert await sessions.find(first.id, None) is first

    first.calls = 1
    now = 300.0
    assert await sessions.find(first.id, None) is first


async def test_a_tool_knows_the_headers_of_a_request_of_its_session() -> None:
    server = new_server()

    @server.tool
    async def whose(ctx: Context) -> str:
        return ctx.headers["x-tenant"]

    client = SessionClient(server.asgi(), x_tenant="blue")
    await client.shake()

    assert [(await client.tool("whose")).text for _ in range(2)] == ["blue", "blue"]


# Principals


def by_token(headers: Mapping[str, str]) -> str | None:
    token = headers.get("authorization", "")
    if not token.startswith("Bearer "):
        raise Unauthorized("a token is needed", challenge='Bearer realm="x"')
    return token.removeprefix("Bearer ")


async def by_token_later(headers: Mapping[str, str]) -> str | None:
    await asyncio.sleep(0)
    return by_token(headers)


@pytest.mark.parametrize("guard", [by_token, by_token_later])
@pytest.mark.parametrize("verb", ["POST", "GET", "DELETE"])
async def test_who_is_not_let_in_is_told_how_to_be(guard: Any, verb: str) -> None:
    answer = await new_client(guard=guard).request(verb, initialize())

    assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Bearer realm="x"')
    assert answer.json["error"]["message"] == "a token is needed"


async def test_who_is_not_let_in_is_not_read() -> None:
    client = new_client(guard=by_token)
    exchange = client.begin("POST", {"content-type": "application/json"})

    assert (await exchange.answer()).status == 401


@pytest.mark.parametrize("guard", [by_token, by_token_later])
async def test_tools_know_who_is_behind_a_call(guard: Any) -> None:
    server = new_server()

    @server.tool
    async def whoami(ctx: Context) -> str | None:
        return ctx.principal

    app, headers = server.asgi(guard=guard), {"Authorization": "Bearer ann"}
    for revision in (NEW, *REVISIONS):
        async with kit(app, revision, headers=headers) as client:
            assert await client.call("whoami") == "ann"


@pytest.mark.parametrize("verb", ["POST", "GET", "DELETE"])
async def test_the_session_of_somebody_else_is_404(verb: str) -> None:
    ann = SessionClient(new_server().asgi(guard=by_token), authorization="Bearer ann")
    await ann.shake()
    bob = SessionClient(ann.app, authorization="Bearer bob")
    answer = await bob.request(verb, request(1, "ping"), **ann.own)

    assert answer.status == 404
    assert (await ann.ask("ping")).status == 200


async def test_the_session_of_somebody_else_looks_like_one_that_is_not() -> None:
    ann = SessionClient(new_server().asgi(guard=by_token), authorization="Bearer ann")
    await ann.shake()
    bob = SessionClient(ann.app, authorization="Bearer bob")
    bob.session = ann.session
    of_ann = await bob.ask("ping")
    bob.session = "nobody"

    assert await bob.ask("ping") == of_ann


async def test_somebody_else_cannot_cancel_by_the_id_of_a_session() -> None:
    server = new_server()
    long = Long(server)
    ann = SessionClient(server.asgi(guard=by_token), authorization="Bearer ann")
    await ann.shake()
    exchange = ann.start_tool("long", id=7)
    await long.begun.wait()
    bob = SessionClient(ann.app, authorization="Bearer bob")
    bob.session = ann.session
    refused = await bob.tell("notifications/cancelled", requestId=7)
    long.go.set()

    assert refused.status == 404
    assert (await exchange.answer()).text == "done"


async def test_initialize_with_the_session_of_somebody_else_opens_a_new_one() -> None:
    ann = SessionClient(new_server().asgi(guard=by_token), authorization="Bearer ann")
    await ann.shake()
    bob = Client(ann.app, authorization="Bearer bob")
    answer = await bob.post(initialize(), mcp_session_id=ann.session)

    assert answer.status == 200
    assert answer.headers["mcp-session-id"] != ann.session


async def test_a_session_from_the_store_belongs_to_its_principal_too() -> None:
    store = MemoryStore()
    ann = SessionClient(new_server(store=store).asgi(guard=by_token), authorization="Bearer ann")
    await ann.shake()
    app = new_server(store=store).asgi(guard=by_token)
    statuses = []
    for who in ("bob", "ann"):
        client = SessionClient(app, authorization=f"Bearer {who}")
        client.session = ann.session
        statuses.append((await client.ask("ping")).status)

    assert statuses == [404, 200]


# Two endpoints, one store


@asynccontextmanager
async def moved(before: Server, after: Server, **options: Any) -> AsyncIterator[testing.Client]:
    """A client whose session was opened at one server, and goes on at another."""
    async with kit(before.asgi()) as client:
        await client.call("remember", value="milk")
        await client.set_level("error")
        async with kit(after.asgi(), session=client.session_id, **options) as elsewhere:
            yield elsewhere


async def test_a_session_goes_on_at_another_endpoint() -> None:
    store = MemoryStore()
    async with moved(new_server(store=store), new_server(store=store)) as client:
        assert await client.call("recall") == "milk"


async def test_another_endpoint_knows_the_level_of_logs() -> None:
    store = MemoryStore()
    after = new_server(store=store)

    @after.tool
    async def logs(ctx: Context) -> None:
        await ctx.log("warning", "careful")

    heard: list[Any] = []
    async with moved(new_server(store=store), after, on_notice=heard.append) as client:
        await client.call("logs")

    assert heard == []


async def test_another_store_knows_nothing_of_a_session() -> None:
    client, elsewhere = await shaken(), new_client()
    elsewhere.session = client.session

    assert (await elsewhere.ask("ping")).status == 404
    assert (await client.ask("ping")).status == 200


async def test_a_session_that_was_ended_does_not_go_on_elsewhere() -> None:
    store = MemoryStore()
    before, after = new_server(store=store), new_server(store=store)
    client = await shaken(before)
    await client.end()
    elsewhere = SessionClient(after.asgi())
    elsewhere.session = client.session

    assert (await elsewhere.ask("ping")).status == 404


async def test_what_is_in_the_store_and_is_no_session_is_404() -> None:
    store = MemoryStore()
    client = new_client(new_server(store=store))
    await store.put("session/x", b"nonsense", seconds=60)
    client.session = "x"

    assert (await client.ask("ping")).status == 404


# Batches


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
NOTE = {"jsonrpc": "2.0", "method": "notifications/x"}


async def batched(body: Any, revision: str = "2025-03-26", **options: Any) -> Answer:
    client = new_client(**options)
    await client.shake(revision)
    return await client.post(body, **client.own)


@pytest.mark.parametrize("mode", MODES)
async def test_a_batch_is_answered_by_an_array(mode: Any) -> None:
    two = {**PING, "id": 2}
    answer = await batched([PING, NOTE, two], sessions=mode)

    assert answer.status == 200
    assert sorted(part["id"] for part in answer.json) == [1, 2]


async def test_a_batch_without_requests_is_accepted() -> None:
    answer = await batched([NOTE, {"jsonrpc": "2.0", "id": 1, "result": {}}])

    assert (answer.status, answer.body) == (202, b"")


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18", "2025-11-25"])
async def test_other_revisions_have_no_batches(revision: str) -> None:
    answer = await batched([PING], revision)

    assert (answer.status, answer.code) == (400, -32600)


async def test_a_batch_of_reporting_calls_is_answered_by_a_stream() -> None:
    server = new_server()

    @server.tool
    async def chatty(ctx: Context) -> str:
        await ctx.progress(1)
        return "said"

    client = new_client(server)
    await client.shake("2025-03-26")
    calls = [request(n, "tools/call", name="chatty", _meta={"progressToken": n}) for n in (1, 2)]
    answer = await client.post(calls, **client.own)

    *told, last = answer.messages
    assert [message["params"]["progressToken"] for message in told] == [1, 2]
    assert sorted(part["id"] for part in last) == [1, 2]


async def test_a_batch_with_nonsense_in_it_says_so_where_it_is() -> None:
    answer = await batched([PING, 3])

    assert sorted(part.get("id", 0) for part in answer.json) == [0, 1]
    assert [part["error"]["code"] for part in answer.json if "error" in part] == [-32600]


async def test_no_request_with_an_envelope_hides_in_a_batch() -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    arguments = {"text": "hidden from whoever looks at the headers"}
    call = request(1, "tools/call", name="echo", arguments=arguments, _meta=meta)
    answer = await batched([call])

    assert b"hidden" not in answer.body
    assert b"-32600" in answer.body


async def test_a_batch_counts_as_many_calls_as_it_has() -> None:
    server = new_server(limits=Limits(calls=2))
    begun = []

    @server.tool
    async def waits() -> None:
        begun.append(1)
        await asyncio.Event().wait()

    client = new_client(server)
    await client.shake("2025-03-26")
    exchange = client.open(
        "POST", [request(n, "tools/call", name="waits") for n in range(5)], **client.own
    )
    await client.ask("ping", id="after")
    await client.end()
    await exchange.ended()

    assert len(begun) <= 2


async def test_a_guard_that_knows_nobody_lets_nobody_in() -> None:
    answer = await new_client(guard=lambda headers: None).request("POST", initialize())

    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")


# The version of a session


@pytest.mark.parametrize("other", ["2025-06-18", "2025-03-26"])
@pytest.mark.parametrize("verb", ["GET", "DELETE"])
async def test_a_session_takes_no_other_version_in_its_header(verb: str, other: str) -> None:
    client = SessionClient(new_server().asgi())
    await client.shake("2025-11-25")
    headers = {**client.own, "mcp_protocol_version": other}
    accept = {"accept": "text/event-stream"} if verb == "GET" else {}
    answer = await client.request(verb, **headers, **accept)

    assert answer.status == 400
    assert "2025-11-25" in answer.json["error"]["message"]
    assert other in answer.json["error"]["message"]


@pytest.mark.parametrize("other", ["2025-06-18", "2025-03-26"])
async def test_a_call_with_another_version_than_that_of_its_session_is_400(other: str) -> None:
    client = SessionClient(new_server().asgi())
    await client.shake("2025-11-25")
    before = await client.ask("tools/list", id=1)
    client.revision = other
    answer = await client.ask("tools/list", id=7)
    told = await client.tell("notifications/cancelled", requestId=3)
    client.revision = "2025-11-25"
    after = await client.ask("tools/list", id=8)

    assert (before.status, answer.status, told.status, after.status) == (200, 400, 400, 200)
    assert answer.json["id"] == 7
    assert answer.code == -32600


async def test_a_call_without_a_version_is_of_that_of_its_session() -> None:
    client = SessionClient(new_server().asgi())
    await client.shake("2025-11-25")
    assert client.session is not None
    answer = await client.post(request(1, "tools/list"), mcp_session_id=client.session)

    assert answer.status == 200


# Tools that need one


def cart(**options: Any) -> Server:
    server = Server("s", version="1")

    @server.tool(needs_session=True, **options)
    def add(item: str, ctx: Context) -> str:
        assert ctx.session is not None
        ctx.session["item"] = item
        return item

    return server


async def test_a_tool_that_needs_a_session_is_called_in_one() -> None:
    async with kit(cart().asgi()) as client:
        assert await client.call("add", item="tea") == "tea"


async def test_a_tool_that_needs_a_session_says_so_to_a_client_that_has_none() -> None:
    app = cart().asgi()
    async with kit(app, "2026-07-28") as client:
        newest = await client.call_raw("add", {"item": "tea"})
    older = await Client(app).post(
        request(1, "tools/call", name="add", arguments={"wrong": 1}),
        mcp_protocol_version="2025-11-25",
    )

    assert newest.is_error
    assert newest.text == (
        "add needs a session, which begins with `initialize`, and clients of 2026-07-28 have none"
    )
    assert older.json["result"]["isError"]
    assert "Mcp-Session-Id" in older.text


async def test_an_included_tool_that_needs_a_session_says_so_as_well() -> None:
    whole = Server("whole", version="1")
    whole.include(cart(), prefix="cart")
    async with kit(whole.asgi(), "2026-07-28") as client:
        [tool] = await client.list_tools()
        answer = await client.call_raw(tool.name, {"item": "tea"})

    assert answer.is_error
    assert "needs a session" in answer.text


async def test_a_tool_that_needs_a_session_is_not_served_where_there_are_none() -> None:
    with pytest.raises(ValueError, match="server 's': the tool add needs a session, and sess"):
        cart().asgi(sessions="stateless")


def test_whether_a_session_is_needed_is_a_bool() -> None:
    with pytest.raises(TypeError, match="needs_session must be True or False"):
        Server("s").add_tool(lambda: 1, name="x", needs_session="yes")  # type: ignore[arg-type]
