"""Server-sent events: what stands on the wire, and the places that ids name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.protocol.http import sse

numbers = st.integers(0, 2**48)


def test_a_message_is_one_event() -> None:
    assert sse.event(b'{"a":1}') == b'event: message\ndata: {"a":1}\n\n'


def test_a_numbered_message_has_an_id() -> None:
    assert sse.numbered(7, 3, b"{}") == b"id: 7-3\nevent: message\ndata: {}\n\n"


def test_a_primer_has_an_id_and_no_message() -> None:
    assert sse.primer(7, 500) == b"id: 7-0\nretry: 500\ndata: \n\n"


def test_a_sign_of_life_is_a_comment() -> None:
    assert sse.KEEP_ALIVE.startswith(b":")
    assert sse.KEEP_ALIVE.endswith(b"\n\n")
    assert sse.KEEP_ALIVE.count(b"\n") == 2


def test_the_first_event_of_the_oldest_transport_says_where_to_post() -> None:
    assert sse.endpoint("/messages?id=ü") == (
        b"event: endpoint\ndata: " + "/messages?id=ü".encode() + b"\n\n"
    )


@given(stream=numbers, position=numbers)
def test_the_id_of_an_event_names_its_place(stream: int, position: int) -> None:
    id_ = sse.numbered(stream, position, b"{}").partition(b"\n")[0].removeprefix(b"id: ")

    assert sse.place(id_.decode()) == (stream, position)


@given(stream=numbers)
def test_the_id_of_a_primer_is_the_beginning(stream: int) -> None:
    id_ = sse.primer(stream, 1).partition(b"\n")[0].removeprefix(b"id: ")

    assert sse.place(id_.decode()) == (stream, 0)


@given(one=st.tuples(numbers, numbers), other=st.tuples(numbers, numbers))
def test_two_places_never_have_the_same_id(one: tuple[int, int], other: tuple[int, int]) -> None:
    ids = [sse.numbered(*place, b"{}") for place in (one, other)]

    assert (ids[0] == ids[1]) is (one == other)


@given(st.text())
def test_any_text_is_a_place_or_is_not(text: str) -> None:
    place = sse.place(text)

    assert place is None or all(isinstance(part, int) and part >= 0 for part in place)


@pytest.mark.parametrize(
    "text",
    [
        *("", "-", "1", "1-", "-1", "a-1", "1-a", "1-1-1", "1_0-1", "+1-1", "1--1", " 1-1", "1-1 "),
        *("²-1", "1.0-1", "0x1-1", "1-1\n", "9" * 19 + "-1", "1-" + "9" * 5000),
    ],
)
def test_what_is_no_id_of_ours_names_no_place(text: str) -> None:
    assert sse.place(text) is None
