"""Streams with a traffic log."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.traffic_lines import lines, tools

from toolhaft.calls.connection import Connection
from toolhaft.calls.output import Sink
from toolhaft.calls.service import connected
from toolhaft.testing import Client
from toolhaft.transports.http.endpoint import Endpoint

PING = {"jsonrpc": "2.0", "id": 7, "method": "ping"}


async def test_each_message_has_direction_time_connection_and_id(tmp_path: Path) -> None:
    """E-56: the log of what comes and goes, in both directions."""
    path = tmp_path / "traffic.jsonl"
    server = tools(log_traffic=path)
    await server.handle(PING)
    await server.handle({"jsonrpc": "2.0", "method": "notifications/initialized"})

    came, went, noticed = lines(path)
    assert [each["direction"] for each in (came, went, noticed)] == ["in", "out", "in"]
    assert came["message"] == PING
    assert (came["id"], came["method"], went["id"]) == (7, "ping", 7)
    assert went["message"]["id"] == 7
    assert came["connection"] == went["connection"] != noticed["connection"]
    assert came["time"].endswith("Z")
    assert came["time"] <= went["time"] <= noticed["time"]


async def test_streams_are_logged_both_ways(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    reader = asyncio.StreamReader()
    reader.feed_data(json.dumps(PING).encode() + b"\nnot JSON\n")
    reader.feed_eof()

    class Writer:
        def write(self, data: bytes) -> None: ...
        async def drain(self) -> None: ...

    await tools(log_traffic=str(path)).serve(reader, Writer())

    found = [(line["direction"], line.get("text")) for line in lines(path)]
    assert found == [("in", None), ("out", None), ("in", "not JSON"), ("out", None)]


async def test_off_nothing_is_wrapped() -> None:
    server = tools()

    def send(frame: bytes) -> None: ...

    async with connected(server, Sink(send)) as connection:
        assert type(connection) is Connection
        assert connection.send is send
    app: Any = server.asgi()
    async with Client.asgi(app) as client:
        await client.list_tools()
        [mounted] = app.mounted
        assert type(mounted.endpoint) is Endpoint
