"""POST: a message of the client, whose call it is, and how the call begins.

Most messages are calls that are over as soon as they have begun. On their way nothing is made, and
nobody is asked, for the sake of those that are not. A server that can do without a task for each
request has their answers `at_once`.
"""

import asyncio
import contextlib
from collections.abc import Callable
from itertools import count
from threading import get_ident
from typing import Final

from msgspec import UNSET, Raw, Struct, UnsetType

from ...calls.call import RunningCall
from ...calls.connection import BatchChannel, count_event
from ...calls.driver import Driver
from ...calls.reply_channel import ReplyChannel
from ...encoding.envelope import Decoded, Fault, Id, Message, ToolCall, decode
from ...errors import HeaderMismatch
from ...process.eager_tasks import OutsideTask, enter_task, leave_task
from ...protocol import calls as events
from ...protocol.handshake import OPEN, Session, SessionMode
from ...protocol.http.headers import SESSION, Head
from ...protocol.http.rules import Refused, refused, status_of
from ...protocol.http.sse import FINISHED
from ...protocol.http.sse import events as as_events
from ...protocol.limits import Limits
from ...protocol.peer import Peer
from .body import TurnedAway, whole
from .pending_reply import Reply
from .refusals import (
    missing_session,
    no_session_for,
    other_version,
    too_busy,
    too_many_sessions,
    unknown_session,
    unknown_version,
)
from .respond import Answering, finished, now
from .response import ClientIsGone, Receive, Response, Whole
from .sessions.get_stream import Listening
from .sessions.relay import Relay
from .sessions.sessions import Full, Live, Sessions

# After these a session is not what it was; all but the first, of which there may be too many.
_SPECIAL: Final = frozenset(
    {
        "subscriptions/listen",
        "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
    }
)  # fmt: skip


# What is never over at once, and changes what others may do.
_LONG: Final = frozenset({"initialize", "subscriptions/listen"})
# For so many seconds the calls of a batch are begun before others get a turn.
_TURN = 0.01


class Asked:
    """One call, or all calls of a batch."""

    __slots__ = ("_driver", "keys", "stateless")

    def __init__(self, driver: Driver, keys: list[object], *, stateless: bool) -> None:
        self._driver = driver
        self.keys = keys
        self.stateless = stateless

    def cancel(self) -> None:
        """Nobody wants the answer."""
        for key in self.keys:
            self._driver.cancel(key)


class Begun(Struct, frozen=True, eq=False):
    """A call that is under way, and whose answer somebody has to give."""

    call: RunningCall
    live: Live | None
    reply: Reply


class Posting:
    """The messages that clients post to one service."""

    def __init__(
        self,
        driver: Driver,
        answering: Answering,
        listening: Listening,
        sessions: Sessions,
        relay: Relay,
        limits: Limits,
        *,
        mode: SessionMode,
        peer: Callable[[Session], Peer],
        store_is_quick: bool,
    ) -> None:
        self._driver = driver
        self._answering = answering
        self._listening = listening
        self._sessions = sessions
        self._relay = relay
        self._limits = limits
        # At hand, since they are needed each time.
        self._longest = limits.message_bytes
        self._most = limits.all_calls
        self._high = limits.waiting_bytes
        self._calls = driver.calls
        self._peer = peer
        # Does nobody ever wait for the store?
        self._store_is_quick = store_is_quick
        self._is_stateful = mode == "stateful"
        self._has_sessions = mode != "stateless"
        # Whoever says in each request who it is can share one peer with everybody else.
        self._anybody = peer(Session())
        self._loop = asyncio.get_running_loop()
        self._thread = get_ident()
        self._keys = count()

    async def serve(
        self, head: Head, principal: str | None, response: Response, receive: Receive
    ) -> None:
        """Answer a message whose head is as it should be.

        Raises:
            TurnedAway: it cannot be taken now, or not in this way.
            ClientIsGone: nobody sends the rest of it.
        """
        patience, task = response.patience, response.task
        patience.expect(task)
        try:
            message = await receive()
        except OSError as error:
            raise ClientIsGone from error
        body: bytes = message.get("body", b"")
        if message.get("more_body") or len(body) > self._longest or not body:
            came = response.patient(self._limits.body_seconds)
            body = await whole(message, receive, self._longest, came)
        patience.begin(task)
        decoded = decode(body)
        loop = self._loop
        leave_task(loop, task)
        try:
            outcome = self.at_once(head, principal, decoded)
        finally:
            enter_task(loop, task)
        if type(outcome) is Whole:
            # `Response.whole`, written out: saves a coroutine for each call.
            body = outcome.body
            headers = [*outcome.headers, (b"content-length", b"%d" % len(body)), *response.headers]
            start = {"type": "http.response.start", "status": outcome.status, "headers": headers}
            send = response.send
            response.begun = response.ended = True
            try:
                await send(start)
                await send({"type": "http.response.body", "body": body})
            except OSError as error:
                raise ClientIsGone from error
        elif type(outcome) is Begun:
            await self.see_through(outcome, response, receive)
        else:
            await self._serve(head, principal, decoded, body, response, receive)

    def at_once(
        self, head: Head, principal: str | None, decoded: Decoded | list[Raw]
    ) -> Whole | Begun | None:
        """What comes of a request whose head is as it should be, before anybody has to wait: its
        answer, or a call that is under way. None: it has to wait for something else, and nothing
        was done. To be called outside of tasks.

        Raises:
            TurnedAway: it cannot be taken now.
        """
        # Nearly all are calls of tools; asking for the union costs 2,600 instructions.
        if type(decoded) is not ToolCall and (
            isinstance(decoded, Fault | list) or decoded.id is UNSET or decoded.method in _LONG
        ):
            return None
        live: Live | None = None
        if not head.stateless:
            live = self._at_hand(head, principal)
            if live is None:
                return None
            peer = live.peer
        elif self._is_stateful:
            return None
        else:
            peer = self._anybody
        call = peer.take(decoded, principal, head)
        if type(call) is not RunningCall:
            return self._refusal(call, head) if isinstance(call, events.Reply) else None
        if len(self._calls) >= self._most or (
            live is not None and (live.calls or call.method in _SPECIAL)
        ):
            self._check(call, live)
        reply = Reply(self._loop, self._thread, self._high)
        if live is None:  # `_start`, written out; with an envelope it has its headers
            call.key = next(self._keys)
            self._driver.start(call, reply)
        else:
            self._start(call, live, head, reply)
        frame = reply.final
        if frame is None or reply.error is not None or live is not None:
            return self._outcome(call, live, reply)
        if reply.frames:
            return Whole(200, as_events(reply.rest()), FINISHED)
        return Whole(200, frame)

    def _outcome(self, call: RunningCall, live: Live | None, reply: Reply) -> Whole | Begun:
        stateless = not call.caller.revision.handshake
        if live is None:
            if reply.over:
                return finished(reply, stateless=stateless)
        elif reply.over and self._is_quick(reply, live):
            if reply.frames:
                return now(self._answering.whole(reply, live, stateless=stateless))
            return finished(reply, stateless=stateless)
        else:
            live.calls += 1
        return Begun(call, live, reply)

    def completed(self, begun: Begun) -> Whole | None:
        """The response to a call that was under way and is over, if nothing has to be waited for to
        give it."""
        live, reply = begun.live, begun.reply
        if live is not None:
            if reply.frames or not self._is_quick(reply, live):
                return None
            live.leave(self._loop.time(), 1)
        return finished(reply, stateless=not begun.call.caller.revision.handshake)

    def _is_quick(self, reply: Reply, live: Live) -> bool:
        """Has nothing to be written down first that might take a while?"""
        return not live.session.changed and (self._store_is_quick or not reply.frames)

    def _refusal(self, event: events.Reply, head: Head) -> Whole:
        count_event(event, self._driver.counter)
        status = status_of(event.error, stateless=head.stateless, by_protocol=True)
        return Whole(status, event.frame)

    async def see_through(self, begun: Begun, response: Response, receive: Receive) -> None:
        """Give the answer of a call that is under way."""
        call, live, reply = begun.call, begun.live, begun.reply
        try:
            stateless = not call.caller.revision.handshake
            if reply.over:
                await self._answering.at_once(reply, response, live, stateless=stateless)
                return
            asked = Asked(self._driver, [call.key], stateless=stateless)
            listens = call.method == "subscriptions/listen"
            with self._listening.counted() if listens else contextlib.nullcontext():
                await self._answering.answer(asked, reply, response, receive, live)
        finally:
            if live is not None:
                live.leave(self._loop.time(), 1)

    async def _serve(
        self,
        head: Head,
        principal: str | None,
        decoded: Decoded | list[Raw],
        body: bytes,
        response: Response,
        receive: Receive,
    ) -> None:
        """A message that is no request, or begins a session, or whose session is not at hand."""
        opens = type(decoded) is Message and decoded.method == "initialize"
        live: Live | None = None
        peer = self._anybody
        if opens or not head.stateless:
            live, peer = await self._whom(head, decoded, principal, opens=opens)
        elif self._is_stateful:
            raise TurnedAway(no_session_for(head, _id(decoded)))
        event = peer.take(decoded, principal, head)
        if type(event) is not RunningCall:
            await self._other(event, body, live, head, response, receive)
            return
        self._check(event, live)
        reply = self._reply()
        with OutsideTask(self._loop, response.task):
            self._start(event, live, head, reply)
        if live is None and opens:
            await self._open(event.id, peer, reply, response)
            return
        if live is not None:
            live.calls += 1
        await self.see_through(Begun(event, live, reply), response, receive)

    # Whose message it is, in the era of sessions

    def _at_hand(self, head: Head, principal: str | None) -> Live | None:
        """A session that is in use here, which is what most messages belong to."""
        id_ = head.session
        if id_ is None or not self._has_sessions:
            return None
        live = self._sessions.here(id_.decode("latin-1"), principal)
        # `speaks`, written out
        if live is not None and head.revision is not live.session.caller.revision:
            return live if head.layout.version < 0 else None
        return live

    async def _whom(
        self, head: Head, decoded: Decoded | list[Raw], principal: str | None, *, opens: bool
    ) -> tuple[Live | None, Peer]:
        id_ = head.text(SESSION)
        if id_ is not None and self._has_sessions:
            await self._relay.open()
            live = await self._sessions.find(id_, principal)
            if live is not None:
                if not (opens or live.speaks(head)):
                    negotiated = live.session.caller.revision.date
                    raise TurnedAway(other_version(head, negotiated, _id(decoded)))
                return live, live.peer
            if not opens:
                raise TurnedAway(unknown_session(_id(decoded)))
        elif self._is_stateful and not opens:
            # One that claims to be of the other era is told what is wrong with that.
            event = self._anybody.take(decoded, principal, head)
            if isinstance(event, events.Reply) and isinstance(event.error, HeaderMismatch):
                raise TurnedAway(Refused(400, event.frame))
            raise TurnedAway(missing_session(_id(decoded)))
        if opens:
            return None, self._peer(Session() if self._has_sessions else Session.passing())
        revision = head.revision
        assert revision is not None, "unknown revisions are of the other era"
        return None, self._peer(Session.assumed(revision, principal))

    # What is no call

    async def _other(
        self,
        event: events.Event,
        body: bytes,
        live: Live | None,
        head: Head,
        response: Response,
        receive: Receive,
    ) -> None:
        if isinstance(event, events.Reply):
            await response.whole(self._refusal(event, head))
            return
        if head.revision is None:
            raise TurnedAway(unknown_version(head))
        count_event(event, self._driver.counter)
        if isinstance(event, events.Batch):
            await self._batch(event, live, head, response, receive)
        elif isinstance(event, events.Answer) and head.stateless:
            raise TurnedAway(refused(400, "nothing was asked of you: send requests only"))
        else:
            if live is not None and not self.note(event, live):
                await self._relay.tell(live.id, body)
            await response.empty(202)

    def note(self, event: events.Event, live: Live) -> bool:
        """A message that is not answered. Does it concern anything here?"""
        if isinstance(event, events.Cancel):
            return self._driver.cancel((live.id, event.id))
        if isinstance(event, events.Answer):
            return self._driver.settle(live.session, event)
        return True

    # Calls

    def _check(self, call: RunningCall, live: Live | None) -> None:
        """May it begin?

        Raises:
            TurnedAway: there are too many.
        """
        if len(self._calls) >= self._most or (
            live is not None and live.calls >= self._limits.calls
        ):
            self._driver.counter.refused(call.method, call)
            raise TurnedAway(too_busy(call.id))
        if call.method == "subscriptions/listen":
            try:
                self._listening.check_room(call.id)
            except TurnedAway:
                self._driver.counter.refused(call.method, call)
                raise
        elif live is not None and call.method in _SPECIAL:
            live.session.changed = True

    def _reply(self) -> Reply:
        return Reply(self._loop, self._thread, self._high)

    def _start(
        self, call: RunningCall, live: Live | None, head: Head, channel: ReplyChannel
    ) -> None:
        if call.headers is None:
            call.headers = head
        # What tells it from all others, of whatever client.
        call.key = next(self._keys) if live is None else (live.id, call.id)
        self._driver.start(call, channel)

    async def _open(self, id_: Id, peer: Peer, reply: Reply, response: Response) -> None:
        """The answer to `initialize`, and a session if it is a good one."""
        if not reply.over:
            response.patience.end(response.task)  # it is not the client that is waited for
        while not reply.over:
            reply.take()  # nobody can be told anything yet
            await reply.changed()
        if self._has_sessions and peer.session.state == OPEN:
            await self._relay.open()
            try:
                live = await self._sessions.open(peer)
            except Full:
                raise TurnedAway(too_many_sessions(id_)) from None
            response.headers.append((SESSION, live.id.encode()))
        await self._answering.at_once(reply, response, None, stateless=False)

    async def _batch(
        self,
        batch: events.Batch,
        live: Live | None,
        head: Head,
        response: Response,
        receive: Receive,
    ) -> None:
        size = sum(isinstance(event, RunningCall) for event in batch.events)
        if len(self._calls) + size > self._most or (
            live is not None and live.calls + size > self._limits.calls
        ):
            for event in batch.events:
                if isinstance(event, RunningCall):
                    self._driver.counter.refused(event.method, event)
                elif isinstance(event, events.Reply):
                    count_event(event, self._driver.counter)
            raise TurnedAway(too_busy(UNSET))
        reply = self._reply()
        array = BatchChannel(len(batch.events), reply)
        asked = Asked(self._driver, [], stateless=False)
        if live is None:
            await self._begin_all(batch, live, head, array, asked, response)
            await self._answering.answer(asked, reply, response, receive, live)
            return
        live.calls += size
        try:
            await self._begin_all(batch, live, head, array, asked, response)
            await self._answering.answer(asked, reply, response, receive, live)
        finally:
            live.leave(self._loop.time(), size)
        await self._sessions.save(live)

    async def _begin_all(
        self,
        batch: events.Batch,
        live: Live | None,
        head: Head,
        array: BatchChannel,
        asked: Asked,
        response: Response,
    ) -> None:
        """Begin the calls of a batch. Each may take a while to read, so others get their turn in
        between."""
        until = self._loop.time() + _TURN
        for event in batch.events:
            if self._loop.time() > until:
                await asyncio.sleep(0)
                until = self._loop.time() + _TURN
            count_event(event, self._driver.counter)
            if isinstance(event, RunningCall):
                with OutsideTask(self._loop, response.task):
                    self._start(event, live, head, array)
                asked.keys.append(event.key)
            elif isinstance(event, events.Reply):
                array.answer(event.frame, event.error)
            else:
                if live is not None:
                    self.note(event, live)
                array.answer(None, None)


def _id(decoded: Decoded | list[Raw]) -> Id | UnsetType:
    return UNSET if isinstance(decoded, list) else decoded.id
