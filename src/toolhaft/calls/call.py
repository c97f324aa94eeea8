"""A call in progress: the `Exchange` that its handler uses until the call is answered.

Most calls run on the driver's loop or on a worker thread. A call with a `place` runs on a loop or
thread of the program, and uses the driver's loop for whatever has to wait.
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
from .client_requests import ClientRequests, ClientRequestsDriver
from .progress_rate import ProgressRate
from .progress_values import valid_message, valid_numbers
from .reply_channel import ReplyChannel

RESULT: Final = (Wire, bytes)


class _YieldToLoop:
    """Awaitable that yields to the event loop once."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        yield


_YIELD: Final = _YieldToLoop()
# Consecutive `drain()` calls without backpressure after which `drain()` yields to the loop once, so
# that a coroutine that only reports progress can be cancelled and does not starve the loop.
_DRAINS_PER_YIELD: Final = 32
# Held while a message of a call is sent, or its messages end: several threads may do so. Never held
# while waiting.
_SENDING: Final = threading.Lock()
# Integers between these are exact in every client, also where numbers are floats.
_SMALLEST: Final = -(2**53)
_LARGEST: Final = 2**53


class CallDriver(ClientRequestsDriver, Protocol):
    """The driver of a call, as far as the call uses it."""

    # Identifier of the loop's thread.
    thread: int
    # Consecutive `drain()` calls without backpressure.
    ready_drains: int
    # Time limit of a cleanup, in seconds, and the calls with a cleanup in progress.
    cleanup_seconds: float
    cleaning: "set[RunningCall]"
    # Progress reports of one call: the size of the first burst, and the rate per second after it.
    progress_per_second: float

    @property
    def is_on_loop_thread(self) -> bool:
        """Whether the current thread is the loop's."""
        ...

    def soon(self, key: Hashable, action: Callable[[], None], /) -> None:
        """Call `action` in the next iteration of the loop, once per key."""
        ...

    def later(self, seconds: float, action: Callable[[], None], /) -> None:
        """Call `action` on the loop after `seconds`. Thread-safe."""
        ...

    def run(self, outcome: Coroutine[Any, Any, Any], /) -> Any:
        """Run a coroutine on the loop, and block this other thread until its result."""
        ...

    def spawn(
        self, outcome: Coroutine[Any, Any, Any], call: "RunningCall | None", /
    ) -> "asyncio.Task[Ended]":
        """Run a coroutine in a task of its own, which may outlive the call."""
        ...

    async def on_thread(self, running: "RunningCall", outcome: Blocking, /) -> Any:
        """Run a plain function on a worker thread, and wait for it on the loop."""
        ...


class RunningCall(Call, eq=False, kw_only=True):
    """A call in progress: the `Exchange` of its handler."""

    driver: "CallDriver | None" = None
    channel: ReplyChannel | None = None
    # Key among the calls of the driver; by default, the id.
    key: Hashable = None
    # Set once a coroutine has had to wait.
    task: "asyncio.Task[None] | None" = None
    # Set for a coroutine function of an author.
    awaiting: Awaiting | None = None
    # Set for a plain function on a worker thread.
    job: Job | None = None
    # Set while dependencies of the call are closed.
    cleanups: Cleanups | None = None
    # Set once the call has asked its client a question.
    client_requests: ClientRequests | None = None
    began: float = field(default_factory=perf_counter)
    # The largest progress value sent.
    reached: float = -inf
    # Reports sent before the rate limit applies; and the limit, once it does.
    reports: int = 0
    rate: ProgressRate | None = None
    # Whether a message was sent, or is about to be.
    sends: bool = False

    @property
    def _driver(self) -> "CallDriver":
        assert self.driver is not None, "a call runs on a driver"
        return self.driver

    def notify(self, method: str, params: Wire) -> None:
        """Send a notification that belongs to this call. Thread-safe; blocks only a worker thread,
        under backpressure.
        """
        channel = self._open_channel()
        if channel is not None:
            frame = notice(method, params, self.caller.revision)
            self.sends = True
            with _SENDING:
                if not self.over:
                    channel.send(frame)
            self.throttle()

    def report(self, done: float, total: float | None, message: str | None) -> None:
        """Send a progress report, if the client wants progress and the value has increased.
        Thread-safe; never waits. Beyond the rate limit only the newest report is kept, and sent
        later.

        Raises:
            ValueError: a number is not finite, or too large for a float.
            TypeError: `done` or `total` is not a number, or `message` not a string.
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
        channel, driver = self._open_channel(), self.driver
        if token is UNSET or token is None or channel is None:
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
            self._report_limited(driver, params)
            return
        frame = notice("notifications/progress", params, self.caller.revision)
        # "The progress value MUST increase with each notification", also with several threads.
        with _SENDING:
            if done > self.reached and not self.over:
                self.reached = done
                self.reports += 1
                channel.send(frame)

    def _report_limited(self, driver: "CallDriver", params: Progress) -> None:
        """Send a report if the rate limit allows it, else hold it until a timer fires."""
        with _SENDING:
            if self.over or params.progress <= self.reached:
                return
            rate = self.rate
            if rate is None:
                self.rate = rate = ProgressRate(driver.loop, driver.progress_per_second)
            if rate.take():
                self._send_report(params)
                return
            rate.hold(params)
            if not rate.is_timed:
                rate.is_timed = True
                driver.later(rate.interval, self._on_timer)

    def _on_timer(self) -> None:
        with _SENDING:
            rate = self.rate
            if rate is not None and not self.over:
                rate.is_timed = False
                self._send_held(rate)

    def _send_held(self, rate: ProgressRate) -> None:
        held = rate.release(self.reached)
        if held is not None:
            self._send_report(held)

    def _send_report(self, params: Progress) -> None:
        """Send a report with an increased value. The caller holds the lock."""
        self.reached = params.progress
        if self.channel is not None:
            self.channel.send(notice("notifications/progress", params, self.caller.revision))

    def end_messages(self) -> None:
        """Send nothing more for this call but its answer. Messages that other threads are sending
        are sent before this returns; later ones are dropped. A held progress report is sent, unless
        the call was cancelled. Thread-safe.
        """
        self.over = True
        if self.sends:
            with _SENDING:
                rate, self.rate = self.rate, None
                if rate is not None and not self.cancelled:
                    self._send_held(rate)

    def _open_channel(self) -> ReplyChannel | None:
        """Return the reply channel, or None if no more messages may be sent. Of a cancelled
        request: "the server MUST NOT send any further messages for it". Of progress: it "MUST stop
        after completion".
        """
        channel = self.channel
        if self.over or channel is None:
            return None
        if self.place is not None and channel.is_full and not self._driver.is_on_loop_thread:
            return None  # code of the program must not wait for a client
        return channel

    def throttle(self) -> None:
        """Block a worker thread while there is backpressure. Called after sending."""
        channel, driver = self.channel, self.driver
        if self.over or channel is None or driver is None or self.place is not None:
            return
        if get_ident() != driver.thread:
            channel.throttle()

    def soon(self, key: Hashable, action: Callable[[], None]) -> None:
        """Call `action` in the next iteration of the loop, once per key. Thread-safe."""
        self._driver.soon((self, key), action)

    def drain(self) -> Awaitable[None]:
        """Return an awaitable that ends with the backpressure: `READY` if there is none."""
        channel, driver = self.channel, self.driver
        if channel is None or driver is None:  # failed, but code that it started goes on
            return READY
        waits = channel.drained()
        if self.place is not None and not driver.is_on_loop_thread:
            return waits if waits is READY else self._hop(waits)
        if waits is READY:
            driver.ready_drains += 1
            if driver.ready_drains >= _DRAINS_PER_YIELD:
                driver.ready_drains = 0
                return _YIELD
        return waits

    async def ask(self, questions: Questions) -> dict[str, Any]:
        """Send questions to the client, all at once, and wait for the answers."""
        if self.place is None and not self._driver.is_on_loop_thread:
            raise RuntimeError("a call asks on the server's own loop; on a thread, use ctx.sync")
        _, answers = await self._hop(self._with_requests(lambda requests: requests.ask(questions)))
        return dict(answers)

    async def _hop(self, outcome: Awaitable[Any]) -> Any:
        """Await on the driver's loop, from a coroutine there or on the loop of the program."""
        if self._driver.is_on_loop_thread:
            return await outcome

        async def on_the_loop() -> Any:
            return await outcome

        there = asyncio.run_coroutine_threadsafe(on_the_loop(), self._driver.loop)
        return await asyncio.wrap_future(there)

    @property
    def suspended(self) -> bool:
        """Whether the call is being suspended: its answer will carry its questions."""
        return self.client_requests is not None and self.client_requests.suspended

    def ask_from_thread(self, questions: Questions) -> dict[str, Any]:
        """Ask questions from a plain function, and block its thread until the answers."""
        _, answers = self._from_thread(lambda requests: requests.ask_for_thread(questions))
        return dict(answers)

    def _from_thread(
        self, act: Callable[[ClientRequests], Coroutine[Any, Any, Any]]
    ) -> tuple[ClientRequests, Any]:
        if self._driver.is_on_loop_thread:
            raise RuntimeError(
                "a function that asks cannot run on the loop: make it async, or register it "
                "without thread=False"
            )
        if self.place is not None and self.place.takes_coroutines:
            raise RuntimeError(
                "a plain function on the program's loop cannot wait for an answer: make it async"
            )
        try:
            found: tuple[ClientRequests, Any] = self._driver.run(self._with_requests(act))
        except CancelledError:
            raise (Suspension if self.suspended else Cancelled) from None
        return found

    async def step(self, name: str, act: Callable[[], Awaitable[bytes]]) -> bytes:
        """Run a step, or return its recorded value if an earlier round has run it."""
        started = self._with_requests(lambda requests: requests.start_step(name))
        requests, (key, found) = await self._hop(started)
        if found is not None:
            return bytes(found)
        try:
            with requests.steps.acting():
                found = value = await act()
        finally:
            await self._hop(requests.steps.end(key, found))
        return value

    def step_from_thread(self, name: str, act: Callable[[], bytes]) -> bytes:
        """Run a step of a plain function. See `step`."""
        requests, (key, found) = self._from_thread(lambda requests: requests.start_step(name))
        if found is not None:
            return bytes(found)
        try:
            with requests.steps.acting():
                found = value = act()
        finally:
            self._driver.run(requests.steps.end(key, found))
        return value

    async def _with_requests(
        self, act: Callable[[ClientRequests], Coroutine[Any, Any, Any]]
    ) -> tuple[ClientRequests, Any]:
        """Call `act` on the driver's loop, where the call cannot end in between."""
        requests = self._open_requests()
        return requests, await act(requests)

    def _open_requests(self) -> ClientRequests:
        if self.cancelled:
            raise Cancelled
        if self.over:
            raise RuntimeError("the call is over, and its client cannot be asked any more")
        if self.client_requests is None:
            assert self.channel is not None
            self.client_requests = ClientRequests(self, self._driver, self.channel.send)
        return self.client_requests

    def hang_up(self) -> None:
        """Close the connection on which the client waits. The call goes on."""
        channel = self.channel
        if channel is not None and not self.over:
            channel.hang_up()

    async def closing(self) -> None:
        """Wait until the shutdown of the service begins."""
        await self._driver.closing.wait()

    async def settle(self, outcome: Outcome) -> Result:
        """Return the result of an outcome, of whichever kind it is."""
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
        """Run slow work of the library on a worker thread, and return its value."""
        return await self._driver.on_thread(self, Blocking(work))

    async def _placed(self, place: Place, outcome: Blocking) -> Result:
        if not self._driver.is_on_loop_thread:  # already there
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
        """Wait for an outcome with a time limit."""
        task = self._driver.spawn(outcome, self)
        try:
            await _wait_own_time(task, seconds, lambda: self.client_requests)
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
        """Give a cleanup its time. Returns the outcome of the function, if it has ended."""
        cleanups = self.cleanups
        if cleanups is None:
            return None
        seconds = self._driver.cleanup_seconds
        await asyncio.wait([task], timeout=seconds)
        if task.done():
            return task.result()
        ended = cleanups.result
        if ended is not None:
            warn(call_label(self), seconds, "the call is answered, and the cleanup goes on")
        return ended

    def clean_up(self, result: Result, error: BaseException | None) -> Cleanup:
        """Start a cleanup: the function has ended, and the call closes its dependencies."""
        driver, ended = self._driver, Ended(result, error)
        with COUNTING:
            if self.cleanups is None:
                self.cleanups = Cleanups(driver.loop, self._has_cleaned_up)
                driver.cleaning.add(self)
            return self.cleanups.start(ended, driver.cleanup_seconds, lambda: call_label(self))

    def _has_cleaned_up(self) -> None:
        self.cleanups = None
        self._driver.cleaning.discard(self)

    def interrupt(self, task: "asyncio.Task[Any]") -> None:
        """Cancel a task of this call once; during a cleanup, after it."""
        cleanups = self.cleanups  # a thread may set the attribute to None
        if cleanups is None or not cleanups.hold_back(task):
            cancel_once(task)


def call_label(call: Call) -> str:
    """Return the name of a call for the log: its method, and the name or URI in its parameters."""
    about = getattr(call.params, "name", None) or getattr(call.params, "uri", None)
    return call.method if about is None else f"{call.method} {shown(about)}"


async def _wait_own_time(
    task: "asyncio.Task[Any]", seconds: float, requests: Callable[[], ClientRequests | None]
) -> None:
    """Wait for a task up to `seconds`, not counting the time that the client takes to answer."""
    loop = asyncio.get_running_loop()
    start, left = loop.time(), seconds
    while left > 0 and not task.done():
        await asyncio.wait([task], timeout=left)
        current = requests()
        if current is not None and current.pause is not None:
            either: list[asyncio.Future[Any]] = [task, current.pause]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        left = start + seconds + (0 if current is None else current.waited) - loop.time()
