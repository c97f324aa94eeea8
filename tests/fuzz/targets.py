"""What is fuzzed: all that reads bytes of a client, each with what must hold for any bytes."""

import json
from collections.abc import Iterator

import msgspec
from msgspec import Raw
from tests.fuzz import frames, heads
from tests.fuzz.engine import Target
from tests.fuzz.frames import check_event

from toolhaft.encoding.envelope import decode
from toolhaft.errors import InvalidParams, McpError, ToolError
from toolhaft.features.functions.signature import BadArguments, Signature
from toolhaft.protocol.calls import Answer, Batch, Call, Cancel, Notice, Reply
from toolhaft.protocol.elicitation.questions import Question
from toolhaft.protocol.elicitation.request_state import Seal
from toolhaft.protocol.elicitation.rounds import Entry, Journal, Pages, given_answers
from toolhaft.protocol.framing import Framer, TooLong
from toolhaft.protocol.handshake import Session
from toolhaft.protocol.http.rules import (
    LOOPBACK,
    Fields,
    Head,
    OriginPolicy,
    Refused,
    cors,
    preflight,
    status_of,
    unreadable,
)
from toolhaft.protocol.http.sse import place
from toolhaft.protocol.peer import Peer
from toolhaft.protocol.revisions import REVISIONS
from toolhaft.protocol.uritemplate import Template
from toolhaft.server import aes_gcm
from toolhaft.types.rounds import ElicitUrlParams
from toolhaft.types.wire import Implementation

# --- Peer.receive ---------------------------------------------------------------------------------


def _tool(a: int, b: list[float | None] | None = None, c: dict[str, str] | None = None) -> int:
    return a


_INFO = Implementation(name="fuzzed", version="1")
_signature = Signature(_tool, "tool")
_sessions = (
    None,
    *(Session.assumed(revision, None) for revision in REVISIONS.values() if revision.handshake),
)


def receive(data: bytes) -> None:
    """Frames, one per line, for a client that has shaken hands in some revision or in none.

    The first byte says which. What a tool would be called with, a strict reader of JSON reads too.
    """
    peer = Peer(_INFO, session=_sessions[data[0] % len(_sessions) if data else 0])
    for frame in data[1:].split(b"\n", 3):
        event = peer.receive(frame)
        check_event(event)
        if isinstance(event, Call) and event.method == "tools/call":
            try:
                _signature.bind(event.params.arguments)
            except (BadArguments, McpError):
                continue
            frames.strict(frame)


def _received() -> Iterator[bytes]:
    for number, frame in enumerate(frames.CORPUS):
        yield bytes([number % 8]) + frame
    yield b"\x01" + b"\n".join(frames.CORPUS[:8])


# --- protocol/http --------------------------------------------------------------------------------

_doors = (
    OriginPolicy(),
    OriginPolicy(origins=["https://my.example"]),
    OriginPolicy(["my.example:8000", "*"]),
)


def check_refusal(refusal: Refused | None) -> None:
    """A refusal is well-formed: its status, its message and its headers."""
    if refusal is None:
        return
    assert 400 <= refusal.status < 500
    message = json.loads(refusal.body)
    assert set(message) <= {"jsonrpc", "id", "error"}
    assert len(message["error"]["message"]) < 6000
    for name, value in refusal.headers:
        assert not set(b"\r\n\x00") & set(name + value)


def admit(data: bytes) -> None:
    """The headers of a request, one per line, an empty line, and its body.

    Whoever is let in has called us by a name of ours, and is no foreign page."""
    top, _, body = data.partition(b"\n\n")
    fields = [heads.field(line) for line in top.split(b"\n")]
    head = Head(fields)
    for doors in _doors:
        refusal = doors.refusal(head)
        check_refusal(refusal)
        assert doors.refusal(head) == refusal, "asked again, it is not the same"
    if _doors[0].refusal(head) is None:
        assert _is_here(head["host"]), head["host"]
        origin = head.get("origin")
        assert origin is None or _is_here(_after_scheme(origin)), origin
    check_refusal(unreadable(head, 1000))
    for name, value in (*cors(head.get("origin", "")), *preflight(head.get("accept", ""))):
        assert isinstance(name, bytes)
        assert isinstance(value, bytes)
    where = place(head.get("last-event-id", ""))
    assert where is None or min(where) >= 0
    _take(_peer(len(data)), head, body)


def _after_scheme(origin: str) -> str:
    scheme, _, rest = origin.partition("://")
    assert scheme in ("http", "https")
    return rest


def _is_here(authority: str) -> bool:
    """By another way than the one that is tested: cut at the last colon outside of brackets."""
    name, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        name, port = authority, "0"
    return name.lower() in LOOPBACK and port.isascii() and port.isdigit() and len(port) <= 5


def _take(peer: Peer, head: Head, body: bytes) -> None:
    event = peer.take(decode(body), None, head)
    assert isinstance(event, Answer | Batch | Call | Cancel | Notice | Reply)
    if isinstance(event, Reply):
        json.loads(event.frame)
        for stateless in (True, False):
            status = status_of(event.error, stateless=stateless, by_protocol=True)
            assert status in (200, 400, 404)


def _peer(number: int) -> Peer:
    return Peer(_INFO, session=_sessions[number % len(_sessions)])


def _requests() -> Iterator[bytes]:
    def request(fields: Fields, body: bytes) -> bytes:
        return b"".join(b"%b: %b\n" % field for field in fields) + b"\n" + body

    for host in (b"localhost", b"127.0.0.1:8000", b"[::1]:80", b"my.example:8000", b"evil.com"):
        for method, member in (("tools/call", "name"), ("resources/read", "uri"), ("ping", "x")):
            params = {member: "add", "_meta": frames.STATELESS}
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            fields = [
                (b"host", host),
                (b"content-type", b"application/json"),
                (b"accept", b"application/json, text/event-stream"),
                (b"mcp-protocol-version", b"2026-07-28"),
                (b"mcp-method", method.encode()),
                (b"mcp-name", b"=?base64?YWRk?="),
            ]
            yield request(fields, json.dumps(message).encode())
    for name, value in (
        (b"origin", b"http://localhost:3000"),
        (b"origin", b"https://my.example"),
        (b"origin", b"http://localhost:1@evil.com"),
        (b"content-length", b"17"),
        (b"content-encoding", b"gzip"),
        (b"transfer-encoding", b"chunked"),
        (b"mcp-session-id", b"abc"),
        (b"last-event-id", b"1-1"),
        (b"authorization", b"Bearer x"),
    ):
        session = [(b"host", b"localhost"), (b"content-type", b"application/json"), (name, value)]
        yield request(session, frames.CORPUS[0])


# --- uritemplate ----------------------------------------------------------------------------------


def match(data: bytes) -> None:
    """A template and a URI, in a line each. What a match finds makes a URI with the same match."""
    text, _, uri = data.decode(errors="replace").partition("\n")
    try:
        template = Template(text)
    except ValueError:
        return
    found = template.match(uri)
    raw = template.match(uri, raw=True)
    if found is None:
        return
    assert raw is not None
    assert raw.keys() == found.keys()
    assert set(found) <= set(template.variables)
    assert set(template.variables) - set(found) <= template.optional
    again = template.expand(found)
    # By RFC 6570, {&b} makes an "&" even if there is nothing before it for want of an {?a}.
    if "?" in again or "&" not in again:
        assert template.match(again) == found, f"{text!r} on {uri!r}: {found} makes {again!r}"


def _templates() -> Iterator[bytes]:
    for text, uri in (
        ("notes://{name}", "notes://welcome"),
        ("notes://{name}/{part}", "notes://a%20b/c"),
        ("file:///{+path}", "file:///a/b/../c"),
        ("file://{/path*}", "file:///a/b/c"),
        ("db://{table}{?limit,offset}", "db://users?offset=3&limit=7"),
        ("db://x?fixed=1{&more}", "db://x?fixed=1&more=2"),
        ("db://x{?list*}", "db://x?list=1&list=2"),
        ("x://a{.ext}", "x://a.txt"),
        ("x://a{;one,two}", "x://a;one=1;two"),
        ("x://a{#part}", "x://a#b%C3%A9"),
        ("x://{a}-{b}.{c}", "x://1-2.3"),
        ("X://{a,b}", "x://1,2"),
    ):
        yield f"{text}\n{uri}".encode()


# --- framing --------------------------------------------------------------------------------------


def frame(data: bytes) -> None:
    """A stream, cut into chunks whose size the first byte says, with a limit that the second says.

    Where it is cut makes no difference, nor whether a line by itself goes by the buffer, and no
    more is held than the limit and one chunk."""
    size, limit = 1 + (data[0] if data else 0), 1 + (data[1] if data[1:] else 0)
    stream = data[2:800]
    cut = [stream[start : start + size] for start in range(0, len(stream), size)]
    expected = _framed([stream] if stream else [], limit)
    assert _framed(cut, limit) == expected
    assert _framed(cut, limit, by_line=True) == expected


def _framed(chunks: list[bytes], limit: int, *, by_line: bool = False) -> list[bytes | None]:
    framer, taken = Framer(limit), list[bytes | TooLong]()
    for chunk in chunks:
        if by_line and (line := framer.only_line(chunk)):
            taken.append(line)
        else:
            framer.feed(chunk)
        taken += framer.frames
        framer.frames.clear()
        held, need = len(framer._buffer), framer._need
        # Of what is too long the start is kept, to find its id in.
        most = max(limit, _WORD) if need is None or need <= limit else 65536
        assert held <= most + len(chunk), f"{held} bytes are held"
    framer.feed(b"")
    taken += framer.frames
    found = [None if isinstance(each, TooLong) else each for each in taken]
    assert all(each is None or len(each) <= limit for each in found)
    framer.wrap([each for each in found if each is not None])
    return found


# So many bytes must be there to know the framing.
_WORD = len(b"content-length  :")


def _streams() -> Iterator[bytes]:
    for size, limit in ((0, 60), (3, 200), (40, 90)):
        start = bytes((size, limit))
        yield start + b'{"a":1}\n{}\r\n\n  {"b":2}\n' + b"x" * 100 + b"\n{}\n"
        yield (
            start + b"Content-Length: 2\r\n\r\n{}Content-Type: x\r\ncontent-length:7\n\n" + b"1" * 7
        )
        yield start + b"Content-Length: 300\r\n\r\n" + b"y" * 300 + b"Content-Length: 2\n\n{}"
        yield start + b"\n \r\n\tContent-Length : 1\n\n1\nrest"


# --- journal.open ---------------------------------------------------------------------------------

_SECRET = b"a secret of sixteen bytes"
_ARGUMENTS = Raw(b'{"a": 1, "b": 2}')


def _seal(*, hides: bool) -> Seal:
    return Seal(
        (_SECRET,),
        "server",
        seconds=600,
        clock=lambda: 1_000_000.0,
        random=lambda size: b"n" * size,
        cipher=aes_gcm.find if hides else lambda: None,
        refused=lambda why: None,
    )


_seals = (_seal(hides=False), _seal(hides=True))
_BINDING = _seals[0].binding("tools/call", "order", _ARGUMENTS, None)
_PAGES = (
    Pages(1, {}),
    Pages(2, {"size": Entry("digest", Raw(b'{"action":"decline"}'), 1)}, {"now()": Raw(b"[1]")}),
    Pages(9, {"question-1": Entry("d"), "a#2": Entry("e", Raw(b"{}"))}, {}, {"big()": "kept"}),
)
_STATES = {seal.seal(_BINDING, pages): pages for seal in _seals for pages in _PAGES}
_OTHERS = (
    _seals[0].seal(_seals[0].binding("tools/call", "other", _ARGUMENTS, None), _PAGES[1]),
    _seals[0].seal(_seals[0].binding("tools/call", "order", _ARGUMENTS, "somebody"), _PAGES[1]),
)
_QUESTION = Question(
    "elicitation/create",
    ElicitUrlParams(mode="url", message="Size?", url="https://example.org"),
    (),
    bytes.decode,
)


def open_state(data: bytes) -> None:
    """A `requestState` and the answers beside it, in a line each, as a client sends them.

    Only what we have sealed for this very call is opened. With an S before it, it is sealed by us
    after all, as if another version of the program had written it."""
    state, _, answers = data.partition(b"\n")
    try:
        given = given_answers(Raw(answers))
    except InvalidParams:
        given = {}
    if state[:1] == b"S":
        state = msgspec.json.encode(_seals[0]._closed(*_key(), state[1:]))
        try:
            pages = _seals[0].open(Raw(state), _BINDING)
        except InvalidParams:
            return
        _play(Journal(pages, given))
        return
    for seal in _seals:
        try:
            pages = seal.open(Raw(state), _BINDING)
        except InvalidParams:
            continue
        genuine = _STATES.get(msgspec.json.decode(state))
        assert genuine == pages, "this was not sealed by us"
        _play(Journal(pages, given))


def _key() -> tuple[str, bytes]:
    return next(iter(_seals[0]._ring().items()))


def _play(journal: Journal) -> None:
    """A function asks, does a step and asks again; then another round begins."""
    for _ in range(2):
        try:
            journal.look_up({"size": _QUESTION, "": _QUESTION})
        except ToolError:
            return
        except UnicodeDecodeError:  # of the reader of our question
            return
        journal.step_key("now")
        pages = journal.pages()
        assert msgspec.json.decode(msgspec.json.encode(pages), type=Pages).round == pages.round
        journal = Journal(pages, {"size": b"{}"})


def _states() -> Iterator[bytes]:
    for state in (*_STATES, *_OTHERS):
        yield msgspec.json.encode(state) + b'\n{"size": {"action": "accept"}}'
    for pages in _PAGES:
        claims = [999_000, 1_000_600, _BINDING, pages]
        yield b"S" + msgspec.json.encode(claims) + b'\n{"size": {}, "question-1": {"a": [1]}}'
    yield b'""\n{}'


# --- all ------------------------------------------------------------------------------------------

_JSON: list[bytes] = frames.TOKENS
_HEADERS = [
    b"\n", b": ", b"host: ", b"origin: http://", b"https://", b"localhost", b"127.0.0.1", b"[::1]",
    b"evil.com", b"@", b"\x00", b"\xff", b"\t", b",", b";", b"=?base64?", b"?=", b"/w==", b"*",
    b"content-length: ", b"transfer-encoding: chunked\n", b"99999999999999999999", b"-1", b"\r",
    b"mcp-protocol-version: ", b"2025-03-26", b"2099-01-01", b"mcp-param-x: ", b"accept: ", b"*/*",
    b"last-event-id: ", b"18446744073709551616-1", b"\n\n", b'{"jsonrpc":"2.0"', b"\xc2\xb2",
]  # fmt: skip
_URIS = [
    b"{", b"}", b"{a}", b"{+b}", b"{#c}", b"{.d}", b"{/e}", b"{/f*}", b"{;g}", b"{?h}", b"{&i}",
    b"{?j*}", b"{k,l}", b"%", b"%20", b"%C3%A9", b"%FF", b"%2F", b"/", b"//", b"?", b"#", b"&",
    b"=", b".", b",", b";", b":", b"*", b"\n", b"a", b"A", b"\xc3\xa9", b"\xed\xa0\x80", b"\x00",
]  # fmt: skip
_STREAM = [
    b"\n", b"\r\n", b"\r", b" ", b"\t", b"{}", b"Content-Length: ", b"content-length:", b"2", b"70",
    b"300", b"999999999999999999", b"9999999999999999999", b"Content-Type: x\r\n", b"\r\n\r\n",
    b":", b"\x00", b"\xff", b"x" * 70, b"-1", b"\x0b", b"\x0c",
]  # fmt: skip
_SEALED = [
    b".", b"v1", b"v2", b'"', b"\n", b"S", b"=", b"-", b"_", b"AAAA", b"null", b"[]", b"{}", b"[",
    b"]", b"-1", b"1e9", b"99999999999999999999", b",", b'"size"', b'"\\ud800"', b"\xff",
]  # fmt: skip

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("receive", receive, list(_received()), [*_JSON, b"\n"]),
        Target("admit", admit, list(_requests()), _HEADERS),
        Target("heads", heads.meet, list(heads.heads()), _HEADERS),
        Target("uritemplate", match, list(_templates()), _URIS),
        Target("framing", frame, list(_streams()), _STREAM),
        Target("journal", open_state, list(_states()), _SEALED),
    )
}
