"""The era that begins with `initialize`: a session remembers who the client is.

The state of a session is a table. A transition is taken when the frame is *received*, so a client
that sends `initialize` and its next request in one go is served in order without anybody waiting:

    NEW ── initialize ──> OPENING ── opened ──> OPEN
     ^                       │
     └────── refused ────────┘

Only `ping` is answered in NEW. In OPENING and in OPEN everything is.
"""

from typing import Final

from msgspec import UNSET

from ..errors import InvalidRequest
from ..jsonrpc import encode
from ..types.lifecycle import InitializeParams
from ..types.notices import LEVELS
from .calls import Call, Caller, Result
from .interests import Interests
from .lowering import lowered
from .revisions import NEWEST_HANDSHAKE, REVISIONS, Revision

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


def negotiated(requested: str) -> Revision:
    """The revision of a session: the one asked for if it has a handshake, else our newest."""
    revision = REVISIONS.get(requested)
    return revision if revision is not None and revision.handshake else NEWEST_HANDSHAKE


class Session:
    """One client of this era, as plain data."""

    __slots__ = ("caller", "interests", "state")

    def __init__(self) -> None:
        self.state = NEW
        # Before the handshake a client may only ping, so its revision does not matter yet.
        self.caller = Caller(NEWEST_HANDSHAKE, {}, None, log_level=None)
        self.interests = Interests()

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

    def finish(self, call: Call, result: Result) -> bytes:
        """The result without anything that the client's revision does not know."""
        if call.method == "initialize":
            self._take("opened")
        if isinstance(result, bytes):
            return result
        return encode(lowered(result, call.caller.revision))

    def refuse(self, call: Call) -> None:
        """A refused `initialize` leaves the session as if it had not come."""
        if call.method == "initialize":
            self._take("refused")

    def _take(self, event: str) -> None:
        state = TRANSITIONS.get((self.state, event))
        if state is None:
            raise InvalidRequest("the session is initialized already; go on with other requests")
        self.state = state
