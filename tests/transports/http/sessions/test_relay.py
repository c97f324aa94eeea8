"""Several processes that serve the same: what concerns a call reaches the one in which it runs."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from tests.transports.http.asgi import SessionClient

from toolhaft import Context, Server
from toolhaft.stores.memory import MemoryBus, MemoryStore
from toolhaft.transports.http.sessions.relay import Relay, Told


class Shared:
    """What all processes have, and what happens in any of them."""

    def __init__(self) -> None:
        self.store, self.bus = MemoryStore(), MemoryBus()
        self.events: asyncio.Queue[str] = asyncio.Queue()

    def app(self, name: str = "shop") -> Any:
        """Another process."""
        server = Server(name, version="1", store=self.store, bus=self.bus)

        @server.tool
        async def wait() -> str:
            self.events.put_nowait("waits")
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.events.put_nowait("cancelled")
                raise
            return "waited"

        @server.tool
        async def order(ctx: Context) -> str:
            return str(await ctx.elicit("Which size?", int))

        return server.asgi("/mcp", sessions="stateful")

    async def happens(self) -> str:
        async with asyncio.timeout(15):
            return await self.events.get()


def joined(app: Any, client: SessionClient) -> SessionClient:
    """The same client, whose next requests come to another process."""
    other = SessionClient(app)
    other.session, other.revision = client.session, client.revision
    return other


async def test_a_call_is_cancelled_by_what_another_process_is_told() -> None:
    shared = Shared()
    here = SessionClient(shared.app())
    await here.shake()
    call = here.start_tool("wait", id=7)
    assert await shared.happens() == "waits"
    there = joined(shared.app(), here)
    answer = await there.tell("notifications/cancelled", requestId=7)

    assert answer.status == 202
    assert await shared.happens() == "cancelled"
    assert (await call.answer()).body == b""


async def test_a_question_may_be_answered_to_another_process() -> None:
    shared = Shared()
    here = SessionClient(shared.app())
    await here.shake(elicitation={})
    call = here.start_tool("order")
    asked = await call.message()
    there = joined(shared.app(), here)
    result = {"action": "accept", "content": {"value": 42}}
    body = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
    answer = await there.post(body, **there.own)

    assert answer.status == 202
    assert "42" in (await call.message())["result"]["content"][0]["text"]


async def test_a_session_that_is_ended_in_one_process_is_over_in_all() -> None:
    shared = Shared()
    here = SessionClient(shared.app())
    await here.shake()
    call = here.start_tool("wait")
    assert await shared.happens() == "waits"
    there = joined(shared.app(), here)
    assert (await there.end()).status == 204

    assert await shared.happens() == "cancelled"
    assert "the session is over" in (await call.answer()).body.decode()
    assert (await here.ask("ping")).status == 404


async def test_services_of_other_names_hear_nothing_of_it() -> None:
    shared = Shared()
    here = SessionClient(shared.app())
    await here.shake()
    here.start_tool("wait", id=7)
    assert await shared.happens() == "waits"
    there = joined(shared.app("bank"), here)
    await there.tell("notifications/cancelled", requestId=7)
    for _ in range(10):
        await asyncio.sleep(0)

    assert shared.events.empty()
    await here.end()


# The relay itself


async def heard(bus: MemoryBus, topic: str = "a") -> tuple[Relay, list[Told]]:
    found: list[Told] = []
    relay = Relay(bus, topic, found.append)
    await relay.open()
    return relay, found


async def test_what_is_told_is_heard_by_all_who_listen() -> None:
    bus = MemoryBus()
    (relay, own), (_, others), (_, foreign) = [await heard(bus, topic) for topic in ("a", "a", "b")]
    await relay.tell("s", b"\x00 anything")
    await relay.tell("s", None)

    assert own == others == [Told("s", b"\x00 anything"), Told("s", None)]
    assert foreign == []


async def test_who_has_left_hears_no_more() -> None:
    bus = MemoryBus()
    relay, found = await heard(bus)
    await relay.close()
    await relay.tell("s", b"x")

    assert found == []


async def test_it_listens_once_however_often_it_is_opened() -> None:
    bus = MemoryBus()
    relay, found = await heard(bus)
    await relay.open()
    await relay.tell("s", b"x")

    assert len(found) == 1


@pytest.mark.parametrize("message", [b"", b"nonsense", msgspec.msgpack.encode([1, 2])])
async def test_what_cannot_be_read_is_told_and_passed_over(
    message: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    bus = MemoryBus()
    relay, found = await heard(bus)
    await bus.publish("a", message)
    await relay.tell("s", b"x")

    assert found == [Told("s", b"x")]
    assert "a message on the bus cannot be read" in caplog.text


async def test_without_a_bus_there_is_nobody_to_tell() -> None:
    found: list[Told] = []
    relay = Relay(None, "a", found.append)
    acts: list[Callable[[], Awaitable[None]]] = [relay.open, relay.close]
    for act in acts:
        await act()
    await relay.tell("s", b"x")

    assert found == []
