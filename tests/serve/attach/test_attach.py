"""A server is attached beside loops and threads of the program."""

import threading
from pathlib import Path

from tests.attaching.fixtures import Bridged, Reach, Start
from tests.attaching.hosted import entries, is_served

from toolhaft import Attachment, Server


async def test_it_works_beside_a_running_loop(server: Server, reach: Reach) -> None:
    """As in Jupyter, where the main thread has a loop that never ends."""
    async with server.attach() as attached:
        assert is_served(reach(attached.socket))  # which blocks this very loop

    assert not attached.attached


async def test_detaching_does_not_hold_up_a_running_loop(server: Server, places: Path) -> None:
    with server.attach() as attached:
        assert attached.attached

    assert not attached.attached  # at once, though its thread may still be ending
    assert repr(attached) == "<Attachment my-notes: detached>"
    assert entries(places) == []


def test_it_works_in_a_thread(server: Server, reach: Reach) -> None:
    found: list[Attachment] = []
    thread = threading.Thread(target=lambda: found.append(server.attach()))
    thread.start()
    thread.join()
    with found[0] as attached:
        assert is_served(reach(attached.socket))


def test_a_lifespan_is_entered_once_for_all_clients(program: Start, bridged: Bridged) -> None:
    living = program("""
        @contextlib.asynccontextmanager
        async def lifespan(server):
            say("entered")
            yield "open"
            say("left")

        server = Server("span", lifespan=lifespan)

        @server.tool
        def value(ctx: Context) -> str:
            return ctx.lifespan

        with server.attach():
            say("attached")
            sys.stdin.read()
    """)
    for _ in range(2):
        with bridged("span") as client:
            assert client.call("value") == "open"
        assert client.exit_status == 0
    assert living.end() == 0

    assert sorted(living.stderr.split()) == ["attached", "entered", "left"]
