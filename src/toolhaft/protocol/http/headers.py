"""The headers of a request.

A client sends the same header names in the same order each time. So the index of each header that
matters is cached in a `Layout`, keyed by the tuple of all names.
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
# Prefix of headers that repeat arguments of a tool.
PARAM: Final = b"mcp-param-"
# Bounds of a head: number of headers, and bytes of all names and values.
MOST_HEADERS: Final = 100
LONGEST_HEADERS: Final = 32 * 1024
# Headers that decide, beside Content-Length, whether a POST is admitted.
_JUDGED: Final = (
    b"host", b"origin", b"content-type", b"accept", b"content-encoding", b"transfer-encoding",
)  # fmt: skip
# The parameter that `Mcp-Name` repeats, by method.
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN = pattern(r"[A-Za-z0-9_./:-]+")
_VISIBLE = pattern(r"[\x20-\x7e\t]*")
_SENTINEL = ("=?base64?", "?=")

Fields = list[tuple[bytes, bytes]]
Pairs: TypeAlias = tuple[tuple[bytes, bytes], ...]
# Values in the order of the headers, then None, so that index -1 means "absent".
Values: TypeAlias = tuple[bytes | None, ...]
Names: TypeAlias = tuple[bytes, ...]


def repeats_body(name: bytes) -> bool:
    """Return whether the header of this lowercase name repeats a member of the body."""
    return name in (VERSION, METHOD, NAME) or name.startswith(PARAM)


# Headers with credentials: heads that have one are not cached.
_SECRET: Final = frozenset({b"authorization", b"cookie", b"proxy-authorization"})
# Cached layouts, and bytes of the names of one.
_MOST_LAYOUTS: Final = 200
_LONGEST_LAYOUT: Final = 2000


class Layout(Struct, frozen=True, kw_only=True):
    """Indexes into `Head.sent` of the headers that matter; -1, where None is, for absent ones."""

    # Names that occur more than once.
    repeated: frozenset[bytes]
    # All names, and their total length in bytes.
    names: Names
    size: int
    length: int
    version: int
    session: int
    method: int
    name: int
    # Whether a header holds credentials, so that the head must not be cached.
    is_secret: bool
    # Returns the values of the headers in `_JUDGED`.
    judged: Callable[[Values], Any]


def _lay_out(names: Names, layouts: dict[Names, Layout]) -> Layout:
    """Index the headers that matter, and cache the result."""
    places = {name: place for place, name in enumerate(names)}
    wanted = (b"content-length", VERSION, SESSION, METHOD, NAME)
    length, version, session, method, name = (places.get(each, -1) for each in wanted)
    size = len(b"".join(names))
    layout = Layout(
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
        if len(layouts) >= _MOST_LAYOUTS:
            layouts.clear()  # active clients refill it soon
        layouts[names] = layout
    return layout


def _twice(names: Names) -> frozenset[bytes]:
    seen: set[bytes] = set()
    twice: set[bytes] = set()
    for name in names:
        (twice if name in seen else seen).add(name)
    return frozenset(twice)


class Envelope(Struct, frozen=True, eq=False):
    """A tool call that was accepted with a head, and the `meta` and `caller` it resulted in."""

    # The text of `_meta`, and the name of the tool.
    text: Raw
    name: str
    principal: str | None
    meta: RequestMeta
    caller: Caller


_new = object.__new__


class Head(Mapping[str, str]):
    """The headers of a request: names in any case, values without surrounding whitespace.

    Args:
        layouts: bounded cache of layouts by the names of the headers; see `HeadCache`.
    """

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

    def __init__(
        self,
        fields: Iterable[tuple[bytes, bytes]],
        layouts: dict[Names, Layout] | None = None,
    ) -> None:
        if layouts is None:
            layouts = {}
        pairs: Pairs = tuple(fields)
        # ASGI servers give lowercase names.
        names, values = zip(*pairs) if pairs else _EMPTY  # noqa: B905 - they are pairs
        layout = layouts.get(names) or _lay_out(names, layouts)
        # Whether number and size of the headers are within the bounds.
        size = layout.size + len(b"".join(values))
        self.fits = size <= LONGEST_HEADERS and len(names) <= MOST_HEADERS
        # Names that occur more than once.
        self.repeated = layout.repeated
        if layout.repeated:
            names, values = zip(*_joined(pairs), strict=True)
            layout = _lay_out(names, layouts)
        self._raw: Mapping[bytes, bytes] | None = None
        # The last body that agreed with these headers: version, method, and the name and value of
        # the parameter that `Mcp-Name` repeats.
        self._agreed: tuple[object, str, str | None, object] | None = None
        # The first tool call that was accepted with this head; see `Peer.take`.
        self.accepted: Envelope | None = None
        self.layout = layout
        self.sent: Values = (*values, None)
        # The value of Mcp-Session-Id.
        self.session = self.sent[layout.session]
        # The revision that MCP-Protocol-Version names, the default without that header, or None for
        # an unknown one; and whether it belongs to the stateless era. An unknown revision is taken
        # for a newer one, so it counts as stateless.
        version = self.sent[layout.version]
        self.revision, self.stateless = _REVISIONS.get(version) or _named(version)
        # Whether a message with this head is known to be admitted; see `AdmittedHeads`.
        self.welcome = False

    def with_length(self, length: bytes, session: bytes | None) -> "Head":
        """Copy with another Content-Length and session id.

        Only for a head without repeated names that has the header of each value given."""
        other, place = self.with_session(session), self.layout.length
        other.sent = (*self.sent[:place], length, *self.sent[place + 1 :])
        return other

    def with_session(self, session: bytes | None) -> "Head":
        """Copy with another session id, for a head without repeated names."""
        other = _new(Head)
        other.session = session
        # Still holds the session id of the original; `raw` replaces it.
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
        """Bytes of all names and values; only for a head without repeated names."""
        return self.layout.size + sum(map(len, self.raw.values()))

    @property
    def raw(self) -> Mapping[bytes, bytes]:
        """Values as received, by lowercase name. Read-only: requests may share a head."""
        if self._raw is None:
            pairs = zip(self.layout.names, self.sent)  # noqa: B905 - `sent` has None at the end
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
        """Return a header's value by its lowercase name, or None."""
        value = self.raw.get(name)
        return None if value is None else value.decode("latin-1").strip(" \t")

    @property
    def length(self) -> int:
        """Content-Length of a head that is `welcome`, in bytes."""
        return int(self.sent[self.layout.length] or 0)

    def needs_envelope(self, method: str) -> bool:
        """Return whether `_meta` must identify the caller, as in the stateless era.

        `initialize` of a client of an unknown, newer revision needs no envelope."""
        revision = self.revision
        return method != "initialize" if revision is None else not revision.handshake

    # Comparison with the body

    def agrees(self, version: object, method: str, params: object) -> bool:
        """Return whether an equal body was compared before and agreed; if not, check it."""
        found = self._agreed
        if found is None or params is None:
            return False
        known_version, known_method, member, value = found
        return (
            known_method == method
            and known_version == version
            and (member is None or getattr(params, member) == value)
        )

    def check_version(self, meta: RequestMeta) -> None:
        """Compare the version in the body with the header.

        Raises:
            HeaderMismatch: they differ. Not for an incomplete envelope, which is refused later for
                what it lacks.
        """
        revision = self.revision
        if revision is not None and revision.date == meta.version and self.layout.version >= 0:
            return
        if meta.capabilities is not UNSET and self.text(VERSION) != meta.version:
            raise HeaderMismatch("MCP-Protocol-Version", self.text(VERSION), str(meta.version))

    def check_route(self, version: object, method: str, params: object) -> None:
        """Compare Mcp-Method and Mcp-Name with the body, whose version was compared before.

        Raises:
            HeaderMismatch: one of them differs, or was repeated.
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
        """Refuse repeated headers that mirror the body: a proxy may use one value, we the other.

        Raises:
            HeaderMismatch: a header that repeats the body was sent more than once.
        """
        name = min(filter(repeats_body, self.repeated), default=None)
        if name is not None:
            shown_name = _SHOWN.get(name) or name.decode("latin-1")
            raise HeaderMismatch(shown_name, None, None, "was sent more than once")


_SHOWN: Final = {VERSION: "MCP-Protocol-Version", METHOD: "Mcp-Method", NAME: "Mcp-Name"}
_NONE: Final[frozenset[bytes]] = frozenset()
_EMPTY: Final[tuple[Names, Names]] = ((), ())
# A revision, or None for an unknown one, and whether it is of the stateless era.
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
    """Return whether a name needs no encoding in a header. Most do not."""
    return (name.isidentifier() and name.isascii()) or _PLAIN.fullmatch(name) is not None


def compare(name: str, sent: str | None, expected: str) -> None:
    """Compare a header with the text that it repeats.

    Raises:
        HeaderMismatch: it is missing or differs.
    """
    try:
        if sent is not None and decoded(sent) == expected:
            return
    except ValueError as error:
        raise HeaderMismatch(name, sent, expected, str(error)) from None
    raise HeaderMismatch(name, sent, expected)


def listed(value: str) -> list[str]:
    """Split a header that is a comma-separated list.

    "A recipient MAY combine multiple field lines within a field section that have the same field
    name into one field line", with commas: so a repeated header and a combined one are equal."""
    parts = value.split(",") if '"' not in value else _outside_quotes(value)
    return [part for each in parts if (part := each.strip(" \t"))]


def _outside_quotes(value: str) -> list[str]:
    """Split at the commas outside of quoted strings, in linear time."""
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
    """Decode a header's value: plain, or Base64 between the sentinels.

    Raises:
        ValueError: invalid characters, or not canonical Base64 of UTF-8 between the sentinels.
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
