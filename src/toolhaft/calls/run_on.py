"""Places of a program where functions of its server may run: its own loop, or whatever takes a
function and calls it, such as the queue of a GUI.

Calls are looked after by the server's loop, which waits here for what becomes of them there.
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

# Where executors are defined that run functions in another process or interpreter.
_ISOLATED: Final = ("concurrent.futures.process", "concurrent.futures.interpreter")
# How often to look whether there is still somebody who could do the work.
_OFTEN: Final = 0.25


class _Work:
    """Something that is to be done in another place, and the one who waits for it here."""

    def __init__(self, *, always: bool = False) -> None:
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[Ended] = self._loop.create_future()
        self._lock = threading.Lock()
        self._begun = False
        self._dropped = False
        self._always = always
        # What stops it; there is nothing for what cannot wait.
        self._stop: Callable[[], None] | None = None
        self._is_unwanted = False

    def begin(self) -> bool:
        """There: is it still wanted?"""
        with self._lock:
            self._begun = True
            return not self._dropped

    def stop_by(self, stop: Callable[[], None]) -> None:
        """There: this stops it, which may be wanted already."""
        with self._lock:
            self._stop = stop
            is_unwanted = self._is_unwanted
        if is_unwanted:
            stop()

    def end(self, ended: Ended) -> None:
        """There: it is over."""
        with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits
            self._loop.call_soon_threadsafe(self._settle, ended)

    def refuse(self, reason: str) -> None:
        """There: it will not begin, unless it has."""
        with self._lock:
            if self._begun:
                return
            self._dropped = True
        self.end(Ended(error=ToolError(f"the program did not run this: {reason}")))

    def _settle(self, ended: Ended) -> None:
        if not self._done.done():
            self._done.set_result(ended)

    async def value(self, is_closed: Callable[[], bool]) -> Any:
        """Here: what came of it."""
        cancelled = False
        while not self._done.done():
            try:
                await asyncio.wait([self._done], timeout=_OFTEN)
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
        """It is not wanted any more. Is there nothing to wait for?"""
        with self._lock:
            if not self._begun and not self._always:
                self._dropped = True
                return True
            self._is_unwanted = True
            stop = self._stop
        if stop is not None:
            with contextlib.suppress(RuntimeError):  # closed
                stop()
        return False


def _closed() -> ToolError:
    return ToolError("the program's event loop is closed, so nothing can run on it")


class LoopPlace:
    """The thread of a loop."""

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

        def over_there() -> None:
            if not waiting.begin():
                return
            task = self._loop.create_task(guarded(begin()))

            def stop() -> None:
                nonlocal stopped
                stopped = True
                self._loop.call_soon_threadsafe(task.cancel)

            waiting.stop_by(stop)
            task.add_done_callback(lambda done: waiting.end(_ended(done)))

        self._submit(over_there)
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
    """Wherever a callable takes functions to, one after the other or side by side."""

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
        if isinstance(submitted, Future):  # of an executor, which may fail before it runs this
            submitted.add_done_callback(  # pyright: ignore[reportUnknownMemberType]
                partial(_look_at, waiting)
            )
        return await waiting.value(_never)

    async def run(self, begin: Callable[[], Coroutine[Any, Any, Any]], /) -> Any:
        """See `Place`; nobody can wait there, so it runs here."""
        return await begin()


def _plain(waiting: _Work, work: Callable[[], Any]) -> Callable[[], None]:
    enter = copy_context().run

    def over_there() -> None:
        if not waiting.begin():
            waiting.end(Ended(error=Cancelled()))
            return
        try:
            waiting.end(Ended(enter(work)))
        except KeyboardInterrupt as error:
            waiting.end(Ended(error=error))
            raise  # that was for the program
        except BaseException as error:
            waiting.end(Ended(error=error))

    return over_there


def _look_at(waiting: _Work, submitted: "Future[Any]") -> None:
    if submitted.cancelled():
        waiting.refuse("its executor has cancelled it")
    elif (error := submitted.exception()) is not None:
        waiting.refuse(f"{type(error).__name__}: {error}")


def _ended(task: "asyncio.Task[Ended]") -> Ended:
    return Ended(error=asyncio.CancelledError()) if task.cancelled() else task.result()


def _never() -> bool:
    return False


def place_of(run_on: object) -> LoopPlace | CallablePlace:
    """What an author means by `run_on`.

    Raises:
        TypeError: it is neither, or functions cannot run there.
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
