"""Asks a client in the middle of a call, and waits for what it says.

Or does not wait: where the answer to a call carries the questions, a coroutine that asks is parked.
When the call has nothing more to ask, it is cancelled, cleans up, and is answered. A plain function
cannot be parked, and is left by an exception.
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

# So many turns of the loop without another question, and nobody is about to ask one.
_QUIET_TURNS = 10
# How long what runs beside a question may still take; after that it is cancelled, and done again
# in the next round.
_GRACE = 0.05
# How long a call may clean up before its client is told what it asked.
_CLEAN_UP = 1.0


class _Error(Struct):
    """What a client says when it does not answer."""

    message: str = ""


_read_error = msgspec.json.Decoder(_Error).decode


class Post:
    """Who waits for which answer of which client."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._expected: dict[tuple[Era, Id], asyncio.Future[Answer]] = {}

    def expect(self, session: Era, id_: Id) -> "asyncio.Future[Answer]":
        """To be called before the question is sent."""
        future = self._expected[session, id_] = self._loop.create_future()
        return future

    def forget(self, session: Era, id_: Id) -> None:
        """Nobody waits for this any more."""
        self._expected.pop((session, id_), None)

    def settle(self, session: Era, answer: Answer) -> bool:
        """An answer has come. From any thread. Does anybody wait for it?"""
        future = self._expected.pop((session, answer.id), None)
        if future is None:
            return False
        self._loop.call_soon_threadsafe(_settle, future, answer)
        return True


def _settle(future: "asyncio.Future[Answer]", answer: Answer) -> None:
    if not future.done():
        future.set_result(answer)


class AskingDriver(Protocol):
    """The driver of the call, as far as asking needs it."""

    loop: asyncio.AbstractEventLoop
    post: Post
    store: Store
    answer_seconds: float
    closing: asyncio.Event

    def interrupt(self, call: Call, /) -> None:
        """Make the coroutine of a call end."""
        ...

    def leave(self, call: Call, /) -> None:
        """Answer a call that has not ended."""
        ...

    def owns(self, call: Call, task: "asyncio.Task[Any]", /) -> bool:
        """Is this the task of the call itself, and not one that it has made?"""
        ...

    def masked(self, call: Call, error: Exception, /) -> McpError:
        """What the client may know of an error."""
        ...


class Asking:
    """What one call asks its client. To be used on the loop's thread."""

    def __init__(self, call: Call, driver: AskingDriver, send: Callable[[bytes], None]) -> None:
        self._call = call
        self._driver = driver
        self._send = send
        self._loop = driver.loop
        self._open: dict[asyncio.Future[Answer], Id] = {}
        self._since = 0.0
        # Seconds that the call has spent waiting for its client, which are not its own.
        self.waited = 0.0
        # While it waits: done when it goes on.
        self.pause: asyncio.Future[None] | None = None
        # What the answer to the call will ask, once it has made way for it.
        self._questions: dict[str, Question] = {}
        self.suspended = False
        self._parked: list[asyncio.Future[dict[str, Any]]] = []
        # Who is parked, and until when others may still do something.
        self._askers: set[asyncio.Task[Any] | None] = set()
        self._until = 0.0
        self._turns = 0
        self._timer: asyncio.TimerHandle | None = None
        # While one of these is done, nothing interrupts the call.
        self.steps = Steps(
            call, driver.store, driver.answer_seconds * LAST_ROUND, ended=self._ended_step
        )

    async def ask(self, questions: Questions) -> dict[str, Any]:
        """The answers. If the client has to be answered first, the caller is parked for good."""
        answers = await self._ask_or_leave(questions)
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
        """The same for a plain function, which cannot be parked.

        Raises:
            CancelledError: it has to make way.
        """
        answers = await self._ask_or_leave(questions)
        if answers is None:
            self.suspend()
            raise asyncio.CancelledError
        return answers

    async def _ask_or_leave(self, questions: Questions) -> dict[str, Any] | None:
        """The answers, or None if the client has to be answered first."""
        if self.steps.is_here:
            raise RuntimeError("a step cannot ask; ask before it, and give it the answer")
        match self._call.era.ask(self._call, questions):
            case Answered(answers=answers):
                return answers
            case Waiting() as waiting:
                return await self._wait(questions, waiting)
            case Suspended(questions=still_open):
                self._questions |= still_open
                await self.steps.keep()
                return None

    def cancel(self) -> None:
        """Nobody wants the answers any more."""
        _cancel([*self._open, *self._parked])

    def end(
        self, frame: Outgoing | None, error: McpError | None
    ) -> tuple[Outgoing | None, McpError | None]:
        """The call is over: what its client is told, which is all that it asks if it has made way.
        Whatever is still asked, by tasks that outlive it, is moot. From any thread."""
        moot: list[asyncio.Future[Any]] = [*self._open, *self._parked]
        self._withdraw([*self._open])
        if moot or self._timer is not None:
            with suppress(RuntimeError):  # the loop is closed, and nobody waits
                self._loop.call_soon_threadsafe(self._clear, moot)
        return self._answer() if self.suspended and frame is not None else (frame, error)

    def _clear(self, moot: "list[asyncio.Future[Any]]") -> None:
        _cancel(moot)
        if self._timer is not None:
            self._timer.cancel()

    # Making way

    async def begin_step(self, name: str) -> tuple[str, bytes | None]:
        """See `Steps.begin`.

        Raises:
            CancelledError: the call makes way. It is not at its end, so what it does on the way
                out must not be recorded as done.
        """
        if self.suspended:
            raise asyncio.CancelledError
        return await self.steps.begin(name)

    def _ended_step(self) -> None:
        if self._parked and not self.suspended and not self._turns:
            self._park()

    def _park(self) -> None:
        if not self._turns:
            self._loop.call_soon(self._look)
        self._turns = _QUIET_TURNS

    def _look(self) -> None:
        """Is there nobody left who is about to ask?"""
        self._turns -= 1
        if self._turns:
            self._loop.call_soon(self._look)
        else:
            self._make_way()

    def _make_way(self) -> None:
        if self.steps.under_way or self._turns or self.suspended or self._call.over:
            return  # the last step, or the last turn, looks again
        if self._is_alone() or self._loop.time() >= self._until:
            self.suspend()
            self._driver.interrupt(self._call)
        elif self._timer is None:
            self._timer = self._loop.call_at(self._until, self._end_grace)

    def _end_grace(self) -> None:
        self._until = 0.0
        self._make_way()

    def _is_alone(self) -> bool:
        """Is the call itself parked, so that there is nothing beside it that it waits for?"""
        owns, call = self._driver.owns, self._call
        return all(task is not None and owns(call, task) for task in self._askers)

    def suspend(self) -> None:
        """From here on the call makes way for its questions."""
        if not self.suspended:
            self.suspended = True
            self._askers.clear()
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_later(_CLEAN_UP, self._leave)

    def _leave(self) -> None:
        if not self._call.over:
            self._driver.leave(self._call)

    def _answer(self) -> tuple[bytes, McpError | None]:
        try:
            return suspended(self._call, self._questions), None
        except Exception as error:  # whatever it is, the client waits for an answer
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
                    finally:  # after it was asked again: the client has been waited for all along
                        self._open.pop(future, None)
        finally:
            self._withdraw(ours)
        return {key: answers[key] for key in questions}

    def _sent(self, waiting: Waiting) -> dict["asyncio.Future[Answer]", str]:
        """Send requests; who waits is known before anybody can answer."""
        sent: dict[asyncio.Future[Answer], str] = {}
        for key, id_ in waiting.ids.items():
            future = self._driver.post.expect(self._call.era, id_)
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
        """Tell the client which questions are moot."""
        for future in ours:
            id_ = self._open.pop(future, None)
            if id_ is None:  # it was told so when the call ended
                continue
            self._driver.post.forget(self._call.era, id_)
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
