"""Tools that raise, block, fork or break the loop: others are served, and go on to be served."""

import asyncio
import signal
from pathlib import Path

import pytest
from tests.transports.http.servers.conftest import Serve
from tests.transports.http.servers.web import (
    LIFESPAN,
    NEWEST,
    OF_SESSIONS,
    Site,
    calls,
    eventually,
    posting,
)

from toolhaft import McpError
from toolhaft.testing import SyncClient

EXCEPTIONS = {
    "SystemExit": "SystemExit(3)",
    "KeyboardInterrupt": "KeyboardInterrupt()",
    "GeneratorExit": "GeneratorExit()",
    "StopIteration": "StopIteration(5)",
    "StopAsyncIteration": "StopAsyncIteration()",
    "CancelledError": "asyncio.CancelledError()",
    "RecursionError": "RecursionError()",
    "MemoryError": "MemoryError()",
    "Rude": "Rude('not an Exception')",
    "BaseExceptionGroup": "BaseExceptionGroup('several', [SystemExit(1), KeyboardInterrupt()])",
}
WILD = """
class Rude(BaseException):
    pass

def raised(kind):
    return EXCEPTIONS[kind]()

@server.tool
async def at_once(kind: str) -> str:
    raise raised(kind)

@server.tool
async def later(kind: str) -> str:
    await asyncio.sleep(0)
    raise raised(kind)

@server.tool
async def streaming(kind: str, ctx: Context) -> str:
    await ctx.progress(1, 2)
    await asyncio.sleep(0.01)
    raise raised(kind)

@server.tool
def on_a_thread(kind: str) -> str:
    raise raised(kind)

@server.tool(thread=False)
def inline(kind: str) -> str:
    raise raised(kind)

@server.resource("raising://{kind}")
async def read(kind: str) -> str:
    raise raised(kind)

left = []

@server.tool
async def leave(kind: str, how: str) -> str:
    async def rude():
        raise raised(kind)

    def rudely():
        raise raised(kind)

    loop = asyncio.get_running_loop()
    if how == "task":
        left.append(loop.create_task(rude()))
    elif how == "callback":
        loop.call_soon(rudely)
    else:
        loop.call_later(0.01, rudely)
    return "left"

@server.tool
async def stop_the_loop() -> str:
    asyncio.get_running_loop().stop()
    return "stopped"

@server.tool
async def odd_text() -> str:
    return "lone \\ud800 half"

@server.tool
def hello(name: str = "you") -> str:
    return f"hello {name}"

@server.tool
async def hello_async(name: str = "you") -> str:
    await asyncio.sleep(0)
    return f"hello {name}"

@server.tool
def pid() -> int:
    return os.getpid()

@server.tool
def fork() -> str:
    return f"child {os.fork()}"

@server.tool(thread=False)
def fork_inline() -> str:
    return f"child {os.fork()}"

@server.tool
async def fork_async() -> str:
    return f"child {os.fork()}"

@server.tool
async def fork_later() -> str:
    child = os.fork()
    await asyncio.sleep(0.05)
    return f"child {child}"

@server.tool
def reap() -> int:
    reaped = 0
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            reaped += 1
    return reaped

free = threading.Event()

@server.tool
def block() -> str:
    say("blocking")
    free.wait(60)
    return "unblocked"

@server.tool
async def unblock() -> str:
    free.set()
    return "done"

@server.tool
async def close_descriptors() -> str:
    os.close(0)
    os.close(1)
    return "closed"
""" + "EXCEPTIONS = {" + ", ".join(
    f"{name!r}: lambda: {raised}" for name, raised in EXCEPTIONS.items()
) + "}\n"  # fmt: skip
WAYS = ["at_once", "later", "on_a_thread", "inline"]
FORKS = ["fork", "fork_inline", "fork_async", "fork_later"]


@pytest.fixture(scope="module")
def site(serve_all: Serve) -> Site:
    """A server with every wild tool there is."""
    return serve_all(WILD)


def has_failed(client: SyncClient, tool: str, **arguments: str) -> bool:
    """Is a call answered, and is the answer that it failed?"""
    try:
        return client.call_raw(tool, arguments).is_error
    except McpError:
        return True


@pytest.mark.parametrize("kind", EXCEPTIONS)
def test_whatever_a_tool_raises_harms_its_own_call_only(site: Site, kind: str) -> None:
    told: list[float] = []
    with site.client() as newest, site.client(revision=OF_SESSIONS) as session:
        pid = newest.call("pid")
        streaming = newest.call_raw(
            "streaming", {"kind": kind}, on_progress=lambda done, *_: told.append(done)
        )

        for client in (newest, session):
            assert [way for way in WAYS if not has_failed(client, way, kind=kind)] == []
        assert (told, streaming.is_error) == ([1], True)
        assert session.call("hello", name="others") == "hello others"
        assert newest.call("pid") == pid


@pytest.mark.parametrize("kind", ["SystemExit", "KeyboardInterrupt", "Rude"])
@pytest.mark.parametrize("how", ["task", "callback", "timer"])
def test_whatever_a_tool_leaves_behind_may_raise_without_harm(
    site: Site, how: str, kind: str
) -> None:
    # The one with a session has a stream of news, too.
    with (
        site.client() as client,
        site.client(revision=OF_SESSIONS) as session,
        session.listen(tools=True),
    ):
        pid = client.call("pid")

        assert client.call("leave", kind=kind, how=how) == "left"
        assert [client.call("hello_async", name=str(number)) for number in range(5)] == [
            f"hello {number}" for number in range(5)
        ]
        assert session.call("hello") == "hello you"
        assert client.call("pid") == pid


def test_a_tool_that_stops_the_loop_harms_nobody(site: Site) -> None:
    pid = site.call("pid")

    assert site.call("stop_the_loop") == "stopped"
    assert site.call("pid") == pid


def test_text_that_cannot_be_sent_harms_its_own_call_only(site: Site) -> None:
    with site.client() as client:
        client.call_raw("odd_text")

        assert client.call("hello") == "hello you"


@pytest.mark.parametrize("tool", FORKS)
def test_a_tool_that_forks_is_answered_once_and_leaves_no_server(site: Site, tool: str) -> None:
    pid = site.call("pid")

    with site.connect() as connection:
        first = connection.post(calls(tool)).text
        # Were there a second answer, it would be taken for that to the next call.
        second = connection.post(calls("hello", name="after")).text

    assert first.startswith("child ")
    assert first != "child 0"
    assert second == "hello after"
    child = int(first.removeprefix("child "))
    eventually(lambda: site.call("reap") != "0" or not is_alive(child), "the end of the child")
    assert {site.call("pid") for _ in range(10)} == {pid}


def is_alive(pid: int) -> bool:
    """Is there such a process, that does more than wait to be buried?"""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


def test_a_tool_that_closes_stdin_and_stdout_harms_nobody(serve: Serve) -> None:
    site = serve(WILD)

    assert site.call("close_descriptors") == "closed"
    assert [site.call("hello_async") for _ in range(3)] == ["hello you"] * 3


async def test_more_blocked_tools_than_threads_hold_up_nobody_who_needs_none(serve: Serve) -> None:
    site = serve('server = Server("tested", limits=Limits(threads=2))\n' + WILD)
    async with site.client().client as client, site.client(revision=OF_SESSIONS).client as session:
        blocked = [asyncio.create_task(client.call("block")) for _ in range(5)]
        await asyncio.to_thread(site.hears, "blocking\nblocking\n")

        answers = [await client.call("hello_async", name=str(number)) for number in range(5)]

        assert answers == [f"hello {number}" for number in range(5)]
        assert len(await session.list_tools()) > 10
        assert await client.call("unblock") == "done"
        assert await asyncio.gather(*blocked) == ["unblocked"] * 5


@pytest.mark.parametrize("when", ["at once", "after a wait"])
def test_a_coroutine_that_holds_up_the_loop_is_named(serve: Serve, when: str) -> None:
    site = serve(
        f"""
        @server.tool
        async def blocks() -> str:
            if {when!r} == "after a wait":
                await asyncio.sleep(0.01)
            time.sleep(1.2)
            return "blocked"
        """
    )
    site.call("blocks")

    site.hears("tools/call 'blocks' holds up the event loop")
    assert site.call("blocks") == "blocked"
    assert site.stderr.count("holds up") == 1


CANCELLING = (
    LIFESPAN
    + """
server = Server("tested", version="1", lifespan=lifespan)

@server.tool
async def cancel_all() -> str:
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    return "cancelled"

@server.tool
async def hello() -> str:
    await asyncio.sleep(0.01)
    return "hello"

@server.tool
async def slow() -> str:
    say("slow")
    await asyncio.sleep(60)
    return "not cancelled"
"""
)


@pytest.mark.parametrize("revision", [NEWEST, OF_SESSIONS])
def test_a_tool_that_cancels_every_task_does_not_end_the_server(
    serve: Serve, revision: str
) -> None:
    site = serve(CANCELLING)
    with site.client(revision=revision) as client:
        assert client.call("cancel_all") == "cancelled"
        assert client.call("hello") == "hello"
    with site.client(revision=revision) as another:
        assert another.call("hello") == "hello"
    was_left = "lifespan left" in site.stderr

    assert site.status_after(signal.SIGTERM) == 0
    assert (was_left, "lifespan left" in site.stderr) == (False, True)
    assert "Traceback" not in site.stderr


def test_a_call_whose_task_another_tool_cancels_is_answered(serve: Serve) -> None:
    site = serve(CANCELLING)
    waiting = site.connect()
    waiting.send(posting(calls("slow")))
    site.hears("slow")

    assert site.call("cancel_all") == "cancelled"
    answer = waiting.answer()
    assert answer.status == 200
    assert answer.json["result"]["isError"] is True
