"""What belongs to one principal is out of reach for every other, and looks as if it were not."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.processes.process import request
from tests.transports.http.servers.conftest import Serve
from tests.transports.http.servers.web import (
    NEWEST,
    OF_SESSIONS,
    Site,
    asks,
    calls,
    data_of,
    eventually,
    head,
    tool_call,
)  # fmt: skip

from toolhaft.testing import assert_error

GUARDED = """
gate = asyncio.Event()
waiting = 0

@server.tool
async def whoami(ctx: Context) -> str:
    return str(ctx.principal)

@server.tool
async def wait(ctx: Context) -> str:
    global waiting
    waiting += 1
    try:
        await gate.wait()
    finally:
        waiting -= 1
    return f"waited for {ctx.principal}"

@server.tool
async def count() -> int:
    return waiting

@server.tool
async def release() -> str:
    gate.set()
    await asyncio.sleep(0)
    gate.clear()
    return "released"

@server.tool
async def secret(ctx: Context) -> str:
    await ctx.progress(1, 2, f"a secret of {ctx.principal}")
    return "told"

@server.tool
async def confirm(ctx: Context) -> str:
    answer = await ctx.elicit("Really?", bool)
    return f"{ctx.principal} said {answer!r}"

TOKENS = {"Bearer a": "ada", "Bearer g": "grace", "Bearer nobody": ""}

async def guard(headers):
    token = headers.get("authorization")
    if token == "Bearer broken":
        raise ValueError("the password of the database is swordfish")
    if token not in TOKENS:
        raise Unauthorized("who are you?", challenge='Bearer realm="tests"')
    return TOKENS[token]

server.run(http="127.0.0.1:0", guard=guard)
"""
ADA = {"Authorization": "Bearer a"}
GRACE = {"Authorization": "Bearer g"}
NOBODY = {"Authorization": "Bearer nobody"}

others = pytest.mark.parametrize("other", [GRACE, NOBODY], ids=["another", "nobody"])


@pytest.fixture(scope="module")
def site(serve_all: Serve) -> Site:
    """A server that knows two people."""
    return serve_all(GUARDED, script=True)


@pytest.fixture
def pool(site: Site) -> Iterator[ThreadPoolExecutor]:
    """Threads for clients that wait."""
    with ThreadPoolExecutor(4) as executor:
        yield executor
        site.post(calls("release"), ADA)


def told_nothing(site: Site, headers: dict[str, str], id_: str | None) -> dict[str, Any]:
    """What somebody is told who names this session, with each verb."""
    fields = {**headers, "MCP-Protocol-Version": OF_SESSIONS, "Mcp-Session-Id": str(id_)}
    found: dict[str, Any] = {}
    for verb in ("GET", "DELETE"):
        with site.connect() as connection:
            connection.send(head(verb, "/mcp", {**fields, "Accept": "text/event-stream"}))
            answer = connection.answer()
            found[verb] = (answer.status, answer.body)
    answer = site.post(tool_call(1, "whoami"), fields)
    return {**found, "POST": (answer.status, answer.body)}


# The guard


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer x"}], ids=["none", "wrong"])
def test_who_does_not_say_who_it_is_is_asked_to(site: Site, headers: dict[str, str]) -> None:
    answer = site.post(calls("whoami"), headers)

    assert answer.status == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="tests"'
    assert answer.error == "who are you?"


@pytest.mark.parametrize("verb", ["GET", "DELETE"])
def test_every_verb_is_guarded(site: Site, verb: str) -> None:
    session = site.open_session(ADA)
    fields = {"Mcp-Session-Id": session.headers["Mcp-Session-Id"], "Accept": "text/event-stream"}

    with site.connect() as connection:
        connection.send(head(verb, "/mcp", fields))
        answer = connection.answer()

    assert answer.status == 401
    assert session.call("whoami") == "ada"


def test_a_foreign_page_is_refused_before_it_is_asked_who_it_is(site: Site) -> None:
    assert site.post(calls("whoami"), {"Origin": "https://evil.example"}).status == 403


def test_a_guard_that_breaks_lets_nobody_in_and_tells_nothing(site: Site) -> None:
    answer = site.post(calls("whoami"), {"Authorization": "Bearer broken"})

    assert answer.status == 500
    assert b"swordfish" not in answer.body
    site.hears("swordfish")
    assert site.post(calls("whoami"), ADA).text == "ada"


@pytest.mark.parametrize("revision", [NEWEST, OF_SESSIONS])
def test_tools_know_who_calls(site: Site, revision: str) -> None:
    said = []
    for who in (ADA, GRACE, NOBODY):
        with site.client(who, revision=revision) as client:
            said.append(client.call("whoami"))

    assert said == ["ada", "grace", ""]


# Sessions


@others
def test_the_session_of_somebody_else_is_not_there(site: Site, other: dict[str, str]) -> None:
    session = site.open_session(ADA)

    found = told_nothing(site, other, session.id)

    assert {verb: status for verb, (status, _) in found.items()} == dict.fromkeys(found, 404)
    assert found == told_nothing(site, other, "no-such-session")
    assert session.call("whoami") == "ada"


def test_the_session_of_nobody_is_not_there_for_somebody(site: Site) -> None:
    session = site.open_session(NOBODY)

    found = told_nothing(site, ADA, session.id)

    assert {status for status, _ in found.values()} == {404}
    assert session.call("whoami") == ""


def test_initialize_does_not_take_over_the_session_of_somebody_else(site: Site) -> None:
    session = site.open_session(ADA)

    other = site.open_session({**GRACE, "Mcp-Session-Id": str(session.id)})

    assert other.id != session.id
    assert other.call("whoami") == "grace"
    assert session.call("whoami") == "ada"


def test_session_ids_cannot_be_guessed(site: Site) -> None:
    ids = []
    for _ in range(20):
        with site.client(ADA, revision=OF_SESSIONS) as client:
            ids.append(str(client.session_id))

    assert len(set(ids)) == 20
    assert all(len(id_) >= 43 and id_.isascii() and id_.isprintable() for id_ in ids)
    assert len({id_[:8] for id_ in ids}) == 20


# Calls


def test_nobody_else_can_cancel_a_call(site: Site, pool: ThreadPoolExecutor) -> None:
    session, other = site.open_session(ADA), site.open_session(GRACE)
    call = pool.submit(session.post, tool_call(1, "wait"))
    eventually(lambda: site.post(calls("count"), ADA).text == "1", "the call")
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}

    own = other.post(cancel)
    named = site.post(cancel, {**GRACE, "Mcp-Session-Id": str(session.id)})
    site.post(calls("release"), ADA)

    assert (own.status, named.status) == (202, 404)
    assert call.result(10).text == "waited for ada"


def test_the_same_id_of_two_people_is_two_calls(site: Site, pool: ThreadPoolExecutor) -> None:
    with site.client(ADA) as ada, site.client(GRACE) as grace:
        both = [pool.submit(client.call, "wait") for client in (ada, grace)]
        eventually(lambda: site.post(calls("count"), ADA).text == "2", "both calls")

        grace.call("release")

        assert [call.result(10) for call in both] == ["waited for ada", "waited for grace"]
        ids = [client.wire.sent[1]["id"] for client in (ada, grace)]
        assert ids[0] == ids[1]


# Streams


def test_the_stream_of_somebody_else_cannot_be_gone_on_with(site: Site) -> None:
    session, other = site.open_session(ADA), site.open_session(GRACE)
    stream = session.post(tool_call(1, "secret")).body
    assert b"a secret of ada" in stream
    first = next(
        line.removeprefix(b"id:").strip().decode()
        for line in stream.splitlines()
        if line.startswith(b"id:")
    )

    with other.listen({"Last-Event-ID": first}) as connection:
        foreign = connection.answer()
    with session.listen({"Last-Event-ID": first}) as connection:
        own = connection.answer()

    assert foreign.status == 400  # 404 would say that the session is lost
    assert b"secret" not in foreign.body
    assert own.status == 200
    assert any(b"a secret of ada" in data for data in data_of(own.body))


# Questions


@others
def test_the_state_of_a_call_is_good_for_who_got_it_only(site: Site, other: dict[str, str]) -> None:
    params: dict[str, Any] = {"name": "confirm", "arguments": {}}
    with site.client(ADA) as ada, site.client(other) as somebody:
        asked = ada.raw(ada.requests.request("tools/call", params))["result"]
        [key] = asked["inputRequests"]
        params["inputResponses"] = {key: {"action": "accept", "content": {"value": True}}}
        params["requestState"] = asked["requestState"]

        foreign = somebody.raw(somebody.requests.request("tools/call", params))
        own = ada.request("tools/call", params)

    assert_error(foreign, -32602)
    assert own["content"][0]["text"].startswith("ada said")


def test_a_question_to_somebody_else_cannot_be_answered(site: Site) -> None:
    opening = {
        "protocolVersion": OF_SESSIONS,
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "0"},
    }
    opened = site.post(request("init", "initialize", opening), ADA)
    fields = {
        "MCP-Protocol-Version": OF_SESSIONS,
        "Mcp-Session-Id": opened.headers["mcp-session-id"],
    }
    site.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, {**ADA, **fields})
    stream = site.stream(tool_call(1, "confirm"), {**ADA, **fields})
    asked = stream.next()
    assert asked["method"] == "elicitation/create"
    decline = {"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}}
    accept = {"action": "accept", "content": {"value": True}}

    other = site.open_session(GRACE)
    assert other.post(decline).status in (202, 400)
    assert site.post(decline, {**GRACE, **fields}).status == 404
    assert site.post({**decline, "result": accept}, {**ADA, **fields}).status == 202

    [block] = stream.next()["result"]["content"]
    assert block["text"].startswith("ada said")
    assert "decline" not in block["text"].lower()


def test_the_newest_revision_has_no_sessions_to_take_over(site: Site) -> None:
    session = site.open_session(ADA)

    answer = site.post(asks(1, "tools/list"), {**GRACE, "Mcp-Session-Id": str(session.id)})

    assert answer.status == 200
    assert "mcp-session-id" not in answer.headers
