"""One client of a living process, from its first word to its last."""

import asyncio
import json
import os
import threading

from tests.attaching.fixtures import Dial, Reach, Start
from tests.attaching.hosted import is_served
from tests.processes.process import HANDSHAKE, text_of

from toolhaft import Limits, Server


def test_a_client_is_served_with_a_session_of_its_own(server: Server, dial: Dial) -> None:
    with server.attach("a") as attached:
        first, second = dial(attached.socket), dial(attached.socket)
        first.shake()
        second.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        refused = second.answer(1)
        said = text_of(first.tool(2, "who"))

        assert attached.clients == 2
        assert first.first == {"toolhaft": 1, "name": "a", "pid": os.getpid()}
        assert refused["error"]["code"] == -32602  # it has shaken no hands
        assert said.startswith("toolhaft-tool-")


def test_a_tool_that_cancels_every_task_ends_no_conversation(server: Server, reach: Reach) -> None:
    @server.tool
    async def cancel_all() -> str:
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        return "cancelled"

    with server.attach() as attached:
        one, other = reach(attached.socket), reach(attached.socket)

        assert one.call("cancel_all") == "cancelled"
        assert is_served(one)
        assert is_served(other)
        assert is_served(reach(attached.socket))


def test_whoever_comes_and_goes_leaves_nothing_behind(server: Server, dial: Dial) -> None:
    with server.attach() as attached:
        for first in (b"", b'{"toolhaft"', None):
            for _ in range(20):
                dial(attached.socket, first).close()
        last = dial(attached.socket)
        last.shake()
        last.tool(1, "who")
        for _ in range(1000):
            if attached.clients == 1:
                break
            last.tool(2, "who")

        assert attached.clients == 1


def test_limits_hold_as_on_stdio(dial: Dial) -> None:
    server = Server("s", limits=Limits(message_bytes=1000))
    with server.attach() as attached:
        wire = dial(attached.socket)
        wire.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","x":"' + b"x" * 100_000 + b'"}\n')
        wire.write(b"[" * 900 + b"\n")
        wire.send({"jsonrpc": "2.0", "id": 2, "method": "ping"})
        answers = [wire.read() for _ in range(3)]

    assert "at most 1000 bytes" in answers[0]["error"]["message"]
    assert answers[1]["error"]["code"] == -32700
    assert answers[2]["result"] == {}


def test_a_client_that_does_not_read_holds_up_nobody_else(dial: Dial) -> None:
    server = Server("s", limits=Limits(waiting_bytes=100_000))
    begun: list[int] = []

    @server.tool
    async def much(n: int) -> str:
        begun.append(n)
        return "x" * 100_000

    with server.attach() as attached:
        deaf, other = dial(attached.socket), dial(attached.socket)
        deaf.shake()
        other.shake()
        calls = [
            {
                "jsonrpc": "2.0",
                "id": n,
                "method": "tools/call",
                "params": {"name": "much", "arguments": {"n": n}},
            }
            for n in range(200)
        ]
        deaf.send(*calls)
        said = text_of(other.tool(1, "much", n=-1))
        served = len(begun)
        heard = [deaf.read()["id"] for _ in calls]

    assert len(said) == 100_000
    assert served < 50  # the rest waits until somebody reads
    assert heard == list(range(200))


def test_calls_finish_after_the_client_has_said_all(dial: Dial, server: Server) -> None:
    release = threading.Event()

    @server.tool
    def wait() -> str:
        release.wait(10)
        return "done"

    with server.attach() as attached:
        wire = dial(attached.socket)
        wire.shake()
        # The last line has no end.
        call = {"name": "wait", "arguments": {}}
        last = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        wire.write(json.dumps(last).encode())
        wire.end()
        threading.Timer(1.0, release.set).start()  # longer than a server on stdio would wait

        assert text_of(wire.answer(1)["result"]) == "done"
        assert wire.read() is None


def test_a_client_that_leaves_cancels_its_calls(server: Server, dial: Dial) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    @server.tool
    async def wait() -> None:
        begun.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with server.attach() as attached:
        wire = dial(attached.socket)
        wire.shake()
        call = {"name": "wait", "arguments": {}}
        wire.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        assert begun.wait(10)
        wire.close()

        assert cancelled.wait(10)


def test_clients_are_refused_where_the_lifespan_has_failed(program: Start, bridge: Start) -> None:
    living = program(
        """
        @contextlib.asynccontextmanager
        async def lifespan(server):
            raise ConnectionError("no database")
            yield

        server = Server("notes", lifespan=lifespan)
        server.attach()
        stay()
        """
    )
    client = bridge("notes", "--wait=0", opened=False)
    client.send(*HANDSHAKE)

    assert client.ends() != 0
    assert [message for message in client.left() if "result" in message] == []
    assert "its lifespan failed: ConnectionError" in client.stderr
    assert "no database" in living.stderr
