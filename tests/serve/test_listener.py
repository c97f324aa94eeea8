"""What a server or a listener is told wrongly is said at once."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from toolhaft import Listener, Server
from toolhaft.testing import Client


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"guard": "secret"}, "guard takes a function"),
        ({"allow_hosts": "a.example"}, "allow_hosts takes a list"),
        ({"tls": "a.pem"}, "tls takes the files"),
        ({"services": [Server("s")]}, "services are given by path"),
        ({"services": {"/mcp": "server.py"}}, "/mcp: a service is a Server, not 'server.py'"),
        ({"allow_hosts": 5}, "allow_hosts takes a list of str, not 5"),
        ({"allow_origins": [5]}, "allow_origins takes a list of str, not"),
    ],
)
def test_what_is_of_the_wrong_kind_is_refused(options: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Listener(0, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"allow_hosts": ["http://a.example/"]}, "is no host"),
        ({"allow_origins": ["a.example"]}, "is no origin"),
        ({"sessions": "often"}, "expected 'auto', 'stateful' or 'stateless'"),
        ({"runner": "apache"}, "expected 'uvicorn' or 'granian'"),
        ({"bind": "nowhere"}, "is no address"),
        ({"bind": "::1:80"}, "is no address"),
        ({"services": {"mcp": Server("s")}}, "is no path"),
        ({"services": {"/healthz": Server("s")}}, "take another path"),
    ],
)
def test_what_cannot_be_is_refused(options: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Listener(**{"bind": 0, **options})


def test_a_framing_that_nobody_knows_is_refused() -> None:
    wrong: Any = "frames"

    with pytest.raises(ValueError, match="expected 'auto', 'lines' or 'content-length'"):
        Server("s").run(framing=wrong)


def test_an_application_names_an_option_that_it_does_not_know() -> None:
    wrong: Any = {"gaurd": None}

    with pytest.raises(TypeError, match=r"asgi\(\) knows no 'gaurd'; did you mean 'guard'\?"):
        Server("s").asgi(**wrong)


def test_an_option_that_a_mount_does_not_know_is_named_with_those_that_it_knows() -> None:
    wrong: Any = {"gaurd": None}

    with pytest.raises(TypeError, match=r"mount\(\) knows no 'gaurd'; did you mean 'guard'\?"):
        Listener(0).mount("/mcp", Server("s"), **wrong)


@pytest.mark.parametrize("workers", ["2", 0, True], ids=["text", "none", "truth"])
def test_workers_are_a_number(workers: Any) -> None:
    with pytest.raises(ValueError, match=r"workers=.*: at least one must work"):
        Listener(0, {"/mcp": Server("s")}).run(workers=workers)


def test_a_listener_with_nothing_to_serve_does_not_run() -> None:
    with pytest.raises(ValueError, match="nothing to serve"):
        Listener(0).run()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"htp": "x"}, "knows no 'htp'; did you mean 'http'?"),
        ({"http": 0, "gaurd": 1}, "did you mean 'guard'?"),
        ({"port": 0}, "knows no 'port'; it takes framing, http, path, workers, sessions, "),
        ({"path": "/x"}, "without http= serves over stdio"),
        ({"workers": 2}, "without http= serves over stdio"),
        ({"sessions": "auto"}, "without http= serves over stdio"),
        ({"http": 0, "framing": "lines"}, "framing is for stdio"),
    ],
)
def test_a_server_is_not_run_as_nobody_meant_it(options: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Server("s").run(**options)


async def test_a_server_is_not_run_inside_of_a_loop() -> None:
    words = r"one is running here already: call run\(\) outside of async functions"

    with pytest.raises(RuntimeError, match=words):
        Server("s").run()
    with pytest.raises(RuntimeError, match=words):
        Server("s").run(http="127.0.0.1:0")
    with pytest.raises(RuntimeError, match=words):
        Listener(0, {"/mcp": Server("s")}).run(workers=2)


# When it serves


@pytest.mark.parametrize("runner", ["uvicorn", "granian"])
async def test_it_tells_when_it_serves_and_at_which_port(runner: Any) -> None:
    entered: list[str] = []

    @contextlib.asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        entered.append("entered")
        yield

    server = Server("s", version="1", lifespan=lifespan)
    server.add_tool(lambda: "served", name="x")
    listener = Listener(0, {"/mcp": server}, runner=runner)
    serving = asyncio.create_task(listener.serve())
    async with asyncio.timeout(10):
        url = await listener.serving()
        again = await listener.serving()
        assert entered == ["entered"]
        async with Client.http(f"{url}/mcp") as client:
            assert await client.call("x") == "served"
        listener.stop(now=True)
        await serving

    assert url == again == listener.url
    assert not url.endswith(":0")


async def test_what_waits_for_it_to_serve_learns_that_it_never_will() -> None:
    listener = Listener(0, {"/mcp": Server("s", version="1")}, tls=("nowhere.pem", "nowhere.key"))
    waiting = asyncio.create_task(listener.serving())
    await asyncio.sleep(0)
    with pytest.raises(FileNotFoundError):
        await listener.serve()

    with pytest.raises(RuntimeError, match="ended before it served"):
        await asyncio.wait_for(waiting, 5)


# What servers say of themselves


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_what_a_server_was_not_told_is_told_by_its_listener(revision: str) -> None:
    told = Server("told", version="1.0.0", title="Mine")
    untold = Server("untold")
    info: Any = {"version": "7.0.0", "title": "Ours", "website_url": "https://example.org"}
    listener = Listener(0, {"/told": told}, info=info)
    listener.mount("/untold", untold)
    said = []
    for path in ("/told", "/untold"):
        async with Client.asgi(listener.app, path=path, revision=revision) as client:
            said.append(client.server_info)

    assert [(each.name, each.version, each.title) for each in (told.info, untold.info)] == [
        ("told", "1.0.0", "Mine"),
        ("untold", "7.0.0", "Ours"),
    ]
    assert [each.version for each in said] == ["1.0.0", "7.0.0"]
    assert told.website_url == untold.website_url == "https://example.org"


def test_the_first_listener_that_says_something_of_a_server_counts() -> None:
    server = Server("s")
    for version in ("1.0.0", "2.0.0"):
        Listener(0, {"/mcp": server}, info={"version": version})

    assert server.info.version == "1.0.0"


@pytest.mark.parametrize(
    ("info", "words"),
    [
        ("1.0.0", "info takes a dict"),
        ({"name": "s"}, "each server has a name of its own"),
        ({"versoin": "1"}, "did you mean 'version'"),
        ({"version": 1}, "info: version must be a str"),
    ],
)
def test_info_that_is_none_is_refused(info: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Listener(0, info=info)


@pytest.mark.parametrize(
    "name",
    ["sessions", "allow_hosts", "allow_origins", "guard", "legacy_sse", "tls", "runner", "metrics"],
)
def test_a_setting_of_a_listener_that_would_change_nothing_is_refused(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"{name} of a Listener is settled .*Listener\(…"):
        setattr(Listener(0), name, None)


async def test_to_wait_for_a_listener_that_has_ended_is_an_error() -> None:
    listener = Listener("127.0.0.1:0", {"/mcp": Server("s")})
    serving = asyncio.create_task(listener.serve())
    await listener.serving()
    listener.stop(now=True)
    await serving

    with pytest.raises(RuntimeError, match=r"has ended; start serve\(\) again to wait for it"):
        async with asyncio.timeout(5):
            await listener.serving()


async def test_to_wait_for_a_listener_that_has_failed_is_an_error() -> None:
    listener = Listener("127.0.0.1:0")
    with pytest.raises(ValueError, match="nothing to serve"):
        await listener.serve()

    with pytest.raises(RuntimeError, match=r"has ended; start serve\(\) again to wait for it"):
        async with asyncio.timeout(5):
            await listener.serving()


async def test_a_listener_that_serves_again_can_be_waited_for_again() -> None:
    listener = Listener("127.0.0.1:0", {"/mcp": Server("s")})
    urls: list[str] = []
    for _ in range(2):
        serving = asyncio.create_task(listener.serve())
        async with asyncio.timeout(5):
            urls.append(await listener.serving())
        listener.stop(now=True)
        await serving

    assert urls[0] == urls[1]
