"""Whatever bytes come in, the core gives an event; and what it says of them is true."""

import contextlib
import json
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Raw
from tests.fuzz.frames import CORPUS, FRAMES, STATELESS, check_event, new_peer

from toolhaft.encoding.envelope import Fault, Message, ToolCall, decode, decode_message
from toolhaft.encoding.json_members import salvage_id
from toolhaft.errors import McpError
from toolhaft.features.functions.signature import BadArguments, LargeArguments, Signature
from toolhaft.protocol.calls import Batch, Call, Reply
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

    assert isinstance(decoded, Message | ToolCall | list) or frame == b"[]"


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
            with contextlib.suppress(BadArguments, McpError):
                try:
                    signature.bind(event.params.arguments)
                except LargeArguments:  # as a worker thread does
                    signature.bind_large(event.params.arguments)

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
    message = decode_message(dump(request).encode())

    assert isinstance(message, Message)
    assert (message.id, type(message.id)) == (request["id"], type(request["id"]))
    assert message.method == request["method"]
    params = UNSET if message.params is UNSET else json.loads(bytes(message.params))
    assert params == request.get("params", UNSET)


# A frame as clients write it is cleared without a second look. A blank in front of it makes the
# very same message go the careful way.

LETTERS = ["a", '"', "\\", "\n", "\u00e9", "\u4f60", "\U0001f600", "\ud800", "9" * 4301, "x" * 4300]
literals = st.sampled_from(
    ["0", "-0", "1e5", "1e999", "9" * 4300, "9" * 4301, "0." + "9" * 5000, "true", "null", "01",
     '"\\ud800"', '"\\ud83d\\ude00"', '"\\u0041"', '"\\q"', "{}", "[]", "[[1]]", '{"a":1,"a":2}']
)  # fmt: skip
fields = st.lists(
    st.tuples(
        st.sampled_from(['"name"', '"arguments"', '"_meta"', '"n\\u0061me"', '"x"']),
        literals
        | st.lists(st.sampled_from(LETTERS), max_size=4).map(
            lambda letters: json.dumps("".join(letters), ensure_ascii=False)
        ),
    ),
    max_size=4,
)


@st.composite
def frames_of_any_kind(draw: st.DrawFn) -> bytes:
    """A request that is good or has one fault or two, written in some way."""
    comma, colon = draw(st.sampled_from([(",", ":"), (", ", ": ")]))

    def joined(members: list[tuple[str, str]]) -> str:
        return "{" + comma.join(name + colon + value for name, value in members) + "}"

    method = draw(st.sampled_from(['"tools/call"', '"ping"', '"m\u00e9"', '"\\u006d"', "5"]))
    params = joined([('"name"', '"add"'), ('"arguments"', "{}"), *draw(fields)])
    arguments = draw(st.one_of(st.just("{}"), fields.map(joined)))
    params = params.replace("{}", arguments, 1) if draw(st.booleans()) else joined(draw(fields))
    members = [
        ('"jsonrpc"', draw(st.sampled_from(['"2.0"'] * 9 + ['"1.0"', "2.0"]))),
        ('"id"', draw(st.sampled_from(["1", "-7", '"a"', '"\u00e9"', '"\\u0061"', "1.0", "null"]))),
        ('"method"', method),
        ('"params"', params),
    ]
    members += draw(
        st.lists(st.sampled_from([*members, ('"x"', "1"), ('"\\u0069d"', "2")]), max_size=1)
    )
    data = joined(draw(st.permutations(members))).encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 9)) == 0:
        place = draw(st.integers(0, len(data)))
        data = (
            data[:place] + draw(st.sampled_from([b"\xff", b"\xc0\x80", b"", b" "])) + data[place:]
        )
    return data


def _told(decoded: object) -> object:
    """What is said of a frame, by whichever way."""
    if isinstance(decoded, Fault):
        return (decoded.error.code if decoded.error else None), decoded.id
    if isinstance(decoded, ToolCall):
        params = decoded.params
        read = {"name": params.name, "arguments": params.arguments, "_meta": params.meta}
        return (
            decoded.id,
            "tools/call",
            {k: bytes(v) for k, v in read.items() if isinstance(v, Raw)},
        )
    if not isinstance(decoded, Message):
        return decoded
    if decoded.method != "tools/call" or decoded.params is UNSET:
        return decoded.id, decoded.method, decoded.params and bytes(decoded.params)
    members = msgspec.json.decode(decoded.params, type=dict[str, Raw])
    return decoded.id, "tools/call", {k: bytes(v) for k, v in members.items() if k != "name"}


@settings(max_examples=1500, deadline=None)
@given(data=frames_of_any_kind())
def test_the_quick_way_says_of_a_frame_what_the_careful_way_says(data: bytes) -> None:
    assert _told(decode(data)) == _told(decode(b" " + data))
    assert _told(decode_message(data)) == _told(decode_message(b" " + data))


@settings(max_examples=1500, deadline=None)
@given(data=frames_of_any_kind())
def test_the_quick_way_accepts_only_what_the_standard_library_reads(data: bytes) -> None:
    call = decode(data)

    if isinstance(call, ToolCall):
        message = json.loads(data.decode(), object_pairs_hook=_Members)
        params = message["params"]
        assert (message["jsonrpc"], message["id"]) == ("2.0", call.id)
        assert len(message) == 4
        assert len(params) == 2 + (call.params.meta is not UNSET)
        assert not any("\ud800" <= letter <= "\udfff" for letter in str(message))


class _Members(dict[str, Any]):
    """An object whose length is that of its text: members that stand twice count twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self._count = len(pairs)

    def __len__(self) -> int:
        return self._count


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


def test_a_batch_beyond_all_measure_is_refused_within_bounds() -> None:
    peer = Peer(Implementation(name="fuzzed", version="1"))
    peer.receive(_hello("2025-03-26"))
    item = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'

    event = peer.receive(b"[" + b",".join([item] * 20_000) + b"]")

    assert isinstance(event, Batch)
    assert len(event.events) == 10_001
    assert "id" not in json.loads(cast(Reply, event.events[-1]).frame)


def _hello(revision: str) -> bytes:
    params = {"protocolVersion": revision, "capabilities": {}}
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    return json.dumps(message).encode()
