"""The members of an object by its text: which stand twice, and the id of a broken request."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from toolhaft.encoding.json_bounds import TooMuch
from toolhaft.encoding.json_members import is_each_once, repeated, salvage_id


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (b"{}", None),
        (b'{"a":1}', None),
        (b'{"a":1,"b":2}', None),
        (b'{ "a" : 1 , "b" : [ {"a": 1, "a": 2} ] }', None),
        (b'{"a":"a","b":{"a":1}}', None),
        ('{"\u00fc":1}'.encode(), None),
        (b'{"a\\"":1,"a":1}', None),
        (b'{"a":1,"a":1}', "a"),
        (b'{"a":1,"b":2,"a":1}', "a"),
        (b'{"a":12,"a":1}', "a"),
        (b'{"a":1,"a":12}', "a"),
        (b'{"a":1,"\\u0061":1}', "a"),
        (b'{"":0,"":0}', ""),
        (b'{"a":{"a":1},"b":1,"a":{"a":1}}', "a"),
        (b"[1,1]", None),
        (b"1", None),
        (b"{", None),
    ],
)
def test_a_name_that_stands_twice_is_found(text: bytes, name: str | None) -> None:
    assert repeated(text) == name
    assert repeated(Raw(text)) == name


NAMES = ["a", "b", "ab", "", 'a"b', "\u00fc"]
values = st.recursive(
    st.sampled_from([0, 1, 12, -1, 1.5, True, None, "", "a", 'x","a":1', "\\", "{", "\u00fc"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=5,
)
blanks = st.sampled_from(["", " ", "\t\n "])


@st.composite
def objects(draw: st.DrawFn) -> tuple[str, list[str]]:
    """The text of an object, and the names of its members in order."""
    names = draw(st.lists(st.sampled_from(NAMES), max_size=5))
    members: list[str] = []
    for name in names:
        ascii_only, spaced = draw(st.booleans()), draw(st.booleans())
        key = json.dumps(name, ensure_ascii=ascii_only)
        if draw(st.booleans()):
            key = '"' + "".join(f"\\u{ord(letter):04x}" for letter in name) + '"'
        separators = (", ", ": ") if spaced else (",", ":")
        value = json.dumps(draw(values), ensure_ascii=ascii_only, separators=separators)
        members.append(f"{draw(blanks)}{key}{draw(blanks)}:{draw(blanks)}{value}{draw(blanks)}")
    return "{" + ",".join(members) + draw(blanks) + "}", names


@settings(max_examples=300, deadline=None)
@given(made=objects())
def test_a_name_is_found_twice_if_and_only_if_it_is_there_twice(
    made: tuple[str, list[str]],
) -> None:
    text, names = made

    found = repeated(text.encode())

    twice = {name for name in names if names.count(name) > 1}
    assert found in twice if twice else found is None


@settings(max_examples=300, deadline=None)
@given(made=objects())
@example(made=('{"a":1,"a":1}', ["a", "a"]))
@example(made=('{"a":"b","b":1}', ["a", "b"]))
def test_names_that_are_said_to_stand_once_do(made: tuple[str, list[str]]) -> None:
    text, names = made
    spelled = [json.dumps(name, ensure_ascii=False).encode() for name in set(names)]

    if is_each_once(text.encode(), spelled):
        assert len(set(names)) == len(names)


# The id of a broken request


@pytest.mark.parametrize(
    ("data", "id_"),
    [
        (b'{"id":1,', 1),
        (b'{"id":"a b","x":', "a b"),
        (b'{"params":{"id":5},"id":6,', 6),
        (b'{"params":"\\"id\\":5","id":6,', 6),
        (b'{"id":1', UNSET),
        (b'{"id":12', UNSET),
        (b'{"id":1.5,', UNSET),
        (b'{"id":null,', UNSET),
        (b'{"id":1,"id":2,', UNSET),
        (b'{"params":{"id":5}', UNSET),
        (b'["id",1,', UNSET),
        (b'[{"id":1,', UNSET),
        (b'"id":1,', UNSET),
        (b'{"x":"never ends, "id":1,', UNSET),
        (b"", UNSET),
    ],
)
def test_an_id_is_salvaged_only_beyond_doubt(data: bytes, id_: Any) -> None:
    assert salvage_id(data) == id_


@pytest.mark.parametrize(
    ("end", "id_"),
    [
        (b'"},"jsonrpc":"2.0","id":42}', 42),
        (b'"}, "jsonrpc" : "2.0", "id" : "a,b" }\n', "a,b"),
        (b'"},"id":-7,"jsonrpc":"2.0"}', -7),
        (b'"},"jsonrpc":"2.0","id":42,"method":"tools/call"}', 42),
        (b'"},"id":"a","jsonrpc":"2.0", "method" : "m" }', "a"),
        (b'"},"jsonrpc":"2.0","id":42,"method":"m"}}', UNSET),
        (b'"},"jsonrpc":"2.0","id":42,"method":{}}', UNSET),
        (b'"},"id":42}', UNSET),
        (b'"},"jsonrpc":"2.0","id":42}}', UNSET),
        (b'"},"jsonrpc":"2.0","id":42', UNSET),
        (b'"},"jsonrpc":"2.0","id":1.5}', UNSET),
        (b'"},"jsonrpc":"2.0","id":null}', UNSET),
        (b',\\"jsonrpc\\":\\"2.0\\",\\"id\\":5}', UNSET),
    ],
)
def test_a_request_that_was_skipped_may_have_its_id_at_the_end(end: bytes, id_: Any) -> None:
    head = b'{"method":"tools/call","params":{"x":"' + b"x" * 70_000

    assert salvage_id(head, end) == id_
    assert salvage_id(b"\xef\xbb\xbf" + head, end) == id_
    assert salvage_id(b"[" + head, end) is UNSET
    assert salvage_id(b'{"id":1,' + head[1:], end) == 1


@pytest.mark.parametrize(
    ("end", "id_"),
    [
        (b'"},"id":42,"jsonrpc"', 42),
        (b'"},"x":{"id":1},"id":"a",', "a"),
        (b'"},"id":42,"id":42,', UNSET),
        (b'","id":42},', UNSET),
        (b'\\","id":42,', UNSET),
    ],
)
def test_a_broken_request_may_have_its_id_behind_a_long_member(end: bytes, id_: Any) -> None:
    assert salvage_id(b'{"params":{"x":"' + b"x" * 2**20 + end) == id_


def test_a_broken_request_with_too_many_members_may_have_its_id_at_the_end() -> None:
    many = b'{"params":[' + b"[]," * 100_000

    assert salvage_id(many + b'[]],"id":1,"jsonrpc":"2.0"}') == 1
    assert salvage_id(many + b'[]],"id":1,"method":"m"}') is UNSET


def test_names_are_not_gone_through_one_by_one_if_there_are_very_many() -> None:
    members = ",".join(f'"\\u0061{number}":1' for number in range(10_001))

    with pytest.raises(TooMuch, match="more than 10,000 members"):
        repeated(f"{{{members}}}".encode())


def test_very_many_names_that_are_written_compactly_are_no_work() -> None:
    members = ",".join(f'"a{number}":1' for number in range(20_000))

    assert repeated(f"{{{members}}}".encode()) is None
