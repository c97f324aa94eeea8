"""Asks a client in the middle of a call, and waits for what it says.

Or does not wait: where the answer to a call carries the questions, a coroutine that asks is parked.
When the call has nothing more to ask, it is cancelled, cleans up, and is answered. A plain function
cannot be parked, and is left by an exception.
"""

import asyncio
from collections.abc import Awaitable, Callable
from secrets import token_hex
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, Raw, Struct

from ..errors import McpError, ToolError, clipped
from ..jsonrpc import Id
from ..protocol.calls import Answer, Call, Era
from ..protocol.journal import LAST_ROUND, Journal
from ..protocol.peer import failed, notice, suspended
from ..protocol.ports import Store
from ..protocol.questions import (
    ATTEMPTS,
    Answered,
    Question,
    Questions,
    Suspended,
    Unfit,
    Waiting,
    unfit,
)
from ..types.notices import Cancelled

# So many turns of the loop without another question, and nobody is about to ask one.
_QUIET_TURNS = 10
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


class Host(Protocol):
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


class Asking:
    """What one call asks its client. To be used on the loop's thread."""

    def __init__(self, call: Call, host: Host, send: Callable[[bytes], None]) -> None:
        self._call = call
        self._host = host
        self._send = send
        self._loop = host.loop
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
        self._turns = 0
        # Steps that have begun, which nothing interrupts.
        self._steps = 0

    async def ask(self, questions: Questions) -> dict[str, Any]:
        """The answers. If the client has to be answered first, the caller is parked for good."""
        answers = await self.ask_or_leave(questions)
        if answers is not None:
            return answers
        if not self.suspended:
            self._park()
        future: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._parked.append(future)
        return await future

    async def ask_or_leave(self, questions: Questions) -> dict[str, Any] | None:
        """The same for those who cannot be parked: None says that they have to make way."""
        match self._call.era.ask(self._call, questions):
            case Answered(answers=answers):
                return answers
            case Waiting() as waiting:
                return await self._wait(questions, waiting)
            case Suspended(questions=still_open):
                self._questions |= still_open
                return None

    def cancel(self) -> None:
        """Nobody wants the answers any more."""
        futures: list[asyncio.Future[Any]] = [*self._open, *self._parked]
        for future in futures:
            future.cancel()

    # Steps

    async def step(self, name: str, act: Callable[[], Awaitable[bytes]]) -> bytes:
        """Do something once, over all rounds, and what it gave."""
        key, found = await self.begin_step(name)
        if found is not None:
            return found
        try:
            found = value = await act()
        finally:
            await self.end_step(key, found)
        return value

    async def begin_step(self, name: str) -> tuple[str, bytes | None]:
        """Under which key it is recorded, and what it gave if it was done before. If not, nobody
        interrupts the call before it has ended."""
        journal = self._journal()
        key = journal.key(f"{name}()")
        if key in journal.steps:
            return key, bytes(journal.steps[key])
        if key not in journal.kept:
            self._steps += 1
            return key, None
        found = await self._host.store.get(journal.kept[key])
        if found is None:
            raise ToolError(f"what the step {name!r} gave is not kept any more; call again")
        return key, found

    async def end_step(self, key: str, value: bytes | None) -> None:
        """It has ended, with a value or without."""
        try:
            if value is not None:
                await self._record(key, value)
        finally:
            self._end_step()

    async def _record(self, key: str, value: bytes) -> None:
        journal = self._journal()
        if self._call.era.hides:
            journal.steps[key] = Raw(value)
            return
        handle = f"step:{token_hex(16)}"
        seconds = self._host.answer_seconds * LAST_ROUND
        await self._host.store.put(handle, value, seconds=seconds)
        journal.kept[key] = handle

    def _end_step(self) -> None:
        self._steps -= 1
        if self._parked and not self._steps and not self.suspended and not self._turns:
            self._park()

    def _journal(self) -> Journal:
        if self._call.journal is None:
            self._call.journal = Journal()
        return self._call.journal

    # Making way

    def _park(self) -> None:
        if not self._turns:
            self._loop.call_soon(self._look)
        self._turns = _QUIET_TURNS

    def _look(self) -> None:
        """Is there nobody left who is about to ask?"""
        self._turns -= 1
        if self._turns:
            self._loop.call_soon(self._look)
        elif self._steps:
            return  # the last of them looks again
        elif not self._call.over:
            self.suspend()
            self._host.interrupt(self._call)

    def suspend(self) -> None:
        """From here on the call makes way for its questions."""
        if not self.suspended:
            self.suspended = True
            self._loop.call_later(_CLEAN_UP, self._leave)

    def _leave(self) -> None:
        if not self._call.over:
            self._host.leave(self._call)

    def answer(self) -> tuple[bytes, McpError | None]:
        """What the client of a call that has made way is told."""
        if self._parked:  # by tasks that were not the call's own
            self._loop.call_soon_threadsafe(self.cancel)
        try:
            return suspended(self._call, self._questions), None
        except McpError as error:
            return failed(self._call, error), error

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
                    del self._open[future]
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
        finally:
            self._withdraw(ours)
        return {key: answers[key] for key in questions}

    def _sent(self, waiting: Waiting) -> dict["asyncio.Future[Answer]", str]:
        """Send requests; who waits is known before anybody can answer."""
        sent: dict[asyncio.Future[Answer], str] = {}
        for key, id_ in waiting.ids.items():
            future = self._host.post.expect(self._call.era, id_)
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
        seconds = self._host.answer_seconds
        done, _ = await asyncio.wait(ours, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            raise ToolError(f"the client did not answer within {seconds:g} s")
        return done

    def _withdraw(self, ours: dict["asyncio.Future[Answer]", str]) -> None:
        """Tell the client which questions are moot."""
        for future in ours:
            id_ = self._open.pop(future)
            self._host.post.forget(self._call.era, id_)
            if not self._host.closing.is_set():
                moot = Cancelled(request_id=id_, reason="the answer is not needed any more")
                self._send(notice("notifications/cancelled", moot, self._call.caller.revision))
        if not self._open and self.pause is not None:
            self.waited += self._loop.time() - self._since
            self.pause.set_result(None)
            self.pause = None


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


async def own_time(
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
