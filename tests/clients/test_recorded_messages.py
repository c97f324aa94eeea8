"""What clients send, byte by byte: the messages of the benchmark are written as they write them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport
from mcp import Client, StdioServerParameters
from tests import nodejs
from tests.clients.inspector import WELL, inspect
from tests.clients.test_typescript_client import DRIVER, PACKAGE, VERSION

ROOT = Path(__file__).parents[2]
# Keeps what it reads, and passes it on to the example.
TEE = ["sh", "-c", 'tee "$RECORD" | "$PYTHON" -m toolhaft run examples/demo.py']
NOTE = {"name": "x", "text": 'def f():\n\tprint("Gr\u00fc\u00dfe, \u4e16\u754c")\n'}

# The first of the tests with Node installs what all of them need.
pytestmark = pytest.mark.timeout(400)
each_era = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the messages of a client are kept."""
    monkeypatch.setenv("RECORD", str(tmp_path / "record"))
    monkeypatch.setenv("PYTHON", sys.executable)
    return tmp_path / "record"


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The messages of the benchmark."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield __import__("messages")
    del sys.modules["messages"]


def is_written(record: Path, messages: ModuleType, order: str) -> dict[str, Any]:
    """Holds the last call of a client against how the benchmark would write it; its `_meta`."""
    lines = record.read_text(encoding="utf-8").splitlines()
    line = [line for line in lines if '"tools/call"' in line][-1]
    sent = json.loads(line)
    assert line == messages.message(sent["id"], "tools/call", sent["params"], order)
    assert list(sent["params"]) in (["name", "arguments"], ["name", "arguments", "_meta"])
    meta: dict[str, Any] = sent["params"].get("_meta", {})
    return meta


def is_meta(meta: dict[str, Any], messages: ModuleType, era: str) -> None:
    known = list(messages.meta_2026({})) if era != "legacy" else []
    assert [key for key in meta if key in known] == known


@each_era
async def test_mcp_writes_what_the_benchmark_sends(
    era: str, record: Path, messages: ModuleType
) -> None:
    tee = StdioServerParameters(command=TEE[0], args=TEE[1:], cwd=ROOT, env=dict(os.environ))
    async with Client(tee, mode=era, read_timeout_seconds=20) as client:
        await client.call_tool("write_note", NOTE)

    meta = is_written(record, messages, "python")
    is_meta(meta, messages, era)
    assert ("progressToken" in meta) is False


@each_era
async def test_fastmcp_writes_what_the_benchmark_sends_and_a_progress_token(
    era: str, record: Path, messages: ModuleType
) -> None:
    tee = StdioTransport(TEE[0], TEE[1:], cwd=str(ROOT), keep_alive=False, env=dict(os.environ))
    async with FastClient(tee, mode=era, timeout=20) as client:
        await client.call_tool("write_note", NOTE)

    meta = is_written(record, messages, "python")
    is_meta(meta, messages, era)
    assert type(meta["progressToken"]) is int


@each_era
def test_the_typescript_client_writes_the_envelope_last(
    era: str, record: Path, messages: ModuleType
) -> None:
    folder = nodejs.package(PACKAGE, VERSION).parents[2]
    mode = "legacy" if era == "legacy" else "modern"
    subprocess.run(
        [nodejs.node(), str(DRIVER), str(folder), mode, "stdio", *TEE],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        timeout=50,
        check=True,
    )

    is_meta(is_written(record, messages, "typescript"), messages, era)


@each_era
def test_the_inspector_writes_the_envelope_last(
    era: str, record: Path, messages: ModuleType
) -> None:
    named = ["--tool-name", "write_note", "--tool-args-json", json.dumps(NOTE)]
    mode = "legacy" if era == "legacy" else "modern"

    assert inspect(TEE, "tools/call", mode, *named).status == WELL
    is_meta(is_written(record, messages, "typescript"), messages, era)
