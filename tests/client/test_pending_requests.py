"""Who gets which response."""

import asyncio
import json
from typing import Any

import pytest
from tests.client.scripted import adding, opened, result, talking

from toolhaft.testing import Client

Json = dict[str, Any]


ERAS = ["2025-11-25", "2026-07-28"]


async def test_a_stranger_s_response_is_not_taken_for_that_to_a_raw_message() -> None:
    def answer(message: Json) -> list[Any]:
        if message.get("method") == "ping":
            return [{"jsonrpc": "2.0", "id": 99, "result": {"late": True}}, result(message)]
        return opened(message)

    talk = talking(answer)
    await talk.begin()
    message = {"jsonrpc": "2.0", "id": 5, "method": "ping"}
    response = await talk.exchange_raw(json.dumps(message).encode(), message)
    await talk.end()

    assert response == {"jsonrpc": "2.0", "id": 5, "result": {}}


@pytest.mark.parametrize("revision", ERAS)
async def test_raw_messages_side_by_side_get_their_own_responses(revision: str) -> None:
    async with Client(adding(), revision, timeout=5) as client:

        async def one(number: int) -> Any:
            response = await client.raw(client.requests.tools_call("add", {"a": number, "b": 1}))
            return response["result"]["content"][0]["text"]

        sums, garbage = await asyncio.gather(
            asyncio.gather(*map(one, range(50))),
            asyncio.gather(*(client.raw(b"{") for _ in range(10))),
        )

    assert sums == [str(number) for number in range(1, 51)]
    assert [each["error"]["code"] for each in garbage] == [-32700] * 10


@pytest.mark.parametrize("revision", ERAS)
async def test_what_only_has_an_id_gets_its_error(revision: str) -> None:
    async with Client(adding(), revision, timeout=5) as client:
        response = await client.raw({"jsonrpc": "2.0", "id": 9})
        none = await client.raw({"jsonrpc": "2.0", "id": 9, "result": {}})

    assert response["error"]["code"] == -32600
    assert none is None
