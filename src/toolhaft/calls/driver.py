"""The driver: starts calls, cancels them, and gives each its one answer.

A result that is available at once is answered at once. Plain functions run on a worker thread,
which sends the answer. Coroutines are started eagerly (`process/eager_tasks.py`) and get a task
only if they wait.

A driver has no reference to clients: each call comes with its reply channel.
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
from ..process.eager_tasks import EagerTasks
from ..process.next_iteration import NextIteration
from ..process.outcome import Ended, end_of, guarded
from ..process.thread_pool import ThreadPool
from ..protocol.calls import Answer, Awaiting, Blocking, Call, Counter, Era, Fate, Handler, Result
from ..protocol.peer import completed, failed
from ..protocol.ports import Store
from .call import RESULT, RunningCall, call_label
from .client_requests import PendingAnswers
from .error_masking import Mask, masked
from .reply_channel import ReplyChannel

log = logging.getLogger(__name__)

_COROUTINE: Any = CoroutineType
ENDS = "the server ends; try again in a moment"
_TOO_MANY = "too many calls at once; wait for some of them"


class Driver:
    """The calls in progress, of one client or of many."""

    def __init__(
        self,
        handle: Handler,
        *,
        thread_pool: ThreadPool,
        most_calls: int,
        mask: Mask,
        answer_seconds: float,
        cleanup_seconds: float,
        progress_per_second: float,
        store: Store,
        counter: Counter,
    ) -> None:
        self._handle = handle
        self._thread_pool = thread_pool
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
        self.calls: dict[Hashable, RunningCall] = {}
        counter.watch(self)
        # Calls on a worker thread, until the function returns, even if they were cancelled.
        self._blocking: set[RunningCall] = set()
        # Tasks that may outlive their call.
        self._side_tasks: dict[asyncio.Task[Ended], RunningCall | None] = {}
        # Calls with a cleanup in progress.
        self.cleaning: set[RunningCall] = set()
        self._quiet: asyncio.Future[None] | None = None
        self.soon = NextIteration(self.loop)
        self.closing = asyncio.Event()
        # Whether all calls were cancelled: no coroutine is started any more.
        self._is_ending = False
        self.pending_answers = PendingAnswers(self.loop)
        # The call that the loop's thread started last.
        self.current: RunningCall | None = None
        # Consecutive `drain()` calls without backpressure.
        self.ready_drains = 0
        self._eager_tasks: EagerTasks[RunningCall] = EagerTasks(
            self.loop,
            on_result=self._on_result,
            on_error=self._on_error,
            on_wait=self._on_wait,
            on_start=self._on_start,
        )

    @property
    def is_on_loop_thread(self) -> bool:
        """Whether the current thread is the loop's."""
        return get_ident() == self.thread

    # Calls

    def start(self, running: RunningCall, channel: ReplyChannel) -> None:
        """Start a call. It may be answered before this returns."""
        calls, key = self.calls, running.key
        running.channel = channel
        if key is None:
            key = running.key = running.id
        if calls.setdefault(key, running) is not running:
            error = InvalidRequest("a request with this id is still being answered")
            self.counter.refused(running.method, running)
            channel.answer(failed(running, error), error)
            return
        running.driver = self
        # `self._handle(...)` would look for a method first, which costs as much as the call.
        handle = self._handle
        try:
            outcome = handle(running)
        except BaseException as error:
            self._fail(running, error)
            return
        # The most frequent case first.
        kind = type(outcome)
        if (
            (kind is Awaiting or kind is _COROUTINE)
            and get_ident() == self.thread
            and len(calls) <= self._most_calls
        ):
            self.current = running
            self.ready_drains = 0
            if kind is Awaiting:
                running.awaiting = outcome  # type: ignore[assignment]
                outcome = outcome.coroutine  # type: ignore[union-attr]
            self._eager_tasks.start(running, outcome)  # type: ignore[arg-type]
            return
        if isinstance(outcome, RESULT):
            self._complete(running, outcome)
        elif isinstance(outcome, Blocking) and running.place is None:
            self._start_blocking(running, outcome)
        else:
            if isinstance(outcome, Awaiting):
                running.awaiting, outcome = outcome, outcome.coroutine
            elif kind is not _COROUTINE:  # a plain function with a place, or an awaitable
                outcome = running.settle(outcome)
            self._start_waiting(running, outcome)  # type: ignore[arg-type]

    def _start_waiting(self, running: RunningCall, outcome: Coroutine[Any, Any, Result]) -> None:
        if len(self.calls) > self._most_calls:
            outcome.close()
            self._fail(running, InternalError(_TOO_MANY))
        elif get_ident() == self.thread:
            self._start_here(running, outcome)
        else:
            self.loop.call_soon_threadsafe(self._start_here, running, outcome)

    def _start_here(self, running: RunningCall, outcome: Coroutine[Any, Any, Result]) -> None:
        self.current = running
        self._eager_tasks.start(running, outcome)

    def _start_blocking(self, running: RunningCall, outcome: Blocking) -> None:
        # Cancelled calls do not count, but those that still occupy a thread or its queue do.
        if max(len(self.calls) - 1, len(self._blocking)) >= self._most_calls:
            self._fail(running, InternalError(_TOO_MANY))
            return
        # A context of its own, as for a coroutine.
        enter = copy_context().run
        if outcome.inline and get_ident() == self.thread:
            self.current = running
            self._work(running, outcome, enter)
            return
        self._blocking.add(running)
        try:
            job = self._thread_pool.submit(lambda: self._work_on_thread(running, outcome, enter))
        except RuntimeError as error:  # no thread can be started
            self._blocking.discard(running)
            self._fail(running, error)
        else:
            running.job = job
            if running.cancelled:  # by another thread
                job.give_up()

    def _work_on_thread(
        self, running: RunningCall, outcome: Blocking, enter: Callable[..., Any]
    ) -> None:
        if not running.cancelled:
            self._work(running, outcome, enter)
        self._blocking.discard(running)
        if self._quiet is not None:
            self.loop.call_soon_threadsafe(self._settle_quiet)
        if running.channel is not None:
            running.channel.throttle()

    def _work(self, running: RunningCall, outcome: Blocking, enter: Callable[..., Any]) -> None:
        try:
            result = enter(outcome.work)
        except BaseException as error:
            self._fail(running, error)
        else:
            self._complete(running, result)

    async def on_thread(self, running: RunningCall, outcome: Blocking) -> Any:
        """Run a plain function on a worker thread, and wait for it on the loop.

        A caller that is cancelled goes on waiting, so that it does not clean up what the thread
        still uses; work that has not started by then is not started.
        """
        if outcome.inline and self.is_on_loop_thread:
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
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self.loop.call_soon_threadsafe(done.set_result, ended)

        job = self._thread_pool.submit(work)
        if await end_of(done, job.give_up):
            raise asyncio.CancelledError
        return done.result().value()

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Call `action` on the loop after `seconds`. Thread-safe."""
        if self.is_on_loop_thread:
            self.loop.call_later(seconds, action)
        else:
            self.loop.call_soon_threadsafe(self.loop.call_later, seconds, action)

    def run(self, outcome: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on the loop, and block this other thread until its result."""
        return asyncio.run_coroutine_threadsafe(outcome, self.loop).result()

    def interrupt(self, call: Call) -> None:
        """Cancel the coroutine of a call."""
        if isinstance(call, RunningCall) and call.task is not None:
            call.interrupt(call.task)

    def owns(self, call: Call, task: "asyncio.Task[Any]") -> bool:
        """Return whether a task runs the call itself, and was not created by its code."""
        return isinstance(call, RunningCall) and (task is call.task or task in self._side_tasks)

    def answer_suspended(self, call: Call) -> None:
        """Answer a suspended call with a cleanup that takes too long."""
        assert isinstance(call, RunningCall)
        requests = call.client_requests
        if requests is not None:
            # `client_requests` stays set: the function goes on, and the call is still suspended.
            call.end_messages()
            if self.calls.get(call.key) is call and self.calls.pop(call.key, None) is call:
                assert call.channel is not None
                frame, error = requests.end(b"", None)
                self.counter.ended(call, "asked" if error is None else "error")
                call.channel.answer(frame, error)

    def settle(self, session: Era, answer: Answer) -> bool:
        """Deliver a client's answer to a question. Thread-safe. Returns whether a call waits."""
        return self.pending_answers.settle(session, answer)

    def spawn(
        self, outcome: Coroutine[Any, Any, Any], call: RunningCall | None = None
    ) -> "asyncio.Task[Ended]":
        """Run a coroutine in a task of its own, which may outlive the call."""
        task = self.loop.create_task(guarded(outcome))
        self._side_tasks[task] = call
        task.add_done_callback(self._side_tasks.pop)
        return task

    def _on_result(self, running: RunningCall, value: Any) -> None:
        """Answer a call after its coroutine has returned."""
        awaiting = running.awaiting
        if awaiting is not None:
            try:
                value = awaiting.finisher.finish(running, awaiting.subject, value)
            except BaseException as error:
                self._on_error(running, error)
                return
        self._complete(running, value)

    def _on_error(self, running: RunningCall, error: BaseException) -> None:
        """Answer a call after its coroutine has raised, or its value is not a valid result."""
        awaiting = running.awaiting
        not_started = (
            self._is_ending and running.task is None and isinstance(error, asyncio.CancelledError)
        )
        if awaiting is None or not_started:
            self._fail(running, error)
            return
        try:
            result = awaiting.finisher.explain(running, awaiting.subject, error)
        except BaseException as kept:
            self._fail(running, kept)
        else:
            self._complete(running, result)

    def _complete(self, running: RunningCall, result: Result) -> None:
        try:
            frame = completed(running, result)
        except Exception as error:
            self._fail(running, error)
            return
        if type(result) is not bytes and getattr(result, "is_error", False) is True:
            self._end(running, frame, None, "failure")
        else:
            self._end(running, frame, None, None)

    def _fail(self, running: RunningCall, error: BaseException) -> None:
        if running.cancelled:
            self._end(running, None, None, "cancelled")
            return
        if running.suspended:
            if not isinstance(error, asyncio.CancelledError | Suspension):
                log.error(
                    "%s, while it made way for its questions", call_label(running), exc_info=error
                )
            self._end(running, b"", None, "asked")
            return
        if self._is_ending and isinstance(error, asyncio.CancelledError):  # it was not started
            error = InternalError(ENDS)
        sent = masked(running, error, self._mask)
        self._end(running, failed(running, sent), sent, "error")

    def masked(self, call: Call, error: BaseException) -> McpError:
        """Return the error to send to the client of a call."""
        return masked(call, error, self._mask)

    def _end(
        self,
        running: RunningCall,
        frame: Outgoing | None,
        error: McpError | None,
        fate: Fate | None,
    ) -> None:
        """Remove a call that is over, and answer it unless it was cancelled."""
        if private_fds.forked:  # by the tool: this process is not the server
            os._exit(0)
        running.over = True
        if running.sends:  # most calls do not, and need no lock
            running.end_messages()
        requests = running.client_requests
        if requests is not None:
            running.client_requests = None  # breaks a reference cycle
            frame, error = requests.end(frame, error)
            if requests.suspended:
                fate = "asked" if error is None else "error"
        # The thread that removes the call answers it: this one, or the loop's when it cancels it.
        calls, key = self.calls, running.key
        if calls.get(key) is running and calls.pop(key, None) is running:
            assert running.channel is not None
            # Before the answer, so that a client that has it finds the call counted.
            count = self._ended
            count(running, fate)
            running.channel.answer(frame, error)
            if error is not None:
                # Breaks a reference cycle: the traceback of the error refers to the call, and the
                # reply channel may refer to the error.
                running.channel = None
        if self._quiet is not None:
            self.loop.call_soon_threadsafe(self._settle_quiet)

    @property
    def culprit(self) -> Call | None:
        """The call that occupies the loop's thread, if any. Thread-safe."""
        task = asyncio.current_task(self.loop)
        if task is not None:
            if (call := self._side_tasks.get(task)) is not None:
                return call
            for call in list(self.calls.values()):
                if call.task is task:
                    return call
        # A call that has not waited so far; else the task is a leftover of another call.
        call = self.current
        is_running = call is not None and call.task is None and (call.cancelled or not call.over)
        return call if is_running else None

    def _on_start(self, running: RunningCall) -> None:
        self.current = running

    def _on_wait(self, running: RunningCall, task: "asyncio.Task[None]") -> None:
        if private_fds.forked:
            os._exit(0)
        running.task = task
        if running.cancelled:
            running.interrupt(task)

    # Cancellation and shutdown

    def cancel(self, key: Hashable) -> bool:
        """Cancel a call, and never answer it. Returns False if there is no such call."""
        running = self.calls.get(key)
        if running is None:
            return False
        if running.method != "initialize" and self.calls.pop(key, None) is running:
            self._cancel(running)
        return True

    def _cancel(self, running: RunningCall) -> None:
        running.cancelled = True
        running.end_messages()
        self.counter.ended(running, "cancelled")
        if running.channel is not None:
            running.channel.answer(None, None)
        self._stop(running)

    def _stop(self, running: RunningCall) -> None:
        if running.job is not None:
            running.job.give_up()
        if get_ident() == self.thread:
            self._stop_waiting(running)
        else:
            self.loop.call_soon_threadsafe(self._stop_waiting, running)

    def _stop_waiting(self, running: RunningCall) -> None:
        if running.task is not None:
            running.interrupt(running.task)
        if running.client_requests is not None:
            running.client_requests.cancel()

    def abandon(self, error: McpError, keys: Callable[[Hashable], bool] | None = None) -> None:
        """Answer calls in progress with an error, and cancel them."""
        for key, running in list(self.calls.items()):
            if keys is not None and not keys(key):
                continue
            if self.calls.pop(key, None) is running:
                log.warning("abandoned: %s", call_label(running))
                frame = failed(running, error)
                running.cancelled = True
                running.end_messages()
                self.counter.ended(running, "error")
                if running.channel is not None:
                    running.channel.answer(frame, error)
                self._stop(running)

    async def close(self, grace: float) -> None:
        """Shut down: complete subscriptions, wait up to `grace` seconds for the other calls, cancel
        the rest, and wait up to `grace` seconds for plain functions.
        """
        self.closing.set()
        try:
            await self._end_all(grace)
        finally:
            # Breaks a reference cycle: the garbage collector does not track calls.
            self.current = None

    async def _end_all(self, grace: float) -> None:
        try:
            await self.quiet(grace)
        finally:  # also if the shutdown is cancelled
            self._cancel_all()
        await self._eager_tasks.close(grace, self._is_cleaning)
        if self._side_tasks:
            await asyncio.wait(self._side_tasks, timeout=grace)
        await self.quiet(grace)

    def _cancel_all(self) -> None:
        self._is_ending = True
        cancelled = list(self.calls.values())
        if cancelled:
            calls = clipped(", ".join(call_label(running) for running in cancelled))
            log.warning("the service ends; cancelled: %s", calls)
        for running in cancelled:
            if self.calls.pop(running.key, None) is running:
                self._cancel(running)
        for task, call in self._side_tasks.items():
            if call is None:
                cancel_once(task)
            else:
                call.interrupt(task)
        self._eager_tasks.cancel(self._is_cleaning)

    def _is_cleaning(self, task: "asyncio.Task[None]") -> bool:
        return any(running.task is task for running in list(self.cleaning))

    async def quiet(self, seconds: float | None) -> None:
        """Wait until no call runs, up to `seconds`; None waits without a limit."""
        if self.calls or self._blocking:
            self._quiet = self.loop.create_future()
            await asyncio.wait([self._quiet], timeout=seconds)
            self._quiet = None

    def _settle_quiet(self) -> None:
        quiet = self._quiet
        if not (quiet is None or quiet.done() or self.calls or self._blocking):
            quiet.set_result(None)
