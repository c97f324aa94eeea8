"""Forms: which schema a user is shown for a type, and what becomes of the answer."""

import datetime
import enum
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pydantic
import pytest

from toolhaft import Titles
from toolhaft.features.elicitation.forms import form_of
from toolhaft.protocol.elicitation.questions import Unfit


class Size(enum.Enum):
    SMALL = "s"
    EXTRA_LARGE = "xl"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Plain(enum.Enum):
    red = "red"
    blue = "blue"


def value_schema(kind: Any) -> Any:
    schema = form_of(kind).schema
    assert schema["type"] == "object"
    assert list(schema["properties"]) == ["value"]
    return schema["properties"]["value"]


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (datetime.date, {"type": "string", "format": "date"}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (datetime.time, {"type": "string"}),
        (Annotated[int, msgspec.Meta(ge=1, le=5)], {"type": "integer", "minimum": 1, "maximum": 5}),
        (
            Annotated[str, msgspec.Meta(extra_json_schema={"format": "email"})],
            {"type": "string", "format": "email"},
        ),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, 2], {"type": "string", "enum": ["1", "2"]}),
        (
            Annotated[Literal["a", "b"], Titles(a="Ant")],
            {
                "type": "string",
                "oneOf": [{"const": "a", "title": "Ant"}, {"const": "b", "title": "b"}],
            },
        ),
        (
            Size,
            {
                "type": "string",
                "oneOf": [
                    {"const": "s", "title": "Small"},
                    {"const": "xl", "title": "Extra large"},
                ],
            },
        ),
        (
            Level,
            {
                "type": "string",
                "oneOf": [{"const": "1", "title": "Low"}, {"const": "2", "title": "High"}],
            },
        ),
        (Plain, {"type": "string", "enum": ["red", "blue"]}),
        (
            list[Literal["a", "b"]],
            {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        ),
        (
            list[Size],
            {
                "type": "array",
                "items": {
                    "anyOf": [
                        {"const": "s", "title": "Small"},
                        {"const": "xl", "title": "Extra large"},
                    ]
                },
            },
        ),
    ],
)
def test_a_value_is_a_form_of_one_field(kind: Any, schema: Any) -> None:
    assert value_schema(kind) == schema


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        (str, "x", "x"),
        (int, 3, 3),
        (float, 3, 3.0),
        (bool, True, True),
        (datetime.date, "2030-01-31", datetime.date(2030, 1, 31)),
        (Literal[1, 2], "2", 2),
        (Size, "xl", Size.EXTRA_LARGE),
        (Level, "2", Level.HIGH),
        (list[Literal[1, 2]], ["2", "1"], [2, 1]),
        (list[Size], ["s"], [Size.SMALL]),
        (list[Size], [], []),
    ],
)
def test_the_answer_is_a_value_of_the_type(kind: Any, given: Any, value: Any) -> None:
    assert form_of(kind).read({"value": given}) == value


@dataclass
class Order:
    name: Annotated[str, "Who orders."]
    size: Size
    count: int = 1
    note: str | None = None
    extras: Annotated[Literal["ham", "egg"] | None, "On top."] = None


class OrderStruct(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(description="Who orders.")]
    size: Size
    count: int = 1
    note: str | None = None
    extras: Annotated[Literal["ham", "egg"] | None, "On top."] = None


class OrderDict(TypedDict, total=False):
    name: str
    size: Size


class OrderModel(pydantic.BaseModel):
    name: str = pydantic.Field(description="Who orders.")
    size: Size
    count: int = 1
    note: str | None = None


SIZES = [{"const": "s", "title": "Small"}, {"const": "xl", "title": "Extra large"}]
NAME = {"type": "string", "description": "Who orders."}
ORDER = {
    "name": NAME,
    "size": {"type": "string", "oneOf": SIZES},
    "count": {"type": "integer", "default": 1},
    "note": {"type": "string"},
    "extras": {"type": "string", "enum": ["ham", "egg"], "description": "On top."},
}


@pytest.mark.parametrize("kind", [Order, OrderStruct])
def test_a_class_is_a_form_of_its_fields(kind: Any) -> None:
    assert form_of(kind).schema == {
        "type": "object",
        "properties": ORDER,
        "required": ["name", "size"],
    }


def test_a_model_is_a_form_of_its_fields() -> None:
    assert form_of(OrderModel).schema == {
        "type": "object",
        "properties": {name: ORDER[name] for name in ("name", "size", "count", "note")},
        "required": ["name", "size"],
    }


@pytest.mark.parametrize("kind", [Order, OrderStruct, OrderModel])
def test_an_answer_is_an_object_with_its_defaults(kind: Any) -> None:
    assert form_of(kind).read({"name": "Ann", "size": "s"}) == kind(name="Ann", size=Size.SMALL)


def test_a_typed_dict_may_lack_what_is_not_required() -> None:
    form = form_of(OrderDict)

    assert "required" not in form.schema
    assert form.read({"size": "s"}) == {"size": Size.SMALL}


def test_a_field_that_may_be_none_may_be_left_out() -> None:
    class Optional(msgspec.Struct):
        note: str | None

    assert form_of(Optional).schema == {
        "type": "object",
        "properties": {"note": {"type": "string"}},
    }
    assert form_of(Optional).read({}) == Optional(None)
    assert form_of(int | None).read({}) is None


def test_defaults_of_choices_stand_in_the_field() -> None:
    class Choosing(msgspec.Struct):
        size: Size = Size.SMALL
        level: Level = Level.HIGH

    assert form_of(Choosing).schema["properties"] == {
        "size": {"type": "string", "default": "s", "oneOf": SIZES},
        "level": {
            "type": "string",
            "default": "2",
            "oneOf": [{"const": "1", "title": "Low"}, {"const": "2", "title": "High"}],
        },
    }


def test_names_of_choices_in_the_old_way_are_kept() -> None:
    names = {"enumNames": ["One", "Two"]}
    kind = Annotated[Literal["1", "2"], msgspec.Meta(extra_json_schema=names)]

    assert value_schema(kind) == {"type": "string", "enum": ["1", "2"], **names}


def test_a_schema_by_hand_is_a_form_of_its_fields() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "integer", "x-more": 1}}}

    form = form_of(schema)

    assert form.schema == schema
    assert form.read({"x": 1}) == {"x": 1}
    with pytest.raises(Unfit, match="x: expected an integer"):
        form.read({"x": "one"})


def test_answers_are_checked_by_all_that_a_schema_by_hand_says() -> None:
    choice = {"anyOf": [{"$ref": "#/$defs/choice"}, {"type": "null"}], "default": None}
    form = form_of(
        {
            "type": "object",
            "properties": {"even": {"type": "integer", "multipleOf": 2}, "choice": choice},
            "$defs": {"choice": {"enum": ["a", "b"], "description": "One of two."}},
        }
    )

    assert form.schema["properties"]["choice"] == {
        "type": "string",
        "enum": ["a", "b"],
        "description": "One of two.",
    }
    assert form.read({"even": 2, "choice": None}) == {"even": 2, "choice": None}
    with pytest.raises(Unfit, match="even: must be a multiple of 2"):
        form.read({"even": 3})


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ({"type": "object", "properties": {"y": {"type": "string"}}}, "'x' cannot be a field"),
        ({"type": "array", "items": {"type": "string"}}, "'x' cannot be a field"),
        ({"type": "array"}, "'x' cannot be a field"),
        ({"type": ["string", "integer"]}, "'x' cannot be a field"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "'x' cannot be a field"),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "'x' cannot be a field"),
        ({"type": "string", "not": {"const": "y"}}, "'x' cannot be a field"),
        ({"$ref": "#/$defs/inner"}, "'x' cannot be a field"),
        ({}, "'x' cannot be a field"),
        (True, "'x' cannot be a field"),
        ({"enum": [1, 2]}, "the choices of 'x' must be strings"),
        ({"type": "integer", "enum": ["a"]}, "'x' cannot be a field"),
        ({"type": "integer", "default": "a"}, "the default of 'x' does not fit"),
    ],
)
def test_a_field_by_hand_that_no_form_has_is_refused_by_name(field: Any, words: str) -> None:
    inner = {"inner": {"type": "object"}}

    with pytest.raises(TypeError, match=words):
        form_of({"type": "object", "properties": {"x": field}, "$defs": inner})


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"allOf": [{"properties": {}}]}, "not in `allOf`"),
        ({"oneOf": [{"required": ["x"]}]}, "not in `oneOf`"),
        ({"properties": {}, "required": ["x"]}, "'x' is required and not among"),
    ],
)
def test_a_schema_by_hand_that_hides_its_fields_is_refused(schema: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        form_of({"type": "object", **schema})


@dataclass
class Nested:
    name: str
    order: Order


class Listed(msgspec.Struct):
    tags: list[str]


class Recursive(msgspec.Struct):
    inner: "Recursive | None" = None


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Nested, "Nested.order cannot be a field of a form"),
        (Listed, "Listed.tags cannot be a field of a form"),
        (dict[str, int], "the answer cannot be a field of a form"),
        (int | str, "the answer cannot be a field of a form"),
        (Recursive, "contains itself"),
        (5, "cannot ask for this: 5 cannot be described in JSON Schema; ask for text, numbers"),
        (complex, "cannot ask for this"),
    ],
)
def test_what_is_no_form_is_refused_by_name(kind: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        form_of(kind)


@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        (int, {"value": "many"}, "the answer.value: expected an integer"),
        (int, {}, "missing"),
        (Size, {"value": "m"}, "the answer.value"),
        (Annotated[int, msgspec.Meta(le=5)], {"value": 6}, "at most 5"),
        (Order, {"name": "Ann"}, "size"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_reason(kind: Any, content: Any, words: str) -> None:
    with pytest.raises(Unfit, match=words):
        form_of(kind).read(content)


class Contact(msgspec.Struct):
    name: str
    nick: str | None = None
    tags: list[Literal["a", "b"]] = []
    count: int = 1
    mail: str | None = msgspec.field(default="none")


def test_null_in_a_field_that_is_not_required_is_a_field_left_empty() -> None:
    content = {"name": "Ann", "nick": None, "tags": None, "count": None, "mail": None}

    assert form_of(Contact).read(content) == Contact("Ann")
    assert form_of(int | None).read({"value": None}) is None


def test_null_in_a_field_that_is_required_does_not_fit() -> None:
    with pytest.raises(Unfit, match="name"):
        form_of(Contact).read({"name": None})


def test_null_is_kept_where_a_schema_of_the_author_admits_it() -> None:
    properties = {
        "a": {"type": ["string", "null"]},
        "b": {"type": "string"},
        "c": {"$ref": "#/$defs/text"},
    }
    form = form_of({"type": "object", "properties": properties, "$defs": {"text": properties["b"]}})

    assert form.read({"a": None, "b": None, "c": None, "d": None}) == {"a": None, "d": None}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "banana"},
        {"type": "object", "properties": {"x": {"type": "banana"}}},
        {"type": "object", "properties": {"x": {"$ref": "#/$defs/missing"}}},
        {"type": "string"},
    ],
)
def test_a_schema_that_is_none_is_refused_where_it_is_given(schema: Any) -> None:
    with pytest.raises(ValueError, match="cannot ask for this"):
        form_of(schema)
