"""The rules of MCP over HTTP: which requests are admitted, and how the others are answered.

Pure functions and values: headers in, a decision out. The order of the checks is part of the
protocol, since the client is told of the first check that fails. Headers that repeat members of the
body are checked in `peer.py`, between the steps that read the body.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

from ...encoding.envelope import Id, failure
from ...errors import BadEnvelope, InvalidRequest, McpError, shown
from ...lazy_regex import pattern
from .headers import (
    LAST_EVENT,
    LONGEST_HEADERS,
    METHOD,
    MOST_HEADERS,
    NAME,
    PARAM,
    SESSION,
    VERSION,
    Fields,
    Head,
    repeats_body,
)

# Headers that must not be repeated: a proxy and this server might each use a different value.
ROUTING: Final = frozenset(
    {
        b"host", b"origin", b"authorization", b"content-type", b"content-length",
        b"content-encoding", b"transfer-encoding", VERSION, SESSION, METHOD, NAME, LAST_EVENT,
    }
)  # fmt: skip
_NO_HOST = "the header Host {}; send the name by which you call this server, such as 'localhost'"
_STRANGE = "if they should, add it: allow_origins=[{}], or --allow-origin on the command line"
_NO_ORIGIN = "an origin is said as in 'https://example.com'"
# All opaque pages share the origin `null`, so no setting is suggested.
_OPAQUE = "they may be files, or sandboxed frames of any site: serve the page at an address"
LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
# Cached entries: pairs of Host and Origin, and tuples of checked header values.
_MOST_ADMITTED_VALUES: Final = 100

_AUTHORITY = r"(\[[0-9A-Fa-f:.]{2,}\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?"
_HOST = pattern(_AUTHORITY)
_ORIGIN = pattern(r"https?://" + _AUTHORITY)


class Refused(Struct, frozen=True):
    """The HTTP answer to a request that is not admitted."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


def refused(
    status: int, why: str | McpError, id_: Id | UnsetType = UNSET, **headers: str
) -> Refused:
    """Make the answer that states the reason, as a JSON-RPC error."""
    error = InvalidRequest(why) if isinstance(why, str) else why
    named = tuple(
        (name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()
    )
    return Refused(status, failure(id_, error), named)


class OriginPolicy:
    """The values of Host and Origin that are admitted.

    A page of a foreign site can make a browser send requests to this server (CSRF), and a foreign
    name can be made to resolve to this machine (DNS rebinding). The browser's Origin and Host
    headers reveal both."""

    def __init__(self, hosts: Iterable[str] = LOOPBACK, origins: Iterable[str] = ()) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)
        # Pairs of Host and Origin that passed before.
        self._admitted: set[tuple[bytes | None, ...]] = set()

    def refusal(self, head: Head) -> Refused | None:
        """Return the refusal of a request, or None if it is admitted."""
        raw = head.raw
        refusal = too_much(head)
        if refusal is not None:
            return refusal
        known = (raw.get(b"host"), raw.get(b"origin"))
        if known in self._admitted and not head.repeated:
            return None
        refusal = self._refusal(head)
        if refusal is None and len(self._admitted) < _MOST_ADMITTED_VALUES:
            self._admitted.add(known)
        return refusal

    def _refusal(self, head: Head) -> Refused | None:
        repeated = [name for name in head.repeated if name in ROUTING or name.startswith(PARAM)]
        if head.stateless:
            # For a request with an envelope these are a HeaderMismatch; see `check_repeated`.
            repeated = [name for name in repeated if not repeats_body(name)]
        if repeated:
            name = min(repeated).decode()
            return refused(400, f"the header {name} was sent more than once")
        host = head.get("host", "")
        match = _HOST.fullmatch(host)
        if match is None:
            what = f"names no host: {shown(host)}" if host else "is missing"
            return refused(421, _NO_HOST.format(what))
        if not self._is_ours(match):
            return refused(
                421,
                f"this server does not answer as {shown(host)}; if it should, add it: "
                f"allow_hosts=[{shown(host)}], or --allow-host on the command line",
            )
        origin = head.get("origin")
        if origin is not None and not self.admits(origin, host):
            reason = f"pages of {shown(origin)} may not use this server; "
            if "://" in origin:
                reason += _STRANGE.format(shown(origin))
            else:
                reason += _OPAQUE if origin == "null" else _NO_ORIGIN
            return refused(403, reason)
        return None

    def admits(self, origin: str, host: str) -> bool:
        """Return whether pages of this origin may send requests to this Host."""
        if "*" in self._origins or origin.lower() in self._origins:
            return True
        # With any Host allowed, pages of the same origin are admitted, others not.
        if "*" in self._hosts and origin.lower().partition("://")[2] == host.lower():
            return True
        return self._is_named(_ORIGIN.fullmatch(origin))

    def _is_ours(self, match: Any) -> bool:
        return "*" in self._hosts or self._is_named(match)

    def _is_named(self, match: Any) -> bool:
        if match is None:
            return False
        name, port = match[1].lower(), match[2]
        return name in self._hosts or f"{name}:{port}" in self._hosts


def too_much(head: Head) -> Refused | None:
    """Refuse a head with more headers, or longer ones, than are read."""
    if head.fits:
        return None
    return refused(431, f"at most {MOST_HEADERS} headers of {LONGEST_HEADERS} bytes are read")


def cors(origin: str) -> Fields:
    """Return the headers by which a page of an admitted origin may read the answer."""
    return [
        (b"access-control-allow-origin", origin.encode("latin-1", "replace")),
        (b"access-control-expose-headers", b"Mcp-Session-Id, WWW-Authenticate"),
        (b"vary", b"Origin"),
    ]


def preflight(asked: str) -> Fields:
    """Answer a CORS preflight: of the requested headers, allow those of MCP and its transport."""
    known = {"content-type", "accept", "authorization", "last-event-id"}
    names = [name.strip().lower() for name in asked.split(",")]
    allowed = ", ".join(name for name in names if name in known or name.startswith("mcp-"))
    return [
        (b"access-control-allow-methods", b"GET, POST, DELETE"),
        (b"access-control-allow-headers", allowed.encode("latin-1", "replace")),
        (b"access-control-max-age", b"600"),
    ]


def unreadable(head: Head, most: int, *, streams: bool = True) -> Refused | None:
    """Return the refusal of a body that is not read, or None.

    Reasons: its media type, its size, an ambiguous length, or an Accept that does not cover both
    forms of the answer, JSON and event stream.

    Args:
        most: length of the longest body, in bytes.
        streams: whether the answer may be a stream, so that Accept is checked.
    """
    get = head.raw.get
    accept = get(b"accept") if streams else None
    refusal = _kind_refusal(get(b"content-type"), accept, get(b"content-encoding"))
    length = get(b"content-length")
    if refusal is not None or length is None:
        return refusal
    if get(b"transfer-encoding") is not None:
        return refused(
            400, "send Content-Length or Transfer-Encoding, not both", connection="close"
        )
    if not length.isdigit():
        return refused(400, "Content-Length must be a number", connection="close")
    return too_long(most) if len(length) > 18 or int(length) > most else None


def too_long(most: int) -> Refused:
    """Refuse a body beyond the limit; the rest of it is not read."""
    return refused(413, f"message too long: at most {most} bytes are read", connection="close")


@lru_cache(256)
def _kind_refusal(
    sent: bytes | None, accept: bytes | None, encoding: bytes | None
) -> Refused | None:
    """Return the refusal for a body that is not JSON, or an Accept that lacks a form of answer."""
    if encoding is not None and encoding.strip().lower() != b"identity":
        return refused(415, "send the body as it is, without Content-Encoding")
    if _essence(sent or b"") != b"application/json":
        found = shown((sent or b"").decode("latin-1"))
        return refused(415, f"Content-Type must be application/json, not {found}")
    if not (takes(accept, b"application/json") and takes(accept, b"text/event-stream")):
        return refused(406, "Accept must have application/json and text/event-stream")
    return None


def takes(accept: bytes | None, media: bytes) -> bool:
    """Return whether this Accept header, or None for none, covers a media type."""
    if accept is None:
        return True
    kinds = {_essence(part) for part in accept.split(b",")}
    return not kinds.isdisjoint((media, media.partition(b"/")[0] + b"/*", b"*/*"))


def _essence(media: bytes) -> bytes:
    return media.partition(b";")[0].strip().lower()


# HTTP statuses that the specification fixes for error codes.
_OF_CODE: Final = {-32020: 400, -32021: 400, -32022: 400}
_MALFORMED: Final = (-32700, -32600)


def status_of(error: McpError | None, *, stateless: bool, by_protocol: bool) -> int:
    """Return the HTTP status of an answer. In sessions most errors are in the body only.

    Args:
        by_protocol: whether the request was refused before it became a call.
    """
    if error is None:
        return 200
    if error.code in _OF_CODE:
        return _OF_CODE[error.code]
    if isinstance(error, BadEnvelope):
        return 400
    if not stateless:
        return 400 if by_protocol and error.code in _MALFORMED else 200
    if error.code == -32601:
        return 404
    return 400 if by_protocol else 200
