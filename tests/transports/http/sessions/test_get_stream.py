"""Clients that come back, that do not, and that leave in unusual ways."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.asking import NEW, OLD
from tests.transports.http.asgi import (
    ACCEPT,
    Answer,
    App,
    Client,
    Event,
    Exchange,
    Message,
    SessionClient,
    StatelessClient,
    encoded,
    initialize,
    word,
)

from toolhaft import Context, Limits, McpError, Server, testing
from toolhaft.stores.memory import MemoryStore
from toolhaft.transports.http.sessions.event_log import Stream

LONG = "x" * 2000


def new_server(store: MemoryStore | None = None, **limits: Any) -> Server:
    # A store that holds nothing is false.
    kept = MemoryStore() if store is None else store
    server = Server("s", version="1", limits=Limits(**limits), store=kept)
    server.add_tool(lambda: "quick", name="quick")
    server.add_resource(lambda: "1", "a://1", name="one")
    return server


async def shaken(app: App, **headers: str) -> SessionClient:
    client = SessionClient(app, **headers)
    await client.shake()
    return client


def by_name(headers: Any) -> str | None:
    name: str | None = headers.get("authorization")
    return name


def words(answer: Answer) -> list[str]:
    return [word(message) for message in answer.messages]


async def first_message(exchange: Exchange) -> Event:
    """The first event that is one."""
    while not (event := await exchange.event()).data:
        pass
    return event


async def turns(count: int = 20) -> None:
    """Let everybody else do what can be done without waiting."""
    for _ in range(count):
        await asyncio.sleep(0)


async def until(true: Callable[[], bool]) -> None:
    """Wait for something of which nobody is told."""
    async with asyncio.timeout(5):
        while True:
            if true():
                return
            await asyncio.sleep(0)


class Clock:
    """The loop's, which can be put forward."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        self._ahead = 0.0
        real = loop.time
        monkeypatch.setattr(loop, "time", lambda: real() + self._ahead)

    async def put_forward(self, seconds: int) -> None:
        """Let so much time pass, for everybody who waits."""
        for _ in range(seconds):
            self._ahead += 1
            await turns()


class Steps:
    """A tool that goes on when the test says so, and reports each step."""

    def __init__(self, server: Server) -> None:
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self.said = 0
        server.add_tool(self.run, name="steps")

    def say(self, *words: str) -> None:
        """Go so many steps; `end` is the last."""
        for each in words:
            self._queue.put_nowait(each)

    async def run(self, ctx: Context) -> str:
        while (each := await self._queue.get()) != "end":
            await ctx.progress(self.said + 1, message=each)
            self.said += 1
        return "done"


class Talk:
    """A plain tool that reports progress in a loop, and holds a thread meanwhile."""

    def __init__(self, server: Server) -> None:
        self.tried = 0
        self.enough = False
        self.over = False
        server.add_tool(self.run, name="talk")

    def run(self, ctx: Context) -> str:
        try:
            while not self.enough:
                self.tried += 1
                ctx.sync.progress(self.tried, message=LONG)
                ctx.check()
        finally:
            self.over = True
        return "done"


class Held:
    """A tool that waits until the test lets it go."""

    def __init__(self, server: Server) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        server.add_tool(self.run, name="held")

    async def run(self, ctx: Context) -> str:
        if ctx.session is not None:
            ctx.session["used"] = True
        self.begun.set()
        await self.go.wait()
        return "let go"

    async def has_begun(self) -> None:
        await asyncio.wait_for(self.begun.wait(), 5)


class Wire:
    """An application behind a host that raises, or cancels, when a connection is lost."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._task: asyncio.Task[Any] | None = None
        self.is_cut = False
        # How long it takes to pass on a message.
        self.turns = 0

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        async def pass_on(message: Message) -> None:
            if self.is_cut:
                raise OSError("the client is gone")
            await turns(self.turns)
            await send(message)

        self._task = asyncio.current_task()
        await self._app(scope, receive, pass_on)

    def cancel(self) -> None:
        """End the request that came last."""
        assert self._task is not None
        self._task.cancel()


class WaitingStore(MemoryStore):
    """One that is far away."""

    turns = 1

    async def get(self, key: str) -> bytes | None:
        await turns(self.turns)
        return await super().get(key)

    async def put(self, key: str, value: bytes, *, seconds: float) -> None:
        await turns(self.turns)
        await super().put(key, value, seconds=seconds)

    async def delete(self, key: str) -> None:
        await turns(self.turns)
        await super().delete(key)

    async def append(self, key: str, values: list[bytes], *, after: int, seconds: float) -> None:
        await turns(self.turns)
        await super().append(key, values, after=after, seconds=seconds)

    async def after(self, key: str, position: int) -> list[bytes] | None:
        await turns(self.turns)
        found = await super().after(key, position)
        await turns(self.turns)
        return found


async def broken(server: Server) -> tuple[SessionClient, Steps, Event]:
    """A client whose connection broke after the first message of a call, which goes on."""
    steps, client = Steps(server), await shaken(server.asgi())
    call = client.start_tool("steps", id=3, meta={"progressToken": 1})
    steps.say("a")
    last = await first_message(call)
    call.disconnect()
    await call.ended()
    return client, steps, last


# The end of a session


async def test_a_session_that_is_ended_during_a_call_is_over() -> None:
    server = new_server()
    held, client = Held(server), await shaken(server.asgi())
    call = client.start_tool("held")
    await held.has_begun()
    await client.end()
    await call.answer()

    assert (await client.ask("ping")).status == 404


async def test_a_session_that_is_ended_during_a_call_is_not_stored_again() -> None:
    store = MemoryStore()
    server = new_server(store)
    held, client = Held(server), await shaken(server.asgi())
    call = client.start_tool("held")
    await held.has_begun()
    await client.end()
    await call.answer()
    elsewhere = SessionClient(new_server(store).asgi())
    elsewhere.session = client.session

    assert (await elsewhere.ask("ping")).status == 404


async def test_the_end_of_a_session_answers_its_calls_with_an_error() -> None:
    server = new_server()
    held, client = Held(server), await shaken(server.asgi())
    call = client.start_tool("held", id=6)
    await held.has_begun()
    await client.end()
    answer = await call.answer()

    assert answer.status != 202
    assert (answer.json["id"], answer.code) == (6, -32603)


async def test_the_end_of_a_session_ends_the_stream_of_a_call_with_an_error() -> None:
    server = new_server()
    steps, client = Steps(server), await shaken(server.asgi())
    call = client.start_tool("steps", id=6, meta={"progressToken": 1})
    steps.say("a")
    await first_message(call)
    await client.end()
    last = (await call.answer()).messages[-1]

    assert (last["id"], last["error"]["code"]) == (6, -32603)


async def test_the_end_of_a_session_leaves_the_calls_of_others_alone() -> None:
    server = new_server()
    held, client = Held(server), await shaken(server.asgi())
    other = await shaken(client.app)
    call = client.start_tool("held")
    await held.has_begun()
    await other.end()
    held.go.set()

    assert (await call.answer()).text == "let go"


# Connections that are lost


async def test_a_connection_that_cannot_be_written_to_frees_the_thread_of_its_call() -> None:
    server = new_server(threads=1, waiting_bytes=1000, progress_per_second=1_000_000)
    talk, wire = Talk(server), Wire(server.asgi())
    client = StatelessClient(wire)
    call = client.start_tool("talk", meta={"progressToken": 1})
    await first_message(call)
    wire.is_cut = True
    await call.ended()
    wire.is_cut = False

    assert (await client.tool("quick")).text == "quick"
    await until(lambda: talk.over)


async def test_a_call_of_a_session_goes_on_when_its_connection_cannot_be_written_to() -> None:
    server = new_server(threads=1, waiting_bytes=1000, progress_per_second=1_000_000)
    talk, wire = Talk(server), Wire(server.asgi())
    client = await shaken(wire)
    call = client.start_tool("talk", meta={"progressToken": 1})
    await first_message(call)
    wire.is_cut = True
    await call.ended()
    wire.is_cut = False
    tried = talk.tried
    await until(lambda: talk.tried > tried + 5)
    talk.enough = True

    assert (await client.tool("quick", id=2)).text == "quick"


@pytest.mark.parametrize("kind", [StatelessClient, SessionClient])
async def test_a_connection_that_cannot_be_written_to_is_no_bug(
    kind: type[StatelessClient | SessionClient], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    server = new_server(threads=1, waiting_bytes=1000, progress_per_second=1_000_000)
    talk, wire = Talk(server), Wire(server.asgi())
    client = kind(wire)
    if isinstance(client, SessionClient):
        await client.shake()
    call = client.start_tool("talk", meta={"progressToken": 1})
    await first_message(call)
    wire.is_cut = True
    await call.ended()
    talk.enough = True
    await until(lambda: talk.over)
    await turns()

    assert [record.getMessage() for record in caplog.records] == []


async def test_an_answer_that_cannot_be_written_is_no_bug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    server = new_server()
    wire = Wire(server.asgi())
    wire.is_cut = True
    await StatelessClient(wire).start_tool("quick").ended()

    assert [record.getMessage() for record in caplog.records] == []


@pytest.mark.parametrize("kind", [StatelessClient, SessionClient])
async def test_a_host_that_cancels_a_request_frees_the_thread_of_its_call(
    kind: type[StatelessClient | SessionClient],
) -> None:
    server = new_server(threads=1, waiting_bytes=1000, progress_per_second=1_000_000)
    talk, wire = Talk(server), Wire(server.asgi())
    client = kind(wire)
    if isinstance(client, SessionClient):
        await client.shake()
    call = client.start_tool("talk", meta={"progressToken": 1})
    call.stop_reading()
    await until(lambda: talk.tried > 1)
    wire.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call.ended()

    assert (await client.tool("quick")).text == "quick"
    await until(lambda: talk.over)


# Clients that are back, and do not read


async def test_a_call_goes_on_when_its_client_comes_back_and_does_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = new_server(stall_seconds=4, waiting_bytes=1000)
    client, steps, last = await broken(server)
    stream = client.listen(last_event_id=str(last.id))
    await stream.begun()
    stream.stop_reading()
    steps.say(*[LONG] * 5)
    await Clock(monkeypatch).put_forward(20)

    assert steps.said == 6


async def test_a_client_that_is_back_and_does_not_read_is_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = new_server(stall_seconds=4, waiting_bytes=1000)
    client, steps, last = await broken(server)
    stream = client.listen(last_event_id=str(last.id))
    await stream.begun()
    stream.stop_reading()
    steps.say(*[LONG] * 5)
    await Clock(monkeypatch).put_forward(20)

    await stream.ended()


async def test_a_client_that_did_not_read_can_come_back_once_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = new_server(stall_seconds=4, waiting_bytes=1000)
    client, steps, last = await broken(server)
    stream = client.listen(last_event_id=str(last.id))
    await stream.begun()
    stream.stop_reading()
    steps.say(*[LONG] * 5)
    await Clock(monkeypatch).put_forward(20)
    await stream.ended()
    again = client.listen(last_event_id=str(last.id))
    steps.say("b", "end")

    assert words(await again.answer()) == [*[LONG] * 5, "b", "done"]


async def test_a_client_that_is_back_and_does_not_read_frees_the_thread_of_its_call() -> None:
    server = new_server(
        threads=1, stall_seconds=0.1, waiting_bytes=1000, progress_per_second=1_000_000
    )
    talk, client = Talk(server), await shaken(server.asgi())
    call = client.start_tool("talk", meta={"progressToken": 1})
    last = await first_message(call)
    call.disconnect()
    await call.ended()
    stream = client.listen(last_event_id=str(last.id))
    await stream.begun()
    stream.stop_reading()
    await stream.ended()
    tried = talk.tried
    await until(lambda: talk.tried > tried + 5)
    talk.enough = True

    assert (await client.tool("quick", id=2)).text == "quick"


# Coming back


async def test_a_client_that_has_missed_nothing_comes_back_however_late() -> None:
    now = [0.0]
    store = MemoryStore(clock=lambda: now[0])
    client, steps, last = await broken(new_server(store, resume_seconds=60))
    now[0] = 61
    stream = client.listen(last_event_id=str(last.id))
    status = await stream.begun()
    steps.say("b", "end")

    assert status == 200
    assert words(await stream.answer()) == ["b", "done"]


@pytest.mark.parametrize("pause", range(10))
async def test_what_is_said_while_the_log_is_read_comes_once(pause: int) -> None:
    client, steps, last = await broken(new_server(WaitingStore()))
    steps.say("b")
    stream = client.listen(last_event_id=str(last.id))
    await turns(pause)
    steps.say("c")
    await turns(pause)
    steps.say("d", "end")

    assert words(await stream.answer()) == ["b", "c", "d", "done"]


@pytest.mark.parametrize("pause", range(10))
async def test_events_keep_their_order_and_place_while_the_log_is_read(pause: int) -> None:
    client, steps, last = await broken(new_server(WaitingStore()))
    steps.say("b")
    stream = client.listen(last_event_id=str(last.id))
    await turns(pause)
    steps.say("c", "d", "end")
    ids = [str(event.id) for event in (await stream.answer()).events]
    number = str(last.id).partition("-")[0]

    assert ids == [f"{number}-{place}" for place in (2, 3, 4, 5)]


@pytest.mark.parametrize("pause", range(10))
async def test_a_client_that_comes_and_goes_hears_everything_once(pause: int) -> None:
    client, steps, last = await broken(new_server(WaitingStore()))
    heard: list[str] = []
    for each in "bcdef":
        stream = client.listen(last_event_id=str(last.id))
        await turns(pause)
        steps.say(each)
        last = await first_message(stream)
        heard.append(word(last.message))
        stream.disconnect()
        await stream.ended()
    steps.say("end")
    rest = await client.listen(last_event_id=str(last.id)).answer()

    assert [*heard, *words(rest)] == ["b", "c", "d", "e", "f", "done"]


@pytest.mark.parametrize("pause", range(10))
async def test_a_client_that_is_back_before_its_break_is_noticed_hears_everything_once(
    pause: int,
) -> None:
    server = new_server(WaitingStore())
    steps, client = Steps(server), await shaken(server.asgi())
    call = client.start_tool("steps", meta={"progressToken": 1})
    steps.say("a")
    last = await first_message(call)
    steps.say("b")
    stream = client.listen(last_event_id=str(last.id))
    await turns(pause)
    steps.say("c", "end")

    assert words(await stream.answer()) == ["b", "c", "done"]


@pytest.mark.parametrize("store", [MemoryStore, WaitingStore])
async def test_of_two_connections_that_come_back_at_once_the_first_is_ended(
    store: type[MemoryStore],
) -> None:
    client, steps, last = await broken(new_server(store()))
    first, second = [client.listen(last_event_id=str(last.id)) for _ in range(2)]
    await second.begun()
    await first.answer()
    steps.say("b", "end")

    assert first.body == b""
    assert words(await second.answer()) == ["b", "done"]


# Bursts


def add_burst(server: Server) -> None:
    async def burst(ctx: Context) -> str:
        await ctx.log("error", "first")
        await asyncio.gather(*(ctx.log("error", "x" * 9000) for _ in range(20)))
        await ctx.log("error", "last")
        return "done"

    server.add_tool(burst)


@pytest.mark.parametrize("store", [MemoryStore, WaitingStore])
async def test_a_burst_does_not_cut_off_a_client_that_reads(store: type[MemoryStore]) -> None:
    server = new_server(store(), waiting_bytes=10_000)
    add_burst(server)
    client = StatelessClient(server.asgi())
    answer = await client.tool("burst", meta={"io.modelcontextprotocol/logLevel": "debug"})

    assert len(answer.messages) == 23
    assert word(answer.messages[-1]) == "done"


@pytest.mark.parametrize("store", [MemoryStore, WaitingStore])
async def test_a_burst_does_not_cut_off_a_client_of_a_session_that_reads(
    store: type[MemoryStore],
) -> None:
    server = new_server(store(), waiting_bytes=10_000)
    add_burst(server)
    client = await shaken(server.asgi())
    answer = await client.tool("burst")

    assert len(answer.messages) == 23
    assert word(answer.messages[-1]) == "done"


async def test_a_burst_does_not_cut_off_a_client_whose_host_takes_a_moment_to_write() -> None:
    server = new_server(waiting_bytes=10_000)
    add_burst(server)
    wire = Wire(server.asgi())
    wire.turns = 1
    client = StatelessClient(wire)
    answer = await client.tool("burst", meta={"io.modelcontextprotocol/logLevel": "debug"})

    assert len(answer.messages) == 23
    assert word(answer.messages[-1]) == "done"


# Too many sessions


async def test_nobody_ends_a_session_in_which_a_call_is_under_way() -> None:
    server = new_server(sessions=2)
    held, app = Held(server), server.asgi(guard=by_name)
    alice = await shaken(app, authorization="alice")
    call = alice.start_tool("held")
    await held.has_begun()
    for _ in range(3):
        await shaken(app, authorization="bob")
    held.go.set()

    assert (await call.answer()).text == "let go"
    assert (await alice.ask("ping")).status == 200


async def test_nobody_ends_a_session_whose_client_listens() -> None:
    app = new_server(sessions=2).asgi(guard=by_name)
    alice = await shaken(app, authorization="alice")
    stream = alice.listen()
    await stream.event()
    for _ in range(3):
        await shaken(app, authorization="bob")

    assert not stream.complete
    assert (await alice.ask("ping")).status == 200


async def test_a_session_too_many_is_503_when_all_others_are_in_use() -> None:
    server = new_server(sessions=1)
    held, app = Held(server), server.asgi(guard=by_name)
    alice = await shaken(app, authorization="alice")
    call = alice.start_tool("held")
    await held.has_begun()
    answer = await SessionClient(app, authorization="bob").post(initialize())
    held.go.set()
    await call.answer()

    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert "mcp-session-id" not in answer.headers


async def test_there_is_room_for_a_session_again_when_another_is_idle() -> None:
    server = new_server(sessions=1)
    held, app = Held(server), server.asgi(guard=by_name)
    alice = await shaken(app, authorization="alice")
    call = alice.start_tool("held")
    await held.has_begun()
    bob = SessionClient(app, authorization="bob")
    await bob.post(initialize())
    held.go.set()
    await call.answer()
    await bob.shake()

    assert (await bob.ask("ping")).status == 200


async def test_a_session_too_many_ends_an_idle_one_of_the_same_principal_first() -> None:
    app = new_server(sessions=2).asgi(guard=by_name)
    alice = await shaken(app, authorization="alice")
    bob = await shaken(app, authorization="bob")
    again = await shaken(app, authorization="bob")

    statuses = [(await client.ask("ping")).status for client in (alice, bob, again)]
    assert statuses == [200, 404, 200]


# Slow bodies, and slow answers


async def sent_in_parts(client: SessionClient, clock: Clock) -> Answer:
    """A body of which a part comes every three seconds, for half a minute."""
    data = encoded(initialize())
    step = len(data) // 10 + 1
    fields = {"content-type": "application/json", "accept": ACCEPT}
    exchange = client.begin("POST", {**fields, "content-length": str(len(data))})
    for start in range(0, len(data), step):
        exchange.feed(data[start : start + step], more=start + step < len(data))
        await turns()
        await clock.put_forward(3)
    return await exchange.answer()


async def test_a_body_that_comes_steadily_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    client = SessionClient(new_server(stall_seconds=8, body_seconds=60).asgi())

    assert (await sent_in_parts(client, Clock(monkeypatch))).status == 200


async def test_a_body_that_takes_too_long_in_all_is_408(monkeypatch: pytest.MonkeyPatch) -> None:
    client = SessionClient(new_server(stall_seconds=8, body_seconds=15).asgi())
    answer = await sent_in_parts(client, Clock(monkeypatch))

    assert (answer.status, answer.headers["connection"]) == (408, "close")


async def test_a_body_that_stops_coming_is_408(monkeypatch: pytest.MonkeyPatch) -> None:
    client = SessionClient(new_server(stall_seconds=2, body_seconds=60).asgi())

    assert (await sent_in_parts(client, Clock(monkeypatch))).status == 408


async def test_half_a_body_is_not_waited_for_longer_than_15_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = SessionClient(new_server().asgi())
    clock = Clock(monkeypatch)
    exchange = client.begin("POST", {"content-type": "application/json", "content-length": "99"})
    exchange.feed(b"{", more=True)
    await turns()
    await clock.put_forward(15)

    assert exchange.status == 408


async def test_a_body_of_which_nothing_comes_is_not_waited_for_longer_than_15_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = SessionClient(new_server().asgi())
    clock = Clock(monkeypatch)
    exchange = client.begin("POST", {"content-type": "application/json", "content-length": "99"})
    await turns()
    await clock.put_forward(15)

    assert exchange.status == 408


async def test_a_handshake_that_takes_us_long_is_not_the_clients_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go = asyncio.Event()

    async def slowly(exchange: Any, following: Any) -> Any:
        await go.wait()
        return await following(exchange)

    server = Server("s", version="1", middleware=[slowly], limits=Limits(stall_seconds=4))
    server.add_tool(lambda: "x", name="x")
    call = SessionClient(server.asgi()).open("POST", initialize())
    await turns()
    await Clock(monkeypatch).put_forward(20)
    go.set()

    assert (await call.answer()).status == 200


# News


async def test_a_client_that_comes_back_for_its_news_takes_over() -> None:
    server = new_server()
    client = await shaken(server.asgi())
    first = client.listen()
    primer = await first.event()
    second = client.listen(last_event_id=str(primer.id))
    status = await second.begun()
    await first.ended()
    server.add_tool(lambda: "y", name="y")
    message = await second.message()

    assert status == 200
    assert message["method"] == "notifications/tools/list_changed"
    assert b"list_changed" not in first.body


async def test_a_client_that_takes_over_its_news_hears_what_it_missed() -> None:
    server = new_server()
    client = await shaken(server.asgi())
    first = client.listen()
    primer = await first.event()
    server.add_tool(lambda: "y", name="y")
    await first.message()
    second = client.listen(last_event_id=str(primer.id))

    assert (await second.message())["method"] == "notifications/tools/list_changed"


async def test_news_go_on_after_a_client_took_over_twice() -> None:
    server = new_server()
    client = await shaken(server.asgi())
    primer = await client.listen().event()
    second = client.listen(last_event_id=str(primer.id))
    await second.begun()
    third = client.listen(last_event_id=str(primer.id))
    await third.begun()
    await second.ended()
    server.add_tool(lambda: "y", name="y")

    assert (await third.message())["method"] == "notifications/tools/list_changed"


@pytest.mark.parametrize("pause", range(10))
async def test_news_that_come_while_a_client_takes_over_come_once(pause: int) -> None:
    server = new_server(WaitingStore())
    client = await shaken(server.asgi())
    first = client.listen()
    primer = await first.event()
    second = client.listen(last_event_id=str(primer.id))
    await turns(pause)
    server.add_tool(lambda: "y", name="y")
    await second.message()
    await turns()
    server.add_resource(lambda: "2", "a://2", name="two")

    assert (await second.message())["method"] == "notifications/resources/list_changed"


# What is in the store


def shared(store: MemoryStore) -> Server:
    server = new_server(store)

    @server.tool
    async def keep(ctx: Context) -> str:
        assert ctx.session is not None
        ctx.session["kept"] = "yes"
        return "x"

    @server.tool
    async def keep_later(ctx: Context) -> str:
        assert ctx.session is not None
        await asyncio.sleep(0.001)
        ctx.session["kept"] = "yes"
        return "x"

    @server.tool
    async def keep_loudly(ctx: Context) -> str:
        assert ctx.session is not None
        await ctx.progress(1)
        await asyncio.sleep(0.001)
        ctx.session["kept"] = "yes"
        return "x"

    @server.tool
    def keep_plainly(ctx: Context) -> str:
        assert ctx.session is not None
        time.sleep(0.01)
        ctx.session["kept"] = "yes"
        return "x"

    @server.tool
    async def kept(ctx: Context) -> str:
        assert ctx.session is not None
        return str(ctx.session.get("kept", "no"))

    return server


@pytest.mark.parametrize("name", ["keep", "keep_later", "keep_loudly", "keep_plainly"])
async def test_who_has_the_answer_finds_what_was_kept_at_another_endpoint(name: str) -> None:
    class Far(WaitingStore):
        turns = 50

    store = Far()
    client = await shaken(shared(store).asgi())
    elsewhere = SessionClient(shared(store).asgi())
    elsewhere.session = client.session
    call = client.start_tool(name, meta={"progressToken": 1})
    await until(lambda: call.complete)
    store.turns = 0

    assert (await elsewhere.tool("kept")).text == "yes"


async def test_who_has_subscribed_has_done_so_at_another_endpoint() -> None:
    class Far(WaitingStore):
        turns = 50

    store = Far()
    client = await shaken(shared(store).asgi())
    other = shared(store)
    elsewhere = SessionClient(other.asgi())
    elsewhere.session = client.session
    call = client.start("resources/subscribe", uri="a://1")
    await until(lambda: call.complete)
    store.turns = 0
    stream = elsewhere.listen()
    await stream.event()
    other.resource_updated("a://1")

    assert (await stream.message())["params"] == {"uri": "a://1"}


# The service


async def test_a_service_that_begins_again_is_ready_again() -> None:
    app: Any = new_server().asgi()
    statuses: list[int] = []
    for _ in range(2):
        async with app.lifespan():
            health = Client(app).begin("GET", {}, path="/readyz")
            health.feed(b"")
            statuses.append((await health.answer()).status)

    assert statuses == [200, 200]


async def test_a_service_that_begins_again_serves_again() -> None:
    app: Any = new_server().asgi()
    said: list[str] = []
    for _ in range(2):
        async with (
            app.lifespan(),
            testing.Client.asgi(app, revision=NEW, lifespan=False) as client,
        ):
            said.append(await client.call("quick"))

    assert said == ["quick", "quick"]


# Interests


def long_uri(number: int) -> str:
    return f"a://{number}/".ljust(8192, "x")


async def follow(client: testing.Client, *uris: str) -> None:
    for uri in uris:
        await client.request("resources/subscribe", {"uri": uri})


EIGHT = [long_uri(number) for number in range(8)]


async def test_so_many_characters_of_uris_can_be_followed() -> None:
    async with testing.Client.asgi(new_server().asgi(), revision=OLD) as client:
        await follow(client, *EIGHT)
        responses = client.wire.received[-8:]

    assert [each["result"] for each in responses] == [{}] * 8


async def test_too_many_characters_of_uris_are_refused() -> None:
    async with testing.Client.asgi(new_server().asgi(), revision=OLD) as client:
        await follow(client, *EIGHT)
        with pytest.raises(McpError, match="65536") as refused:
            await follow(client, "a://1")

    assert refused.value.code == -32602


async def test_too_many_characters_of_uris_are_refused_without_a_session() -> None:
    async with testing.Client.asgi(new_server().asgi(), revision=NEW) as client:
        with pytest.raises(McpError) as refused:
            async with client.subscribe(*EIGHT, long_uri(8)):
                pass

    assert refused.value.code == -32602


async def test_there_is_room_for_a_uri_again_when_another_is_not_followed() -> None:
    async with testing.Client.asgi(new_server().asgi(), revision=OLD) as client:
        await follow(client, *EIGHT)
        await client.request("resources/unsubscribe", {"uri": long_uri(0)})
        await follow(client, "a://1")

        assert client.wire.received[-1]["result"] == {}


# Sessions that are in use for longer than they may be idle


async def test_a_session_lives_on_after_a_call_that_took_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, server = Clock(monkeypatch), new_server(session_seconds=10)
    held, client = Held(server), await shaken(server.asgi())
    call = client.start_tool("held")
    await held.has_begun()
    await clock.put_forward(20)
    held.go.set()
    await call.answer()
    await forgotten(server)

    assert (await client.ask("ping")).status == 200


async def test_a_session_lives_on_after_its_client_has_listened_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, server = Clock(monkeypatch), new_server(session_seconds=10)
    client = await shaken(server.asgi())
    stream = client.listen()
    await stream.begun()
    await clock.put_forward(20)
    stream.disconnect()
    await stream.ended()
    await forgotten(server)
    alive = (await client.ask("ping")).status
    await clock.put_forward(11)
    await forgotten(server)

    assert (alive, (await client.ask("ping")).status) == (200, 404)


async def forgotten(server: Server) -> None:
    """The store has another clock, which cannot be put forward."""
    store: Any = server.store
    for key in list(store._entries):
        await store.delete(key)


class Slow:
    """A response that begins when the test says so."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.text = b""

    async def begin(self) -> None:
        await self.go.wait()

    async def write(self, text: bytes, *, last: bool = False) -> None:
        self.text += text


@pytest.mark.parametrize("missed", [0, 1])
async def test_a_call_that_ends_while_its_stream_is_told_again_ends_that_stream(
    missed: int,
) -> None:
    stream, response = Stream(), Slow()
    stream.keep(MemoryStore(), "session", 7, seconds=60)
    await stream.send([b"heard"])
    await stream.send([b"missed"] * missed)
    there: Any = response
    resuming = asyncio.ensure_future(stream.resume(there, 1))
    await turns()
    await stream.send([b"the answer"], last=True)
    response.go.set()
    released = await resuming

    assert released is not None
    assert released.done()
    assert response.text.count(b"missed") == missed
    assert response.text.count(b"the answer") == 1
