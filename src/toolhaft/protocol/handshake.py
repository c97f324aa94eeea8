"""The era that begins with `initialize`: a session remembers who the client is.

The state of a session is a table. A transition is taken when the frame is *received*, so a client
that sends `initialize` and its next request in one go is served in order without anybody waiting:

    NEW ── initialize ──> OPENING ── opened ──> OPEN
     ^                       │
     └────── refused ────────┘

Only `ping` is answered in NEW. In OPENING and in OPEN everything is.
"""

from functools import cache
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct

from ..encoding.envelope import Id, encode_text, request
from ..errors import InternalError, InvalidRequest, ToolError
from ..types.lifecycle import InitializeParams
from ..types.notifications import LEVELS
from ..types.rounds import ElicitUrlParams
from ..types.wire import Identity
from .calls import Call, Caller, Result
from .elicitation.questions import Question, Questions, Waiting, lacking
from .lowering import lowered
from .revisions import NEWEST_HANDSHAKE, REVISIONS, Revision
from .subscriptions import Interests

# Over HTTP, does a client get a session: as it likes, always, or never?
SessionMode: TypeAlias = Literal["auto", "stateful", "stateless"]

NEW: Final = "new"
OPENING: Final = "opening"
OPEN: Final = "open"

TRANSITIONS: Final = {
    (NEW, "initialize"): OPENING,
    (OPENING, "opened"): OPEN,
    (OPENING, "refused"): NEW,
}

# What is sent before the client asks for a level of its own.
_FIRST_LEVEL = LEVELS.index("info")

# Why a client cannot be asked. Whether there are sessions shows in the answer to `initialize`.
_CANNOT_ASK = "this needs to ask something, and the client cannot be asked on this connection, "
_NO_SESSION = (
    _CANNOT_ASK + "which has no session: begin with `initialize`, and send the Mcp-Session-Id that "
    "comes with its answer. If none comes, this server keeps no sessions; whoever runs it has to "
    "do so with one worker, or with sessions that are kept"
)
_NOT_INITIALIZED = (
    "this needs to ask something, and the client cannot be asked before it has sent "
    "`notifications/initialized`; send that after the answer to `initialize`, and call again"
)
_ONE_MESSAGE = _CANNOT_ASK + "which takes one message: use `run` or `serve`"


def negotiated(requested: str) -> Revision:
    """The revision of a session: the one asked for if it has a handshake, else our newest."""
    revision = REVISIONS.get(requested)
    return revision if revision is not None and revision.handshake else NEWEST_HANDSHAKE


class Remembered(Struct, gc=False):
    """All there is to know of a session, for whoever goes on with it."""

    revision: str
    capabilities: dict[str, Any]
    client: Identity | None
    log_level: int | None
    principal: str | None
    uris: frozenset[str]
    data: dict[str, bytes]
    asked: int = 0


_remember = msgspec.msgpack.Encoder().encode


@cache
def _remembered() -> "msgspec.msgpack.Decoder[Remembered]":
    """Made when it is needed: over stdio nobody is recalled."""
    return msgspec.msgpack.Decoder(Remembered)


class Session:
    """One client of this era, as plain data."""

    __slots__ = (
        "asked", "caller", "changed", "data", "id", "interests", "is_initialized", "reachable",
        "state",
    )  # fmt: skip

    # What a call has to remember does not leave the process.
    hides = True

    def __init__(self, id_: str | None = None) -> None:
        # Where the client has to name it; over stdio there is one client, and no need.
        self.id = id_
        self.state = NEW
        # Before the handshake a client may only ping, so its revision does not matter yet.
        self.caller = Caller(NEWEST_HANDSHAKE, {}, None, log_level=None)
        self.interests = Interests()
        # Has the client said `notifications/initialized`?
        self.is_initialized = False
        # Is there a way to send the client a request, and for its answer to come back?
        self.reachable = True
        # How many requests of ours there were, so that no two have the same id.
        self.asked = 0
        # What tools keep for the client, each value as the text of its JSON. None: there is no
        # session in which to keep it.
        self.data: dict[str, bytes] | None = {}
        # Since it was written down last.
        self.changed = False

    @classmethod
    def assumed(cls, revision: Revision, principal: str | None) -> "Session":
        """For one request of a client that has no session: nothing is known of it, and nothing will
        be remembered."""
        session = cls()
        session.state = OPEN
        session.data = None
        session.reachable = False
        session.caller = Caller(revision, {}, None, log_level=_FIRST_LEVEL, principal=principal)
        return session

    @classmethod
    def passing(cls) -> "Session":
        """For a handshake after which nothing is remembered of the client."""
        session = cls()
        session.data = None
        session.reachable = False
        return session

    @property
    def is_ready(self) -> bool:
        """May the client be sent requests and news? "The server SHOULD NOT send requests other than
        pings and logging before receiving the initialized notification." One that names its session
        has the answer to `initialize`; its notification may have gone to another process."""
        return self.is_initialized or self.id is not None

    def remember(self) -> bytes:
        """Write down what there is to know."""
        caller = self.caller
        self.changed = False
        return _remember(
            Remembered(
                caller.revision.date,
                dict(caller.capabilities),
                caller.client,
                caller.log_level,
                caller.principal,
                self.interests.uris,
                self.data or {},
                self.asked,
            )
        )

    @classmethod
    def recalled(cls, id_: str, written: bytes) -> "Session":
        """The session that was written down.

        Raises:
            MsgspecError: this is not one, or of another release.
        """
        try:
            known = _remembered().decode(written)
            revision = REVISIONS[known.revision]
        except UnicodeDecodeError as error:  # the one that msgspec does not make its own
            raise msgspec.DecodeError(str(error)) from None
        except KeyError as error:
            raise msgspec.ValidationError(f"no such revision: {error}") from None
        session = cls(id_)
        session.state = OPEN
        session.caller = Caller(
            revision,
            known.capabilities,
            known.client,
            log_level=known.log_level,
            principal=known.principal,
        )
        session.interests.uris = known.uris
        session.data = known.data
        session.asked = known.asked
        return session

    def open(self, params: InitializeParams, principal: str | None) -> None:
        """Take note of the client, at once.

        Raises:
            InvalidRequest: the session is open already.
        """
        self._take("initialize")
        self.caller = Caller(
            negotiated(params.protocol_version),
            params.capabilities,
            None if params.client_info is UNSET else params.client_info,
            log_level=_FIRST_LEVEL,
            principal=principal,
        )

    def ask(self, call: Call, questions: Questions) -> Waiting:
        """By requests of our own, which the client answers while the call waits.

        Raises:
            ToolError: the client cannot be asked, or not this.
        """
        if not questions:  # nothing to wait for
            return Waiting({}, [])
        if not self.reachable:
            raise ToolError(_NO_SESSION if self.data is None else _ONE_MESSAGE)
        if not self.is_ready:
            raise ToolError(_NOT_INITIALIZED)
        caller = call.caller
        if missing := lacking(caller.capabilities, caller.revision, questions.values()):
            raise ToolError(
                f"this needs a client with the capability {_reasons(missing, caller.revision)}"
            )
        waiting = Waiting({}, [])
        for key, question in questions.items():
            self.asked += 1
            self.changed = True
            id_ = waiting.ids[key] = f"ask-{self.asked}"
            waiting.frames.append(_frame(id_, question, caller.revision))
        return waiting

    def suspend(self, call: Call, questions: Questions) -> bytes:
        """Never happens: a client of this era is asked while the call waits."""
        raise InternalError("a call of this era is never suspended")

    def finish(self, call: Call, result: Result) -> bytes:
        """The result without anything that the client's revision does not know."""
        if not isinstance(result, bytes):
            result = encode_text(lowered(result, call.caller.revision))
        if call.method == "initialize":  # not before it is known that the answer can be written
            self._take("opened")
        return result

    def refuse(self, call: Call) -> None:
        """A refused `initialize` leaves the session as if it had not come."""
        if call.method == "initialize":
            self._take("refused")

    def _take(self, event: str) -> None:
        state = TRANSITIONS.get((self.state, event))
        if state is None:
            raise InvalidRequest("the session is initialized already; go on with other requests")
        self.state = state


def _reasons(missing: list[str], revision: Revision) -> str:
    """Capabilities, and why a client does not have them: nobody can yet, or this one does not."""
    unknown = [path for path in missing if path not in revision.askable]
    undeclared = [path for path in missing if path in revision.askable]
    told = (
        (unknown, f"which revision {revision.date} does not have"),
        (undeclared, "which this client did not declare"),
    )
    return ", and ".join(f"{' and '.join(paths)}, {why}" for paths, why in told if paths)


def _frame(id_: Id, question: Question, revision: Revision) -> bytes:
    params = question.sent(revision)
    if isinstance(params, Raw):
        return request(id_, question.method, bytes(params))
    if isinstance(params, ElicitUrlParams):
        params = msgspec.structs.replace(params, elicitation_id=str(id_))
    return request(id_, question.method, encode_text(lowered(params, revision)))


def has_data(era: object) -> bool:
    """Does a call of this era have a session, in which something can be kept?"""
    return isinstance(era, Session) and era.data is not None
