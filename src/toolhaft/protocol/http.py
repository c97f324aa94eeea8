"""The rules of MCP over HTTP: which requests are let in, and what the others are told.

Pure functions and values: what a request says of itself goes in, a decision comes out. The order of
the checks is part of the protocol, for a client learns from the first one that fails. The headers
that repeat what the body says are checked in `peer.py`, between the steps that read the body.
"""

import binascii
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from ..errors import BadEnvelope, HeaderMismatch, InvalidRequest, McpError, shown
from ..jsonrpc import Id, failure
from ..patterns import pattern
from ..types.wire import RequestMeta
from .revisions import DEFAULT_HANDSHAKE, REVISIONS, Revision

VERSION: Final = b"mcp-protocol-version"
SESSION: Final = b"mcp-session-id"
METHOD: Final = b"mcp-method"
NAME: Final = b"mcp-name"
PARAM: Final = "mcp-param-"
_PARAM: Final = PARAM.encode()
LAST_EVENT: Final = b"last-event-id"
# Told twice, two readers might take a different one each.
ROUTING: Final = frozenset(
    {
        b"host", b"origin", b"authorization", b"content-type", b"content-length",
        b"content-encoding", b"transfer-encoding", VERSION, SESSION, METHOD, NAME, LAST_EVENT,
    }
)  # fmt: skip
LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
MOST_HEADERS: Final = 100
LONGEST_HEADERS: Final = 32 * 1024
_MOST_WELCOME: Final = 100
# Whether a message may be posted depends on these, and on its length.
_JUDGED: Final = (
    b"host", b"origin", b"content-type", b"accept", b"content-encoding", b"transfer-encoding",
)  # fmt: skip
_LONGEST_JUDGED: Final = 1000
# What `Mcp-Name` repeats, by method.
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

_AUTHORITY = r"(\[[0-9A-Fa-f:.]{2,}\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?"
_HOST = pattern(_AUTHORITY)
_ORIGIN = pattern(r"https?://" + _AUTHORITY)
_PLAIN = pattern(r"[A-Za-z0-9_./:-]+")
_VISIBLE = pattern(r"[\x20-\x7e\t]*")
_SENTINEL = ("=?base64?", "?=")

Fields = list[tuple[bytes, bytes]]
# Do clients that begin with a handshake get a session: as they like, always, or never?
SessionMode: TypeAlias = Literal["auto", "stateful", "stateless"]


class Head(Mapping[str, str]):
    """The headers of a request, by name in whatever case, without blanks around their values."""

    __slots__ = ("count", "raw", "repeated", "revision", "stateless")

    def __init__(self, fields: Iterable[tuple[bytes, bytes]]) -> None:
        if type(fields) is not list:
            fields = list(fields)
        # Servers give the names in lower case.
        raw: dict[bytes, bytes] = dict(fields)
        self.count = count = len(fields)
        # Those that came more than once.
        self.repeated: frozenset[bytes] = _NONE
        if len(raw) != count:
            raw = self._join(fields)
        self.raw = raw
        # The revision that the header names, or that silence stands for; None is one that nobody
        # knows. And does the request say by that that it belongs to the era without a handshake? A
        # version that nobody knows is newer than us, and so are its rules.
        found = _REVISIONS.get(raw.get(VERSION))
        self.revision, self.stateless = _named(raw[VERSION]) if found is None else found

    def _join(self, fields: Fields) -> dict[bytes, bytes]:
        values: dict[bytes, list[bytes]] = {}
        for name, value in fields:
            values.setdefault(name, []).append(value)
        self.repeated = frozenset(name for name, each in values.items() if len(each) > 1)
        return {name: b", ".join(each) for name, each in values.items()}

    def __getitem__(self, name: str) -> str:
        return self.raw[name.encode("latin-1", "replace").lower()].decode("latin-1").strip(" \t")

    def __iter__(self) -> Iterator[str]:
        return (name.decode("latin-1") for name in self.raw)

    def __len__(self) -> int:
        return len(self.raw)

    def text(self, name: bytes) -> str | None:
        """A header by its name in lower case, if it is there."""
        value = self.raw.get(name)
        return None if value is None else value.decode("latin-1").strip(" \t")

    def needs_envelope(self, method: str) -> bool:
        """Must the body say who asks? A handshake with a client that is newer than us need not."""
        revision = self.revision
        return method != "initialize" if revision is None else not revision.handshake

    # What the body is compared with

    def check_version(self, meta: RequestMeta) -> None:
        """The version in the body and the one in the header are the same.

        Raises:
            HeaderMismatch: they are not; the body is complete, else it would be told so first.
        """
        if self.revision is not None and self.revision.date == meta.version and VERSION in self.raw:
            return
        if meta.capabilities is not UNSET and self.text(VERSION) != meta.version:
            raise HeaderMismatch("MCP-Protocol-Version", self.text(VERSION), str(meta.version))

    def check_route(self, method: str, params: object) -> None:
        """The headers by which requests are routed say what the body says.

        Raises:
            HeaderMismatch: one of them does not.
        """
        raw = self.raw
        if raw.get(METHOD) != method.encode() and self.text(METHOD) != method:
            raise HeaderMismatch("Mcp-Method", self.text(METHOD), method)
        member = _NAMED.get(method)
        if member is None or params is None:
            return
        name: str = getattr(params, member)
        if raw.get(NAME) != name.encode() or not _is_plain(name):
            compare("Mcp-Name", self.text(NAME), name)


_NONE: Final[frozenset[bytes]] = frozenset()
# With whether it is of the era without a handshake.
_Claimed: TypeAlias = tuple[Revision | None, bool]
_REVISIONS: Final[dict[bytes | None, _Claimed]] = {
    None: (DEFAULT_HANDSHAKE, False),
    **{date.encode(): (known, not known.handshake) for date, known in REVISIONS.items()},
}


def _named(version: bytes) -> _Claimed:
    return _REVISIONS.get(version.strip(b" \t"), (None, True))


def _is_plain(name: str) -> bool:
    """Does it stand in a header as it is? Most names do."""
    return (name.isidentifier() and name.isascii()) or _PLAIN.fullmatch(name) is not None


def compare(name: str, sent: str | None, expected: str) -> None:
    """A header beside the text that it repeats.

    Raises:
        HeaderMismatch: it is missing, or says something else.
    """
    try:
        if sent is not None and decoded(sent) == expected:
            return
    except ValueError as error:
        raise HeaderMismatch(name, sent, expected, str(error)) from None
    raise HeaderMismatch(name, sent, expected)


def decoded(value: str) -> str:
    """A header's value: as it is, or out of Base64 if it is marked so.

    Raises:
        ValueError: it is marked so, and is not Base64 of UTF-8 in its one right form.
    """
    first, last = _SENTINEL
    if not _VISIBLE.fullmatch(value):
        raise ValueError("has characters that no header may have")
    if not (value.startswith(first) and value.endswith(last) and len(value) >= len(first + last)):
        return value
    encoded = value[len(first) : -len(last)].encode()
    try:
        data = binascii.a2b_base64(encoded, strict_mode=True)
        text = data.decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("is not Base64 of UTF-8") from None
    if binascii.b2a_base64(data, newline=False) != encoded:
        raise ValueError("is not Base64 in its one right form")
    return text


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
        self._familiar: set[tuple[bytes | None, ...]] = set()

    def knows(self, head: Head, most: int) -> bool:
        """Is this a message like one that was let in before? Then nothing has to be said to it, and
        its body, of at most so many bytes, can be read."""
        raw = head.raw
        if tuple(map(raw.get, _JUDGED)) not in self._familiar or head.repeated or not _fits(head):
            return False
        length = raw.get(b"content-length", b"")
        return length.isdigit() and len(length) < 19 and int(length) <= most

    def remember(self, head: Head) -> None:
        """A message was let in: others like it may come."""
        judged = tuple(map(head.raw.get, _JUDGED))
        known = self._familiar
        # Pages are told by which origin they were let in, which is looked up each time.
        if judged[1] is None and sum(map(len, filter(None, judged))) <= _LONGEST_JUDGED:
            if len(known) >= _MOST_WELCOME:
                known.clear()
            known.add(judged)

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
        repeated = [name for name in head.repeated if name in ROUTING or name.startswith(_PARAM)]
        if repeated:
            name = min(repeated).decode()
            return refused(400, f"the header {name} was sent more than once")
        host = head.get("host", "")
        if not self._is_ours(_HOST.fullmatch(host)):
            return refused(
                421,
                f"this server does not answer as {shown(host)}; if it should, add it: "
                f"allow_hosts=[{shown(host)}], or --allow-host on the command line",
            )
        origin = head.get("origin")
        if origin is not None and not self.admits(origin, host):
            return refused(
                403,
                f"pages of {shown(origin)} may not use this server; if they should, add it: "
                f"allow_origins=[{shown(origin)}], or --allow-origin on the command line",
            )
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
        return match is not None and ("*" in self._hosts or self._is_named(match))

    def _is_named(self, match: Any) -> bool:
        if match is None:
            return False
        name, port = match[1].lower(), match[2]
        return name in self._hosts or f"{name}:{port}" in self._hosts


def _fits(head: Head) -> bool:
    raw = head.raw
    return (
        len(b"".join(raw)) + len(b"".join(raw.values())) <= LONGEST_HEADERS
        and head.count <= MOST_HEADERS
    )


def too_much(head: Head) -> Refused | None:
    """More headers than anybody needs."""
    if _fits(head):
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
