"""Types as JSON Schema: lean, in the author's order, and just what the decoder accepts."""

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import typing
import uuid
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import msgspec
import pytest

from toolhaft.schema.fields import MISSING
from toolhaft.schema.from_types import UnknownType, object_schema, schema_of


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0
    label: str | None = None
    tags: list[str] = dataclasses.field(default_factory=list)


class Place(TypedDict):
    city: str
    zip: NotRequired[str]


class Loose(TypedDict, total=False):
    a: int


class Person(msgspec.Struct, rename="camel"):
    first_name: str
    age: int = 0


@dataclasses.dataclass
class Node:
    value: int
    next: Optional["Node"] = None


@dataclasses.dataclass
class Tree:
    children: list["Tree"]
    at: Point


UserId = typing.NewType("UserId", int)

PLAIN: list[tuple[Any, dict[str, Any]]] = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (Any, {}),
    (bytes, {"type": "string", "contentEncoding": "base64"}),
    (datetime.datetime, {"type": "string"}),
    (datetime.date, {"type": "string", "format": "date"}),
    (datetime.time, {"type": "string"}),
    (datetime.timedelta, {"type": "string"}),
    (uuid.UUID, {"type": "string", "format": "uuid"}),
    (decimal.Decimal, {"type": "string", "format": "decimal"}),
    (UserId, {"type": "integer"}),
]


@pytest.mark.parametrize(("annotation", "schema"), PLAIN, ids=lambda value: str(value)[:40])
def test_a_plain_type(annotation: Any, schema: dict[str, Any]) -> None:
    assert schema_of(annotation) == schema


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (datetime.time, {"type": "string", "format": "time"}),
        (datetime.timedelta, {"type": "string", "format": "duration"}),
    ],
)
def test_only_who_gives_a_time_is_asked_for_its_format(
    annotation: Any, schema: dict[str, Any]
) -> None:
    # Python's times may lack a zone, which the formats ask for.
    assert schema_of(annotation, given=True) == schema
    assert schema_of(annotation) == {"type": "string"}


@pytest.mark.parametrize("annotation", [set[str], frozenset[str], collections.abc.Set[str]])
def test_only_who_gives_a_set_is_asked_not_to_repeat(annotation: Any) -> None:
    member = object_schema([("v", annotation, None, MISSING)], ["v"])["properties"]["v"]

    assert member == {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    assert schema_of(annotation) == {"type": "array", "items": {"type": "string"}}


COLLECTIONS: list[tuple[Any, dict[str, Any]]] = [
    (list, {"type": "array"}),
    (list[int], {"type": "array", "items": {"type": "integer"}}),
    (list[Any], {"type": "array"}),
    (list[list[str]], {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}),
    (collections.abc.Sequence[int], {"type": "array", "items": {"type": "integer"}}),
    (set[str], {"type": "array", "items": {"type": "string"}}),
    (frozenset[str], {"type": "array", "items": {"type": "string"}}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
    (
        tuple[int, str],
        {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "items": False,
            "minItems": 2,
        },
    ),
    (dict, {"type": "object"}),
    (dict[str, Any], {"type": "object"}),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (collections.abc.Mapping[str, int], schema_of(dict[str, int])),
]


@pytest.mark.parametrize(("annotation", "schema"), COLLECTIONS, ids=lambda value: str(value)[:40])
def test_a_collection(annotation: Any, schema: dict[str, Any]) -> None:
    assert schema_of(annotation) == schema


CHOICES: list[tuple[Any, dict[str, Any]]] = [
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal[1, "b"], {"type": ["integer", "string"], "enum": [1, "b"]}),
    (Literal["a", None], {"type": ["string", "null"], "enum": ["a", None]}),
    (Colour, {"type": "string", "enum": ["red", "blue"]}),
    (Level, {"type": "integer", "enum": [1, 2]}),
    (Mixed, {"type": ["integer", "string"], "enum": [1, "two"]}),
    (int | None, {"type": ["integer", "null"]}),
    (Optional[str], {"type": ["string", "null"]}),  # noqa: UP045 - the old spelling counts too
    (int | str | None, {"type": ["integer", "string", "null"]}),
    (int | Any, {}),
    (list[int] | None, {"type": ["array", "null"], "items": {"type": "integer"}}),
    (Literal["a", "b"] | None, {"type": ["string", "null"], "enum": ["a", "b", None]}),
    (
        list[int] | dict[str, int],
        {
            "anyOf": [
                {"type": "array", "items": {"type": "integer"}},
                {"type": "object", "additionalProperties": {"type": "integer"}},
            ]
        },
    ),
]


@pytest.mark.parametrize(("annotation", "schema"), CHOICES, ids=lambda value: str(value)[:40])
def test_a_choice(annotation: Any, schema: dict[str, Any]) -> None:
    assert schema_of(annotation) == schema


CONSTRAINTS: list[tuple[Any, dict[str, Any]]] = [
    (Annotated[int, msgspec.Meta(ge=1, lt=9)], {"minimum": 1, "exclusiveMaximum": 9}),
    (Annotated[int, msgspec.Meta(gt=1, le=9)], {"exclusiveMinimum": 1, "maximum": 9}),
    (Annotated[int, msgspec.Meta(multiple_of=5)], {"multipleOf": 5}),
    (Annotated[str, msgspec.Meta(pattern="^a")], {"pattern": "^a"}),
    (
        Annotated[str, msgspec.Meta(min_length=1, max_length=3)],
        {"minLength": 1, "maxLength": 3},
    ),
    (Annotated[list[int], msgspec.Meta(max_length=3)], {"maxItems": 3}),
    (Annotated[dict[str, int], msgspec.Meta(min_length=1)], {"minProperties": 1}),
    (Annotated[str, "what it is"], {"description": "what it is"}),
    (Annotated[int, msgspec.Meta(description="what it is")], {"description": "what it is"}),
]


@pytest.mark.parametrize(("annotation", "part"), CONSTRAINTS, ids=lambda value: str(value)[:60])
def test_a_constraint_is_part_of_the_schema(annotation: Any, part: dict[str, Any]) -> None:
    plain = schema_of(typing.get_args(annotation)[0])

    assert schema_of(annotation) == {**plain, **part}


def test_a_constraint_on_one_type_does_not_reach_another() -> None:
    schema_of(Annotated[int, msgspec.Meta(ge=1)])
    schema_of(Annotated[str, "described"])

    assert schema_of(int) == {"type": "integer"}
    assert schema_of(str) == {"type": "string"}


def test_a_dataclass_is_an_object_in_its_own_order() -> None:
    assert schema_of(Point) == {
        "type": "object",
        "properties": {
            "x": {"type": "integer"},
            "y": {"type": "integer", "default": 0},
            "label": {"type": ["string", "null"]},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["x"],
    }
    assert list(schema_of(Point)["properties"]) == ["x", "y", "label", "tags"]


def test_a_typed_dict_is_an_object() -> None:
    assert schema_of(Place) == {
        "type": "object",
        "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
        "required": ["city"],
    }
    assert schema_of(Loose) == {"type": "object", "properties": {"a": {"type": "integer"}}}


def test_a_struct_is_an_object_with_the_names_it_has_on_the_wire() -> None:
    assert schema_of(Person) == {
        "type": "object",
        "properties": {
            "firstName": {"type": "string"},
            "age": {"type": "integer", "default": 0},
        },
        "required": ["firstName"],
    }


def test_a_type_used_twice_is_written_twice() -> None:
    schema = schema_of(tuple[Point, Point])

    assert schema["prefixItems"] == [schema_of(Point)] * 2
    assert "$defs" not in schema


def test_a_type_that_contains_itself_is_a_reference_but_for_the_root() -> None:
    node = {
        "type": "object",
        "properties": {
            "value": {"type": "integer"},
            "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
        },
        "required": ["value"],
    }

    assert schema_of(Node) == {**node, "$defs": {"Node": node}}
    assert schema_of(list[Node]) == {
        "type": "array",
        "items": {"$ref": "#/$defs/Node"},
        "$defs": {"Node": node},
    }


def test_what_stands_beside_a_recursive_type_is_not_a_reference() -> None:
    defined = schema_of(list[Tree])["$defs"]

    assert list(defined) == ["Tree"]
    assert defined["Tree"]["properties"]["at"] == schema_of(Point)


def test_two_recursive_types_of_one_name_are_kept_apart() -> None:
    def make(kind: type) -> Any:
        @dataclasses.dataclass
        class Item:
            value: Any
            more: "list[Item]"

        Item.__annotations__["value"] = kind
        Item.__annotations__["more"] = list[Item]
        return Item

    schema = schema_of(tuple[make(int), make(str)])

    values = [entry["properties"]["value"]["type"] for entry in schema["$defs"].values()]
    assert sorted(values) == ["integer", "string"]


@pytest.mark.parametrize(
    "annotation",
    [
        pytest.param(object(), id="object"),
        complex,
        type,
        collections.abc.Callable[[], int],
        collections.OrderedDict,
        range,
    ],
    ids=str,
)
def test_a_type_without_a_schema_is_refused(annotation: Any) -> None:
    with pytest.raises(UnknownType):
        schema_of(annotation)


def test_a_literal_that_json_cannot_hold_is_refused() -> None:
    with pytest.raises(UnknownType):
        schema_of(Literal[b"bytes"])


def test_an_enum_that_json_cannot_hold_is_refused() -> None:
    class Odd(enum.Enum):
        PAIR = (1, 2)

    with pytest.raises(UnknownType):
        schema_of(Odd)


def test_an_object_has_just_its_properties() -> None:
    schema = object_schema(
        [
            ("b", int, "the second letter", MISSING),
            ("a", str | None, None, None),
            ("c", list[int], None, [1, 2]),
        ],
        ["b"],
    )

    assert schema == {
        "type": "object",
        "properties": {
            "b": {"type": "integer", "description": "the second letter"},
            "a": {"type": "string"},
            "c": {"type": "array", "items": {"type": "integer"}, "default": [1, 2]},
        },
        "required": ["b"],
        "additionalProperties": False,
    }
    assert list(schema["properties"]) == ["b", "a", "c"]


def test_an_object_without_properties_says_so() -> None:
    assert object_schema([], []) == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


def test_a_default_that_json_cannot_hold_is_left_out() -> None:
    schema = object_schema([("a", int, None, object())], [])

    assert schema["properties"] == {"a": {"type": "integer"}}


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        (int, b"1", b'"a"'),
        (list[int], b"[1]", b'["a"]'),
        (Colour, b'"red"', b'"green"'),
        (Literal["a"], b'"a"', b'"b"'),
        (Point, b'{"x":1}', b'{"y":1}'),
        (tuple[int, str], b'[1,"a"]', b"[1]"),
        (Annotated[int, msgspec.Meta(ge=1)], b"1", b"0"),
        (Place, b'{"city":"x"}', b'{"zip":"x"}'),
    ],
)
def test_what_is_published_is_what_is_accepted(annotation: Any, good: bytes, bad: bytes) -> None:
    decoder = msgspec.json.Decoder(annotation)

    decoder.decode(good)
    with pytest.raises(msgspec.ValidationError):
        decoder.decode(bad)
