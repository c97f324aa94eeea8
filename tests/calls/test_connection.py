"""The calls of one client, over a pair of streams in memory."""

import asyncio
import contextlib
import gc
import json
import logging
import threading
import weakref
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.processes.process import HANDSHAKE, line, tool_call

from toolhaft import Context, Limits, Server
from toolhaft.calls.driver import Driver
from toolhaft.calls.output import Sink
from toolhaft.calls.service import connected
from toolhaft.protocol.calls import Exchange, Next, Result

PATIENCE = 5


class Writer:
    """The half of a stream that the client reads: frames, as they come."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[Any] = asyncio.Queue()
        self.broken = False

    def write(self, data: bytes) -> None:
        for each in data.splitlines():
            self.messages.put_nowait(json.loads(each))

    async def drain(self) -> None:
        if self.broken:
            raise ConnectionResetError


class Client:
    """A client in the same process."""

    def __init__(self, server: Server) -> None:
        self._reader = asyncio.StreamReader()
        self.writer = Writer()
        self.serving = asyncio.create_task(server.serve(self._reader, self.writer))

    def send(self, *messages: object) -> None:
        self._reader.feed_data(b"".join(json.dumps(m).encode() + b"\n" for m in messages))

    def request(self, id_: object, method: str, params: object = None) -> None:
        message = {"jsonrpc": "2.0", "id": id_, "method": method}
        self.send(message if params is None else {**message, "params": params})

    def call(self, id_: object, name: str, /, **arguments: Any) -> None:
        self.request(id_, "tools/call", {"name": name, "arguments": arguments})

    def cancel(self, id_: object) -> None:
        params = {"requestId": id_}
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    async def next(self) -> Any:
        return await asyncio.wait_for(self.writer.messages.get(), PATIENCE)

    async def open(self, revision: str = "2025-11-25") -> "Client":
        params = {
            "protocolVersion": revision,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        self.request("init", "initialize", params)
        assert (await self.next())["id"] == "init"
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    async def end(self) -> None:
        self._reader.feed_eof()
        await asyncio.wait_for(self.serving, PATIENCE)

    def rest(self) -> list[Any]:
        return [self.writer.messages.get_nowait() for _ in range(self.writer.messages.qsize())]


class Stage:
    """A server, and what its tools wait for and tell."""

    def __init__(self, **options: Any) -> None:
        self.server = Server("tested", version="1", **options)
        self.gates: dict[str, asyncio.Event] = {}
        self.told: asyncio.Queue[str] = asyncio.Queue()
        self.server.tool(self.wait)
        self.server.tool(self.add)
        self.server.tool(self.add_plain)

    def gate(self, name: str) -> asyncio.Event:
        return self.gates.setdefault(name, asyncio.Event())

    async def wait(self, name: str) -> str:
        self.told.put_nowait(f"{name} waits")
        try:
            await self.gate(name).wait()
        except asyncio.CancelledError:
            self.told.put_nowait(f"{name} cancelled")
            raise
        return name

    async def add(self, a: int, b: int) -> int:
        return a + b

    def add_plain(self, a: int, b: int) -> int:
        return a + b

    async def hears(self) -> str:
        return await asyncio.wait_for(self.told.get(), PATIENCE)


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
async def client(stage: Stage) -> AsyncIterator[Client]:
    client = await Client(stage.server).open()
    yield client
    if not client.serving.done():
        await client.end()


async def test_calls_are_answered_as_they_end(stage: Stage, client: Client) -> None:
    for name in "abc":
        client.call(name, "wait", name=name)
        await stage.hears()

    order = []
    for name in "cab":
        stage.gate(name).set()
        order.append((await client.next())["id"])

    assert order == ["c", "a", "b"]


async def test_a_second_request_with_an_id_in_use_is_refused(stage: Stage, client: Client) -> None:
    client.call(1, "wait", name="first")
    await stage.hears()

    client.call(1, "add", a=1, b=2)
    refusal = await client.next()
    stage.gate("first").set()
    answer = await client.next()

    assert (refusal["id"], refusal["error"]["code"]) == (1, -32600)
    assert answer["result"]["content"] == [{"type": "text", "text": "first"}]


async def test_an_id_can_be_used_again_after_its_answer(client: Client) -> None:
    for _ in range(2):
        client.call(1, "add", a=1, b=2)
        assert (await client.next())["result"]["structuredContent"] == {"result": 3}


async def test_a_number_and_its_spelling_are_two_ids(stage: Stage, client: Client) -> None:
    client.call(1, "wait", name="number")
    client.call("1", "wait", name="text")
    await stage.hears()
    await stage.hears()

    client.cancel("1")

    assert await stage.hears() == "text cancelled"
    stage.gate("number").set()
    assert (await client.next())["id"] == 1


async def test_a_cancelled_call_is_stopped_and_not_answered(stage: Stage, client: Client) -> None:
    client.call(1, "wait", name="a")
    await stage.hears()

    client.cancel(1)

    assert await stage.hears() == "a cancelled"
    client.request(2, "ping")
    assert (await client.next())["id"] == 2
    await client.end()
    assert client.rest() == []


async def test_a_request_and_its_cancellation_may_come_in_one_chunk(
    stage: Stage, client: Client
) -> None:
    call = {"name": "wait", "arguments": {"name": "a"}}
    client.send(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "id": 2, "method": "ping"},
    )

    assert (await client.next())["id"] == 2
    await client.end()
    assert client.rest() == []


@pytest.mark.parametrize("id_", [99, "1", 1.5, None, [], {}])
async def test_a_cancellation_that_fits_nothing_is_ignored(
    stage: Stage, client: Client, id_: object
) -> None:
    client.call(1, "wait", name="a")
    await stage.hears()

    client.cancel(id_)
    stage.gate("a").set()

    assert (await client.next())["id"] == 1


async def test_an_id_is_free_as_soon_as_its_call_is_cancelled(stage: Stage, client: Client) -> None:
    client.call(1, "wait", name="a")
    await stage.hears()

    client.cancel(1)
    client.call(1, "add", a=1, b=1)

    assert (await client.next())["result"]["structuredContent"] == {"result": 2}


async def test_more_calls_than_the_limit_are_refused_and_there_is_room_later() -> None:
    stage = Stage(limits=Limits(calls=2))
    client = await Client(stage.server).open()
    for name in "ab":
        client.call(name, "wait", name=name)
        await stage.hears()

    client.call("c", "add", a=1, b=1)
    refusal = await client.next()
    stage.gate("a").set()
    await client.next()
    client.call("d", "add", a=1, b=1)

    assert (refusal["id"], refusal["error"]["code"]) == ("c", -32603)
    assert (await client.next())["result"]["structuredContent"] == {"result": 2}
    stage.gate("b").set()
    await client.end()


async def test_a_batch_is_answered_at_once_when_its_last_call_ends(stage: Stage) -> None:
    client = await Client(stage.server).open("2025-03-26")
    wait = {"name": "wait", "arguments": {"name": "a"}}
    plain = {"name": "add_plain", "arguments": {"a": 1, "b": 2}}

    client.send(
        [
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": wait},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": plain},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 3, "method": "ping"},
        ]
    )
    await stage.hears()
    client.request(4, "ping")
    first = await client.next()
    stage.gate("a").set()
    answers = await client.next()

    assert first["id"] == 4
    assert sorted(answer["id"] for answer in answers) == [1, 2, 3]
    await client.end()


async def test_clients_of_one_server_do_not_meet(stage: Stage) -> None:
    first, second = await Client(stage.server).open(), await Client(stage.server).open()
    first.call(1, "wait", name="a")
    second.call(1, "wait", name="b")
    await stage.hears()
    await stage.hears()

    second.cancel(1)

    assert await stage.hears() == "b cancelled"
    stage.gate("a").set()
    assert (await first.next())["result"]["content"] == [{"type": "text", "text": "a"}]
    await first.end()
    await second.end()
    assert second.rest() == []


async def test_a_client_that_has_not_shaken_hands_is_not_taken_for_one_that_has(
    stage: Stage, client: Client
) -> None:
    other = Client(stage.server)

    other.request(1, "tools/list")

    assert (await other.next())["error"]["code"] == -32602
    await other.end()


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, ValueError])
async def test_middleware_that_raises_fails_its_call_only(
    kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    async def guard(exchange: Exchange, call: Next) -> Result:
        if exchange.method == "tools/call":
            raise kind("secret")
        return await call(exchange)

    client = await Client(Stage(middleware=[guard]).server).open()

    with caplog.at_level(logging.CRITICAL):
        client.call(1, "add", a=1, b=2)
        failure = await client.next()
    client.request(2, "ping")

    assert failure["error"]["code"] == -32603
    assert "secret" not in str(failure)
    assert (await client.next())["result"] == {}
    await client.end()


async def test_middleware_sees_every_method_from_the_outside_in() -> None:
    seen: list[tuple[str, str]] = []

    def layer(name: str) -> Any:
        async def middleware(exchange: Exchange, call: Next) -> Result:
            seen.append((name, exchange.method))
            return await call(exchange)

        return middleware

    client = await Client(Stage(middleware=[layer("outer"), layer("inner")]).server).open()
    client.call(1, "add_plain", a=1, b=2)
    await client.next()

    assert seen == [
        ("outer", "initialize"),
        ("inner", "initialize"),
        ("outer", "tools/call"),
        ("inner", "tools/call"),
    ]
    await client.end()


async def test_nothing_is_sent_for_a_call_that_is_over(stage: Stage, client: Client) -> None:
    contexts: list[Context] = []

    @stage.server.tool
    async def keep(ctx: Context) -> str:
        await ctx.progress(1)
        contexts.append(ctx)
        return "kept"

    params = {"name": "keep", "arguments": {}, "_meta": {"progressToken": "p"}}
    await _ping(client, "sync")  # and with it the notice that there is a new tool
    client.request(1, "tools/call", params)
    progress = await client.next()
    answer = await client.next()
    await contexts[0].progress(2)
    await contexts[0].log("error", "too late")

    assert progress["params"]["progress"] == 1
    assert answer["id"] == 1
    await client.end()
    assert client.rest() == []


async def _ping(client: Client, id_: str) -> Any:
    client.request(id_, "ping")
    message = await client.next()
    while message.get("id") != id_:
        message = await client.next()
    return message


async def test_progress_of_a_plain_tool_comes_before_its_answer(stage: Stage) -> None:
    @stage.server.tool
    def counts(ctx: Context) -> str:
        for number in range(1, 4):
            ctx.sync.progress(number, 3)
        return "counted"

    client = await Client(stage.server).open()
    params = {"name": "counts", "arguments": {}, "_meta": {"progressToken": 7}}
    client.request(1, "tools/call", params)

    messages = [await client.next() for _ in range(4)]

    assert [m["params"]["progress"] for m in messages[:3]] == [1, 2, 3]
    assert messages[3]["id"] == 1
    await client.end()


async def test_several_changes_in_one_go_are_told_once(stage: Stage, client: Client) -> None:
    for number in range(3):
        stage.server.add_tool(stage.add, name=f"add_{number}")
    stage.server.remove_tool("add_1")

    notice = await client.next()
    await _ping(client, "sync")

    assert notice == {
        "jsonrpc": "2.0",
        "method": "notifications/tools/list_changed",
        "params": {},
    } or notice == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    assert client.rest() == []


async def test_a_change_is_told_once_the_client_has_said_that_it_is_initialized(
    stage: Stage,
) -> None:
    client = Client(stage.server)
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    client.request("init", "initialize", params)
    await client.next()
    stage.server.add_tool(stage.add, name="another")
    await _ping(client, "sync")
    before = client.rest()

    client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    assert before == []
    assert (await client.next())["method"] == "notifications/tools/list_changed"
    await client.end()


async def test_a_change_may_come_from_another_thread(stage: Stage) -> None:
    stage.server.add_resource(lambda: "x", "r://x", name="x")
    client = await Client(stage.server).open()
    client.request(1, "resources/subscribe", {"uri": "r://x"})
    await client.next()

    thread = threading.Thread(target=stage.server.resource_updated, args=("r://x",))
    thread.start()
    thread.join(PATIENCE)

    notice = await client.next()
    assert (notice["method"], notice["params"]) == (
        "notifications/resources/updated",
        {"uri": "r://x"},
    )
    await client.end()


async def test_the_end_of_input_lets_calls_finish(stage: Stage, client: Client) -> None:
    client.call(1, "wait", name="a")
    await stage.hears()

    ending = asyncio.create_task(client.end())
    await asyncio.sleep(0)
    stage.gate("a").set()
    await ending

    assert [message["id"] for message in client.rest()] == [1]


async def test_the_end_of_input_cancels_what_does_not_finish(stage: Stage, client: Client) -> None:
    client.call(1, "wait", name="a")
    await stage.hears()

    await client.end()

    assert await stage.hears() == "a cancelled"
    assert client.rest() == []


async def test_a_client_that_is_gone_ends_the_service_without_an_error(stage: Stage) -> None:
    client = await Client(stage.server).open()
    client.writer.broken = True

    client.call(1, "add", a=1, b=2)

    await client.end()
    assert client.serving.exception() is None


async def test_cancelling_the_service_cancels_its_calls(stage: Stage, client: Client) -> None:
    client.call(1, "wait", name="a")
    await stage.hears()

    client.serving.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait_for(client.serving, PATIENCE)

    assert await stage.hears() == "a cancelled"


async def test_real_streams_are_served(stage: Stage) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await stage.server.serve(reader, writer)
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*listener.sockets[0].getsockname()[:2])
    writer.write(b'Content-Length: 40\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"ping"}')
    writer.write_eof()

    data = await asyncio.wait_for(reader.read(), PATIENCE)

    assert data == b'Content-Length: 36\r\n\r\n{"jsonrpc":"2.0","id":1,"result":{}}'
    writer.close()
    await writer.wait_closed()
    listener.close()
    await listener.wait_closed()


async def test_an_end_that_is_cut_short_leaves_nothing_behind() -> None:
    server = Server("tested", version="1", limits=Limits(shutdown_seconds=60))
    begun = asyncio.Event()

    @server.tool
    async def wait() -> None:
        begun.set()
        await asyncio.Event().wait()

    drivers: list[weakref.ref[Driver]] = []

    async def serve() -> None:
        async with connected(server, Sink(lambda _: None)) as connection:
            drivers.append(weakref.ref(connection.driver))
            for message in (*HANDSHAKE, tool_call(1, "wait")):
                connection.receive(line(message))
            await asyncio.Event().wait()

    before = asyncio.all_tasks()
    serving = asyncio.create_task(serve())
    await begun.wait()
    for _ in range(2):  # the end, and who does not wait for it
        serving.cancel()
        await asyncio.sleep(0.01)
    with pytest.raises(asyncio.CancelledError):
        await serving
    await asyncio.sleep(0.01)
    del serving
    while gc.collect():
        pass  # what is freed may free more

    assert asyncio.all_tasks() == before
    assert [driver() for driver in drivers] == [None]
