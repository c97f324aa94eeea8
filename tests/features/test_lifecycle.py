"""Who a server says it is, and whether it is there."""

import pytest
from tests.testing.offering import REVISIONS, Log, make

from toolhaft import McpError, Server
from toolhaft.testing import (
    Client,
)

every_revision = pytest.mark.parametrize("revision", REVISIONS)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def server(log: Log) -> Server:
    return make(log)


@every_revision
async def test_a_client_knows_its_server(server: Server, revision: str) -> None:
    async with Client(server, revision) as client:
        assert client.revision == revision
        assert client.server_info.name == "offering"
        assert client.server_info.version == "1.2.3"
        assert client.instructions == "Ask nicely."
        assert client.capabilities["tools"] == {"listChanged": True}


@pytest.mark.parametrize("revision", REVISIONS[1:])
async def test_a_ping_is_answered(server: Server, revision: str) -> None:
    async with Client(server, revision) as client:
        await client.ping()
        assert client.wire.received[-1]["result"] == {}


async def test_there_is_no_ping_any_more(server: Server) -> None:
    async with Client(server, "2026-07-28") as client:
        with pytest.raises(McpError, match="ping"):
            await client.ping()
