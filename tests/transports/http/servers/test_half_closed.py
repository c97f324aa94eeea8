"""Clients that have ended their side: those that still read are answered, the others are gone.

Both look the same at first, so what the server does is tried with sockets of either kind.
"""

import socket

import pytest
from tests.transports.http.servers.conftest import Serve
from tests.transports.http.servers.web import Connection, Site, calls, eventually, posting

SERVED = """
go = asyncio.Event()

@server.tool
async def wait(mark: str) -> str:
    say(f"{mark} begins")
    try:
        await go.wait()
    finally:
        say(f"{mark} is over")
    return "finished"

@server.tool
async def report(mark: str, ctx: Context) -> str:
    await ctx.progress(1)
    return await wait(mark)

@server.tool
async def release() -> str:
    go.set()
    await asyncio.sleep(0)
    go.clear()
    return "released"
"""


@pytest.fixture(scope="module")
def site(serve_all: Serve) -> Site:
    return serve_all(SERVED)


@pytest.fixture(params=["wait", "report"])
def tool(request: pytest.FixtureRequest) -> str:
    """One that says nothing before its answer, and one that does."""
    name: str = request.param
    return name


def half_closed(site: Site, message: bytes, mark: str) -> Connection:
    connection = site.connect()
    connection.send(message)
    connection.socket.shutdown(socket.SHUT_WR)
    site.hears(f"{mark} begins\n")
    return connection


def test_a_client_that_has_only_stopped_sending_is_answered(site: Site, tool: str) -> None:
    mark = f"sent by {tool}"
    connection = half_closed(site, posting(calls(tool, mark=mark)), mark)
    site.call("release")

    assert connection.answer().text == "finished"
    assert connection.is_closed()


def test_a_client_of_http_1_0_that_has_only_stopped_sending_is_answered(site: Site) -> None:
    message = posting(calls("wait", mark="old")).replace(b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", 1)
    connection = half_closed(site, message, "old")
    site.call("release")

    assert connection.answer().text == "finished"
    assert connection.is_closed()


def test_all_that_was_asked_before_is_answered(site: Site) -> None:
    first, second = (calls("wait", mark=mark) for mark in ("first of two", "second of two"))
    connection = half_closed(site, posting(first) + posting(second), "first of two")
    site.call("release")
    assert connection.answer().text == "finished"
    site.hears("second of two begins")
    site.call("release")

    assert connection.answer().text == "finished"
    assert connection.is_closed()


def test_a_client_that_closes_its_socket_has_cancelled_its_call(site: Site, tool: str) -> None:
    mark = f"closed by {tool}"
    with site.connect() as connection:
        connection.send(posting(calls(tool, mark=mark)))
        site.hears(f"{mark} begins")

    site.hears(f"{mark} is over")


def test_a_client_that_closes_its_socket_at_once_has_cancelled_its_call(
    site: Site, tool: str
) -> None:
    mark = f"closed at once by {tool}"
    with site.connect() as connection:
        connection.send(posting(calls(tool, mark=mark)))

    eventually(
        lambda: site.stderr.count(f"{mark} begins") == site.stderr.count(f"{mark} is over"),
        "the end of the call",
    )


def test_a_half_closed_client_that_closes_its_socket_later_has_cancelled_its_call(
    site: Site,
) -> None:
    connection = half_closed(site, posting(calls("wait", mark="later")), "later")
    assert connection.head().headers["content-type"] == "text/event-stream"
    connection.close()

    site.hears("later is over")


def test_half_a_request_is_not_waited_for(site: Site) -> None:
    with site.connect() as connection:
        connection.send(posting(calls("wait", mark="half"))[:-10])
        connection.socket.shutdown(socket.SHUT_WR)

        assert connection.is_closed()
    assert "half begins" not in site.stderr


def test_a_client_that_has_stopped_sending_no_longer_listens(site: Site) -> None:
    connection = site.open_session().news()

    connection.socket.shutdown(socket.SHUT_WR)

    assert connection.is_closed()
