"""The traffic log: what it says of a message, what it leaves out, and that it never interferes."""

import asyncio
import json
import logging
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.asking import NEW, OLD
from tests.transports.http.asgi import StatelessClient

from toolhaft import Context, Server
from toolhaft.calls.connection import Connection
from toolhaft.calls.output import Sink
from toolhaft.calls.service import connected
from toolhaft.protocol.framing import TooLong
from toolhaft.testing import Client
from toolhaft.traffic import TrafficLog
from toolhaft.transports.http.endpoint import Endpoint
from toolhaft_bridge.secrets import Secrets

Json = dict[str, Any]
PING = {"jsonrpc": "2.0", "id": 7, "method": "ping"}


def lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def logged(tmp_path: Path, frame: bytes, **options: Any) -> Json:
    """What is written of one message."""
    path = tmp_path / "log"
    log = TrafficLog(path, **options)
    log.message("in", "1", frame)
    log.close()
    [line] = lines(path)
    return line


def tools(**options: Any) -> Server:
    server = Server("notes", version="1", **options)

    @server.tool
    async def login(user: str, password: str, ctx: Context) -> Json:
        await ctx.progress(1)
        return {"user": user, "token": "t0p"}

    return server


def test_of_a_long_string_that_is_no_json_only_the_beginning_is_read(tmp_path: Path) -> None:
    seen: list[int] = []

    class Pattern:
        def search(self, text: str) -> None:
            seen.append(len(text))

    log = TrafficLog(tmp_path / "log", longest=1000)
    log._secrets._in_text = Pattern()  # type: ignore[assignment]
    log.message("in", "1", json.dumps({"text": "{" + "x" * 100_000}).encode())
    log.close()
    [line] = lines(tmp_path / "log")

    assert seen == [1000]
    assert (line["cut"], line["bytes"]) == (True, 100_013)


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


def test_only_the_owner_may_read_the_file_and_it_is_added_to(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for _ in range(2):
        log = TrafficLog(path)
        log.message("in", "1", b"{}")
        log.close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(lines(path)) == 2


# HTTP


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


# What is left out


@pytest.mark.parametrize(
    "key",
    [
        "authorization",
        "Authorization",
        "token",
        "access_token",
        "refreshToken",
        "PASSWORD",
        "client_secret",
        "api_key",
        "apiKey",
        "X-API-Key",
        "Set-Cookie",
        "credentials",
    ],
)
def test_secrets_are_left_out_at_any_depth(tmp_path: Path, key: str) -> None:
    frame = json.dumps({"params": [{"deep": {key: {"value": "hush"}}, "kept": 1}]}).encode()

    line = logged(tmp_path, frame)

    assert line["message"] == {"params": [{"deep": {key: "[redacted]"}, "kept": 1}]}


@pytest.mark.parametrize("key", ["progressToken", "maxTokens", "secretary", "tokens_used"])
def test_what_is_no_secret_stays(tmp_path: Path, key: str) -> None:
    line = logged(tmp_path, json.dumps({key: 5}).encode())

    assert line["message"] == {key: 5}


def test_secrets_in_json_that_is_a_string_are_left_out(tmp_path: Path) -> None:
    text = json.dumps({"user": "ada", "token": "hush"})
    frame = json.dumps({"content": [{"text": text}], "text": '{"token": "hush'}).encode()

    line = logged(tmp_path, frame)

    assert "hush" not in json.dumps(line)
    assert "ada" in json.dumps(line)


@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_the_result_of_a_tool_gives_no_secret_away(tmp_path: Path, revision: str) -> None:
    path = tmp_path / "traffic.jsonl"
    async with Client.asgi(tools(log_traffic=path).asgi(), revision=revision) as client:
        answer = await client.call("login", user="ada", password="pw")

    text = path.read_text()
    assert answer == {"user": "ada", "token": "t0p"}
    assert "t0p" not in text
    assert '"pw"' not in text
    assert "ada" in text


@pytest.mark.parametrize(
    "text",
    ['{"password": "hush"', "password=hush&x=1", "Authorization: Bearer hush", "x api_key: hush"],
)
def test_secrets_in_what_is_no_json_are_left_out(tmp_path: Path, text: str) -> None:
    line = logged(tmp_path, text.encode())

    assert "hush" not in line["text"]
    assert "[redacted]" in line["text"]


VALUES = [
    '"hu\\"sh"', '"a" hush', '"a"hush"', '{"value": "hush"', '["a", "hush"', "'a hush'",
    "a b c hush", '\\"hush\\"', "`hush`", "\n\n   hush", '{"a": [}, "b": "hush"', '"a\nhush"',
    "“hush”",
]  # fmt: skip
KEYS = ["password", "pass\\u0077ord", "access_token", "X-Api-Key", "SECRET"]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "between", ['": ', '" ', "': ", "=", " : ", '\\": ', '\\\\\\": ', ">", "%3D"]
)
@pytest.mark.parametrize("key", KEYS)
def test_no_value_under_such_a_key_is_in_the_log_of_malformed_json(
    tmp_path: Path, key: str, between: str, value: str
) -> None:
    text = f'{{"kept": 1, "{key}{between}{value}, "x": '

    whole = logged(tmp_path, text.encode())
    (tmp_path / "log").unlink()
    inside = logged(tmp_path, json.dumps({"text": text}).encode())

    assert "hush" not in json.dumps([whole, inside], ensure_ascii=False)
    assert whole["text"].startswith('{"kept": 1, "')


@given(st.sampled_from(KEYS), st.text(), st.text())
def test_whatever_stands_around_it_no_value_leaks(key: str, before: str, after: str) -> None:
    secrets = Secrets(
        ["password", "token", "api_key", "secret"],
        decode=json.loads,
        encode=json.dumps,
        unfit=(ValueError,),
        longest=10_000,
    )

    assert "hush" not in secrets.cleaned_text(f'{before}"{key}":{after}hush')


@pytest.mark.parametrize("key", ["progressToken", "progress_token", "maxTokens", "secretary"])
def test_what_is_no_secret_stays_in_malformed_json(tmp_path: Path, key: str) -> None:
    line = logged(tmp_path, f'{{"{key}": "shown"'.encode())

    assert line["text"] == f'{{"{key}": "shown"'


def test_which_keys_are_left_out_can_be_said(tmp_path: Path) -> None:
    line = logged(tmp_path, b'{"pin": 1234, "token": "shown"}', redact=["PIN"])

    assert line["message"] == {"pin": "[redacted]", "token": "shown"}


# Bounds


def test_a_line_is_bounded(tmp_path: Path) -> None:
    frame = json.dumps({"id": 1, "text": "\x00é" * 100_000, "token": "hush"}).encode()
    path = tmp_path / "log"
    log = TrafficLog(path, longest=1000)
    log.message("in", "1", frame)
    log.message("in", "1", b"\xff" * 100_000)
    log.message("in", "1", TooLong(b'{"token": "hush"' + b"x" * 100_000))
    log.close()

    assert [len(line) <= 1000 for line in path.read_bytes().splitlines()] == [True] * 3
    first, second, third = lines(path)
    assert (first["cut"], first["bytes"], first["id"]) == (True, len(frame), 1)
    assert second["text"].startswith("\\xff")
    assert "hush" not in third["text"]


@pytest.mark.parametrize(
    "frame",
    [b"", b"\xff\xfe", b"[" * 100_000, b'{"a": "\\ud800"}', b"1" * 5000, b'{"id": [1]}', b"null"],
    ids=["empty", "not UTF-8", "deep", "surrogate", "long number", "odd id", "null"],
)
def test_whatever_the_bytes_there_is_one_line(tmp_path: Path, frame: bytes) -> None:
    line = logged(tmp_path, frame)

    assert line["direction"] == "in"


def test_long_text_takes_no_time_to_look_through(tmp_path: Path) -> None:
    for hostile in (b"token" * 20_000, b"_-" * 50_000, b'token="' + b"\\" * 100_000):
        logged(tmp_path, hostile)
        (tmp_path / "log").unlink()


# It never interferes


async def test_a_file_that_cannot_be_written_ends_the_log_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = tools(log_traffic=tmp_path / "no such folder" / "log")

    answers = [await server.handle(PING) for _ in range(3)]

    assert all(answer is not None and "result" in answer for answer in answers)
    assert len([each for each in caplog.records if each.name == "toolhaft.traffic"]) == 1
    assert "the traffic log ends" in caplog.text


async def test_a_full_disk_ends_the_log_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    server = tools(log_traffic="/dev/full")

    answers = [await server.handle(PING) for _ in range(3)]

    assert all(answer is not None and "result" in answer for answer in answers)
    assert caplog.text.count("the traffic log ends") == 1


async def test_a_file_that_vanishes_ends_the_log_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "log"
    server = tools(log_traffic=path)
    await server.handle(PING)
    path.unlink()

    answers = [await server.handle(PING) for _ in range(3)]

    assert all(answer is not None and "result" in answer for answer in answers)
    assert caplog.text.count("was removed") == 1
    assert not path.exists()


def test_threads_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = TrafficLog(path)
    frame = json.dumps({"text": "x" * 5000}).encode()

    def work() -> None:
        for _ in range(50):
            log.message("out", "1", frame)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()

    assert len(lines(path)) == 200


# Settings


async def test_true_writes_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """E-56: the wire is a logger, too."""
    logger = logging.getLogger("toolhaft.traffic")
    before = logger.level
    try:
        await tools(log_traffic=True).handle(PING)
    finally:
        logger.setLevel(before)

    came, went = [json.loads(record.getMessage()) for record in caplog.records]
    assert (came["direction"], went["direction"]) == ("in", "out")


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


def test_what_is_no_setting_is_refused() -> None:
    with pytest.raises(TypeError, match="log_traffic takes True, a path or a TrafficLog"):
        Server("x", log_traffic=7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="redact takes a list"):
        TrafficLog(redact="token")
    with pytest.raises(ValueError, match="at least 256"):
        TrafficLog(longest=10)


def test_a_log_of_ones_own_will_do(tmp_path: Path) -> None:
    log = TrafficLog(tmp_path / "log", redact=["pin"])

    assert Server("x", log_traffic=log).traffic is log
    assert not os.path.exists(tmp_path / "log")


class _Broken:
    """A log of the author's that cannot write."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def connection(self) -> str:
        return "1"

    def message(self, direction: str, connection: str, frame: Any) -> None:
        raise self.error.with_traceback(None)


@pytest.mark.parametrize(
    "error",
    [OSError("mine"), ConnectionResetError("mine"), asyncio.CancelledError("mine")],
    ids=lambda error: type(error).__name__,
)
async def test_a_log_of_ones_own_that_raises_ends_and_nothing_else_does(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("x", version="1", log_traffic=_Broken(error))  # type: ignore[arg-type]
    server.add_tool(lambda text: text, name="echo", thread=False)

    async with Client(server) as client:
        assert await client.call("echo", text="a") == "a"
    assert (await StatelessClient(server.asgi()).tool("echo", text="b")).text == "b"
    assert caplog.text.count("the traffic log ends") == 1
