"""Streams of sessions: news, and what is told to a client whose connection broke."""

import asyncio
import threading
from typing import Any

import pytest
from tests.asking import OLD
from tests.transports.http.asgi import App, Event, Exchange, SessionClient, word

from toolhaft import Context, Limits, Server
from toolhaft.stores.memory import MemoryStore
from toolhaft.testing import Client
from toolhaft.transports.http.pending_reply import Reply


class Steps:
    """A tool that goes on when the test says so, and reports each step."""

    def __init__(self, server: Server) -> None:
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self.said = 0
        self.came = asyncio.Condition()
        server.add_tool(self.run, name="steps")

    def say(self, *words: str) -> None:
        """Go so many steps; `end` is the last, `hang up` ends the connection."""
        for each in words:
            self._queue.put_nowait(each)

    async def run(self, ctx: Context) -> str:
        while (word := await self._queue.get()) != "end":
            if word == "hang up":
                ctx.hang_up()
            else:
                self.said += 1
                await ctx.progress(self.said, message=word)
                async with self.came:
                    self.came.notify_all()
        return "done"


def new_server(**options: Any) -> Server:
    server = Server("s", version="1", **options)
    server.add_tool(lambda: "x", name="x")
    server.add_resource(lambda: "1", "a://1", name="one")
    return server


async def shaken(server: Server, revision: str = "2025-11-25", **options: Any) -> SessionClient:
    client = SessionClient(server.asgi(**options))
    await client.shake(revision)
    return client


def method(message: Any) -> str:
    name: str = message["method"]
    return name


async def words(exchange: Exchange, count: int) -> list[str]:
    return [word(await exchange.message()) for _ in range(count)]


# News


async def test_news_come_on_the_stream_of_a_session() -> None:
    server = new_server()
    async with (
        Client.asgi(server.asgi(), revision=OLD) as client,
        client.listen(tools=True) as news,
    ):
        server.add_tool(lambda: "y", name="y")

        assert (await news.next()).method == "notifications/tools/list_changed"


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18"])
async def test_the_stream_begins_at_once(revision: str) -> None:
    stream = (await shaken(new_server(), revision)).listen()

    assert await stream.begun() == 200
    assert stream.headers["content-type"] == "text/event-stream"
    assert stream.headers["x-accel-buffering"] == "no"


async def test_resources_are_reported_to_whom_has_subscribed() -> None:
    server = new_server()
    app = server.asgi()
    heard: list[Any] = []
    async with (
        Client.asgi(app, revision=OLD) as follows,
        Client.asgi(app, revision=OLD, lifespan=False, on_notice=heard.append) as other,
        follows.subscribe("a://1") as updates,
        other.listen(tools=True) as changes,
    ):
        server.resource_updated("a://1")
        server.add_tool(lambda: "y", name="y")

        assert (await updates.next()).uri == "a://1"
        await changes.next()

    assert [notice.method for notice in heard] == ["notifications/tools/list_changed"]


async def test_resources_are_not_reported_after_unsubscribing() -> None:
    server = new_server()
    heard: list[Any] = []
    async with Client.asgi(server.asgi(), revision=OLD, on_notice=heard.append) as client:
        await client.request("resources/subscribe", {"uri": "a://1"})
        await client.request("resources/unsubscribe", {"uri": "a://1"})
        async with client.listen(tools=True) as changes:
            server.resource_updated("a://1")
            server.add_tool(lambda: "y", name="y")
            await changes.next()

    assert [notice.method for notice in heard] == ["notifications/tools/list_changed"]


async def test_news_that_were_missed_come_when_the_client_listens() -> None:
    server = new_server()
    client = await shaken(server)
    await client.ask("resources/subscribe", uri="a://1")
    server.resource_updated("a://1")
    await client.ask("ping")

    assert method(await client.listen().message()) == "notifications/resources/updated"


async def test_news_that_were_missed_come_once() -> None:
    server = new_server()
    client = await shaken(server)
    server.add_tool(lambda: "y", name="y")
    await client.ask("ping")
    first = client.listen()
    await first.message()
    first.disconnect()
    await first.ended()
    second = client.listen()
    await second.event()
    server.add_resource(lambda: "2", "a://2", name="two")

    assert method(await second.message()) == "notifications/resources/list_changed"


async def test_news_that_come_as_the_client_leaves_are_not_lost() -> None:
    server = new_server()
    client = await shaken(server)
    stream = client.listen()
    await stream.event()
    stream.disconnect()
    server.add_tool(lambda: "y", name="y")
    await stream.ended()
    assert b"list_changed" not in stream.body

    assert method(await client.listen().message()) == "notifications/tools/list_changed"


async def test_one_stream_of_news_is_enough() -> None:
    client = await shaken(new_server())
    stream = client.listen()
    await stream.event()

    assert (await client.listen().answer()).status == 409
    assert not stream.complete


async def test_a_client_that_has_left_may_listen_again() -> None:
    client = await shaken(new_server())
    stream = client.listen()
    await stream.event()
    stream.disconnect()
    await stream.ended()

    assert await client.listen().begun() == 200


async def test_a_quiet_stream_is_told_that_we_are_still_here() -> None:
    client = await shaken(new_server(limits=Limits(quiet_seconds=0.01)), "2025-06-18")
    stream = client.listen()

    assert [(await stream.event()).comment for _ in range(2)] == ["still here", "still here"]


async def test_a_stream_of_news_ends_with_the_service() -> None:
    server = new_server()
    app: Any = server.asgi()
    client = SessionClient(app)
    await client.shake()
    stream = client.listen()
    await stream.event()
    app.end_streams()

    assert (await stream.answer()).messages == []


async def test_who_does_not_take_events_gets_none() -> None:
    client = await shaken(new_server())
    answer = await client.request("GET", **client.own, accept="application/json")

    assert answer.status == 406


async def test_no_more_streams_than_allowed_are_open() -> None:
    first = await shaken(new_server(limits=Limits(streams=1)))
    second = SessionClient(first.app)
    await second.shake()
    await first.listen().event()
    answer = await second.listen().answer()

    assert (answer.status, answer.headers["retry-after"]) == (503, "5")


async def test_a_message_goes_to_one_stream_only() -> None:
    server = new_server()
    steps, client = Steps(server), await shaken(server)
    news = client.listen()
    await news.event()
    call = client.start_tool("steps", meta={"progressToken": 1})
    steps.say("a", "end")
    await call.answer()
    server.add_tool(lambda: "y", name="y")

    assert method(await news.message()) == "notifications/tools/list_changed"
    assert b"list_changed" not in call.body


# Priming


async def test_a_stream_begins_with_an_event_to_come_back_to() -> None:
    server = new_server()
    steps, client = Steps(server), await shaken(server)
    call = client.start_tool("steps", meta={"progressToken": 1})
    steps.say("a")
    first = await call.event()

    assert (first.data, first.comment) == ("", None)
    assert first.id
    assert first.retry
    assert first.retry.isdigit()


async def test_the_stream_of_news_begins_with_an_event_to_come_back_to() -> None:
    first = await (await shaken(new_server())).listen().event()

    assert first.data == ""
    assert first.id
    assert first.retry


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18"])
async def test_older_clients_are_sent_no_event_without_a_message(revision: str) -> None:
    server = new_server()
    steps, client = Steps(server), await shaken(server, revision)
    call = client.start_tool("steps", meta={"progressToken": 1})
    steps.say("a", "end")
    answer = await call.answer()

    assert [(bool(event.id), event.retry, bool(event.data)) for event in answer.events] == [
        (True, None, True),
        (True, None, True),
    ]


async def test_without_a_session_events_have_no_ids() -> None:
    server = new_server()
    steps, client = Steps(server), await shaken(server, sessions="stateless")
    call = client.start_tool("steps", meta={"progressToken": 1})
    steps.say("a", "end")

    assert [event.id for event in (await call.answer()).events] == [None, None]


async def test_ids_of_events_are_unique_in_a_session() -> None:
    server = new_server()
    steps, client = Steps(server), await shaken(server)
    ids = []
    for number in range(5):
        call = client.start_tool("steps", id=number, meta={"progressToken": 1})
        steps.say("a", "end")
        ids += [event.id for event in (await call.answer()).events]

    assert len(set(ids)) == len(ids) == 15


# Coming back


async def broken(
    server: Server, revision: str = "2025-11-25"
) -> tuple[SessionClient, Steps, Event]:
    """A client whose connection broke after the first message of a call, which goes on."""
    steps, client = Steps(server), await shaken(server, revision)
    call = client.start_tool("steps", id=3, meta={"progressToken": 1})
    steps.say("a")
    last = await call.event()
    while not last.data:
        last = await call.event()
    call.disconnect()
    await call.ended()
    return client, steps, last


async def said(steps: Steps, *words: str) -> None:
    """Let a call that nobody hears take these steps."""
    goal = steps.said + sum(word not in ("end", "hang up") for word in words)
    steps.say(*words)
    async with asyncio.timeout(5), steps.came:
        await steps.came.wait_for(lambda: steps.said == goal)


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18", "2025-11-25"])
async def test_a_client_that_comes_back_hears_what_it_missed(revision: str) -> None:
    client, steps, last = await broken(new_server(), revision)
    await said(steps, "b", "c")
    stream = client.listen(last_event_id=last.id)

    assert await words(stream, 2) == ["b", "c"]


async def test_a_client_that_comes_back_hears_what_follows_and_the_end() -> None:
    client, steps, last = await broken(new_server())
    await said(steps, "b")
    stream = client.listen(last_event_id=last.id)
    before = await words(stream, 1)
    steps.say("c", "end")
    answer = await stream.answer()

    assert before == ["b"]
    assert [word(message) for message in answer.messages] == ["b", "c", "done"]
    assert answer.messages[-1]["id"] == 3


async def test_a_client_can_come_back_before_anything_was_missed() -> None:
    client, steps, last = await broken(new_server())
    stream = client.listen(last_event_id=last.id)
    await stream.begun()
    steps.say("b", "end")

    assert [word(message) for message in (await stream.answer()).messages] == ["b", "done"]


async def test_a_client_can_come_back_often() -> None:
    client, steps, last = await broken(new_server())
    heard = []
    for name in ("b", "c", "d"):
        stream = client.listen(last_event_id=last.id)
        await stream.begun()
        steps.say(name)
        last = await stream.event()
        heard.append(word(last.message))
        stream.disconnect()
        await stream.ended()
    steps.say("end")
    stream = client.listen(last_event_id=last.id)

    assert heard == ["b", "c", "d"]
    assert [word(message) for message in (await stream.answer()).messages] == ["done"]


async def test_a_client_that_comes_back_after_the_end_hears_the_rest_and_the_stream_ends() -> None:
    client, steps, last = await broken(new_server())
    await said(steps, "b", "end")
    await client.ask("ping")
    answer = await client.listen(last_event_id=last.id).answer()

    assert [word(message) for message in answer.messages] == ["b", "done"]


async def test_a_stream_that_was_heard_to_its_end_can_be_heard_again() -> None:
    server = new_server()
    steps, client = Steps(server), await shaken(server)
    call = client.start_tool("steps", meta={"progressToken": 1})
    steps.say("a")
    await call.message()
    steps.say("end")
    events = (await call.answer()).events
    answer = await client.listen(last_event_id=events[0].id).answer()

    assert [word(message) for message in answer.messages] == ["a", "done"]


async def test_what_was_heard_to_its_end_is_not_held_any_more() -> None:
    server = new_server()
    steps, client = Steps(server), await shaken(server)
    for number in range(10):
        call = client.start_tool("steps", id=number, meta={"progressToken": 1})
        steps.say("a")
        await call.message()
        steps.say("end")
        await call.answer()
    app: Any = client.app
    [live] = app.mounted[0].endpoint._all()

    assert not live.streams


async def test_only_the_same_stream_is_told_again() -> None:
    client, steps, last = await broken(new_server())
    other = client.start_tool("x", id=9)
    await other.answer()
    await said(steps, "b", "end")
    answer = await client.listen(last_event_id=last.id).answer()

    assert [message.get("id") for message in answer.messages] == [None, 3]


async def test_a_client_comes_back_with_the_first_event_of_all() -> None:
    server = new_server()
    steps, client = Steps(server), await shaken(server)
    call = client.start_tool("steps", meta={"progressToken": 1})
    steps.say("a")
    primer = await call.event()
    await call.event()
    call.disconnect()
    await call.ended()
    steps.say("end")
    answer = await client.listen(last_event_id=primer.id).answer()

    assert [word(message) for message in answer.messages] == ["a", "done"]


async def test_a_connection_that_was_replaced_is_ended() -> None:
    client, steps, last = await broken(new_server())
    first = client.listen(last_event_id=last.id)
    await first.begun()
    second = client.listen(last_event_id=last.id)
    await second.begun()
    steps.say("b", "end")

    assert (await first.answer()).messages == []
    assert [word(message) for message in (await second.answer()).messages] == ["b", "done"]


async def test_a_stream_of_news_goes_on_where_it_broke() -> None:
    server = new_server()
    client = await shaken(server)
    stream = client.listen()
    await stream.event()
    server.add_tool(lambda: "y", name="y")
    last = await stream.event()
    stream.disconnect()
    await stream.ended()
    server.add_resource(lambda: "2", "a://2", name="two")
    await client.ask("ping")
    again = client.listen(last_event_id=last.id)

    assert method(await again.message()) == "notifications/resources/list_changed"


async def test_news_that_were_sent_and_not_heard_come_again() -> None:
    server = new_server()
    client = await shaken(server)
    stream = client.listen()
    primer = await stream.event()
    server.add_tool(lambda: "y", name="y")
    await stream.event()
    stream.disconnect()
    await stream.ended()
    again = client.listen(last_event_id=primer.id)

    assert method(await again.message()) == "notifications/tools/list_changed"


@pytest.mark.parametrize("last", ["5-1", "999999999999999999-0", "0-0"])
async def test_an_event_that_nobody_knows_is_400(last: str) -> None:
    client = await shaken(new_server())
    answer = await client.listen(last_event_id=last).answer()

    assert (answer.status, answer.code) == (400, -32600)


@pytest.mark.parametrize("last", ["", "x", "1", "1-", "-1", "1-x", "1-1-1", "²-1", "1-" + "9" * 30])
async def test_what_is_no_id_of_ours_is_400(last: str) -> None:
    client = await shaken(new_server())
    fields = [
        (b"host", b"localhost"),
        (b"mcp-session-id", str(client.session).encode()),
        (b"last-event-id", last.encode()),
    ]
    answer = await client.begin_raw("GET", fields).answer()

    assert (answer.status, answer.code) == (400, -32600)


async def test_an_event_that_was_not_sent_yet_is_400() -> None:
    client, _, last = await broken(new_server())
    number = str(last.id).partition("-")[0]
    answer = await client.listen(last_event_id=f"{number}-99").answer()

    assert answer.status == 400


async def test_another_session_cannot_hear_a_stream() -> None:
    client, steps, last = await broken(new_server())
    await said(steps, "b")
    stranger = SessionClient(client.app)
    await stranger.shake()
    answer = await stranger.listen(last_event_id=last.id).answer()

    assert answer.status == 400


async def test_what_is_too_old_is_400() -> None:
    now = [0.0]
    store = MemoryStore(clock=lambda: now[0])
    client, steps, last = await broken(new_server(store=store, limits=Limits(resume_seconds=60)))
    await said(steps, "b")
    await client.ask("ping")
    now[0] = 61
    answer = await client.listen(last_event_id=last.id).answer()

    assert answer.status == 400


async def test_a_message_after_a_long_silence_is_not_taken_for_one_that_was_heard() -> None:
    now = [0.0]
    store = MemoryStore(clock=lambda: now[0])
    client, steps, last = await broken(new_server(store=store, limits=Limits(resume_seconds=60)))
    now[0] = 61
    await said(steps, "b")
    await client.ask("ping")
    steps.say("end")
    answer = await client.listen(last_event_id=last.id).answer()

    assert answer.status == 400 or [word(each) for each in answer.messages] == ["b", "done"]


async def test_a_finished_stream_can_be_heard_again_at_another_endpoint() -> None:
    store = MemoryStore()
    client, steps, last = await broken(new_server(store=store))
    await said(steps, "b", "end")
    await client.ask("ping")
    elsewhere = SessionClient(new_server(store=store).asgi())
    elsewhere.session = client.session
    answer = await elsewhere.listen(last_event_id=last.id).answer()

    assert [word(message) for message in answer.messages] == ["b", "done"]


# Hanging up


async def test_a_call_that_hangs_up_goes_on_and_its_client_comes_back() -> None:
    server = new_server()
    steps, client = Steps(server), await shaken(server)
    call = client.start_tool("steps", id=4, meta={"progressToken": 1})
    steps.say("a", "hang up")
    first = await call.answer()
    steps.say("b", "end")
    second = await client.listen(last_event_id=first.events[-1].id).answer()

    assert [word(message) for message in first.messages] == ["a"]
    assert [word(message) for message in second.messages] == ["b", "done"]


async def test_a_call_may_hang_up_before_it_has_said_anything() -> None:
    server = new_server()
    steps, client = Steps(server), await shaken(server)
    call = client.start_tool("steps", id=4, meta={"progressToken": 1})
    steps.say("hang up")
    [primer] = (await call.answer()).events
    steps.say("end")
    second = await client.listen(last_event_id=primer.id).answer()

    assert primer.data == ""
    assert primer.retry
    assert [word(message) for message in second.messages] == ["done"]


async def test_a_call_may_hang_up_on_a_client_that_has_come_back() -> None:
    server = new_server()
    steps, client = Steps(server), await shaken(server)
    call = client.start_tool("steps", id=4, meta={"progressToken": 1})
    steps.say("hang up")
    [primer] = (await call.answer()).events
    second = client.listen(last_event_id=primer.id)
    await second.begun()
    steps.say("b", "hang up")
    heard = await second.answer()
    steps.say("end")
    third = await client.listen(last_event_id=heard.events[-1].id).answer()

    assert [word(message) for message in heard.messages] == ["b"]
    assert [word(message) for message in third.messages] == ["done"]


async def stepped(app: App, steps: Steps, *said: str, revision: str = OLD) -> list[Any]:
    """What a client hears of a call that takes these steps, and what it returns."""
    heard: list[Any] = []
    async with Client.asgi(
        app, revision=revision, on_progress=lambda done, total, word: heard.append(word)
    ) as client:
        steps.say(*said)
        result = await client.call("steps")
    return [*heard, result]


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18"])
async def test_hanging_up_changes_nothing_for_older_clients(revision: str) -> None:
    server = new_server()
    steps = Steps(server)
    said = ["hang up", "a", "hang up", "end"]

    assert await stepped(server.asgi(), steps, *said, revision=revision) == ["a", "done"]


async def test_hanging_up_changes_nothing_without_a_session() -> None:
    server = new_server()
    steps = Steps(server)
    app = server.asgi(sessions="stateless")

    assert await stepped(app, steps, "hang up", "a", "end") == ["a", "done"]


# What a broken stream does to the session


async def test_what_a_tool_keeps_after_its_client_has_left_is_kept() -> None:
    server, go, kept = new_server(), asyncio.Event(), asyncio.Event()

    @server.tool
    async def keeps(ctx: Context) -> None:
        await ctx.progress(1)
        await go.wait()
        assert ctx.session is not None
        ctx.session["kept"] = "yes"
        kept.set()

    @server.tool
    async def kept_value(ctx: Context) -> str:
        assert ctx.session is not None
        return ctx.session.get("kept", "no")

    client = await shaken(server)
    call = client.start_tool("keeps", meta={"progressToken": 1})
    await call.event()
    call.disconnect()
    await call.ended()
    go.set()
    await kept.wait()

    assert (await client.tool("kept_value")).text == "yes"


async def test_the_end_of_a_session_cancels_a_call_that_goes_on_alone() -> None:
    server, cancelled = new_server(), asyncio.Event()

    @server.tool
    async def long(ctx: Context) -> None:
        await ctx.progress(1)
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    client = await shaken(server)
    call = client.start_tool("long", meta={"progressToken": 1})
    await call.event()
    call.disconnect()
    await call.ended()
    await client.end()

    await asyncio.wait_for(cancelled.wait(), 5)


# Threads that send when the call is over


@pytest.mark.parametrize(("before", "late"), [(900, 200), (1100, 1)])
async def test_a_thread_that_sends_too_late_does_not_wait(before: int, late: int) -> None:
    reply = Reply(asyncio.get_running_loop(), threading.get_ident(), 1000)
    reply.send(b"x" * before)
    reply.answer(b"{}", None)
    frames = reply.rest()

    def send() -> None:
        reply.send(b"y" * late)
        reply.throttle()

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    await asyncio.to_thread(thread.join, 5)

    assert not thread.is_alive()
    assert frames == [b"x" * before, b"{}"]


async def test_a_thread_that_waits_goes_on_when_the_call_is_over() -> None:
    reply = Reply(asyncio.get_running_loop(), threading.get_ident(), 1000)
    reply.send(b"x" * 1100)
    thread = threading.Thread(target=reply.throttle, daemon=True)
    thread.start()
    reply.answer(b"{}", None)
    reply.rest()
    await asyncio.to_thread(thread.join, 5)

    assert not thread.is_alive()
