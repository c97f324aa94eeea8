"""The client for tests in plain functions."""

from typing import Any

import pytest
from tests.client.scripted import adding
from tests.testing.offering import REVISIONS, Log, make

from toolhaft import Context, Server
from toolhaft.testing import (
    SyncClient,
    UnusedAnswers,
)

Json = dict[str, Any]


ERAS = ["2025-11-25", "2026-07-28"]


def reporting() -> Server:
    server = Server("reporting", version="1")

    @server.tool
    async def reports(ctx: Context) -> str:
        await ctx.progress(1, 2, "half")
        return "done"

    @server.tool
    async def asks(ctx: Context) -> str:
        return str(await ctx.elicit("How many?", int))

    return server


def test_a_plain_client_is_not_used_from_its_own_callbacks() -> None:
    """It would wait for the loop that waits for it."""
    with (
        SyncClient(reporting(), timeout=5) as client,
        pytest.raises(RuntimeError, match="from a callback of this client"),
    ):
        client.call_raw("reports", {}, on_progress=lambda *_: client.list_tools())


def test_a_plain_client_is_not_used_from_its_own_answers() -> None:
    clients: list[SyncClient] = []

    def answer(method: str, params: Json) -> int:
        return len(clients[0].list_tools())

    with SyncClient(reporting(), timeout=5, answers=answer) as client:
        clients.append(client)
        with pytest.raises(RuntimeError, match="from a callback of this client"):
            client.call("asks")


def changing() -> Server:
    server = adding()

    @server.resource("notes://all")
    def notes() -> str:
        return "milk"

    return server


@pytest.mark.parametrize("revision", ERAS)
def test_a_plain_function_hears_changes_in_every_way(revision: str) -> None:
    server = changing()
    with (
        SyncClient(server, revision, timeout=5) as client,
        client.subscribe("notes://all") as heard,
    ):
        assert heard.so_far() == []
        server.resource_updated("notes://all")
        assert next(iter(heard)).uri == "notes://all"
        assert heard.so_far() == []


def test_a_plain_test_that_fails_while_it_listens_fails_for_its_own_reason() -> None:
    with (
        SyncClient(changing(), "2025-11-25", timeout=5) as client,
        pytest.raises(ZeroDivisionError),
        client.subscribe("notes://all"),
    ):
        raise ZeroDivisionError
    sent = [each["method"] for each in client.wire.sent]
    assert "resources/unsubscribe" not in sent


every_revision = pytest.mark.parametrize("revision", REVISIONS)


every_era = pytest.mark.parametrize("revision", ERAS)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def server(log: Log) -> Server:
    return make(log)


@every_revision
def test_a_plain_function_has_the_same_client(server: Server, revision: str) -> None:
    with SyncClient(server, revision) as client:
        assert client.revision == revision
        assert client.server_info.name == "offering"
        assert client.instructions == "Ask nicely."
        assert "tools" in client.capabilities
        assert client.stderr == ""
        assert client.call("words", text="x") == "x"
        assert client.call_raw("fails").is_error
        assert client.tool("add") in client.list_tools()
        assert client.read("notes://all") == "milk"
        assert len(client.read_raw("notes://all")) == 1
        assert len(client.list_resources()) == 2
        assert len(client.list_templates()) == 1
        assert len(client.list_prompts()) == 2
        assert client.prompt("greet", mood="sad").texts == [("user", "Be sad.")]
        assert client.complete("greet", "mood", "h").values == ["happy"]
        client.set_level("info")
        client.notify("notifications/nonesuch")
        assert client.request("tools/list")["tools"]
        assert client.raw(client.requests.tools_list())["result"]["tools"]
        assert len(client.wire) > 10
        with client.listen(prompts=True) as heard:
            server.remove_prompt("greet")
            assert heard.next().method == "notifications/prompts/list_changed"
            assert (heard.agreed is None) == (revision != "2026-07-28")
        with client.subscribe("notes://all") as heard:
            server.resource_updated("notes://all")
            assert heard.next().uri == "notes://all"
        if revision != "2026-07-28":
            client.ping()


@every_era
def test_a_plain_function_answers_questions(server: Server, revision: str) -> None:
    with SyncClient(server, revision, answers=[1]) as client:
        assert client.call("order") == "size 1"
        client.answer([2])
        assert client.call("order") == "size 2"
        assert client.rounds == (2 if revision == "2026-07-28" else 1)
        assert len(client.questions) == 1
    with pytest.raises(UnusedAnswers), SyncClient(server, revision, answers=[1]):
        pass


def test_a_plain_client_is_used_in_a_block(server: Server) -> None:
    client = SyncClient(server)
    with pytest.raises(RuntimeError, match="not open; use it in: with SyncClient"):
        _ = client.revision
    with pytest.raises(RuntimeError, match="not open; use it in: with SyncClient"):
        client.list_tools()
    with client, pytest.raises(RuntimeError, match="open already"):
        client.__enter__()
    with pytest.raises(ValueError, match="no such revision"), SyncClient(server, "1999"):
        pass
