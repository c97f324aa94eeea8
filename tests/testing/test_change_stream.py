"""Changes that a client hears of, in either era."""

import pytest
from tests.testing.offering import ERAS, REVISIONS, Log, make

from toolhaft import Server
from toolhaft.testing import (
    Client,
    NoAnswer,
)

every_revision = pytest.mark.parametrize("revision", REVISIONS)


every_era = pytest.mark.parametrize("revision", ERAS)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def server(log: Log) -> Server:
    return make(log)


@every_revision
async def test_changes_are_heard(server: Server, revision: str) -> None:
    async with Client(server, revision) as client:
        async with client.listen(tools=True, uris=["notes://all"]) as heard:
            server.resource_updated("notes://all")
            assert (await heard.next()).uri == "notes://all"
            server.remove_tool("add")
            assert (await heard.next()).method == "notifications/tools/list_changed"
            assert heard.so_far() == []
        async with client.subscribe("notes://eggs") as heard:
            server.resource_updated("notes://all")
            server.resource_updated("notes://eggs")
            async for notice in heard:
                assert notice.uri == "notes://eggs"
                break


@every_era
async def test_silence_says_what_was_listened_for(server: Server, revision: str) -> None:
    async with (
        Client(server, revision) as client,
        client.listen(prompts=True, uris=["notes://all"]) as heard,
    ):
        with pytest.raises(NoAnswer, match=r"heard of prompts, notes://all within 0\.01 seconds"):
            await heard.next(0.01)
