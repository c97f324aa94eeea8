"""How deeply a frame may be nested: as deeply as it likes, since no depth makes `receive` raise."""

import json
import threading
from collections.abc import Callable, Iterable

import pytest

from toolhaft.protocol.calls import Call
from toolhaft.protocol.peer import Peer
from toolhaft.types.wire import Implementation

# Where the stack of Python ends is found by one of these: each step close to the limit and to what
# is left of it below a test, and some of those that lead there.
DEPTHS = [*range(1, 40), *range(40, 860, 10), *range(860, 1011)]
EACH_DEPTH = range(1, 1011)
SHAPES: dict[str, Callable[[bytes], bytes]] = {
    "a frame": lambda nest: nest,
    "params": lambda nest: b'{"jsonrpc":"2.0","id":1,"method":"ping","params":%b}' % nest,
    "a member of params": lambda nest: (
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%b}}' % nest
    ),
    "an argument": lambda nest: (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call",'
        b'"params":{"name":"a","arguments":{"x":%b}}}' % nest
    ),
    "an extra member": lambda nest: b'{"jsonrpc":"2.0","id":1,"method":"ping","x":%b}' % nest,
    "a response": lambda nest: b'{"jsonrpc":"2.0","id":1,"result":%b}' % nest,
    "an error": lambda nest: b'{"jsonrpc":"2.0","id":1,"error":%b}' % nest,
    "a cancellation": lambda nest: (
        b'{"jsonrpc":"2.0","method":"notifications/cancelled",'
        b'"params":{"requestId":1,"x":%b}}' % nest
    ),
    "a batch item": lambda nest: b"[%b]" % nest,
    "params in a batch": lambda nest: (
        b'[{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%b}}]' % nest
    ),
    "an extra member in a batch": lambda nest: (
        b'[{"jsonrpc":"2.0","id":1,"method":"ping","x":%b}]' % nest
    ),
}


def peer_of(revision: str | None) -> Peer:
    peer = Peer(Implementation(name="tested", version="1"))
    if revision is not None:
        params = {"protocolVersion": revision, "capabilities": {}}
        frame = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        assert isinstance(peer.receive(json.dumps(frame).encode()), Call)
    return peer


def raised_by(
    peer: Peer, shape: str, opening: bytes, closing: bytes, depths: Iterable[int] = DEPTHS
) -> list[str]:
    raised: list[str] = []
    for depth in depths:
        frame = SHAPES[shape](opening * depth + b"1" + closing * depth)
        try:
            peer.receive(frame)
        except BaseException as error:
            raised.append(f"{type(error).__name__} at depth {depth}")
    return raised


@pytest.mark.parametrize("shape", SHAPES)
def test_nested_arrays_never_raise_at_any_depth(shape: str) -> None:
    raised = raised_by(peer_of("2025-03-26"), shape, b"[", b"]", EACH_DEPTH)

    assert raised == []


@pytest.mark.parametrize("revision", [None, "2025-11-25"])
@pytest.mark.parametrize("shape", SHAPES)
def test_nested_arrays_never_raise(shape: str, revision: str | None) -> None:
    raised = raised_by(peer_of(revision), shape, b"[", b"]")

    assert raised == []


@pytest.mark.parametrize("shape", SHAPES)
def test_nested_objects_never_raise(shape: str) -> None:
    raised = raised_by(peer_of("2025-03-26"), shape, b'{"a":', b"}")

    assert raised == []


@pytest.mark.parametrize("shape", SHAPES)
def test_nested_arrays_never_raise_on_a_fresh_stack(shape: str) -> None:
    raised: list[str] = []
    peer = peer_of("2025-03-26")
    thread = threading.Thread(target=lambda: raised.extend(raised_by(peer, shape, b"[", b"]")))
    thread.start()
    thread.join(30)

    assert not thread.is_alive()
    assert raised == []
