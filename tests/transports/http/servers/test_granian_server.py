"""The other runner: it serves what the first one serves, and ends as the first one ends."""

import signal

import pytest
from tests.transports.http.servers.conftest import Serve
from tests.transports.http.servers.web import (
    LIFESPAN,
    MIB,
    NEWEST,
    OF_SESSIONS,
    Site,
    calls,
    head,
    listens,
    posted,
    posting,
    tool_call,
)  # fmt: skip

SERVED = (
    LIFESPAN
    + """
server = Server(
    "tested", version="1", lifespan=lifespan, limits=Limits(drain_seconds=1.5, stall_seconds=1)
)

@server.tool
def hello() -> str:
    return "hello"

@server.tool
def size(text: str) -> int:
    return len(text)

@server.tool
async def count(to: int, ctx: Context) -> str:
    for step in range(to):
        await ctx.progress(step, to)
        await asyncio.sleep(0.01)
    return f"counted to {to}"

@server.tool
async def short() -> str:
    say("short begins")
    await asyncio.sleep(0.5)
    return "finished"

@server.tool
async def wait() -> str:
    say("wait begins")
    try:
        await asyncio.sleep(60)
    finally:
        say("wait is over")
    return "finished"

@server.tool
async def leave() -> str:
    raise SystemExit(3)
"""
)


@pytest.fixture(scope="module")
def site(serve_all: Serve) -> Site:
    """A server by granian."""
    return serve_all(SERVED, "--runner", "granian")


@pytest.mark.parametrize("revision", [NEWEST, OF_SESSIONS])
def test_both_eras_are_served(site: Site, revision: str) -> None:
    with site.client(revision=revision) as client:
        assert client.call("hello") == "hello"


@pytest.mark.parametrize("revision", [NEWEST, OF_SESSIONS])
def test_progress_comes_by_a_stream(site: Site, revision: str) -> None:
    told: list[float] = []
    with site.client(revision=revision, on_progress=lambda done, *_: told.append(done)) as client:
        assert client.call("count", to=3) == "counted to 3"

    assert told == [0, 1, 2]


def test_a_foreign_host_and_a_foreign_page_are_refused(site: Site) -> None:
    assert site.post(calls("hello"), {"Host": "evil.example"}).status == 421
    assert site.post(calls("hello"), {"Origin": "https://evil.example"}).status == 403


def test_a_body_that_is_said_to_be_too_long_is_refused(site: Site) -> None:
    with site.connect() as connection:
        fields = {**posted(calls("size")), "Content-Length": str(64 * MIB)}
        connection.send(head("POST", "/mcp", fields))

        assert connection.answer().status == 413


def test_a_body_without_end_is_not_kept(site: Site) -> None:
    site.call("size", text="x" * MIB)
    part = b"10000\r\n" + b" " * 65536 + b"\r\n"
    fields = {**posted(calls("size")), "Transfer-Encoding": "chunked"}

    with site.connect() as connection:
        connection.send(head("POST", "/mcp", fields))
        parts = (part for _ in range(1024))
        grown = site.growth(lambda: connection.send_until_refused(parts))

    assert grown < 24 * MIB
    assert site.call("hello") == "hello"


def test_a_body_that_does_not_go_on_is_given_up(site: Site) -> None:
    with site.connect() as connection:
        connection.send(posting(calls("hello"))[:-10])

        assert connection.status() in (408, 0)
    assert site.call("hello") == "hello"


@pytest.mark.parametrize("lengths", [{"Content-Length": "9"}, {}], ids=["two lengths", "one"])
def test_a_body_whose_parts_are_none_is_400(site: Site, lengths: dict[str, str]) -> None:
    fields = {**posted(calls("hello")), **lengths, "Transfer-Encoding": "chunked"}
    with site.connect() as connection:
        connection.send(head("POST", "/mcp", fields) + b'{"a": "b"}')
        answer = connection.answer()

    assert answer.status == 400
    assert "the body broke off" in answer.error
    assert site.call("hello") == "hello"


def test_who_leaves_has_cancelled_its_call(site: Site) -> None:
    before = site.stderr.count("wait is over")
    with site.connect() as connection:
        connection.send(posting(calls("wait")))
        site.hears("wait begins")

    site.hears("wait is over\n" * (before + 1))


def test_a_tool_that_exits_harms_its_own_call_only(site: Site) -> None:
    with site.client() as client:
        assert client.call_raw("leave").is_error
        assert client.call("hello") == "hello"


def test_it_says_whether_it_is_well(site: Site) -> None:
    assert site.get("/healthz").status == 200
    assert site.get("/readyz").status == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda each: each.name)
def test_it_ends_in_order_with_streams_and_calls_open(serve: Serve, number: signal.Signals) -> None:
    site = serve(SERVED, "--runner", "granian")
    session = site.open_session()
    subscription, news = site.stream(listens()), session.news()
    subscription.next()
    finishing, waiting = site.connect(), site.connect()
    finishing.send(posting(tool_call(1, "short"), session.headers))
    waiting.send(posting(calls("wait")))
    site.hears("short begins")
    site.hears("wait begins")

    site.signal(number)

    assert subscription.next()["id"] == "listen"
    assert list(news.messages()) == []
    assert finishing.answer().text == "finished"
    assert waiting.answer().json["error"]["code"] == -32603
    assert site.ends() == 0
    assert "Traceback" not in site.stderr
    assert "lifespan left" in site.stderr
