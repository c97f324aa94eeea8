"""Runs the calls of one client: starts them, cancels them, sends each answer once.

What needs no waiting is answered at once. Plain functions go to a thread, and the thread sends the
answer. Coroutines are begun at once by the pump (`pump.py`) and get a task only if they wait.

Frames are received on the loop's thread or, while that one is held up by a tool that blocks, on the
thread of the watch (`watch.py`).
"""

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from contextvars import copy_context
from functools import partial
from threading import get_ident
from typing import Any

from ..errors import InternalError, InvalidRequest, McpError, ParseError, ToolError, clipped, shown
from ..jsonrpc import failure, salvage_id
from ..protocol.calls import (
    Batch,
    Blocking,
    Call,
    Cancel,
    Event,
    Handler,
    Outcome,
    Reply,
    Result,
)
from ..protocol.framing import Frame, TooLong
from ..protocol.handshake import NEW
from ..protocol.interests import Change
from ..protocol.limits import Limits
from ..protocol.peer import Peer
from ..types.wire import Wire
from .descriptors import is_copy
from .lane import Lane
from .pump import Pump

log = logging.getLogger(__name__)

Send = Callable[[bytes], None]
Mask = Callable[[str, BaseException], str]

_RESULT = (Wire, bytes)
_TOO_MANY = "too many calls at once; wait for some of them"


class Running(Call, eq=False, kw_only=True):
    """A call in progress: the `Exchange` that its handler sees."""

    connection: "Connection | None" = None
    batch: "Array | None" = None
    # Only a coroutine that had to wait has one.
    task: "asyncio.Task[None] | None" = None

    @property
    def _driver(self) -> "Connection":
        assert self.connection is not None, "a call runs on a connection"
        return self.connection

    def notify(self, method: str, params: Wire) -> None:
        """Send a notification that belongs to this call. From any thread; never waits."""
        # Of a cancelled request: "the server MUST NOT send any further messages for it". Of
        # progress: it "MUST stop after completion".
        if not self.over:
            self._driver.notify(self, method, params)
            self._driver.throttle()

    def soon(self, key: Hashable, action: Callable[[], None]) -> None:
        """Do something in a moment, and only once for a key. From any thread."""
        self._driver.soon((self, key), action)

    async def drain(self) -> None:
        """Wait until the client has read enough of what was sent."""
        await self._driver.drain()

    async def closing(self) -> None:
        """Wait until the connection is about to end."""
        await self._driver.closing.wait()

    async def settle(self, outcome: Outcome) -> Result:
        """Wait for an outcome, wherever it is computed."""
        if isinstance(outcome, Blocking):
            return await self._driver.on_thread(outcome)
        if isinstance(outcome, _RESULT):
            return outcome
        return await outcome

    async def within(
        self, seconds: float, outcome: Coroutine[Any, Any, Result], what: str
    ) -> Result:
        """Wait for an outcome, but not for ever."""
        deadline = asyncio.timeout(seconds)
        try:
            async with deadline:
                return await outcome
        except TimeoutError:
            if not deadline.expired():
                raise
            self.overdue = True
            raise ToolError(f"{what} took longer than {seconds:g} s") from None


class Array:
    """Collects the answers to a batch until the last is there."""

    __slots__ = ("_frames", "_lock", "_open", "_send")

    def __init__(self, size: int, send: Send) -> None:
        self._open = size
        self._frames: list[bytes] = []
        self._send = send
        self._lock = threading.Lock()

    def settle(self, frame: bytes | None) -> None:
        """One of the messages is done, with an answer or without."""
        with self._lock:
            if frame is not None:
                self._frames.append(frame)
            self._open -= 1
            if self._open or not self._frames:
                return
        self._send(b"[%b]" % b",".join(self._frames))


class Connection:
    """One client, driven."""

    def __init__(
        self,
        peer: Peer,
        handle: Handler,
        send: Send,
        *,
        lane: Lane,
        limits: Limits,
        mask: Mask,
        drained: Callable[[], Awaitable[None]] | None = None,
        throttle: Callable[[], None] | None = None,
    ) -> None:
        self.peer = peer
        self._handle = handle
        self._send = send
        self._lane = lane
        self._limits = limits
        self._most_calls = limits.calls
        self._mask = mask
        self._drained = drained
        self._throttle = throttle if throttle is not None else _go_on
        self._loop = asyncio.get_running_loop()
        self._thread = get_ident()
        self._calls: dict[int | str, Running] = {}
        # Those on a thread, until the thread is done with them, whether they are wanted or not.
        self._blocking: set[Running] = set()
        self._quiet: asyncio.Future[None] | None = None
        self._soon: dict[Hashable, Callable[[], None]] = {}
        self._soon_lock = threading.Lock()
        self.closing = asyncio.Event()
        # Whose code the loop's thread ran last: who is to blame if it is held up.
        self.current: Call | None = None
        self._pump: Pump[Running] = Pump(
            self._loop, ended=self._complete, failed=self._fail, waits=self._waits
        )

    # What comes in

    def receive(self, frame: Frame) -> Event:
        """Understand a frame and do what it asks for. Never raises, never waits."""
        try:
            event = self.peer.receive(frame) if type(frame) is bytes else self._too_long(frame)
            if type(event) is Running:
                self._start(event)
            else:
                self._on(event, None)
        except Exception as error:
            event = self._broken(frame, error)
        return event

    def heard(self, change: Change) -> None:
        """Something changed that a session may follow. From any thread."""
        session = self.peer.session
        if session.state != NEW and session.interests.match(change):
            method, params = change.notification()
            frame = self.peer.notify(method, params, session.caller.revision)
            self.soon(change, partial(self._send, frame))

    def soon(self, key: Hashable, action: Callable[[], None]) -> None:
        """Do something in the next turn of the loop, and only once for a key. From any thread."""
        with self._soon_lock:
            first = not self._soon
            self._soon.setdefault(key, action)
        if first:
            self._loop.call_soon_threadsafe(self._do_soon)

    def _do_soon(self) -> None:
        with self._soon_lock:
            actions, self._soon = self._soon, {}
        for action in actions.values():
            action()

    def _broken(self, frame: Frame, error: Exception) -> Reply:
        """A bug of ours must not end the service: it is told, and the client gets an answer."""
        data = frame if isinstance(frame, bytes) else frame.head
        told_to_client = InternalError(self._mask("a message", error))
        reply = Reply(failure(salvage_id(data), told_to_client))
        self._send(reply.frame)
        return reply

    def _too_long(self, frame: Frame) -> Reply:
        head = frame.head if isinstance(frame, TooLong) else frame
        limit = self._limits.message_bytes
        error = ParseError(f"message too long: at most {limit} bytes are read")
        return Reply(failure(salvage_id(head), error))

    def _on(self, event: Event, batch: Array | None) -> None:
        match event:
            case Running():
                event.batch = batch
                self._start(event)
            case Reply():
                self._answer_with(event.frame, batch)
            case Cancel():
                self.cancel(event.id)
                self._answer_with(None, batch)
            case Batch():
                array = Array(len(event.events), self._send)
                for part in event.events:
                    self._on(part, array)
            case _:  # a notification, or an answer that nobody waits for
                self._answer_with(None, batch)

    def _answer_with(self, frame: bytes | None, batch: Array | None) -> None:
        if batch is not None:
            batch.settle(frame)
        elif frame is not None:
            self._send(frame)

    # Calls

    def _start(self, running: Running) -> None:
        calls = self._calls
        if running.id in calls:
            error = InvalidRequest("a request with this id is still being answered")
            return self._refuse(running, error)
        calls[running.id] = running
        running.connection = self
        try:
            outcome = self._handle(running)
        except BaseException as error:
            self._fail(running, error)
            return
        if isinstance(outcome, _RESULT):
            self._complete(running, outcome)
        elif isinstance(outcome, Blocking):
            self._start_blocking(running, outcome)
        elif len(calls) > self._most_calls:
            outcome.close()
            self._fail(running, InternalError(_TOO_MANY))
        elif get_ident() == self._thread:
            self.current = running
            self._pump.start(running, outcome)
        else:
            self._loop.call_soon_threadsafe(self._pump.start, running, outcome)

    def _refuse(self, running: Running, error: McpError) -> None:
        self._answer_with(self.peer.fail(running, error), running.batch)

    def _start_blocking(self, running: Running, outcome: Blocking) -> None:
        # Cancelled calls count no more, but those that still wait for a thread do.
        if max(len(self._calls) - 1, len(self._blocking)) >= self._most_calls:
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
            self._loop.call_soon_threadsafe(self._settle_quiet)
        self._throttle()

    def _work(self, running: Running, outcome: Blocking, enter: Callable[..., Any]) -> None:
        try:
            result = enter(outcome.work)
        except BaseException as error:
            self._fail(running, error)
        else:
            self._complete(running, result)

    async def on_thread(self, outcome: Blocking) -> Result:
        """The result of plain work, for those who wait for it on the loop."""
        done: asyncio.Future[Result] = self._loop.create_future()
        enter = copy_context().run

        def settle(set_: Callable[[Any], None], value: Any) -> None:
            if not done.done():
                set_(value)

        def work() -> None:
            answer: tuple[Callable[[Any], None], Any]
            try:
                answer = (done.set_result, enter(outcome.work))
            except BaseException as error:
                answer = (done.set_exception, _harmless(error))
            with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits
                self._loop.call_soon_threadsafe(settle, *answer)

        self._lane.submit(work)
        return await done

    def _complete(self, running: Running, result: Result) -> None:
        try:
            frame = self.peer.complete(running, result)
        except Exception as error:
            self._fail(running, error)
            return
        self._end(running, frame)

    def _fail(self, running: Running, error: BaseException) -> None:
        if running.cancelled:
            self._end(running, None)
            return
        if isinstance(error, ToolError):  # of a resource or a prompt: words for the client
            error = InternalError(error.message)
        elif not isinstance(error, McpError):
            error = InternalError(self._mask(told(running), error))
        self._end(running, self.peer.fail(running, error))

    def _end(self, running: Running, frame: bytes | None) -> None:
        """The call is over: forget it, and send its answer unless nobody wants it any more."""
        if is_copy():  # the tool has forked; the other process is the server
            os._exit(0)
        calls = self._calls
        running.over = True
        if calls.get(running.id) is running:
            calls.pop(running.id, None)  # the loop may have cancelled it meanwhile
        if running.cancelled:
            frame = None
        if running.batch is not None:
            self._settle_batch(running, frame)
        elif frame is not None:
            self._send(frame)
        if self._quiet is not None:
            self._loop.call_soon_threadsafe(self._settle_quiet)

    def _settle_batch(self, running: Running, frame: bytes | None) -> None:
        """Its batch waits for it no more; whoever ends it first has told so."""
        with self._soon_lock:
            batch, running.batch = running.batch, None
        if batch is not None:
            batch.settle(frame)

    def _waits(self, running: Running, task: "asyncio.Task[None]") -> None:
        if is_copy():
            os._exit(0)
        running.task = task
        if running.cancelled:
            task.cancel()

    # Ends

    def cancel(self, id_: int | str) -> None:
        """Drop a call: stop it if it can be stopped, and never answer it."""
        running = self._calls.get(id_)
        if running is None or running.method == "initialize":
            return
        self._calls.pop(id_, None)  # a thread may have ended it meanwhile
        self._cancel(running)

    def _cancel(self, running: Running) -> None:
        running.cancelled = running.over = True
        self._settle_batch(running, None)
        if running.task is None:
            return
        if get_ident() == self._thread:
            running.task.cancel()
        else:
            self._loop.call_soon_threadsafe(running.task.cancel)

    async def close(self, grace: float) -> None:
        """End: subscriptions complete, other calls get a moment, the rest is cancelled, and plain
        functions get another moment to notice."""
        self.closing.set()
        await self._be_quiet(grace)
        cancelled = list(self._calls.values())
        if cancelled:
            calls = clipped(", ".join(told(running) for running in cancelled))
            log.warning("the service ends; cancelled: %s", calls)
        for running in cancelled:
            self._cancel(running)
        self._calls.clear()
        await self._pump.close(grace)
        await self._be_quiet(grace)

    async def _be_quiet(self, seconds: float) -> None:
        """Wait until nothing runs any more, but not for long."""
        if self._calls or self._blocking:
            self._quiet = self._loop.create_future()
            await asyncio.wait([self._quiet], timeout=seconds)
            self._quiet = None

    def _settle_quiet(self) -> None:
        quiet = self._quiet
        if not (quiet is None or quiet.done() or self._calls or self._blocking):
            quiet.set_result(None)

    # What goes out

    def notify(self, call: Call, method: str, params: Wire) -> None:
        """Send a notification that belongs to a call."""
        self._send(self.peer.notify(method, params, call.caller.revision))

    def throttle(self) -> None:
        """On a thread of the lane: wait while the client does not read."""
        if get_ident() != self._thread:
            self._throttle()

    async def drain(self) -> None:
        """Wait until the client has read enough of what was sent."""
        if self._drained is not None:
            await self._drained()


def told(call: Call) -> str:
    """A call, for the log: its method and what it is about."""
    about = getattr(call.params, "name", None) or getattr(call.params, "uri", None)
    return call.method if about is None else f"{call.method} {shown(about)}"


def _go_on() -> None:
    """Most transports hold nobody back."""


def _harmless(error: BaseException) -> Exception:
    """An error that a future and a loop can carry: SystemExit and its like would end the loop, and
    StopIteration is refused."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    problem = RuntimeError(f"{type(error).__name__} was raised on a thread")
    problem.__cause__ = error
    return problem
