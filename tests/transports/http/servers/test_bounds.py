"""How much clients may have open at once: sessions, streams, calls; and ids within a session."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.transports.http.servers.conftest import Serve
from tests.transports.http.servers.web import (
    NEWEST,
    OF_SESSIONS,
    Answer,
    Session,
    Site,
    asks,
    calls,
    eventually,
    listens,
    posting,
    tool_call,
)  # fmt: skip

BOUNDED = """
server = Server(
    "tested",
    version="1.0.0",
    limits=Limits(sessions=3, streams=2, calls=2, all_calls=6),
)
gate, free = asyncio.Event(), threading.Event()
running = 0
most = 0

@server.tool
async def wait(value: str = "") -> str:
    global running, most
    running += 1
    most = max(most, running)
    try:
        await gate.wait()
    finally:
        running -= 1
    return f"waited {value}"

@server.tool
def block() -> str:
    free.clear()
    free.wait()
    return "blocked"

@server.tool
async def release() -> int:
    free.set()
    gate.set()
    await asyncio.sleep(0)
    gate.clear()
    return running

@server.tool
def hello() -> str:
    return "hello"

@server.tool
async def high(reset: bool = False) -> int:
    global most
    highest = most
    if reset:
        most = running
    return highest
"""


@pytest.fixture
def site(serve: Serve) -> Site:
    """A server that lets few in: a new one for each test, since clients that have left keep their
    places for a moment."""
    return serve(BOUNDED)


def let_all_go(site: Site) -> None:
    """Let every call end."""
    eventually(lambda: site.post(calls("release")).status == 200, "room for one more")
    eventually(lambda: site.call("release") == "0", "the end of the calls")


@pytest.fixture
def pool(site: Site) -> Iterator[ThreadPoolExecutor]:
    """Threads for clients that wait."""
    with ThreadPoolExecutor(20) as executor:
        yield executor
        let_all_go(site)


@pytest.fixture(autouse=True)
def clean(site: Site) -> Iterator[None]:
    """What a test leaves open is closed, and its calls are over."""
    site.call("high", reset=True)
    yield
    site.close_all()
    let_all_go(site)


def has_begun(site: Site, count: int) -> None:
    """Wait until so many calls are under way."""
    eventually(lambda: site.call("high") == str(count), f"{count} calls")


# Sessions


def test_one_session_too_many_ends_the_one_used_least_recently(site: Site) -> None:
    first, second, third = (site.open_session() for _ in range(3))
    assert first.call("hello") == "hello"

    fourth = site.open_session()

    assert second.post(tool_call(1, "hello")).status == 404
    assert [each.call("hello") for each in (first, third, fourth)] == ["hello"] * 3


def test_a_session_that_nobody_uses_is_over(serve: Serve) -> None:
    site = serve(BOUNDED.replace("sessions=3", "session_seconds=0.4"))
    idle, used = site.open_session(), site.open_session()
    listening = site.open_session()
    news = listening.news()

    pause = threading.Event()
    for _ in range(8):
        pause.wait(0.1)
        assert used.call("hello") == "hello"

    assert idle.post(tool_call(1, "hello")).status == 404
    assert listening.call("hello") == "hello"
    news.close()


def test_a_session_that_was_ended_is_over_with_its_stream_and_its_calls(
    site: Site, pool: ThreadPoolExecutor
) -> None:
    session = site.open_session()
    news = session.news()
    call = pool.submit(session.post, tool_call(7, "wait"))
    has_begun(site, 1)

    answer = session.end()

    assert answer.status == 204
    assert list(news.messages()) == []
    call.result(10)
    assert site.call("release") == "0"
    assert session.post(tool_call(8, "hello")).status == 404
    assert session.end().status == 404


# Streams


def test_one_stream_of_news_too_many_is_told_to_come_back(site: Site) -> None:
    first, second, third = (site.open_session() for _ in range(3))
    streams = [first.news(), second.news()]

    with third.listen() as refused:
        answer = refused.answer()

    assert answer.status == 503
    assert int(answer.headers["retry-after"]) > 0
    streams[0].close()
    eventually(lambda: is_let_in(third), "room for the third")


def is_let_in(session: Session) -> bool:
    """May it listen now?"""
    with session.listen() as connection:
        return connection.head().status == 200


def test_a_session_has_one_stream_of_news(site: Site) -> None:
    session = site.open_session()
    session.news()

    with session.listen() as second:
        assert second.answer().status == 409


def test_one_subscription_too_many_is_told_to_come_back(site: Site) -> None:
    for number in range(2):
        site.stream(listens(number))

    with site.connect() as connection:
        connection.send(posting(listens(3)))
        status, headers = connection.head()

    assert status == 503
    assert int(headers["retry-after"]) > 0


# Calls


def test_one_call_of_a_session_too_many_is_refused_and_the_others_are_not_harmed(
    site: Site, pool: ThreadPoolExecutor
) -> None:
    session, other = site.open_session(), site.open_session()
    waiting = [
        pool.submit(session.post, tool_call(number, "wait", value=str(number)))
        for number in range(2)
    ]
    has_begun(site, 2)

    refused = session.post(tool_call(9, "wait"))
    elsewhere = other.call("hello")
    site.call("release")

    assert refused.status == 503
    assert refused.json["id"] == 9
    assert int(refused.headers["retry-after"]) > 0
    assert elsewhere == "hello"
    assert [each.result(10).text for each in waiting] == ["waited 0", "waited 1"]
    assert session.call("hello") == "hello"


def test_a_batch_begins_no_more_calls_than_its_session_may_have(
    site: Site, pool: ThreadPoolExecutor
) -> None:
    session = site.open_session(revision="2025-03-26")
    batch = [tool_call(number, "wait") for number in range(5)]

    answer = pool.submit(session.post, batch)
    eventually(lambda: answer.done() or int(site.call("high")) >= 2, "calls of the batch")

    assert int(site.call("high")) <= 2
    site.call("release")
    answer.result(10)


def test_one_call_of_all_too_many_is_refused_and_the_others_are_not_harmed(site: Site) -> None:
    waiting = [site.connect() for _ in range(6)]
    for number, connection in enumerate(waiting):
        connection.send(posting(calls("wait", value=str(number))))

    refused: Answer = eventually(lambda: refusal(site), "a refusal")
    waiting.pop().close()
    eventually(lambda: site.post(calls("release")).status == 200, "room for one more")

    assert refused.headers["retry-after"] == "1"
    assert "too many calls" in refused.error
    assert [each.answer().text for each in waiting] == [f"waited {number}" for number in range(5)]
    assert site.call("hello") == "hello"


def refusal(site: Site) -> Answer | None:
    """The refusal of one call more, if it is refused."""
    answer = site.post(calls("hello"))
    return answer if answer.status == 503 else None


# Ids


def test_an_id_that_is_under_way_is_refused_and_the_first_is_answered(
    site: Site, pool: ThreadPoolExecutor
) -> None:
    session = site.open_session()
    first = pool.submit(session.post, tool_call(1, "wait", value="first"))
    has_begun(site, 1)

    second = session.post(tool_call(1, "hello"))
    site.call("release")

    assert second.json["error"]["code"] == -32600
    assert second.json["id"] == 1
    assert first.result(10).text == "waited first"


def test_the_same_id_may_be_under_way_for_several_clients(
    site: Site, pool: ThreadPoolExecutor
) -> None:
    sessions = [site.open_session() for _ in range(2)]
    waiting = [
        *(pool.submit(site.post, calls("wait", value=f"newest {n}")) for n in range(2)),
        *(
            pool.submit(session.post, tool_call(1, "wait", value=f"session {n}"))
            for n, session in enumerate(sessions)
        ),
    ]
    has_begun(site, 4)

    site.call("release")

    assert [each.result(10).text for each in waiting] == [
        "waited newest 0",
        "waited newest 1",
        "waited session 0",
        "waited session 1",
    ]


def test_who_leaves_has_cancelled_its_call_in_the_newest_revision(site: Site) -> None:
    with site.connect() as connection:
        connection.send(posting(calls("wait")))
        has_begun(site, 1)

    eventually(lambda: site.call("release") == "0", "the end of the call")


def test_a_session_whose_client_leaves_goes_on_with_the_call(site: Site) -> None:
    session = site.open_session()
    with site.connect() as connection:
        connection.send(posting(tool_call(1, "wait"), session.headers))
        has_begun(site, 1)

    # While it is under way its id is taken.
    again = session.post(tool_call(1, "hello"))

    assert again.json["error"]["code"] == -32600


def test_a_cancelled_call_of_a_session_is_over(site: Site, pool: ThreadPoolExecutor) -> None:
    session = site.open_session()
    call = pool.submit(session.post, tool_call(1, "wait"))
    has_begun(site, 1)

    told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}

    assert session.post(told).status == 202
    call.result(10)
    assert site.call("release") == "0"


def test_what_the_newest_revision_posts_to_cancel_cancels_nothing(
    site: Site, pool: ThreadPoolExecutor
) -> None:
    call = pool.submit(site.post, calls("wait", value="on"))
    has_begun(site, 1)

    cancel = asks(None, "notifications/cancelled", {"requestId": 1})
    del cancel["id"]
    answer = site.post(cancel)
    site.call("release")

    assert answer.status in (202, 400)
    assert call.result(10).text == "waited on"


def test_a_blocked_thread_of_one_client_holds_up_nobody_else(site: Site) -> None:
    for _ in range(3):
        site.connect().send(posting(calls("block")))

    for revision in (NEWEST, OF_SESSIONS):
        with site.client(revision=revision) as client:
            assert client.call("hello") == "hello"
