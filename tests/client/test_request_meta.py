"""What a client says of itself."""

import json

import pytest
from tests.testing.offering import ASKING, REVISIONS, Log, make

from toolhaft import McpError, Server
from toolhaft.testing import (
    Client,
    ToolFailed,
)


async def test_a_client_declares_what_its_revision_knows() -> None:
    declared = {}
    for revision in REVISIONS:
        async with Client(make(), revision) as client:
            first = client.wire.sent[0]["params"]
        found = (
            first.get("capabilities")
            or first["_meta"]["io.modelcontextprotocol/clientCapabilities"]
        )
        declared[revision] = json.dumps(found, sort_keys=True)

    newest = '{"elicitation": {"form": {}, "url": {}}, "roots": {}, "sampling": {"tools": {}}}'
    oldest = '{"roots": {}, "sampling": {}}'
    assert declared == {
        "2026-07-28": newest,
        "2025-11-25": newest,
        "2025-06-18": '{"elicitation": {}, "roots": {}, "sampling": {}}',
        "2025-03-26": oldest,
        "2024-11-05": oldest,
    }


every_asking = pytest.mark.parametrize("revision", ASKING)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def server(log: Log) -> Server:
    return make(log)


@every_asking
async def test_what_the_client_does_not_declare_is_not_asked(server: Server, revision: str) -> None:
    async with Client(server, revision, capabilities={}) as client:
        with pytest.raises((McpError, ToolFailed), match="elicitation"):
            await client.call("order")
