"""Each optimisation can be switched off for a measurement, and is really off then."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PATIENCE = 20
OVER_STDIO = ["eager-start", "inline-reading", "early-handshake", "deferred-imports"]
OVER_HTTP = ["short-http-path", "head-cache"]
CALL = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "add", "arguments": {"a": 1, "b": 2}},
}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The modules of the benchmark, which are scripts beside each other."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    yield SimpleNamespace(**{name: __import__(name) for name in ("switches", "without")})
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def command(switch: str, record: Path, script: str, *arguments: str) -> list[str]:
    wrapper = [sys.executable, str(BENCHMARKS / "switched.py"), switch, str(record)]
    return [*wrapper, str(BENCHMARKS / "contenders" / script), *arguments]


@pytest.mark.parametrize("switch", OVER_STDIO)
def test_a_server_over_stdio_answers_without(
    switch: str, bench: SimpleNamespace, tmp_path: Path
) -> None:
    deferred = ",".join(bench.without.deferred_modules())
    said = "".join(json.dumps(each) + "\n" for each in (HELLO, CALL))

    ended = subprocess.run(
        command(switch, tmp_path / "used", "toolhaft_server.py"),
        input=said,
        env={**os.environ, "BENCH_DEFERRED": deferred},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )

    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    assert answers[1]["result"]["content"][0]["text"] == "3"
    assert (tmp_path / "used").read_text() == f"{switch}\n"


@pytest.mark.parametrize("switch", OVER_HTTP)
def test_a_server_over_http_answers_without(switch: str, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": meta}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "add",
    }
    arguments = (str(port), "json", "alone")
    with subprocess.Popen(
        command(switch, tmp_path / "used", "http_toolhaft.py", *arguments)
    ) as process:
        try:
            connection = listening(port)
            texts = []
            for _ in range(3):
                connection.request("POST", "/mcp", json.dumps({**CALL, "params": params}), headers)
                answer = json.loads(connection.getresponse().read())
                texts.append(answer["result"]["content"][0]["text"])
            connection.close()
        finally:
            process.kill()

    assert texts == ["3", "3", "3"]
    assert (tmp_path / "used").read_text() == f"{switch}\n"


def listening(port: int) -> HTTPConnection:
    """A connection to a server that is about to listen."""
    deadline = time.monotonic() + PATIENCE
    while True:
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.connect()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return connection


def test_every_switch_is_tried_here_but_for_one_that_needs_a_newer_python(
    bench: SimpleNamespace,
) -> None:
    assert {*OVER_STDIO, *OVER_HTTP, "own-eager-start"} == set(bench.switches.SWITCHES)


def test_what_is_switched_off_must_exist(bench: SimpleNamespace) -> None:
    with pytest.raises(AttributeError):
        bench.switches.replace(SimpleNamespace(), "renamed", None)


def test_what_is_switched_off_fails_if_it_is_executed(bench: SimpleNamespace) -> None:
    owner = SimpleNamespace(fast=lambda: 1)

    bench.switches.forbid(owner, "fast")

    with pytest.raises(AssertionError, match="switched off"):
        owner.fast()


def test_a_switch_that_was_not_used_makes_its_figures_void(
    bench: SimpleNamespace, tmp_path: Path
) -> None:
    _, without = bench.without.pair(bench.without.HttpSwitched, "head-cache", tmp_path)
    without.command("1")

    assert without.failure == "head-cache was in effect in 0 of 1 servers"


def test_an_unknown_name_is_refused_with_the_list(bench: SimpleNamespace) -> None:
    with pytest.raises(bench.without.UnknownSwitch, match=r"'fast'(.|\n)*eager-start"):
        bench.without.check_names(["fast"])
