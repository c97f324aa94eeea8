"""Several processes that serve one address: nothing is lost, the dead are replaced, all end."""

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from tests.transports.http.servers.conftest import Serve
from tests.transports.http.servers.web import (
    LIFESPAN,
    OF_SESSIONS,
    Site,
    asks,
    calls,
    eventually,
    listens,
    posting,
)  # fmt: skip

SERVED = (
    LIFESPAN
    + """
server = Server("tested", version="1", lifespan=lifespan, limits=Limits(drain_seconds=2))

@server.tool
def pid() -> int:
    return os.getpid()

@server.tool
async def echo(value: str) -> str:
    await asyncio.sleep(0)
    return value

@server.tool
def echo_on_a_thread(value: str) -> str:
    return value

@server.tool
async def echo_with_progress(value: str, ctx: Context) -> str:
    await ctx.progress(1, 2)
    return value

@server.tool
async def confirm(ctx: Context) -> str:
    await ctx.elicit("Really?", bool)
    return "confirmed"

@server.tool
async def short() -> str:
    say("short begins")
    await asyncio.sleep(0.5)
    return "finished"

@server.tool
async def long() -> str:
    say("long begins")
    await asyncio.sleep(60)
    return "finished"
"""
)
CLIENTS = 8
CALLS = 150


def workers_of(site: Site) -> set[int]:
    """The processes that serve."""
    return {
        int(pid)
        for task in Path(f"/proc/{site.pid}/task").iterdir()
        for pid in (task / "children").read_text().split()
    }


def is_gone(pid: int) -> bool:
    """Is there no such process any more?"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.fixture
def serve_two(serve: Serve) -> Iterator[Serve]:
    """Start two workers, and leave none behind, whatever becomes of their parent."""
    known: set[int] = set()

    def start(*options: str, **more: object) -> Site:
        site = serve(SERVED, "--workers", "2", *options, **more)
        known.update(eventually(lambda: two(site), "two workers"))
        return site

    yield start
    for pid in known:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def two(site: Site) -> set[int]:
    """The workers, if both have entered their lifespan."""
    found = workers_of(site)
    return found if len(found) == 2 and site.stderr.count("lifespan entered") >= 2 else set()


@pytest.fixture(scope="module")
def site(serve_all: Serve) -> Iterator[Site]:
    """Two workers for the tests that harm neither."""
    site = serve_all(SERVED, "--workers", "2")
    eventually(lambda: two(site), "two workers")
    yield site
    assert site.status_after(signal.SIGTERM) == 0


def ledger(site: Site, client: int, *, fresh: bool) -> list[tuple[str, str]]:
    """Many calls of one client, by one connection or by one for each; what was sent, and what
    came."""
    tools = ("echo", "echo_on_a_thread", "echo_with_progress")
    entries = []
    connection = site.connect()
    for number in range(CALLS):
        sent = f"{client}/{number}"
        message = asks(
            sent, "tools/call", {"name": tools[number % 3], "arguments": {"value": sent}}
        )
        if fresh:
            connection.close()
            connection = site.connect()
        answer = connection.post(message)
        came = answer.json
        entries.append((sent, f"{came['id']}={answer.text}"))
    connection.close()
    return entries


# Under load


@pytest.mark.parametrize("fresh", [False, True], ids=["one connection each", "many connections"])
def test_every_call_is_answered_once_with_its_own_value(site: Site, fresh: bool) -> None:
    with ThreadPoolExecutor(CLIENTS) as pool:
        entries = [
            entry
            for part in pool.map(lambda client: ledger(site, client, fresh=fresh), range(CLIENTS))
            for entry in part
        ]

    assert len(entries) == CLIENTS * CALLS
    assert all(came == f"{sent}={sent}" for sent, came in entries)
    assert set(Counter(sent for sent, _ in entries).values()) == {1}
    assert "Traceback" not in site.stderr


def test_both_workers_serve(site: Site) -> None:
    def served() -> str:
        return site.call("pid")

    found: set[str] = set()
    with ThreadPoolExecutor(8) as pool:
        eventually(
            lambda: found.update(pool.map(lambda _: served(), range(16))) or len(found) == 2,
            "both workers",
        )

    assert {int(pid) for pid in found} == workers_of(site)


def test_clients_that_shake_hands_are_served_without_a_session(site: Site) -> None:
    with site.client(revision=OF_SESSIONS) as client:
        assert client.session_id is None
        assert [client.call("echo", value=str(number)) for number in range(20)] == [
            str(number) for number in range(20)
        ]


def test_without_sessions_the_id_of_one_is_not_looked_at(site: Site) -> None:
    with site.client(revision=OF_SESSIONS, session="unknown") as client:
        assert client.call("echo", value="heard") == "heard"


def test_a_question_of_one_worker_may_be_answered_to_another(site: Site) -> None:
    with site.client(answers=[True] * 12) as client:
        # Each question and each answer by a connection of its own.
        said = [(client.call("confirm"), client.rounds) for _ in range(12)]

    assert said == [("confirmed", 2)] * 12


def test_each_worker_enters_the_lifespan(site: Site) -> None:
    assert site.stderr.count("lifespan entered") == 2


# Faults


def test_a_worker_that_is_killed_is_replaced_and_the_others_lose_nothing(
    serve_two: Serve,
) -> None:
    site = serve_two()
    before = workers_of(site)
    threading.Event().wait(1.1)  # one that dies younger than that was never well
    victim = int(site.call("pid"))

    os.kill(victim, signal.SIGKILL)
    after = eventually(
        lambda: len(found := workers_of(site)) == 2 and victim not in found and found,
        "another worker",
    )

    eventually(lambda: site.stderr.count("lifespan entered") == 3, "its lifespan")

    assert before & after == before - {victim}
    entries = ledger(site, 1, fresh=True)
    assert all(came == f"{sent}={sent}" for sent, came in entries)
    site.hears(f"worker {victim} ended with status -9")
    [another] = after - before
    try:
        assert site.status_after(signal.SIGTERM) == 0
    finally:
        assert is_gone(another)


def test_workers_do_not_outlive_their_parent(serve_two: Serve) -> None:
    site = serve_two()
    workers = workers_of(site)

    os.kill(site.pid, signal.SIGKILL)

    eventually(lambda: all(map(is_gone, workers)), "the end of the workers", 5)


def test_workers_that_cannot_begin_end_the_server(serve: Serve) -> None:
    site = serve(
        """
        @contextlib.asynccontextmanager
        async def lifespan(server):
            raise ValueError("no database")
            yield

        server = Server("tested", lifespan=lifespan)
        """,
        "--workers",
        "2",
        awaited=False,
    )

    assert site.ends() not in (0, -15)
    assert "no database" in site.stderr


# Ends


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda each: each.name)
def test_a_signal_ends_all_in_order(serve_two: Serve, number: signal.Signals) -> None:
    site = serve_two()
    workers = workers_of(site)
    streams = [site.stream(listens(id_)) for id_ in range(4)]
    for stream in streams:
        stream.next()
    waiting = [site.connect() for _ in range(4)]
    for connection in waiting:
        connection.send(posting(calls("short")))
    site.hears("short begins\n" * 4)

    site.signal(number)

    assert [stream.next()["id"] for stream in streams] == [0, 1, 2, 3]
    assert [connection.answer().text for connection in waiting] == ["finished"] * 4
    assert site.ends() == 0
    assert all(map(is_gone, workers))
    assert site.stderr.count("lifespan left") == 2
    assert "Traceback" not in site.stderr


def test_a_signal_while_the_workers_begin_ends_all_in_order(serve: Serve) -> None:
    site = serve(SERVED, "--workers", "2", awaited=False)
    site.hears("serving at ")

    status = site.status_after(signal.SIGTERM)

    assert status == 0
    assert site.stderr.count("lifespan entered") == site.stderr.count("lifespan left")


def test_a_control_c_of_the_terminal_ends_all_in_order(serve_two: Serve) -> None:
    # A terminal tells the whole group: the parent and its workers.
    site = serve_two(before=["setsid"])
    connection = site.connect()
    connection.send(posting(calls("short")))
    site.hears("short begins")

    os.killpg(site.pid, signal.SIGINT)

    assert connection.answer().text == "finished"
    assert site.ends() == 0
    assert site.stderr.count("lifespan left") == 2


def test_a_second_signal_ends_all_at_once(serve_two: Serve) -> None:
    site = serve_two()
    workers = workers_of(site)
    stream = site.stream(listens())
    stream.next()
    site.connect().send(posting(calls("long")))
    site.hears("long begins")
    site.signal(signal.SIGTERM)
    assert stream.next()["id"] == "listen"

    status = site.status_after(signal.SIGTERM, within=1.5)  # sooner than the call is given up

    assert status != 0
    assert all(map(is_gone, workers))
