"""Requests that are known again by their headers."""

from typing import Any

import pytest

from toolhaft.protocol.http.head_cache import HeadCache
from toolhaft.protocol.http.headers import Fields, Head, Layout, Names
from toolhaft.protocol.http.rules import OriginPolicy, unreadable

MOST = 1000
OLDER = {"mcp_protocol_version": "2025-11-25"}
ORDINARY = {
    b"host": b"localhost",
    b"content-type": b"application/json",
    b"accept": b"application/json, text/event-stream",
    b"mcp-protocol-version": b"2026-07-28",
    b"mcp-method": b"tools/call",
    b"mcp-name": b"add",
    b"content-length": b"100",
}


def fields(**changes: str | None) -> Fields:
    """Ordinary headers with some of them changed, added or left out."""
    changed: dict[bytes, bytes | None] = {**ORDINARY}
    for name, value in changes.items():
        changed[name.replace("_", "-").encode()] = None if value is None else value.encode()
    return [(name, value) for name, value in changed.items() if value is not None]


def familiar() -> HeadCache:
    """Those who know what is ordinary."""
    regulars = HeadCache(MOST)
    regulars.remember(regulars.meet(fields()))
    return regulars


def test_nobody_is_known_at_first() -> None:
    assert not HeadCache(MOST).meet(fields()).welcome


def test_who_was_let_in_is_known() -> None:
    regulars = familiar()

    assert regulars.meet(fields()).welcome
    assert regulars.meet(fields()) is regulars.meet(fields())


@pytest.mark.parametrize(
    "changes",
    [
        {"content_length": "101"},
        {"content_length": "1000"},
        {"mcp_session_id": "abc"},
        {"mcp_name": "other"},
        {"mcp_protocol_version": "2025-11-25"},
        {"mcp_protocol_version": "2099-01-01"},
        {"user_agent": "somebody"},
    ],
    ids=str,
)
def test_what_does_not_decide_may_differ(changes: dict[str, str]) -> None:
    assert familiar().meet(fields(**changes)).welcome


def test_sessions_are_not_remembered_one_by_one() -> None:
    regulars = familiar()
    for number in range(10):
        named = fields(mcp_session_id=str(number), mcp_protocol_version="2025-11-25")
        assert regulars.meet(named).welcome

    assert regulars._heads == {}


def test_nobody_has_to_say_anything() -> None:
    assert not familiar().meet([]).welcome


def test_headers_may_come_in_another_order() -> None:
    assert familiar().meet(fields()[::-1]).welcome


@pytest.mark.parametrize(
    "changes",
    [
        {"host": "evil.example"},
        {"host": None},
        {"origin": "http://localhost"},
        {"origin": ""},
        {"content_type": "text/plain"},
        {"content_type": None},
        {"accept": "text/html"},
        {"accept": None},
        {"content_encoding": "gzip"},
        {"transfer_encoding": "chunked"},
        {"content_length": "1001"},
        {"content_length": "9" * 19},
        {"content_length": "-1"},
        {"content_length": "1_0"},
        {"content_length": ""},
        {"content_length": None},
        {"x": "x" * 33000},
        {"x" * 33000: ""},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_what_decides_may_not_differ(changes: dict[str, str | None]) -> None:
    assert not familiar().meet(fields(**changes)).welcome


@pytest.mark.parametrize("name", [b"host", b"content-length", b"mcp-name", b"x-other"])
def test_who_says_something_twice_is_looked_at(name: bytes) -> None:
    twice = [*fields(x_other="1"), (name, dict(fields(x_other="1"))[name])]

    assert not familiar().meet(twice).welcome


def test_who_says_too_much_is_looked_at() -> None:
    assert not familiar().meet([*fields(), *((b"x-%d" % n, b"") for n in range(100))]).welcome


def test_a_page_is_looked_at_each_time() -> None:
    regulars = HeadCache(MOST)
    head = regulars.meet(fields(origin="http://localhost"))
    assert OriginPolicy().refusal(head) is None
    regulars.remember(head)

    assert not regulars.meet(fields(origin="http://localhost")).welcome


def test_a_message_whose_length_nobody_knows_is_looked_at_each_time() -> None:
    regulars = HeadCache(MOST)
    chunked = fields(content_length=None, transfer_encoding="chunked")
    head = regulars.meet(chunked)
    assert unreadable(head, MOST) is None
    regulars.remember(head)

    assert not regulars.meet(chunked).welcome


def test_pairs_may_be_lists() -> None:
    lists = [[name, value] for name, value in fields()]
    head = familiar().meet(lists)  # type: ignore[arg-type]

    assert head.welcome
    assert head["mcp-name"] == "add"


def test_headers_may_be_read_only_once() -> None:
    assert dict(familiar().meet(iter(fields(x="1")))) == dict(Head(fields(x="1")))


def test_no_more_are_remembered_than_fit() -> None:
    regulars = familiar()
    for number in range(1000):
        regulars.remember(regulars.meet(fields(accept=f"*/*; q={number}", user_agent="x" * 500)))
        assert regulars.meet(fields(mcp_session_id=str(number))).welcome is (
            (b"localhost", None, b"application/json", ORDINARY[b"accept"], None, None)
            in regulars._judged
        )

    assert len(regulars._heads) <= 200
    assert len(regulars._judged) <= 100


def test_what_is_long_is_not_remembered() -> None:
    regulars = familiar()
    regulars.remember(regulars.meet(fields(accept="*/*," + "x" * 1000)))
    assert regulars.meet(fields(user_agent="x" * 1000)).welcome

    assert len(regulars._judged) == 1
    assert regulars._heads == {}


def test_endless_names_are_not_remembered() -> None:
    layouts: dict[Names, Layout] = {}

    for number in range(1000):
        Head([(b"x-%d" % number, b""), (b"y" * 3000, b"")], layouts)
        Head([(b"x-%d" % number, b"")], layouts)

    assert 0 < len(layouts) <= 200
    assert all(len(b"".join(names)) <= 2000 for names in layouts)


@pytest.mark.parametrize("place", [0, 3, -1])
def test_some_pairs_may_be_lists(place: int) -> None:
    mixed: list[Any] = fields()
    mixed[place] = list(mixed[place])
    regulars = HeadCache(MOST)
    regulars.remember(regulars.meet(mixed))

    assert regulars.meet(mixed).welcome


def test_a_value_may_be_a_bytearray() -> None:
    odd: list[Any] = [*fields(), (b"x-odd", bytearray(b"1"))]
    regulars = HeadCache(MOST)
    regulars.remember(regulars.meet(odd))

    assert regulars.meet(odd).welcome


@pytest.mark.parametrize("name", ["authorization", "cookie"])
def test_secrets_are_not_kept(name: str) -> None:
    regulars = familiar()
    secret = fields(**{name: "secret"})

    assert regulars.meet(secret).welcome
    assert regulars.meet(secret) is not regulars.meet(secret)


def test_what_others_see_too_cannot_be_changed() -> None:
    head = familiar().meet(fields())

    with pytest.raises(TypeError):
        head.raw[b"host"] = b"elsewhere"  # type: ignore[index]


def test_a_session_that_came_last_is_known_again_until_another_comes() -> None:
    regulars = familiar()
    first, second = (fields(mcp_session_id=id_, **OLDER) for id_ in ("a", "b"))
    heads = [regulars.meet(each) for each in (first, list(first), second, first)]

    assert heads[0] is heads[1]
    assert [head.session for head in heads] == [b"a", b"a", b"b", b"a"]


def test_what_a_server_does_to_its_list_changes_no_head_that_is_known() -> None:
    regulars = familiar()
    given = fields(mcp_session_id="a", **OLDER)
    regulars.meet(given)
    given[:] = [(name, b"b" if value == b"a" else value) for name, value in given]

    assert regulars.meet(given).session == b"b"


def test_no_secret_is_kept_of_the_head_that_came_last() -> None:
    regulars = familiar()
    regulars.meet(fields(authorization="Bearer x"))

    assert regulars._last is None
