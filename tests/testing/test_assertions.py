"""The assertions of the kit: what they let pass, and what they say if not. Rows: E-52, E-65."""

from typing import Any

import pytest
from tests.testing.offering import ERAS, make

from toolhaft import Context, McpError, Server
from toolhaft.testing import (
    Client,
    Differs,
    SyncClient,
    ToolFailed,
    assert_error,
    assert_metrics,
    assert_resource,
    assert_same_in_every_era,
    requests,
)

every_era = pytest.mark.parametrize("revision", ERAS)


# Errors


async def test_an_error_has_its_code_and_its_words() -> None:
    server = make()
    message = requests.of("2026-07-28").tools_call("nonesuch")
    text = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'

    assert_error(await server.handle(message), -32602, "NONESUCH")
    assert_error(await server.handle(text), -32602)
    assert_error(await server.handle(text.encode()), -32602)
    async with Client(server) as client:
        assert_error(await client.raw(client.requests.request("no/such")), -32601, "no/such")
        with pytest.raises(McpError) as failure:
            await client.read("notes://gone")
    assert assert_error(failure.value, -32602, "gone")["message"] == "it is gone"


@pytest.mark.parametrize(
    ("response", "told"),
    [
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, "expected error -32601, got {'jsonrpc'"),
        ({"error": {"code": -32602, "message": "bad"}}, "expected error -32601, got {'code'"),
        ({"error": {"code": -32601, "message": "bad"}}, "expected 'good' in 'bad'"),
        (None, "expected error -32601, got None"),
    ],
)
def test_what_is_no_such_error_fails_the_test(response: Any, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        assert_error(response, -32601, "good")


# Resources

MILK = {"uri": "notes://all", "mimeType": "text/plain", "text": "milk"}
BLOB = {"uri": "blob://one", "mimeType": "application/octet-stream", "blob": "AP8="}


@every_era
async def test_a_resource_holds_exactly_this(revision: str) -> None:
    async with Client(make(), revision) as client:
        await assert_resource(client, "notes://all", MILK)
        await assert_resource(client, "notes://all", [MILK])
        await assert_resource(client, "blob://one", BLOB)
        await assert_resource(client, "blob://one", {**BLOB, "blob": b"\x00\xff"})
        for wrong in ({**MILK, "text": "eggs"}, {"uri": "notes://all", "text": "milk"}, []):
            with pytest.raises(AssertionError, match=r"notes://all holds .*milk.*, and not"):
                await assert_resource(client, "notes://all", wrong)


def test_a_plain_function_can_say_so_as_well() -> None:
    with SyncClient(make()) as client:
        assert_resource(client, "notes://all", MILK)
        with pytest.raises(AssertionError, match="and not"):
            assert_resource(client, "notes://all", {})


# Metrics


@every_era
async def test_calls_and_errors_are_counted(revision: str) -> None:
    server = make()
    async with Client(server, revision) as client:
        await client.call("nothing")
        with assert_metrics(
            server, {"tools/call": (3, 1), "tools/call:fails": (1, 1), "prompts/list": (0, 0)}
        ):
            await client.call("nothing")
            await client.call("nothing")
            await client.call_raw("fails")
        with (
            pytest.raises(AssertionError, match="tools/call:fails: expected 0 calls and 0 errors"),
            assert_metrics(server, {"tools/call:fails": (0, 0)}),
        ):
            await client.call_raw("fails")


async def test_an_error_in_the_block_is_not_covered_up() -> None:
    with (
        pytest.raises(LookupError, match="what went wrong"),
        assert_metrics(make(), {"tools/list": (1, 0)}),
    ):
        raise LookupError("what went wrong")


# Eras


async def test_what_is_the_same_in_every_era_is_returned() -> None:
    server = make()

    async def shop(client: Client) -> list[Any]:
        return [await client.call("add", a=1, b=2), await client.call("order")]

    answers = {"Which size?": 5}
    assert await assert_same_in_every_era(server, shop, answers=answers) == [3, "size 5"]
    with pytest.raises(ToolFailed, match="no luck"):
        await assert_same_in_every_era(server, lambda client: client.call("fails"))


async def test_what_differs_between_eras_fails_the_test() -> None:
    server = Server("s")

    @server.tool
    def era(ctx: Context) -> str:
        return ctx.client.revision

    with pytest.raises(Differs, match="in 2025-11-25: '2025-11-25'\nin 2026-07-28: '2026-07-28'"):
        await assert_same_in_every_era(server, lambda client: client.call("era"))
    with pytest.raises(Differs, match=r"-32002.*\n.*-32602"):
        await assert_same_in_every_era(make(), lambda client: client.read("notes://gone"))


def test_requests_of_a_revision_that_nobody_knows_are_refused() -> None:
    with pytest.raises(ValueError, match="no such revision: '2020'; there are 2026-07-28, "):
        requests.of("2020")
    with pytest.raises(ValueError, match="no such revision: '2020'; there are 2026-07-28, "):
        requests.initialize("2020")
