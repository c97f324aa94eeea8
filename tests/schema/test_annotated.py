"""What stands beside a type in `Annotated[…]`, in every dialect."""

import typing
from typing import Any

import annotated_types
import msgspec
import pydantic
import pytest
import typing_extensions
from msgspec import UNSET

from toolhaft import Complete
from toolhaft.schema.annotated import is_field, read_metadata


@pytest.mark.parametrize(
    "note",
    [
        "how many",
        msgspec.Meta(description="how many"),
        pydantic.Field(description="how many"),
        typing_extensions.Doc("how many"),
        annotated_types.DocInfo("how many"),
    ],
    ids=["str", "Meta", "Field", "Doc", "DocInfo"],
)
def test_a_description_is_understood(note: Any) -> None:
    found = read_metadata([note])

    assert found.description == "how many"
    assert found.bounds == {}
    assert found.rest == []
    assert found.pydantic_only is None


BOUNDS: list[tuple[Any, dict[str, Any], bool]] = [
    (msgspec.Meta(ge=1, lt=9), {"ge": 1, "lt": 9}, False),
    (msgspec.Meta(gt=1, le=9, multiple_of=2), {"gt": 1, "le": 9, "multiple_of": 2}, False),
    (msgspec.Meta(min_length=1, max_length=3), {"min_length": 1, "max_length": 3}, False),
    (msgspec.Meta(pattern="^a"), {"pattern": "^a"}, False),
    (annotated_types.Ge(1), {"ge": 1}, True),
    (annotated_types.Gt(1), {"gt": 1}, True),
    (annotated_types.Le(1), {"le": 1}, True),
    (annotated_types.Lt(1), {"lt": 1}, True),
    (annotated_types.MultipleOf(5), {"multiple_of": 5}, True),
    (annotated_types.Interval(ge=0, le=1), {"ge": 0, "le": 1}, True),
    (annotated_types.MinLen(1), {"min_length": 1}, True),
    (annotated_types.MaxLen(3), {"max_length": 3}, True),
    (annotated_types.Len(1, 3), {"min_length": 1, "max_length": 3}, True),
    (annotated_types.Len(0, 3), {"max_length": 3}, True),
    (pydantic.Field(ge=1, le=3), {"ge": 1, "le": 3}, True),
    (pydantic.Field(min_length=1, pattern="^a"), {"min_length": 1, "pattern": "^a"}, True),
    (pydantic.Field(multiple_of=5), {"multiple_of": 5}, True),
]


@pytest.mark.parametrize(("note", "bounds", "foreign"), BOUNDS, ids=lambda value: str(value)[:50])
def test_a_constraint_is_understood(note: Any, bounds: dict[str, Any], foreign: bool) -> None:
    found = read_metadata([note])

    assert found.bounds == bounds
    assert found.meta == msgspec.Meta(**bounds)
    assert found.foreign is foreign
    assert found.pydantic_only is None


def test_a_bound_of_zero_counts() -> None:
    assert read_metadata([annotated_types.Ge(0)]).bounds == {"ge": 0}


def test_several_notes_are_taken_together() -> None:
    found = read_metadata(["first", annotated_types.Ge(1), msgspec.Meta(le=3), "second"])

    assert found.description == "second"
    assert found.bounds == {"ge": 1, "le": 3}


def test_of_two_bounds_the_last_one_counts() -> None:
    assert read_metadata([msgspec.Meta(ge=1), annotated_types.Ge(5)]).bounds == {"ge": 5}


def test_no_notes_say_nothing() -> None:
    found = read_metadata([])

    assert found.description is None
    assert found.meta is None
    assert found.default is UNSET
    assert found.default_factory is None
    assert found.foreign is False


def test_notes_do_not_share_what_they_found() -> None:
    read_metadata([msgspec.Meta(ge=1, extra_json_schema={"x-a": 1}), object()])

    assert read_metadata([]).bounds == {}
    assert read_metadata([]).extra == {}
    assert read_metadata([]).rest == []


def test_what_the_author_adds_to_a_schema_is_kept() -> None:
    meta = msgspec.Meta(title="T", examples=[1], extra_json_schema={"x-unit": "m"})
    field = pydantic.Field(examples=[2], json_schema_extra={"x-unit": "km"})

    assert read_metadata([meta]).extra == {"title": "T", "examples": [1], "x-unit": "m"}
    assert read_metadata([field]).extra == {"examples": [2], "x-unit": "km"}


def test_a_function_that_adds_to_a_schema_of_pydantic_is_passed_over() -> None:
    def add(schema: dict[str, Any]) -> None: ...

    assert read_metadata([pydantic.Field(json_schema_extra=add)]).extra == {}


def test_a_field_brings_its_default() -> None:
    assert read_metadata([pydantic.Field(default=5)]).default == 5
    assert read_metadata([pydantic.Field(default=None)]).default is None
    assert read_metadata([pydantic.Field(ge=1)]).default is UNSET
    assert read_metadata([pydantic.Field(default_factory=list)]).default_factory is list


@pytest.mark.parametrize(
    "note",
    [
        annotated_types.Predicate(str.islower),
        pydantic.AfterValidator(abs),
        pydantic.BeforeValidator(abs),
        pydantic.StringConstraints(strip_whitespace=True),
        pydantic.Field(strict=True),
        pydantic.Field(max_digits=3),
        pydantic.Field(allow_inf_nan=False),
    ],
    ids=lambda note: str(note)[:50],
)
def test_what_only_pydantic_can_enforce_is_known_for_it(note: Any) -> None:
    assert read_metadata([note]).pydantic_only is not None


class Marker:
    """A note of somebody else."""


class FieldInfo:
    """Has the name of pydantic's, and nothing else of it."""


def test_what_is_not_for_us_is_left_alone() -> None:
    complete, marker = Complete(lambda value: [value]), Marker()

    assert read_metadata([complete, marker, 5]).rest == [complete, marker, 5]


def test_a_field_is_known_by_its_name_and_its_home() -> None:
    assert is_field(pydantic.Field()) is True
    assert is_field(FieldInfo()) is False
    assert is_field(msgspec.Meta()) is False
    assert is_field(typing.Annotated[int, 1]) is False


@pytest.mark.parametrize(("zone", "has_zone"), [(None, False), (..., True)])
def test_a_zone_is_wanted_or_not(zone: Any, has_zone: bool) -> None:
    assert read_metadata([annotated_types.Timezone(zone)]).bounds == {"tz": has_zone}


def test_a_certain_zone_cannot_be_enforced() -> None:
    with pytest.raises(TypeError, match="is not enforced; use"):
        read_metadata([annotated_types.Timezone("UTC")])
