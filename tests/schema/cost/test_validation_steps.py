"""How many steps it takes to check a value, counted without taking them."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from toolhaft.encoding.json_bounds import TooMuch
from toolhaft.schema.cost.validation_steps import MOST_STEPS, check_steps, offers_choices
from toolhaft.schema.pydantic_models import ModelErrors, reader_of


class Left(BaseModel):
    x: "Left | Right | None" = None


class Right(BaseModel):
    x: "Left | Right | None" = None


class Leaf(BaseModel):
    kind: Literal["leaf"]


class Branch(BaseModel):
    kind: Literal["branch"]
    left: "Node"
    right: "Node"


Node = Annotated[Leaf | Branch, Field(discriminator="kind")]
Left.model_rebuild()
Branch.model_rebuild()


def nested(depth: int, inner: Any = None) -> Any:
    for _ in range(depth):
        inner = {"x": inner}
    return inner


def schema_of(annotation: Any) -> dict[str, Any]:
    schema: dict[str, Any] = TypeAdapter(annotation).json_schema()
    return schema


def test_a_choice_within_itself_doubles_the_steps_with_each_level() -> None:
    schema = schema_of(Left)

    check_steps(nested(8), schema)
    with pytest.raises(TooMuch, match="takes more than 40,000 steps to check"):
        check_steps(nested(30), schema)


def test_counting_them_takes_few_steps_itself() -> None:
    """What is known of a value and a schema is not counted again: else this would not end."""
    with pytest.raises(TooMuch):
        check_steps(nested(150), schema_of(Left))


def test_a_value_that_names_its_form_may_be_nested() -> None:
    value: Any = {"kind": "leaf"}
    for _ in range(60):
        value = {"kind": "branch", "left": value, "right": {"kind": "leaf"}}

    check_steps(value, schema_of(Node))


def test_a_value_of_many_parts_takes_as_many_steps() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}

    check_steps([1] * (MOST_STEPS - 1), schema)
    with pytest.raises(TooMuch):
        check_steps([1] * MOST_STEPS, schema)


def test_a_value_that_is_nested_too_deeply_is_too_much() -> None:
    with pytest.raises(TooMuch, match="nested too deeply"):
        check_steps(nested(100_000), {"$ref": "#/$defs/a", "$defs": {"a": schema_within()}})


def schema_within() -> dict[str, Any]:
    return {"properties": {"x": {"$ref": "#/$defs/a"}}}


@pytest.mark.parametrize(
    ("annotation", "offers"),
    [(Left, True), (list[int], False), (int | None, False), (list[int] | dict[str, int], True)],
    ids=str,
)
def test_a_choice_counts_if_its_forms_have_something_inside(annotation: Any, offers: bool) -> None:
    assert offers_choices(schema_of(annotation)) is offers


def test_a_model_is_not_asked_about_a_value_that_takes_too_many_steps() -> None:
    with pytest.raises(ModelErrors) as refusal:
        reader_of(Left)(nested(60, 1))

    [(place, words)] = refusal.value.problems
    assert place == ""
    assert words.startswith("takes more than 40,000 steps")


def test_a_model_is_asked_about_others() -> None:
    assert reader_of(Left)(nested(6)).x.x.x.x.x.x is None


def test_of_very_many_errors_only_the_number_is_told() -> None:
    with pytest.raises(ModelErrors) as refusal:
        reader_of(list[Leaf])([{"kind": "x"}] * 2000)

    assert refusal.value.problems == [("", "does not fit, for 2,000 reasons")]


def test_a_model_with_a_set_of_numbers_takes_fewer_values() -> None:
    read = reader_of(dict[str, set[int]])

    assert read({"a": [1, 1]}) == {"a": {1}}
    with pytest.raises(ModelErrors, match="at most 3,000 are read"):
        read({"a": list(range(100_000, 109_000))})
