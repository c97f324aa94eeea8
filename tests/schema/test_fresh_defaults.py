"""Copies of defaults: equal to the original, and independent of it."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.schema.fresh_defaults import fresh_copy, is_mutable


@dataclass
class Open:
    items: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    items: Any


@dataclass(frozen=True, slots=True)
class FrozenWithSlots:
    items: Any


class OpenStruct(msgspec.Struct):
    items: Any


class FrozenStruct(msgspec.Struct, frozen=True):
    items: Any


@attrs.define
class Attrs:
    items: Any


@attrs.frozen
class FrozenAttrs:
    items: Any


class Pair(NamedTuple):
    items: Any
    number: int = 1


class Model(pydantic.BaseModel):
    items: list[int]


class Connection:
    """Neither data nor something to be copied."""


HOLDERS = (Open, Frozen, FrozenWithSlots, OpenStruct, FrozenStruct, Attrs, FrozenAttrs, Pair)
leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
data: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
        | st.tuples(inner, inner)
        | st.sampled_from(HOLDERS).flatmap(lambda kind: inner.map(kind))
    ),
    max_leaves=12,
)


def changeable(value: Any) -> set[int]:
    """The ids of all in a value that could be altered in place."""
    if isinstance(value, dict):
        return {id(value)}.union(*map(changeable, value.values()))
    if isinstance(value, list):
        return {id(value)}.union(*map(changeable, value))
    if isinstance(value, tuple):
        return set[int]().union(*map(changeable, value))
    if isinstance(value, HOLDERS):
        inside = changeable(value.items)
        frozen = isinstance(value, Frozen | FrozenWithSlots | FrozenStruct | FrozenAttrs)
        return inside if frozen else inside | {id(value)}
    return set()


@given(data)
def test_a_copy_is_equal_and_shares_nothing_that_can_be_altered(value: Any) -> None:
    copy = fresh_copy(value)

    assert copy == value
    assert type(copy) is type(value)
    assert not changeable(copy) & changeable(value)


@pytest.mark.parametrize(
    "value",
    [None, 1, "text", b"bytes", (1, "two"), frozenset({1}), Frozen(1), FrozenStruct("a"), Pair(1)],
)
def test_what_nobody_can_alter_is_not_copied(value: Any) -> None:
    assert not is_mutable(value)
    assert fresh_copy(value) is value


def test_what_is_no_data_is_shared() -> None:
    connection = Connection()

    copy = fresh_copy([connection])

    assert copy is not None
    assert copy[0] is connection


def test_a_container_stays_of_its_class() -> None:
    ordered = OrderedDict(a=[1])

    copy = fresh_copy(ordered)

    assert type(copy) is OrderedDict
    assert copy == ordered
    assert copy["a"] is not ordered["a"]


@pytest.mark.parametrize("value", [{1, 2}, bytearray(b"ab")])
def test_sets_and_byte_arrays_are_copied(value: Any) -> None:
    copy = fresh_copy(value)

    assert copy == value
    assert copy is not value


def test_a_model_is_copied_by_pydantic() -> None:
    model = Model(items=[1])

    copy = fresh_copy(model)

    assert copy == model
    assert copy.items is not model.items
