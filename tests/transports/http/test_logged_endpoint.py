"""A service over HTTP with a traffic log."""

from pathlib import Path
from typing import Any

from tests.asking import NEW, OLD
from tests.traffic_lines import lines, tools
from tests.transports.http.asgi import StatelessClient

from toolhaft.testing import Client

PING = {"jsonrpc": "2.0", "id": 7, "method": "ping"}


async def test_over_http_each_way_is_logged(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    async with Client.asgi(tools(log_traffic=path).asgi(), revision=NEW) as client:
        await client.list_tools()

    *_, came, went = lines(path)
    assert len(lines(path)) == len(client.wire)
    assert (came["direction"], came["method"]) == ("in", "tools/list")
    assert went["message"]["result"]["tools"][0]["name"] == "login"
    assert came["connection"] == went["connection"]


async def test_over_http_the_messages_of_a_stream_are_logged_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    told: list[float] = []
    async with Client.asgi(tools(log_traffic=path).asgi(), revision=NEW) as client:
        before = len(lines(path))
        given = {"user": "ada", "password": "pw"}
        await client.call_raw("login", given, on_progress=lambda done, *_: told.append(done))

    assert told == [1]
    assert [line.get("method", "answer") for line in lines(path)[before:]] == [
        "tools/call",
        "notifications/progress",
        "answer",
    ]


async def test_a_session_has_a_name_that_is_not_its_id(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    async with Client.asgi(tools(log_traffic=path).asgi(), revision=OLD) as client:
        await client.list_tools()
        session = client.session_id

    names = {line["connection"] for line in lines(path)[1:]}
    assert len(names) == 1
    assert session is not None
    assert session not in path.read_text()


async def test_the_oldest_transport_is_logged_once(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    app = tools(log_traffic=path).asgi(legacy_sse=True)
    stream = StatelessClient(app, "/mcp/sse").open("GET")
    event = await stream.event()
    assert event.data is not None
    where, _, query = event.data.partition("?")
    poster = StatelessClient(app, where)
    scope_query = query.encode()

    async def with_query(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "query_string": scope_query}, receive, send)

    poster.app = with_query
    await poster.post(PING)
    await stream.event()
    stream.disconnect()

    assert [line["direction"] for line in lines(path)] == ["in", "out"]
