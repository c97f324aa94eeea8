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
from tests.traffic_lines import lines, logged, tools
from tests.transports.http.asgi import StatelessClient

from toolhaft import Server
from toolhaft.protocol.framing import TooLong
from toolhaft.testing import Client
from toolhaft.traffic import TrafficLog

PING = {"jsonrpc": "2.0", "id": 7, "method": "ping"}


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


def test_only_the_owner_may_read_the_file_and_it_is_added_to(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for _ in range(2):
        log = TrafficLog(path)
        log.message("in", "1", b"{}")
        log.close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(lines(path)) == 2


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
