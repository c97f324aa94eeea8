"""A call in progress: what its handler can do, wherever it runs, until the answer is given.

Most calls run on the driver's loop or on a tool thread. One that has a place runs where the program
wants it to; from there it comes back to the driver's loop for whatever has to wait.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Hashable
from concurrent.futures import CancelledError
from math import inf
from threading import get_ident
from time import perf_counter
from typing import Any, Final, Protocol

from msgspec import UNSET, field

from ..errors import Cancelled, Suspension, ToolError, shown
from ..process.cleanup import COUNTING, Cleanup, Cleanups, cancel_once, warn
from ..process.outcome import Ended, end_of
from ..process.thread_pool import Job
from ..protocol.calls import READY, Awaiting, Blocking, Call, Outcome, Result
from ..protocol.elicitation.questions import Questions
from ..protocol.peer import notice
from ..protocol.ports import Place
from ..types.notifications import Progress
from ..types.wire import Wire
from .client_requests import Asking, AskingDriver
from .progress_rate import Pace
from .progress_values import valid_message, valid_numbers
from .reply_channel import Line

RESULT: Final = (Wire, bytes)


class _Turn:
    """Lets the loop have a turn."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        yield


# A coroutine that only reports never waits while its client reads. So that others are served, and
# it can be cancelled, it does now and then.
_TURN: Final = _Turn()
_IN_A_ROW: Final = 32
# Several threads may send messages of a call at once, while another one ends it. Held for as long
# as it takes to write, never to wait.
_SENDING: Final = threading.Lock()
# Of integers that every client reads as they are.
_SMALLEST: Final = -(2**53)
_LARGEST: Final = 2**53


class Driving(AskingDriver, Protocol):
    """The driver of a call, as the call needs it."""

    # Of the loop.
    thread: int
    # How many times somebody could have waited for a client, and did not have to.
    unheld: int
    # How long a cleanup may take, and the calls that do one.
    cleanup_seconds: float
    cleaning: "set[Running]"
    # Reports of progress that a call sends: so many at once, and so many a second after that.
    progress_per_second: float

    @property
    def is_here(self) -> bool:
        """Is this the thread of the loop?"""
        ...

    def soon(self, key: Hashable, action: Callable[[], None], /) -> None:
        """Do something in the next turn of the loop, and only once for a key."""
        ...

    def later(self, seconds: float, action: Callable[[], None], /) -> None:
        """Do something on the loop after so many seconds. From any thread."""
        ...

    def run(self, outcome: Coroutine[Any, Any, Any], /) -> Any:
        """The outcome of something that runs on the loop, for a thread that waits for it."""
        ...

    def spawn(
        self, outcome: Coroutine[Any, Any, Any], call: "Running | None", /
    ) -> "asyncio.Task[Ended]":
        """Run something beside its call, which it may outlive."""
        ...

    async def on_thread(self, running: "Running", outcome: Blocking, /) -> Any:
        """The value of plain work, for those who wait for it on the loop."""
        ...


class Running(Call, eq=False, kw_only=True):
    """A call in progress: the `Exchange` that its handler sees."""

    driver: "Driving | None" = None
    line: Line | None = None
    # What tells it from all other calls of its driver; by itself, its id.
    key: Hashable = None
    # Only a coroutine that had to wait has one.
    task: "asyncio.Task[None] | None" = None
    # Only a coroutine of an author has one.
    awaiting: Awaiting | None = None
    # Only a plain function has one.
    job: Job | None = None
    # Only a call that closes what it has opened has any.
    cleanups: Cleanups | None = None
    # Only a call that asks its client has one.
    asking: Asking | None = None
    began: float = field(default_factory=perf_counter)
    # How far it has said that it is.
    reached: float = -inf
    # The number of reports sent before the rate limit applies; and the limit, once it does.
    reports: int = 0
    pace: Pace | None = None
    # Has anything been sent, or is it about to be?
    sends: bool = False

    @property
    def _driver(self) -> "Driving":
        assert self.driver is not None, "a call runs on a driver"
        return self.driver

    def notify(self, method: str, params: Wire) -> None:
        """Send a notification that belongs to this call. From any thread; only one of a tool waits,
        while the client does not read."""
        line = self._open_line()
        if line is not None:
            frame = notice(method, params, self.caller.revision)
            self.sends = True
            with _SENDING:
                if not self.over:
                    line.send(frame)
            self.throttle()

    def report(self, done: float, total: float | None, message: str | None) -> None:
        """Tell the client how far this call is, if it asked to know and is farther than before.
        From any thread, without waiting. Beyond the rate limit only the newest report is kept, and
        sent later.

        Raises:
            ValueError: a number is not finite, or too large for one.
            TypeError: it is no number, or the message is no text.
        """
        if (
            type(done) is not int
            or not _SMALLEST < done < _LARGEST
            or not (total is None or (type(total) is int and _SMALLEST < total < _LARGEST))
        ):
            done, total = valid_numbers(done, total)
        if message is not None:
            message = valid_message(message)
        token = self.request_meta.progress_token
        line, driver = self._open_line(), self.driver
        if token is UNSET or token is None or line is None:
            return
        params = Progress(
            progress_token=token,
            progress=done,
            total=UNSET if total is None else total,
            message=UNSET if message is None else message,
        )
        if not self.sends:
            self.sends = True
        if driver is not None and self.reports >= driver.progress_per_second:
            self._report_at_pace(driver, params)
            return
        frame = notice("notifications/progress", params, self.caller.revision)
        # "The progress value MUST increase with each notification", whichever thread is quicker.
        with _SENDING:
            if done > self.reached and not self.over:
                self.reached = done
                self.reports += 1
                line.send(frame)

    def _report_at_pace(self, driver: "Driving", params: Progress) -> None:
        """Send a report if the rate limit allows it, else hold it until a timer fires."""
        with _SENDING:
            if self.over or params.progress <= self.reached:
                return
            pace = self.pace
            if pace is None:
                self.pace = pace = Pace(driver.loop, driver.progress_per_second)
            if pace.take():
                self._send_report(params)
                return
            pace.hold(params)
            if not pace.is_timed:
                pace.is_timed = True
                driver.later(pace.interval, self._on_timer)

    def _on_timer(self) -> None:
        with _SENDING:
            pace = self.pace
            if pace is not None and not self.over:
                pace.is_timed = False
                self._send_held(pace)

    def _send_held(self, pace: Pace) -> None:
        held = pace.release(self.reached)
        if held is not None:
            self._send_report(held)

    def _send_report(self, params: Progress) -> None:
        """Send a report that is farther than those before. The caller holds the lock."""
        self.reached = params.progress
        if self.line is not None:
            self.line.send(notice("notifications/progress", params, self.caller.revision))

    def end_messages(self) -> None:
        """From now on nothing is sent for this call but its answer. Before this returns, messages
        that other threads are about to send have been sent: one that is sent later sees that the
        call is over. A report that was held is sent, unless the call was cancelled. From any
        thread."""
        self.over = True
        if self.sends:
            with _SENDING:
                pace, self.pace = self.pace, None
                if pace is not None and not self.cancelled:
                    self._send_held(pace)

    def _open_line(self) -> Line | None:
        """Where something may still be told. Of a cancelled request: "the server MUST NOT send any
        further messages for it". Of progress: it "MUST stop after completion"."""
        line = self.line
        if self.over or line is None:
            return None
        if self.place is not None and line.is_full and not self._driver.is_here:
            return None  # the program must not wait for a client that does not read
        return line

    def throttle(self) -> None:
        """For tool threads, after they have told something: wait while the client does not read."""
        line, driver = self.line, self.driver
        if self.over or line is None or driver is None or self.place is not None:
            return
        if get_ident() != driver.thread:
            line.throttle()

    def soon(self, key: Hashable, action: Callable[[], None]) -> None:
        """Do something in a moment, and only once for a key. From any thread."""
        self._driver.soon((self, key), action)

    def drain(self) -> Awaitable[None]:
        """Wait until the client has read enough of what was sent; `READY` if it has."""
        line, driver = self.line, self.driver
        if line is None or driver is None:  # it has failed, and something that it began goes on
            return READY
        waits = line.drained()
        if self.place is not None and not driver.is_here:
            return waits if waits is READY else self._hop(waits)
        if waits is READY:
            driver.unheld += 1
            if driver.unheld >= _IN_A_ROW:
                driver.unheld = 0
                return _TURN
        return waits

    async def ask(self, questions: Questions) -> dict[str, Any]:
        """Put questions to the client, all at once, and wait for the answers."""
        if self.place is None and not self._driver.is_here:
            raise RuntimeError("a call asks on the server's own loop; on a thread, use ctx.sync")
        _, answers = await self._hop(self._with_asking(lambda asking: asking.ask(questions)))
        return dict(answers)

    async def _hop(self, outcome: Awaitable[Any]) -> Any:
        """What comes of something on our own loop, for a coroutine there or on the loop of the
        program."""
        if self._driver.is_here:
            return await outcome

        async def on_the_loop() -> Any:
            return await outcome

        there = asyncio.run_coroutine_threadsafe(on_the_loop(), self._driver.loop)
        return await asyncio.wrap_future(there)

    @property
    def suspended(self) -> bool:
        """Does it make way, so that its client can be asked?"""
        return self.asking is not None and self.asking.suspended

    def ask_from_thread(self, questions: Questions) -> dict[str, Any]:
        """The same for a plain function, which waits on its thread."""
        _, answers = self._from_thread(lambda asking: asking.ask_for_thread(questions))
        return dict(answers)

    def _from_thread(self, act: Callable[[Asking], Coroutine[Any, Any, Any]]) -> tuple[Asking, Any]:
        if self._driver.is_here:
            raise RuntimeError(
                "a function that asks cannot run on the loop: make it async, or register it "
                "without thread=False"
            )
        if self.place is not None and self.place.takes_coroutines:
            raise RuntimeError(
                "a plain function on the program's loop cannot wait for an answer: make it async"
            )
        try:
            found: tuple[Asking, Any] = self._driver.run(self._with_asking(act))
        except CancelledError:
            raise (Suspension if self.suspended else Cancelled) from None
        return found

    async def step(self, name: str, act: Callable[[], Awaitable[bytes]]) -> bytes:
        """Do something that is not done again when the call is, and what it gave."""
        begun = self._with_asking(lambda asking: asking.begin_step(name))
        asking, (key, found) = await self._hop(begun)
        if found is not None:
            return bytes(found)
        try:
            with asking.steps.acting():
                found = value = await act()
        finally:
            await self._hop(asking.steps.end(key, found))
        return value

    def step_from_thread(self, name: str, act: Callable[[], bytes]) -> bytes:
        """The same for a plain function."""
        asking, (key, found) = self._from_thread(lambda asking: asking.begin_step(name))
        if found is not None:
            return bytes(found)
        try:
            with asking.steps.acting():
                found = value = act()
        finally:
            self._driver.run(asking.steps.end(key, found))
        return value

    async def _with_asking(
        self, act: Callable[[Asking], Coroutine[Any, Any, Any]]
    ) -> tuple[Asking, Any]:
        """On our own loop, where nobody ends the call meanwhile."""
        asking = self._asking()
        return asking, await act(asking)

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
        line = self.line
        if line is not None and not self.over:
            line.hang_up()

    async def closing(self) -> None:
        """Wait until the service is about to end."""
        await self._driver.closing.wait()

    async def settle(self, outcome: Outcome) -> Result:
        """Wait for an outcome, wherever it is computed."""
        if isinstance(outcome, Blocking):
            if self.place is not None:
                return await self._placed(self.place, outcome)
            value: Result = await self._driver.on_thread(self, outcome)
            return value
        if isinstance(outcome, RESULT):
            return outcome
        if isinstance(outcome, Awaiting):
            return await self._finished(outcome)
        return await outcome

    async def _finished(self, awaiting: Awaiting) -> Result:
        finisher, subject = awaiting.finisher, awaiting.subject
        try:
            return finisher.finish(self, subject, await awaiting.coroutine)
        except BaseException as error:
            return finisher.explain(self, subject, error)

    async def apart(self, work: Callable[[], Any]) -> Any:
        """The value of work of ours that may take long, computed on a worker thread."""
        return await self._driver.on_thread(self, Blocking(work))

    async def _placed(self, place: Place, outcome: Blocking) -> Result:
        if not self._driver.is_here:  # there already
            value: Result = outcome.work()
            return value

        def work() -> Any:
            if (self.cancelled or self.overdue) and not outcome.always:
                raise Cancelled
            return outcome.work()

        value = await place.call(work, always=outcome.always)
        return value

    async def within(
        self, seconds: float, outcome: Coroutine[Any, Any, Result], what: str
    ) -> Result:
        """Wait for an outcome, but not for ever."""
        task = self._driver.spawn(outcome, self)
        try:
            await _own_time(task, seconds, lambda: self.asking)
            ended = task.result() if task.done() else await self._cleaned_up(task)
        except asyncio.CancelledError:
            self.interrupt(task)
            await end_of(task)
            raise
        if ended is not None:
            value: Result = ended.value()
            return value
        self.overdue = True
        self.interrupt(task)
        raise ToolError(f"{what} took longer than {seconds:g} s")

    async def _cleaned_up(self, task: "asyncio.Task[Ended]") -> Ended | None:
        """How the function of a task has ended, if that only cleans up by now."""
        cleanups = self.cleanups
        if cleanups is None:
            return None
        seconds = self._driver.cleanup_seconds
        await asyncio.wait([task], timeout=seconds)
        if task.done():
            return task.result()
        ended = cleanups.result
        if ended is not None:
            warn(told(self), seconds, "the call is answered, and the cleanup goes on")
        return ended

    def clean_up(self, result: Result, error: BaseException | None) -> Cleanup:
        """The function has ended, and the call begins to close what it has opened."""
        driver, ended = self._driver, Ended(result, error)
        with COUNTING:
            if self.cleanups is None:
                self.cleanups = Cleanups(driver.loop, self._has_cleaned_up)
                driver.cleaning.add(self)
            return self.cleanups.begin(ended, driver.cleanup_seconds, lambda: told(self))

    def _has_cleaned_up(self) -> None:
        self.cleanups = None
        self._driver.cleaning.discard(self)

    def interrupt(self, task: "asyncio.Task[Any]") -> None:
        """Cancel a task of this call, once, and not while the call cleans up."""
        cleanups = self.cleanups  # which a thread may set to None meanwhile
        if cleanups is None or not cleanups.hold_back(task):
            cancel_once(task)


def told(call: Call) -> str:
    """A call, for the log: its method and what it is about."""
    about = getattr(call.params, "name", None) or getattr(call.params, "uri", None)
    return call.method if about is None else f"{call.method} {shown(about)}"


async def _own_time(
    task: "asyncio.Task[Any]", seconds: float, asking: Callable[[], Asking | None]
) -> None:
    """Wait for a task of a call, for so long, without the time that its client takes to answer."""
    loop = asyncio.get_running_loop()
    start, left = loop.time(), seconds
    while left > 0 and not task.done():
        await asyncio.wait([task], timeout=left)
        asks = asking()
        if asks is not None and asks.pause is not None:
            either: list[asyncio.Future[Any]] = [task, asks.pause]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        left = start + seconds + (0 if asks is None else asks.waited) - loop.time()
