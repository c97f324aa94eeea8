"""Runs coroutines at once, each in a task that is its own from the first line to the last.

A task costs as much as the rest of a short call together, so one is made ahead of time and parked.
A coroutine is begun right where it arrives, *as* the parked task: `asyncio.current_task()`, and
with it `asyncio.timeout` and `TaskGroup`, work as anywhere else. If it ends without waiting, the
parked task was not used up and serves the next one. If it has to wait, the parked task adopts it,
and a fresh one is parked.

Each coroutine has a context of its own, so that what a call sets in a context variable is seen by
the rest of this call and by no other. It begins with what whoever started it sees.

Nobody calls `send` of a coroutine: it would raise `StopIteration` with the result, which costs more
than the rest of the way. A runner, which is a generator, waits for one coroutine after the other by
`yield from`, which raises nothing; and says that it is idle when it has told how each ended.
"""

# What a coroutine gives is anything; said here, since each traceback of a tool shows the line.
# pyright: reportUnknownVariableType=false

import asyncio
import types

# The documented way to be a task for a while.
from asyncio.tasks import (
    _enter_task,  # pyright: ignore[reportPrivateUsage]
    _leave_task,  # pyright: ignore[reportPrivateUsage]
)
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast

from .cleanup import cancel_once

K = TypeVar("K")

# What a runner says between two coroutines.
_IDLE: Final = object()


# What `Outside` does, for the one way that nearly all requests take.
enter_task: Final = _enter_task
leave_task: Final = _leave_task


class Outside:
    """Steps out of a task for a moment, in which there is no waiting: only outside of tasks can
    coroutines be begun at once."""

    __slots__ = ("_loop", "_task")

    def __init__(self, loop: asyncio.AbstractEventLoop, task: "asyncio.Task[Any]") -> None:
        self._loop = loop
        self._task = task

    def __enter__(self) -> None:
        _leave_task(self._loop, self._task)

    def __exit__(self, *error: object) -> None:
        _enter_task(self._loop, self._task)


_Coroutine: TypeAlias = Coroutine[Any, Any, Any]
_Runner: TypeAlias = Generator[Any, Any, None]
Spared: TypeAlias = Callable[["asyncio.Task[None]"], bool]


class _Waiting:
    """A runner whose coroutine has been begun and waits for something."""

    __slots__ = ("context", "runner", "waiting")

    def __init__(self, runner: _Runner, context: Context, waiting: Any) -> None:
        self.runner = runner
        self.context = context
        self.waiting = waiting


class Pump(Generic[K]):
    """Runs what it is given, and tells how it ended. To be used on the loop's thread."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        ended: Callable[[K, Any], None],
        failed: Callable[[K, BaseException], None],
        waits: Callable[[K, "asyncio.Task[None]"], None],
        begins: Callable[[K], None] | None = None,
    ) -> None:
        self._loop = loop
        self._ended = ended
        self._failed = failed
        self._waits = waits
        # Is told of those that could not begin where they came.
        self._begins = begins
        self._context = copy_context()
        self._staged: deque[tuple[K, _Coroutine, Context]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        # The task that is parked, or is about to be.
        self._keeper: asyncio.Task[None] | None = None
        self._parked: asyncio.Task[None] | None = None
        self._wake: asyncio.Future[None] | None = None
        self._adopted: _Waiting | None = None
        # The runner that is idle, and what gives it the next coroutine.
        self._runner: _Runner
        self._send: Callable[[tuple[K, _Coroutine]], Any]
        self._renew()
        self._closed = False
        self._make_task()

    def start(self, key: K, coroutine: _Coroutine) -> None:
        """Begin a coroutine: now, or, if that cannot be, in the next turn of the loop."""
        task = self._parked
        if task is None:
            self._stage(key, coroutine)
            return
        try:
            _enter_task(self._loop, task)
        except RuntimeError:  # we are in a task, and cannot be another one at the same time
            self._stage(key, coroutine)
            return
        # Who comes meanwhile, out of this very coroutine, has to wait: its task is taken.
        self._parked = None
        context = copy_context()
        try:
            # As `_begin` does, without its frame: this is the way of nearly all calls.
            waiting = context.run(self._send, (key, coroutine))
            if waiting is _IDLE:
                self._parked = task
            else:
                self._adopted = self._suspended(context, waiting)
                self._waits(key, task)
                self._wake_up()
        except StopIteration:  # of the runner, since the coroutine has failed
            self._renew()
            self._parked = task
        except BaseException:
            self._renew()
            self._parked = task
            raise
        finally:
            _leave_task(self._loop, task)

    def _begin(self, key: K, coroutine: _Coroutine, context: Context) -> _Waiting | None:
        """The first step of a coroutine, and the last if nothing is given back."""
        try:
            waiting = context.run(self._send, (key, coroutine))
        except StopIteration:  # of the runner, since the coroutine has failed
            self._renew()
            return None
        except BaseException:  # of whoever was told of its end
            self._renew()
            raise
        return None if waiting is _IDLE else self._suspended(context, waiting)

    def _suspended(self, context: Context, waiting: Any) -> _Waiting:
        """A coroutine that waits keeps its runner; the next one gets another."""
        runner = self._runner
        self._renew()
        return _Waiting(runner, context, waiting)

    def _renew(self) -> None:
        # By its declaration it is only something to wait for.
        self._runner = runner = cast(_Runner, self._run_each())
        next(runner)
        self._send = runner.send

    @types.coroutine
    def _run_each(self) -> _Runner:
        """Run one coroutine after the other, until one fails. What is thrown in here reaches it."""
        key: K
        coroutine: _Coroutine
        ended = self._ended
        while True:
            key, coroutine = yield _IDLE
            try:
                result = yield from coroutine
            except BaseException as error:
                self._failed(key, error)
                return
            ended(key, result)
            del key, coroutine, result  # nothing is held while there is nothing to do

    def _stage(self, key: K, coroutine: _Coroutine) -> None:
        if self._closed:  # nobody would end it any more
            coroutine.close()
            self._failed(key, asyncio.CancelledError())
            return
        self._staged.append((key, coroutine, copy_context()))
        if self._keeper is None:
            self._make_task()
        self._wake_up()

    async def close(self, seconds: float, spared: Spared | None = None) -> None:
        """Cancel whatever still runs, and wait a moment for it to be over."""
        self.cancel(spared)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    def cancel(self, spared: Spared | None = None) -> None:
        """Cancel whatever still runs, but for tasks that are to be spared; nothing is begun any
        more."""
        self._closed = True
        for _, coroutine, _ in self._staged:
            coroutine.close()
        self._staged.clear()
        for task in self._tasks:
            if spared is None or not spared(task):
                cancel_once(task)

    def _make_task(self) -> None:
        # Not in the context of whichever call comes just now.
        self._keeper = task = self._loop.create_task(self._run(), context=self._context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _wake_up(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def _run(self) -> None:
        """Park; then do what is staged, or see an adopted coroutine through to its end."""
        while True:
            cancelled = await self._park()
            self._parked = None
            waiting, self._adopted = self._adopted, None
            if waiting is None and cancelled is not None:
                # Meant for us: whoever ends a loop cancels all of its tasks. If there is more to do
                # nevertheless, another task will do it.
                self._keeper = None
                if self._staged and not self._closed:
                    self._make_task()
                raise cancelled
            if waiting is None:
                try:
                    waiting = self._begin_staged()
                except BaseException:  # of whoever was told of an end: this is the end of us
                    self._keeper = None
                    if self._staged and not self._closed:
                        self._make_task()
                    raise
            if waiting is not None:
                if not self._closed:  # nobody would end it any more
                    self._make_task()
                if cancelled is not None:
                    # Once more, when the task waits for what the coroutine waits for: then that
                    # is cancelled too.
                    task = asyncio.current_task()
                    assert task is not None
                    self._loop.call_soon(task.cancel)
                await self._see_through(waiting)
                return

    async def _park(self) -> asyncio.CancelledError | None:
        """Wait to be needed. A coroutine may cancel its own task, which is this one, before it has
        waited even once; that is meant for the coroutine and handed on to it."""
        if self._staged:
            return None
        task = asyncio.current_task()
        assert task is not None
        self._parked, self._wake = task, self._loop.create_future()
        try:
            await self._wake
        except asyncio.CancelledError as error:
            task.uncancel()
            return error
        return None

    def _begin_staged(self) -> _Waiting | None:
        task = asyncio.current_task()
        assert task is not None
        while self._staged:
            key, coroutine, context = self._staged.popleft()
            if self._begins is not None:
                self._begins(key)
            waiting = self._begin(key, coroutine, context)
            if waiting is not None:
                self._waits(key, task)
                return waiting
        return None

    @types.coroutine
    def _see_through(self, begun: _Waiting) -> Generator[Any, Any, None]:
        """All further steps: what `await` does, with each step in the coroutine's own context."""
        runner, context, waiting = begun.runner, begun.context, begun.waiting
        while waiting is not _IDLE:
            error: BaseException | None = None
            value: Any = None
            try:
                value = yield waiting
            except BaseException as thrown:
                error = thrown
            try:
                if error is None:
                    waiting = context.run(runner.send, value)
                else:
                    waiting = context.run(runner.throw, error)
            except StopIteration:  # the coroutine has failed, which was told
                return
