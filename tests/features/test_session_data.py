"""`ctx.session`: what tools keep from one call to the next."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stores.opened import again, opened

from toolhaft.features.session_data import SessionData

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_a_recalled_session_has_what_tools_put_into_it(values: dict[str, Any]) -> None:
    session = opened()
    assert session.data is not None
    SessionData(session, session.data).update(values)
    recalled = again(session)

    assert recalled.data is not None
    assert dict(SessionData(recalled, recalled.data)) == values


def kept(**values: Any) -> SessionData:
    session = opened()
    assert session.data is not None
    data = SessionData(session, session.data)
    data.update(values)
    return data


class Item(msgspec.Struct):
    name: str
    count: int = 1


def test_a_session_is_a_mapping() -> None:
    data = kept(a=1, b=[2])
    del data["a"]

    assert (list(data), len(data), "a" in data, dict(data)) == (["b"], 1, False, {"b": [2]})


def test_a_value_that_is_not_there_is_missing() -> None:
    data = kept()

    assert (data.get("a"), data.get("a", 3), data.get("a", 3, type=int)) == (None, 3, 3)
    with pytest.raises(KeyError):
        data["a"]
    with pytest.raises(KeyError):
        del data["a"]


def test_what_is_taken_out_is_a_copy() -> None:
    data = kept(items=[1])
    data["items"].append(2)

    assert data["items"] == [1]


def test_what_is_put_in_is_a_copy() -> None:
    items = [1]
    data = kept(items=items)
    items.append(2)

    assert data["items"] == [1]


def test_a_value_comes_back_as_its_type() -> None:
    data = kept(item=Item("milk", 2), items=[Item("tea")])

    assert data.get("item", type=Item) == Item("milk", 2)
    assert data.get("items", type=list[Item]) == [Item("tea", 1)]


def test_a_value_of_another_type_is_told() -> None:
    with pytest.raises(TypeError, match=r"session\['item'\] is no"):
        kept(item="milk").get("item", type=Item)


@pytest.mark.parametrize("value", [object(), {1: object()}, lambda: 1, "\ud800"])
def test_what_json_cannot_hold_is_refused_at_once(value: Any) -> None:
    data = kept()
    with pytest.raises(TypeError, match="a session keeps what JSON can hold"):
        data["a"] = value

    assert "a" not in data


def test_a_key_that_no_store_can_hold_is_refused_at_once() -> None:
    data = kept()

    with pytest.raises(TypeError):
        data["\ud800"] = 1


def test_a_change_is_noticed() -> None:
    session = opened()
    assert session.data is not None
    data = SessionData(session, session.data)
    data["a"] = 1
    set_ = session.changed
    session.remember()
    del data["a"]

    assert (set_, session.changed) == (True, True)


def test_reading_changes_nothing() -> None:
    session = opened()
    assert session.data is not None
    data = SessionData(session, session.data)
    data.get("a")
    list(data)

    assert session.changed is False
