"""2026-07-28 over HTTP: each request stands for itself."""

import asyncio
import json
from typing import Annotated, Any

import pytest
from tests.asking import NEW
from tests.transports.http.asgi import (
    ENVELOPE,
    StatelessClient,
    encoded,
    initialize,
    mirrored,
    request,
)
from tests.transports.http.posting import new_client, new_server

from toolhaft import Context, Elicit, Header, InvalidParams, Limits, McpError, Server
from toolhaft.testing import Client

# One body, or a stream


async def test_messages_come_while_the_call_runs() -> None:
    server, go, told = new_server(), asyncio.Event(), asyncio.Event()

    @server.tool
    async def halves(ctx: Context) -> str:
        await ctx.progress(1)
        await go.wait()
        return "both"

    async with Client.asgi(
        server.asgi(), revision=NEW, on_progress=lambda *_: told.set()
    ) as client:
        call = asyncio.create_task(client.call("halves"))
        await asyncio.wait_for(told.wait(), 5)
        assert not call.done()
        go.set()

        assert await call == "both"


async def test_a_plain_function_reports_from_its_thread() -> None:
    server = new_server()

    @server.tool
    def plain(ctx: Context) -> str:
        for done in (1, 2, 3):
            ctx.sync.progress(done)
        return "done"

    told: list[float] = []
    async with Client.asgi(
        server.asgi(), revision=NEW, on_progress=lambda done, *_: told.append(done)
    ) as client:
        assert await client.call("plain") == "done"

    assert told == [1, 2, 3]


async def test_logs_come_only_if_the_request_asks_for_them() -> None:
    server = new_server()

    @server.tool
    async def logs(ctx: Context) -> str:
        await ctx.log("info", "low")
        await ctx.log("error", "high")
        return "done"

    heard: list[Any] = []
    async with Client.asgi(server.asgi(), revision=NEW, on_notice=heard.append) as client:
        await client.call("logs")
        assert heard == []
        await client.set_level("error")
        await client.call("logs")

    assert [notice.params["data"] for notice in heard] == ["high"]


async def test_a_call_that_asks_is_answered_with_its_questions() -> None:
    server = new_server()

    @server.tool
    async def asks(ctx: Context) -> str:
        return str(await ctx.elicit("Who?", str, key="who"))

    async with Client.asgi(server.asgi(), revision=NEW, answers={"Who?": "Ada"}) as client:
        assert "Ada" in await client.call("asks")
        assert client.rounds == 2

    *_, asked, _ = client.wire.received
    assert asked["result"]["resultType"] == "input_required"
    assert list(asked["result"]["inputRequests"]) == ["who"]


# Errors, and their statuses


async def test_an_unknown_method_is_404() -> None:
    answer = await new_client().ask("no/such", id="a")

    assert (answer.status, answer.code, answer.json["id"]) == (404, -32601, "a")


@pytest.mark.parametrize(
    "method", ["initialize", "ping", "logging/setLevel", "resources/subscribe"]
)
async def test_methods_of_sessions_are_unknown(method: str) -> None:
    params = {"protocolVersion": "2026-07-28", "capabilities": {}, "level": "info"}
    answer = await new_client().ask(method, **params)

    assert (answer.status, answer.code) == (404, -32601)


async def test_a_request_without_its_envelope_is_400() -> None:
    body = request(3, "tools/list")
    answer = await new_client().post(body, **mirrored("tools/list", {}))

    assert (answer.status, answer.code, answer.json["id"]) == (400, -32602, 3)


@pytest.mark.parametrize("key", sorted(ENVELOPE))
async def test_an_envelope_that_is_incomplete_is_400(key: str) -> None:
    meta = {name: value for name, value in ENVELOPE.items() if name != key}
    answer = await new_client().post(
        request(3, "tools/list", _meta=meta), **mirrored("tools/list", {})
    )

    assert (answer.status, answer.code, answer.json["id"]) == (400, -32602, 3)


async def test_an_incomplete_envelope_is_400_even_if_no_header_names_the_revision() -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    answer = await new_client().post(request(3, "tools/list", _meta=meta))

    assert (answer.status, answer.code, answer.json["id"]) == (400, -32602, 3)


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp_protocol_version": "2025-11-25"},
        {"mcp_protocol_version": "1999-01-01"},
        {"mcp_protocol_version": ""},
        {"mcp_protocol_version": None},
        {"mcp_method": "tools/list"},
        {"mcp_method": "Tools/call"},
        {"mcp_method": None},
        {"mcp_name": "ECHO"},
        {"mcp_name": ""},
        {"mcp_name": None},
        {"mcp_name": "=?base64?ZWNobw?="},
        {"mcp_name": "=?base64?ZWNobx==?="},
        {"mcp_name": "=?BASE64?ZWNobw==?="},
    ],
)
async def test_a_header_that_differs_from_the_body_is_400(headers: dict[str, Any]) -> None:
    params = {"name": "echo", "arguments": {"text": "x"}}
    body = request(3, "tools/call", **params, _meta=ENVELOPE)
    answer = await new_client().post(body, **{**mirrored("tools/call", params), **headers})

    assert (answer.status, answer.code, answer.json["id"]) == (400, -32020, 3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "echo"),
        ("mcp-param-region", "eu"),
    ],
)
@pytest.mark.parametrize("other", [None, "something else"])
async def test_a_header_that_is_sent_twice_is_told_like_one_that_differs(
    name: str, value: str, other: str | None
) -> None:
    params = {"name": "echo", "arguments": {"text": "x"}}
    body = encoded(request(7, "tools/call", **params, _meta=ENVELOPE))
    sent = {
        "host": "127.0.0.1:8000",
        "content-type": "application/json",
        "content-length": str(len(body)),
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "echo",
        "mcp-param-region": "eu",
    }
    fields = [*sent.items(), (name, other or value)]
    exchange = new_client().begin_raw("POST", [(k.encode(), v.encode()) for k, v in fields])
    exchange.feed(body)
    answer = await exchange.answer()

    assert (answer.status, answer.code, answer.json["id"]) == (400, -32020, 7)


async def test_a_handshake_with_two_versions_in_its_headers_is_refused() -> None:
    body = encoded(initialize())
    version = (b"mcp-protocol-version", b"2025-11-25")
    length = (b"content-length", str(len(body)).encode())
    fields = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json"), length]
    exchange = new_client().begin_raw("POST", [*fields, version, version])
    exchange.feed(body)
    answer = await exchange.answer()

    assert (answer.status, answer.code) == (400, -32020)


@pytest.mark.parametrize("sessions", ["auto", "stateful", "stateless"])
async def test_an_envelope_without_the_header_is_a_mismatch_whatever_the_sessions(
    sessions: Any,
) -> None:
    body = request(3, "tools/list", _meta=ENVELOPE)
    answer = await new_client(sessions=sessions).post(body)

    assert (answer.status, answer.code, answer.json["id"]) == (400, -32020, 3)


@pytest.mark.parametrize("name", ["echo", " echo ", "\techo", "=?base64?ZWNobw==?="])
async def test_the_name_may_be_padded_or_in_base64(name: str) -> None:
    params = {"name": "echo", "arguments": {"text": "x"}}
    body = request(3, "tools/call", **params, _meta=ENVELOPE)
    headers = {**mirrored("tools/call", params), "mcp_name": name}

    assert (await new_client().post(body, **headers)).text == "x"


async def test_a_version_that_nobody_knows_is_400_and_the_known_ones_are_named() -> None:
    meta = {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    headers = {**mirrored("tools/list", {}), "mcp_protocol_version": "2099-01-01"}
    answer = await new_client().post(request(3, "tools/list", _meta=meta), **headers)

    assert (answer.status, answer.code) == (400, -32022)
    assert answer.json["error"]["data"]["requested"] == "2099-01-01"
    assert "2026-07-28" in answer.json["error"]["data"]["supported"]


async def test_a_version_that_is_in_the_body_only_is_a_mismatch() -> None:
    meta = {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    answer = await new_client().post(
        request(3, "tools/list", _meta=meta), **mirrored("tools/list", {})
    )

    assert (answer.status, answer.code) == (400, -32020)


async def test_a_capability_that_is_missing_is_400() -> None:
    server = new_server()

    @server.tool
    async def asks(ctx: Context) -> str:
        return str(await ctx.ask(who=Elicit("Who?", str)))

    answer = await new_client(server).tool("asks")

    assert (answer.status, answer.code) == (400, -32021)
    assert "elicitation" in answer.json["error"]["data"]["requiredCapabilities"]


@pytest.mark.parametrize("thread", [False, True], ids=["coroutine", "thread"])
async def test_a_capability_that_is_missing_is_400_even_after_progress_that_was_not_sent(
    thread: bool,
) -> None:
    server = new_server()

    @server.tool
    async def asks(ctx: Context) -> str:
        await ctx.progress(1)
        return str(await ctx.ask(who=Elicit("Who?", str)))

    @server.tool(name="asks_on_a_thread")
    def asks_on_a_thread(ctx: Context) -> str:
        ctx.sync.progress(1)
        return str(ctx.sync.ask(who=Elicit("Who?", str)))

    name = "asks_on_a_thread" if thread else "asks"
    exchange = new_client(server).start_tool(name, meta={"progressToken": "t"})
    answer = await exchange.answer()

    if thread:  # what was sent from a thread may be on its way already
        assert (answer.status, answer.is_stream) in [(400, False), (200, True)]
    else:
        assert (answer.status, answer.code, answer.is_stream) == (400, -32021, False)


async def test_lists_behind_a_guard_are_private() -> None:
    server = new_server()
    server.add_resource(lambda: "a", "x://a", name="a")
    server.add_prompt(lambda: "p", name="p")
    methods = [
        *("server/discover", "tools/list", "prompts/list"),
        *("resources/list", "resources/templates/list"),
    ]
    guarded, open_to_all = new_client(server, guard=lambda headers: "ann"), new_client(server)

    for client, scope in [(open_to_all, "public"), (guarded, "private"), (open_to_all, "public")]:
        for method in methods:
            assert (await client.ask(method)).json["result"]["cacheScope"] == scope, method


async def test_an_unknown_tool_is_an_error_in_the_body() -> None:
    answer = await new_client().tool("nobody")

    assert (answer.status, answer.code) == (200, -32602)


async def test_an_error_that_a_tool_raises_is_an_error_in_the_body() -> None:
    server = new_server()

    @server.tool
    def fails() -> str:
        raise McpError("no", code=-5)

    answer = await new_client(server).tool("fails")

    assert (answer.status, answer.code) == (200, -5)


async def test_an_error_after_the_first_message_ends_the_stream() -> None:
    server = new_server()

    @server.tool
    async def fails(ctx: Context) -> str:
        await ctx.progress(1)
        raise InvalidParams("no")

    told: list[float] = []
    async with Client.asgi(
        server.asgi(), revision=NEW, on_progress=lambda done, *_: told.append(done)
    ) as client:
        with pytest.raises(McpError, match="no") as failure:
            await client.call("fails")

    assert (told, failure.value.code) == ([1], -32602)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff", -32700),
        (b"{} {}", -32700),
        (b"3", -32600),
        (b"{}", -32600),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}', -32700),
    ],
)
async def test_what_is_no_request_is_400(body: bytes, code: int) -> None:
    answer = await new_client().post(body, **mirrored("tools/list", {}))

    assert (answer.status, answer.code) == (400, code)


async def test_a_response_is_400() -> None:
    body = {"jsonrpc": "2.0", "id": 1, "result": {}}
    answer = await new_client().post(body, mcp_protocol_version="2026-07-28")

    assert (answer.status, answer.code) == (400, -32600)


@pytest.mark.parametrize("method", ["notifications/cancelled", "notifications/x", "tools/call"])
async def test_a_notification_is_taken_and_not_answered(method: str) -> None:
    body = {"jsonrpc": "2.0", "method": method, "params": {"requestId": 1}}
    answer = await new_client().post(body, mcp_protocol_version="2026-07-28")

    assert (answer.status, answer.body) == (202, b"")


async def test_a_bug_in_a_guard_is_500_and_tells_nothing() -> None:
    def guard(headers: object) -> str:
        raise KeyError("secret detail")

    client = new_client(guard=guard)
    answer = await client.tool("echo", text="x")

    assert (answer.status, answer.code) == (500, -32603)
    assert b"secret detail" not in answer.body


# No sessions, no resumption


async def test_no_session_is_minted() -> None:
    client = new_client()
    answers = [await client.ask("server/discover"), await client.tool("echo", text="x")]

    assert [answer.headers.get("mcp-session-id") for answer in answers] == [None, None]


async def test_where_every_client_has_a_session_one_without_is_told_to_begin_one() -> None:
    answer = await new_client(sessions="stateful").tool("echo", text="x")

    assert (answer.status, answer.code) == (400, -32022)
    assert answer.json["error"]["data"] == {
        "requested": "2026-07-28",
        "supported": ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
    }


@pytest.mark.parametrize("sessions", ["auto", "stateless"])
async def test_the_id_of_a_session_is_not_looked_at(sessions: Any) -> None:
    client = new_client(sessions=sessions)
    client.headers["mcp-session-id"] = "nobody's"
    answer = await client.tool("echo", text="x")

    assert (answer.status, answer.text) == (200, "x")
    assert "mcp-session-id" not in answer.headers


async def test_the_last_event_is_not_looked_at() -> None:
    client = new_client()
    client.headers["last-event-id"] = "1-1"
    answer = await client.tool("chatty", meta={"progressToken": 1})

    assert [event.id for event in answer.events] == [None, None]


@pytest.mark.parametrize("verb", ["GET", "DELETE"])
async def test_there_is_nothing_to_get_or_to_delete(verb: str) -> None:
    client = new_client()
    answer = await client.request(verb, mcp_protocol_version="2026-07-28", mcp_session_id="x")

    assert answer.status == 405
    assert "POST" in answer.headers["allow"]


async def test_tools_have_no_session() -> None:
    server = new_server()

    @server.tool
    async def session(ctx: Context) -> bool:
        return ctx.session is None

    async with Client.asgi(server.asgi(), revision=NEW) as client:
        assert await client.call("session") is True


# Headers


async def test_tools_see_the_headers() -> None:
    server = new_server()

    @server.tool
    async def told(ctx: Context) -> list[str]:
        return [ctx.headers["x-tenant"], ctx.headers["X-Tenant"], ctx.headers.get("none", "-")]

    headers = {"x-tenant": " acme "}
    async with Client.asgi(server.asgi(), revision=NEW, headers=headers) as client:
        assert await client.call("told") == ["acme", "acme", "-"]


async def test_a_parameter_can_be_a_header() -> None:
    server = new_server()

    @server.tool
    async def told(tenant: Annotated[str, Header("X-Tenant")] = "nobody") -> str:
        return tenant

    async with Client.asgi(server.asgi(), revision=NEW) as client:
        assert await client.call("told") == "nobody"
    async with Client.asgi(server.asgi(), revision=NEW, headers={"X-Tenant": "acme"}) as client:
        assert await client.call("told") == "acme"


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([], []),
        (["a"], ["a"]),
        (["a", "b"], ["a", "b"]),
        (["a", "b, c"], ["a", "b", "c"]),
        (["a, b", ", ,c,"], ["a", "b", "c"]),
        (['"a, b"', "c"], ['"a, b"', "c"]),
        ([r'"a\", b", c'], [r'"a\", b"', "c"]),
        (['"a, b'], ['"a, b']),
    ],
)
async def test_a_parameter_that_is_a_list_gets_all_values_of_a_header(
    sent: list[str], expected: list[str]
) -> None:
    server = new_server()

    @server.tool
    async def told(tags: Annotated[list[str], Header("X-Tag")] = []) -> list[str]:  # noqa: B006
        return tags

    assert await _with_tags(server, "told", sent) == expected


async def test_the_values_of_a_header_are_converted() -> None:
    server = new_server()

    @server.tool
    async def total(numbers: Annotated[set[int] | None, Header("X-Tag")] = None) -> list[int]:
        return sorted(numbers or [])

    assert await _with_tags(server, "total", ["3", "1, 4"]) == [1, 3, 4]


async def _with_tags(server: Server, name: str, tags: list[str]) -> Any:
    params = {"name": name, "arguments": {}}
    body = encoded(request(1, "tools/call", **params, _meta=ENVELOPE))
    fields = {
        "host": "localhost",
        "content-type": "application/json",
        **{key.replace("_", "-"): value for key, value in mirrored("tools/call", params).items()},
    }
    pairs = [*fields.items(), *(("x-tag", tag) for tag in tags)]
    exchange = new_client(server).begin_raw("POST", [(k.encode(), v.encode()) for k, v in pairs])
    exchange.feed(body)
    result = (await exchange.answer()).json["result"]["structuredContent"]
    return result["result"] if isinstance(result, dict) else result


async def test_a_header_cannot_be_given_as_an_argument() -> None:
    server = new_server()

    @server.tool
    async def told(tenant: Annotated[str, Header("X-Tenant")] = "nobody") -> str:
        return tenant

    answer = await new_client(server).tool("told", tenant="forged")

    assert b"forged" not in answer.body


REGION = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}


def regional() -> Server:
    server = new_server()

    async def where(**arguments: Any) -> str:
        return str(arguments.get("region"))

    server.add_tool(where, input_schema=REGION)
    return server


async def where(given: dict[str, Any], **headers: Any) -> Any:
    params = {"name": "where", "arguments": given}
    body = request(3, "tools/call", **params, _meta=ENVELOPE)
    return await new_client(regional()).post(body, **mirrored("tools/call", params), **headers)


@pytest.mark.parametrize(
    ("given", "header"),
    [
        ({"region": "eu"}, "us"),
        ({"region": "eu"}, None),
        ({"region": "eu"}, "=?base64?ZXU?="),
        ({}, "eu"),
    ],
)
async def test_a_header_that_differs_from_its_argument_is_400(given: Any, header: Any) -> None:
    answer = await where(given, mcp_param_region=header)

    assert (answer.status, answer.code, answer.json["id"]) == (400, -32020, 3)


@pytest.mark.parametrize("header", ["eu", " eu\t", "=?base64?ZXU=?="])
async def test_a_header_that_repeats_its_argument_is_let_in(header: str) -> None:
    answer = await where({"region": "eu"}, mcp_param_region=header)

    assert (answer.status, answer.text) == (200, "eu")


async def test_a_header_of_no_argument_is_not_looked_at() -> None:
    answer = await where({}, mcp_param_other="x")

    assert (answer.status, answer.text) == (200, "None")


# Leaving


async def test_a_client_that_leaves_cancels_its_call() -> None:
    server, begun, cancelled = new_server(), asyncio.Event(), asyncio.Event()

    @server.tool
    async def long() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    exchange = new_client(server).start_tool("long")
    await begun.wait()
    exchange.disconnect()

    await asyncio.wait_for(cancelled.wait(), 5)
    await exchange.ended()
    assert exchange.status is None


async def test_a_client_that_leaves_its_stream_cancels_its_call() -> None:
    server, cancelled = new_server(), asyncio.Event()

    @server.tool
    async def long(ctx: Context) -> None:
        try:
            await ctx.progress(1)
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    exchange = new_client(server).start_tool("long", meta={"progressToken": 1})
    await exchange.event()
    exchange.disconnect()

    await asyncio.wait_for(cancelled.wait(), 5)


async def test_a_plain_function_learns_that_its_client_has_left() -> None:
    server, begun, learnt = new_server(), asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    @server.tool
    def long(ctx: Context) -> None:
        loop.call_soon_threadsafe(begun.set)
        while not ctx.cancelled:
            pass
        loop.call_soon_threadsafe(learnt.set)

    async with Client.asgi(server.asgi(), revision=NEW) as client:
        call = asyncio.create_task(client.call("long"))
        await begun.wait()
        call.cancel()

        await asyncio.wait_for(learnt.wait(), 5)


async def test_a_body_that_breaks_off_is_400_should_the_client_still_be_there() -> None:
    exchange = new_client().begin(
        "POST", {"content-type": "application/json", "mcp-protocol-version": "2026-07-28"}
    )
    exchange.feed(b'{"jsonrpc":', more=True)
    exchange.disconnect()
    await exchange.ended()

    assert exchange.status == 400


async def test_a_notification_cannot_cancel_the_call_of_somebody_else() -> None:
    server, begun, go = new_server(), asyncio.Event(), asyncio.Event()

    @server.tool
    async def waits() -> str:
        begun.set()
        await go.wait()
        return "not cancelled"

    client = new_client(server)
    exchange = client.start_tool("waits", id=1)
    await begun.wait()
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    await client.post(cancel, mcp_protocol_version="2026-07-28")
    go.set()

    assert (await exchange.answer()).text == "not cancelled"


async def test_a_hundred_clients_with_the_same_id_get_their_own_answers() -> None:
    server, ready = new_server(), asyncio.Barrier(100)

    @server.tool
    async def meet(text: str, ctx: Context) -> str:
        await ctx.progress(1, message=text)
        await ready.wait()
        return text

    app = server.asgi()
    exchanges = [
        StatelessClient(app).start_tool("meet", id=1, meta={"progressToken": 1}, text=f"{n}")
        for n in range(100)
    ]
    answers = [await exchange.answer() for exchange in exchanges]

    told = [answer.messages[0]["params"]["message"] for answer in answers]
    said = [answer.messages[-1]["result"]["content"][0]["text"] for answer in answers]
    assert told == said == [f"{n}" for n in range(100)]


async def test_hanging_up_changes_nothing() -> None:
    server = new_server()

    @server.tool
    async def polite(ctx: Context) -> str:
        ctx.hang_up()
        await asyncio.sleep(0)
        await ctx.progress(1)
        return "done"

    told: list[float] = []
    async with Client.asgi(
        server.asgi(), revision=NEW, on_progress=lambda done, *_: told.append(done)
    ) as client:
        assert await client.call("polite") == "done"

    assert told == [1]


# Listening


def listening(client: StatelessClient, id: Any = 1, **wishes: Any) -> Any:
    return client.start("subscriptions/listen", id=id, notifications=wishes)


SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


async def test_a_subscription_is_acknowledged_first() -> None:
    stream = listening(new_client(), "a", toolsListChanged=True, promptsListChanged=True)
    acknowledged = await stream.message()

    assert acknowledged == {
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {"_meta": {SUBSCRIPTION: "a"}, "notifications": {"toolsListChanged": True}},
    }


@pytest.mark.parametrize("id_", [0, 1, "", "1"])
async def test_news_name_their_subscription_by_the_id_of_its_request(id_: Any) -> None:
    server = new_server()
    stream = listening(new_client(server), id_, toolsListChanged=True)
    await stream.message()
    server.add_tool(lambda: 1, name="one")
    news = await stream.message()

    assert news["method"] == "notifications/tools/list_changed"
    assert news["params"]["_meta"][SUBSCRIPTION] == id_
    assert type(news["params"]["_meta"][SUBSCRIPTION]) is type(id_)


async def test_a_subscription_hears_nothing_else() -> None:
    server = new_server()
    for uri in ("a://1", "a://2"):
        server.add_resource(lambda: "x", uri, name=uri)
    heard: list[Any] = []
    async with (
        Client.asgi(server.asgi(), revision=NEW, on_notice=heard.append) as client,
        client.subscribe("a://2") as news,
    ):
        heard.clear()
        server.add_tool(lambda: 1, name="one")
        server.resource_updated("a://1")
        server.resource_updated("a://2")
        await news.next()

    [only] = heard
    assert (only.method, only.uri) == ("notifications/resources/updated", "a://2")


async def test_a_quiet_subscription_is_told_that_we_are_still_here() -> None:
    server = new_server(limits=Limits(quiet_seconds=0.01))
    stream = listening(new_client(server), toolsListChanged=True)
    await stream.message()

    assert (await stream.event()).comment == "still here"
    assert (await stream.event()).comment == "still here"


async def test_a_subscription_completes_when_the_streams_end() -> None:
    server = new_server()
    app: Any = server.asgi()
    stream = listening(StatelessClient(app), 5, toolsListChanged=True)
    await stream.message()
    app.end_streams()
    answer = await stream.answer()

    assert answer.messages[-1]["id"] == 5
    assert answer.messages[-1]["result"]["resultType"] == "complete"
    assert answer.messages[-1]["result"]["_meta"][SUBSCRIPTION] == 5
    assert len(answer.messages) == 2


async def test_a_client_that_leaves_hears_no_more_and_others_do() -> None:
    server = new_server()
    client = new_client(server)
    leaves, stays = (listening(client, n, toolsListChanged=True) for n in (1, 2))
    await leaves.message()
    await stays.message()
    leaves.disconnect()
    await leaves.ended()
    server.add_tool(lambda: 1, name="one")

    assert (await stays.message())["method"] == "notifications/tools/list_changed"
    assert b"list_changed" not in leaves.body


async def test_listening_needs_something_to_listen_to() -> None:
    answer = await listening(new_client(Server("s")), toolsListChanged=True).answer()

    assert (answer.status, answer.code) == (404, -32601)


async def test_a_new_request_is_turned_away_when_the_streams_have_ended() -> None:
    app: Any = new_server().asgi()
    client = StatelessClient(app)
    await client.tool("echo", text="x")
    app.end_streams()
    answer = await client.tool("echo", text="x")

    assert (answer.status, answer.headers["retry-after"]) == (503, "1")


async def test_a_running_call_is_answered_when_the_service_gives_up() -> None:
    server, begun = new_server(), asyncio.Event()

    @server.tool
    async def long() -> None:
        begun.set()
        await asyncio.Event().wait()

    app: Any = server.asgi()
    exchange = StatelessClient(app).start_tool("long", id=9)
    await begun.wait()
    app.abandon()
    answer = await exchange.answer()

    assert (answer.code, answer.json["id"]) == (-32603, 9)


async def test_what_a_tool_does_to_the_capabilities_is_its_own() -> None:
    server = new_server()

    @server.tool
    async def marks(ctx: Context) -> bool:
        declared = ctx.client.capabilities["sampling"]
        was_marked = "mark" in declared
        declared["mark"] = True
        return was_marked

    client = new_client(server)
    params = {"name": "marks", "arguments": {}}
    declared = {"io.modelcontextprotocol/clientCapabilities": {"sampling": {}}}
    body = request(1, "tools/call", **params, _meta={**ENVELOPE, **declared})
    compact = json.dumps(body, separators=(",", ":")).encode()
    answers = [await client.post(compact, **mirrored("tools/call", params)) for _ in range(4)]

    assert [answer.text for answer in answers] == ["false"] * 4
