"""Headers of requests, one after the other: what is known again is what would be let in anyway.

`protocol/http/headers.py` looks headers up by where they stand among all names, and remembers that;
`HeadCache` lets in without a word who was let in before. Both are held against the plain way.
"""

import json
from collections.abc import Iterator

from tests.fuzz import frames

from toolhaft.errors import HeaderMismatch
from toolhaft.protocol.http.head_cache import HeadCache
from toolhaft.protocol.http.headers import (
    LONGEST_HEADERS,
    METHOD,
    MOST_HEADERS,
    NAME,
    SESSION,
    VERSION,
    Fields,
    Head,
    decoded,
)
from toolhaft.protocol.http.rules import OriginPolicy, unreadable
from toolhaft.protocol.revisions import REVISIONS
from toolhaft.types.tools import CallToolParams

LONGEST_BODY = 1000
_ONCE = (METHOD, NAME, VERSION)
_METHODS = ("tools/call", "ping")
_PARAMS = tuple(CallToolParams(name=name) for name in ("add", "a b", "\u00e9", ""))


def meet(data: bytes) -> None:
    """The heads of requests, a header per line, with an empty line between them.

    Nothing is remembered of earlier inputs, so that an input alone shows what is wrong.
    """
    regulars, doors = HeadCache(LONGEST_BODY), OriginPolicy()
    for lines in data.split(b"\n\n"):
        fields = [field(line) for line in lines.split(b"\n")]
        head = regulars.meet(fields)
        plain = _plain(fields)
        _check_lookup(head, fields, plain)
        _check_routes(head, fields, plain)
        refusal = OriginPolicy().refusal(Head(fields)) or unreadable(Head(fields), LONGEST_BODY)
        assert doors.refusal(head) == OriginPolicy().refusal(Head(fields)), (
            "it depends on who came before"
        )
        if head.welcome:
            assert refusal is None, f"known again, though it is refused: {refusal}"
            assert b"origin" not in plain, "a page goes without a word"
            assert 0 <= int(plain[b"content-length"]) <= LONGEST_BODY
        elif refusal is None:
            regulars.remember(head)


def field(line: bytes) -> tuple[bytes, bytes]:
    """A header as servers give it: the name in lower case."""
    name, _, value = line.partition(b":")
    return name.strip().lower(), value.strip(b" ")


def _plain(fields: Fields) -> dict[bytes, bytes]:
    """All headers by their names, one by one."""
    values: dict[bytes, list[bytes]] = {}
    for name, value in fields:
        values.setdefault(name, []).append(value)
    return {name: b", ".join(each) for name, each in values.items()}


def _check_lookup(head: Head, fields: Fields, plain: dict[bytes, bytes]) -> None:
    """Each header is where it is sought."""
    names = [name for name, _ in fields]
    assert dict(head.raw) == plain
    assert head.repeated == {name for name in names if names.count(name) > 1}
    size = sum(len(name) + len(value) for name, value in fields)
    assert head.fits is (size <= LONGEST_HEADERS and len(fields) <= MOST_HEADERS)
    assert head.repeated or head.size == size
    assert head.session == plain.get(SESSION)
    version = plain.get(VERSION)
    date = None if version is None else version.strip(b" \t").decode("latin-1")
    if date in REVISIONS:
        assert head.revision is REVISIONS[date]
        assert head.stateless is not REVISIONS[date].handshake
    else:
        assert head.stateless is (version is not None)


def _check_routes(head: Head, fields: Fields, plain: dict[bytes, bytes]) -> None:
    """A request is routed by its headers just if they say what its body says, once."""
    names = [name for name, _ in fields if name in _ONCE or name.startswith(b"mcp-param-")]
    once = len(names) == len(set(names))
    for method in _METHODS:
        for params in _PARAMS:
            same = once and _said(plain, METHOD) == method
            if same and method == "tools/call":
                same = _same_name(_said(plain, NAME), params.name)
            assert not head.agrees("another", method, params), "it was never compared"
            if head.agrees("any", method, params):
                assert same, f"{method} {params.name!r} is taken for what came before"
            try:
                head.check_route("any", method, params)
            except HeaderMismatch:
                assert not same, f"{method} {params.name!r} is refused"
            else:
                assert same, f"{method} {params.name!r} is let through"


def _said(plain: dict[bytes, bytes], name: bytes) -> str | None:
    value = plain.get(name)
    return None if value is None else value.decode("latin-1").strip(" \t")


def _same_name(sent: str | None, name: str) -> bool:
    try:
        return sent is not None and decoded(sent) == name
    except ValueError:
        return False


def heads() -> Iterator[bytes]:
    """What clients send: alone, again, and changed a little."""
    ordinary = {
        "host": "localhost",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "add",
        "content-length": "100",
    }
    session = {**ordinary, "mcp-protocol-version": "2025-11-25", "mcp-session-id": "abc"}
    for changes in (
        {},
        {"content-length": "1001"},
        {"host": "evil.com"},
        {"origin": "http://localhost:3000"},
        {"transfer-encoding": "chunked"},
        {"content-encoding": "gzip"},
        {"authorization": "Bearer x"},
        {"mcp-name": "=?base64?YSBi?="},
        {"mcp-method": "ping"},
    ):
        for first in (ordinary, session):
            second = {**first, **changes}
            yield b"\n\n".join(map(_text, (first, first, second, second)))
            yield _text(dict(reversed(second.items()))) + b"\n\n" + _text(second)
    yield _text(ordinary) + b"\n\n" + _text(ordinary) + b"\nhost: localhost"
    yield json.dumps(frames.STATELESS).encode()


def _text(fields: dict[str, str]) -> bytes:
    return "\n".join(f"{name}: {value}" for name, value in fields.items()).encode()
