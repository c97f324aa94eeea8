"""How a server over HTTP ends: streams first, then calls that finish in time; status 0, no noise.

What one server tells its clients at its end is seen once for each signal, and looked at by several
tests.
"""

import contextlib
import re
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest
from tests.transports.http.servers.conftest import Serve
from tests.transports.http.servers.web import (
    LIFESPAN,
    Answer,
    Connection,
    Site,
    calls,
    eventually,
    head,
    listens,
    posting,
    tool_call,
)  # fmt: skip

TOOLS = """
@server.tool
async def short(ctx: Context) -> str:
    say("short begins")
    await asyncio.sleep(0.7)
    return "finished"

@server.tool
def short_on_a_thread() -> str:
    say("short begins")
    time.sleep(0.7)
    return "finished"

@server.tool
async def short_with_progress(ctx: Context) -> str:
    await ctx.progress(1, 2)
    await asyncio.sleep(0.7)
    await ctx.progress(2, 2)
    return "finished"

@server.tool
async def long() -> str:
    say("long begins")
    try:
        await asyncio.sleep(60)
    finally:
        say("long is over")
    return "finished"

@server.tool
def long_on_a_thread(ctx: Context) -> str:
    say("long begins")
    time.sleep(60)
    return "finished"

@server.tool
async def long_with_progress(ctx: Context) -> str:
    say("stream begins")
    await ctx.progress(1, 2)
    await asyncio.sleep(60)
    return "finished"

@server.tool
async def stubborn() -> str:
    say("long begins")
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)

@server.tool
async def hold_up() -> str:
    say("long begins")
    time.sleep(60)
    return "finished"

@server.tool
async def flood(ctx: Context) -> str:
    say("long begins")
    for step in range(1_000_000):
        await ctx.progress(step, None, "x" * 100_000)
    return "finished"

@server.tool
def hello() -> str:
    return "hello"
"""
PATIENT = LIFESPAN + 'server = Server("tested", version="1", lifespan=lifespan)\n' + TOOLS
HASTY = (
    LIFESPAN
    + 'server = Server("tested", version="1", lifespan=lifespan, '
    + "limits=Limits(drain_seconds=0.3))\n"
    + TOOLS
)
SIGNALS = [signal.SIGTERM, signal.SIGINT]
NOISE = re.compile(r"Traceback|Error\b|exception|never retrieved|was destroyed", re.IGNORECASE)


def is_quiet(site: Site) -> bool:
    """Was nothing said that looks like a bug?"""
    return NOISE.search(site.stderr) is None


def begun(site: Site, count: int, what: str = "begins") -> None:
    """Wait until so many calls have said that they begin."""
    eventually(lambda: site.stderr.count(what) >= count, f"{count} calls that begin")


class Seen(NamedTuple):
    """What the clients of a server that was ended got."""

    site: Site
    status: int
    subscription: list[dict[str, Any]]
    news: list[dict[str, Any]]
    finished: list[Answer]
    streamed: list[list[dict[str, Any]]]
    late: int
    kept_alive: bool


@pytest.fixture(scope="module", params=SIGNALS, ids=lambda number: number.name)
def seen(serve_all: Serve, request: pytest.FixtureRequest) -> Seen:
    """A server that is ended with every kind of client there is."""
    site = serve_all(PATIENT)
    session = site.open_session()
    subscription, news = site.stream(listens("listening")), session.news()
    assert subscription.next()["method"] == "notifications/subscriptions/acknowledged"
    idle, later = site.connect(), site.connect()
    assert idle.post(calls("hello")).text == later.post(calls("hello")).text == "hello"
    waiting = [site.connect() for _ in range(4)]
    waiting[0].send(posting(calls("short")))
    waiting[1].send(posting(calls("short_on_a_thread")))
    waiting[2].send(posting(tool_call(1, "short"), session.headers))
    waiting[3].send(posting(tool_call(2, "short_on_a_thread"), session.headers))
    begun(site, 4, "short begins")
    streams = [
        site.stream(calls("short_with_progress")),
        site.stream(tool_call(3, "short_with_progress"), session.headers),
    ]

    site.signal(request.param)
    heard = list(subscription.messages())
    later.send(posting(calls("hello")))
    late = later.status()
    finished = [connection.answer() for connection in waiting]
    return Seen(
        site=site,
        subscription=heard,
        news=list(news.messages()),
        finished=finished,
        streamed=[list(stream.messages()) for stream in streams],
        late=late,
        kept_alive=not idle.is_closed(),
        status=site.ends(),
    )


def test_the_exit_status_is_0(seen: Seen) -> None:
    assert seen.status == 0


def test_nothing_is_said_that_looks_like_a_bug(seen: Seen) -> None:
    assert is_quiet(seen.site), seen.site.stderr


def test_the_lifespan_is_left(seen: Seen) -> None:
    assert seen.site.stderr.count("lifespan entered") == 1
    assert seen.site.stderr.count("lifespan left") == 1


def test_an_open_subscription_gets_its_result(seen: Seen) -> None:
    [result] = seen.subscription

    assert result["id"] == "listening"
    assert result["result"]["resultType"] == "complete"
    meta = result["result"]["_meta"]
    assert meta["io.modelcontextprotocol/subscriptionId"] == "listening"


def test_a_stream_of_news_is_completed(seen: Seen) -> None:
    assert seen.news == []


def test_a_call_that_finishes_in_time_is_answered(seen: Seen) -> None:
    assert [answer.text for answer in seen.finished] == ["finished"] * 4


def test_a_stream_of_a_call_that_finishes_in_time_has_its_answer(seen: Seen) -> None:
    for messages in seen.streamed:
        *progress, last = messages

        assert [each["params"]["progress"] for each in progress] == [1, 2]
        assert last["result"]["content"][0]["text"] == "finished"


def test_a_request_that_comes_while_the_server_ends_is_told_to_come_back(seen: Seen) -> None:
    assert seen.late == 503


def test_a_connection_that_is_kept_alive_is_closed(seen: Seen) -> None:
    assert not seen.kept_alive


# Calls that do not finish


class Abandoned(NamedTuple):
    """What the clients got whose calls took too long."""

    site: Site
    status: int
    answers: dict[str, Answer]


@pytest.fixture(scope="module", params=SIGNALS, ids=lambda number: number.name)
def abandoned(serve_all: Serve, request: pytest.FixtureRequest) -> Abandoned:
    """A server that is ended with calls under way that take longer than it waits."""
    site = serve_all(HASTY)
    session = site.open_session()
    messages = {
        "coroutine": posting(calls("long")),
        "thread": posting(calls("long_on_a_thread")),
        "of a session": posting(tool_call(1, "long"), session.headers),
        "thread of a session": posting(tool_call(2, "long_on_a_thread"), session.headers),
        "stream": posting(calls("long_with_progress")),
        "stream of a session": posting(tool_call(3, "long_with_progress"), session.headers),
    }
    waiting = {name: site.connect() for name in messages}
    for name, connection in waiting.items():
        connection.send(messages[name])
    begun(site, 4, "long begins")
    begun(site, 2, "stream begins")

    site.signal(request.param)
    with ThreadPoolExecutor(6) as pool:
        answers = dict(zip(waiting, pool.map(_answer, waiting.values()), strict=True))
    return Abandoned(site, site.ends(), answers)


def _answer(connection: Connection) -> Answer:
    with contextlib.suppress(EOFError, ConnectionError):
        return connection.answer()
    return Answer(0, {}, b"{}")


@pytest.mark.parametrize(
    "name",
    [
        "coroutine", "thread", "of a session", "thread of a session", "stream",
        "stream of a session",
    ],
)  # fmt: skip
def test_a_call_that_takes_too_long_is_answered_with_an_error(
    abandoned: Abandoned, name: str
) -> None:
    answer = abandoned.answers[name]

    assert answer.status == 200
    assert answer.json["error"]["code"] == -32603
    assert "ends" in answer.error


def test_calls_that_take_too_long_do_not_change_the_exit_status(abandoned: Abandoned) -> None:
    assert abandoned.status == 0


def test_calls_that_delay_the_end_are_named_once(abandoned: Abandoned) -> None:
    told = [line for line in abandoned.site.stderr.splitlines() if "to finish" in line]

    assert len(told) == 1
    assert "calls have 0.3 s to finish; another signal ends them at once: " in told[0]
    assert re.search(r"tools/call 'long_on_a_thread' for \d+\.\d s", told[0])


def test_calls_that_take_too_long_are_no_bug(abandoned: Abandoned) -> None:
    assert is_quiet(abandoned.site), abandoned.site.stderr
    assert abandoned.site.stderr.count("long is over") == 2
    assert "lifespan left" in abandoned.site.stderr


# Clients and tools that are in the way


def deaf(site: Site) -> None:
    """A client that does not read its stream."""
    site.connect().send(posting(calls("flood")))
    site.hears("long begins")


def half_a_body(site: Site) -> None:
    """A client that has not sent all of its message."""
    site.connect().send(posting(calls("hello"))[:-10])


def half_a_head(site: Site) -> None:
    """A client that has not said what it wants."""
    site.connect().send(posting(calls("hello"))[:60])


def nothing_said(site: Site) -> None:
    """Clients that only connected."""
    for _ in range(20):
        site.connect()


def stubborn(site: Site) -> None:
    """A tool that does not let itself be cancelled."""
    site.connect().send(posting(calls("stubborn")))
    site.hears("long begins")


def left(site: Site) -> None:
    """A session whose client has left in the middle of a call."""
    session = site.open_session()
    with site.connect() as connection:
        connection.send(posting(tool_call(1, "long"), session.headers))
        site.hears("long begins")


def come_back(site: Site) -> None:
    """A client that has come back for the rest of a stream."""
    session = site.open_session()
    first = site.stream(tool_call(1, "long_with_progress"), session.headers)
    event = next(first.chunks()).partition(b"id: ")[2].split()[0].decode()
    first.close()
    connection = site.connect()
    accept = {"Accept": "text/event-stream", **session.headers, "Last-Event-ID": event}
    connection.send(head("GET", "/mcp", accept))
    assert connection.head().status == 200


@pytest.mark.parametrize(
    "in_the_way",
    [deaf, half_a_body, half_a_head, nothing_said, stubborn, left, come_back],
    ids=lambda function: function.__name__,
)
def test_nobody_keeps_the_server_from_ending_well(
    serve: Serve, in_the_way: Callable[[Site], None]
) -> None:
    site = serve(HASTY)
    in_the_way(site)
    assert site.call("hello") == "hello"

    status = site.status_after(signal.SIGTERM)

    assert status == 0
    assert is_quiet(site), site.stderr
    assert "lifespan left" in site.stderr


def test_a_tool_that_holds_up_the_loop_does_not_keep_the_server_from_ending(serve: Serve) -> None:
    site = serve(HASTY)
    site.connect().send(posting(calls("hold_up")))
    site.hears("long begins")

    assert site.status_after(signal.SIGTERM) == 143


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_second_signal_ends_at_once(serve: Serve, number: signal.Signals, status: int) -> None:
    site = serve(PATIENT)
    subscription = site.stream(listens())
    subscription.next()
    site.connect().send(posting(calls("long")))
    site.hears("long begins")
    site.signal(number)
    assert subscription.next()["id"] == "listen"  # so the first signal was seen

    # Sooner than the calls would have been given up.
    assert site.status_after(number, within=3) == status


def test_a_server_that_nobody_uses_ends_at_once(serve: Serve) -> None:
    site = serve(PATIENT)

    assert site.status_after(signal.SIGTERM, within=3) == 0
    assert "lifespan left" in site.stderr


@pytest.fixture
def entering(serve: Serve) -> Site:
    """A server whose lifespan takes long to be entered."""
    return serve(
        """
        @contextlib.asynccontextmanager
        async def lifespan(server):
            say("entering")
            await asyncio.sleep(60)
            yield

        server = Server("tested", lifespan=lifespan, limits=Limits(drain_seconds=0.2))
        """,
        awaited=False,
    )


def test_a_signal_while_the_lifespan_is_entered_ends_the_server(entering: Site) -> None:
    entering.hears("entering")

    status = entering.status_after(signal.SIGTERM, within=10)

    assert status == 0
    assert is_quiet(entering), entering.stderr


def test_a_signal_right_after_the_address_was_said_ends_the_server(serve: Serve) -> None:
    site = serve(PATIENT, awaited=False)
    site.hears("serving at ")

    status = site.status_after(signal.SIGTERM)

    assert status == 0
    assert site.stderr.count("lifespan entered") == site.stderr.count("lifespan left")


def test_a_lifespan_that_fails_at_the_end_is_told(serve: Serve) -> None:
    site = serve(
        """
        @contextlib.asynccontextmanager
        async def lifespan(server):
            yield
            raise ValueError("the database does not let go")

        server = Server("tested", lifespan=lifespan)
        """
    )

    status = site.status_after(signal.SIGTERM)

    assert "the database does not let go" in site.stderr
    assert status in (0, 1)
