"""The client's side of a conversation with servers that do not do as they should."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.client.scripted import Scripted, opened, result

from toolhaft import McpError
from toolhaft.client.conversation import Conversation
from toolhaft.testing import BadAnswer, NoAnswer

Json = dict[str, Any]


# A slow start


class Slow(Scripted):
    """A server that reads nothing until it is asked to shake hands, and then all in order."""

    def __init__(self, answer: Callable[[Json], list[Any]]) -> None:
        super().__init__(answer)
        self._held: list[Json] = []
        self._is_awake = False

    async def send(self, frame: bytes, message: Any) -> None:
        self._held.append(message)
        self._is_awake = self._is_awake or message["method"] == "initialize"
        while self._is_awake and self._held:
            await super().send(b"", self._held.pop(0))


def newest_only(message: Json) -> list[Json]:
    if message["method"] == "server/discover":
        return [result(message, supportedVersions=["2026-07-28"], capabilities={"tools": {}})]
    if message["method"] == "initialize":
        error = {"code": -32600, "message": "no handshake after server/discover"}
        return [{"jsonrpc": "2.0", "id": message["id"], "error": error}]
    return []


async def test_a_late_answer_to_the_first_question_counts() -> None:
    info = {"name": "test", "version": "1"}
    talk = Conversation(Slow(newest_only), revision=None, info=info, timeout=0.3)
    await talk.begin()
    await talk.end()

    assert talk.revision.date == "2026-07-28"
    assert talk.capabilities == {"tools": {}}


async def test_a_refused_handshake_says_what_went_before() -> None:
    def answer(message: Json) -> list[Json]:
        return newest_only(message) if message["method"] == "initialize" else []

    info = {"name": "test", "version": "1"}
    talk = Conversation(Scripted(answer), revision=None, info=info, timeout=0.3)
    with pytest.raises(McpError) as caught:
        await talk.begin()
    await talk.end()

    assert "server/discover: no answer within 0.3 seconds" in caught.value.__notes__[0]


async def test_a_server_that_keeps_silent_is_said_to() -> None:
    info = {"name": "test", "version": "1"}
    talk = Conversation(Scripted(lambda _: []), revision=None, info=info, timeout=0.2)
    with pytest.raises(NoAnswer, match="initialize") as caught:
        await talk.begin()
    await talk.end()

    assert "server/discover: no answer" in caught.value.__notes__[0]


async def test_a_late_refusal_of_the_first_question_does_not_shake_hands_twice() -> None:
    asked: list[str] = []

    def answer(message: Json) -> list[Json]:
        asked.append(message["method"])
        if message["method"] == "server/discover":
            error = {"code": -32601, "message": "no such method"}
            return [{"jsonrpc": "2.0", "id": message["id"], "error": error}]
        return opened(message) if "id" in message else []

    info = {"name": "test", "version": "1"}
    talk = Conversation(Slow(answer), revision=None, info=info, timeout=0.3)
    await talk.begin()
    await talk.end()

    assert talk.revision.date == "2025-11-25"
    assert asked[:2] == ["server/discover", "initialize"]
    assert asked.count("initialize") == 1


# What the protocol does not allow


@pytest.mark.parametrize(
    "members",
    [
        {"supportedVersions": 5, "capabilities": {}},
        {"supportedVersions": ["2026-07-28", 5], "capabilities": {}, "_meta": None},
        {"supportedVersions": ["2026-07-28"], "capabilities": [], "_meta": []},
    ],
    ids=["no versions", "no text", "no capabilities"],
)
async def test_a_stranger_may_say_anything_of_itself(members: Json) -> None:
    def answer(message: Json) -> list[Any]:
        if message["method"] == "server/discover":
            return [result(message, **members)]
        return opened(message) if "id" in message else []

    info = {"name": "test", "version": "1"}
    talk = Conversation(Scripted(answer), revision=None, info=info, timeout=5, level="info")
    await talk.begin()
    await talk.end()

    assert talk.capabilities == {}


@pytest.mark.parametrize(
    "asked",
    [[], 5, {"a": None}, {"a": {}}, {"a": {"method": 5}}],
    ids=["a list", "a number", "null", "no method", "no text"],
)
async def test_questions_that_are_none_are_told(asked: Any) -> None:
    def answer(message: Json) -> list[Any]:
        if message["method"] == "server/discover":
            return [result(message, supportedVersions=["2026-07-28"], capabilities={})]
        return [result(message, resultType="input_required", inputRequests=asked)]

    info = {"name": "test", "version": "1"}
    talk = Conversation(Scripted(answer), revision="2026-07-28", info=info, timeout=5)
    await talk.begin()
    with pytest.raises(BadAnswer, match=r"inputRequests|still asks"):
        await talk.request("tools/call", {"name": "x"})
    await talk.end()
