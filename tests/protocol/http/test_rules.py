"""The rules of HTTP as values: who is let in, which bodies are read, what headers must repeat."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.encoding.envelope import decode
from toolhaft.errors import (
    HeaderMismatch,
    InternalError,
    InvalidParams,
    InvalidRequest,
    McpError,
    MethodNotFound,
    MissingCapability,
    NotFound,
    ParseError,
    UnsupportedVersion,
)
from toolhaft.protocol.calls import Call, Reply
from toolhaft.protocol.http.headers import Head, compare, decoded
from toolhaft.protocol.http.rules import (
    OriginPolicy,
    Refused,
    cors,
    preflight,
    refused,
    status_of,
    takes,
    too_long,
    unreadable,
)
from toolhaft.protocol.peer import Peer
from toolhaft.types.wire import Implementation


def head(**fields: str) -> Head:
    return Head(
        [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()]
    )


def message_of(refusal: Refused | None) -> str:
    assert refusal is not None
    message: str = json.loads(refusal.body)["error"]["message"]
    return message


def status(refusal: Refused | None) -> int | None:
    return None if refusal is None else refusal.status


# Headers


def test_a_header_is_found_in_any_case() -> None:
    assert [head(x_a="1")[name] for name in ("x-a", "X-A", "X-a")] == ["1", "1", "1"]


def test_blanks_around_a_value_do_not_count() -> None:
    assert head(x_a=" \t1 2\t ")["x-a"] == "1 2"


def test_a_header_that_is_not_there_is_missing() -> None:
    with pytest.raises(KeyError):
        head(x_a="1")["x-b"]


def test_headers_are_a_mapping() -> None:
    assert dict(head(x_a="1", x_b="2")) == {"x-a": "1", "x-b": "2"}


def test_a_header_that_came_more_than_once_is_joined() -> None:
    several = Head([(b"x-a", b"1"), (b"x-b", b"2"), (b"x-a", b"3")])

    assert dict(several) == {"x-a": "1, 3", "x-b": "2"}
    assert several.repeated == {b"x-a"}


def test_bytes_that_are_not_ascii_are_read_one_by_one() -> None:
    assert Head([(b"x-a", "é".encode())])["x-a"] == "Ã©"


class Counted(bytes):
    """Counts how often names are compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return bytes.__eq__(self, other)

    __hash__ = bytes.__hash__


def test_many_headers_of_which_some_repeat_are_no_more_work_than_others() -> None:
    Counted.compared = 0
    Head([(Counted(b"x-%d" % (number // 2)), b"x") for number in range(2000)])

    assert Counted.compared < 20_000


@pytest.mark.parametrize(
    ("version", "date"),
    [
        ("2026-07-28", "2026-07-28"),
        (" 2025-11-25\t", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2024-11-05"),
    ],
)
def test_a_version_is_known_by_its_date(version: str, date: str) -> None:
    revision = head(mcp_protocol_version=version).revision

    assert revision is not None
    assert revision.date == date


def test_silence_stands_for_the_revision_before_the_header() -> None:
    revision = head().revision

    assert revision is not None
    assert revision.date == "2025-03-26"


@pytest.mark.parametrize("version", ["", "2099-01-01", "2025-11-25, 2025-11-25", "\xff", "v1"])
def test_any_other_version_is_unknown(version: str) -> None:
    assert head(mcp_protocol_version=version).revision is None


@pytest.mark.parametrize(
    ("version", "stateless"),
    [(None, False), ("2025-11-25", False), ("2026-07-28", True), ("2099-01-01", True)],
)
def test_the_version_says_the_era(version: str | None, stateless: bool) -> None:
    said = {} if version is None else {"mcp_protocol_version": version}

    assert head(**said).stateless is stateless


# OriginPolicy: by which name we are called


OURS = [
    "localhost",
    "localhost:8000",
    "LOCALHOST:1",
    "127.0.0.1",
    "127.0.0.1:65535",
    "[::1]",
    "[::1]:8000",
]
NOT_OURS = [
    "",
    "evil.com",
    "evil.com:8000",
    "localhost.evil.com",
    "localhost.",
    "127.0.0.1.evil.com",
    "127.0.0.1:8000/x?",
    "127.0.0.1:8000x",
    "127.0.0.1:99999x",
    "127.0.0.1:-1",
    "127.0.0.1:",
    "127.0.0.1:123456",
    "localhost:1@evil.com",
    "evil.com@localhost",
    "localhost#evil.com",
    "localhost/",
    "localhost\\@evil.com",
    "localhost evil.com",
    "localhost, evil.com",
    "localhost\x00",
    "localhost\n",
    "::1",
    "[::1",
    "[::1]x",
    "[::1]:x",
    "127.1",
    "0x7f.0.0.1",
    "2130706433",
    "[::ffff:127.0.0.1]",
    "http://localhost",
    "%6cocalhost",
    "ⓛocalhost",
]


@pytest.mark.parametrize("host", OURS)
def test_this_machine_is_let_in_by_its_names(host: str) -> None:
    assert OriginPolicy().refusal(head(host=host)) is None


@pytest.mark.parametrize("host", NOT_OURS)
def test_any_other_name_is_misdirected(host: str) -> None:
    assert status(OriginPolicy().refusal(head(host=host))) == 421


def test_a_request_without_a_name_is_misdirected() -> None:
    assert status(OriginPolicy().refusal(head())) == 421


def test_a_request_without_a_name_is_told_to_send_one() -> None:
    message = message_of(OriginPolicy().refusal(head()))

    assert message.startswith("the header Host is missing; send the name")
    assert "allow_hosts" not in message


@pytest.mark.parametrize("host", ["a b", "http://localhost", "localhost:port"])
def test_what_is_no_name_is_not_suggested_as_one(host: str) -> None:
    message = message_of(OriginPolicy().refusal(head(host=host)))

    assert message.startswith(f"the header Host names no host: {host!r}")
    assert "allow_hosts" not in message


@pytest.mark.parametrize("origin", ["", "evil.example"])
def test_what_is_no_origin_is_not_suggested_as_one(origin: str) -> None:
    message = message_of(OriginPolicy().refusal(head(host="localhost", origin=origin)))

    assert "https://example.com" in message
    assert "allow_origins" not in message


def test_the_refusal_of_a_name_says_what_to_set() -> None:
    message = message_of(OriginPolicy().refusal(head(host="my.example:8000")))

    assert message == (
        "this server does not answer as 'my.example:8000'; if it should, add it: "
        "allow_hosts=['my.example:8000'], or --allow-host on the command line"
    )


@pytest.mark.parametrize(
    ("allowed", "host"),
    [
        ("my.example", "my.example"),
        ("my.example", "my.example:8000"),
        ("My.Example", "mY.eXAMPLE:1"),
        ("my.example:8000", "my.example:8000"),
        ("[2001:DB8::1]", "[2001:db8::1]:80"),
        ("10.0.0.1", "10.0.0.1:80"),
        ("*", "anything.at.all:1"),
    ],
)
def test_a_name_that_is_allowed_is_let_in(allowed: str, host: str) -> None:
    assert OriginPolicy([allowed]).refusal(head(host=host)) is None


@pytest.mark.parametrize(
    ("allowed", "host"),
    [
        ("my.example", "sub.my.example"),
        ("my.example", "my.example.evil.com"),
        ("my.example:8000", "my.example"),
        ("my.example:8000", "my.example:8001"),
        ("my.example:none", "my.example"),
        ("*.example", "my.example"),
        ("*", "not a name"),
        ("*", ""),
    ],
)
def test_a_name_that_is_not_quite_allowed_is_misdirected(allowed: str, host: str) -> None:
    assert status(OriginPolicy([allowed]).refusal(head(host=host))) == 421


def test_what_the_refusal_suggests_is_what_lets_in() -> None:
    refusal = OriginPolicy().refusal(head(host="my.example:8000"))
    suggested = message_of(refusal).partition("allow_hosts=['")[2].partition("']")[0]

    assert OriginPolicy([suggested]).refusal(head(host="my.example:8000")) is None


def test_a_long_name_is_not_told_in_full() -> None:
    assert len(message_of(OriginPolicy().refusal(head(host="x" * 5000)))) < 600


# OriginPolicy: whose pages


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", OURS)
def test_pages_of_this_machine_are_let_in(scheme: str, host: str) -> None:
    assert OriginPolicy().refusal(head(host="localhost", origin=f"{scheme}://{host}")) is None


@pytest.mark.parametrize(
    "origin",
    [
        *(f"http://{host}" for host in NOT_OURS),
        *("", "null", "localhost", "//localhost", "http:localhost", "http:/localhost"),
        *("ftp://localhost", "file://localhost", "javascript://localhost", "file://"),
        *("http://localhost/", "http://user@localhost", "xhttp://localhost", "http://"),
        "http://localhost http://localhost",
    ],
)
def test_pages_of_others_are_forbidden(origin: str) -> None:
    assert status(OriginPolicy().refusal(head(host="localhost", origin=origin))) == 403


def test_the_refusal_of_a_page_says_what_to_set() -> None:
    refusal = OriginPolicy().refusal(head(host="localhost", origin="https://my.example"))

    assert message_of(refusal) == (
        "pages of 'https://my.example' may not use this server; if they should, add it: "
        "allow_origins=['https://my.example'], or --allow-origin on the command line"
    )


def test_the_refusal_of_an_opaque_origin_does_not_suggest_to_admit_all_of_them() -> None:
    refusal = OriginPolicy().refusal(head(host="localhost", origin="null"))

    assert message_of(refusal) == (
        "pages of 'null' may not use this server; they may be files, or sandboxed frames of any "
        "site: serve the page at an address"
    )


@pytest.mark.parametrize(
    ("allowed", "origin"),
    [
        ("https://my.example", "https://my.example"),
        ("https://My.Example/", "https://my.example"),
        ("http://my.example:8000", "http://my.example:8000"),
        ("null", "null"),
        ("*", "https://anything.example"),
        ("*", "null"),
        ("vscode-webview://abc", "vscode-webview://abc"),
    ],
)
def test_an_origin_that_is_allowed_is_let_in(allowed: str, origin: str) -> None:
    assert OriginPolicy(origins=[allowed]).refusal(head(host="localhost", origin=origin)) is None


@pytest.mark.parametrize(
    ("allowed", "origin"),
    [
        ("https://my.example", "http://my.example"),
        ("https://my.example", "https://my.example:8443"),
        ("https://my.example", "https://sub.my.example"),
        ("https://my.example", "https://my.example.evil.com"),
        ("https://*.example", "https://my.example"),
        ("my.example", "https://my.example"),
    ],
)
def test_an_origin_that_is_not_quite_allowed_is_forbidden(allowed: str, origin: str) -> None:
    refusal = OriginPolicy(origins=[allowed]).refusal(head(host="localhost", origin=origin))

    assert status(refusal) == 403


def test_pages_of_a_name_that_is_allowed_are_our_own() -> None:
    doors = OriginPolicy(["my.example"])

    assert doors.refusal(head(host="my.example", origin="https://my.example:444")) is None


def test_any_name_is_not_any_page() -> None:
    refusal = OriginPolicy(["*"]).refusal(head(host="my.example", origin="https://evil.com"))

    assert status(refusal) == 403


def test_who_was_let_in_before_lets_in_nobody_else() -> None:
    doors = OriginPolicy()
    doors.refusal(head(host="localhost"))
    doors.refusal(head(host="localhost", origin="http://localhost"))

    assert status(doors.refusal(head(host="localhost", origin="http://evil.com"))) == 403
    assert status(doors.refusal(head(host="evil.com", origin="http://localhost"))) == 421
    assert status(doors.refusal(head(host="evil.com"))) == 421


def test_who_was_let_in_before_may_not_say_it_twice() -> None:
    doors = OriginPolicy()
    doors.refusal(head(host="localhost"))
    refusal = doors.refusal(Head([(b"host", b"localhost"), (b"host", b"localhost")]))

    assert status(refusal) == 400


# OriginPolicy: what is repeated, and what is too much


@pytest.mark.parametrize(
    "name",
    [
        *("host", "origin", "authorization", "content-type", "content-length", "last-event-id"),
        *("content-encoding", "transfer-encoding", "mcp-session-id"),
        *("mcp-method", "mcp-name", "mcp-param-region"),
    ],
)
def test_a_header_by_which_requests_are_routed_comes_once(name: str) -> None:
    fields = [(b"host", b"localhost"), (name.encode(), b"x"), (name.encode(), b"x")]
    refusal = OriginPolicy().refusal(Head(fields))

    assert status(refusal) == 400
    assert message_of(refusal) == f"the header {name} was sent more than once"


@pytest.mark.parametrize("name", ["mcp-method", "mcp-name", "mcp-param-region"])
def test_of_a_request_with_an_envelope_a_header_that_repeats_the_body_is_judged_with_it(
    name: str,
) -> None:
    version = (b"mcp-protocol-version", b"2026-07-28")
    fields = [(b"host", b"localhost"), version, (name.encode(), b"x"), (name.encode(), b"x")]

    assert OriginPolicy().refusal(Head(fields)) is None


@pytest.mark.parametrize("name", ["accept", "cookie", "x-forwarded-for", "via"])
def test_other_headers_may_come_often(name: str) -> None:
    fields = [(b"host", b"localhost"), (name.encode(), b"x"), (name.encode(), b"y")]

    assert OriginPolicy().refusal(Head(fields)) is None


def many(count: int, size: int = 1) -> Head:
    return Head([(b"host", b"localhost"), *((b"x-%d" % n, b"x" * size) for n in range(count))])


def test_a_hundred_headers_are_read() -> None:
    assert OriginPolicy().refusal(many(99)) is None


def test_more_than_a_hundred_headers_are_too_many() -> None:
    assert status(OriginPolicy().refusal(many(100))) == 431


def test_headers_that_repeat_are_counted_one_by_one() -> None:
    fields = [(b"host", b"localhost"), *((b"x-a", b"x") for _ in range(100))]

    assert status(OriginPolicy().refusal(Head(fields))) == 431


def test_headers_of_32_kib_are_too_long() -> None:
    assert OriginPolicy().refusal(many(16, 2000)) is None
    assert status(OriginPolicy().refusal(many(17, 2000))) == 431


def test_the_names_of_headers_count_too() -> None:
    fields = [(b"host", b"localhost"), (b"x" * 33_000, b"")]

    assert status(OriginPolicy().refusal(Head(fields))) == 431


# Bodies


def body(**fields: str) -> Head:
    return head(**{"content_type": "application/json", "accept": "*/*", **fields})


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "Application/JSON",
        " application/json ",
    ],
)
def test_json_is_read(kind: str) -> None:
    assert unreadable(body(content_type=kind), 100) is None


@pytest.mark.parametrize(
    "kind",
    [
        *("", "application/jsonx", "xapplication/json", "application/json-rpc", "text/json"),
        *("text/plain", "text/plain; application/json", "multipart/form-data", "*/*"),
        *("application/x-www-form-urlencoded", "application/json, text/plain"),
    ],
)
def test_any_other_kind_is_not_read(kind: str) -> None:
    assert status(unreadable(body(content_type=kind), 100)) == 415


def test_a_body_without_a_kind_is_not_read() -> None:
    assert status(unreadable(head(accept="*/*"), 100)) == 415


@pytest.mark.parametrize(
    "accept",
    [
        *("application/json, text/event-stream", "text/event-stream,application/json", "*/*"),
        *("application/*, text/*", "application/json;q=0.9, text/event-stream;q=0.1"),
        *("APPLICATION/JSON, TEXT/EVENT-STREAM", "text/html, */*;q=0.8"),
    ],
)
def test_a_client_that_takes_both_forms_is_served(accept: str) -> None:
    assert unreadable(body(accept=accept), 100) is None


def test_a_client_that_says_nothing_takes_anything() -> None:
    assert unreadable(head(content_type="application/json"), 100) is None


@pytest.mark.parametrize(
    "accept",
    [
        *("", "application/json", "text/event-stream", "text/*", "application/*", "text/html"),
        *("application/jsonx, text/event-stream", "application/json, text/event-streamx"),
    ],
)
def test_a_client_that_takes_one_form_only_is_not_served(accept: str) -> None:
    assert status(unreadable(body(accept=accept), 100)) == 406


@pytest.mark.parametrize(
    ("accept", "media", "taken"),
    [
        (None, b"text/event-stream", True),
        (b"text/event-stream", b"text/event-stream", True),
        (b"text/*", b"text/event-stream", True),
        (b"application/*", b"text/event-stream", False),
        (b"text/event", b"text/event-stream", False),
        (b"*", b"text/event-stream", False),
    ],
)
def test_what_a_client_takes(accept: bytes | None, media: bytes, taken: bool) -> None:
    assert takes(accept, media) is taken


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "x", "", "identity, gzip"])
def test_a_body_that_is_packed_is_not_read(coding: str) -> None:
    assert status(unreadable(body(content_encoding=coding), 100)) == 415


def test_a_body_that_is_not_packed_may_say_so() -> None:
    assert unreadable(body(content_encoding="identity"), 100) is None


@pytest.mark.parametrize("length", ["0", "100", "00100"])
def test_a_body_of_a_good_length_is_read(length: str) -> None:
    assert unreadable(body(content_length=length), 100) is None


@pytest.mark.parametrize("length", ["101", "1000000000000", "9" * 19, "9" * 10_000])
def test_a_body_that_is_too_long_is_not_read(length: str) -> None:
    refusal = unreadable(body(content_length=length), 100)

    assert refusal == too_long(100)
    assert refusal.headers == ((b"connection", b"close"),)
    assert "at most 100 bytes" in message_of(refusal)


@pytest.mark.parametrize("length", ["", "-1", "+1", "1.0", "0x10", "1, 1", "1_0", "٣", "abc"])
def test_a_length_that_is_no_number_ends_the_connection(length: str) -> None:
    refusal = unreadable(body(content_length=length), 100)

    assert status(refusal) == 400
    assert refusal is not None
    assert refusal.headers == ((b"connection", b"close"),)


def test_two_ways_to_end_a_body_end_the_connection() -> None:
    refusal = unreadable(body(content_length="5", transfer_encoding="chunked"), 100)

    assert status(refusal) == 400
    assert refusal is not None
    assert refusal.headers == ((b"connection", b"close"),)


def test_a_body_in_chunks_is_read() -> None:
    assert unreadable(body(transfer_encoding="chunked"), 100) is None


# What is told


def test_a_refusal_is_an_error_of_json_rpc() -> None:
    assert json.loads(refused(400, "no", 3).body) == {
        "jsonrpc": "2.0",
        "id": 3,
        "error": {"code": -32600, "message": "no"},
    }


def test_a_refusal_without_an_id_has_none() -> None:
    assert "id" not in json.loads(refused(400, "no").body)


def test_a_refusal_has_headers() -> None:
    assert refused(503, "no", retry_after="1").headers == ((b"retry-after", b"1"),)


def test_a_page_may_read_the_session_and_the_challenge() -> None:
    assert cors("https://my.example") == [
        (b"access-control-allow-origin", b"https://my.example"),
        (b"access-control-expose-headers", b"Mcp-Session-Id, WWW-Authenticate"),
        (b"vary", b"Origin"),
    ]


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ("", b""),
        ("content-type", b"content-type"),
        ("Content-Type , ACCEPT", b"content-type, accept"),
        ("mcp-param-x,authorization,last-event-id", b"mcp-param-x, authorization, last-event-id"),
        ("x-api-key, cookie", b""),
    ],
)
def test_a_page_may_send_what_mcp_needs(asked: str, allowed: bytes) -> None:
    assert dict(preflight(asked))[b"access-control-allow-headers"] == allowed


# The sentinel


def sentinel(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


@given(st.text())
def test_any_text_comes_back_from_base64(text: str) -> None:
    assert decoded(sentinel(text)) == text


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)))
def test_visible_text_stands_for_itself(text: str) -> None:
    marked = text.startswith("=?base64?") and text.endswith("?=")

    assert marked or decoded(text) == text


@pytest.mark.parametrize(
    "value",
    [
        "",
        "plain",
        "=?base64?",
        "?=",
        "=?base64?=",
        "=?base64?eA==",
        "eA==?=",
        "=?BASE64?eA==?=",
        "=?Base64?eA==?=",
        "=?base64 ?eA==?=",
        " =?base64?eA==?=",
        "=?base64?eA==?= ",
        "=?utf-8?B?eA==?=",
        "with\ttab",
    ],
)
def test_what_is_not_marked_stands_for_itself(value: str) -> None:
    assert decoded(value) == value


@pytest.mark.parametrize(
    "inside",
    [
        "eA",
        "eA=",
        "eA===",
        "eA==eA==",
        "=eA=",
        "eB==",
        "eHg",
        "eHh=",
        "e A=",
        "eA==\t",
        "eA-_",
        "eA.=",
        "=",
        "====",
        "/w==",
        "wIA=",
        "7aCA",
    ],
)
def test_base64_has_one_right_form(inside: str) -> None:
    with pytest.raises(ValueError, match="Base64"):
        decoded(f"=?base64?{inside}?=")


@pytest.mark.parametrize("value", ["\x00", "a\nb", "a\rb", "\x7f", "é", "Ã©", "\x1f"])
def test_what_no_header_may_have_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="characters"):
        decoded(value)


def test_a_header_that_says_the_same_is_good() -> None:
    for sent in ("größe", "x", "", " x ", "=?base64?eA==?="):
        compare("X", sentinel(sent), sent)
    compare("X", "plain", "plain")


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (None, "Header mismatch: X is missing; the body says 'a'"),
        ("b", "Header mismatch: X is 'b'; the body says 'a'"),
        ("A", "Header mismatch: X is 'A'; the body says 'a'"),
        ("=?base64?YQ?=", "Header mismatch: X is not Base64 of UTF-8; the body says 'a'"),
    ],
)
def test_a_header_that_says_something_else_is_a_mismatch(sent: str | None, told: str) -> None:
    with pytest.raises(HeaderMismatch) as caught:
        compare("X", sent, "a")

    assert caught.value.message == told


# The ladder: which of several mistakes is told


VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT = "io.modelcontextprotocol/clientInfo"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META: dict[str, Any] = {VERSION: "2026-07-28", CAPABILITIES: {}}
GOOD = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call", "mcp_name": "t"}


def taken(
    headers: dict[str, Any], method: str = "tools/call", *, meta: Any = META, **params: Any
) -> int | str:
    """The code of the error, or the method of the call."""
    params = {"name": "t", **params}
    if meta is not None:
        params["_meta"] = meta
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    peer = Peer(Implementation(name="s", version="1"))
    sent = head(**{name: value for name, value in headers.items() if value is not None})
    event = peer.take(decode(json.dumps(message).encode()), None, sent)
    if isinstance(event, Reply):
        return event.error.code
    assert isinstance(event, Call)
    return event.method


def test_a_request_that_is_right_is_a_call() -> None:
    assert taken(GOOD) == "tools/call"


def test_a_head_that_agreed_once_is_compared_with_each_version() -> None:
    peer, sent = Peer(Implementation(name="s", version="1")), head(**GOOD)

    def code(version: str) -> int | None:
        params = {"name": "t", "_meta": {**META, VERSION: version}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        event = peer.take(decode(json.dumps(message).encode()), None, sent)
        return event.error.code if isinstance(event, Reply) else None

    versions = ["2026-07-28", "2026-07-28", "2031-01-01", "2026-07-28"]
    assert [code(version) for version in versions] == [None, None, -32020, None]


def compact(id_: int, name: str = "t", **params: Any) -> bytes:
    """A call of a tool, written as clients do."""
    given = {"name": name, "arguments": {}, "_meta": META, **params}
    message = {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": given}
    return json.dumps(message, separators=(",", ":")).encode()


def test_a_call_like_an_accepted_one_differs_in_its_id_and_arguments() -> None:
    peer, sent = Peer(Implementation(name="s", version="1")), head(**GOOD)
    first = peer.take(decode(compact(1, arguments={"a": 1})), None, sent)
    again = peer.take(decode(compact(2, arguments={"a": 2})), None, sent)

    assert isinstance(first, Call)
    assert isinstance(again, Call)
    assert sent.accepted is not None
    assert again.caller is first.caller
    assert (again.id, bytes(again.params.arguments)) == (2, b'{"a":2}')


@pytest.mark.parametrize(
    ("other", "code"),
    [
        (compact(2, "other"), -32020),
        (compact(2, _meta={**META, VERSION: "2031-01-01"}), -32020),
        (compact(2, _meta={VERSION: "2026-07-28"}), -32602),
        (compact(2, _meta={**META, "io.modelcontextprotocol/logLevel": "loud"}), -32602),
        (compact(2, _meta={}), -32602),
        (compact(2, requestState="forged"), -32603),  # here is no seal to open it with
    ],
)
def test_a_call_unlike_the_accepted_one_is_checked_like_the_first(other: bytes, code: int) -> None:
    def told(event: object) -> object:
        return event.error.code if isinstance(event, Reply) else None

    peer, sent = Peer(Implementation(name="s", version="1")), head(**GOOD)
    codes = [told(peer.take(decode(each), None, sent)) for each in (compact(1), other, compact(3))]

    assert codes == [None, code, None]


def test_a_call_like_an_accepted_one_is_that_of_its_own_principal() -> None:
    peer, sent = Peer(Implementation(name="s", version="1")), head(**GOOD)
    calls = [peer.take(decode(compact(1)), each, sent) for each in ("ann", "ben", None, "ann")]

    assert [call.caller.principal for call in calls if isinstance(call, Call)] == [
        "ann", "ben", None, "ann",
    ]  # fmt: skip


def test_an_envelope_with_a_token_is_not_kept() -> None:
    peer, sent = Peer(Implementation(name="s", version="1")), head(**GOOD)
    tokens = [
        peer.take(decode(compact(1, _meta={**META, "progressToken": token})), None, sent)
        for token in (1, 2)
    ]

    assert [call.request_meta.progress_token for call in tokens if isinstance(call, Call)] == [1, 2]
    assert sent.accepted is None


@pytest.mark.parametrize("method", ["initialize", "tools/list"])
def test_who_lacks_an_envelope_is_told_that_its_header_asks_for_one(method: str) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": hello}
    sent = head(mcp_protocol_version="2026-07-28", mcp_method=method)
    event = Peer(Implementation(name="s", version="1")).take(
        decode(json.dumps(message).encode()), None, sent
    )

    assert isinstance(event, Reply)
    assert event.error.message.startswith("the header MCP-Protocol-Version is 2026-07-28")
    assert "`initialize` without this header" in event.error.message


def test_nobody_minds_how_a_client_adorns_itself() -> None:
    adorned = {"name": "c", "version": "9", "title": None, "icons": "none"}
    assert taken(GOOD, meta={**META, CLIENT: adorned}) == "tools/call"


@pytest.mark.parametrize("client", [{"name": "c"}, {"name": 1, "version": "9"}, None])
def test_a_client_that_says_who_it_is_has_a_name_and_a_version(client: Any) -> None:
    assert taken(GOOD, meta={**META, CLIENT: client}) == -32602


@pytest.mark.parametrize("meta", [None, {}, {VERSION: "2026-07-28"}, {CAPABILITIES: {}}])
def test_first_the_envelope_must_be_complete(meta: Any) -> None:
    assert taken({"mcp_protocol_version": "2026-07-28"}, "no/such", meta=meta) == -32602


@pytest.mark.parametrize("meta", [{**META, VERSION: 3}, {**META, CAPABILITIES: []}, [], "x"])
def test_first_the_envelope_must_be_well_formed(meta: Any) -> None:
    assert taken({"mcp_protocol_version": "2026-07-28"}, "no/such", meta=meta) == -32602


@pytest.mark.parametrize("sent", [None, "", "2025-11-25", "v999", "2026-07-28x"])
def test_second_the_header_must_name_the_version_of_the_body(sent: str | None) -> None:
    assert taken({"mcp_protocol_version": sent}, "no/such") == -32020


def test_second_the_header_must_name_even_a_version_that_nobody_knows() -> None:
    meta = {**META, VERSION: "v999"}

    assert taken({"mcp_protocol_version": "2026-07-28"}, "no/such", meta=meta) == -32020


@pytest.mark.parametrize("version", ["v999", "2025-11-25", "2024-11-05"])
def test_third_the_version_must_be_one_without_a_handshake(version: str) -> None:
    meta = {**META, VERSION: version}

    assert taken({"mcp_protocol_version": version}, "no/such", meta=meta) == -32022


@pytest.mark.parametrize("sent", [None, "", "tools/call", "NO/SUCH"])
def test_fourth_the_header_must_name_the_method(sent: str | None) -> None:
    assert taken({**GOOD, "mcp_method": sent}, "no/such") == -32020


@pytest.mark.parametrize("sent", [None, "", "T", "t t", "=?base64?dA?=", "=?base64?dB==?="])
def test_fourth_the_header_must_name_what_is_called(sent: str | None) -> None:
    assert taken({**GOOD, "mcp_name": sent}) == -32020


def test_fifth_the_method_must_exist() -> None:
    assert taken({**GOOD, "mcp_method": "no/such"}, "no/such") == -32601


@pytest.mark.parametrize("method", ["initialize", "ping", "resources/subscribe"])
def test_fifth_the_method_must_exist_in_this_revision(method: str) -> None:
    more = {"protocolVersion": "2026-07-28", "capabilities": {}, "uri": "a:b"}

    assert taken({**GOOD, "mcp_method": method}, method, **more) == -32601


def test_last_the_parameters_must_be_well_formed() -> None:
    assert taken(GOOD, name=3) == -32602
    assert taken({**GOOD, "mcp_method": "tools/list"}, name=3) == -32020


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp_protocol_version": " 2026-07-28\t"},
        {"mcp_method": "\ttools/call "},
        {"mcp_name": "  t"},
        {"mcp_name": "=?base64?dA==?="},
    ],
)
def test_headers_may_be_padded_or_in_base64(headers: dict[str, str]) -> None:
    assert taken({**GOOD, **headers}) == "tools/call"


@pytest.mark.parametrize(
    ("method", "member"),
    [("tools/call", "name"), ("prompts/get", "name"), ("resources/read", "uri")],
)
def test_the_header_repeats_what_the_method_names(method: str, member: str) -> None:
    named = {**GOOD, "mcp_method": method, "mcp_name": "a://b"}

    assert taken(named, method, **{member: "a://b"}) == method
    assert taken(named, method, **{member: "a://c"}) == -32020


@pytest.mark.parametrize("method", ["tools/list", "server/discover", "completion/complete"])
def test_where_nothing_is_named_the_header_is_not_looked_at(method: str) -> None:
    more: dict[str, Any] = {
        "ref": {"type": "ref/prompt", "name": "p"},
        "argument": {"name": "a", "value": ""},
    }

    assert taken({**GOOD, "mcp_method": method, "mcp_name": "x"}, method, **more) == method


@given(st.text(min_size=1))
def test_any_name_can_be_said_in_base64(name: str) -> None:
    assert taken({**GOOD, "mcp_name": sentinel(name)}, name=name) == "tools/call"


def test_a_name_that_looks_like_base64_is_not_taken_for_what_it_would_be() -> None:
    assert taken({**GOOD, "mcp_name": "=?base64?dA==?="}, name="=?base64?dA==?=") == -32020


def test_other_transports_have_no_headers_to_compare() -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
    event = Peer(Implementation(name="s", version="1")).receive(json.dumps(message).encode())

    assert isinstance(event, Call)


def test_a_handshake_with_a_version_that_nobody_knows_yet_is_let_in() -> None:
    hello = {"protocolVersion": "v999", "capabilities": {}}

    assert taken({"mcp_protocol_version": "v999"}, "initialize", meta=None, **hello) == "initialize"


def test_a_handshake_in_the_era_without_one_is_refused() -> None:
    hello = {"protocolVersion": "2026-07-28", "capabilities": {}}
    sent = {"mcp_protocol_version": "2026-07-28"}

    assert taken(sent, "initialize", meta=None, **hello) in (-32602, -32601, -32020)


# Statuses


@pytest.mark.parametrize(
    ("error", "stateless", "by_protocol", "expected"),
    [
        (None, True, True, 200),
        (None, False, False, 200),
        (ParseError("x"), True, True, 400),
        (ParseError("x"), False, True, 400),
        (InvalidRequest("x"), True, True, 400),
        (InvalidRequest("x"), False, True, 400),
        (InvalidRequest("x"), False, False, 200),
        (InvalidParams("x"), True, True, 400),
        (InvalidParams("x"), True, False, 200),
        (InvalidParams("x"), False, True, 200),
        (NotFound("x"), True, False, 200),
        (MethodNotFound("x"), True, True, 404),
        (MethodNotFound("x"), True, False, 404),
        (MethodNotFound("x"), False, True, 200),
        (InternalError("x"), True, False, 200),
        (InternalError("x"), False, False, 200),
        (HeaderMismatch("X", None, None), True, True, 400),
        (HeaderMismatch("X", None, None), False, True, 400),
        (MissingCapability("x", required={}), True, False, 400),
        (UnsupportedVersion("x", []), True, True, 400),
        (UnsupportedVersion("x", []), False, True, 400),
        (McpError("x", code=7), True, False, 200),
    ],
)
def test_the_status_tells_who_refused_what(
    error: McpError | None, stateless: bool, by_protocol: bool, expected: int
) -> None:
    assert status_of(error, stateless=stateless, by_protocol=by_protocol) == expected
