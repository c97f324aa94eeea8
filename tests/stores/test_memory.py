"""Sessions and logs as values: written down, found again, forgotten in time."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stores.opened import again, opened

from toolhaft.protocol.handshake import Session
from toolhaft.stores.memory import MemoryBus, MemoryStore


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_recalled_session_has_its_revision(revision: str) -> None:
    assert again(opened(revision)).caller.revision.date == revision


def test_a_recalled_session_is_open() -> None:
    assert again(opened()).state == "open"


def test_a_recalled_session_has_its_id() -> None:
    assert again(opened()).id == "abc"


def test_a_recalled_session_knows_its_client() -> None:
    client = again(opened()).caller.client

    assert client is not None
    assert (client.name, client.version) == ("tester", "2")


def test_a_recalled_session_knows_what_its_client_can_do() -> None:
    session = again(opened(roots={"listChanged": True}, experimental={"x": [1, None]}))

    assert session.caller.capabilities == {
        "roots": {"listChanged": True},
        "experimental": {"x": [1, None]},
    }


@pytest.mark.parametrize("principal", [None, "", "ann", "ü\x00"])
def test_a_recalled_session_belongs_to_whom_it_did(principal: str | None) -> None:
    assert again(opened(principal=principal)).caller.principal == principal


@pytest.mark.parametrize("level", [None, 0, 7])
def test_a_recalled_session_logs_as_before(level: int | None) -> None:
    session = opened()
    session.caller.log_level = level

    assert again(session).caller.log_level == level


def test_a_recalled_session_follows_what_it_did() -> None:
    session = opened()
    session.interests.uris = frozenset({"a://1", "b://ü"})

    assert again(session).interests.uris == {"a://1", "b://ü"}


def test_a_recalled_session_never_asks_with_the_same_id() -> None:
    session = opened()
    session.asked = 41

    assert again(session).asked == 41


def test_writing_down_settles_what_has_changed() -> None:
    session = opened()
    session.changed = True
    session.remember()

    assert session.changed is False


@pytest.mark.parametrize("written", [b"", b"nonsense", b"\x80", b"{}", b"\xff" * 20])
def test_what_is_no_session_is_not_recalled(written: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        Session.recalled("abc", written)


def test_a_session_of_another_release_is_not_recalled() -> None:
    written = opened().remember().replace(b"2025-11-25", b"2099-01-01")

    with pytest.raises(msgspec.MsgspecError, match="no such revision: '2099-01-01'"):
        Session.recalled("abc", written)


@given(st.binary(max_size=60), st.integers(0, 200))
def test_a_damaged_session_is_told_by_its_errors_only(noise: bytes, place: int) -> None:
    written = opened().remember()
    place %= len(written)
    try:
        session = Session.recalled("abc", written[:place] + noise + written[place + len(noise) :])
    except msgspec.MsgspecError:
        return

    assert session.state == "open"


def test_an_assumed_session_keeps_nothing() -> None:
    session = Session.assumed(opened().caller.revision, "ann")

    assert (session.state, session.data, session.id) == ("open", None, None)
    assert session.caller.principal == "ann"


# The store


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_a_value_is_found_until_its_time_is_over() -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    await store.put("a", b"1", seconds=10)
    clock.now = 9.9
    before = await store.get("a")
    clock.now = 10

    assert (before, await store.get("a")) == (b"1", None)


async def test_a_value_that_is_put_again_lives_on() -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    await store.put("a", b"1", seconds=10)
    clock.now = 9
    await store.put("a", b"2", seconds=10)
    clock.now = 18

    assert await store.get("a") == b"2"


async def test_a_value_can_be_forgotten() -> None:
    store = MemoryStore()
    await store.put("a", b"1", seconds=10)
    await store.delete("a")
    await store.delete("never there")

    assert (await store.get("a"), len(store)) == (None, 0)


async def test_one_value_too_many_drops_the_oldest() -> None:
    store = MemoryStore(most=2)
    for key in "abc":
        await store.put(key, b"1", seconds=10)

    assert [await store.get(key) for key in "abc"] == [None, b"1", b"1"]


async def test_one_byte_too_many_drops_the_oldest() -> None:
    store = MemoryStore(most_bytes=10)
    await store.put("a", b"1" * 5, seconds=10)
    await store.put("b", b"1" * 5, seconds=10)
    await store.put("c", b"1", seconds=10)

    assert [await store.get(key) for key in "abc"] == [None, b"11111", b"1"]


async def test_a_value_that_is_replaced_makes_room_for_itself() -> None:
    store = MemoryStore(most_bytes=10)
    for _ in range(5):
        await store.put("a", b"1" * 8, seconds=10)

    assert await store.get("a") == b"1" * 8


async def test_a_value_that_fits_nowhere_harms_nobody() -> None:
    store = MemoryStore(most_bytes=10)
    await store.put("a", b"1" * 100, seconds=10)
    await store.put("b", b"1", seconds=10)

    assert (await store.get("a"), await store.get("b")) == (None, b"1")


async def test_those_that_were_used_least_recently_go_first() -> None:
    store = MemoryStore(most=2)
    await store.put("a", b"1", seconds=10)
    await store.put("b", b"1", seconds=10)
    await store.get("a")
    await store.put("c", b"1", seconds=10)

    assert [await store.get(key) for key in "abc"] == [b"1", None, b"1"]


async def test_what_is_over_goes_before_what_is_not() -> None:
    clock = Clock()
    store = MemoryStore(most=2, clock=clock)
    await store.put("long", b"1", seconds=1000)
    await store.put("short", b"1", seconds=1)
    clock.now = 2
    await store.put("new", b"1", seconds=10)

    assert [await store.get(key) for key in ("long", "short", "new")] == [b"1", None, b"1"]


async def test_a_log_is_read_from_any_place() -> None:
    store = MemoryStore()
    await store.append("a", [b"1", b"2"], after=0, seconds=10)
    await store.append("a", [b"3"], after=2, seconds=10)

    assert [await store.after("a", place) for place in range(4)] == [
        [b"1", b"2", b"3"],
        [b"2", b"3"],
        [b"3"],
        [],
    ]


async def test_a_place_behind_the_end_of_a_log_is_unknown() -> None:
    store = MemoryStore()
    await store.append("a", [b"1"], after=0, seconds=10)

    assert await store.after("a", 2) is None


async def test_a_log_that_is_not_there_is_unknown() -> None:
    assert await MemoryStore().after("a", 0) is None


async def test_a_log_lives_on_when_something_is_added() -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    await store.append("a", [b"1"], after=0, seconds=10)
    clock.now = 9
    await store.append("a", [b"2"], after=1, seconds=10)
    clock.now = 18
    before = await store.after("a", 0)
    clock.now = 19

    assert (before, await store.after("a", 0)) == ([b"1", b"2"], None)


async def test_a_long_log_forgets_its_beginning_and_keeps_its_places() -> None:
    store = MemoryStore()
    for number in range(1200):
        await store.append("a", [b"%d" % number], after=number, seconds=10)

    assert await store.after("a", 0) is None
    assert await store.after("a", 1198) == [b"1198", b"1199"]
    found = await store.after("a", 200)
    assert found is not None
    assert (len(found), found[0]) == (1000, b"200")


async def test_a_large_log_forgets_its_beginning() -> None:
    store = MemoryStore()
    for number in range(5):
        await store.append("a", [b"%d" % number * 300_000], after=number, seconds=10)

    assert await store.after("a", 1) is None
    found = await store.after("a", 2)
    assert found is not None
    assert [value[:1] for value in found] == [b"2", b"3", b"4"]


async def test_what_is_too_large_for_a_log_is_known_to_be_missing() -> None:
    store = MemoryStore()
    await store.append("a", [b"small"], after=0, seconds=10)
    await store.append("a", [b"x" * 2_000_000], after=1, seconds=10)

    assert await store.after("a", 1) is None
    assert await store.after("a", 2) == []


async def test_logs_count_by_their_bytes_too() -> None:
    store = MemoryStore(most_bytes=10)
    await store.append("a", [b"1" * 6], after=0, seconds=10)
    await store.append("b", [b"1" * 6], after=0, seconds=10)

    assert await store.after("a", 0) is None
    assert await store.after("b", 0) == [b"111111"]


async def test_a_log_is_no_value_and_a_value_is_no_log() -> None:
    store = MemoryStore()
    await store.append("log", [b"1"], after=0, seconds=10)
    await store.put("value", b"1", seconds=10)

    assert (await store.get("log"), await store.after("value", 0)) == (None, None)


def _step(store: MemoryStore, name: str, key: str, size: int) -> Any:
    value = b"x" * size
    return {
        "put": lambda: store.put(key, value, seconds=5),
        "append": lambda: store.append(key, [value], after=0, seconds=5),
        "delete": lambda: store.delete(key),
        "get": lambda: store.get(key),
        "after": lambda: store.after(key, size),
    }[name]()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "append", "delete", "get", "after"]),
            st.sampled_from("abc"),
            st.integers(0, 12),
        ),
        max_size=40,
    )
)
def test_a_store_never_holds_more_than_it_may(steps: list[tuple[str, str, int]]) -> None:
    clock = Clock()
    store = MemoryStore(most=2, most_bytes=20, clock=clock)
    for name, key, size in steps:
        clock.now += 1
        given = _step(store, name, key, size)
        with pytest.raises(StopIteration):
            given.send(None)

    held = sum(sum(map(len, entry.values)) for entry in store._entries.values())
    assert len(store) <= 2
    assert store._size == held <= 20


# The bus


async def test_subscribers_hear_what_is_published() -> None:
    bus, heard = MemoryBus(), []
    await bus.subscribe("a", heard.append)
    await bus.publish("a", b"1")
    await bus.publish("b", b"2")

    assert heard == [b"1"]


async def test_all_subscribers_hear() -> None:
    bus, first, second = MemoryBus(), [], []
    await bus.subscribe("a", first.append)
    await bus.subscribe("a", second.append)
    await bus.publish("a", b"1")

    assert (first, second) == ([b"1"], [b"1"])


async def test_who_leaves_hears_no_more() -> None:
    bus, heard = MemoryBus(), []
    leave = await bus.subscribe("a", heard.append)
    await leave()
    await leave()
    await bus.publish("a", b"1")

    assert heard == []


async def test_who_leaves_leaves_nothing_behind() -> None:
    bus = MemoryBus()
    for number in range(3):
        leave = await bus.subscribe(f"session/{number}", print)
        await leave()

    assert bus._subscribers == {}


async def test_a_subscriber_may_leave_while_it_hears() -> None:
    bus, heard = MemoryBus(), []

    def hear(message: bytes) -> None:
        heard.append(message)
        with pytest.raises(StopIteration):
            leave().send(None)  # type: ignore[attr-defined]

    leave = await bus.subscribe("a", hear)
    await bus.subscribe("a", heard.append)
    await bus.publish("a", b"1")
    await bus.publish("a", b"2")

    assert heard == [b"1", b"1", b"2"]
