"""The client for tests beside memory: over stdio, over HTTP, and to an ASGI application."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.client.connecting import by_asgi, by_socket, script
from tests.testing.offering import ERAS, PIXEL, REVISIONS, Log, make

from toolhaft import Context, McpError, Server, Unauthorized
from toolhaft.testing import (
    BadAnswer,
    Client,
    NoAnswer,
    Refused,
    Unanswered,
)
from toolhaft.types.content import ImageContent

every_revision = pytest.mark.parametrize("revision", REVISIONS)
every_era = pytest.mark.parametrize("revision", ERAS)


# Over HTTP, with a socket and without


over_http = pytest.mark.parametrize("over", [by_socket, by_asgi], ids=["socket", "asgi"])
Over = Callable[..., Any]


@over_http
@every_revision
async def test_everything_is_there_over_http(over: Over, revision: str) -> None:
    server = make()
    told: list[Any] = []
    async with over(server, revision, on_progress=lambda *args: told.append(args)) as client:
        assert client.revision == revision
        assert client.server_info.name == "offering"
        assert await client.call("words", text="é 🦜") == "é 🦜"
        assert await client.call("picture") == ImageContent(PIXEL, "image/png")
        assert len(await client.list_tools()) == 14
        assert await client.read("notes://all") == "milk"
        assert (await client.prompt("greet", mood="sad")).texts == [("user", "Be sad.")]
        await client.call("steps")
        async with client.listen(tools=True, uris=["notes://all"]) as heard:
            server.resource_updated("notes://all")
            assert (await heard.next()).uri == "notes://all"
            server.remove_tool("add")
            assert (await heard.next()).method == "notifications/tools/list_changed"
        with pytest.raises(McpError, match="add"):
            await client.call("add")
        assert (await client.raw("{"))["error"]["code"] == -32700

    assert [args[0] for args in told if args[1]] == [1, 2]


@over_http
@every_era
async def test_questions_are_answered_over_http(over: Over, revision: str) -> None:
    async with over(make(), revision, answers=["a", "b"]) as client:
        assert await client.call("twice") == ["a", "b"]
    async with over(make(), revision) as client:
        with pytest.raises(Unanswered):
            await client.call("order")


@over_http
@every_era
async def test_a_call_is_taken_back_over_http(over: Over, revision: str) -> None:
    log = Log()
    async with over(make(log), revision) as client:
        calling = asyncio.create_task(client.call("waits"))
        await log.is_waiting.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        with pytest.raises(NoAnswer, match="tools/call 'waits': no answer within"):
            await client.call_raw("waits", timeout=0.1)
        while log.count("cancelled") < 2:
            await client.call("nothing")

        methods = [sent["method"] for sent in client.wire.sent]
        # In the newest revision, closing the stream says it.
        assert ("notifications/cancelled" in methods) == (revision != "2026-07-28")


async def test_an_answer_may_come_on_a_second_stream() -> None:
    server = Server("s")

    @server.tool
    async def report(ctx: Context) -> str:
        ctx.hang_up()
        await asyncio.sleep(0.05)
        return "42 pages"

    async with by_socket(server, "2025-11-25") as client:
        assert await client.call("report") == "42 pages"


def guard(headers: Any) -> str:
    if headers.get("authorization") != "Bearer secret":
        raise Unauthorized("send a token")
    return "alice"


@over_http
async def test_a_closed_door_is_said_to_be_closed(over: Over) -> None:
    server = Server("s")

    @server.tool
    def who(ctx: Context) -> str:
        return str(ctx.principal)

    headers = {"Authorization": "Bearer secret"}
    for revision in (None, *ERAS):
        async with over(server, revision, guard=guard, headers=headers) as client:
            assert await client.call("who") == "alice"
        with pytest.raises((Refused, McpError), match=r"send a token|401"):
            async with over(server, revision, guard=guard):
                pass


@over_http
async def test_a_session_ends_with_the_client(over: Over) -> None:
    server = Server("s")

    @server.tool
    def session(ctx: Context) -> str:
        return "there is one" if ctx.session is not None else "none"

    async with over(server, "2025-11-25", sessions="stateful") as client:
        assert await client.call("session") == "there is one"


# How clients of both eras find out what a server speaks

OLD = """
    import json, sys
    STYLE = "{style}"
    for line in sys.stdin:
        message = json.loads(line)
        answer = dict(jsonrpc="2.0", id=message.get("id"))
        if message["method"] == "initialize":
            info = dict(name="old", version="1")
            answer["result"] = dict(
                protocolVersion="{version}", capabilities=dict(), serverInfo=info
            )
        elif "id" not in message or STYLE == "silent" and message["method"] != "ping":
            continue
        elif message["method"] == "ping":
            answer["result"] = dict()
        elif STYLE == "newer":
            answer["error"] = dict(
                code=-32022, message="no", data=dict(supported=["2099-01-01", "2025-03-26"])
            )
        else:
            answer["error"] = dict(code=-32601, message="no such method")
        print(json.dumps(answer), flush=True)
"""


@pytest.mark.parametrize("style", ["refusing", "silent", "newer"])
async def test_a_client_falls_back_to_the_handshake(tmp_path: Path, style: str) -> None:
    source = OLD.format(style=style, version="2025-03-26")
    async with Client.stdio(script(tmp_path, source), timeout=3) as client:
        await client.ping()
        assert client.revision == "2025-03-26"
        assert client.server_info.name == "old"
        asked = [each for each in client.wire.sent if each["method"] == "initialize"]

    [opening] = asked
    wanted = "2025-03-26" if style == "newer" else "2025-11-25"
    assert opening["params"]["protocolVersion"] == wanted


async def test_another_revision_than_the_wanted_one_is_an_error(tmp_path: Path) -> None:
    command = script(tmp_path, OLD.format(style="refusing", version="2025-03-26"))

    with pytest.raises(BadAnswer, match="speaks revision 2025-03-26, and not 2025-11-25"):
        async with Client.stdio(command, revision="2025-11-25"):
            pass
    with pytest.raises(McpError, match="no such method"):
        async with Client.stdio(command, revision="2026-07-28"):
            pass
