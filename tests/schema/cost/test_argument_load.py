"""Large values are looked at before they are read, where reading may take long."""

import dataclasses
import datetime
import decimal
import uuid
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, TypedDict

import msgspec
import pytest
from pydantic import AfterValidator, BaseModel, create_model

from toolhaft.encoding.json_bounds import TooMuch
from toolhaft.schema.cost.argument_load import type_limits_of

MODULUS = 2**61 - 1
COLLIDING = [MODULUS * number for number in range(1, 1000)]
DISTINCT = list(range(1000))


@dataclasses.dataclass
class Ids:
    ids: set[int]
    inner: "Ids | None" = None


@dataclasses.dataclass(frozen=True)
class Key:
    a: int


class Optional(TypedDict):
    ids: NotRequired[set[int]]


class Pair(NamedTuple):
    name: str
    ids: frozenset[int]


class Model(BaseModel):
    x: int


UserId = NewType("UserId", int)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (set[int], COLLIDING),
        (set[UserId], COLLIDING),
        (set, COLLIDING),
        (frozenset[int | str], COLLIDING),
        (set[Annotated[int, msgspec.Meta(ge=0)]], COLLIDING),
        (set[int], [str(each) for each in COLLIDING]),
        (set[int], [*COLLIDING, "no integer"]),
        (set[decimal.Decimal], COLLIDING),
        (set[uuid.UUID], [str(uuid.UUID(int=each)) for each in COLLIDING]),
        (set[tuple[int, str]], [[each, "a"] for each in COLLIDING]),
        (set[Key], [{"a": each} for each in COLLIDING]),
        (dict[int, str], {str(each): "" for each in COLLIDING}),
        (dict[str, dict[int, str]], {"a": {str(each): "" for each in COLLIDING}}),
        (list[set[int]], [[1], COLLIDING]),
        (tuple[str, set[int]], ["a", COLLIDING]),
        (set[int] | None, COLLIDING),
        (Ids, {"ids": COLLIDING}),
        (list[Ids], [{"ids": [1], "inner": {"ids": COLLIDING}}]),
        (Pair, ["a", COLLIDING]),
        (Optional, {"ids": COLLIDING}),
        (set[frozenset[int]], [COLLIDING]),
    ],
    ids=str,
)
def test_values_that_collide_are_refused(annotation: Any, value: Any) -> None:
    with pytest.raises(TooMuch, match="values that collide in a hash table"):
        type_limits_of(annotation).admit(value)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (set[int], DISTINCT),
        (set[int], [5] * 10_000),
        (set[int], COLLIDING[:32]),
        (set[int], "no array"),
        (set[int], ["no integer", *COLLIDING]),
        (set[str], [str(each) for each in COLLIDING]),
        (list[int], COLLIDING),
        (dict[str, int], {str(each): 1 for each in COLLIDING}),
        (dict[Literal["a"], int], {"a": 1}),
        (tuple[set[int], str], [DISTINCT, "a"]),
        (Ids, {"ids": DISTINCT}),
        (Ids, None),
        (set[list[int]], [[each] for each in COLLIDING]),
    ],
    ids=str,
)
def test_others_are_not(annotation: Any, value: Any) -> None:
    type_limits_of(annotation).admit(value)


def test_few_comparisons_are_made() -> None:
    """However many collide: the count of them is what an attack is made of."""
    compared = 0

    class Colliding(int):
        def __hash__(self) -> int:
            return 0

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return int(self) == other

    @dataclasses.dataclass(frozen=True)
    class Wrapped:
        a: int

        def __hash__(self) -> int:
            return hash(Colliding(self.a))

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Wrapped) and Colliding(self.a) == other.a

    with pytest.raises(TooMuch):
        type_limits_of(set[Wrapped]).admit([{"a": number} for number in range(20_000)])

    assert compared < 2000


@pytest.mark.parametrize(
    ("annotation", "most"),
    [
        (list[decimal.Decimal], 100_000),
        (set[decimal.Decimal], 20_000),
        (list[datetime.timedelta], 500_000),
        (list[Path], 100_000),
        (list[Model], 40_000),
        (list[Annotated[int, AfterValidator(abs)]], 40_000),
        (dict[str, Path] | list[decimal.Decimal], 100_000),
    ],
    ids=str,
)
def test_of_types_that_are_slow_to_read_so_many_are_read(annotation: Any, most: int) -> None:
    load = type_limits_of(annotation)

    load.admit([1] * (most - 1))
    with pytest.raises(TooMuch, match=f"holds {most + 1:,} values, and at most {most:,} are read"):
        load.admit([1] * most)


@pytest.mark.parametrize("annotation", [str, int, float | None, bytes, bool])
def test_numbers_and_texts_are_read_at_once(annotation: Any) -> None:
    assert type_limits_of(annotation).is_light


@pytest.mark.parametrize("annotation", [list[str], Any, dict, Key, set[str], Path])
def test_all_else_may_take_longer(annotation: Any) -> None:
    assert not type_limits_of(annotation).is_light


Wide = dataclasses.make_dataclass("Wide", [(f"f{number}", int, 0) for number in range(48)])
Filled = msgspec.defstruct("Filled", [(f"f{number}", list[int], []) for number in range(16)])
Loose = TypedDict("Loose", {f"f{number}": int for number in range(48)}, total=False)  # type: ignore[misc]


Lists = create_model("Lists", **{f"f{number}": (list[int], []) for number in range(16)})  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("annotation", "most"),
    [
        (list[Wide], 5_000),
        (list[Filled], 5_000),
        (list[Lists], 5_000),
        (list[set[str]], 250_000 // 6),
    ],
    ids=str,
)
def test_of_objects_that_stand_for_much_so_many_are_read(annotation: Any, most: int) -> None:
    load = type_limits_of(annotation)

    load.admit([{}] * (most - 1))
    with pytest.raises(TooMuch, match=f"{most + 1:,} arrays and objects, and at most {most:,} are"):
        load.admit([{}] * most)


@pytest.mark.parametrize("annotation", [list[Loose], list[Key], list[list[int]]], ids=str)
def test_of_objects_that_stand_for_little_as_many_as_a_message_holds(annotation: Any) -> None:
    type_limits_of(annotation).admit([{}] * 80_000)


def test_of_texts_for_a_pattern_so_many_are_read() -> None:
    load = type_limits_of(list[str], ["^a$"])

    with pytest.raises(TooMuch, match="holds 100,001 values, and at most 100,000 are read"):
        load.admit(["a"] * 100_000)
