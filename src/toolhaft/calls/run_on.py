"""`run_on`: execution of an author's functions on a loop of the program, or through a callable that
schedules functions, such as the queue of a GUI or an executor.

The server's loop waits for the outcome. "Target" is the thread on which the function runs.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from contextvars import copy_context
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Final

from ..errors import Cancelled, ToolError
from ..process.outcome import Ended, guarded

# Modules of executors that run functions in another process or interpreter.
_ISOLATED: Final = ("concurrent.futures.process", "concurrent.futures.interpreter")
# Seconds between two checks whether the loop of the program was closed.
_CHECK_SECONDS: Final = 0.25


class _Work:
    """Work for the target, and the future that the server's loop awaits."""

    def __init__(self, *, always: bool = False) -> None:
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[Ended] = self._loop.create_future()
        self._lock = threading.Lock()
        self._is_started = False
        self._is_dropped = False
        self._always = always
        # Cancels started work; None for a plain function.
        self._stop: Callable[[], None] | None = None
        self._is_cancelled = False

    def start(self) -> bool:
        """Mark the work as started. Returns False if it was dropped. On the target."""
        with self._lock:
            self._is_started = True
            return not self._is_dropped

    def set_stop(self, stop: Callable[[], None]) -> None:
        """Set the function that cancels the work; call it if that is due. On the target."""
        with self._lock:
            self._stop = stop
            is_cancelled = self._is_cancelled
        if is_cancelled:
            stop()

    def end(self, ended: Ended) -> None:
        """Deliver the outcome. On the target."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._settle, ended)

    def refuse(self, reason: str) -> None:
        """Fail work that will never start. Does nothing if it has started. On the target."""
        with self._lock:
            if self._is_started:
                return
            self._is_dropped = True
        self.end(Ended(error=ToolError(f"the program did not run this: {reason}")))

    def _settle(self, ended: Ended) -> None:
        if not self._done.done():
            self._done.set_result(ended)

    async def value(self, is_closed: Callable[[], bool]) -> Any:
        """Wait for the outcome. On the server's loop."""
        cancelled = False
        while not self._done.done():
            try:
                await asyncio.wait([self._done], timeout=_CHECK_SECONDS)
            except asyncio.CancelledError:
                cancelled = True
                if self._drop():
                    raise
            if not self._done.done() and is_closed():
                if cancelled:
                    break
                raise _closed()
        if cancelled:
            raise asyncio.CancelledError
        return self._done.result().value()

    def _drop(self) -> bool:
        """Drop or cancel the work. Returns True if it will not run."""
        with self._lock:
            if not self._is_started and not self._always:
                self._is_dropped = True
                return True
            self._is_cancelled = True
            stop = self._stop
        if stop is not None:
            with contextlib.suppress(RuntimeError):  # closed
                stop()
        return False


def _closed() -> ToolError:
    return ToolError("the program's event loop is closed, so nothing can run on it")


class LoopPlace:
    """A place on the thread of an event loop."""

    takes_coroutines = True

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    async def call(self, work: Callable[[], Any], /, *, always: bool = False) -> Any:
        """See `Place`."""
        if asyncio.get_running_loop() is self._loop:
            return work()
        waiting = _Work(always=always)
        self._submit(_plain(waiting, work))
        return await waiting.value(self._loop.is_closed)

    async def run(self, begin: Callable[[], Coroutine[Any, Any, Any]], /) -> Any:
        """See `Place`."""
        if asyncio.get_running_loop() is self._loop:
            return await begin()
        waiting, stopped = _Work(), False

        def on_target() -> None:
            if not waiting.start():
                return
            task = self._loop.create_task(guarded(begin()))

            def stop() -> None:
                nonlocal stopped
                stopped = True
                self._loop.call_soon_threadsafe(task.cancel)

            waiting.set_stop(stop)
            task.add_done_callback(lambda done: waiting.end(_ended(done)))

        self._submit(on_target)
        try:
            return await waiting.value(self._loop.is_closed)
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if stopped or (current is not None and current.cancelling()):
                raise
            raise ToolError("the program has cancelled this, or ends") from None

    def _submit(self, function: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:
            raise _closed() from None


class CallablePlace:
    """A place behind a callable that schedules functions, in sequence or in parallel."""

    takes_coroutines = False

    def __init__(self, submit: Callable[[Callable[[], None]], Any]) -> None:
        self._submit = submit

    async def call(self, work: Callable[[], Any], /, *, always: bool = False) -> Any:
        """See `Place`."""
        waiting = _Work(always=always)
        try:
            submitted: object = self._submit(_plain(waiting, work))
        except Exception as error:
            raise ToolError(
                f"the program takes no work any more: {type(error).__name__}: {error}"
            ) from error
        if isinstance(submitted, Future):  # of an executor, which may fail before it runs the work
            submitted.add_done_callback(  # pyright: ignore[reportUnknownMemberType]
                partial(_refuse_if_failed, waiting)
            )
        return await waiting.value(_never)

    async def run(self, begin: Callable[[], Coroutine[Any, Any, Any]], /) -> Any:
        """See `Place`. The target cannot await, so the coroutine runs on the server's loop."""
        return await begin()


def _plain(waiting: _Work, work: Callable[[], Any]) -> Callable[[], None]:
    enter = copy_context().run

    def on_target() -> None:
        if not waiting.start():
            waiting.end(Ended(error=Cancelled()))
            return
        try:
            waiting.end(Ended(enter(work)))
        except KeyboardInterrupt as error:
            waiting.end(Ended(error=error))
            raise  # Ctrl-C is for the program
        except BaseException as error:
            waiting.end(Ended(error=error))

    return on_target


def _refuse_if_failed(waiting: _Work, submitted: "Future[Any]") -> None:
    if submitted.cancelled():
        waiting.refuse("its executor has cancelled it")
    elif (error := submitted.exception()) is not None:
        waiting.refuse(f"{type(error).__name__}: {error}")


def _ended(task: "asyncio.Task[Ended]") -> Ended:
    return Ended(error=asyncio.CancelledError()) if task.cancelled() else task.result()


def _never() -> bool:
    return False


def place_of(run_on: object) -> LoopPlace | CallablePlace:
    """Return the place for a value of `run_on`.

    Raises:
        TypeError: it is neither a loop nor a callable, or functions cannot run there.
    """
    if isinstance(run_on, asyncio.AbstractEventLoop):
        return LoopPlace(run_on)
    _refuse_class(run_on)
    if any(kind.__module__ in _ISOLATED for kind in type(run_on).__mro__):
        raise TypeError(
            f"run_on={type(run_on).__name__}: a tool runs in the process and the interpreter of "
            "its server, which it shares its context with, and cannot be sent to another one; make "
            "the tool async, and let it send its own work there: "
            "await asyncio.get_running_loop().run_in_executor(pool, function, *arguments)"
        )
    submit = getattr(run_on, "submit", run_on)  # of an executor
    if iscoroutinefunction(submit):
        raise TypeError(
            f"run_on takes a callable that has a function called somewhere, and {submit!r} is a "
            "coroutine function, which nothing would await; give a plain function, or an event loop"
        )
    if callable(submit):
        return CallablePlace(submit)
    raise TypeError(
        f"run_on takes an event loop, or what takes a function and calls it, not {run_on!r}"
    )


def _refuse_class(run_on: object) -> None:
    if isinstance(run_on, type) and issubclass(run_on, Executor | asyncio.AbstractEventLoop):
        raise TypeError(f"run_on takes an instance: {run_on.__name__}(), not the class")
