"""The handshake era, which begins with `initialize`: a session remembers its client.

The state machine of a session is a table. A transition is taken when the frame is *received*, so a
client that sends `initialize` and its next request together is served in order, without a wait:

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

# Over HTTP, whether a client gets a session: if it uses the id it was given, always, or never.
SessionMode: TypeAlias = Literal["auto", "stateful", "stateless"]

NEW: Final = "new"
OPENING: Final = "opening"
OPEN: Final = "open"

TRANSITIONS: Final = {
    (NEW, "initialize"): OPENING,
    (OPENING, "opened"): OPEN,
    (OPENING, "refused"): NEW,
}

# Index of the log level in effect until `logging/setLevel`.
_FIRST_LEVEL = LEVELS.index("info")

# Reasons why a client cannot be asked. The answer to `initialize` shows if there are sessions.
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
    """Return the requested revision if it has a handshake, else the newest that has."""
    revision = REVISIONS.get(requested)
    return revision if revision is not None and revision.handshake else NEWEST_HANDSHAKE


class Remembered(Struct):
    """A session as stored, for another process to go on with."""

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
    """Make the decoder on first use: stdio never restores a session."""
    return msgspec.msgpack.Decoder(Remembered)


class Session:
    """One client of this era, as plain data."""

    __slots__ = (
        "asked", "caller", "changed", "data", "id", "interests", "is_initialized", "reachable",
        "state",
    )  # fmt: skip

    # The state of a call does not leave the process.
    hides = True

    def __init__(self, id_: str | None = None) -> None:
        # The Mcp-Session-Id; None over stdio, where a connection is a session.
        self.id = id_
        self.state = NEW
        # Before the handshake a client may only ping, so its revision does not matter yet.
        self.caller = Caller(NEWEST_HANDSHAKE, {}, None, log_level=None)
        self.interests = Interests()
        # Whether `notifications/initialized` has arrived.
        self.is_initialized = False
        # Whether the client can be sent a request and can answer it.
        self.reachable = True
        # Requests sent to the client so far, for unique ids.
        self.asked = 0
        # Session data of tools, each value as JSON text. None if the client has no session.
        self.data: dict[str, bytes] | None = {}
        # Whether it changed since the last `remember`.
        self.changed = False

    @classmethod
    def assumed(cls, revision: Revision, principal: str | None) -> "Session":
        """Make a session for one request of a client that has none; it is discarded afterwards."""
        session = cls()
        session.state = OPEN
        session.data = None
        session.reachable = False
        session.caller = Caller(revision, {}, None, log_level=_FIRST_LEVEL, principal=principal)
        return session

    @classmethod
    def passing(cls) -> "Session":
        """Make a session for a handshake after which no session is kept."""
        session = cls()
        session.data = None
        session.reachable = False
        return session

    @property
    def is_ready(self) -> bool:
        """Whether the client may be sent requests and notifications.

        "The server SHOULD NOT send requests other than pings and logging before receiving the
        initialized notification." A client that sends a session id has the answer to `initialize`;
        its notification may have gone to another process."""
        return self.is_initialized or self.id is not None

    def remember(self) -> bytes:
        """Encode the session for the store."""
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
        """Decode a session from the store.

        Raises:
            MsgspecError: not a session, or of an incompatible release.
        """
        try:
            known = _remembered().decode(written)
            revision = REVISIONS[known.revision]
        except UnicodeDecodeError as error:  # msgspec lets this one through
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
        """Record the client that `initialize` describes.

        Raises:
            InvalidRequest: the session is open already.
        """
        self._transition("initialize")
        self.caller = Caller(
            negotiated(params.protocol_version),
            params.capabilities,
            None if params.client_info is UNSET else params.client_info,
            log_level=_FIRST_LEVEL,
            principal=principal,
        )

    def ask(self, call: Call, questions: Questions) -> Waiting:
        """Ask by requests to the client, which it answers while the call waits.

        Raises:
            ToolError: the client cannot be asked, or lacks a capability.
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
        """Raise: in this era a client is asked while the call waits."""
        raise InternalError("a call of this era is never suspended")

    def finish(self, call: Call, result: Result) -> bytes:
        """Encode the result without fields that the client's revision lacks."""
        if not isinstance(result, bytes):
            result = encode_text(lowered(result, call.caller.revision))
        if call.method == "initialize":  # only once the answer is encoded without an error
            self._transition("opened")
        return result

    def refuse(self, call: Call) -> None:
        """Reset the session after a refused `initialize`."""
        if call.method == "initialize":
            self._transition("refused")

    def _transition(self, event: str) -> None:
        state = TRANSITIONS.get((self.state, event))
        if state is None:
            raise InvalidRequest("the session is initialized already; go on with other requests")
        self.state = state


def _reasons(missing: list[str], revision: Revision) -> str:
    """List missing capabilities with the reason: unknown to the revision, or not declared."""
    unknown = [path for path in missing if path not in revision.askable]
    undeclared = [path for path in missing if path in revision.askable]
    reasons = (
        (unknown, f"which revision {revision.date} does not have"),
        (undeclared, "which this client did not declare"),
    )
    return ", and ".join(f"{' and '.join(paths)}, {why}" for paths, why in reasons if paths)


def _frame(id_: Id, question: Question, revision: Revision) -> bytes:
    params = question.sent(revision)
    if isinstance(params, Raw):
        return request(id_, question.method, bytes(params))
    if isinstance(params, ElicitUrlParams):
        params = msgspec.structs.replace(params, elicitation_id=str(id_))
    return request(id_, question.method, encode_text(lowered(params, revision)))


def has_data(era: object) -> bool:
    """Return whether calls of this era have a session that can hold data."""
    return isinstance(era, Session) and era.data is not None
