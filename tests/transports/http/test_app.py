"""`server.asgi()` in the applications of others, whether they run lifespans or not."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.routing import Mount, Route
from tests.asking import NEW
from tests.transports.http.asgi import Answer, App, Client, SessionClient, StatelessClient, lifespan

from toolhaft import Context, Listener, Server, testing

Host = Callable[[str, App], App]


class Journal:
    """A server with a lifespan, which tells when it is entered and left."""

    def __init__(self) -> None:
        self.entries: list[str] = []
        self.server = Server("s", version="1", lifespan=self._live)

        @self.server.tool
        async def opened(ctx: Context) -> str:
            return str(ctx.lifespan)

        @self.server.tool
        async def chatty(ctx: Context) -> str:
            await ctx.progress(1)
            await asyncio.sleep(0)
            return "said"

    @asynccontextmanager
    async def _live(self, server: Server) -> AsyncIterator[str]:
        self.entries.append("entered")
        try:
            yield "open"
        finally:
            await asyncio.sleep(0)
            self.entries.append("left")


def plain(path: str, app: App) -> App:
    """An application of somebody who read the specification of ASGI only."""

    async def host(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
        elif scope["path"].startswith(path):
            root = scope.get("root_path", "") + path
            await app({**scope, "root_path": root}, receive, send)

    return host


def starlette(path: str, app: App) -> App:
    """Mounted, with the lifespan handed on."""
    return Starlette(routes=[Mount(path or "/", app=app)], lifespan=handed_on(app))


def fastapi(path: str, app: App) -> App:
    """The same in FastAPI."""
    host = FastAPI(lifespan=handed_on(app))
    host.mount(path or "/", app)
    return host


def starlette_without(path: str, app: App) -> App:
    """Starlette does not tell what is mounted of lifespans."""
    return Starlette(routes=[Mount(path or "/", app=app)])


def fastapi_without(path: str, app: App) -> App:
    """Nor does FastAPI."""
    host = FastAPI()
    host.mount(path or "/", app)
    return host


def handed_on(app: App) -> Any:
    @asynccontextmanager
    async def run(host: object) -> AsyncIterator[None]:
        async with lifespan(app):
            yield

    return run


async def called(app: App, tool: str = "opened") -> Any:
    """What a tool returns to a client of a host that runs no lifespans."""
    async with testing.Client.asgi(app, revision=NEW, lifespan=False) as client:
        return await client.call(tool)


RUNNING = [plain, starlette, fastapi]
NOT_RUNNING = [plain, starlette_without, fastapi_without]


# With lifespans


@pytest.mark.parametrize("host", RUNNING)
async def test_a_host_that_runs_lifespans_enters_ours_before_the_first_request(host: Host) -> None:
    journal = Journal()
    async with lifespan(host("", journal.server.asgi())):
        assert journal.entries == ["entered"]


@pytest.mark.parametrize("host", RUNNING)
async def test_calls_are_served_within_the_lifespan(host: Host) -> None:
    journal = Journal()
    app = host("", journal.server.asgi())
    async with testing.Client.asgi(app) as client:
        assert await client.call("opened") == "open"


@pytest.mark.parametrize("host", RUNNING)
async def test_the_lifespan_is_left_when_the_host_ends(host: Host) -> None:
    journal = Journal()
    app = host("", journal.server.asgi())
    async with testing.Client.asgi(app) as client:
        await client.call("opened")

    assert journal.entries == ["entered", "left"]


@pytest.mark.parametrize("host", RUNNING)
async def test_streams_end_when_the_host_ends(host: Host) -> None:
    journal = Journal()
    app = host("", journal.server.asgi())
    async with lifespan(app):
        stream = StatelessClient(app).start(
            "subscriptions/listen", notifications={"toolsListChanged": True}
        )
        await stream.message()

    assert (await stream.answer()).messages[-1]["result"]["resultType"] == "complete"


async def test_a_lifespan_that_fails_stops_the_host_at_its_start(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @asynccontextmanager
    async def fails(server: Server) -> AsyncIterator[None]:
        raise OSError("no database")
        yield

    async with lifespan(Server("s", lifespan=fails).asgi()) as started:
        assert started["type"] == "lifespan.startup.failed"
        assert "no database" in started["message"]


async def test_a_host_can_begin_again_after_its_end() -> None:
    journal = Journal()
    app = journal.server.asgi()
    for _ in range(2):
        async with testing.Client.asgi(app) as client:
            assert await client.call("opened") == "open"

    assert journal.entries == ["entered", "left", "entered", "left"]


# Without lifespans


@pytest.mark.parametrize("host", NOT_RUNNING)
async def test_without_lifespans_the_first_request_enters_ours(host: Host) -> None:
    journal = Journal()

    assert await called(host("", journal.server.asgi())) == "open"
    assert journal.entries == ["entered"]


@pytest.mark.parametrize("host", NOT_RUNNING)
async def test_without_lifespans_ours_is_entered_once(host: Host) -> None:
    journal = Journal()
    app = host("", journal.server.asgi())

    assert await asyncio.gather(*(called(app) for _ in range(10))) == ["open"] * 10
    assert journal.entries == ["entered"]


async def test_without_lifespans_ours_is_left_when_the_application_is_told() -> None:
    journal = Journal()
    app: Any = journal.server.asgi()
    await called(app)
    await app.close()

    assert journal.entries == ["entered", "left"]


async def test_an_application_that_was_closed_serves_again() -> None:
    journal = Journal()
    app: Any = journal.server.asgi()
    await called(app)
    await app.close()

    assert await called(app) == "open"
    assert journal.entries == ["entered", "left", "entered"]


@pytest.mark.parametrize("host", NOT_RUNNING)
def test_without_lifespans_the_loop_ends_and_ours_is_left(host: Host) -> None:
    journal = Journal()

    assert asyncio.run(called(host("", journal.server.asgi()))) == "open"
    assert journal.entries == ["entered", "left"]


def test_the_end_of_the_loop_is_no_failure_of_the_lifespan(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    asyncio.run(called(Journal().server.asgi()))

    assert [record.getMessage() for record in caplog.records] == []


def test_a_loop_ends_although_a_client_still_listens() -> None:
    async def main() -> Any:
        client = StatelessClient(Journal().server.asgi())
        stream = client.start("subscriptions/listen", notifications={"toolsListChanged": True})
        return await stream.message()

    assert asyncio.run(main())["method"] == "notifications/subscriptions/acknowledged"


# Two loops in a row


@pytest.mark.parametrize("host", NOT_RUNNING)
def test_a_second_loop_is_served_as_the_first_was(host: Host) -> None:
    journal = Journal()
    app = host("", journal.server.asgi())

    assert [asyncio.run(called(app)) for _ in range(2)] == ["open", "open"]
    assert journal.entries == ["entered", "left", "entered", "left"]


def test_news_of_a_second_loop_do_not_fail_because_of_the_first() -> None:
    server = Server("s", version="1")
    server.add_tool(lambda: "x", name="x")
    app = server.asgi()

    async def main(name: str) -> Any:
        async with (
            testing.Client.asgi(app, revision=NEW, lifespan=False) as client,
            client.listen(tools=True) as news,
        ):
            server.add_tool(lambda: "y", name=name)
            return await news.next()

    told = [asyncio.run(main(name)) for name in ("one", "two")]

    assert [each.method for each in told] == ["notifications/tools/list_changed"] * 2


def test_a_change_between_two_loops_harms_nobody() -> None:
    server = Server("s", version="1")
    server.add_tool(lambda: "x", name="x")
    app = server.asgi()
    asyncio.run(called(app, "x"))
    server.add_tool(lambda: "y", name="y")

    assert asyncio.run(called(app, "y")) == "y"


def test_a_session_of_the_first_loop_goes_on_in_the_second() -> None:
    server = Server("s", version="1")
    server.add_tool(lambda: "x", name="x")
    client = SessionClient(server.asgi())
    asyncio.run(client.shake())

    assert asyncio.run(client.tool("x")).text == "x"


def test_a_plain_function_runs_in_a_second_loop_too() -> None:
    server = Server("s", version="1")
    server.add_tool(lambda: "x", name="x")
    app = server.asgi()

    assert [asyncio.run(called(app, "x")) for _ in range(2)] == ["x", "x"]


# Paths


async def found(app: App, path: str) -> int:
    """The status of a call at a path."""
    return (await StatelessClient(app, path).ask("tools/list")).status


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_by_itself_it_serves_at_its_path(path: str) -> None:
    assert await found(Journal().server.asgi(), path) == 200


@pytest.mark.parametrize("path", ["/", "/other", "/mcp/x", "/MCP", "/mcpx", ""])
async def test_elsewhere_is_nothing(path: str) -> None:
    assert await found(Journal().server.asgi(), path) == 404


async def test_the_answer_elsewhere_says_where_it_is() -> None:
    answer = await StatelessClient(Journal().server.asgi(), "/x").ask("tools/list")

    assert "/mcp" in answer.json["error"]["message"]


@pytest.mark.parametrize("path", ["/a/b", "/a/b/"])
async def test_the_path_can_be_another(path: str) -> None:
    assert await found(Journal().server.asgi("/a/b"), path) == 200


async def test_the_path_can_be_the_root() -> None:
    assert await found(Journal().server.asgi("/"), "/") == 200


@pytest.mark.parametrize("path", ["mcp", "", "/healthz", "/readyz", "/healthz/", "/a?b"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"no path|take another path"):
        Journal().server.asgi(path)


@pytest.mark.parametrize("host", [plain, starlette, fastapi, starlette_without, fastapi_without])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_mounted_at_the_root_it_serves_at_its_path(host: Host, path: str) -> None:
    assert await found(host("", Journal().server.asgi()), path) == 200


@pytest.mark.parametrize("host", [plain, starlette, fastapi, starlette_without, fastapi_without])
@pytest.mark.parametrize("path", ["/api/mcp", "/api/mcp/"])
async def test_mounted_below_a_path_it_serves_below_it(host: Host, path: str) -> None:
    assert await found(host("/api", Journal().server.asgi()), path) == 200


@pytest.mark.parametrize("host", [plain, starlette, fastapi, starlette_without, fastapi_without])
@pytest.mark.parametrize("path", ["/mcp/", "/mcp/mcp"])
async def test_mounted_where_it_should_be_it_serves_right_there(host: Host, path: str) -> None:
    assert await found(host("/mcp", Journal().server.asgi()), path) == 200


async def followed(app: App, path: str) -> Answer:
    """As clients of HTTP do when they are sent elsewhere with the same request."""
    answer = await StatelessClient(app, path).ask("tools/list")
    if answer.status != 307:
        return answer
    elsewhere = answer.headers["location"].removeprefix("http://127.0.0.1:8000")
    return await StatelessClient(app, elsewhere).ask("tools/list")


@pytest.mark.parametrize("host", [plain, starlette, fastapi, starlette_without, fastapi_without])
async def test_mounted_where_it_should_be_it_needs_no_slash(host: Host) -> None:
    assert (await followed(host("/mcp", Journal().server.asgi()), "/mcp")).status == 200


@pytest.mark.parametrize("host", [plain, starlette, fastapi])
async def test_at_the_root_of_a_mount_it_serves_right_there(host: Host) -> None:
    assert await found(host("/mcp", Journal().server.asgi("/")), "/mcp/") == 200


async def test_a_route_of_starlette_needs_no_slash() -> None:
    app = Starlette(routes=[Route("/mcp", Journal().server.asgi(), methods=None)])

    assert await found(app, "/mcp") == 200


async def test_streams_pass_through_the_middleware_of_a_host() -> None:
    class Passes(BaseHTTPMiddleware):
        async def dispatch(self, request: Any, call_next: Any) -> Any:
            return await call_next(request)

    routes = [Mount("/", app=Journal().server.asgi())]
    app = Starlette(routes=routes, middleware=[Middleware(Passes)])
    told: list[Any] = []
    async with testing.Client.asgi(app, on_progress=lambda *each: told.append(each[0])) as client:
        assert await client.call("chatty") == "said"

    assert told == [1]


async def test_a_websocket_is_closed() -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/mcp", "headers": []}
    await Journal().server.asgi()(scope, receive, send)

    assert [message["type"] for message in sent] == ["websocket.close"]


# Health


async def health(app: App, path: str) -> tuple[int, Any]:
    answer = await Client(app, path).request("GET")
    return answer.status, answer.json


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_a_service_that_serves_is_well(path: str) -> None:
    app = Journal().server.asgi()
    async with lifespan(app):
        assert await health(app, path) == (200, {"status": "ok"})


async def test_a_service_is_ready_when_its_lifespan_is_entered() -> None:
    go = asyncio.Event()

    @asynccontextmanager
    async def slow(server: Server) -> AsyncIterator[None]:
        await go.wait()
        yield

    server = Server("s", version="1", lifespan=slow)
    server.add_tool(lambda: "x", name="x")
    app = server.asgi()
    await StatelessClient(app).ask("tools/list")
    before = [await health(app, path) for path in ("/healthz", "/readyz")]
    go.set()
    await StatelessClient(app).tool("x")

    assert before == [(200, {"status": "ok"}), (503, {"status": "not ready"})]
    assert (await health(app, "/readyz"))[0] == 200


async def test_a_service_that_ends_is_not_ready() -> None:
    app: Any = Journal().server.asgi()
    await StatelessClient(app).tool("opened")
    app.end_streams()

    assert (await health(app, "/healthz"))[0] == 200
    assert (await health(app, "/readyz"))[0] == 503


async def test_a_service_that_nobody_has_called_yet_becomes_ready_by_being_asked() -> None:
    journal = Journal()
    app = journal.server.asgi()
    await health(app, "/readyz")
    await asyncio.sleep(0)

    assert journal.entries == ["entered"]
    assert (await health(app, "/readyz"))[0] == 200


async def test_health_below_a_mount_is_found_there() -> None:
    app = starlette("/api", Journal().server.asgi())

    assert (await health(app, "/api/healthz"))[0] == 200


# Several services


async def test_services_of_a_listener_are_served_at_their_paths() -> None:
    services = {f"/{name}": Server(name, version="1") for name in ("a", "b")}
    listener = Listener(services=services)
    names = []
    for path in ("/a", "/b"):
        async with testing.Client.asgi(listener.app, path) as client:
            names.append(client.server_info.name)

    assert names == ["a", "b"]


async def test_sessions_of_one_service_are_unknown_to_another() -> None:
    listener = Listener(services={f"/{name}": Server(name, version="1") for name in ("a", "b")})
    client = SessionClient(listener.app, "/a")
    await client.shake()
    client.path = "/b"

    assert (await client.ask("ping")).status == 404


async def test_each_service_has_its_own_terms() -> None:
    listener = Listener(sessions="stateful")
    listener.mount("/a", Server("a", version="1"))
    listener.mount("/b", Server("b", version="1"), sessions="stateless")
    headers = [(await SessionClient(listener.app, path).shake()).headers for path in ("/a", "/b")]

    assert ["mcp-session-id" in each for each in headers] == [True, False]


async def test_a_service_that_is_unmounted_is_gone_and_others_stay() -> None:
    listener = Listener(services={f"/{name}": Server(name, version="1") for name in ("a", "b")})
    await listener.unmount("/a")

    assert await found(listener.app, "/a") == 404
    assert (await SessionClient(listener.app, "/b").shake()).status == 200


async def test_to_unmount_needs_no_waiting() -> None:
    journal = Journal()
    listener = Listener(services={"/a": journal.server})
    await StatelessClient(listener.app, "/a").tool("opened")
    ended = listener.unmount("/a")

    assert await found(listener.app, "/a") == 404
    await ended
    assert journal.entries == ["entered", "left"]


async def test_another_thread_may_unmount() -> None:
    left = asyncio.Event()

    @asynccontextmanager
    async def opened(server: Server) -> AsyncIterator[None]:
        yield
        left.set()

    server = Server("s", version="1", lifespan=opened)
    server.add_tool(lambda: "x", name="x")
    listener = Listener(services={"/a": server})
    await StatelessClient(listener.app, "/a").tool("x")
    await asyncio.to_thread(listener.unmount, "/a")

    assert await found(listener.app, "/a") == 404
    await asyncio.wait_for(left.wait(), 5)


async def test_where_nothing_is_served_nothing_is_unmounted() -> None:
    await Listener(services={"/a": Server("a", version="1")}).unmount("/b")


async def test_a_service_that_is_unmounted_leaves_its_lifespan() -> None:
    journal = Journal()
    listener = Listener(services={"/a": journal.server})
    await StatelessClient(listener.app, "/a").tool("opened")
    await listener.unmount("/a")

    assert journal.entries == ["entered", "left"]


def test_a_path_is_taken_once() -> None:
    listener = Listener(services={"/a": Server("a", version="1")})

    with pytest.raises(ValueError, match="already"):
        listener.mount("/a/", Server("b", version="1"))


async def test_a_server_can_be_served_at_two_paths() -> None:
    journal = Journal()
    listener = Listener(services={"/a": journal.server, "/b": journal.server})
    for path in ("/a", "/b"):
        assert (await StatelessClient(listener.app, path).tool("opened")).text == "open"
    await listener.unmount("/a")

    assert (await StatelessClient(listener.app, "/b").tool("opened")).text == "open"
    assert journal.entries == ["entered"]
