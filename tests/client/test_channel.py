"""Requests and their responses, of servers that do not do as they should."""

from typing import Any

import pytest
from tests.client.scripted import opened, result, talking

from toolhaft.testing import BadAnswer

Json = dict[str, Any]


async def test_a_list_that_never_ends_is_told() -> None:
    pages = iter(["one", "two", "one", "two", None])

    def answer(message: Json) -> list[Json]:
        if message["method"] != "tools/list":
            return opened(message)
        cursor = next(pages)
        return [result(message, tools=[], **({} if cursor is None else {"nextCursor": cursor}))]

    talk = talking(answer)
    await talk.begin()
    with pytest.raises(BadAnswer, match="tools/list gives the cursor 'one' twice"):
        await talk.all_of("tools/list", "tools")
    await talk.end()


STRANGE: dict[str, Json] = {
    "params that are a list": {"method": "notifications/progress", "params": [2]},
    "params that are a text": {"method": "notifications/message", "params": "x"},
    "a method that is a number": {"method": 5},
    "a request that is none": {"id": 7, "method": "ping", "params": [1]},
}


@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE.keys())
async def test_what_a_stranger_tells_does_not_break_a_call(strange: Json) -> None:
    def answer(message: Json) -> list[Any]:
        if message.get("method") == "tools/call":
            return [{"jsonrpc": "2.0", **strange}, result(message, content=[])]
        return opened(message)

    talk = talking(answer)
    await talk.begin()
    found = await talk.request("tools/call", {"name": "x"}, progress=lambda *_: None)
    await talk.end()

    assert found == {"content": []}


async def test_progress_that_is_none_is_told() -> None:
    def answer(message: Json) -> list[Any]:
        if message.get("method") == "tools/call":
            params = {"progressToken": message["params"]["_meta"]["progressToken"]}
            return [{"jsonrpc": "2.0", "method": "notifications/progress", "params": params}]
        return opened(message)

    talk = talking(answer)
    await talk.begin()
    with pytest.raises(BadAnswer, match="progress without `progress`"):
        await talk.request("tools/call", {"name": "x"}, progress=lambda *_: None)
    await talk.end()
