"""MCP over HTTP: one service, every revision of the protocol on one path.

The rules are in `protocol/http/rules.py`; here they are applied. A request of the era without a
handshake needs nothing but itself. One of the other era belongs to a session, unless its service
has no sessions: then it is served as if the handshake had been done.
"""

import asyncio
import contextlib
from collections.abc import Iterable
from threading import get_ident
from typing import Any, Final, cast

from msgspec import UNSET, Struct

from ...calls.call import RunningCall
from ...calls.driver import ENDS, Driver
from ...calls.service import Service, driver_of
from ...encoding.envelope import decode, failure
from ...errors import InternalError, Unauthorized
from ...process.loop_guard import hide_task, is_run_here
from ...process.outcome import ends_task
from ...protocol.handshake import Session, SessionMode
from ...protocol.http.head_cache import HeadCache
from ...protocol.http.headers import SESSION, Head
from ...protocol.http.rules import (
    OriginPolicy,
    cors,
    preflight,
    refused,
    unreadable,
)
from ...protocol.peer import Peer
from ...protocol.ports import Bus, Guard, Store
from ...stores.memory import MemoryStore
from .body import TurnedAway
from .client_timeouts import Patience, Stalled
from .guard import GuardFailed, principal_of
from .post import Begun, Posting
from .refusals import (
    broken_off,
    missing_session,
    no_session_for,
    other_version,
    unknown_session,
    unknown_version,
)
from .respond import Answering
from .response import ClientIsGone, Receive, Response, Scope, Send, Whole
from .sessions.get_stream import Listening
from .sessions.relay import Relay, Told
from .sessions.sessions import Live, Sessions
from .sessions.sse_2024 import Pair

# Where the transport of the oldest revision is, behind the path of its service.
PAIR: Final = "/sse"
PAIR_SCOPE: Final = "toolhaft.pair"
# Scope item of a request whose call was started inline: its endpoint and the call.
STARTED_CALL: Final = "toolhaft.started_call"


class Settings(Struct, frozen=True, kw_only=True):
    """How a service is offered over HTTP."""

    doors: OriginPolicy
    sessions: SessionMode = "auto"
    guard: Guard | None = None
    # Serve the transport of the oldest revision too?
    pairs: bool = False


class Endpoint:
    """One service, on the loop that made this."""

    def __init__(
        self, service: Service, settings: Settings, *, store: Store, bus: Bus | None = None
    ) -> None:
        limits = service.limits
        self.loop = asyncio.get_running_loop()
        self._service = service
        self._limits = limits
        self._longest = limits.message_bytes
        self._thread = get_ident()
        self._settings = settings
        self._doors = settings.doors
        self._heads = HeadCache(limits.message_bytes)
        self._store = store
        self._driver = driver_of(service, store, most_calls=limits.all_calls)
        self._answering = Answering(self._driver, store, limits, self._save)
        self._listening = Listening(self._driver, self._answering, self._all, store, limits)
        self._patience = Patience(self.loop, limits.stall_seconds, limits.longest_gap)
        self._sessions = Sessions(
            store, limits, peer=self._peer, ended=self._ended, clock=self.loop.time
        )
        self._relay = Relay(bus, f"toolhaft/{service.name}", self._told)
        self._posting = Posting(
            self._driver,
            self._answering,
            self._listening,
            self._sessions,
            self._relay,
            limits,
            mode=settings.sessions,
            peer=self._peer,
            store_is_quick=type(store) is MemoryStore,
        )
        self._pair = Pair(service) if settings.pairs else None
        # Nothing is to be known of a request but what it says, and everybody is welcome.
        self._is_plain = settings.guard is None and not settings.pairs
        self._has_sessions = settings.sessions != "stateless"
        self._shelters = is_run_here(self.loop)
        self._ending = False
        if service.lifespan is not None:
            service.lifespan.join()
        self._leave = service.changes.join(self._listening.hear)

    def _peer(self, session: Session) -> Peer:
        return Peer(
            self._service.info, session=session, stateless=self._service.stateless, call=RunningCall
        )

    @property
    def driver(self) -> Driver:
        """What runs its calls."""
        return self._driver

    def task_here(self) -> "asyncio.Task[Any] | None":
        """The task that runs, if this endpoint can serve a request in it."""
        # Asking for the loop that runs would be a call of the system.
        return asyncio.current_task(self.loop) if self._thread == get_ident() else None

    # For a server that can do without a task for each request

    def expects(self, fields: Iterable[tuple[bytes, bytes]]) -> Head | None:
        """The head of a POST that may be answered `at_once`, when its body is there. A guard is
        asked in the task of its request, since it may wait, and set context variables."""
        if not self._is_plain:
            return None
        head = self._heads.meet(fields)
        return head if head.welcome else None

    def at_once(self, head: Head, body: bytes) -> Whole | Begun | None:
        """What comes of it before anybody has to wait: its response, or a call that is under way.
        None: nothing was done."""
        if not self._is_plain or len(body) > self._longest:
            return None
        try:
            return self._posting.at_once(head, None, decode(body))
        except Exception as error:
            return self._refusal(error)

    def completed(self, begun: Begun) -> Whole | None:
        """The response to a call that was under way and is over; None if the application has to
        give it."""
        return self._posting.completed(begun)

    # For any server

    async def __call__(
        self, scope: Scope, receive: Receive, send: Send, *, begun: Begun | None = None
    ) -> None:
        """Serve a request; its call may be under way already."""
        task = asyncio.current_task(self.loop)
        assert task is not None, "a request is served in a task"
        await self.serve(task, scope, receive, send, begun=begun)

    async def serve(
        self,
        task: "asyncio.Task[Any]",
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        begun: Begun | None = None,
    ) -> None:
        """The same for a task that is known already."""
        if self._shelters:
            hide_task(task)
        patience = self._patience
        response = Response(send, patience, task)
        try:
            try:
                if begun is not None:
                    patience.begin(task)
                    await self._posting.see_through(begun, response, receive)
                    return
                head = self._heads.meet(scope["headers"])
                if head.welcome and self._is_plain and scope["method"] == "POST":
                    await self._posting.serve(head, None, response, receive)
                else:
                    patience.begin(task)
                    await self._serve(scope, head, response, receive)
            finally:
                patience.end(task)
        except ClientIsGone:
            # Of a body that breaks the rules of HTTP some servers say so too, and wait for us.
            await self._refuse(response, Whole.refusing(broken_off()))
        except asyncio.CancelledError as error:
            if ends_task(error):
                raise
            await self._refuse(response, self._refusal(error))
        except Exception as error:
            await self._refuse(response, self._refusal(error))

    async def _refuse(self, response: Response, refusal: Whole) -> None:
        if not response.begun:
            with contextlib.suppress(ClientIsGone):
                await response.whole(refusal)

    def _refusal(self, error: BaseException) -> Whole:
        """What the client is told of what was raised."""
        if isinstance(error, TurnedAway):
            return Whole.refusing(error.refused)
        if isinstance(error, Unauthorized):
            return Whole.refusing(refused(401, error, www_authenticate=error.challenge))
        if isinstance(error, Stalled):
            return Whole.refusing(
                refused(408, "the rest of the body did not come", connection="close")
            )
        if isinstance(error, GuardFailed):
            told = InternalError(self._service.mask("the guard", error.error))
            return Whole(500, failure(UNSET, told))
        # A bug of ours must not end the service: it is told, and the client gets an answer.
        told = InternalError(self._service.mask("a request", error))
        return Whole(500, failure(UNSET, told))

    def _admit(self, head: Head, response: Response) -> None:
        refusal = self._doors.refusal(head)
        if refusal is not None:
            raise TurnedAway(refusal)
        if b"origin" in head.raw:
            # Of several services, each of which lets it in, the first has said so.
            told = response.headers
            told += [header for header in cors(head["origin"]) if header not in told]
        if self._ending:
            raise TurnedAway(refused(503, ENDS, retry_after="1", connection="close"))

    async def vouch(self, head: Head, response: Response) -> None:
        """Raise what turns a request away, if it may not come in."""
        self._admit(head, response)
        await self._principal(head, response)
        self._patience.end(response.task)

    async def _serve(self, scope: Scope, head: Head, response: Response, receive: Receive) -> None:
        self._admit(head, response)
        verb = scope["method"]
        if verb == "OPTIONS":
            response.headers += preflight(head.get("access-control-request-headers", ""))
            await response.empty(204)
            return
        principal = await self._principal(head, response)
        if self._pair is not None and scope.get(PAIR_SCOPE):
            await self._pair.serve(scope, head, principal, response, receive)
        elif verb == "POST":
            self._check(head)
            await self._posting.serve(head, principal, response, receive)
        elif verb in ("GET", "DELETE") and self._has_sessions and not head.stateless:
            live = await self._session(head, principal)
            if verb == "GET":
                await self._relay.open()
                await self._listening.serve(head, live, response, receive)
            else:
                await self._sessions.end(live.id)
                await self._relay.tell(live.id, None)
                await response.empty(204)
        elif verb in ("GET", "DELETE") and self._has_sessions and head.revision is None:
            is_stateful = self._settings.sessions == "stateful"
            raise TurnedAway(no_session_for(head) if is_stateful else unknown_version(head))
        else:
            both = self._has_sessions and not head.stateless
            allowed = "GET, POST, DELETE" if both else "POST"
            raise TurnedAway(refused(405, f"{verb} has no meaning here", allow=allowed))

    def _check(self, head: Head) -> None:
        """May the body be read?"""
        refusal = unreadable(head, self._limits.message_bytes)
        if refusal is not None:
            raise TurnedAway(refusal)
        if self._is_plain:
            self._heads.remember(head)

    async def _principal(self, head: Head, response: Response) -> str | None:
        guard = self._settings.guard
        if guard is None:
            return None
        return await principal_of(guard, head, response)

    def _told(self, told: Told) -> None:
        """Another process was told something that may concern a session of ours."""
        if told.message is None:
            self._sessions.drop(told.session)
            return
        live = self._sessions.in_use(told.session)
        if live is not None:
            self._posting.note(live.peer.receive(told.message), live)

    async def _session(self, head: Head, principal: str | None) -> Live:
        id_ = head.text(SESSION)
        if id_ is None:
            raise TurnedAway(missing_session())
        live = await self._sessions.find(id_, principal)
        if live is None:
            raise TurnedAway(unknown_session())
        if not live.speaks(head):
            raise TurnedAway(other_version(head, live.session.caller.revision.date))
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
        self._is_plain = False
        self._driver.closing.set()
        self._listening.end()
        if self._pair is not None:
            self._pair.end()

    @property
    def is_over(self) -> bool:
        """Is nobody answered at once any more?"""
        return not self._is_plain

    @property
    def drivers(self) -> list[Driver]:
        """What runs its calls: one for all, and one for each stream of the oldest transport."""
        return [self._driver, *(() if self._pair is None else self._pair.drivers)]

    @property
    def busy(self) -> bool:
        """Does anybody wait for an answer?"""
        return bool(self._driver.calls) or (self._pair is not None and self._pair.busy)

    def abandon(self) -> None:
        """Tell everybody whose call is still under way that there will be no result."""
        self._driver.abandon(InternalError(ENDS))
        if self._pair is not None:
            self._pair.abandon(InternalError(ENDS))

    def hurry(self) -> None:
        """Let go of everybody who neither sends nor reads."""
        self._patience.hurry()

    def forget(self) -> None:
        """The loop is gone, and there was no time to end; or another one has its turn."""
        self._is_plain = False
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
