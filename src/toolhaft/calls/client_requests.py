"""Questions of a call to its client.

In the handshake era the call waits for the answers. In the stateless era the answer to the call
carries the questions, and the call is suspended: a coroutine with a question is parked, and when no
other coroutine of the call is about to ask one, the call is cancelled, cleans up, and is answered.
A plain function cannot be parked; it is ended by an exception.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, Struct

from ..encoding.envelope import Id, Outgoing
from ..errors import McpError, ToolError, clipped
from ..protocol.calls import Answer, Call, Era
from ..protocol.elicitation.questions import (
    ATTEMPTS,
    Answered,
    Question,
    Questions,
    Suspended,
    Unfit,
    Waiting,
    unfit,
)
from ..protocol.elicitation.rounds import LAST_ROUND
from ..protocol.peer import failed, notice, suspended
from ..protocol.ports import Store
from ..types.notifications import Cancelled
from .recorded_steps import Steps

# Loop iterations without a new question after which no more are expected.
_QUIET_ITERATIONS = 10
# Seconds that other tasks of the call may still run beside a question; then they are cancelled, and
# run again in the next round.
_GRACE = 0.05
# Seconds for the cleanup of a suspended call before its client gets the questions.
_CLEAN_UP = 1.0


class _Error(Struct):
    """The error of a client that does not answer a question."""

    message: str = ""


_read_error = msgspec.json.Decoder(_Error).decode


class PendingAnswers:
    """The futures of questions that clients have not answered yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._expected: dict[tuple[Era, Id], asyncio.Future[Answer]] = {}

    def expect(self, session: Era, id_: Id) -> "asyncio.Future[Answer]":
        """Return the future of an answer. Call this before the question is sent."""
        future = self._expected[session, id_] = self._loop.create_future()
        return future

    def forget(self, session: Era, id_: Id) -> None:
        """Drop the future of an answer that is not needed any more."""
        self._expected.pop((session, id_), None)

    def settle(self, session: Era, answer: Answer) -> bool:
        """Deliver an answer. Thread-safe. Returns False if no call waits for it."""
        future = self._expected.pop((session, answer.id), None)
        if future is None:
            return False
        self._loop.call_soon_threadsafe(_settle, future, answer)
        return True


def _settle(future: "asyncio.Future[Answer]", answer: Answer) -> None:
    if not future.done():
        future.set_result(answer)


class ClientRequestsDriver(Protocol):
    """The driver of the call, as far as questions need it."""

    loop: asyncio.AbstractEventLoop
    pending_answers: PendingAnswers
    store: Store
    answer_seconds: float
    closing: asyncio.Event

    def interrupt(self, call: Call, /) -> None:
        """Cancel the coroutine of a call."""
        ...

    def answer_suspended(self, call: Call, /) -> None:
        """Answer a suspended call that has not ended."""
        ...

    def owns(self, call: Call, task: "asyncio.Task[Any]", /) -> bool:
        """Return whether a task runs the call itself, and was not created by its code."""
        ...

    def masked(self, call: Call, error: Exception, /) -> McpError:
        """Return the error to send to the client."""
        ...


class ClientRequests:
    """The questions of one call to its client. Loop thread only."""

    def __init__(
        self, call: Call, driver: ClientRequestsDriver, send: Callable[[bytes], None]
    ) -> None:
        self._call = call
        self._driver = driver
        self._send = send
        self._loop = driver.loop
        self._open: dict[asyncio.Future[Answer], Id] = {}
        self._since = 0.0
        # Seconds that the call has waited for its client; they do not count for its time limit.
        self.waited = 0.0
        # While the call waits for its client: a future that is done when it goes on.
        self.pause: asyncio.Future[None] | None = None
        # The questions that the answer to the suspended call will carry.
        self._questions: dict[str, Question] = {}
        self.suspended = False
        self._parked: list[asyncio.Future[dict[str, Any]]] = []
        # The parked tasks, and the loop time until which other tasks may still run.
        self._askers: set[asyncio.Task[Any] | None] = set()
        self._until = 0.0
        # Loop iterations left until the call counts as quiet; 0 if none is being counted.
        self._iterations_left = 0
        self._timer: asyncio.TimerHandle | None = None
        # The call is not interrupted during a step.
        self.steps = Steps(
            call, driver.store, driver.answer_seconds * LAST_ROUND, ended=self._ended_step
        )

    async def ask(self, questions: Questions) -> dict[str, Any]:
        """Return the answers. If the call has to be suspended for them, wait forever."""
        answers = await self._answers_or_none(questions)
        if answers is not None:
            return answers
        future: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        if not self._parked:
            self._until = self._loop.time() + _GRACE
        self._parked.append(future)
        if not self.suspended:
            self._askers.add(asyncio.current_task())
            self._park()
        return await future

    async def ask_for_thread(self, questions: Questions) -> dict[str, Any]:
        """Return the answers for a plain function, which cannot be parked.

        Raises:
            CancelledError: the call is suspended.
        """
        answers = await self._answers_or_none(questions)
        if answers is None:
            self.suspend()
            raise asyncio.CancelledError
        return answers

    async def _answers_or_none(self, questions: Questions) -> dict[str, Any] | None:
        """Return the answers, or None if the call has to be suspended for them."""
        if self.steps.is_in_step:
            raise RuntimeError("a step cannot ask; ask before it, and give it the answer")
        match self._call.era.ask(self._call, questions):
            case Answered(answers=answers):
                return answers
            case Waiting() as waiting:
                return await self._wait(questions, waiting)
            case Suspended(questions=still_open):
                self._questions |= still_open
                await self.steps.store_values()
                return None

    def cancel(self) -> None:
        """Cancel all waiting for answers."""
        _cancel([*self._open, *self._parked])

    def end(
        self, frame: Outgoing | None, error: McpError | None
    ) -> tuple[Outgoing | None, McpError | None]:
        """Return the answer of the call, which carries the questions if the call is suspended.
        Questions of tasks that outlive the call are withdrawn. Thread-safe.
        """
        moot: list[asyncio.Future[Any]] = [*self._open, *self._parked]
        self._withdraw([*self._open])
        if moot or self._timer is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._clear, moot)
        return self._answer() if self.suspended and frame is not None else (frame, error)

    def _clear(self, moot: "list[asyncio.Future[Any]]") -> None:
        _cancel(moot)
        if self._timer is not None:
            self._timer.cancel()

    # Suspension

    async def start_step(self, name: str) -> tuple[str, bytes | None]:
        """Start a step. See `Steps.start`.

        Raises:
            CancelledError: the call is being suspended. A step in its cleanup must not be
                recorded as done.
        """
        if self.suspended:
            raise asyncio.CancelledError
        return await self.steps.start(name)

    def _ended_step(self) -> None:
        if self._parked and not self.suspended and not self._iterations_left:
            self._park()

    def _park(self) -> None:
        if not self._iterations_left:
            self._loop.call_soon(self._count_iteration)
        self._iterations_left = _QUIET_ITERATIONS

    def _count_iteration(self) -> None:
        """Suspend the call after enough loop iterations without a new question."""
        self._iterations_left -= 1
        if self._iterations_left:
            self._loop.call_soon(self._count_iteration)
        else:
            self._suspend_if_quiet()

    def _suspend_if_quiet(self) -> None:
        if self.steps.under_way or self._iterations_left or self.suspended or self._call.over:
            return  # the end of the last step, or the last iteration, checks again
        if self._is_alone() or self._loop.time() >= self._until:
            self.suspend()
            self._driver.interrupt(self._call)
        elif self._timer is None:
            self._timer = self._loop.call_at(self._until, self._end_grace)

    def _end_grace(self) -> None:
        self._until = 0.0
        self._suspend_if_quiet()

    def _is_alone(self) -> bool:
        """Return whether only the call itself is parked, not a task that its code created."""
        owns, call = self._driver.owns, self._call
        return all(task is not None and owns(call, task) for task in self._askers)

    def suspend(self) -> None:
        """Mark the call as suspended, and bound the time of its cleanup."""
        if not self.suspended:
            self.suspended = True
            self._askers.clear()
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_later(_CLEAN_UP, self._answer_early)

    def _answer_early(self) -> None:
        if not self._call.over:
            self._driver.answer_suspended(self._call)

    def _answer(self) -> tuple[bytes, McpError | None]:
        try:
            return suspended(self._call, self._questions), None
        except Exception as error:  # the client needs an answer in any case
            masked = self._driver.masked(self._call, error)
            return failed(self._call, masked), masked

    # Waiting

    async def _wait(self, questions: Questions, waiting: Waiting) -> dict[str, Any]:
        answers: dict[str, Any] = {}
        attempts = dict.fromkeys(questions, 1)
        ours = self._sent(waiting)
        try:
            while ours:
                for future in await self._next(ours):
                    answer = future.result()
                    key = ours.pop(future)
                    question = questions[key]
                    try:
                        answers[key] = _read(question, answer)
                    except Unfit as problem:
                        if attempts[key] == ATTEMPTS:
                            raise unfit(question, problem) from None
                        attempts[key] += 1
                        again = self._call.era.ask(self._call, {key: question})
                        assert isinstance(again, Waiting)
                        ours |= self._sent(again)
                    finally:  # after the repeated question was sent, so that `pause` does not end
                        self._open.pop(future, None)
        finally:
            self._withdraw(ours)
        return {key: answers[key] for key in questions}

    def _sent(self, waiting: Waiting) -> dict["asyncio.Future[Answer]", str]:
        """Send requests. Their futures are registered before an answer can arrive."""
        sent: dict[asyncio.Future[Answer], str] = {}
        for key, id_ in waiting.ids.items():
            future = self._driver.pending_answers.expect(self._call.era, id_)
            sent[future] = key
            if not self._open:
                self._since, self.pause = self._loop.time(), self._loop.create_future()
            self._open[future] = id_
        for frame in waiting.frames:
            self._send(frame)
        return sent

    async def _next(
        self, ours: dict["asyncio.Future[Answer]", str]
    ) -> set["asyncio.Future[Answer]"]:
        seconds = self._driver.answer_seconds
        done, _ = await asyncio.wait(ours, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            raise ToolError(f"the client did not answer within {seconds:g} s")
        return done

    def _withdraw(self, ours: "Iterable[asyncio.Future[Answer]]") -> None:
        """Send the client a cancellation of each question that is not needed any more."""
        for future in ours:
            id_ = self._open.pop(future, None)
            if id_ is None:  # withdrawn when the call ended
                continue
            self._driver.pending_answers.forget(self._call.era, id_)
            if not self._driver.closing.is_set():
                moot = Cancelled(request_id=id_, reason="the answer is not needed any more")
                self._send(notice("notifications/cancelled", moot, self._call.caller.revision))
        if not self._open and self.pause is not None:
            self.waited += self._loop.time() - self._since
            self.pause.set_result(None)
            self.pause = None


def _cancel(futures: "Iterable[asyncio.Future[Any]]") -> None:
    for future in futures:
        future.cancel()


def _read(question: Question, answer: Answer) -> Any:
    if answer.result is not UNSET:
        return question.read(answer.result)
    raise ToolError(f"the client did not answer {question.method}: {_words(answer)}")


def _words(answer: Answer) -> str:
    try:
        error = _read_error(answer.error) if answer.error is not UNSET else _Error()
    except (msgspec.MsgspecError, UnicodeError):
        error = _Error()
    return clipped(error.message) or "it gave no reason"
