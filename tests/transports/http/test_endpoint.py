"""Pages of browsers: whose may use the service, by which names, and what they may read."""

from typing import Any

import pytest
from tests.transports.http.asgi import Answer, Client, StatelessClient, initialize

from toolhaft import Server, Unauthorized

HOSTS = ["localhost", "localhost:8000", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8000"]
FOREIGN = [
    "evil.com",
    "evil.com:8000",
    "localhost.evil.com",
    "127.0.0.1.evil.com",
    "127.0.0.1:8000/x?",
    "127.0.0.1:99999x",
    "localhost:1@evil.com",
    "evil.com@localhost",
    "localhost,evil.com",
    "[::1].evil.com",
    "[::1",
    "",
]


def new_server() -> Server:
    server = Server("s", version="1")
    server.add_tool(lambda: "x", name="x")
    return server


def new_client(**options: Any) -> StatelessClient:
    return StatelessClient(new_server().asgi(**options))


async def called_as(host: str, **options: Any) -> Answer:
    client = new_client(**options)
    client.headers["host"] = host
    return await client.ask("tools/list")


async def called_from(origin: str, **options: Any) -> Answer:
    client = new_client(**options)
    client.headers["origin"] = origin
    return await client.ask("tools/list")


@pytest.mark.parametrize("host", [*HOSTS, "LocalHost:8000"])
async def test_this_machine_has_several_names(host: str) -> None:
    assert (await called_as(host)).status == 200


@pytest.mark.parametrize("host", FOREIGN)
async def test_any_other_name_is_refused(host: str) -> None:
    assert (await called_as(host)).status == 421


async def test_the_refusal_of_a_name_says_which_setting_allows_it() -> None:
    answer = await called_as("my.example:8000")

    assert "allow_hosts=['my.example:8000']" in answer.json["error"]["message"]


async def test_a_name_can_be_allowed() -> None:
    assert (await called_as("My.Example:8000", allow_hosts=["my.example"])).status == 200


async def test_a_request_without_a_name_is_refused() -> None:
    client = new_client()
    fields = [(b"content-type", b"application/json")]

    assert (await client.begin_raw("POST", fields).answer()).status == 421


@pytest.mark.parametrize("host", HOSTS)
async def test_pages_of_this_machine_are_let_in(host: str) -> None:
    assert (await called_from(f"http://{host}")).status == 200


@pytest.mark.parametrize("origin", [*(f"http://{host}" for host in FOREIGN), "null", "file://"])
async def test_pages_of_others_are_refused(origin: str) -> None:
    assert (await called_from(origin)).status == 403


async def test_the_refusal_of_a_page_says_which_setting_allows_it() -> None:
    answer = await called_from("https://my.example")

    assert "allow_origins=['https://my.example']" in answer.json["error"]["message"]


async def test_a_page_that_is_refused_may_not_read_why() -> None:
    answer = await called_from("https://my.example")

    assert "access-control-allow-origin" not in answer.headers


async def test_nothing_runs_for_a_page_that_is_refused() -> None:
    server, ran = new_server(), []
    server.add_tool(lambda: ran.append(1), name="runs", thread=False)
    client = StatelessClient(server.asgi())
    client.headers["origin"] = "https://evil.com"
    await client.tool("runs")

    assert ran == []


async def test_an_origin_can_be_allowed() -> None:
    answer = await called_from("https://my.example", allow_origins=["https://my.example"])

    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == "https://my.example"


async def test_that_any_name_is_allowed_lets_in_no_foreign_page() -> None:
    client = new_client(allow_hosts=["*"])
    client.headers |= {"host": "my.example", "origin": "https://evil.com"}

    assert (await client.ask("tools/list")).status == 403


async def test_that_any_name_is_allowed_lets_in_our_own_pages() -> None:
    client = new_client(allow_hosts=["*"])
    client.headers |= {"host": "my.example", "origin": "https://my.example"}

    assert (await client.ask("tools/list")).status == 200


@pytest.mark.parametrize("verb", ["GET", "DELETE", "OPTIONS", "PUT"])
async def test_every_verb_is_checked(verb: str) -> None:
    client = new_client()
    client.headers["origin"] = "https://evil.com"

    assert (await client.request(verb)).status == 403


# Cross-origin resource sharing


async def test_without_an_origin_nothing_is_said_of_it() -> None:
    answer = await new_client().ask("tools/list")

    assert [name for name in answer.headers if name.startswith("access-control")] == []


async def test_a_page_that_is_let_in_may_read_the_answer() -> None:
    answer = await called_from("http://localhost:5173")

    assert answer.headers["access-control-allow-origin"] == "http://localhost:5173"
    assert answer.headers["vary"] == "Origin"


async def test_a_page_may_read_the_id_of_its_session() -> None:
    client = Client(new_server().asgi(), origin="http://localhost:5173")
    answer = await client.post(initialize())

    exposed = answer.headers["access-control-expose-headers"].lower().split(", ")
    assert exposed == ["mcp-session-id", "www-authenticate"]
    assert "mcp-session-id" in answer.headers


async def test_a_page_may_read_a_stream() -> None:
    server = new_server()
    client = StatelessClient(server.asgi())
    client.headers["origin"] = "http://localhost:5173"
    stream = client.start("subscriptions/listen", notifications={"toolsListChanged": True})
    await stream.message()

    assert stream.headers["access-control-allow-origin"] == "http://localhost:5173"


async def test_a_page_may_read_why_it_needs_a_token() -> None:
    def guard(headers: object) -> str:
        raise Unauthorized

    answer = await called_from("http://localhost:5173", guard=guard)

    assert answer.status == 401
    assert answer.headers["access-control-allow-origin"] == "http://localhost:5173"


async def preflight(headers: str, **options: Any) -> Answer:
    client = new_client(**options)
    return await client.request(
        "OPTIONS",
        origin="http://localhost:5173",
        access_control_request_method="POST",
        access_control_request_headers=headers,
    )


async def test_a_browser_may_ask_first() -> None:
    answer = await preflight("content-type")

    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == "http://localhost:5173"
    assert answer.headers["access-control-allow-methods"] == "GET, POST, DELETE"


async def test_a_page_may_send_the_headers_of_mcp_and_no_others() -> None:
    answer = await preflight(
        "Content-Type,Mcp-Session-Id, mcp-protocol-version,mcp-method,mcp-name,Mcp-Param-Region,"
        "last-event-id,authorization,x-other,cookie"
    )

    assert answer.headers["access-control-allow-headers"].split(", ") == [
        "content-type",
        "mcp-session-id",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "mcp-param-region",
        "last-event-id",
        "authorization",
    ]


async def test_no_token_is_needed_to_ask_first() -> None:
    def guard(headers: object) -> str:
        raise Unauthorized

    assert (await preflight("content-type", guard=guard)).status == 204


async def test_a_foreign_page_is_told_nothing_when_it_asks_first() -> None:
    client = new_client()
    answer = await client.request("OPTIONS", origin="https://evil.com")

    assert answer.status == 403
    assert [name for name in answer.headers if name.startswith("access-control")] == []


async def test_credentials_are_never_allowed() -> None:
    answer = await preflight("content-type", allow_origins=["*"])

    assert "access-control-allow-credentials" not in answer.headers
