"""Clients that do not read what they asked for: cut off in bounded memory, their calls freed."""

import signal
import socket
from collections.abc import Iterator

import pytest
from tests.processes.process import request
from tests.transports.http.servers.conftest import Serve
from tests.transports.http.servers.web import (
    HERE,
    MIB,
    Connection,
    Session,
    Site,
    calls,
    eventually,
    head,
    listens,
    posting,
    tool_call,
)  # fmt: skip

SERVED = """
server = Server(
    "tested",
    version="1.0.0",
    limits=Limits(
        waiting_bytes=64 * 1024, stall_seconds=1.0, quiet_seconds=0.2, progress_per_second=1_000_000
    ),
)

@server.tool
async def flood(ctx: Context) -> str:
    say("flood begins")
    try:
        for step in range(20_000):
            await ctx.progress(step, 20_000, "x" * 10_000)
            await asyncio.sleep(0)
    finally:
        say("flood is over")
    return "all sent"

@server.tool
def pour(ctx: Context) -> str:
    say("pour begins")
    try:
        for step in range(20_000):
            ctx.sync.progress(step, 20_000, "x" * 10_000)
            ctx.check()
    finally:
        say("pour is over")
    return "all sent"

@server.tool
async def large() -> str:
    return "x" * 8_000_000

@server.resource("long://{name}")
def read(name: str) -> str:
    return name

@server.tool
async def publish() -> str:
    for round in range(100):
        for number in range(20):
            server.resource_updated(f"long://{'x' * 8000}{number}")
        await asyncio.sleep(0)
    return "published"

@server.tool
def threads() -> int:
    return sum(thread.name != "MainThread" for thread in threading.enumerate())

@server.tool
async def hello() -> str:
    return "hello"
"""
URIS = [f"long://{'x' * 8000}{number}" for number in range(20)]


@pytest.fixture(scope="module")
def site(serve_all: Serve) -> Site:
    """A server that waits a second for those who do not read."""
    return serve_all(SERVED)


@pytest.fixture
def deaf(site: Site) -> Iterator[Connection]:
    """A client that has room for little, and reads only if it is told to."""
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.connect((HERE, site.port))
    with Connection(plain) as connection:
        yield connection


def heard(site: Site, text: str) -> int:
    """How often this was said on stderr."""
    return site.stderr.count(text)


@pytest.mark.parametrize("tool", ["flood", "pour"])
@pytest.mark.parametrize("era", ["newest", "session"])
def test_a_call_whose_client_does_not_read_its_stream_is_not_kept_in_memory(
    site: Site, deaf: Connection, era: str, tool: str
) -> None:
    site.call("hello")
    before = heard(site, f"{tool} is over")
    session = site.open_session() if era == "session" else None
    message = calls(tool) if session is None else tool_call(1, tool)

    def flood() -> None:
        deaf.send(posting(message, None if session is None else session.headers))
        eventually(lambda: heard(site, f"{tool} is over") > before, "the end of the tool", 6)

    assert site.growth(flood) < 24 * MIB
    assert site.call("hello") == "hello"


@pytest.mark.parametrize("tool", ["flood", "pour"])
def test_a_client_that_does_not_read_its_stream_is_cut_off(
    site: Site, deaf: Connection, tool: str
) -> None:
    before = heard(site, f"{tool} is over")
    deaf.send(posting(calls(tool)))

    eventually(lambda: heard(site, f"{tool} is over") > before, "the end of the tool", 6)

    site.lets_go(deaf)
    site.hears(" was cut off: it ")


def test_the_threads_of_tools_whose_clients_do_not_read_are_free_again(site: Site) -> None:
    before = heard(site, "pour is over")
    deaf = [site.connect() for _ in range(70)]  # more than there are threads
    for connection in deaf:
        connection.send(posting(calls("pour")))

    eventually(lambda: heard(site, "pour is over") >= before + 64, "the end of the tools", 10)

    assert int(site.call("threads")) > 0
    site.close_all()


def test_an_answer_that_nobody_reads_frees_its_connection(site: Site, deaf: Connection) -> None:
    deaf.send(posting(calls("large")))
    assert deaf.head().status == 200

    assert site.holds(deaf)
    site.lets_go(deaf)


def test_a_subscription_that_nobody_reads_is_cut_off_in_bounded_memory(
    site: Site, deaf: Connection
) -> None:
    deaf.send(posting(listens(resourceSubscriptions=URIS)))
    assert deaf.head().status == 200

    def publish() -> None:
        for _ in range(5):
            assert site.call("publish") == "published"  # 16 MB each

    assert site.growth(publish) < 24 * MIB
    site.lets_go(deaf)


def subscribe(session: Session) -> None:
    """Follow every resource that is published."""
    for uri in URIS:
        assert session.post(request(1, "resources/subscribe", {"uri": uri})).status == 200


def test_a_stream_of_news_that_nobody_reads_is_cut_off_in_bounded_memory(
    site: Site, deaf: Connection
) -> None:
    session = site.open_session()
    subscribe(session)
    deaf.send(head("GET", "/mcp", {"Accept": "text/event-stream", **session.headers}))
    assert deaf.head().status == 200

    def publish() -> None:
        for _ in range(5):
            assert site.call("publish") == "published"

    assert site.growth(publish) < 24 * MIB
    site.lets_go(deaf)


def test_a_session_whose_stream_was_cut_off_can_listen_again(site: Site, deaf: Connection) -> None:
    session = site.open_session()
    subscribe(session)
    deaf.send(head("GET", "/mcp", {"Accept": "text/event-stream", **session.headers}))
    assert deaf.head().status == 200
    for _ in range(5):
        site.call("publish")

    news = eventually(lambda: listening(session), "another stream")

    site.call("publish")
    assert news.next()["method"] == "notifications/resources/updated"
    news.close()


def listening(session: Session) -> Connection | None:
    """Its stream of news, if it is let in."""
    connection = session.listen()
    if connection.head().status == 200:
        return connection
    connection.close()
    return None


def test_a_client_that_reads_slowly_all_the_time_gets_everything(
    site: Site, deaf: Connection
) -> None:
    deaf.send(posting(calls("large")))
    _, headers = deaf.head()

    # For longer than a client may take that does not read at all.
    size = sum(len(deaf.take(200_000, after=0.05)) for _ in range(40))

    left = int(headers["content-length"]) - size
    assert left == 0 or len(deaf.take(left)) == left


def test_nobody_was_told_of_a_bug(site: Site) -> None:
    assert "Traceback" not in site.stderr


def test_a_client_that_does_not_read_does_not_keep_a_lifespan_from_its_end(serve: Serve) -> None:
    site = serve(
        """
        @contextlib.asynccontextmanager
        async def lifespan(server):
            yield
            await asyncio.sleep(1)
            say("all is put away")

        limits = Limits(
            drain_seconds=0.5,
            waiting_bytes=64 * 1024,
            stall_seconds=60,
            progress_per_second=1_000_000,
        )
        server = Server("tested", version="1.0.0", lifespan=lifespan, limits=limits)

        @server.tool
        async def flood(ctx: Context) -> str:
            for step in range(20_000):
                await ctx.progress(step, 20_000, "x" * 10_000)
            return "all sent"
        """
    )
    with socket.socket() as plain:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plain.connect((HERE, site.port))
        with Connection(plain) as connection:
            connection.send(posting(calls("flood")))
            assert connection.head().status == 200

            assert site.status_after(signal.SIGTERM) == 0

    assert "all is put away" in site.stderr
    assert "Traceback" not in site.stderr
