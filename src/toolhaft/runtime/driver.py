"""Runs calls: starts them, cancels them, gives each its one answer.

What needs no waiting is answered at once. Plain functions go to a thread, and the thread gives the
answer. Coroutines are begun at once by the pump (`pump.py`) and get a task only if they wait.

A driver knows nothing of clients: each call comes with the line on which its messages go out.
"""

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from concurrent.futures import CancelledError
from contextvars import copy_context
from threading import get_ident
from types import CoroutineType
from typing import Any

from ..errors import (
    Cancelled,
    InternalError,
    InvalidRequest,
    McpError,
    Suspension,
    ToolError,
    clipped,
    shown,
)
from ..jsonrpc import response
from ..protocol.calls import Answer, Blocking, Call, Era, Handler, Outcome, Result
from ..protocol.peer import failed, notice
from ..protocol.ports import Store
from ..protocol.questions import Questions
from ..types.wire import Wire
from . import descriptors
from .asking import Asking, Post, own_time
from .ended import Ended, end_of, guarded
from .lane import Lane
from .line import Line
from .pump import Pump

log = logging.getLogger(__name__)

Mask = Callable[[str, BaseException], str]

_RESULT = (Wire, bytes)
_COROUTINE: Any = CoroutineType
_TOO_MANY = "too many calls at once; wait for some of them"


class Running(Call, eq=False, kw_only=True):
    """A call in progress: the `Exchange` that its handler sees."""

    driver: "Driver | None" = None
    line: Line | None = None
    # What tells it from all other calls of its driver; by itself, its id.
    key: Hashable = None
    # Only a coroutine that had to wait has one.
    task: "asyncio.Task[None] | None" = None
    # Only a call that asks its client has one.
    asking: Asking | None = None

    @property
    def _driver(self) -> "Driver":
        assert self.driver is not None, "a call runs on a driver"
        return self.driver

    def notify(self, method: str, params: Wire) -> None:
        """Send a notification that belongs to this call. From any thread; never waits."""
        # Of a cancelled request: "the server MUST NOT send any further messages for it". Of
        # progress: it "MUST stop after completion".
        if not self.over and self.line is not None:
            line = self.line
            line.send(notice(method, params, self.caller.revision))
            if not self._driver.is_here:
                line.throttle()

    def soon(self, key: Hashable, action: Callable[[], None]) -> None:
        """Do something in a moment, and only once for a key. From any thread."""
        self._driver.soon((self, key), action)

    def drain(self) -> Awaitable[None]:
        """Wait until the client has read enough of what was sent."""
        assert self.line is not None, "a call has a line"
        return self.line.drained()

    async def ask(self, questions: Questions) -> dict[str, Any]:
        """Put questions to the client, all at once, and wait for the answers."""
        if not self._driver.is_here:
            raise RuntimeError("a call asks on the server's own loop; on a thread, use ctx.sync")
        return await self._asking().ask(questions)

    @property
    def suspended(self) -> bool:
        """Does it make way, so that its client can be asked?"""
        return self.asking is not None and self.asking.suspended

    def ask_from_thread(self, questions: Questions) -> dict[str, Any]:
        """The same for a plain function, which waits on its thread."""
        _, answers = self._from_thread(lambda asking: asking.ask_for_thread(questions))
        return dict(answers)

    def _from_thread(self, act: Callable[[Asking], Coroutine[Any, Any, Any]]) -> tuple[Asking, Any]:
        async def on_the_loop() -> tuple[Asking, Any]:
            asking = self._asking()
            return asking, await act(asking)

        if self._driver.is_here:
            raise RuntimeError(
                "a function that asks cannot run on the loop: make it async, or register it "
                "without thread=False"
            )
        try:
            found: tuple[Asking, Any] = self._driver.run(on_the_loop())
        except CancelledError:
            raise (Suspension if self.suspended else Cancelled) from None
        return found

    async def step(self, name: str, act: Callable[[], Awaitable[bytes]]) -> bytes:
        """Do something that is not done again when the call is, and what it gave."""
        return await self._asking().step(name, act)

    def step_from_thread(self, name: str, act: Callable[[], bytes]) -> bytes:
        """The same for a plain function."""
        asking, (key, found) = self._from_thread(lambda asking: asking.begin_step(name))
        return asking.act_on_thread(key, act, self._driver.run) if found is None else bytes(found)

    def _asking(self) -> Asking:
        if self.cancelled:
            raise Cancelled
        if self.over:
            raise RuntimeError("the call is over, and its client cannot be asked any more")
        if self.asking is None:
            assert self.line is not None
            self.asking = Asking(self, self._driver, self.line.send)
        return self.asking

    def hang_up(self) -> None:
        """End the connection on which the answer is awaited, not the call."""
        if self.line is not None and not self.over:
            self.line.hang_up()

    async def closing(self) -> None:
        """Wait until the service is about to end."""
        await self._driver.closing.wait()

    async def settle(self, outcome: Outcome) -> Result:
        """Wait for an outcome, wherever it is computed."""
        if isinstance(outcome, Blocking):
            value: Result = await self._driver.on_thread(self, outcome)
            return value
        if isinstance(outcome, _RESULT):
            return outcome
        return await outcome

    async def within(
        self, seconds: float, outcome: Coroutine[Any, Any, Result], what: str
    ) -> Result:
        """Wait for an outcome, but not for ever."""
        task = self._driver.spawn(outcome)
        try:
            await own_time(task, seconds, lambda: self.asking)
        except asyncio.CancelledError:
            task.cancel()
            await end_of(task)
            raise
        if task.done():
            value: Result = task.result().value()
            return value
        self.overdue = True
        task.cancel()
        raise ToolError(f"{what} took longer than {seconds:g} s")


class Driver:
    """The calls that run, of one client or of many."""

    def __init__(
        self,
        handle: Handler,
        *,
        lane: Lane,
        most_calls: int,
        mask: Mask,
        answer_seconds: float,
        store: Store,
    ) -> None:
        self._handle = handle
        self._lane = lane
        self._most_calls = most_calls
        self._mask = mask
        self.answer_seconds = answer_seconds
        self.store = store
        self.loop = asyncio.get_running_loop()
        self._thread = get_ident()
        self.calls: dict[Hashable, Running] = {}
        # Those on a thread, until the thread is done with them, whether they are wanted or not.
        self._blocking: set[Running] = set()
        # What has outlived its call, or may.
        self._beside: set[asyncio.Task[Ended]] = set()
        self._quiet: asyncio.Future[None] | None = None
        self._soon: dict[Hashable, Callable[[], None]] = {}
        self._soon_lock = threading.Lock()
        self.closing = asyncio.Event()
        self.post = Post(self.loop)
        # Whose code the loop's thread ran last: who is to blame if it is held up.
        self.current: Call | None = None
        self._pump: Pump[Running] = Pump(
            self.loop, ended=self._complete, failed=self._fail, waits=self._waits
        )

    @property
    def is_here(self) -> bool:
        """Is this the thread of the loop?"""
        return get_ident() == self._thread

    def soon(self, key: Hashable, action: Callable[[], None]) -> None:
        """Do something in the next turn of the loop, and only once for a key. From any thread."""
        with self._soon_lock:
            first = not self._soon
            self._soon.setdefault(key, action)
        if first:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits
                self.loop.call_soon_threadsafe(self._do_soon)

    def _do_soon(self) -> None:
        with self._soon_lock:
            actions, self._soon = self._soon, {}
        for action in actions.values():
            action()

    # Calls

    def start(self, running: Running, line: Line) -> None:
        """Begin a call; its answer may be there before this returns."""
        calls, key = self.calls, running.key
        running.line = line
        if key is None:
            key = running.key = running.id
        if key in calls:
            error = InvalidRequest("a request with this id is still being answered")
            line.answer(failed(running, error), error)
            return
        calls[key] = running
        running.driver = self
        try:
            outcome = self._handle(running)
        except BaseException as error:
            self._fail(running, error)
            return
        is_here = get_ident() == self._thread
        if type(outcome) is _COROUTINE and is_here and len(calls) <= self._most_calls:
            self.current = running  # which is what nearly all calls come to
            self._pump.start(running, outcome)  # type: ignore[arg-type]
        elif isinstance(outcome, _RESULT):
            self._complete(running, outcome)
        elif isinstance(outcome, Blocking):
            self._start_blocking(running, outcome)
        elif len(calls) > self._most_calls:
            outcome.close()
            self._fail(running, InternalError(_TOO_MANY))
        elif is_here:
            self.current = running
            self._pump.start(running, outcome)
        else:
            self.loop.call_soon_threadsafe(self._pump.start, running, outcome)

    def _start_blocking(self, running: Running, outcome: Blocking) -> None:
        # Cancelled calls count no more, but those that still wait for a thread do.
        if max(len(self.calls) - 1, len(self._blocking)) >= self._most_calls:
            self._fail(running, InternalError(_TOO_MANY))
            return
        # What a call sets in a context variable is its own, as it is for a coroutine.
        enter = copy_context().run
        if outcome.inline and get_ident() == self._thread:
            self.current = running
            self._work(running, outcome, enter)
            return
        self._blocking.add(running)
        try:
            self._lane.submit(lambda: self._work_on_thread(running, outcome, enter))
        except RuntimeError as error:  # no thread to be had
            self._blocking.discard(running)
            self._fail(running, error)

    def _work_on_thread(
        self, running: Running, outcome: Blocking, enter: Callable[..., Any]
    ) -> None:
        if not running.cancelled:
            self._work(running, outcome, enter)
        self._blocking.discard(running)
        if self._quiet is not None:
            self.loop.call_soon_threadsafe(self._settle_quiet)
        if running.line is not None:
            running.line.throttle()

    def _work(self, running: Running, outcome: Blocking, enter: Callable[..., Any]) -> None:
        try:
            result = enter(outcome.work)
        except BaseException as error:
            self._fail(running, error)
        else:
            self._complete(running, result)

    async def on_thread(self, running: Running, outcome: Blocking) -> Any:
        """The value of plain work, for those who wait for it on the loop.

        Who is cancelled meanwhile goes on waiting, so that nothing is cleaned up that the thread
        still uses; work that has not begun by then is not begun any more."""
        if outcome.inline and self.is_here:
            return outcome.work()
        done: asyncio.Future[Ended] = self.loop.create_future()
        enter = copy_context().run

        def work() -> None:
            ended = Ended(error=Cancelled())
            if outcome.always or not (running.cancelled or running.overdue):
                try:
                    ended = Ended(enter(outcome.work))
                except BaseException as error:
                    ended = Ended(error=error)
            with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits
                self.loop.call_soon_threadsafe(done.set_result, ended)

        self._lane.submit(work)
        if await end_of(done):
            raise asyncio.CancelledError
        return done.result().value()

    def run(self, outcome: Coroutine[Any, Any, Any]) -> Any:
        """The outcome of something that runs on the loop, for a thread that waits for it."""
        return asyncio.run_coroutine_threadsafe(outcome, self.loop).result()

    def interrupt(self, call: Call) -> None:
        """Make the coroutine of a call end."""
        task = call.task if isinstance(call, Running) else None
        if task is not None:
            task.cancel()

    def owns(self, call: Call, task: "asyncio.Task[Any]") -> bool:
        """Is this the task of the call itself, and not one that it has made?"""
        return isinstance(call, Running) and (task is call.task or task in self._beside)

    def leave(self, call: Call) -> None:
        """Answer a call that makes way and takes too long to."""
        assert isinstance(call, Running)
        asking = call.asking
        if asking is not None:
            # It stays: the function goes on, and has still to know that it makes way.
            call.over = True
            if self.calls.get(call.key) is call and self.calls.pop(call.key, None) is call:
                assert call.line is not None
                call.line.answer(*asking.end(b"", None))

    def settle(self, session: Era, answer: Answer) -> bool:
        """A client has answered a question of ours. From any thread. Was it asked here?"""
        return self.post.settle(session, answer)

    def spawn(self, outcome: Coroutine[Any, Any, Any]) -> "asyncio.Task[Ended]":
        """Run something beside its call, which it may outlive."""
        task = self.loop.create_task(guarded(outcome))
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
        return task

    def _complete(self, running: Running, result: Result) -> None:
        try:
            frame = response(running.id, running.era.finish(running, result))
        except Exception as error:
            self._fail(running, error)
            return
        self._end(running, frame, None)

    def _fail(self, running: Running, error: BaseException) -> None:
        if running.cancelled:
            self._end(running, None, None)
            return
        if running.suspended:
            if not isinstance(error, asyncio.CancelledError | Suspension):
                log.error("%s, while it made way for its questions", told(running), exc_info=error)
            self._end(running, b"", None)
            return
        masked = self.masked(running, error)
        self._end(running, failed(running, masked), masked)

    def masked(self, call: Call, error: BaseException) -> McpError:
        """What the client may know of an error."""
        if isinstance(error, ToolError):  # of a resource or a prompt: words for the client
            return InternalError(error.message)
        return (
            error if isinstance(error, McpError) else InternalError(self._mask(told(call), error))
        )

    def _end(self, running: Running, frame: bytes | None, error: McpError | None) -> None:
        """The call is over: forget it, and give its answer unless nobody wants it any more."""
        if descriptors.forked:  # by the tool; the other process is the server
            os._exit(0)
        running.over = True
        asking = running.asking
        if asking is not None:
            running.asking = None  # which knows its call: nobody else would part the two
            frame, error = asking.end(frame, error)
        # Whoever takes it out gives its answer: this thread, or the loop that cancels it meanwhile.
        calls, key = self.calls, running.key
        if calls.get(key) is running and calls.pop(key, None) is running:
            assert running.line is not None
            running.line.answer(frame, error)
        if self._quiet is not None:
            self.loop.call_soon_threadsafe(self._settle_quiet)

    def _waits(self, running: Running, task: "asyncio.Task[None]") -> None:
        if descriptors.forked:
            os._exit(0)
        running.task = task
        if running.cancelled:
            task.cancel()

    # Ends

    def cancel(self, key: Hashable) -> bool:
        """Drop a call: stop it if it can be stopped, and never answer it. Was it under way here?"""
        running = self.calls.get(key)
        if running is None:
            return False
        if running.method != "initialize" and self.calls.pop(key, None) is running:
            self._cancel(running)
        return True

    def _cancel(self, running: Running) -> None:
        running.cancelled = running.over = True
        if running.line is not None:
            running.line.answer(None, None)
        self._stop(running)

    def _stop(self, running: Running) -> None:
        for waits in (running.task, running.asking):
            if waits is None:
                continue
            if get_ident() == self._thread:
                waits.cancel()
            else:
                self.loop.call_soon_threadsafe(waits.cancel)

    def abandon(self, error: McpError, keys: Callable[[Hashable], bool] | None = None) -> None:
        """Answer calls that are under way with an error, and stop what can be stopped."""
        for key, running in list(self.calls.items()):
            if keys is not None and not keys(key):
                continue
            if self.calls.pop(key, None) is running:
                log.warning("abandoned: %s", told(running))
                frame = failed(running, error)
                running.cancelled = running.over = True
                if running.line is not None:
                    running.line.answer(frame, error)
                self._stop(running)

    async def close(self, grace: float) -> None:
        """End: subscriptions complete, other calls get a moment, the rest is cancelled, and plain
        functions get another moment to notice."""
        self.closing.set()
        await self.quiet(grace)
        cancelled = list(self.calls.values())
        if cancelled:
            calls = clipped(", ".join(told(running) for running in cancelled))
            log.warning("the service ends; cancelled: %s", calls)
        for running in cancelled:
            if self.calls.pop(running.key, None) is running:
                self._cancel(running)
        for task in self._beside:
            if not task.cancelling():
                task.cancel()
        await self._pump.close(grace)
        if self._beside:
            await asyncio.wait(self._beside, timeout=grace)
        await self.quiet(grace)

    async def quiet(self, seconds: float) -> None:
        """Wait until nothing runs any more, but not for long."""
        if self.calls or self._blocking:
            self._quiet = self.loop.create_future()
            await asyncio.wait([self._quiet], timeout=seconds)
            self._quiet = None

    def _settle_quiet(self) -> None:
        quiet = self._quiet
        if not (quiet is None or quiet.done() or self.calls or self._blocking):
            quiet.set_result(None)


def told(call: Call) -> str:
    """A call, for the log: its method and what it is about."""
    about = getattr(call.params, "name", None) or getattr(call.params, "uri", None)
    return call.method if about is None else f"{call.method} {shown(about)}"
