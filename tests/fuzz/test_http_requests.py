"""Whatever headers and bytes come in over HTTP, the rules give an answer, and never raise."""

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.targets import check_refusal

from toolhaft.encoding.envelope import decode
from toolhaft.errors import HeaderMismatch
from toolhaft.protocol.calls import Answer, Batch, Call, Cancel, Notice, Reply
from toolhaft.protocol.handshake import Session
from toolhaft.protocol.http.head_cache import HeadCache
from toolhaft.protocol.http.headers import Fields, Head, compare, decoded
from toolhaft.protocol.http.rules import (
    OriginPolicy,
    cors,
    preflight,
    status_of,
    takes,
    unreadable,
)
from toolhaft.protocol.peer import Peer
from toolhaft.protocol.revisions import REVISIONS
from toolhaft.types.wire import Implementation

RUNS = 5
REQUESTS_PER_RUN = 4000

NAMES = [
    b"host", b"origin", b"authorization", b"content-type", b"content-length", b"content-encoding",
    b"transfer-encoding", b"accept", b"mcp-protocol-version", b"mcp-session-id", b"mcp-method",
    b"mcp-name", b"mcp-param-region", b"last-event-id", b"cookie", b"x-\xff", b"",
]  # fmt: skip
VALUES = [
    b"", b" ", b"localhost", b"127.0.0.1:8000", b"[::1]:80", b"evil.com", b"http://localhost",
    b"https://evil.com", b"null", b"*", b"application/json", b"application/json; charset=utf-8",
    b"text/event-stream", b"*/*", b"application/json, text/event-stream", b"gzip", b"chunked",
    b"identity", b"0", b"17", b"99999999999999999999", b"-1", b"2026-07-28", b"2025-11-25",
    b"2025-03-26", b"2099-01-01", b"tools/call", b"tools/list", b"resources/read", b"add",
    b"=?base64?YWRk?=", b"=?base64?YWRk", b"=?base64?/w==?=", b"=?base64??=", b"1-1", b"\x00",
    b"\xff\xfe", b"\xed\xa0\x80", b"a" * 300, b"\t2026-07-28 ", b"\r\n",
]  # fmt: skip
TOKENS = [b"\x00", b"\xff", b" ", b",", b";", b"=", b"?", b":", b"/", b"@", b"[", b"]", b"%", b"9"]
METHODS = ["tools/call", "tools/list", "resources/read", "initialize", "ping", "no/such"]
ENVELOPES: list[Any] = [
    None,
    {},
    {"io.modelcontextprotocol/protocolVersion": "2026-07-28"},
    {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    },
    {
        "io.modelcontextprotocol/protocolVersion": "2099-01-01",
        "io.modelcontextprotocol/clientCapabilities": {},
    },
    {"io.modelcontextprotocol/protocolVersion": 3},
]


def _value(chance: random.Random) -> bytes:
    value = bytearray(chance.choice(VALUES))
    if chance.random() < 0.3:
        place = chance.randrange(len(value) + 1)
        value[place:place] = chance.choice(TOKENS)
    if value and chance.random() < 0.1:
        value[chance.randrange(len(value))] ^= 1 << chance.randrange(8)
    return bytes(value)


def _fields(chance: random.Random) -> Fields:
    """Often nearly right, so that every rung of the ladder is reached."""
    fields = {
        b"host": b"localhost",
        b"content-type": b"application/json",
        b"mcp-protocol-version": chance.choice((b"2026-07-28", b"2026-07-28", b"2099-01-01")),
        b"mcp-method": chance.choice(METHODS).encode(),
        b"mcp-name": b"add",
    }
    changed = list(fields.items())
    more = range(chance.choice((0, 1, 1, 2, 5)))
    changed += [(chance.choice(NAMES), _value(chance)) for _ in more]
    if chance.random() < 0.8:  # the last one stands
        changed = list(dict(changed).items())
    if chance.random() < 0.3:
        del changed[chance.randrange(len(changed))]
    return changed


def _body(chance: random.Random) -> bytes:
    params: Any = {"name": "add", "uri": "add", "protocolVersion": "x", "capabilities": {}}
    meta = chance.choice(ENVELOPES)
    if meta is not None:
        params["_meta"] = meta
    message = {"jsonrpc": "2.0", "id": 1, "method": chance.choice(METHODS), "params": params}
    if chance.random() < 0.1:
        del message["id"]
    body = bytearray(json.dumps([message] if chance.random() < 0.05 else message).encode())
    if chance.random() < 0.3:
        place = chance.randrange(len(body))
        body[place : place + chance.choice((0, 1, 3))] = chance.choice(
            (b"", b"\\ud800", b"\xff", b'"', b"{", b"1e999", b"null", b"\\u0000", b"\xed\xa0\x80")
        )
    return bytes(body)


def _peer(chance: random.Random) -> Peer:
    info = Implementation(name="fuzzed", version="1")
    if chance.random() < 0.5:
        return Peer(info)
    revision = REVISIONS[chance.choice(["2025-03-26", "2025-11-25"])]
    return Peer(info, session=Session.assumed(revision, None))


@pytest.mark.parametrize("seed", range(RUNS))
def test_no_request_makes_the_rules_raise(seed: int) -> None:
    chance = random.Random(seed)
    doors = OriginPolicy(origins=["https://my.example"])
    regulars = HeadCache(1000)
    seen: dict[str, int] = {}
    codes: set[int] = set()
    for number in range(REQUESTS_PER_RUN):
        fields, body = _fields(chance), _body(chance)
        try:
            head = regulars.meet(fields)
            refusals = doors.refusal(Head(fields)), unreadable(Head(fields), 1000)
            check_refusal(refusals[0])
            check_refusal(refusals[1])
            if refusals == (None, None):
                regulars.remember(head)
            else:
                assert not head.welcome
            event = _peer(chance).take(decode(body), None, head)
            assert isinstance(event, Answer | Batch | Call | Cancel | Notice | Reply)
            if isinstance(event, Reply):
                codes.add(event.error.code)
                json.loads(event.frame)
                for stateless in (True, False):
                    status = status_of(event.error, stateless=stateless, by_protocol=True)
                    assert status in (200, 400, 404)
        except BaseException as error:
            pytest.fail(f"{type(error).__name__}: {error}; {number}: {fields!r} {body!r}")
        seen[type(event).__name__] = seen.get(type(event).__name__, 0) + 1

    # The requests are of use only if they lead everywhere.
    assert {"Call", "Reply", "Notice", "Batch"} <= set(seen)
    assert {-32700, -32600, -32601, -32602, -32020, -32022} <= codes


names = st.sampled_from(NAMES) | st.binary(max_size=8).map(bytes.lower)
values = st.sampled_from(VALUES) | st.binary(max_size=40)
heads = st.lists(st.tuples(names, values), max_size=12)
allowed = st.lists(st.text(max_size=10), max_size=3)


@settings(max_examples=150, deadline=None)
@given(heads)
def test_any_bytes_are_headers(fields: Fields) -> None:
    head = Head(fields)

    assert set(head) == {name.decode("latin-1") for name, _ in fields}
    assert len(head) == len({name for name, _ in fields})
    for name in head:
        assert not name.isascii() or head[name] == head[name.upper()]


@settings(max_examples=150, deadline=None)
@given(heads, allowed, allowed)
def test_any_headers_are_let_in_or_refused(
    fields: Fields, hosts: list[str], origins: list[str]
) -> None:
    head = Head(fields)
    first = OriginPolicy(hosts, origins).refusal(head)
    doors = OriginPolicy(hosts, origins)

    check_refusal(first)
    assert doors.refusal(head) == doors.refusal(head) == first


@settings(max_examples=150, deadline=None)
@given(heads)
def test_any_headers_have_a_body_or_none(fields: Fields) -> None:
    check_refusal(unreadable(Head(fields), 100))


@settings(max_examples=250, deadline=None)
@given(st.text(max_size=60) | st.text("=?base64?AQgw+/", max_size=30))
def test_any_value_is_decoded_or_refused(value: str) -> None:
    try:
        text = decoded(value)
    except ValueError:
        return

    assert text == value or (value.startswith("=?base64?") and value.endswith("?="))


@settings(max_examples=150, deadline=None)
@given(st.none() | st.text(max_size=60), st.text(max_size=60))
def test_any_two_values_are_compared(sent: str | None, expected: str) -> None:
    try:
        compare("X", sent, expected)
    except HeaderMismatch:
        return

    assert sent is not None


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(max_codepoint=255)))
def test_any_page_is_answered_with_good_headers(text: str) -> None:
    for name, value in [*cors(text), *preflight(text)]:
        assert isinstance(name, bytes)
        assert isinstance(value, bytes)


@settings(max_examples=150, deadline=None)
@given(st.none() | st.binary(max_size=60), st.sampled_from([b"application/json", b"text/x"]))
def test_any_wish_takes_a_kind_or_not(accept: bytes | None, media: bytes) -> None:
    assert takes(accept, media) in (True, False)
