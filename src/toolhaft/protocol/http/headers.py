"""The headers of a request.

A client sends the same headers in the same order each time, some of them with other values. So
where each of them stands is looked up by the names of all, at once, and not one by one.
"""

import binascii
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

from msgspec import UNSET, Raw, Struct

from ...errors import HeaderMismatch
from ...lazy_regex import pattern
from ...types.wire import RequestMeta
from ..calls import Caller
from ..revisions import DEFAULT_HANDSHAKE, REVISIONS, Revision

VERSION: Final = b"mcp-protocol-version"
SESSION: Final = b"mcp-session-id"
METHOD: Final = b"mcp-method"
NAME: Final = b"mcp-name"
LAST_EVENT: Final = b"last-event-id"
# Headers that repeat arguments of a tool begin with this.
PARAM: Final = b"mcp-param-"
MOST_HEADERS: Final = 100
LONGEST_HEADERS: Final = 32 * 1024
# Whether a message may be posted depends on these, and on its length.
_JUDGED: Final = (
    b"host", b"origin", b"content-type", b"accept", b"content-encoding", b"transfer-encoding",
)  # fmt: skip
# What `Mcp-Name` repeats, by method.
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN = pattern(r"[A-Za-z0-9_./:-]+")
_VISIBLE = pattern(r"[\x20-\x7e\t]*")
_SENTINEL = ("=?base64?", "?=")

Fields = list[tuple[bytes, bytes]]
Pairs: TypeAlias = tuple[tuple[bytes, bytes], ...]
# Those of the headers in their order, and then None.
Values: TypeAlias = tuple[bytes | None, ...]
_Names: TypeAlias = tuple[bytes, ...]


def repeats_body(name: bytes) -> bool:
    """Does a header of this name, in lower case, repeat what the body says?"""
    return name in (VERSION, METHOD, NAME) or name.startswith(PARAM)


_SECRET: Final = frozenset({b"authorization", b"cookie", b"proxy-authorization"})
_MOST_LAYOUTS: Final = 200
_LONGEST_LAYOUT: Final = 2000


class _Layout(Struct, frozen=True, kw_only=True):
    """Where among the values of a request those stand that decide what becomes of it; where None
    is, if they are not there."""

    # Names that came more than once.
    repeated: frozenset[bytes]
    # All names, and how long they are together.
    names: _Names
    size: int
    length: int
    version: int
    session: int
    method: int
    name: int
    # Is one of them a secret of the client's, which is not kept?
    is_secret: bool
    # Gives the values that decide whether a message may be posted.
    judged: Callable[[Values], Any]


# Those that were seen lately.
_layouts: Final[dict[_Names, _Layout]] = {}


def _lay_out(names: _Names) -> _Layout:
    places = {name: place for place, name in enumerate(names)}
    wanted = (b"content-length", VERSION, SESSION, METHOD, NAME)
    length, version, session, method, name = (places.get(each, -1) for each in wanted)
    size = len(b"".join(names))
    layout = _Layout(
        repeated=_NONE if len(places) == len(names) else _twice(names),
        names=names,
        size=size,
        length=length,
        version=version,
        session=session,
        method=method,
        name=name,
        is_secret=not _SECRET.isdisjoint(places),
        judged=itemgetter(*(places.get(name, -1) for name in _JUDGED)),
    )
    if size <= _LONGEST_LAYOUT and len(names) <= MOST_HEADERS:
        if len(_layouts) >= _MOST_LAYOUTS:
            _layouts.clear()  # who is still there is soon known again
        _layouts[names] = layout
    return layout


def _twice(names: _Names) -> frozenset[bytes]:
    seen: set[bytes] = set()
    twice: set[bytes] = set()
    for name in names:
        (twice if name in seen else seen).add(name)
    return frozenset(twice)


class Envelope(Struct, frozen=True, eq=False):
    """A call of a tool that was accepted with some head: the text of its `_meta`, the tool that it
    names, the principal, and what all of them have come to."""

    text: Raw
    name: str
    principal: str | None
    meta: RequestMeta
    caller: Caller


_new = object.__new__


class Head(Mapping[str, str]):
    """The headers of a request, by name in whatever case, without blanks around their values."""

    __slots__ = (
        "_agreed",
        "_raw",
        "accepted",
        "fits",
        "layout",
        "repeated",
        "revision",
        "sent",
        "session",
        "stateless",
        "welcome",
    )

    def __init__(self, fields: Iterable[tuple[bytes, bytes]]) -> None:
        pairs: Pairs = tuple(fields)
        # Servers give the names in lower case.
        names, values = zip(*pairs) if pairs else _EMPTY  # noqa: B905 - they are pairs
        layout = _layouts.get(names) or _lay_out(names)
        # Are there no more of them than anybody needs?
        size = layout.size + len(b"".join(values))
        self.fits = size <= LONGEST_HEADERS and len(names) <= MOST_HEADERS
        # Those that came more than once.
        self.repeated = layout.repeated
        if layout.repeated:
            names, values = zip(*_joined(pairs), strict=True)
            layout = _lay_out(names)
        self._raw: Mapping[bytes, bytes] | None = None
        # What they and a body were found to say last: the version, the method, and which parameter
        # is called how.
        self._agreed: tuple[object, str, str | None, object] | None = None
        # The first call of a tool that was accepted with this head; see `Peer.take`.
        self.accepted: Envelope | None = None
        self.layout = layout
        self.sent: Values = (*values, None)
        # Which session the client names.
        self.session = self.sent[layout.session]
        # The revision that the header names, or that silence stands for; None is one that nobody
        # knows. And does the request say by that that it belongs to the era without a handshake? A
        # version that nobody knows is newer than us, and so are its rules.
        version = self.sent[layout.version]
        self.revision, self.stateless = _REVISIONS.get(version) or _named(version)
        # Is it known that a message with this head is let in? See `Regulars`.
        self.welcome = False

    def with_length(self, length: bytes, session: bytes | None) -> "Head":
        """The same with another length of the body, and perhaps another session; neither of them
        is new, and nothing is there twice."""
        other, place = self.with_session(session), self.layout.length
        other.sent = (*self.sent[:place], length, *self.sent[place + 1 :])
        return other

    def with_session(self, session: bytes | None) -> "Head":
        """The same with another session, if there is one at all, and nothing is there twice."""
        other = _new(Head)
        other.session = session
        # With the session of the first that was seen; who asks for all of them gets this one's.
        other.sent = self.sent
        other.layout = self.layout
        other.repeated = self.repeated
        other.fits = self.fits
        other.revision = self.revision
        other.stateless = self.stateless
        other.welcome = self.welcome
        other._agreed = self._agreed
        other.accepted = self.accepted
        other._raw = None
        return other

    @property
    def size(self) -> int:
        """Of all names and values together, if nothing came twice."""
        return self.layout.size + sum(map(len, self.raw.values()))

    @property
    def raw(self) -> Mapping[bytes, bytes]:
        """By their names in lower case, as they came. Others may have the same head."""
        if self._raw is None:
            pairs = zip(self.layout.names, self.sent)  # noqa: B905 - and then None
            values = cast(dict[bytes, bytes], dict(pairs))
            if self.session is not None:
                values[SESSION] = self.session
            self._raw = MappingProxyType(values)
        return self._raw

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

    @property
    def length(self) -> int:
        """Of the body, as the client tells it, if it is `welcome`."""
        return int(self.sent[self.layout.length] or 0)

    def needs_envelope(self, method: str) -> bool:
        """Must the body say who asks? A handshake with a client that is newer than us need not."""
        revision = self.revision
        return method != "initialize" if revision is None else not revision.handshake

    # What the body is compared with

    def agrees(self, version: object, method: str, params: object) -> bool:
        """Is it known that the headers say what the body says? Else there is more to compare."""
        found = self._agreed
        if found is None or params is None:
            return False
        known, said, member, value = found
        return (
            said == method
            and known == version
            and (member is None or getattr(params, member) == value)
        )

    def check_version(self, meta: RequestMeta) -> None:
        """The version in the body and the one in the header are the same.

        Raises:
            HeaderMismatch: they are not; the body is complete, else it would be told so first.
        """
        revision = self.revision
        if revision is not None and revision.date == meta.version and self.layout.version >= 0:
            return
        if meta.capabilities is not UNSET and self.text(VERSION) != meta.version:
            raise HeaderMismatch("MCP-Protocol-Version", self.text(VERSION), str(meta.version))

    def check_route(self, version: object, method: str, params: object) -> None:
        """The headers by which requests are routed say what the body says, which is of the version
        that the header names.

        Raises:
            HeaderMismatch: one of them does not.
        """
        sent, layout = self.sent, self.layout
        if self.repeated:
            self.check_repeated()
        if sent[layout.method] != method.encode() and self.text(METHOD) != method:
            raise HeaderMismatch("Mcp-Method", self.text(METHOD), method)
        member = _NAMED.get(method)
        if params is None:
            return
        name: str | None = None
        if member is not None:
            name = getattr(params, member)
            assert isinstance(name, str), "what a header repeats is a text"
            if sent[layout.name] != name.encode() or not _is_plain(name):
                compare("Mcp-Name", self.text(NAME), name)
        self._agreed = (version, method, member, name)

    def check_repeated(self) -> None:
        """Of two values a proxy may read the one and we the other, even if one of them is right.

        Raises:
            HeaderMismatch: a header that repeats the body was sent more than once.
        """
        name = min(filter(repeats_body, self.repeated), default=None)
        if name is not None:
            shown_name = _SHOWN.get(name) or name.decode("latin-1")
            raise HeaderMismatch(shown_name, None, None, "was sent more than once")


_SHOWN: Final = {VERSION: "MCP-Protocol-Version", METHOD: "Mcp-Method", NAME: "Mcp-Name"}
_NONE: Final[frozenset[bytes]] = frozenset()
_EMPTY: Final[tuple[_Names, _Names]] = ((), ())
# With whether it is of the era without a handshake.
_Claimed: TypeAlias = tuple[Revision | None, bool]
_REVISIONS: Final[dict[bytes | None, _Claimed]] = {
    None: (DEFAULT_HANDSHAKE, False),
    **{date.encode(): (known, not known.handshake) for date, known in REVISIONS.items()},
}


def _named(version: bytes | None) -> _Claimed:
    return _REVISIONS.get((version or b"").strip(b" \t"), (None, True))


def _joined(fields: Pairs) -> Pairs:
    values: dict[bytes, list[bytes]] = {}
    for name, value in fields:
        values.setdefault(name, []).append(value)
    return tuple((name, b", ".join(each)) for name, each in values.items())


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


def listed(value: str) -> list[str]:
    """The values of a header that is a list. "A recipient MAY combine multiple field lines within a
    field section that have the same field name into one field line", with commas: clients and
    proxies do, so it makes no difference whether it was sent once or more often."""
    parts = value.split(",") if '"' not in value else _outside_quotes(value)
    return [part for each in parts if (part := each.strip(" \t"))]


def _outside_quotes(value: str) -> list[str]:
    """The same for a header with quoted texts, whose commas are their own. Each character is looked
    at once, whatever a client sends."""
    parts: list[str] = []
    start = 0
    is_quoted = is_escaped = False
    for place, character in enumerate(value):
        if character == "," and not is_quoted:
            parts.append(value[start:place])
            start = place + 1
        elif character == '"' and not is_escaped:
            is_quoted = not is_quoted
        is_escaped = character == "\\" and not is_escaped
    return [*parts, value[start:]]


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
