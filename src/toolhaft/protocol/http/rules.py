"""The rules of MCP over HTTP: which requests are let in, and what the others are told.

Pure functions and values: what a request says of itself goes in, a decision comes out. The order of
the checks is part of the protocol, for a client learns from the first one that fails. The headers
that repeat what the body says are checked in `peer.py`, between the steps that read the body.
"""

import contextlib
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
    Pairs,
    Values,
    repeats_body,
)

# Told twice, two readers might take a different one each.
ROUTING: Final = frozenset(
    {
        b"host", b"origin", b"authorization", b"content-type", b"content-length",
        b"content-encoding", b"transfer-encoding", VERSION, SESSION, METHOD, NAME, LAST_EVENT,
    }
)  # fmt: skip
_NO_HOST = "the header Host {}; send the name by which you call this server, such as 'localhost'"
_STRANGE = "if they should, add it: allow_origins=[{}], or --allow-origin on the command line"
# All of them have the same one, so no setting is suggested.
_NO_ORIGIN = "an origin is said as in 'https://example.com'"
_OPAQUE = "they may be files, or sandboxed frames of any site: serve the page at an address"
LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
_MOST_WELCOME: Final = 100
# Of heads that are remembered: so many bytes each, and so many of them.
_LONGEST_REGULAR: Final = 1000
_MOST_REGULARS: Final = 200

_AUTHORITY = r"(\[[0-9A-Fa-f:.]{2,}\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?"
_HOST = pattern(_AUTHORITY)
_ORIGIN = pattern(r"https?://" + _AUTHORITY)


class Refused(Struct, frozen=True):
    """A request that is not let in, and its answer."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


def refused(
    status: int, why: str | McpError, id_: Id | UnsetType = UNSET, **headers: str
) -> Refused:
    """An answer that says why."""
    error = InvalidRequest(why) if isinstance(why, str) else why
    named = tuple(
        (name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()
    )
    return Refused(status, failure(id_, error), named)


class Doors:
    """The hosts that we are, and the origins of the pages that may talk to us.

    A page of a foreign site can make a browser send requests to us, and a name can be made to lead
    to this machine. Both show in what the browser says of itself."""

    def __init__(self, hosts: Iterable[str] = LOOPBACK, origins: Iterable[str] = ()) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)
        # Most requests look like one before.
        self._welcome: set[tuple[bytes | None, ...]] = set()

    def refusal(self, head: Head) -> Refused | None:
        """Why a request is not let in, if it is not."""
        raw = head.raw
        refusal = too_much(head)
        if refusal is not None:
            return refusal
        known = (raw.get(b"host"), raw.get(b"origin"))
        if known in self._welcome and not head.repeated:
            return None
        refusal = self._refusal(head)
        if refusal is None and len(self._welcome) < _MOST_WELCOME:
            self._welcome.add(known)
        return refusal

    def _refusal(self, head: Head) -> Refused | None:
        repeated = [name for name in head.repeated if name in ROUTING or name.startswith(PARAM)]
        if head.stateless:
            # A request with an envelope is told of these as of headers that differ from its body.
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
            told = f"pages of {shown(origin)} may not use this server; "
            if "://" in origin:
                told += _STRANGE.format(shown(origin))
            else:
                told += _OPAQUE if origin == "null" else _NO_ORIGIN
            return refused(403, told)
        return None

    def admits(self, origin: str, host: str) -> bool:
        """May pages of this origin talk to us, who are called by this name?"""
        if "*" in self._origins or origin.lower() in self._origins:
            return True
        # Any name may be ours, and yet not every page is.
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


class Regulars:
    """The heads of messages that were let in, by `Doors.refusal` and `unreadable`: whoever comes
    with the same is let in without a word. Most do, for a client's requests differ in their bodies.

    Args:
        most: the bytes of the longest body.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # By all that is in them, and by that which decides.
        self._heads: dict[Pairs, Head] = {}
        self._judged: set[Values] = set()
        # The one that came last.
        self._last: tuple[Fields, Head] | None = None

    def meet(self, fields: Iterable[tuple[bytes, bytes]]) -> Head:
        """The head of a message, which is `welcome` if it is known to be.

        The next request often has the headers of the one before. To compare the two lists takes
        less than half of what it takes to hash a list that the server has just made."""
        last = self._last
        if last is not None and fields == last[0]:
            return last[1]
        all_of_it = tuple(fields)
        try:
            head = self._heads.get(all_of_it) if self._heads else None
        except TypeError:  # the server has lists for some pairs
            head = None
        if head is None:
            return self._another(all_of_it)
        self._last = (list(all_of_it), head)
        return head

    def _another(self, fields: Pairs) -> Head:
        head = Head(fields)
        sent = head.sent
        if (
            head.layout.judged(sent) in self._judged
            and head.fits
            and not head.repeated
            and self._is_short(sent[head.layout.length])
        ):
            head.welcome = True
            if head.size <= _LONGEST_REGULAR and not head.layout.is_secret:
                self._keep(fields, head)
        return head

    def _is_short(self, length: bytes | None) -> bool:
        return (
            length is not None
            and length.isdigit()
            and len(length) < 19
            and int(length) <= self._most
        )

    def remember(self, head: Head) -> None:
        """This one was let in."""
        # A page is told by which origin it was let in, so it does not go without a word.
        if b"origin" in head.raw or not self._is_short(head.sent[head.layout.length]):
            return
        judged: Values = head.layout.judged(head.sent)
        if sum(map(len, filter(None, judged))) <= _LONGEST_REGULAR:
            if len(self._judged) >= _MOST_WELCOME:
                self._judged.clear()
            self._judged.add(judged)

    def _keep(self, fields: Pairs, head: Head) -> None:
        # A server may have lists for pairs, which are equal to none of these.
        self._last = ([(name, value) for name, value in fields], head)
        if not head.stateless:  # there would be as many as there are sessions
            return
        if len(self._heads) >= _MOST_REGULARS:
            self._heads.clear()  # whoever is still there is soon known again
        with contextlib.suppress(TypeError):  # the server has lists for some pairs
            self._heads[fields] = head


def too_much(head: Head) -> Refused | None:
    """More headers than anybody needs."""
    if head.fits:
        return None
    return refused(431, f"at most {MOST_HEADERS} headers of {LONGEST_HEADERS} bytes are read")


def cors(origin: str) -> Fields:
    """What lets a page of an admitted origin read the answer."""
    return [
        (b"access-control-allow-origin", origin.encode("latin-1", "replace")),
        (b"access-control-expose-headers", b"Mcp-Session-Id, WWW-Authenticate"),
        (b"vary", b"Origin"),
    ]


def preflight(asked: str) -> Fields:
    """What a page may send: of the headers it wants to, those of MCP and of its transport."""
    known = {"content-type", "accept", "authorization", "last-event-id"}
    names = [name.strip().lower() for name in asked.split(",")]
    allowed = ", ".join(name for name in names if name in known or name.startswith("mcp-"))
    return [
        (b"access-control-allow-methods", b"GET, POST, DELETE"),
        (b"access-control-allow-headers", allowed.encode("latin-1", "replace")),
        (b"access-control-max-age", b"600"),
    ]


def unreadable(head: Head, most: int, *, streams: bool = True) -> Refused | None:
    """Why a body is not even read, if it is not: its kind, its size, who knows where it ends, or
    because the client does not take the answer, which may be a stream."""
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
    """A body beyond the limit; the rest of it is not read."""
    return refused(413, f"message too long: at most {most} bytes are read", connection="close")


@lru_cache(256)
def _kind_refusal(
    sent: bytes | None, accept: bytes | None, encoding: bytes | None
) -> Refused | None:
    """Is it JSON that is sent, and does the client take both forms of an answer?"""
    if encoding is not None and encoding.strip().lower() != b"identity":
        return refused(415, "send the body as it is, without Content-Encoding")
    if _essence(sent or b"") != b"application/json":
        told = shown((sent or b"").decode("latin-1"))
        return refused(415, f"Content-Type must be application/json, not {told}")
    if not (takes(accept, b"application/json") and takes(accept, b"text/event-stream")):
        return refused(406, "Accept must have application/json and text/event-stream")
    return None


def takes(accept: bytes | None, media: bytes) -> bool:
    """Does a client that says this take this kind of answer?"""
    if accept is None:
        return True
    kinds = {_essence(part) for part in accept.split(b",")}
    return not kinds.isdisjoint((media, media.partition(b"/")[0] + b"/*", b"*/*"))


def _essence(media: bytes) -> bytes:
    return media.partition(b";")[0].strip().lower()


# What the status says, which the code in the body says as well.
_OF_CODE: Final = {-32020: 400, -32021: 400, -32022: 400}
_MALFORMED: Final = (-32700, -32600)


def status_of(error: McpError | None, *, stateless: bool, by_protocol: bool) -> int:
    """The status of an answer, by who refused what. Sessions see most errors in the body only."""
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
