"""MCP over HTTP: one service, every revision of the protocol on one path.

The rules are in `protocol/http.py`; here they are applied. A request of the era without a handshake
needs nothing but itself. One of the other era belongs to a session, unless its service does
without: then it is served as if the handshake had been done.
"""

import asyncio
import contextlib
import inspect
from itertools import count
from threading import get_ident
from typing import Final, cast

from msgspec import UNSET, Raw, Struct, UnsetType

from ..errors import HeaderMismatch, InternalError, Unauthorized
from ..jsonrpc import Decoded, Id, Message, decode, failure
from ..protocol import calls as events
from ..protocol.handshake import OPEN, Session
from ..protocol.http import (
    SESSION,
    Doors,
    Head,
    Refused,
    SessionMode,
    cors,
    preflight,
    refused,
    status_of,
    unreadable,
)
from ..protocol.peer import Peer
from ..protocol.ports import Bus, Guard, Store
from .answering import Answering
from .connection import Array, counted
from .driver import Driver, Running
from .line import Line
from .listening import Listening
from .pair import Pair
from .patience import Patience, Stalled
from .pump import enter, leave
from .reading import ClientIsGone, TurnedAway, whole
from .refusals import missing_session, no_session_for, too_busy, unknown_session
from .relay import Relay, Told
from .reply import Reply
from .response import Receive, Response, Scope, Send
from .service import Service
from .sessions import Full, Live, Sessions

# Where the transport of the oldest revision is, behind the path of its service.
PAIR: Final = "/sse"
PAIR_SCOPE: Final = "toolhaft.pair"
_ENDS = "the server ends; try again in a moment"
# After these a session is not what it was.
_REMEMBERED = frozenset({"logging/setLevel", "resources/subscribe", "resources/unsubscribe"})


class Settings(Struct, frozen=True, kw_only=True):
    """How a service is offered over HTTP."""

    doors: Doors
    sessions: SessionMode = "auto"
    guard: Guard | None = None
    # Serve the transport of the oldest revision too?
    pairs: bool = False


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


class Endpoint:
    """One service, on the loop that made this."""

    def __init__(
        self, service: Service, settings: Settings, *, store: Store, bus: Bus | None = None
    ) -> None:
        limits = service.limits
        self.loop = asyncio.get_running_loop()
        self._service = service
        self._limits = limits
        self._settings = settings
        self._doors = settings.doors
        self._store = store
        self._driver = Driver(
            service.dispatch,
            lane=service.lane,
            most_calls=limits.all_calls,
            mask=service.mask,
            answer_seconds=limits.answer_seconds,
            store=store,
            counter=service.metrics,
        )
        self._answering = Answering(self._driver, store, limits, self._save)
        self._listening = Listening(self._driver, self._answering, self._all, store, limits)
        self._patience = Patience(self.loop, limits.stall_seconds)
        # Whoever says in each request who it is can share one peer with everybody else.
        self._anybody = self._peer(Session())
        self._sessions = Sessions(
            store, limits, peer=self._peer, ended=self._ended, clock=self.loop.time
        )
        self._relay = Relay(bus, f"toolhaft/{service.name}", self._told)
        self._pair = Pair(service) if settings.pairs else None
        # Nothing is to be known of a request but what it says.
        self._is_plain = settings.guard is None and not settings.pairs
        self._has_sessions = settings.sessions != "stateless"
        self._ending = False
        self._thread = get_ident()
        self._keys = count()
        if service.lifespan is not None:
            service.lifespan.join()
        self._leave = service.changes.join(self._listening.hear)

    def _peer(self, session: Session) -> Peer:
        return Peer(
            self._service.info, session=session, stateless=self._service.stateless, call=Running
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        task = asyncio.current_task(self.loop)
        assert task is not None, "a request is served in a task"
        response = Response(send, self._patience, task)
        self._patience.begin(task)
        try:
            try:
                head = Head(scope["headers"])
                self._admit(head, response)
                if scope["method"] == "POST" and self._is_plain:
                    await self._post(head, None, response, receive)
                else:
                    await self._serve(scope, head, response, receive)
            finally:
                self._patience.end(task)
        except TurnedAway as away:
            await response.refuse(away.refused)
        except Unauthorized as error:
            await response.refuse(refused(401, error, www_authenticate=error.challenge))
        except (ClientIsGone, OSError):
            return
        except Stalled:
            if not response.begun:
                await response.refuse(
                    refused(408, "the rest of the body did not come", connection="close")
                )
        except Exception as error:
            # A bug of ours must not end the service: it is told, and the client gets an answer.
            told = InternalError(self._service.mask("a request", error))
            if not response.begun:
                await response.json(500, failure(UNSET, told))

    def _admit(self, head: Head, response: Response) -> None:
        refusal = self._doors.refusal(head)
        if refusal is not None:
            raise TurnedAway(refusal)
        if b"origin" in head.raw:
            response.headers += cors(head["origin"])
        if self._ending:
            raise TurnedAway(refused(503, _ENDS, retry_after="1", connection="close"))

    async def vouch(self, head: Head, response: Response) -> None:
        """Raise what turns a request away, if it may not come in."""
        self._admit(head, response)
        await self._principal(head, response)
        self._patience.end(response.task)

    async def _serve(self, scope: Scope, head: Head, response: Response, receive: Receive) -> None:
        verb = scope["method"]
        if verb == "OPTIONS":
            response.headers += preflight(head.get("access-control-request-headers", ""))
            await response.empty(204)
            return
        principal = await self._principal(head, response)
        if self._pair is not None and scope.get(PAIR_SCOPE):
            await self._pair.serve(scope, head, principal, response, receive)
        elif verb == "POST":
            await self._post(head, principal, response, receive)
        elif verb in ("GET", "DELETE") and self._has_sessions and not head.stateless:
            live = await self._session(head, principal)
            if verb == "GET":
                await self._relay.open()
                await self._listening.serve(head, live, response, receive)
            else:
                await self._sessions.end(live.id)
                await self._relay.tell(live.id, None)
                await response.empty(204)
        else:
            allowed = "GET, POST, DELETE" if self._has_sessions else "POST"
            raise TurnedAway(refused(405, f"{verb} has no meaning here", allow=allowed))

    async def _principal(self, head: Head, response: Response) -> str | None:
        guard = self._settings.guard
        if guard is None:
            return None
        found = guard(head)
        if inspect.isawaitable(found):
            self._patience.end(response.task)  # it is not the client that is waited for
            found = await found
            self._patience.begin(response.task)
        if found is None:
            raise Unauthorized
        if isinstance(found, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            return found
        raise TypeError(f"a guard returns the name of a principal, or None; not {found!r}")

    # POST: a message of the client

    async def _post(
        self, head: Head, principal: str | None, response: Response, receive: Receive
    ) -> None:
        most = self._limits.message_bytes
        refusal = unreadable(head, most)
        if refusal is not None:
            raise TurnedAway(refusal)
        message = await receive()
        body: bytes = message.get("body", b"")
        if message["type"] != "http.request" or message.get("more_body") or len(body) > most:
            came = response.patient(self._limits.body_seconds)
            body = await whole(message, receive, most, came)
        decoded = decode(body)
        if head.stateless and not _opens(decoded):
            if self._settings.sessions == "stateful":
                raise TurnedAway(no_session_for(head, _id(decoded)))
            live, peer = None, self._anybody
        else:
            live, peer = await self._whom(head, decoded, principal)
        event = peer.take(decoded, principal, head)
        if type(event) is Running:
            await self._call(event, peer, live, head, response, receive)
        else:
            await self._other(event, body, live, head, response, receive)

    async def _other(
        self,
        event: events.Event,
        body: bytes,
        live: Live | None,
        head: Head,
        response: Response,
        receive: Receive,
    ) -> None:
        """What is no call."""
        counted(event, self._driver.counter)
        if isinstance(event, events.Reply):
            status = status_of(event.error, stateless=head.stateless, by_protocol=True)
            await response.json(status, event.frame)
        elif isinstance(event, events.Batch):
            await self._batch(event, live, head, response, receive)
        elif isinstance(event, events.Answer) and head.stateless:
            raise TurnedAway(refused(400, "nothing was asked of you: send requests only"))
        else:
            if live is not None and not self._note(event, live):
                await self._relay.tell(live.id, body)
            await response.empty(202)

    async def _whom(
        self, head: Head, decoded: Decoded | list[Raw], principal: str | None
    ) -> tuple[Live | None, Peer]:
        """Whose message it is, in the era of sessions."""
        opens = _opens(decoded)
        id_ = head.text(SESSION)
        if id_ is not None and self._has_sessions:
            live = self._sessions.here(id_, principal)
            if live is None:
                await self._relay.open()
                live = await self._sessions.find(id_, principal)
            if live is not None:
                return live, live.peer
            if not opens:
                raise TurnedAway(unknown_session(_id(decoded)))
        elif self._settings.sessions == "stateful" and not opens:
            # One that claims to be of the other era is told what is wrong with that.
            event = self._anybody.take(decoded, principal, head)
            if isinstance(event, events.Reply) and isinstance(event.error, HeaderMismatch):
                raise TurnedAway(Refused(400, event.frame))
            raise TurnedAway(missing_session(_id(decoded)))
        if opens:
            return None, self._peer(Session())
        revision = head.revision
        assert revision is not None, "unknown revisions are of the other era"
        return None, self._peer(Session.assumed(revision, principal))

    async def _call(
        self,
        call: Running,
        peer: Peer,
        live: Live | None,
        head: Head,
        response: Response,
        receive: Receive,
    ) -> None:
        if len(self._driver.calls) >= self._limits.all_calls or (
            live is not None and live.calls >= self._limits.calls
        ):
            self._driver.counter.refused(call.method)
            raise TurnedAway(too_busy(call.id))
        if call.method == "subscriptions/listen":
            self._listening.check_room(call.id)
        stateless = not call.caller.revision.handshake
        reply = Reply(self.loop, self._thread, self._limits.waiting_bytes)
        self._prepare(call, live, head)
        if live is not None and call.method in _REMEMBERED:
            live.session.changed = True
        self._start(call, reply, response)
        if live is None and call.method == "initialize":
            await self._open(peer, reply, response)
        elif reply.over:
            await self._answering.at_once(reply, response, live, stateless=stateless)
        else:
            asked = Asked(self._driver, [call.key], stateless=stateless)
            listens = call.method == "subscriptions/listen"
            with self._listening.counted() if listens else contextlib.nullcontext():
                await self._answer(asked, reply, response, receive, live)

    def _start(self, call: Running, line: Line, response: Response) -> None:
        """Begin a call at once, and not in a turn of its own."""
        leave(response.task)
        try:
            self._driver.start(call, line)
        finally:
            enter(response.task)

    def _prepare(self, call: Running, live: Live | None, head: Head) -> None:
        """Tell a call from all others, of whatever client."""
        call.headers = head
        call.key = next(self._keys) if live is None else (live.id, call.id)

    async def _answer(
        self,
        asked: Asked,
        reply: Reply,
        response: Response,
        receive: Receive,
        live: Live | None,
    ) -> None:
        if live is not None:
            live.calls += len(asked.keys)
        try:
            await self._answering.answer(asked, reply, response, receive, live)
        finally:
            if live is not None:
                live.calls -= len(asked.keys)

    async def _open(self, peer: Peer, reply: Reply, response: Response) -> None:
        """The answer to `initialize`, and a session if it is a good one."""
        if not reply.over:
            self._patience.end(response.task)  # it is not the client that is waited for
        while not reply.over:
            reply.take()  # nobody can be told anything yet
            await reply.changed()
        if self._has_sessions and peer.session.state == OPEN:
            await self._relay.open()
            try:
                live = await self._sessions.open(peer)
            except Full:
                raise TurnedAway(too_busy(UNSET)) from None
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
        size = sum(isinstance(event, Running) for event in batch.events)
        if len(self._driver.calls) + size > self._limits.all_calls or (
            live is not None and live.calls + size > self._limits.calls
        ):
            raise TurnedAway(too_busy(UNSET))
        reply = Reply(self.loop, self._thread, self._limits.waiting_bytes)
        array = Array(len(batch.events), reply)
        asked = Asked(self._driver, [], stateless=False)
        for event in batch.events:
            counted(event, self._driver.counter)
            if isinstance(event, Running):
                self._prepare(event, live, head)
                asked.keys.append(event.key)
                self._start(event, array, response)
            elif isinstance(event, events.Reply):
                array.answer(event.frame, event.error)
            else:
                if live is not None:
                    self._note(event, live)
                array.answer(None, None)
        await self._answer(asked, reply, response, receive, live)
        if live is not None:
            await self._sessions.save(live)

    def _note(self, event: events.Event, live: Live) -> bool:
        """A message that is not answered. Does it concern anything here?"""
        if isinstance(event, events.Cancel):
            return self._driver.cancel((live.id, event.id))
        if isinstance(event, events.Answer):
            return self._driver.settle(live.session, event)
        return True

    def _told(self, told: Told) -> None:
        """Another process was told something that may concern a session of ours."""
        if told.message is None:
            self._sessions.drop(told.session)
            return
        live = self._sessions.in_use(told.session)
        if live is not None:
            self._note(live.peer.receive(told.message), live)

    async def _session(self, head: Head, principal: str | None) -> Live:
        id_ = head.text(SESSION)
        if id_ is None:
            raise TurnedAway(missing_session())
        live = await self._sessions.find(id_, principal)
        if live is None:
            raise TurnedAway(unknown_session())
        return live

    # Ends

    def _ended(self, live: Live) -> None:
        """A session is over, and so is all that belongs to it."""
        if live.news is not None:
            live.news.close()
        if live.calls:
            error = InternalError("the session is over")
            self._driver.abandon(error, lambda key: _is_of(key, live.id))

    async def _save(self, live: Live) -> None:
        await self._sessions.save(live)

    def _all(self) -> list[Live]:
        return self._sessions.all()

    def end_streams(self) -> None:
        """Let everybody go who only listens, and take in nobody else."""
        self._ending = True
        self._driver.closing.set()
        self._listening.end()
        if self._pair is not None:
            self._pair.end()

    @property
    def busy(self) -> bool:
        """Does anybody wait for an answer?"""
        return bool(self._driver.calls) or (self._pair is not None and self._pair.busy)

    def abandon(self) -> None:
        """Tell everybody whose call is still under way that there will be no result."""
        self._driver.abandon(InternalError(_ENDS))
        if self._pair is not None:
            self._pair.abandon(InternalError(_ENDS))

    def hurry(self) -> None:
        """Let go of everybody who neither sends nor reads."""
        self._patience.hurry()

    def forget(self) -> None:
        """The loop is gone, and there was no time to end."""
        self._leave()

    async def close(self) -> None:
        """End: streams complete, calls get a moment."""
        self.end_streams()
        self._leave()
        await self._relay.close()
        await self._driver.quiet(self._limits.finish_seconds)
        self.abandon()
        await self._driver.close(self._limits.finish_seconds)
        self._patience.close()
        if self._service.lifespan is not None:
            await self._service.lifespan.leave()


def _is_of(key: object, session: str) -> bool:
    """Is this the key of a call of this session?"""
    return isinstance(key, tuple) and cast(tuple[object, ...], key)[0] == session


def _opens(decoded: Decoded | list[Raw]) -> bool:
    return type(decoded) is Message and decoded.method == "initialize"


def _id(decoded: Decoded | list[Raw]) -> Id | UnsetType:
    return UNSET if isinstance(decoded, list) else decoded.id
