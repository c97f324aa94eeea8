"""Functions run where the program wants them to: on its loop, or wherever it takes them."""

import asyncio
import builtins
import contextlib
import contextvars
import queue
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import pytest
from tests.attaching.fixtures import Dial, Reach, Start
from tests.attaching.living import Wire
from tests.processes.process import request, text_of, tool_call

from toolhaft import (
    Accepted,
    Attachment,
    Complete,
    Context,
    Depends,
    Limits,
    Server,
    ToolInfo,
    tool,
)
from toolhaft.calls.run_on import LoopPlace
from toolhaft.testing import Client, play


def where() -> str:
    return threading.current_thread().name


class Program:
    """A loop on a thread, as a program has one."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="program")
        self._thread.start()

    def _run(self) -> None:
        self.loop.run_forever()
        self.loop.close()

    def end(self) -> None:
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()


@pytest.fixture
def elsewhere() -> Iterator[Program]:
    living = Program()
    yield living
    living.end()


@pytest.fixture
def server() -> Server:
    server = Server("s", errors="show")

    @server.tool
    def plain() -> str:
        return where()

    @server.tool
    async def waiting() -> str:
        await asyncio.sleep(0)
        return where()

    @server.tool
    async def yielding(ctx: Context) -> AsyncIterator[str]:
        yield where()
        yield where()

    @server.tool(timeout=20, limit=1)
    def bounded() -> str:
        return where()

    _add_needing(server)
    _add_others(server)
    return server


def _add_needing(server: Server) -> None:
    def dependency() -> str:
        return where()

    async def async_dependency() -> AsyncIterator[str]:
        before = where()
        yield before
        assert where() == before

    @server.tool
    def needing(a: str = Depends(dependency)) -> str:
        return f"{a} {where()}"

    @server.tool
    async def needing_more(a: str = Depends(dependency), b: str = Depends(async_dependency)) -> str:
        return f"{a} {b} {where()}"

    @server.tool
    def mixed(b: str = Depends(async_dependency)) -> str:
        return f"{b} {where()}"


def _add_others(server: Server) -> None:
    @server.resource("x://y")
    async def resource() -> str:
        return where()

    @server.prompt
    def prompt() -> str:
        return where()

    async def suggest(value: str, given: dict[str, str]) -> list[str]:
        return [where()]

    @server.prompt
    def suggesting(a: Annotated[str, Complete(suggest)]) -> str:
        return a

    class Provider:
        @tool
        async def provided(self) -> str:
            return where()

        async def tools(self) -> list[ToolInfo]:
            return [ToolInfo("listed")]

        async def call_tool(self, name: str, arguments: dict[str, Any], ctx: Context) -> Any:
            return where() if name == "listed" else NotImplemented

    server.include(Provider())


TOOLS = {
    "plain": "program",
    "waiting": "program",
    "yielding": "program",
    "bounded": "program",
    "needing": "program program",
    "needing_more": "program program program",
    "mixed": "program program",
    "provided": "program",
    "listed": "program",
}


@pytest.mark.parametrize("name", TOOLS)
def test_tools_run_on_the_loop_of_the_program(
    server: Server, elsewhere: Program, reach: Reach, name: str
) -> None:
    with server.attach(run_on=elsewhere.loop) as attached:
        assert reach(attached.socket).call_raw(name).text == TOOLS[name]


def test_so_do_resources_prompts_and_completers(
    server: Server, elsewhere: Program, reach: Reach
) -> None:
    with server.attach(run_on=elsewhere.loop) as attached:
        client = reach(attached.socket)

        assert client.read("x://y") == "program"
        assert client.prompt("prompt").texts == [("user", "program")]
        assert client.complete("suggesting", "a").values == ["program"]


@pytest.fixture
def gui() -> Iterator[Callable[[Callable[[], None]], None]]:
    """A thread that takes functions out of a queue, as GUIs do."""
    work: queue.Queue[Callable[[], None] | None] = queue.Queue()

    def run() -> None:
        while (function := work.get()) is not None:
            function()

    thread = threading.Thread(target=run, name="gui")
    thread.start()
    yield work.put
    work.put(None)
    thread.join()


def test_plain_functions_go_where_a_callable_takes_them(
    server: Server, gui: Any, reach: Reach
) -> None:
    with server.attach(run_on=gui) as attached:
        client = reach(attached.socket)
        found = [client.call(name) for name in ("plain", "bounded", "needing", "mixed")]
        waiting = client.call("waiting")

    assert found == ["gui", "gui", "gui gui", "toolhaft-attached gui"]
    assert waiting == "toolhaft-attached"  # nobody can wait in a queue


def test_an_executor_takes_functions_too(server: Server, reach: Reach) -> None:
    pool = ThreadPoolExecutor(1, thread_name_prefix="pool")
    with server.attach(run_on=pool) as attached:
        client = reach(attached.socket)
        assert client.call("plain") == "pool_0"
        pool.shutdown()
        refused = client.call_raw("plain")

    assert refused.is_error
    assert "the program takes no work any more: RuntimeError" in refused.text


async def test_one_tool_can_have_a_place_of_its_own(elsewhere: Program) -> None:
    """However it is called."""
    server = Server("s")

    @server.tool(run_on=elsewhere.loop)
    async def there() -> str:
        return where()

    @server.tool
    async def here() -> str:
        return where()

    called = await play(server, "there")
    async with Client.asgi(server.asgi()) as client:
        over_http = await client.call("there")
    other = await play(server, "here")

    assert called.text == "program"
    assert over_http == "program"
    assert other.text == "MainThread"


def test_a_callable_takes_no_coroutines() -> None:
    server = Server("s")

    async def later() -> None: ...

    with pytest.raises(TypeError, match="'later' is async, and run_on takes plain functions only"):
        server.add_tool(later, run_on=lambda function: function())
    with pytest.raises(TypeError, match="run_on takes an event loop"):
        server.add_tool(later, run_on="there")


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, asyncio.SelectorEventLoop])
def test_a_class_is_refused_where_its_instance_is_meant(kind: type) -> None:
    with pytest.raises(TypeError, match=rf"run_on takes an instance: {kind.__name__}\(\), not the"):
        Server("s").add_tool(print_all, run_on=kind)


def print_all() -> None:
    """Print."""


# What a call can do there


@pytest.fixture
def asking() -> Server:
    server = Server("s", errors="show")
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("v", default="")

    @server.tool
    async def ask(ctx: Context) -> str:
        await ctx.progress(1, 2, where())
        await ctx.log("error", where())
        variable.set("kept")
        answer = await ctx.elicit("Name?", str)
        step = await ctx.step("count", len, "abc")
        assert isinstance(answer, Accepted)
        return f"{answer.value} {step} {where()} {variable.get()}"

    @server.tool
    def ask_plainly(ctx: Context) -> str:
        ctx.sync.progress(1, 2, where())
        answer = ctx.sync.elicit("Name?", str)
        assert isinstance(answer, Accepted)
        return f"{answer.value} {where()}"

    return server


def converse(reach: Reach, attached: Attachment, name: str) -> tuple[list[str], str]:
    """Call a tool that asks; what was heard, and the result."""
    heard: list[Any] = []
    client = reach(
        attached.socket,
        answers=lambda method, params: "Ada",
        on_progress=lambda done, total, message: heard.append(message),
        on_log=lambda message: heard.append(message.data),
    )
    result = client.call_raw(name)
    return heard, result.text


def test_a_coroutine_reports_and_asks_from_the_programs_loop(
    asking: Server, elsewhere: Program, reach: Reach
) -> None:
    with asking.attach(run_on=elsewhere.loop) as attached:
        heard, result = converse(reach, attached, "ask")

    assert heard == ["program", "program"]
    assert result == "Ada 3 program kept"


def test_a_plain_function_reports_and_asks_from_a_thread(
    asking: Server, gui: Any, reach: Reach
) -> None:
    with asking.attach(run_on=gui) as attached:
        heard, result = converse(reach, attached, "ask_plainly")

    assert (heard, result) == (["gui"], "Ada gui")


def test_a_plain_function_cannot_hold_up_the_programs_loop(
    asking: Server, elsewhere: Program, reach: Reach
) -> None:
    with asking.attach(run_on=elsewhere.loop) as attached:
        heard, result = converse(reach, attached, "ask_plainly")

    assert heard == ["program"]
    assert "cannot wait for an answer: make it async" in result


async def test_rounds_are_played_from_the_programs_loop(elsewhere: Program) -> None:
    server = Server("s")
    cleaned: list[str] = []

    @server.tool(run_on=elsewhere.loop)
    async def ask(ctx: Context) -> str:
        try:
            first = await ctx.elicit("First?", str)
            second = await ctx.elicit("Second?", str)
        finally:
            cleaned.append(where())
        assert isinstance(first, Accepted)
        assert isinstance(second, Accepted)
        return f"{first.value} {second.value} {where()}"

    played = await play(
        server, "ask", answers={"First?": "a", "Second?": "b"}, revision="2026-07-28"
    )

    assert played.text == "a b program"
    assert cleaned == ["program"] * 3


def test_the_program_never_waits_for_a_client_that_does_not_read(
    elsewhere: Program, dial: Dial
) -> None:
    server = Server("s", limits=Limits(progress_per_second=1_000_000))
    reported = threading.Event()

    @server.tool
    def report(ctx: Context) -> int:
        for number in range(1, 20_001):
            ctx.sync.progress(number, message="x" * 1000)
        reported.set()
        return 20_000

    with server.attach(run_on=elsewhere.loop) as attached:
        wire = dial(attached.socket)
        wire.shake()
        params = {"name": "report", "arguments": {}, "_meta": {"progressToken": 1}}
        wire.send(request(1, "tools/call", params))
        assert reported.wait(30)  # before anything is read
        heard = 0
        while (message := wire.read()).get("id") != 1:
            heard += 1

    assert text_of(message["result"]) == "20000"
    assert 0 < heard < 20_000


# How calls end there


def test_errors_travel(elsewhere: Program, reach: Reach) -> None:
    server = Server("s", errors="show")

    @server.tool
    async def fail() -> None:
        raise ValueError("of the program")

    @server.tool
    def leave() -> None:
        raise SystemExit(3)

    @server.tool
    async def leave_later() -> None:
        raise SystemExit(3)

    with server.attach(run_on=elsewhere.loop) as attached:
        client = reach(attached.socket)
        said = [client.call_raw(name).text for name in ("fail", "leave", "leave_later")]

    assert said == [
        "tool 'fail' failed: ValueError: of the program",
        "tool 'leave' failed: SystemExit: 3",
        "tool 'leave_later' failed: SystemExit: 3",
    ]
    assert elsewhere.loop.is_running()


def test_a_call_that_is_cancelled_is_cancelled_there(elsewhere: Program, dial: Dial) -> None:
    server = Server("s")
    begun, cancelled = threading.Event(), threading.Event()

    @server.tool
    async def wait() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with server.attach(run_on=elsewhere.loop) as attached:
        wire = dial(attached.socket)
        wire.shake()
        wire.send(tool_call(1, "wait"))
        assert begun.wait(10)
        params = {"requestId": 1}
        wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

        assert cancelled.wait(10)
        wire.send(request(2, "ping"))
        assert wire.read()["id"] == 2


def test_a_call_that_takes_too_long_is_cancelled_there(elsewhere: Program, reach: Reach) -> None:
    server = Server("s")
    cancelled = threading.Event()

    @server.tool(timeout=0.1)
    async def wait() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    with server.attach(run_on=elsewhere.loop) as attached:
        client = reach(attached.socket)

        assert client.call_raw("wait").text == "tool 'wait' took longer than 0.1 s"
        assert cancelled.wait(10)


def test_what_the_program_cancels_is_a_failed_call(elsewhere: Program, reach: Reach) -> None:
    server = Server("s")

    @server.tool
    async def wait() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(60)

    with server.attach(run_on=elsewhere.loop) as attached:
        client = reach(attached.socket)

        assert client.call_raw("wait").text == "the program has cancelled this, or ends"


def test_work_that_has_not_begun_is_dropped(dial: Dial) -> None:
    server = Server("s")
    done: list[str] = []
    taken: queue.Queue[Callable[[], None]] = queue.Queue()

    @server.tool
    def work() -> None:
        done.append(where())

    with server.attach(run_on=taken.put) as attached:
        wire = dial(attached.socket)
        wire.shake()
        wire.send(tool_call(1, "work"))
        function = taken.get(timeout=10)
        params = {"requestId": 1}
        wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        wire.send(request(2, "ping"))
        assert wire.read()["id"] == 2
        function()

    assert done == []


@pytest.mark.parametrize("name", ["plain", "waiting"])
def test_a_loop_that_is_closed_is_told(
    server: Server, elsewhere: Program, reach: Reach, name: str
) -> None:
    with server.attach(run_on=elsewhere.loop) as attached:
        client = reach(attached.socket)
        elsewhere.end()
        said = client.call_raw(name)

    assert said.is_error
    assert said.text == "the program's event loop is closed, so nothing can run on it"


def test_a_loop_that_is_closed_meanwhile_is_told(elsewhere: Program, dial: Dial) -> None:
    server = Server("s")
    begun = threading.Event()
    never: list[Awaitable[None]] = []

    @server.tool
    async def wait() -> None:
        never.append(future := asyncio.get_running_loop().create_future())
        begun.set()
        with contextlib.suppress(GeneratorExit):
            await future

    with server.attach(run_on=elsewhere.loop) as attached:
        wire = dial(attached.socket)
        wire.shake()
        wire.send(tool_call(1, "wait"))
        assert begun.wait(10)
        [task] = asyncio.all_tasks(elsewhere.loop)
        elsewhere.end()
        said = wire.answer(1)["result"]
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        task.get_coro().close()  # type: ignore[union-attr]

    assert text_of(said) == "the program's event loop is closed, so nothing can run on it"


async def test_a_program_mutates_its_state_beside_its_tools(server: Server) -> None:
    """The tools and the program take turns on one loop, so that nothing is torn."""
    state = {"a": 0, "b": 0}

    @server.tool
    async def move() -> bool:
        whole = state["a"] == state["b"]
        state["a"] += 1
        state["b"] += 1
        return whole

    async def live() -> None:
        while True:
            state["a"] += 1
            state["b"] += 1
            await asyncio.sleep(0)

    life = asyncio.create_task(live())
    async with server.attach(run_on=asyncio.get_running_loop()) as attached:

        async def use() -> list[Any]:
            async with Client.attached(attached.socket, revision="2025-11-25") as client:
                return [await client.call("move") for _ in range(50)]

        used = await asyncio.gather(*(use() for _ in range(3)))
    life.cancel()

    assert used == [[True] * 50] * 3


async def test_a_cancel_while_a_task_is_made_is_not_lost(elsewhere: Program) -> None:
    making, may_go_on = threading.Event(), threading.Event()
    ended: list[str] = []

    def slow_factory(loop: asyncio.AbstractEventLoop, coro: Any, **more: Any) -> Any:
        making.set()
        assert may_go_on.wait(10)
        return asyncio.Task(coro, loop=loop, **more)

    async def work() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    elsewhere.loop.set_task_factory(slow_factory)
    task = asyncio.create_task(LoopPlace(elsewhere.loop).run(work))
    await asyncio.to_thread(making.wait, 10)
    task.cancel()
    await asyncio.sleep(0)
    may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 10)

    assert ended == ["cancelled"]


# Hooks


class Book:
    """Where hooks write what they did."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.changed = threading.Condition()

    def write(self, line: str) -> None:
        with self.changed:
            self.lines.append(line)
            self.changed.notify_all()

    def wait_for(self, count: int) -> list[str]:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.lines) >= count, 10)
            return list(self.lines)


book = Book()


def their_init() -> None:
    book.write(f"their init {where()}")


async def their_stop() -> None:
    book.write(f"their stop {where()}")


def broken() -> None:
    raise ValueError("not today")


@pytest.fixture(autouse=True)
def fresh_book() -> None:
    book.lines.clear()


THEIRS = (
    f'{{"toolhaft":1,"ask":"serve","init":"{__name__}:their_init",'
    f'"stop":"{__name__}:their_stop"}}\n'
)


def test_hooks_run_around_each_client(elsewhere: Program, dial: Dial) -> None:
    """E-58, E-59."""
    server = Server("s")

    async def stop() -> None:
        book.write(f"stop {where()}")

    with server.attach(
        init=lambda: book.write(f"init {where()}"), stop=stop, run_on=elsewhere.loop
    ) as attached:
        wire = dial(attached.socket, THEIRS.encode())
        assert "error" not in wire.read()
        before = list(book.lines)
        wire.close()
        after = book.wait_for(4)

    assert before == ["init program", "their init program"]
    assert after[2:] == ["their stop program", "stop program"]


def test_hooks_have_threads_of_their_own(dial: Dial) -> None:
    server = Server("s")
    with server.attach(init=their_init, stop=their_stop) as attached:
        dial(attached.socket)
        first = book.wait_for(1)
    after = book.wait_for(2)

    assert first[0].startswith("their init toolhaft-tool-")
    assert after[1] == "their stop toolhaft-attached"


def test_stop_follows_a_failed_init(dial: Dial) -> None:
    """E-59: clean-up is due always."""
    server = Server("s")
    with server.attach(init=broken, stop=their_stop) as attached:
        wire = dial(attached.socket)
        book.wait_for(1)

    assert wire.first["error"] == f"init {__name__}:broken failed: ValueError: not today"
    assert wire.read() is None
    assert book.lines == ["their stop toolhaft-attached"]


def leave() -> None:
    raise SystemExit(3)


async def leave_slowly() -> None:
    raise SystemExit(3)


@pytest.mark.parametrize("hook", [leave, leave_slowly])
@pytest.mark.parametrize("on_loop", [True, False])
def test_an_init_that_exits_is_a_failed_one(
    elsewhere: Program, dial: Dial, hook: Callable[[], Any], on_loop: bool
) -> None:
    server = Server("s")
    run_on = elsewhere.loop if on_loop else None
    with server.attach(init=hook, stop=hook, run_on=run_on) as attached:
        wires = [dial(attached.socket) for _ in range(2)]

    for wire in wires:
        assert wire.first["error"].startswith(f"init {__name__}:{hook.__name__} failed: ")
        assert "3" in wire.first["error"]


def test_a_module_that_exits_cannot_be_had(dial: Dial, tmp_path: Path) -> None:
    (tmp_path / "exits_at_once.py").write_text("raise SystemExit(3)")
    with pytest.MonkeyPatch.context() as patch, Server("s").attach() as attached:
        patch.syspath_prepend(tmp_path)
        wire = dial(attached.socket, b'{"toolhaft":1,"ask":"serve","init":"exits_at_once:x"}\n')
        said = wire.read()

    assert said["error"] == "'exits_at_once:x' cannot be had here: SystemExit: 3"


def test_a_slow_import_holds_up_nobody(dial: Dial, tmp_path: Path) -> None:
    (tmp_path / "slow_to_come.py").write_text(
        "import builtins\nassert builtins.toolhaft_may_come.wait(10)\ndef begin(): pass\n"
    )
    may_come = threading.Event()
    with pytest.MonkeyPatch.context() as patch, Server("s").attach() as attached:
        patch.setattr(builtins, "toolhaft_may_come", may_come, raising=False)
        patch.syspath_prepend(tmp_path)
        slow = dial(attached.socket, b'{"toolhaft":1,"ask":"serve","init":"slow_to_come:begin"}\n')
        other = dial(attached.socket)
        may_come.set()
        welcome = slow.read()

    assert other.first["name"] == welcome["name"] == "s"


def test_a_failed_stop_harms_nobody(dial: Dial, caplog: pytest.LogCaptureFixture) -> None:
    server = Server("s")
    with server.attach(stop=broken) as attached:
        dial(attached.socket).close()
        second = dial(attached.socket)
        second.send(request(1, "ping"))

        assert second.read()["id"] == 1
    assert "broken failed" in caplog.text


def test_stop_follows_the_end_of_the_program() -> None:
    server = Server("s")
    with server.attach(stop=their_stop) as attached:
        wire = Wire(attached.socket)
    wire.close()

    assert book.lines == ["their stop toolhaft-attached"]


def test_stop_follows_the_end_for_a_client_that_does_not_read() -> None:
    server = Server("s", limits=Limits(shutdown_seconds=0.2))
    server.add_tool(lambda: "x" * 1_000_000, name="big", description="Much.")
    with server.attach(stop=their_stop) as attached:
        wire = Wire(attached.socket)
        wire.shake()
        wire.send(*(tool_call(number, "big") for number in range(5)))
        wire.read()
    wire.close()

    assert book.lines == ["their stop toolhaft-attached"]


def test_a_stop_that_takes_too_long_is_told(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("s", limits=Limits(shutdown_seconds=0.05))
    go_on = threading.Event()
    with server.attach(stop=go_on.wait) as attached:
        wire = Wire(attached.socket)
    told = caplog.text
    go_on.set()
    wire.close()

    assert "a stop function has not ended within 0.05 s" in told


def test_a_stop_that_is_cut_is_told_once(program: Start, bridge: Start) -> None:
    """By us, and not by asyncio as well."""
    living = program("""
        import gc

        def plain():
            time.sleep(2)

        async def patient():
            try:
                await asyncio.sleep(60)
            finally:
                say("cut")

        server = Server("notes", limits=Limits(shutdown_seconds=0.05))
        first = server.attach(stop=plain)
        second = server.attach("second", stop=patient)
        say("attached")
        sys.stdin.read()
        first.detach()
        second.detach()
        gc.collect()
    """)
    bridges = [bridge(name, "--wait=0") for name in ("notes", "second")]
    assert living.end() == 0

    told = living.stderr.splitlines()
    assert [each for each in told if "a stop function has not ended within 0.05 s" not in each] == [
        "attached",
        "cut",
    ]
    assert len(told) == 4
    assert [each.ends() for each in bridges] == [3, 3]


def test_a_bridge_names_hooks_of_the_program(program: Start, bridge: Start) -> None:
    """E-58, E-59: by options, as `--init-function` and `--stop-function` there."""
    living = program("""
        def begin():
            say("begun")

        def finish():
            say("finished")

        server.attach()
        stay()
    """)
    client = bridge("notes", "--init", "__main__:begin", "--stop=__main__:finish")
    living.hears("begun")
    assert client.end() == 0
    living.hears("finished")
    killed = bridge("notes", "--stop=__main__:finish")
    killed._popen.kill()
    refused = bridge("notes", "--init=__main__:nothing", opened=False)

    assert refused.ends() == 4
    assert "the process 'notes' refuses: '__main__:nothing' cannot be had here" in refused.stderr
    living._err.wait_for(  # type: ignore[union-attr]
        lambda: living.stderr.count("finished") == 2, "stop after a failure"
    )
