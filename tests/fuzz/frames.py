"""Frames as clients send them, and what must hold for the events that come of any bytes."""

import json
import random
from collections.abc import Iterator
from typing import Any

from tests.fuzz.mutations import Mutator

from toolhaft.errors import InvalidParams
from toolhaft.protocol.calls import Answer, Batch, Call, Cancel, Event, Notice, Reply
from toolhaft.protocol.peer import Peer, failed
from toolhaft.types.wire import Implementation

STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def _initialize(revision: str) -> dict[str, Any]:
    return {
        "protocolVersion": revision,
        "capabilities": {"roots": {"listChanged": True}},
        "clientInfo": {"name": "fuzz", "version": "1"},
    }


PARAMS: dict[str, list[Any]] = {
    "initialize": [_initialize("2025-11-25"), _initialize("2025-03-26"), _initialize("1999-01-01")],
    "ping": [None, {}],
    "server/discover": [{}],
    "tools/list": [None, {}, {"cursor": "tool-1"}],
    "tools/call": [
        {"name": "add", "arguments": {"a": 1, "b": [1.5e10, None, True, "\u00e9\U0001f600"]}},
        {"name": "add", "arguments": {}, "_meta": {"progressToken": "p"}},
    ],
    "resources/list": [{}],
    "resources/templates/list": [{}],
    "resources/read": [{"uri": "file:///a%20b"}],
    "resources/subscribe": [{"uri": "file:///a"}],
    "prompts/list": [None],
    "prompts/get": [{"name": "p", "arguments": {"x": "y"}}],
    "completion/complete": [
        {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "x", "value": "y"}},
        {
            "ref": {"type": "ref/resource", "uri": "a://{b}"},
            "argument": {"name": "b", "value": ""},
            "context": {"arguments": {"c": "d"}},
        },
    ],
    "logging/setLevel": [{"level": "debug"}],
    "subscriptions/listen": [{"notifications": {"toolsListChanged": True}}],
    "notifications/initialized": [None],
    "notifications/cancelled": [{"requestId": 1, "reason": "why not"}],
    "no/such/method": [{"x": {"y": {"z": []}}}],
}
IDS = [0, 1, -1, 2**63, 10**30, "a", "", "\u00fc", "1"]


def _frames() -> Iterator[bytes]:
    for method, choices in PARAMS.items():
        for number, params in enumerate(choices):
            message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
            if not method.startswith("notifications/"):
                message["id"] = IDS[(number + len(method)) % len(IDS)]
            if params is not None:
                message["params"] = params
            yield json.dumps(message, separators=(",", ":")).encode()
            yield json.dumps(message, ensure_ascii=False).encode()
            meta = {**STATELESS, **(params or {}).get("_meta", {})}
            stateless = {**message, "params": {**(params or {}), "_meta": meta}}
            yield json.dumps(stateless, separators=(",", ":")).encode()
    yield b'{"jsonrpc":"2.0","id":1,"result":{}}'
    yield b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}'
    yield b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]'
    yield b"[]"


CORPUS = list(_frames())
TOKENS = [
    b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\", b"\\u0000", b"\\ud800", b"\\udc00\\ud800",
    b"null", b"true", b"false", b"NaN", b"Infinity", b"-", b"-0", b"1e999", b"1e-999", b"0x1",
    b"1.0", b"01", b"\n", b"\r", b"\t", b" ", b"\x00", b"\xff", b"\xc0\x80", b"\xed\xa0\x80",
    b"\xef\xbb\xbf", b"\xf4\x90\x80\x80", b'"id":', b'"id":2,', b'"jsonrpc":"2.0",',
    b'"method":"ping",', b'"params":{},', b'"_meta":{}', b'"result":{},', b'"error":{},',
    b'"\\u0069d":3,', b'"io.modelcontextprotocol/protocolVersion":"2025-11-25",', b"//", b"/**/",
]  # fmt: skip

FRAMES = Mutator(CORPUS, TOKENS)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs), f"a key stands twice in {pairs}"
    return dict(pairs)


def strict(frame: bytes) -> Any:
    """The frame as the strictest of clients reads it."""
    assert b"\n" not in frame
    return json.loads(frame.decode(), parse_constant=_no_constant, object_pairs_hook=_no_duplicates)


def _check_error(frame: bytes) -> None:
    message = strict(frame)
    frame.decode().encode()
    assert message["jsonrpc"] == "2.0"
    assert set(message) <= {"jsonrpc", "id", "error"}
    assert type(message.get("id", 1)) in (int, str)
    assert type(message["error"]["code"]) is int
    assert len(message["error"]["message"]) < 6000
    assert not any(0xD800 <= ord(c) <= 0xDFFF for c in message["error"]["message"])


def check_event(event: Event) -> None:
    """An event is one of those that there are, and what is sent because of it is well-formed."""
    match event:
        case Batch(events=events):
            assert events
            for part in events:
                assert not isinstance(part, Batch)
                check_event(part)
        case Reply(frame=frame):
            _check_error(frame)
        case Call():
            assert type(event.id) in (int, str)
            _check_error(failed(event, InvalidParams("no")))
        case Cancel(id=id_) | Answer(id=id_):
            assert type(id_) in (int, str)
        case Notice():
            pass
        case _:
            raise AssertionError(f"{event!r} is no event")


def new_peer(chance: random.Random) -> Peer:
    """One that has shaken hands in some revision, or in none."""
    peer = Peer(Implementation(name="fuzzed", version="1"))
    revision = chance.choice(["none", "2024-11-05", "2025-03-26", "2025-03-26", "2025-11-25"])
    if revision != "none":
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize"}
        peer.receive(json.dumps({**message, "params": _initialize(revision)}).encode())
    return peer
