"""What a bridge knows of the bytes that it copies."""

import itertools
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolhaft.encoding.envelope import failure
from toolhaft.errors import InternalError
from toolhaft_bridge.ledger import Ledger

IDS = st.one_of(
    st.integers(-(2**53), 2**53), st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
)
ORDERS = ["".join(order) for order in itertools.permutations("jimp")]
# What may stand beside the id, and looks like one.
NESTED = st.recursive(
    st.one_of(st.none(), st.integers(), st.sampled_from(['"id":1}', '{"jsonrpc":"2.0","id":5,'])),
    lambda inner: st.dictionaries(st.sampled_from(["id", "method", "jsonrpc", "a"]), inner),
    max_leaves=5,
)


# The machine may be busy.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def written(message: Any, order: str, *, spaces: bool) -> bytes:
    """As one client or another writes it."""
    keys = sorted(message, key=lambda key: order.find(key[0]))
    separators = (", ", ": ") if spaces else (",", ":")
    ordered = {key: message[key] for key in keys}
    return json.dumps(ordered, separators=separators, ensure_ascii=not spaces).encode() + b"\n"


def in_pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(places) if a < b]


@unhurried
@given(
    ids=st.lists(IDS, max_size=6, unique_by=lambda id_: (type(id_).__name__, id_)),
    params=NESTED,
    order=st.sampled_from(ORDERS),
    spaces=st.booleans(),
    cuts=st.lists(st.integers(0, 10_000), max_size=8),
    answered=st.integers(0, 6),
)
def test_every_request_is_known_until_it_is_answered(
    ids: list[Any], params: Any, order: str, spaces: bool, cuts: list[int], answered: int
) -> None:
    ledger = Ledger()
    requests = [{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": params} for i in ids]
    notice = {"jsonrpc": "2.0", "method": "x", "params": params}
    data = b"".join(written(each, order, spaces=spaces) for each in [*requests, notice])
    for piece in in_pieces(data, cuts):
        ledger.sent(piece)
    known = [json.loads(id_) for id_ in ledger.open]
    answers = b"".join(failure(id_, InternalError("x" * 300)) + b"\n" for id_ in ids[:answered])
    for piece in in_pieces(answers, cuts):
        ledger.came(piece)

    assert known == ids
    assert [json.loads(id_) for id_ in ledger.open] == ids[answered:]
    assert not ledger.in_answer


@pytest.mark.parametrize(
    "id_",
    [-1, 1.5, None, 'a "b"', "\u00e9" * 100, "x" * 70_000],
    ids=["negative", "no whole number", "null", "quotes", "no ASCII", "long"],
)
def test_of_a_long_answer_no_more_is_kept_than_its_id(id_: Any) -> None:
    ledger = Ledger()
    start = json.dumps({"jsonrpc": "2.0", "id": id_}, separators=(",", ":"))[:-1].encode()
    ledger.sent(start + b',"method":"tools/call"}\n')
    ledger.sent(request(7, "tools/call"))
    chunks = in_pieces(start + b',"result":{"text":"' + b"x" * 300_000, [*range(0, 300_000, 1000)])
    tracemalloc.start()
    try:
        for chunk in chunks:
            ledger.came(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert ledger.in_answer
    assert peak < 20 * len(start) + 20_000
    ledger.came(b'"}}\n{"jsonrpc":"2.0","id":7,"result":{}}\n')

    assert ledger.open == {}
    assert not ledger.in_answer


@unhurried
@given(st.lists(st.binary(max_size=200)), st.lists(st.binary(max_size=200)))
def test_no_bytes_break_it(sent: list[bytes], came: list[bytes]) -> None:
    ledger = Ledger()
    for data in sent:
        ledger.sent(data)
    for data in came:
        ledger.came(data)
    ledger.end()

    assert isinstance(ledger.forget(), list)
    assert ledger.open == {}


def request(id_: int, method: str, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def test_a_session_is_what_a_new_process_has_to_be_told() -> None:
    ledger = Ledger()
    begin = request(1, "initialize", protocolVersion="2025-11-25")
    ledger.sent(begin)
    assert ledger.session() == []
    ledger.came(b'{"jsonrpc":"2.0","id":1,"result":{"protocolVer')
    ledger.came(b'sion":"2025-11-25"}}\n')
    begun = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    ledger.sent(begun)
    ledger.sent(request(2, "logging/setLevel", level="debug"))
    last = request(3, "logging/setLevel", level="error")
    ledger.sent(last + request(4, "resources/subscribe", uri="a://b"))
    kept = request(5, "resources/subscribe", uri="c://d")
    ledger.sent(kept + request(6, "resources/unsubscribe", uri="a://b"))

    assert ledger.session() == [
        (b"1", begin.rstrip()),
        (None, begun.rstrip()),
        (b"3", last.rstrip()),
        (b"5", kept.rstrip()),
    ]
    assert ledger.greeting == b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}'


def test_of_a_batch_only_the_session_is_told_again() -> None:
    ledger = Ledger()
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    begun = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "pay"}}
    level = {"jsonrpc": "2.0", "id": 3, "method": "logging/setLevel", "params": {"level": "info"}}
    follow = {"jsonrpc": "2.0", "id": 4, "method": "resources/subscribe", "params": {"uri": "a:b"}}
    ledger.sent(json.dumps(begin).encode() + b"\n")
    ledger.came(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    ledger.sent(b" " + json.dumps([call, begun, level, follow]).encode() + b"\n")

    told = [(id_, json.loads(said)) for id_, said in ledger.session()]
    assert told == [(b"1", begin), (None, begun), (b"3", level), (b"4", follow)]


def test_a_session_does_not_grow_without_bound() -> None:
    ledger = Ledger()
    ledger.sent(request(1, "initialize"))
    ledger.came(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    for number in range(2, 100):
        # One that is followed again, and one that is not any more, are not counted twice.
        ledger.sent(request(number, "resources/subscribe", uri="a:b", ballast="x" * 100_000))
        ledger.sent(request(number, "resources/subscribe", uri="c:d", ballast="x" * 100_000))
        ledger.sent(request(number, "resources/unsubscribe", uri="c:d"))
    assert not ledger.outgrown
    assert len(ledger.session()) == 2
    for number in range(2, 50):
        ledger.sent(request(number, "resources/subscribe", uri=f"{number}", ballast="x" * 100_000))

    assert ledger.outgrown
    assert len(ledger.session()) < 10


@pytest.mark.parametrize("kind", ["lines", "batch"])
def test_what_is_cancelled_waits_for_no_answer(kind: str) -> None:
    ledger = Ledger()
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 2, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
    ]
    if kind == "batch":
        ledger.sent(json.dumps(messages).encode() + b"\n")
        ledger.came(b'[{"jsonrpc":"2.0","id":7,"result":{}},')
    else:
        ledger.sent(b"".join(json.dumps(each).encode() + b"\n" for each in messages))
    assert list(ledger.open) == [b"2"]
    if kind == "batch":
        ledger.came(b'{"jsonrpc":"2.0","id":2,"result":{}}]\n')

        assert list(ledger.open) == []


@pytest.mark.parametrize("method", ["tools/call", "logging/setLevel"])
def test_an_id_that_is_used_twice_waits_for_two_answers(method: str) -> None:
    ledger = Ledger()
    ledger.sent(request(1, method, level="info"))
    ledger.sent(request(1, "tools/call"))
    ledger.came(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"in use"}}\n')

    assert list(ledger.open) == [b"1"]
    ledger.came(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    assert list(ledger.open) == []


def test_a_question_of_the_process_is_no_answer() -> None:
    ledger = Ledger()
    ledger.sent(request(1, "ping"))
    ledger.came(b'{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}\n')
    ledger.sent(b'{"jsonrpc":"2.0","id":1,"result":{"method":"x"}}\n')

    assert list(ledger.open) == [b"1"]


def test_a_line_that_is_too_long_is_known_by_its_head() -> None:
    ledger = Ledger()
    ledger.sent(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"')
    for _ in range(5):
        ledger.sent(b"x" * 1_000_000)

    assert list(ledger.open) == [b"1"]
    assert ledger.unended is None
    ledger.sent(b'"}}\n' + request(2, "ping"))
    assert list(ledger.open) == [b"1", b"2"]
    assert ledger.unended == b""


@pytest.mark.parametrize("first", [b"Content-Length: 5\r\n\r\n", b"\r\n content-length: 5"])
def test_headers_are_not_understood(first: bytes) -> None:
    ledger = Ledger()
    ledger.sent(b"\n")
    ledger.sent(first)

    assert ledger.opaque
