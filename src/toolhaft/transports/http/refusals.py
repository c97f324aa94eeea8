"""What clients are told whose messages cannot be taken now, or not in this way."""

from msgspec import UNSET, UnsetType

from ...encoding.envelope import Id
from ...errors import InternalError, UnsupportedVersion, shown
from ...protocol.http.headers import VERSION, Head
from ...protocol.http.rules import Refused, refused
from ...protocol.revisions import HANDSHAKES
from ...protocol.stateless import unknown_header


def unknown_session(id_: Id | UnsetType = UNSET) -> Refused:
    """It was never there, or is over."""
    return refused(404, "there is no such session (any more): begin with `initialize`", id_)


def missing_session(id_: Id | UnsetType = UNSET) -> Refused:
    """There is one to be had. Whoever opens the address in a browser reads this, too."""
    return refused(
        400,
        "this is an MCP endpoint, for clients of that protocol; Mcp-Session-Id is missing: send "
        "the one that came with the answer to `initialize`",
        id_,
    )


def no_session_for(head: Head, id_: Id | UnsetType = UNSET) -> Refused:
    """A client of the other era that knows this one too learns here that it is needed."""
    return refused(400, UnsupportedVersion(head.text(VERSION) or "", HANDSHAKES), id_)


def other_version(head: Head, negotiated: str, id_: Id | UnsetType = UNSET) -> Refused:
    """The header names another revision than the session was begun with."""
    return refused(
        400,
        f"MCP-Protocol-Version is {shown(head.text(VERSION) or '')}, and this session was begun "
        f"with {negotiated}: send that one, or begin another session with `initialize`",
        id_,
    )


def unknown_version(head: Head) -> Refused:
    """The header names a revision that nobody knows here."""
    return refused(400, unknown_header(head.text(VERSION) or ""))


def broken_off() -> Refused:
    """The body did not come to its end."""
    return refused(400, "the body broke off, or is not framed as HTTP wants it", connection="close")


def too_many_sessions(id_: Id | UnsetType) -> Refused:
    """All that may be held are in use."""
    error = InternalError("too many sessions are in use; try again in a moment")
    return refused(503, error, id_, retry_after="1")


def too_busy(id_: Id | UnsetType) -> Refused:
    """Of one client, or of all."""
    return refused(
        503, InternalError("too many calls at once; try again in a moment"), id_, retry_after="1"
    )
