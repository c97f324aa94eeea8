"""A ledger that outlives its process: what is read from it is what the process knew."""

import json
import mmap
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolhaft_bridge import journal as journals
from toolhaft_bridge.journal import SIZE, Journal, blank, restored
from toolhaft_bridge.ledger import LONGEST, Ledger

unhurried = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


class Kept:
    """A journal, a ledger beside it that sees the same, and the pipe of a client."""

    def __init__(self) -> None:
        self.memory = blank()
        self.journal = Journal(mmap.mmap(self.memory, SIZE))
        self.ledger = Ledger()
        self._out, self._in = os.pipe()
        os.set_blocking(self._out, False)
        self._outbox = os.pipe()

    def sent(self, data: bytes) -> None:
        for start in range(0, len(data), 65536):
            part = data[start : start + 65536]
            os.write(self._in, part)
            self.ledger.sent(part)
            assert self.journal.read(self._out, 1) == part

    def ended(self) -> None:
        os.close(self._in)
        self._in = -1
        self.ledger.end()
        assert self.journal.read(self._out, 1) == b""

    def came(self, data: bytes) -> None:
        for start in range(0, len(data), 65536):
            part = data[start : start + 65536]
            self.ledger.came(part)
            self.written(part)

    def written(self, part: bytes) -> None:
        outbox, into = self._outbox
        assert self.journal.write(into, part) == len(part)
        assert os.read(outbox, len(part)) == part  # so that it is empty again

    def close(self) -> None:
        self.journal.close()
        for each in (self.memory, self._out, self._in, *self._outbox):
            if each >= 0:
                os.close(each)


@pytest.fixture
def kept() -> Iterator[Kept]:
    made = Kept()
    yield made
    made.close()


def told(ledger: Ledger) -> Any:
    if ledger.opaque:
        return "nothing is known"
    return (
        ledger.open,
        ledger.session(),
        ledger.greeting,
        ledger.unended,
        ledger.in_answer,
        ledger.ended,
        ledger.outgrown,
    )


def message(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}, separators=(",", ":")).encode() + b"\n"


SAID = st.one_of(
    st.integers(1, 9).map(lambda n: message(id=n, method="tools/call", params={"name": "x"})),
    st.integers(1, 9).map(lambda n: message(id=str(n), method="ping")),
    st.just(message(id='a "b"', method="tools/call", params={})),
    st.integers(1, 9).map(lambda n: message(id=n, params={"uri": f"a:{n}"}, method="a")),
    st.integers(1, 9).map(
        lambda n: message(id=n, method="resources/subscribe", params={"uri": f"a:{n % 3}"})
    ),
    st.just(message(id=7, method="initialize", params={})),
    st.just(message(method="notifications/initialized")),
    st.just(message(method="notifications/cancelled", params={"requestId": 3})),
    st.just(b"nonsense\n"),
    st.just(message(id=5, method="tools/call", params={"x": "y" * 3000})),
)
HEARD = st.one_of(
    st.integers(1, 9).map(lambda n: message(id=n, result={})),
    st.integers(1, 9).map(lambda n: message(id=str(n), error={"code": 1})),
    st.just(message(method="notifications/tools/list_changed")),
    st.just(message(id=3, method="ping")),
    st.just(message(id=7, result={"protocolVersion": "x"})),
    st.just(message(id=5, result={"x": "y" * 3000})),
    st.just(message(id='a "b"', result={"x": "y" * 3000})),
    st.just(b"[%b,%b]\n" % (message(id=1, result={})[:-1], message(id=2, result={})[:-1])),
)
STEPS = st.lists(
    st.tuples(st.booleans(), st.lists(SAID, max_size=4), st.lists(HEARD, max_size=4)), max_size=15
)
_MOST_PIECES = 40


@unhurried
@given(
    steps=STEPS,
    cuts=st.lists(st.integers(1, 400), min_size=1, max_size=4),
    growth=st.sampled_from([16, 300, 1024 * 1024]),
    ends=st.booleans(),
)
def test_what_is_read_is_what_was_known(
    steps: Any, cuts: list[int], growth: int, ends: bool
) -> None:
    """At every moment, however the bytes are cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journals, "_GROWTH", growth)
        kept = Kept()
        try:
            for whole, said, heard in steps:
                for data, give in ((b"".join(said), kept.sent), (b"".join(heard), kept.came)):
                    size, start = len(data) if whole else cuts[len(data) % len(cuts)], 0
                    # Each piece is looked at, and all that came before: not too many of them.
                    size = max(size, len(data) // _MOST_PIECES)
                    while start < len(data):
                        give(data[start : start + size])
                        start += size
                        assert told(restored(kept.memory)) == told(kept.ledger)
            if ends:
                kept.ended()
            assert told(restored(kept.memory)) == told(kept.ledger)
        finally:
            kept.close()


@unhurried
@given(st.lists(st.tuples(st.booleans(), st.binary(min_size=1, max_size=200))))
def test_no_bytes_break_it(steps: list[tuple[bool, bytes]]) -> None:
    kept = Kept()
    try:
        for is_said, data in steps:
            (kept.sent if is_said else kept.came)(data)
            assert isinstance(restored(kept.memory).forget(), list)
    finally:
        kept.close()


def test_millions_of_lines_hold_nobody_up(kept: Kept) -> None:
    """They are gathered as long as none of them has an answer and the last is not ended. If all
    that follows were copied for each of them, this would take minutes."""
    for _ in range(LONGEST // 65536 + 1):
        kept.sent(b"\n" * 65535 + b" ")
    kept.sent(message(id=1, method="ping"))

    assert told(restored(kept.memory)) == told(kept.ledger)
    assert kept.ledger.open == {b"1": 1}


def test_of_nothing_nothing_is_known(kept: Kept) -> None:
    assert told(restored(kept.memory)) == told(Ledger())


def test_a_call_that_is_answered_at_once_needs_no_record(kept: Kept) -> None:
    kept.sent(message(id=1, method="ping"))
    kept.came(message(id=1, result={}))
    before = os.pread(kept.memory, 8, 0)
    for number in range(2, 50):
        kept.sent(message(id=number, method="tools/call", params={}))
        assert list(restored(kept.memory).open) == [b"%d" % number]
        kept.came(message(id=number, result={}))
        assert restored(kept.memory).open == {}

    assert os.pread(kept.memory, 8, 0) == before


@pytest.mark.parametrize("size", [100_000, 1_000_000, 4_000_000])
def test_a_long_line_is_kept_while_it_comes(kept: Kept, size: int) -> None:
    kept.came(message(method="notifications/tools/list_changed"))
    whole = message(id=1, method="tools/call", params={"text": "x" * size})
    kept.sent(whole[:size])
    assert restored(kept.memory).unended == whole[:size]
    kept.came(message(method="notifications/tools/list_changed"))
    assert restored(kept.memory).unended == whole[:size]
    kept.sent(whole[size:])
    assert list(restored(kept.memory).open) == [b"1"]
    kept.came(message(id=1, result={"text": "x" * size}))

    assert told(restored(kept.memory)) == told(kept.ledger) == told(restored(kept.memory))
    assert restored(kept.memory).open == {}
    assert not restored(kept.memory).in_answer


def test_a_line_that_is_too_long_is_known_by_its_head(kept: Kept) -> None:
    kept.sent(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * 5_000_000)
    kept.came(message(method="notifications/tools/list_changed"))

    assert restored(kept.memory).unended is None
    assert list(restored(kept.memory).open) == [b"1"]
    kept.sent(b'"}}\n' + message(id=2, method="ping"))
    kept.came(message(id=1, result={}))
    assert list(restored(kept.memory).open) == [b"2"]
    assert restored(kept.memory).unended == b""


@pytest.mark.parametrize(
    "id_", [1, 'a "b"', "\u00e9" * 300], ids=["a number", "quotes", "no ASCII"]
)
def test_of_a_long_answer_the_start_is_kept(kept: Kept, id_: Any) -> None:
    """Whatever the id is that it begins with."""
    kept.sent(message(id=0, method="ping"))
    kept.came(message(id=0, result={}))
    kept.sent(message(id=id_, method="tools/call", params={}))
    whole = message(id=id_, result={"text": "x" * 2_000_000})
    kept.came(whole[:-1])

    assert restored(kept.memory).in_answer
    assert len(restored(kept.memory).open) == 1
    assert os.fstat(kept.memory).st_blocks * 512 < 200_000
    kept.came(whole[-1:])
    assert told(restored(kept.memory)) == told(kept.ledger)
    assert restored(kept.memory).open == {}


def test_answers_that_come_as_one_are_recorded_once(kept: Kept) -> None:
    kept.sent(b"[%b,%b]\n" % tuple(message(id=n, method="ping")[:-1] for n in (1, 2)))
    answers = [message(id=n, result={"text": "x" * 300_000})[:-1] for n in (1, 2)]
    whole = b"[%b,%b]\n" % tuple(answers)
    kept.came(whole[:-1])

    assert list(restored(kept.memory).open) == [b"1", b"2"]
    assert os.fstat(kept.memory).st_blocks * 512 < 2 * len(whole)
    kept.came(whole[-1:])
    assert restored(kept.memory).open == {}


def test_memory_is_given_back(kept: Kept) -> None:
    for number in range(12):
        kept.sent(b'{"jsonrpc": "2.0", "id": %d, "method": "ping", "x": "' % number)
        for _ in range(30):
            kept.sent(b"x" * 65536)
            kept.came(message(method="notifications/tools/list_changed"))
        kept.sent(b'"}\n')
        kept.came(message(id=number, result={}))

    assert os.fstat(kept.memory).st_blocks * 512 < 10_000_000


def test_what_does_not_fit_is_not_known(monkeypatch: pytest.MonkeyPatch, kept: Kept) -> None:
    monkeypatch.setattr(journals, "_GROWTH", 1000)
    monkeypatch.setattr(journals, "_HALF", 4096)
    kept.journal.close()
    kept.journal = Journal(mmap.mmap(kept.memory, SIZE))
    for number in range(1000):
        kept.sent(message(id=number, method="ping"))
    kept.came(message(id=1, result={}))

    assert restored(kept.memory).opaque


@pytest.mark.parametrize("growth", [1000, 1024 * 1024])
def test_a_session_that_is_too_large_is_known_to_be(
    monkeypatch: pytest.MonkeyPatch, kept: Kept, growth: int
) -> None:
    monkeypatch.setattr(journals, "_GROWTH", growth)
    for number in range(3):
        uri, ballast = f"a:{number}", "x" * 1_500_000
        params = {"uri": uri, "ballast": ballast}
        kept.sent(message(id=number, method="resources/subscribe", params=params))
        kept.came(message(id=number, result={}))
    kept.sent(message(id=9, method="tools/call"))

    ledger = restored(kept.memory)
    assert ledger.outgrown
    assert not ledger.opaque
    assert list(ledger.open) == [b"9"]


def test_after_its_end_nothing_is_noted(kept: Kept) -> None:
    kept.sent(message(id=1, method="tools/call"))
    kept.journal.close()
    kept.written(message(id=1, result={}))

    assert list(restored(kept.memory).open) == [b"1"]
    kept.journal = Journal(mmap.mmap(kept.memory, SIZE))


def test_it_is_known_whether_the_outbox_is_noted(kept: Kept) -> None:
    for number in (1, 2):
        kept.sent(message(id=number, method="tools/call"))
    outbox, into = os.pipe()
    seen: list[bool] = []
    was_written = journals.os.write

    def write(descriptor: int, data: bytes) -> int:
        count = was_written(descriptor, data)
        seen.append(restored(kept.memory).knows_outbox)  # as if it were killed here
        return count

    first, second = message(id=1, result={}), message(id=2, result={})
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(journals.os, "write", write)
            kept.journal.write(into, first + second[:-5])
    finally:
        os.close(outbox)
        os.close(into)
    ledger = restored(kept.memory)

    assert seen == [False]
    assert ledger.knows_outbox
    assert list(ledger.open) == [b"2"]
    assert ledger.in_answer
