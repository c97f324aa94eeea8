"""Runs calls: starts them, cancels them, gives each its one answer.

What needs no waiting is answered at once. Plain functions go to a thread, and the thread gives the
answer. Coroutines are begun at once by the pump (`pump.py`) and get a task only if they wait.

A driver knows nothing of clients: each call comes with the line on which its messages go out.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Coroutine, Hashable
from contextvars import copy_context
from threading import get_ident
from types import CoroutineType
from typing import Any

from ..encoding.envelope import Outgoing
from ..errors import (
    Cancelled,
    InternalError,
    InvalidRequest,
    McpError,
    Suspension,
    clipped,
)
from ..process import private_fds
from ..process.cleanup import cancel_once
from ..process.eager_tasks import Pump
from ..process.next_iteration import Soon
from ..process.outcome import Ended, end_of, guarded
from ..process.thread_pool import Lane
from ..protocol.calls import Answer, Awaiting, Blocking, Call, Counter, Era, Fate, Handler, Result
from ..protocol.peer import completed, failed
from ..protocol.ports import Store
from .call import RESULT, Running, told
from .client_requests import Post
from .error_masking import Mask, masked
from .reply_channel import Line

log = logging.getLogger(__name__)

_COROUTINE: Any = CoroutineType
ENDS = "the server ends; try again in a moment"
_TOO_MANY = "too many calls at once; wait for some of them"


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
        cleanup_seconds: float,
        progress_per_second: float,
        store: Store,
        counter: Counter,
    ) -> None:
        self._handle = handle
        self._lane = lane
        self._most_calls = most_calls
        self._mask = mask
        self.answer_seconds = answer_seconds
        self.cleanup_seconds = cleanup_seconds
        self.progress_per_second = progress_per_second
        self.store = store
        self.counter = counter
        self._ended = counter.ended
        self.loop = asyncio.get_running_loop()
        self.thread = get_ident()
        self.calls: dict[Hashable, Running] = {}
        counter.watch(self)
        # Those on a thread, until the thread is done with them, whether they are wanted or not.
        self._blocking: set[Running] = set()
        # What has outlived its call, or may.
        self._beside: dict[asyncio.Task[Ended], Running | None] = {}
        # Those that close what they have opened.
        self.cleaning: set[Running] = set()
        self._quiet: asyncio.Future[None] | None = None
        self.soon = Soon(self.loop)
        self.closing = asyncio.Event()
        # Has all been cancelled? Nothing that waits is begun any more.
        self._ends = False
        self.post = Post(self.loop)
        # Whose code the loop's thread has begun last.
        self.current: Running | None = None
        # How many times in a row somebody could have waited for a client, and did not have to.
        self.unheld = 0
        self._pump: Pump[Running] = Pump(
            self.loop,
            ended=self._returned,
            failed=self._raised,
            waits=self._waits,
            begins=self._begins,
        )

    @property
    def is_here(self) -> bool:
        """Is this the thread of the loop?"""
        return get_ident() == self.thread

    # Calls

    def start(self, running: Running, line: Line) -> None:
        """Begin a call; its answer may be there before this returns."""
        calls, key = self.calls, running.key
        running.line = line
        if key is None:
            key = running.key = running.id
        if calls.setdefault(key, running) is not running:
            error = InvalidRequest("a request with this id is still being answered")
            self.counter.refused(running.method, running)
            line.answer(failed(running, error), error)
            return
        running.driver = self
        # A function that is an attribute is called in two steps: in one it would be looked for
        # among the methods first, which costs as much as the call.
        handle = self._handle
        try:
            outcome = handle(running)
        except BaseException as error:
            self._fail(running, error)
            return
        # What nearly all calls come to goes first.
        kind = type(outcome)
        if (
            (kind is Awaiting or kind is _COROUTINE)
            and get_ident() == self.thread
            and len(calls) <= self._most_calls
        ):
            self.current = running
            self.unheld = 0
            if kind is Awaiting:
                running.awaiting = outcome  # type: ignore[assignment]
                outcome = outcome.coroutine  # type: ignore[union-attr]
            self._pump.start(running, outcome)  # type: ignore[arg-type]
            return
        if isinstance(outcome, RESULT):
            self._complete(running, outcome)
        elif isinstance(outcome, Blocking) and running.place is None:
            self._start_blocking(running, outcome)
        else:
            if isinstance(outcome, Awaiting):
                running.awaiting, outcome = outcome, outcome.coroutine
            elif kind is not _COROUTINE:  # plain work elsewhere, or what can be awaited like one
                outcome = running.settle(outcome)
            self._start_waiting(running, outcome)  # type: ignore[arg-type]

    def _start_waiting(self, running: Running, outcome: Coroutine[Any, Any, Result]) -> None:
        if len(self.calls) > self._most_calls:
            outcome.close()
            self._fail(running, InternalError(_TOO_MANY))
        elif get_ident() == self.thread:
            self._start_here(running, outcome)
        else:
            self.loop.call_soon_threadsafe(self._start_here, running, outcome)

    def _start_here(self, running: Running, outcome: Coroutine[Any, Any, Result]) -> None:
        self.current = running
        self._pump.start(running, outcome)

    def _start_blocking(self, running: Running, outcome: Blocking) -> None:
        # Cancelled calls count no more, but those that still wait for a thread do.
        if max(len(self.calls) - 1, len(self._blocking)) >= self._most_calls:
            self._fail(running, InternalError(_TOO_MANY))
            return
        # What a call sets in a context variable is its own, as it is for a coroutine.
        enter = copy_context().run
        if outcome.inline and get_ident() == self.thread:
            self.current = running
            self._work(running, outcome, enter)
            return
        self._blocking.add(running)
        try:
            job = self._lane.submit(lambda: self._work_on_thread(running, outcome, enter))
        except RuntimeError as error:  # no thread to be had
            self._blocking.discard(running)
            self._fail(running, error)
        else:
            running.job = job
            if running.cancelled:  # meanwhile
                job.give_up()

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

        job = self._lane.submit(work)
        if await end_of(done, job.give_up):
            raise asyncio.CancelledError
        return done.result().value()

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Do something on the loop after so many seconds. From any thread."""
        if self.is_here:
            self.loop.call_later(seconds, action)
        else:
            self.loop.call_soon_threadsafe(self.loop.call_later, seconds, action)

    def run(self, outcome: Coroutine[Any, Any, Any]) -> Any:
        """The outcome of something that runs on the loop, for a thread that waits for it."""
        return asyncio.run_coroutine_threadsafe(outcome, self.loop).result()

    def interrupt(self, call: Call) -> None:
        """Make the coroutine of a call end."""
        if isinstance(call, Running) and call.task is not None:
            call.interrupt(call.task)

    def owns(self, call: Call, task: "asyncio.Task[Any]") -> bool:
        """Is this the task of the call itself, and not one that it has made?"""
        return isinstance(call, Running) and (task is call.task or task in self._beside)

    def leave(self, call: Call) -> None:
        """Answer a call that makes way and takes too long to."""
        assert isinstance(call, Running)
        asking = call.asking
        if asking is not None:
            # It stays: the function goes on, and has still to know that it makes way.
            call.end_messages()
            if self.calls.get(call.key) is call and self.calls.pop(call.key, None) is call:
                assert call.line is not None
                frame, error = asking.end(b"", None)
                self.counter.ended(call, "asked" if error is None else "error")
                call.line.answer(frame, error)

    def settle(self, session: Era, answer: Answer) -> bool:
        """A client has answered a question of ours. From any thread. Was it asked here?"""
        return self.post.settle(session, answer)

    def spawn(
        self, outcome: Coroutine[Any, Any, Any], call: Running | None = None
    ) -> "asyncio.Task[Ended]":
        """Run something beside its call, which it may outlive."""
        task = self.loop.create_task(guarded(outcome))
        self._beside[task] = call
        task.add_done_callback(self._beside.pop)
        return task

    def _returned(self, running: Running, value: Any) -> None:
        """The coroutine of a call has returned."""
        awaiting = running.awaiting
        if awaiting is not None:
            try:
                value = awaiting.finisher.finish(running, awaiting.subject, value)
            except BaseException as error:
                self._raised(running, error)
                return
        self._complete(running, value)

    def _raised(self, running: Running, error: BaseException) -> None:
        """The coroutine of a call has raised, or its value is no result."""
        awaiting = running.awaiting
        not_begun = (
            self._ends and running.task is None and isinstance(error, asyncio.CancelledError)
        )
        if awaiting is None or not_begun:
            self._fail(running, error)
            return
        try:
            result = awaiting.finisher.explain(running, awaiting.subject, error)
        except BaseException as kept:
            self._fail(running, kept)
        else:
            self._complete(running, result)

    def _complete(self, running: Running, result: Result) -> None:
        try:
            frame = completed(running, result)
        except Exception as error:
            self._fail(running, error)
            return
        if type(result) is not bytes and getattr(result, "is_error", False) is True:
            self._end(running, frame, None, "failure")
        else:
            self._end(running, frame, None, None)

    def _fail(self, running: Running, error: BaseException) -> None:
        if running.cancelled:
            self._end(running, None, None, "cancelled")
            return
        if running.suspended:
            if not isinstance(error, asyncio.CancelledError | Suspension):
                log.error("%s, while it made way for its questions", told(running), exc_info=error)
            self._end(running, b"", None, "asked")
            return
        if self._ends and isinstance(error, asyncio.CancelledError):  # it came too late to begin
            error = InternalError(ENDS)
        sent = masked(running, error, self._mask)
        self._end(running, failed(running, sent), sent, "error")

    def masked(self, call: Call, error: BaseException) -> McpError:
        """The error that is sent to the client of a call."""
        return masked(call, error, self._mask)

    def _end(
        self,
        running: Running,
        frame: Outgoing | None,
        error: McpError | None,
        fate: Fate | None,
    ) -> None:
        """The call is over: forget it, and give its answer unless nobody wants it any more."""
        if private_fds.forked:  # by the tool; the other process is the server
            os._exit(0)
        running.over = True
        if running.sends:  # most calls do not, and are not made to wait for a lock
            running.end_messages()
        asking = running.asking
        if asking is not None:
            running.asking = None  # which knows its call: nobody else would part the two
            frame, error = asking.end(frame, error)
            if asking.suspended:
                fate = "asked" if error is None else "error"
        # Whoever takes it out gives its answer: this thread, or the loop that cancels it meanwhile.
        calls, key = self.calls, running.key
        if calls.get(key) is running and calls.pop(key, None) is running:
            assert running.line is not None
            # Before the answer: who has that can rely on the count.
            count = self._ended
            count(running, fate)
            running.line.answer(frame, error)
            if error is not None:
                # It was raised, and so knows the call; and the line may know it.
                running.line = None
        if self._quiet is not None:
            self.loop.call_soon_threadsafe(self._settle_quiet)

    @property
    def culprit(self) -> Call | None:
        """Whose code the loop's thread runs: who is to blame if it is held up. From any thread."""
        task = asyncio.current_task(self.loop)
        if task is not None:
            if (call := self._beside.get(task)) is not None:
                return call
            for call in list(self.calls.values()):
                if call.task is task:
                    return call
        # One that has not waited so far; else it is a task that some call has left behind.
        call = self.current
        is_begun = call is not None and call.task is None and (call.cancelled or not call.over)
        return call if is_begun else None

    def _begins(self, running: Running) -> None:
        self.current = running

    def _waits(self, running: Running, task: "asyncio.Task[None]") -> None:
        if private_fds.forked:
            os._exit(0)
        running.task = task
        if running.cancelled:
            running.interrupt(task)

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
        running.cancelled = True
        running.end_messages()
        self.counter.ended(running, "cancelled")
        if running.line is not None:
            running.line.answer(None, None)
        self._stop(running)

    def _stop(self, running: Running) -> None:
        if running.job is not None:
            running.job.give_up()
        if get_ident() == self.thread:
            self._stop_waiting(running)
        else:
            self.loop.call_soon_threadsafe(self._stop_waiting, running)

    def _stop_waiting(self, running: Running) -> None:
        if running.task is not None:
            running.interrupt(running.task)
        if running.asking is not None:
            running.asking.cancel()

    def abandon(self, error: McpError, keys: Callable[[Hashable], bool] | None = None) -> None:
        """Answer calls that are under way with an error, and stop what can be stopped."""
        for key, running in list(self.calls.items()):
            if keys is not None and not keys(key):
                continue
            if self.calls.pop(key, None) is running:
                log.warning("abandoned: %s", told(running))
                frame = failed(running, error)
                running.cancelled = True
                running.end_messages()
                self.counter.ended(running, "error")
                if running.line is not None:
                    running.line.answer(frame, error)
                self._stop(running)

    async def close(self, grace: float) -> None:
        """End: subscriptions complete, other calls get a moment, the rest is cancelled, and plain
        functions get another moment to notice."""
        self.closing.set()
        try:
            await self._end_all(grace)
        finally:
            # It knows us, and the garbage collector does not see calls: the circle would stay for
            # ever.
            self.current = None

    async def _end_all(self, grace: float) -> None:
        try:
            await self.quiet(grace)
        finally:  # who does not wait for us leaves nothing behind either
            self._cancel_all()
        await self._pump.close(grace, self._is_cleaning)
        if self._beside:
            await asyncio.wait(self._beside, timeout=grace)
        await self.quiet(grace)

    def _cancel_all(self) -> None:
        self._ends = True
        cancelled = list(self.calls.values())
        if cancelled:
            calls = clipped(", ".join(told(running) for running in cancelled))
            log.warning("the service ends; cancelled: %s", calls)
        for running in cancelled:
            if self.calls.pop(running.key, None) is running:
                self._cancel(running)
        for task, call in self._beside.items():
            if call is None:
                cancel_once(task)
            else:
                call.interrupt(task)
        self._pump.cancel(self._is_cleaning)

    def _is_cleaning(self, task: "asyncio.Task[None]") -> bool:
        return any(running.task is task for running in list(self.cleaning))

    async def quiet(self, seconds: float | None) -> None:
        """Wait until nothing runs any more, but not for long, or for as long as it takes."""
        if self.calls or self._blocking:
            self._quiet = self.loop.create_future()
            await asyncio.wait([self._quiet], timeout=seconds)
            self._quiet = None

    def _settle_quiet(self) -> None:
        quiet = self._quiet
        if not (quiet is None or quiet.done() or self.calls or self._blocking):
            quiet.set_result(None)
