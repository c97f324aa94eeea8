"""What was recorded can be replayed: as a test that passes until the server changes."""

from pathlib import Path
from typing import Any

import pytest
from tests.testing.offering import make

from toolhaft.testing import Client, SyncClient, record, transcript


async def test_a_transcript_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "session.txt"
    options: Any = {"capabilities": {}, "info": {"name": "t", "version": "1"}}
    async with record(Client(make(), "2026-07-28", **options), path, "One call.") as client:
        await client.call_raw("words", {"text": "hi"}, on_progress=lambda *_: None)

    lines = path.read_text().splitlines()
    assert lines[:3] == [
        "# One call.",
        '@ envelope {"io.modelcontextprotocol/protocolVersion": "2026-07-28", '
        '"io.modelcontextprotocol/clientCapabilities": {}, '
        '"io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}}',
        '@ stamp {"io.modelcontextprotocol/serverInfo": {"name": "offering", "version": "1.2.3"}}',
    ]
    assert lines[-2:] == [
        '> {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "words", '
        '"arguments": {"text": "hi"}, "_meta": {"<envelope>": true, "progressToken": 2}}}',
        '< {"jsonrpc": "2.0", "id": 2, "result": {"resultType": "complete", "_meta": "<stamp>", '
        '"content": [{"type": "text", "text": "hi"}]}}',
    ]


async def test_nothing_is_written_if_the_session_fails(tmp_path: Path) -> None:
    path = tmp_path / "session.txt"

    with pytest.raises(LookupError):
        async with record(Client(make()), path):
            raise LookupError

    assert not path.exists()


def test_the_wire_of_any_client_is_a_transcript() -> None:
    with SyncClient(make(), "2025-11-25") as client:
        client.ping()
        text = transcript(client.wire, "A ping.")

    assert text.endswith(
        '> {"jsonrpc": "2.0", "id": 2, "method": "ping"}\n'
        '< {"jsonrpc": "2.0", "id": 2, "result": {}}\n'
    )
