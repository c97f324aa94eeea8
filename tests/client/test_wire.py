"""What went over the wire."""

import pytest
from tests.testing.offering import Log, make

from toolhaft import Server
from toolhaft.testing import (
    Client,
)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def server(log: Log) -> Server:
    return make(log)


async def test_the_wire_shows_what_passed(server: Server) -> None:
    async with Client(server, "2025-11-25", capabilities={}) as client:
        await client.ping()
        shown = str(client.wire).splitlines()

    assert shown[0].startswith('> {"jsonrpc": "2.0", "id": 1, "method": "initialize"')
    assert shown[-2:] == [
        '> {"jsonrpc": "2.0", "id": 2, "method": "ping"}',
        '< {"jsonrpc": "2.0", "id": 2, "result": {}}',
    ]
