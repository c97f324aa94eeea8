"""What one message may hold: counted in its text, before anything is made of it."""

import json

import pytest

from toolhaft.encoding.envelope import Fault, decode
from toolhaft.encoding.json_bounds import MOST_CONTAINERS, MOST_EXPONENTS, MOST_MEMBERS, excess


def full_of(item: bytes, count: int) -> bytes:
    return b"[%b]" % b",".join([item] * count)


@pytest.mark.parametrize(
    ("item", "count", "words"),
    [
        (b"[]", MOST_CONTAINERS, "more than 100,000 arrays and objects"),
        (b"{}", MOST_CONTAINERS, "more than 100,000 arrays and objects"),
        (b'{"a":1,"b":2,"c":3}', 70_000, "more than 150,000 members of objects"),
        (b"1e-310", MOST_EXPONENTS + 1, "more than 8,000 numbers with an exponent of three digits"),
        (b'"1E308"', MOST_EXPONENTS + 1, "more than 8,000 numbers with an exponent of"),
        (b"9" * 4299, 300, "more than 500,000 digits in numbers of over 1,000 digits"),
    ],
)
def test_what_takes_long_to_read_is_too_much(item: bytes, count: int, words: str) -> None:
    found = excess(full_of(item, count))

    assert found is not None
    assert words in found


@pytest.mark.parametrize(
    ("item", "count"),
    [
        (b"[]", MOST_CONTAINERS - 1),
        (b'{"a":1,"b":2}', MOST_MEMBERS // 2 - 1),
        (b"1e-310", MOST_EXPONENTS),
        (b"1.5e-05", 400_000),
        (b"12345", 600_000),
        (b'"text, [with] {brackets}: \\"and\\" quotes\\\\"', 90_000),
        (json.dumps("[" * 200_000 + ":" * 300_000).encode(), 2),
        (json.dumps('[{"\\":' * 200_000).encode(), 1),
        (b'"' + b"deadbee1e123f" * 100_000 + b'"', 1),
        (b'"' + b"3" * 3_000_000 + b'"', 1),
        (b"9" * 4299, 100),
    ],
)
def test_what_is_quick_to_read_is_not(item: bytes, count: int) -> None:
    assert excess(full_of(item, count)) is None


def test_a_string_may_be_cut_anywhere() -> None:
    """The text is looked at in pieces; a bracket in a string is none wherever a piece ends."""
    text = full_of(b'"[[[[[[[[[[[[[[[[["', 60_000)

    assert excess(text) is None
    assert excess(b" " + text) is None


def test_a_message_that_holds_too_much_is_refused_with_its_id() -> None:
    params = full_of(b"[]", MOST_CONTAINERS + 1)
    found = decode(b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":%b}}' % params)

    assert isinstance(found, Fault)
    assert found.id == 7
    assert found.error is not None
    assert found.error.message == ("too much for one message: more than 100,000 arrays and objects")
