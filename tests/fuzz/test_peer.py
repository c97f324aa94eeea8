"""Whatever bytes come in, the core gives an event; and what it says of them is true."""

import json
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from tests.fuzz.frames import CORPUS, FRAMES, STATELESS, check_event, new_peer

from toolhaft.envelope import Message, decode, salvage_id
from toolhaft.errors import McpError
from toolhaft.features.signature import BadArguments, Signature
from toolhaft.protocol.calls import Call
from toolhaft.protocol.framing import Frame, Framer, TooLong
from toolhaft.protocol.peer import Peer
from toolhaft.types.wire import Implementation

# 50,000 mutated frames, in runs that can be repeated one by one

RUNS = 10
FRAMES_PER_RUN = 5000


@pytest.mark.parametrize("seed", range(RUNS))
def test_no_bytes_make_receive_raise(seed: int) -> None:
    chance = random.Random(seed)
    peer = new_peer(chance)
    seen: dict[str, int] = {}
    for number in range(FRAMES_PER_RUN):
        if number % 50 == 0:
            peer = new_peer(chance)
        frame = FRAMES.one_of(CORPUS, chance)
        try:
            event = peer.receive(frame)
            check_event(event)
        except BaseException as error:
            pytest.fail(f"{type(error).__name__}: {error}; frame {number}: {frame[:3000]!r}")
        name = type(event).__name__
        seen[name] = seen.get(name, 0) + 1

    # The mutations are of use only if they lead everywhere.
    assert set(seen) == {"Call", "Reply", "Notice", "Cancel", "Answer", "Batch"}
    assert seen["Reply"] > FRAMES_PER_RUN // 4
    assert seen["Call"] > FRAMES_PER_RUN // 100


@pytest.mark.parametrize("frame", CORPUS)
def test_the_frames_that_are_mutated_are_valid(frame: bytes) -> None:
    decoded = decode(frame)

    assert isinstance(decoded, Message | list) or frame == b"[]"


def test_every_prefix_of_every_frame_is_taken() -> None:
    peer = Peer(Implementation(name="fuzzed", version="1"))
    for frame in CORPUS:
        for cut in range(len(frame)):
            check_event(peer.receive(frame[:cut]))


def _tool(a: int, b: list[float | None] | None = None, c: dict[str, str] | None = None) -> int:
    return a


def test_no_raw_arguments_make_binding_raise_what_nobody_expects() -> None:
    signature = Signature(_tool, "tool")
    peer = new_peer(random.Random("binding"))
    chance = random.Random("arguments")
    frame = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":'
        b'{"a":1,"b":[1.5,null],"c":{"x":"y"}},"_meta":%b}}' % json.dumps(STATELESS).encode()
    )
    bound = 0
    for _ in range(5000):
        start, stop = frame.index(b'{"a"'), frame.index(b',"_meta"')
        changed = FRAMES.once(frame[start:stop], chance)
        event = peer.receive(frame[:start] + changed + frame[stop:])
        if isinstance(event, Call) and event.method == "tools/call":
            bound += 1
            try:
                signature.bind(event.params.arguments)
            except (BadArguments, McpError):
                continue

    assert bound > 500


# Framing: where the chunks are cut does not matter


def _all_frames(chunks: list[bytes], limit: int) -> list[bytes | str]:
    framer = Framer(limit)
    for chunk in chunks:
        if chunk:  # an empty one would be the end
            framer.feed(chunk)
    framer.feed(b"")
    return [_shown(frame) for frame in framer.frames]


def _shown(frame: Frame) -> bytes | str:
    return "too long" if isinstance(frame, TooLong) else frame


def _cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:stop] for start, stop in pairwise(edges)]


places = st.lists(st.integers(0, 10_000), max_size=12)
pieces = st.sampled_from(
    [b"{}", b'{"a":1}', b"x" * 30, b" ", b"\t", b"\r", b"\n", b"\r\n", b"\n\n", b"", b"y" * 70]
) | st.binary(max_size=12)
headers = st.sampled_from(
    [
        *(b"Content-Length: 2\r\n", b"content-length:7\n", b"Content-Length : 70\r\n"),
        *(b"Content-Type: x\r\n", b"Content-Length: x\r\n", b"\r\n", b"\n", b" "),
        *(b"{}", b'{"a":1}', b"Content-Length: 300\n\n" + b"y" * 300),
    ]
)


@settings(max_examples=150, deadline=None)
@given(parts=st.lists(pieces, max_size=12), places=places)
@example(parts=[b"{}", b"\n", b" ", b"\n"], places=[3])
@example(parts=[b"{}", b"\n", b"\t{}", b"\n"], places=[3])
def test_any_split_of_lines_gives_the_same_frames(parts: list[bytes], places: list[int]) -> None:
    data = b"".join(parts)

    byte_by_byte = _all_frames([bytes([byte]) for byte in data], 64)

    assert _all_frames(_cut(data, places), 64) == byte_by_byte
    assert _all_frames([data], 64) == byte_by_byte


@settings(max_examples=150, deadline=None)
@given(parts=st.lists(headers, max_size=12), places=places)
def test_any_split_of_headers_gives_the_same_frames(parts: list[bytes], places: list[int]) -> None:
    data = b"Content-Length: 2\r\n\r\n{}" + b"".join(parts)

    byte_by_byte = _all_frames([bytes([byte]) for byte in data], 200)

    assert _all_frames(_cut(data, places), 200) == byte_by_byte
    assert _all_frames([data], 200) == byte_by_byte


bodies = st.lists(st.binary(max_size=100), min_size=1, max_size=6)


@settings(max_examples=150, deadline=None)
@given(bodies=bodies, places=places, end=st.sampled_from([b"\r\n", b"\n"]))
def test_bodies_come_out_as_they_went_in(
    bodies: list[bytes], places: list[int], end: bytes
) -> None:
    data = b"".join(b"Content-Length: %d%b%b%b" % (len(body), end, end, body) for body in bodies)

    expected = [body if len(body) <= 64 else "too long" for body in bodies]
    assert _all_frames(_cut(data, places), 64) == expected


@settings(max_examples=150, deadline=None)
@given(
    lines=st.lists(st.binary(min_size=1, max_size=100), max_size=8),
    places=places,
    end=st.sampled_from([b"\r\n", b"\n"]),
)
def test_lines_come_out_as_they_went_in(lines: list[bytes], places: list[int], end: bytes) -> None:
    # The first line makes the framing known; the others hold anything but what ends a line.
    clean = [b"<" + line.replace(b"\n", b"").replace(b"\r", b"") + b">" for line in lines]
    data = b"".join(line + end for line in [b"{}", *clean])

    fits = [line if len(line + end) - 1 <= 64 else "too long" for line in clean]
    assert _all_frames(_cut(data, places), 64) == [b"{}", *fits]


# Decoding, held against the standard library

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
requests = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": texts, "id": st.integers() | texts},
    optional={"params": st.dictionaries(texts | st.just("id"), values, max_size=4)},
)
dumps = st.sampled_from(
    [
        lambda value: json.dumps(value, separators=(",", ":")),
        lambda value: json.dumps(value, ensure_ascii=False),
        lambda value: json.dumps(value, indent=1).replace("\n", "\r"),
        lambda value: json.dumps(value, sort_keys=True),
        lambda value: json.dumps(dict(reversed(value.items()))),
    ]
)


@settings(max_examples=150, deadline=None)
@given(request=requests, dump=dumps)
def test_a_valid_request_is_read_as_the_standard_library_reads_it(
    request: dict[str, Any], dump: Callable[[Any], str]
) -> None:
    message = decode(dump(request).encode())

    assert isinstance(message, Message)
    assert (message.id, type(message.id)) == (request["id"], type(request["id"]))
    assert message.method == request["method"]
    params = UNSET if message.params is UNSET else json.loads(bytes(message.params))
    assert params == request.get("params", UNSET)


objects = st.lists(
    st.tuples(
        st.sampled_from(['"id"', '"id"', '"\\u0069d"', '"ID"', '"a"', '"params"', '"i\\"d"']),
        values.map(json.dumps)
        | st.sampled_from(['{"id":5}', '["id",6]', '"\\"id\\":7"', '"id"', "[]", "8", '"x"']),
    ),
    max_size=5,
).map(lambda members: "{" + ",".join(f"{key}:{value}" for key, value in members) + "}")


@settings(max_examples=150, deadline=None)
@given(text=objects | values.map(json.dumps) | requests.map(json.dumps))
@example(text='{"id":1,"\\u0069d":2}')
@example(text='{"a":{"id":1},"id":2}')
@example(text='["id",1]')
@example(text='[{"id":1}]')
def test_an_id_that_is_salvaged_is_the_id_of_the_text(text: str) -> None:
    value = json.loads(text)

    found = salvage_id(text.encode())

    if found is not UNSET:
        assert isinstance(value, dict)
        assert (found, type(found)) == (value["id"], type(value["id"]))


@settings(max_examples=150, deadline=None)
@given(request=requests, dump=dumps, place=st.integers(0, 10_000))
def test_a_text_that_is_cut_off_gives_its_own_id_or_none(
    request: dict[str, Any], dump: Callable[[Any], str], place: int
) -> None:
    data = dump(request).encode()

    found = salvage_id(data[: place % (len(data) + 1)])

    assert found is UNSET or (found, type(found)) == (request["id"], type(request["id"]))


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=60) | st.text(st.sampled_from('{}[]":,id\\ 1-e.'), max_size=60))
def test_no_bytes_make_decoding_raise(data: bytes | str) -> None:
    decode(data if isinstance(data, bytes) else data.encode())
