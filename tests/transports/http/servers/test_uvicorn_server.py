"""`Listener`: several services on one address, put there and taken away while it serves."""

import signal
from typing import Any

import pytest
from tests.transports.http.servers.conftest import Serve
from tests.transports.http.servers.web import (
    HERE,
    LIFESPAN,
    NEWEST,
    OF_SESSIONS,
    Site,
    calls,
    eventually,
    head,
    listens,
    posting,
    tool_call,
)  # fmt: skip

from toolhaft.testing import ToolFailed

SERVICES = """
def service(name, **options):
    made = Server(name, version="1", **options)

    @made.tool
    def whose() -> str:
        return name

    @made.tool
    async def wait() -> str:
        say(f"{name} waits")
        try:
            await asyncio.sleep(60)
        finally:
            say(f"{name} waits no more")
        return "finished"

    @made.tool
    async def short() -> str:
        say(f"{name} waits")
        await asyncio.sleep(0.15)
        return "finished"

    return made
"""
TWO = (
    LIFESPAN
    + SERVICES
    + """
weather = service("weather", lifespan=lifespan)
crypto = service("crypto", limits=Limits(message_bytes=2000))
cart = service("cart")
listener = Listener(
    "127.0.0.1:0", {"/weather": weather}, allow_hosts=["services.example"]
)
listener.mount("/crypto", crypto, sessions="stateless", allow_hosts=["crypto.example"])
listener.mount("/deep/er/cart", cart, sessions="stateful")
extra = service("extra")

@weather.tool
async def grow() -> str:
    listener.mount("/extra", extra)
    return "grown"

@weather.tool
async def shrink() -> str:
    await listener.unmount("/extra")
    return "shrunk"

@weather.tool
async def clash() -> str:
    listener.mount("/crypto", extra)
    return "grown"

listener.run()
"""
)
PATHS = {"weather": "/weather", "crypto": "/crypto", "cart": "/deep/er/cart"}


@pytest.fixture(scope="module")
def site(serve_all: Serve) -> Site:
    """Three services, and one more now and then."""
    return serve_all(TWO, script=True)


def call(site: Site, path: str, tool: str = "whose") -> Any:
    """What a tool returns, of the service at a path."""
    with site.client(path=path) as client:
        return client.call(tool)


# Several services


def test_every_service_is_announced(site: Site) -> None:
    for path in PATHS.values():
        assert f"serving at http://{HERE}:{site.port}{path} " in site.stderr


@pytest.mark.parametrize("name", PATHS)
def test_each_service_says_who_it_is(site: Site, name: str) -> None:
    with site.client(path=PATHS[name], revision=OF_SESSIONS) as client:
        assert (client.server_info.name, client.server_info.version) == (name, "1")
        assert client.call("whose") == name


@pytest.mark.parametrize("name", ["weather", "crypto"])
def test_each_service_says_who_it_is_to_clients_without_a_session(site: Site, name: str) -> None:
    with site.client(path=PATHS[name]) as client:
        assert (client.server_info.name, client.server_info.version) == (name, "1")
        assert client.call("whose") == name


def test_a_service_that_insists_on_sessions_says_so_to_clients_that_have_none(site: Site) -> None:
    answer = site.post(calls("whose"), path=PATHS["cart"])

    assert answer.status == 400
    assert answer.json["error"]["code"] == -32022
    assert "2026-07-28" not in answer.json["error"]["data"]["supported"]
    assert answer.json["error"]["data"]["supported"][0] == "2025-11-25"


def test_each_service_has_its_own_mode_of_sessions(site: Site) -> None:
    has_session = {}
    for name, path in PATHS.items():
        with site.client(path=path, revision=OF_SESSIONS) as client:
            has_session[name] = client.session_id is not None
    without = {
        name: site.post(tool_call(1, "whose"), path=path).status for name, path in PATHS.items()
    }

    assert has_session == {"weather": True, "crypto": False, "cart": True}
    assert without == {"weather": 200, "crypto": 200, "cart": 400}


def test_a_session_of_one_service_is_unknown_to_another(site: Site) -> None:
    session = site.open_session(path="/weather")

    elsewhere = site.post(tool_call(1, "whose"), session.headers, "/deep/er/cart")

    assert elsewhere.status == 404


def test_a_service_without_sessions_knows_one_verb(site: Site) -> None:
    for verb in ("GET", "DELETE", "PUT"):
        with site.connect() as connection:
            connection.send(head(verb, "/crypto", {"Accept": "text/event-stream"}))
            answer = connection.answer()

        assert answer.status == 405
        assert answer.headers["allow"] == "POST"


def test_each_service_has_its_own_limits(site: Site) -> None:
    large = calls("whose", padding="x" * 3000)

    statuses = {name: site.post(large, path=PATHS[name]).status for name in ("weather", "crypto")}

    assert statuses == {"weather": 200, "crypto": 413}


def test_what_the_listener_says_holds_unless_a_service_says_otherwise(site: Site) -> None:
    def refused(host: str) -> list[str]:
        return [
            name
            for name, path in PATHS.items()
            if site.post(calls("whose"), {"Host": host}, path).status == 421
        ]

    assert refused("services.example") == ["crypto"]
    assert refused("crypto.example") == ["weather", "cart"]


def test_elsewhere_is_nothing_and_the_answer_says_where_something_is(site: Site) -> None:
    answer = site.post(calls("whose"), path="/mcp")

    assert answer.status == 404
    assert all(path in answer.error for path in PATHS.values())


# Health


def test_it_says_that_it_lives_and_is_ready(site: Site) -> None:
    for path in ("/healthz", "/readyz"):
        answer = site.get(path)

        assert answer.status == 200
        assert answer.json == {"status": "ok"}


def test_it_lives_and_is_not_ready_while_it_ends(serve: Serve) -> None:
    site = serve(TWO, script=True)
    alive, ready = site.connect(), site.connect()
    for connection in (alive, ready):
        connection.send(head("GET", "/healthz"))
        assert connection.answer().status == 200
    with site.connect() as waiting:
        waiting.send(posting(calls("wait"), path="/weather"))
        site.hears("weather waits")
        stream = site.stream(listens(), path="/weather")
        stream.next()
        site.signal(signal.SIGTERM)
        assert stream.next()["id"] == "listen"

        alive.send(head("GET", "/healthz"))
        ready.send(head("GET", "/readyz"))

        assert alive.answer().status == 200
        assert ready.answer().status == 503


# Mounting while it serves


def test_a_service_comes_and_goes_while_others_serve(site: Site) -> None:
    assert site.post(calls("whose"), path="/extra").status == 404
    assert call(site, "/weather", "grow") == "grown"

    for revision in (NEWEST, OF_SESSIONS):
        with site.client(path="/extra", revision=revision) as client:
            assert (client.server_info.name, client.call("whose")) == ("extra", "extra")
    assert call(site, "/weather", "shrink") == "shrunk"
    assert site.post(calls("whose"), path="/extra").status == 404
    assert call(site, "/crypto") == "crypto"


def test_a_service_that_goes_completes_its_streams_and_lets_short_calls_finish(
    site: Site,
) -> None:
    call(site, "/weather", "grow")
    stream, elsewhere = (
        site.stream(listens(), path="/extra"),
        site.stream(listens(), path="/crypto"),
    )
    session = site.open_session(path="/extra")
    news = session.news()
    stream.next()
    elsewhere.next()
    short, long = site.connect(), site.connect()
    before = site.stderr.count("extra waits\n")
    short.send(posting(calls("short"), path="/extra"))
    long.send(posting(calls("wait"), path="/extra"))
    eventually(lambda: site.stderr.count("extra waits\n") == before + 2, "both calls")

    assert call(site, "/weather", "shrink") == "shrunk"

    assert stream.next()["id"] == "listen"
    assert list(news.messages()) == []
    assert short.answer().text == "finished"
    assert long.answer().json["error"]["code"] == -32603
    site.hears("extra waits no more")
    assert site.holds(elsewhere)
    elsewhere.close()


def test_a_path_that_is_taken_is_refused(site: Site) -> None:
    with pytest.raises(ToolFailed):
        call(site, "/weather", "clash")
    assert call(site, "/crypto") == "crypto"


# Stopping, and serving on a loop that is there


EMBEDDED = (
    LIFESPAN
    + SERVICES
    + """
weather = service("weather", lifespan=lifespan, limits=Limits(drain_seconds=2))
listener = Listener("127.0.0.1:0", {"/mcp": weather})

def stop(**how):
    threading.Thread(target=listener.stop, kwargs=how).start()

@weather.tool
async def stop_in_order() -> str:
    stop()
    return "stopping"

@weather.tool
async def stop_at_once() -> str:
    stop(now=True)
    return "stopping"

async def say_where():
    while listener.url.endswith(":0"):
        await asyncio.sleep(0.01)
    say(f"serving at {listener.url}/mcp (Ctrl-C ends it)")

async def main():
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.01)

    beside = asyncio.create_task(tick())
    where = asyncio.create_task(say_where())
    await listener.serve()
    say(f"served; the loop goes on: {ticks > 0}, {not beside.done()}")
    beside.cancel()

asyncio.run(main())
say("the program goes on")
"""
)
RUNNING = (
    EMBEDDED.partition("async def say_where")[0]
    + """
listener.run()
say("the program goes on")
"""
)


@pytest.mark.parametrize("source", [EMBEDDED, RUNNING], ids=["serve", "run"])
def test_it_is_stopped_in_order_from_another_thread(serve: Serve, source: str) -> None:
    site = serve(source, script=True)
    stream, waiting = site.stream(listens()), site.connect()
    stream.next()
    waiting.send(posting(calls("short")))
    site.hears("weather waits")

    assert site.call("stop_in_order") == "stopping"

    assert stream.next()["id"] == "listen"
    assert waiting.answer().text == "finished"
    assert site.ends() == 0
    assert "lifespan left" in site.stderr
    assert "the program goes on" in site.stderr
    assert "Traceback" not in site.stderr


@pytest.mark.parametrize("source", [EMBEDDED, RUNNING], ids=["serve", "run"])
def test_it_is_stopped_at_once_from_another_thread(serve: Serve, source: str) -> None:
    site = serve(source.replace("drain_seconds=2", "drain_seconds=30"), script=True)
    stream, waiting = site.stream(listens()), site.connect()
    stream.next()
    waiting.send(posting(calls("wait")))
    site.hears("weather waits")

    site.connect().send(posting(calls("stop_at_once")))

    told = stream.next()
    assert (told["id"], "result" in told) == ("listen", True)
    assert waiting.answer().json["error"]["code"] == -32603
    assert site.ends() == 0
    assert "lifespan left" in site.stderr
    assert "the program goes on" in site.stderr
    assert "Traceback" not in site.stderr


def test_it_serves_on_a_loop_that_is_there_beside_other_tasks(serve: Serve) -> None:
    site = serve(EMBEDDED, script=True)
    with site.client(revision=OF_SESSIONS) as client:
        assert client.call("whose") == "weather"

    status = site.status_after(signal.SIGTERM)

    assert status == 0
    assert "served; the loop goes on: True, True" in site.stderr
    assert "the program goes on" in site.stderr
    assert "Traceback" not in site.stderr


AGAIN = """
async def main():
    for number in range(2):
        serving = asyncio.create_task(listener.serve())
        while listener.url.endswith(":0"):
            await asyncio.sleep(0.01)
        say(f"serving at {listener.url}/mcp (Ctrl-C ends it)")
        await serving
        say(f"served {number}")
"""


def test_it_can_serve_again_after_it_was_stopped(serve: Serve) -> None:
    start, _, end = EMBEDDED.partition("async def main")
    site = serve(start + AGAIN + end[end.index("\nasyncio.run(") :], script=True)
    assert site.call("stop_in_order") == "stopping"
    site.hears("served 0")

    site.answers_at("/readyz")

    assert site.call("whose") == "weather"
    assert site.call("stop_in_order") == "stopping"
    assert site.ends() == 0
    assert site.stderr.count("lifespan left") == 2


ON_A_THREAD = """
thread = threading.Thread(target=lambda: asyncio.run(main()))
thread.start()
thread.join()
say("the program goes on")
"""


def test_it_serves_on_the_loop_of_another_thread(serve: Serve) -> None:
    start, _, _ = EMBEDDED.partition("\nasyncio.run(")
    site = serve(start + ON_A_THREAD, script=True)

    assert site.call("whose") == "weather"
    assert site.call("stop_in_order") == "stopping"
    assert site.ends() == 0
    assert "the program goes on" in site.stderr
    assert "Traceback" not in site.stderr
