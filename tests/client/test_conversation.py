"""The client's side of a conversation with servers that do not do as they should."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from toolhaft import Context, McpError, Server
from toolhaft.client.conversation import Conversation
from toolhaft.client.transport import Hear, Lost, OneStream
from toolhaft.testing import BadAnswer, Client, NoAnswer, SyncClient

Json = dict[str, Any]
ERAS = ["2025-11-25", "2026-07-28"]


class Scripted(OneStream):
    """A server that is a function: from a message to what it sends back."""

    def __init__(self, answer: Callable[[Json], list[Any]]) -> None:
        self._answer = answer

    async def open(self, hear: Hear, lost: Lost) -> None:
        self.hear, self.lost = hear, lost

    async def send(self, frame: bytes, message: Any) -> None:
        for each in self._answer(message):
            asyncio.get_running_loop().call_soon(self.hear, json.dumps(each).encode())

    async def close(self) -> None: ...


def result(message: Json, **members: Any) -> Json:
    return {"jsonrpc": "2.0", "id": message["id"], "result": members}


def opened(message: Json) -> list[Json]:
    if message.get("method") != "initialize":
        return []
    info = {"name": "scripted", "version": "1"}
    version = message["params"]["protocolVersion"]
    return [result(message, protocolVersion=version, capabilities={}, serverInfo=info)]


def talking(answer: Callable[[Json], list[Any]], timeout: float = 5) -> Conversation:
    info = {"name": "test", "version": "1"}
    return Conversation(Scripted(answer), revision="2025-11-25", info=info, timeout=timeout)


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


def adding() -> Server:
    server = Server("adding", version="1")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    return server


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


# What the protocol does not allow

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
