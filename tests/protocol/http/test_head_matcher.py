"""A head that is known again says what a parser would find in it."""

from itertools import product
from typing import Any

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.protocol.http.head_matcher import HeadMatcher, head_matcher
from toolhaft.protocol.http.headers import Head

REQUEST = b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nX-B: c\r\n\r\n{}"
FIELDS = [(b"host", b"a"), (b"content-length", b"2"), (b"x-b", b"c")]
OF_A_SESSION = REQUEST.replace(b"X-B: c", b"X-B: c\r\nMCP-Session-Id: one")
SESSION = (b"mcp-session-id", b"one")


class Parsed:
    """What httptools finds."""

    def __init__(self, data: bytes) -> None:
        self.url = self.body = b""
        self.fields: list[tuple[bytes, bytes]] = []
        self.requests = 0
        self.parser: Any = httptools.HttpRequestParser(self)
        self.parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.fields.append((name.lower(), value))

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.requests += 1


def head(data: bytes = REQUEST, *more: tuple[bytes, bytes]) -> HeadMatcher:
    found = head_matcher(data, Head([*FIELDS, *more]))
    assert found is not None
    return found


def pairs(found: tuple[Head, bytes] | None) -> tuple[list[tuple[bytes, bytes]], bytes]:
    assert found is not None
    return list(found[0].raw.items()), found[1]


def test_another_body_has_another_length() -> None:
    data = REQUEST.replace(b": 2\r", b": 11\r").replace(b"{}", b'{"a": "bc"}')
    known_again = head()

    for _ in range(2):  # the second one has the length of the one before
        assert pairs(known_again.request(data)) == (
            [(b"host", b"a"), (b"content-length", b"11"), (b"x-b", b"c")],
            b'{"a": "bc"}',
        )
        assert pairs(known_again.request(REQUEST)) == (FIELDS, b"{}")


def test_the_same_body_is_of_another_session() -> None:
    known_again = head(OF_A_SESSION, SESSION)

    for session in (b"two", b"two", b"one", b"a-longer-one"):
        data = OF_A_SESSION.replace(b"one", session)
        found = known_again.request(data)
        assert found is not None
        assert (found[0].session, found[1]) == (session, b"{}")
        assert found[0]["mcp-session-id"] == session.decode()


def test_a_session_that_nobody_looks_up_is_not_known() -> None:
    version = (b"mcp-protocol-version", b"2026-07-28")
    data = OF_A_SESSION.replace(b"X-B", b"MCP-Protocol-Version: 2026-07-28\r\nX-B")
    known_again = head(data, version, SESSION)

    assert known_again.request(data.replace(b"one", b"t\rw")) is None
    assert known_again.request(data) is not None


def test_a_head_with_a_session_is_not_known_without_it() -> None:
    others = [
        OF_A_SESSION.replace(b"one", b"x" * 200),
        OF_A_SESSION.replace(b"MCP-Session-Id: one\r\n", b""),
        OF_A_SESSION.replace(b"one", b"two\r\nX-C: d"),
        OF_A_SESSION.replace(b": 2\r", b": x\r"),
        OF_A_SESSION[:-8],
    ]

    assert [head(OF_A_SESSION, SESSION).request(other) for other in others] == [None] * len(others)
    assert head().request(OF_A_SESSION) is None


def test_what_stands_between_the_length_and_the_session_is_compared() -> None:
    longer = OF_A_SESSION.replace(b": 2\r", b": 3\r") + b" "
    known_again = head(OF_A_SESSION, SESSION)

    assert known_again.request(longer.replace(b"X-B: c", b"X-B: d")) is None
    assert known_again.request(longer.replace(b"X-B: c", b"X-B: c\r\nX-C: d")) is None
    assert known_again.request(longer) is not None


FIRST = REQUEST.replace(b"Host: a", b"Mcp-Session-Id: one\r\nHost: a")


@pytest.mark.parametrize(
    ("data", "fields"),
    [(OF_A_SESSION, [*FIELDS, SESSION]), (FIRST, [SESSION, *FIELDS])],
    ids=["length first", "session first"],
)
def test_another_session_has_the_length_that_it_tells(
    data: bytes, fields: list[tuple[bytes, bytes]]
) -> None:
    bodies = [data]  # and others, one of whose lengths is longer itself
    bodies += [data.replace(b": 2\r", b": %d\r" % size) + b" " * (size - 2) for size in (3, 10)]
    known_again = head_matcher(data, Head(fields))
    assert known_again is not None

    for last, other in product(bodies, bodies):
        turned = other.replace(b"one", b"two")
        assert known_again.request(last) is not None
        # What counts is what its own head says, not how long the one before was.
        for size in (-8, -7, -1, 1, 7, 8):
            cut = turned[:size] if size < 0 else turned + b" " * size
            assert known_again.request(cut) is None
        found = known_again.request(turned)
        assert found is not None
        assert (found[0].session, found[0].length) == (b"two", len(found[1]))


def test_places_move_with_the_length() -> None:
    """The session stands behind it, and is found there without a look at the length."""
    longer = OF_A_SESSION.replace(b": 2\r", b": 10\r") + b" " * 8
    known_again = head(OF_A_SESSION, SESSION)
    assert known_again.request(longer) is not None

    found = known_again.request(longer.replace(b"one", b"cue"))

    assert found is not None
    assert found[0].session == b"cue"


def test_what_differs_in_anything_else_is_not_known() -> None:
    others = [
        REQUEST[:-1],
        REQUEST + b"P",
        REQUEST.replace(b"/mcp", b"/mcq"),
        REQUEST.replace(b"X-B: c", b"X-B: d"),
        REQUEST.replace(b"Content", b"content"),
        REQUEST.replace(b": 2\r", b": 3\r"),
        REQUEST.replace(b": 2\r", b": \r"),
        REQUEST.replace(b": 2\r", b": +2\r"),
        REQUEST.replace(b": 2\r", b": 2 \r"),
        REQUEST.replace(b": 2\r", b": 2, 2\r"),
        REQUEST.replace(b": 2\r", b": 0000000000000000000002\r"),
        b"\r\n" + REQUEST,
        REQUEST[:40],
        REQUEST[: REQUEST.index(b"2") + 1],
        b"",
    ]

    assert [head().request(other) for other in others] == [None] * len(others)


def test_some_heads_are_not_remembered() -> None:
    twice = REQUEST.replace(b"X-B: c", b"Content-Length: 2")
    long = REQUEST.replace(b"X-B: c", b"X-B: " + b"c" * 2000)
    chunked = REQUEST.replace(b"Content-Length: 2", b"Transfer-Encoding: chunked")
    length = (b"content-length", b"2")
    strange = OF_A_SESSION.replace(b"one", b"o ne")

    assert head_matcher(twice, Head([(b"host", b"a"), length, length])) is None
    assert head_matcher(long, Head(FIELDS)) is None
    assert (
        head_matcher(chunked, Head([(b"host", b"a"), (b"transfer-encoding", b"chunked")])) is None
    )
    assert head_matcher(OF_A_SESSION, Head([*FIELDS, SESSION, SESSION])) is None
    assert head_matcher(strange, Head([*FIELDS, (b"mcp-session-id", b"o ne")])) is None


NAMES = st.sampled_from(
    ["Host", "Accept", "X-Y", "x-content-length", "Mcp-Name", "Content-lengths"]
)
VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=12)
SESSIONS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)
SPELLINGS = st.sampled_from(["Content-Length: ", "content-length:", "CONTENT-LENGTH: \t"])


@given(
    st.lists(st.tuples(NAMES, VALUES), max_size=4, unique_by=lambda pair: pair[0].lower()),
    st.sampled_from([[], ["Mcp-Session-Id: {}"], ["mcp-session-id:{}"]]),
    st.integers(0, 5),
    SPELLINGS,
    st.lists(st.tuples(st.binary(max_size=120), SESSIONS), min_size=2, max_size=5),
    st.binary(max_size=4),
)
def test_it_says_what_a_parser_finds(
    others: list[tuple[str, str]],
    sessions: list[str],
    place: int,
    spelling: str,
    requests: list[tuple[bytes, str]],
    rest: bytes,
) -> None:
    def request(body: bytes, session: str) -> bytes:
        lines = [f"{name}: {value}" for name, value in others]
        lines[place:place] = [f"{spelling}{len(body)}"]
        lines[place // 2 : place // 2] = [line.format(session) for line in sessions]
        return "\r\n".join(["POST /mcp HTTP/1.1", *lines]).encode() + b"\r\n\r\n" + body

    first = request(*requests[0])
    found = head_matcher(first, Head(Parsed(first).fields))
    assert found is not None

    for body, session in requests:
        data = request(body, session)
        parsed = Parsed(data)
        assert parsed.requests == 1
        assert pairs(found.request(data)) == (parsed.fields, parsed.body)
        assert found.request(data + b"x" + rest) is None
