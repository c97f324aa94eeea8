"""A head that is known again says what a parser would find in it."""

from typing import Any

import httptools
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.protocol.known import Known, known

REQUEST = b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nX-B: c\r\n\r\n{}"
FIELDS = [(b"host", b"a"), (b"content-length", b"2"), (b"x-b", b"c")]


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


def head() -> Known:
    found = known(REQUEST, b"/mcp", FIELDS)
    assert found is not None
    return found


def test_another_body_has_another_length() -> None:
    data = REQUEST.replace(b": 2\r", b": 11\r").replace(b"{}", b'{"a": "bc"}')

    assert head().request(data) == (b"11", b'{"a": "bc"}')
    assert head().with_length(b"11") == (
        (b"host", b"a"), (b"content-length", b"11"), (b"x-b", b"c"),
    )  # fmt: skip


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

    assert known(twice, b"/mcp", [(b"host", b"a"), length, length]) is None
    assert known(long, b"/mcp", FIELDS) is None
    assert known(chunked, b"/mcp", [(b"host", b"a"), (b"transfer-encoding", b"chunked")]) is None


NAMES = st.sampled_from(
    ["Host", "Accept", "X-Y", "x-content-length", "Mcp-Name", "Content-lengths"]
)
VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=12)
SPELLINGS = st.sampled_from(["Content-Length: ", "content-length:", "CONTENT-LENGTH: \t"])


@given(
    st.lists(st.tuples(NAMES, VALUES), max_size=4),
    st.lists(st.tuples(NAMES, VALUES), max_size=4),
    SPELLINGS,
    st.binary(max_size=30),
    st.binary(max_size=120),
    st.binary(max_size=4),
)
def test_it_says_what_a_parser_finds(
    first: list[tuple[str, str]],
    last: list[tuple[str, str]],
    spelling: str,
    body: bytes,
    another: bytes,
    rest: bytes,
) -> None:
    def request(body: bytes) -> bytes:
        lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in first)]
        lines += [f"{spelling}{len(body)}", *(f"{name}: {value}" for name, value in last)]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    before = Parsed(request(body))
    found = known(request(body), before.url, before.fields)
    assert found is not None
    after = Parsed(request(another))

    assert after.requests == 1
    again = found.request(request(another))
    assert again is not None
    assert (found.with_length(again[0]), again[1]) == (tuple(after.fields), after.body)
    assert found.request(request(another) + b"x" + rest) is None
