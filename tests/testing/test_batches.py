"""Batches, which one revision has: all of their responses come back, over whatever they travel."""

import asyncio
import json
from typing import Any

import pytest
from tests.client.http.test_streamable import HEAD, Json, answering, event, session

from toolhaft import Context, Server
from toolhaft.testing import Client, NoAnswer, requests

BATCHES = "2025-03-26"


def adding() -> Server:
    server = Server("adding", version="1")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    async def reports(ctx: Context) -> str:
        await ctx.progress(1, 2, "half")
        return "done"

    return server


def in_memory() -> Client:
    return Client(adding(), BATCHES)


def over_http() -> Client:
    return Client.asgi(adding().asgi(), revision=BATCHES)


every_way = pytest.mark.parametrize("way", [in_memory, over_http])


def texts(responses: list[Json]) -> dict[Any, str]:
    return {each["id"]: each["result"]["content"][0]["text"] for each in responses}


@every_way
async def test_a_batch_gets_all_of_its_responses(way: Any) -> None:
    async with way() as client:
        made = client.requests
        batch = [made.tools_call("add", {"a": n, "b": 1}) for n in range(3)]
        as_list = await client.raw(batch)
        as_text = await client.raw(json.dumps(batch))

    expected = {message["id"]: str(n + 1) for n, message in enumerate(batch)}
    assert texts(as_list) == texts(as_text) == expected


@every_way
async def test_what_is_told_meanwhile_is_heard(way: Any) -> None:
    told: list[Any] = []
    async with way() as client:
        leave = await client.talk.listen(lambda method, params: told.append(params["progress"]))
        first = client.requests.tools_call("reports")
        first["params"]["_meta"] = {"progressToken": "p"}
        responses = await client.raw([first, client.requests.tools_call("add", {"a": 1, "b": 1})])
        leave()

    assert sorted(texts(responses).values()) == ["2", "done"]
    assert told == [1]


@every_way
async def test_what_cannot_be_read_is_answered_without_an_id(way: Any) -> None:
    async with way() as client:
        nothing = await client.raw([1, "two"])
        mixed = await client.raw([{"jsonrpc": "2.0", "id": "x", "method": "ping"}, 1])
        empty = await client.raw([])

    assert [each.get("id") for each in nothing] == [None, None]
    assert sorted(str(each.get("id")) for each in mixed) == ["None", "x"]
    assert empty["error"]["code"] == -32600


@every_way
async def test_a_batch_of_notifications_has_no_answer(way: Any) -> None:
    async with way() as client:
        notice = {"jsonrpc": "2.0", "method": "notifications/nonesuch"}
        assert await client.raw([notice, notice]) is None
        assert await client.call("add", a=1, b=1) == "2"


async def test_responses_may_come_one_by_one() -> None:
    """«These responses MAY be batched»: another server need not do it."""

    async def answer(verb: str, message: Any, writer: asyncio.StreamWriter) -> None:
        if not isinstance(message, list):
            return session(writer, verb, message, BATCHES)
        writer.write(HEAD + event({"jsonrpc": "2.0", "method": "notifications/meanwhile"}))
        for each in message:
            writer.write(event({"jsonrpc": "2.0", "id": each["id"], "result": {}}))
            await writer.drain()
        return None

    batch = [requests.ping(), requests.ping()]
    async with (
        answering(answer) as url,
        Client.http(url, revision=BATCHES) as client,
    ):
        responses = await client.raw(batch)

    assert [each["id"] for each in responses] == [each["id"] for each in batch]


@pytest.mark.parametrize("first", [0, 1, 2])
async def test_errors_without_an_id_may_come_one_by_one_as_well(first: int) -> None:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "what?"}}

    async def answer(verb: str, message: Any, writer: asyncio.StreamWriter) -> None:
        if not isinstance(message, list):
            return session(writer, verb, message, BATCHES)
        answers = [{"jsonrpc": "2.0", "id": each["id"], "result": {}} for each in message[:2]]
        answers.insert(first, error)
        writer.write(HEAD)
        for each in answers:
            writer.write(event(each))
            await writer.drain()
        return None

    batch = [requests.ping(), requests.ping(), 1]
    async with (
        answering(answer) as url,
        Client.http(url, revision=BATCHES) as client,
    ):
        responses = await client.raw(batch)

    expected = [each["id"] for each in batch[:2]]
    expected.insert(first, None)
    assert [each["id"] for each in responses] == expected


@pytest.mark.parametrize(
    ("revision", "parts"),
    [(BATCHES, []), (BATCHES, [1]), (BATCHES, [1, 2]), ("2025-11-25", [1])],
    ids=["readable", "one is not", "two are not", "no batches"],
)
async def test_one_error_without_an_id_may_be_for_all(revision: str, parts: list[Any]) -> None:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no batches"}}

    async def answer(verb: str, message: Any, writer: asyncio.StreamWriter) -> None:
        if not isinstance(message, list):
            return session(writer, verb, message, revision)
        writer.write(HEAD + event(error))
        return None

    async with (
        answering(answer) as url,
        Client.http(url, revision=revision) as client,
    ):
        assert await client.raw([requests.ping(), *parts]) == error


@every_way
async def test_a_batch_with_parts_that_cannot_be_read_may_be_refused_as_a_whole(way: Any) -> None:
    async with way() as client:
        refused = await client.raw([1] * 1001)

    words = "a batch holds at most 1000 messages; send fewer at a time"
    assert refused["error"]["message"] == words


@every_way
async def test_each_request_of_a_batch_that_is_too_large_is_refused_under_its_id(way: Any) -> None:
    pings = [requests.ping() for _ in range(1001)]
    notices = [{"jsonrpc": "2.0", "method": "notifications/initialized"}] * 3

    async with way() as client:
        refused = await client.raw([*pings, *notices])

    assert [answer["id"] for answer in refused] == [ping["id"] for ping in pings]
    assert {answer["error"]["code"] for answer in refused} == {-32600}


async def test_a_response_that_is_missing_is_waited_for() -> None:
    async def answer(verb: str, message: Any, writer: asyncio.StreamWriter) -> None:
        if not isinstance(message, list):
            return session(writer, verb, message, BATCHES)
        writer.write(HEAD + event({"jsonrpc": "2.0", "id": message[0]["id"], "result": {}}))
        return None

    async with (
        answering(answer) as url,
        Client.http(url, revision=BATCHES) as client,
    ):
        client.talk.timeout = 0.2  # from here on: a handshake may take its time
        with pytest.raises(NoAnswer, match=r"within 0\.2 seconds"):
            await client.raw([requests.ping(), requests.ping()])
