"""Who may come in over HTTP: from where, by which name, and from the pages of which origin."""

import re
import socket

import pytest
from tests.transports.http.servers.conftest import Serve
from tests.transports.http.servers.web import (
    HERE,
    NEWEST,
    Connection,
    Site,
    calls,
    head,
    lines,
    posted,
)

COUNTING = """
ran = []

@server.tool
def run() -> int:
    ran.append(1)
    return len(ran)

@server.tool
def runs() -> int:
    return len(ran)
"""
FOREIGN_HOSTS = [
    "evil.example",
    "evil.example:8000",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil.example@localhost",
    "localhost:80@evil.example",
    "localhost/evil.example",
    "127.0.0.2",
    "0.0.0.0",
    "[::]",
    "localhost:port",
    "",
]
FOREIGN_ORIGINS = [
    "https://evil.example",
    "http://localhost.evil.example",
    "http://127.0.0.1.evil.example:8000",
    "http://localhost@evil.example",
    "http://evil.example/http://localhost",
    "http://0.0.0.0",
    "file://",
    "null",
    "",
]


@pytest.fixture(scope="module")
def site(serve_all: Serve) -> Site:
    """A server as it is by default."""
    return serve_all(COUNTING)


@pytest.fixture(scope="module")
def widened(serve_all: Serve) -> Site:
    """A server that has another name, and lets the pages of an origin in."""
    return serve_all(
        COUNTING, "--allow-host", "mcp.example", "--allow-origin", "https://app.example"
    )


# From where


def test_only_this_machine_can_connect(site: Site) -> None:
    # Whoever listens everywhere would also listen at the other addresses of this machine.
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", site.port), 5)


@pytest.mark.parametrize("where", ["0", ":0"])
def test_an_address_without_a_host_is_this_machine_only(serve: Serve, where: str) -> None:
    site = serve(COUNTING, "--http", where)

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", site.port), 5)
    assert f"http://{HERE}:{site.port}/mcp" in site.stderr


def test_who_listens_everywhere_is_told_so_and_still_answers_to_its_own_names_only(
    serve: Serve,
) -> None:
    site = serve(COUNTING, "--http", "0.0.0.0:0")

    site.hears("can be reached from other machines")
    site.hears("allow_hosts")
    site.hears("That is no protection")
    assert site.post(calls("run")).status == 200
    assert site.post(calls("run"), {"Host": "evil.example"}).status == 421


# By which name


@pytest.mark.parametrize(
    "host",
    ["localhost", "LocalHost", "127.0.0.1", "[::1]", "localhost:1", "127.0.0.1:8000", "[::1]:80"],
)
def test_this_machine_may_be_called_by_any_of_its_names(site: Site, host: str) -> None:
    assert site.post(calls("run"), {"Host": host}).status == 200


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_foreign_name_is_refused_before_anything_runs(site: Site, host: str) -> None:
    before = site.call("runs")

    answer = site.post(calls("run"), {"Host": host})

    assert answer.status == 421
    is_name = re.fullmatch(r"[a-z0-9.-]+(:[0-9]+)?|\[[0-9a-f:.]+\](:[0-9]+)?", host, re.I)
    assert (f"allow_hosts=[{host!r}]" in answer.error) is bool(is_name)
    assert site.call("runs") == before


def test_a_request_without_a_host_is_refused(site: Site) -> None:
    fields = {name: value for name, value in posted(calls("run")).items() if name != "Host"}
    request = lines("POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()))

    with site.connect() as connection:
        connection.send(request)
        status = connection.head().status

    assert status in (400, 421)


def test_a_name_that_was_added_is_answered_to_and_no_other(widened: Site) -> None:
    added = widened.post(calls("run"), {"Host": "mcp.example"})
    with_port = widened.post(calls("run"), {"Host": "mcp.example:8443"})
    other = widened.post(calls("run"), {"Host": "other.example"})

    assert (added.status, with_port.status, other.status) == (200, 200, 421)


def test_a_star_is_any_name(serve: Serve) -> None:
    site = serve(COUNTING, "--allow-host", "*")

    assert site.post(calls("run"), {"Host": "any.example:1"}).status == 200


def test_a_star_for_names_lets_no_foreign_page_in(serve: Serve) -> None:
    site = serve(COUNTING, "--allow-host", "*")

    answer = site.post(calls("run"), {"Origin": "https://evil.example"})

    assert answer.status == 403


def test_a_name_that_was_added_lets_in_the_pages_of_that_name_only(widened: Site) -> None:
    own = widened.post(calls("run"), {"Host": "mcp.example", "Origin": "https://mcp.example"})
    below = widened.post(calls("run"), {"Host": "mcp.example", "Origin": "https://a.mcp.example"})

    assert (own.status, below.status) == (200, 403)


# From which pages


def test_a_page_of_this_machine_may_call(site: Site) -> None:
    for origin in ("http://localhost:3000", "http://127.0.0.1", f"http://[::1]:{site.port}"):
        answer = site.post(calls("run"), {"Origin": origin})

        assert answer.status == 200
        assert answer.headers["access-control-allow-origin"] == origin
        assert answer.headers["vary"] == "Origin"
        assert "mcp-session-id" in answer.headers["access-control-expose-headers"].lower()


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_a_foreign_page_is_refused_before_anything_runs(site: Site, origin: str) -> None:
    before = site.call("runs")

    answer = site.post(calls("run"), {"Origin": origin})

    assert answer.status == 403
    if origin == "null":
        assert "sandboxed frames of any site" in answer.error
    else:
        assert (f"allow_origins=[{origin!r}]" in answer.error) is ("://" in origin)
    assert not any(name.startswith("access-control-") for name in answer.headers)
    assert site.call("runs") == before


def test_who_is_no_page_is_told_nothing_of_pages(site: Site) -> None:
    answer = site.post(calls("run"))

    assert not any(name.startswith("access-control-") for name in answer.headers)


def test_an_origin_that_was_added_may_call_and_no_other(widened: Site) -> None:
    added = widened.post(calls("run"), {"Origin": "https://app.example"})
    insecure = widened.post(calls("run"), {"Origin": "http://app.example"})
    other_port = widened.post(calls("run"), {"Origin": "https://app.example:8443"})

    assert (added.status, insecure.status, other_port.status) == (200, 403, 403)
    assert added.headers["access-control-allow-origin"] == "https://app.example"


def ask_before(connection: Connection, origin: str, headers: str) -> None:
    """What a browser asks before it sends a request of a page."""
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": headers,
    }
    connection.send(head("OPTIONS", "/mcp", asked))


def test_a_page_may_send_the_headers_of_the_protocol_and_no_others(widened: Site) -> None:
    asked = (
        "content-type, authorization, last-event-id, mcp-method, mcp-name, mcp-param-city, "
        "mcp-protocol-version, mcp-session-id, x-forwarded-for"
    )

    with widened.connect() as connection:
        ask_before(connection, "https://app.example", asked)
        answer = connection.answer()

    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    methods = {each.strip() for each in answer.headers["access-control-allow-methods"].split(",")}
    assert methods == {"GET", "POST", "DELETE"}
    assert answer.headers["access-control-allow-headers"] == asked.removesuffix(", x-forwarded-for")
    assert "access-control-allow-credentials" not in answer.headers


def test_a_foreign_page_that_asks_before_is_refused(widened: Site) -> None:
    with widened.connect() as connection:
        ask_before(connection, "https://evil.example", "content-type")
        answer = connection.answer()

    assert answer.status == 403
    assert not any(name.startswith("access-control-") for name in answer.headers)


def test_a_page_may_read_why_it_was_refused(widened: Site) -> None:
    headers = {"Origin": "https://app.example", "Mcp-Session-Id": "unknown"}
    with widened.connect() as connection:
        connection.send(head("GET", "/mcp", {**headers, "Accept": "text/event-stream"}))
        answer = connection.answer()

    assert answer.status == 404
    assert answer.headers["access-control-allow-origin"] == "https://app.example"


def test_a_host_that_was_welcome_before_does_not_open_the_door_for_a_foreign_page(
    site: Site,
) -> None:
    site.post(calls("run"), {"Host": "localhost"})

    answer = site.post(calls("run"), {"Host": "localhost", "Origin": "https://evil.example"})

    assert answer.status == 403


def test_the_version_of_a_request_does_not_matter_to_who_is_let_in(site: Site) -> None:
    for version in (NEWEST, "2025-11-25", "1999-01-01"):
        headers = {"Host": "evil.example", "MCP-Protocol-Version": version}

        assert site.post(calls("run"), headers).status == 421
