"""How calls over HTTP are answered: by one body, or by a stream of events.

A call that says nothing before its answer, and does not take long, is answered by one JSON body. A
stream is begun with the first message before the answer, or when a connection on which nothing
happens might be taken for dead. A client whose connection breaks in the middle has either cancelled
its call by that, or may come back for the rest: its era decides.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from ...calls.driver import Driver
from ...protocol.http.rules import status_of
from ...protocol.http.sse import FINISHED, events
from ...protocol.limits import Limits
from ...protocol.ports import Store
from .client_timeouts import Stalled
from .pending_reply import Reply
from .response import ClientIsGone, Receive, Response, Whole
from .sessions.event_log import Stream
from .sessions.sessions import Live

T = TypeVar("T")


class Answered(Protocol):
    """What is answered: a call, or a batch of them."""

    @property
    def stateless(self) -> bool:
        """Is it of the era without a handshake?"""
        ...

    def cancel(self) -> None:
        """Nobody wants the answer."""
        ...


class Answering:
    """Writes answers. One for each service."""

    def __init__(
        self,
        driver: Driver,
        store: Store,
        limits: Limits,
        save: Callable[[Live], Awaitable[None]],
    ) -> None:
        self._driver = driver
        # Writes down a session.
        self._save = save
        self._store = store
        self._limits = limits
        self._loop = asyncio.get_running_loop()

    async def at_once(
        self, reply: Reply, response: Response, live: Live | None, *, stateless: bool
    ) -> None:
        """The answer of a call that is over already."""
        await response.whole(await self.whole(reply, live, stateless=stateless))

    async def whole(self, reply: Reply, live: Live | None, *, stateless: bool) -> Whole:
        """The response to a call that is over already. Waits for nobody but the store."""
        if live is not None and live.session.changed:
            await self._save(live)
        if live is not None and reply.frames:
            text = await live.finished(reply.rest(), self._store, self._limits)
            return Whole(200, text, FINISHED)
        return finished(reply, stateless=stateless)

    async def answer(
        self,
        asked: Answered,
        reply: Reply,
        response: Response,
        receive: Receive,
        live: Live | None,
    ) -> None:
        """Whatever the call does, until it is over or the client is gone."""
        response.patience.end(response.task)  # what is waited for now is the call
        stream = Stream(response)
        watcher = self._loop.create_task(watch(receive, reply))
        reply.writer = response.task
        done = False
        try:
            done = await self._follow(asked, reply, stream, live)
        except BaseException as error:
            if not (reply.interrupted and isinstance(error, asyncio.CancelledError)):
                # Somebody ends us, or there is a bug: nobody will come back for the rest.
                asked.cancel()
                reply.discard()
                if live is not None:
                    live.close_stream(stream)
                raise
            response.task.uncancel()
        finally:
            reply.writer = None
            watcher.cancel()
        stream.detach(response)
        if done and live is not None:
            live.close_stream(stream)
        gone_away = reply.gone
        if not done:
            self._leave(asked, reply, stream, live)
        if response.begun and not response.ended and not gone_away:
            # The client has come back by another connection.
            with contextlib.suppress(Stalled, ClientIsGone):
                await response.write(b"", last=True)

    def _leave(self, asked: Answered, reply: Reply, stream: Stream, live: Live | None) -> None:
        """The client is away: its call is over, or goes on without it."""
        if not (stream.is_kept and live is not None):
            reply.discard()
        if asked.stateless:
            asked.cancel()
        elif live is not None:
            self._driver.spawn(self._go_on(reply, stream, live))

    async def _follow(
        self, asked: Answered, reply: Reply, stream: Stream, live: Live | None
    ) -> bool:
        """Pass on what comes. Is it over?"""
        response = stream.response
        while response is not None and not reply.gone:
            came = await reply.changed(self._limits.quiet_seconds)
            if reply.gone:
                return False
            begun = response.begun
            if reply.over and not begun:
                await self.at_once(reply, response, live, stateless=asked.stateless)
                return True
            frames = reply.take()
            if not begun and (frames or not came or reply.hung_up):
                self._begin(stream, live)
            if await self._pass_on(reply, stream, frames, live):
                return True
            if not came:
                await stream.still_here()
            elif reply.hung_up:
                reply.hung_up = False
                if stream.is_primed:
                    await stream.hang_up()
            response = stream.response
        return False

    async def _pass_on(
        self, reply: Reply, stream: Stream, frames: list[bytes], live: Live | None = None
    ) -> bool:
        """Some messages, and the answer if it is there. Is it over?"""
        over = reply.over and not reply.frames
        if over and reply.final is not None:
            frames = [*frames, reply.final]
        if over or frames:
            if over and live is not None and live.session.changed:
                # Who has the answer finds what it did, wherever it asks next.
                await self._save(live)
            reply.held = True
            try:
                await stream.send(frames, last=over)
            finally:
                reply.held = False
                reply.writes += 1
        return over

    def _begin(self, stream: Stream, live: Live | None) -> None:
        if live is not None and not stream.is_kept:
            live.keep(stream, self._store, self._limits)
            live.open_stream(stream)

    async def _go_on(self, reply: Reply, stream: Stream, live: Live) -> None:
        """The client is away: keep what comes, and pass it on when the client is back."""
        live.calls += 1
        reply.writer = task = asyncio.current_task()
        try:
            while True:
                # Whoever does not come back misses nothing that could still be sent.
                reply.stay()
                try:
                    if await self._goes_on(reply, stream, live):
                        return
                except asyncio.CancelledError:
                    if not reply.interrupted or task is None:
                        raise
                    task.uncancel()
                    if stream.response is not None:
                        stream.detach(stream.response)
        finally:
            reply.writer = None
            live.leave(self._loop.time(), 1)
            live.close_stream(stream)

    async def _goes_on(self, reply: Reply, stream: Stream, live: Live) -> bool:
        came = await reply.changed(self._limits.quiet_seconds)
        if await self._pass_on(reply, stream, reply.take(), live):
            return True
        if not came:
            await stream.still_here()
        elif reply.hung_up:
            reply.hung_up = False
            await stream.hang_up()
        return False

    async def news(self, reply: Reply, stream: Stream, receive: Receive) -> None:
        """What a client hears without having asked, until it leaves or we end."""
        response = stream.response
        assert response is not None, "somebody listens"
        response.patience.end(response.task)
        watcher = self._loop.create_task(watch_listener(receive, reply))
        reply.writer = response.task
        try:
            if not response.begun:
                await stream.send([])
            while stream.response is response and not reply.gone:
                came = await reply.changed(self._limits.quiet_seconds)
                if reply.gone or await self._pass_on(reply, stream, reply.take()):
                    return
                if not came:
                    await stream.still_here()
        except asyncio.CancelledError:
            if not reply.interrupted:
                raise
            response.task.uncancel()
        finally:
            reply.writer = None
            stream.detach(response)
            watcher.cancel()
            # What came too late for this connection is there for the next.
            await stream.send(reply.take())


def finished(reply: Reply, *, stateless: bool) -> Whole:
    """The response to a call that is over already, which no client resumes."""
    status = status_of(reply.error, stateless=stateless, by_protocol=False)
    if reply.frames:
        messages = reply.rest()
        if status == 200:
            return Whole(200, events(messages), FINISHED)
        # A status says what the answer says. What came before it, such as progress, has no place.
    if reply.final is None:  # it was cancelled
        return Whole(202, b"", ())
    return Whole(status, reply.final)


def now(outcome: Coroutine[Any, Any, T]) -> T:
    """The value of a coroutine that waits for nothing."""
    try:
        outcome.send(None)
    except StopIteration as stop:
        value: T = stop.value
        return value
    outcome.close()
    raise RuntimeError(f"{outcome!r} waited for something")


async def watch(receive: Receive, reply: Reply) -> None:
    """Notice when the client leaves. If something without a body comes behind the body, the client
    has ended its side, and may have left: whatever is written next will show it."""
    with contextlib.suppress(OSError):  # the connection has broken
        while (message := await receive())["type"] != "http.disconnect":
            if not message.get("body") and not message.get("more_body"):
                reply.doubt()
    reply.leave()


async def watch_listener(receive: Receive, reply: Reply) -> None:
    """The same for a request without a body, of which nothing was read."""
    with contextlib.suppress(OSError):
        if (await receive())["type"] != "http.disconnect":
            await watch(receive, reply)
            return
    reply.leave()


async def gone(receive: Receive) -> None:
    """Wait until the client leaves."""
    with contextlib.suppress(OSError):  # the connection has broken
        while (await receive())["type"] != "http.disconnect":
            pass
