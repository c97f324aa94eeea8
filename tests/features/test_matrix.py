"""Every type of a parameter and of a result through every revision, in and out, as literals."""

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping
from collections.abc import Sequence as AbstractSequence
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    TypedDict,
    TypeVar,
    Union,
)

import annotated_types
import attrs
import msgspec
import pydantic
import pytest

from toolhaft import Audio, Embedded, File, Image, Limits, Link, Result, Server, Text
from toolhaft.protocol.handshake import Session

HANDSHAKES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
REVISIONS = [*HANDSHAKES, "2026-07-28"]
T = TypeVar("T")

# The types


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"


class Place(TypedDict):
    city: str
    zip: NotRequired[str]


class Loose(TypedDict, total=False):
    a: int
    b: str


class Pair(NamedTuple):
    x: int
    label: str = "none"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


@dataclasses.dataclass
class Shape:
    name: str
    at: Point
    corners: list[Point] = dataclasses.field(default_factory=list)
    note: str | None = None


@dataclasses.dataclass
class Node:
    value: int
    next: Optional["Node"] = None


@dataclasses.dataclass
class Box(Generic[T]):
    item: T
    spare: list[T] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Bounded:
    count: Annotated[int, annotated_types.Ge(1)]
    name: Annotated[str, msgspec.Meta(min_length=2)] = "ab"


@dataclasses.dataclass
class Bird:
    name: str
    wings: int


@dataclasses.dataclass
class Fish:
    name: str
    fins: int


@attrs.define
class Car:
    wheels: int
    name: str = "car"
    parts: list[str] = attrs.field(factory=list)


class Person(msgspec.Struct, rename="camel"):
    first_name: str
    age: int = 0


class Closed(msgspec.Struct, forbid_unknown_fields=True):
    a: int


class Cat(msgspec.Struct, tag="cat"):
    lives: int


class Dog(msgspec.Struct, tag="dog"):
    name: str


class Inner(pydantic.BaseModel):
    n: int


class Model(pydantic.BaseModel):
    name: str
    inner: Inner
    tags: list[str] = []
    score: float | None = pydantic.Field(default=None, ge=0)


UserId = NewType("UserId", int)


class Parameter(NamedTuple):
    """A type, its schema, and what is read and refused.

    `good` has pairs of JSON and the value that the tool gets, `bad` pairs of JSON and lines.
    """

    name: str
    annotation: Any
    schema: dict[str, Any]
    good: list[tuple[str, Any]]
    bad: list[tuple[str, list[str]]]


INTEGER = {"type": "integer"}
STRING = {"type": "string"}
POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
    "required": ["x"],
}
UUID_TEXT = "123e4567-e89b-42d3-a456-426614174000"

PLAIN = [
    Parameter(
        "str",
        str,
        {"type": "string"},
        [('"a"', "a"), ('""', ""), ('"7"', "7"), ('"\\u00e9\\ud83d\\ude00"', "é😀")],
        [
            ("5", ["v: expected a string, got 5"]),
            ("null", ["v: expected a string, got null"]),
            ('{"a":1}', ['v: expected a string, got {"a":1}']),
        ],
    ),
    Parameter(
        "int",
        int,
        {"type": "integer"},
        [
            ("7", 7),
            ("-3", -3),
            ("1180591620717411303424", 2**70),
            ('"7"', 7),
            ("1.0", 1),
            ('"-3"', -3),
        ],
        [
            ('"three"', ['v: expected an integer, got "three"']),
            ("1.5", ["v: expected an integer, got 1.5"]),
            ("true", ["v: expected an integer, got true"]),
            ("null", ["v: expected an integer, got null"]),
            ('""', ['v: expected an integer, got ""']),
            ("[]", ["v: expected an integer, got []"]),
        ],
    ),
    Parameter(
        "float",
        float,
        {"type": "number"},
        [("1.5", 1.5), ("2", 2.0), ('"2.5"', 2.5), ("1e3", 1000.0), ("-0.5", -0.5)],
        [
            ('"much"', ['v: expected a number, got "much"']),
            ("true", ["v: expected a number, got true"]),
            ("null", ["v: expected a number, got null"]),
        ],
    ),
    Parameter(
        "bool",
        bool,
        {"type": "boolean"},
        [("true", True), ("false", False), ('"true"', True), ('"false"', False), ("1", True)],
        [
            ('"perhaps"', ['v: expected true or false, got "perhaps"']),
            ("2", ["v: expected true or false, got 2"]),
            ("null", ["v: expected true or false, got null"]),
        ],
    ),
    Parameter(
        "None", None, {"type": "null"}, [("null", None)], [("1", ["v: expected null, got 1"])]
    ),
    Parameter(
        "Any",
        Any,
        {},
        [("1", 1), ("null", None), ('"7"', "7"), ('[1,{"a":1.5}]', [1, {"a": 1.5}])],
        [],
    ),
    Parameter("object", object, {}, [('{"a":null}', {"a": None}), ("1.5", 1.5)], []),
    Parameter(
        "NewType", UserId, {"type": "integer"}, [("7", 7)], [('"x"', ['v: expected an integer, got "x"'])]
    ),
    Parameter(
        "bytes",
        bytes,
        {"type": "string", "contentEncoding": "base64"},
        [('"aGk="', b"hi"), ('""', b"")],
        [("5", ["v: expected a string, got 5"])],
    ),
    Parameter(
        "Path",
        pathlib.Path,
        {"type": "string"},
        [('"a/b.txt"', pathlib.Path("a/b.txt"))],
        [("5", ["v: expected a string, got 5"])],
    ),
    Parameter(
        "datetime",
        datetime.datetime,
        {"type": "string", "format": "date-time"},
        [
            (
                '"2026-01-31T12:00:00Z"',
                datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.timezone.utc),
            ),
            ('"2026-01-31T12:00:00"', datetime.datetime(2026, 1, 31, 12)),
        ],
        [
            (
                '"soon"',
                ['v: expected a date and time such as 2026-01-31T12:00:00Z, got "soon"'],
            ),
            ("null", ["v: expected a string, got null"]),
        ],
    ),
    Parameter(
        "date",
        datetime.date,
        {"type": "string", "format": "date"},
        [('"2026-01-31"', datetime.date(2026, 1, 31))],
        [('"2026-02-31"', ['v: expected a date such as 1999-12-31, got "2026-02-31"'])],
    ),
    Parameter(
        "time",
        datetime.time,
        {"type": "string", "format": "time"},
        [
            ('"12:30:00"', datetime.time(12, 30)),
            ('"12:30:00Z"', datetime.time(12, 30, tzinfo=datetime.timezone.utc)),
        ],
        [('"noon"', ['v: expected a time such as 12:00:00Z, got "noon"'])],
    ),
    Parameter(
        "timedelta",
        datetime.timedelta,
        {"type": "string", "format": "duration"},
        [('"PT1H30M"', datetime.timedelta(hours=1, minutes=30))],
        [('"1 hour"', ['v: expected a duration such as PT1H30M, got "1 hour"'])],
    ),
    Parameter(
        "UUID",
        uuid.UUID,
        {"type": "string", "format": "uuid"},
        [(f'"{UUID_TEXT}"', uuid.UUID(UUID_TEXT))],
        [('"1"', [f'v: expected a UUID such as {UUID_TEXT}, got "1"'])],
    ),
    Parameter(
        "Decimal",
        decimal.Decimal,
        {"type": "string", "format": "decimal"},
        [
            ('"12.50"', decimal.Decimal("12.50")),
            ("12.5", decimal.Decimal("12.5")),
            ("3", decimal.Decimal(3)),
        ],
        [('"much"', ['v: expected a decimal number such as 12.50, got "much"'])],
    ),
]

CHOICES = [
    Parameter(
        "Literal",
        Literal["c", "f"],
        {"type": "string", "enum": ["c", "f"]},
        [('"c"', "c")],
        [
            ('"k"', ['v: must be one of "c", "f", got "k"']),
            ("1", ['v: must be one of "c", "f", got 1']),
        ],
    ),
    Parameter(
        "Literal of one",
        Literal["c"],
        {"type": "string", "enum": ["c"]},
        [('"c"', "c")],
        [('"k"', ['v: must be "c", got "k"'])],
    ),
    Parameter(
        "Literal of ints",
        Literal[1, 2],
        {"type": "integer", "enum": [1, 2]},
        [("1", 1), ('"2"', 2)],
        [("3", ["v: must be one of 1, 2, got 3"])],
    ),
    Parameter(
        "Literal of kinds",
        Literal[1, "b", None],
        {"type": ["integer", "string", "null"], "enum": [1, "b", None]},
        [("1", 1), ('"b"', "b"), ("null", None)],
        [('"c"', ['v: must be one of 1, "b", null, got "c"'])],
    ),
    Parameter(
        "Enum",
        Colour,
        {"type": "string", "enum": ["red", "blue"]},
        [('"red"', Colour.RED)],
        [('"RED"', ['v: must be one of "red", "blue", got "RED"'])],
    ),
    Parameter(
        "IntEnum",
        Level,
        {"type": "integer", "enum": [1, 2]},
        [("1", Level.LOW), ('"2"', Level.HIGH)],
        [("3", ["v: must be one of 1, 2, got 3"])],
    ),
    Parameter(
        "Optional",
        Optional[int],  # noqa: UP045 - the old spelling counts too
        {"type": ["integer", "null"]},
        [("7", 7), ("null", None), ('"7"', 7)],
        [('"x"', ['v: expected an integer or null, got "x"'])],
    ),
    Parameter(
        "int or str",
        int | str,
        {"type": ["integer", "string"]},
        [("7", 7), ('"7"', "7"), ('"x"', "x")],
        [("[]", ["v: expected an integer or a string, got []"])],
    ),
    Parameter(
        "Union",
        Union[int, str, None],  # noqa: UP007 - the old spelling counts too
        {"type": ["integer", "string", "null"]},
        [("7", 7), ('"x"', "x"), ("null", None)],
        [("[]", ["v: expected an integer, a string or null, got []"])],
    ),
    Parameter(
        "int or float",
        int | float,
        {"type": ["integer", "number"]},
        [("7", 7), ("1.5", 1.5)],
        [('"x"', ['v: expected an integer or a number, got "x"'])],
    ),
    Parameter(
        "Enum or None",
        Colour | None,
        {"type": ["string", "null"], "enum": ["red", "blue", None]},
        [('"red"', Colour.RED), ("null", None)],
        [('"x"', ['v: must be one of "red", "blue", null, got "x"'])],
    ),
    Parameter(
        "list or None",
        list[int] | None,
        {"type": ["array", "null"], "items": {"type": "integer"}},
        [("[1]", [1]), ("null", None), ('"[1]"', [1])],
        [("7", ["v: expected an array or null, got 7"])],
    ),
    Parameter(
        "list or dict",
        list[int] | dict[str, int],
        {
            "anyOf": [
                {"type": "array", "items": {"type": "integer"}},
                {"type": "object", "additionalProperties": {"type": "integer"}},
            ]
        },
        [("[1]", [1]), ('{"a":1}', {"a": 1})],
        [
            ("7", ["v: expected an array or an object, got 7"]),
            ('["x"]', ['v[0]: expected an integer, got "x"']),
        ],
    ),
    Parameter(
        "datetime or str",
        datetime.datetime | str,
        {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "string"}]},
        [
            ('"2026-01-31T12:00:00"', datetime.datetime(2026, 1, 31, 12)),
            ('"soon"', "soon"),
        ],
        [("[]", ["v: expected a string, got []"])],
    ),
    Parameter(
        "dataclasses without a tag",
        Bird | Fish,
        {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "wings": {"type": "integer"}},
                    "required": ["name", "wings"],
                },
                {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "fins": {"type": "integer"}},
                    "required": ["name", "fins"],
                },
            ]
        },
        [
            ('{"name":"a","wings":2}', Bird("a", 2)),
            ('{"name":"a","fins":2}', Fish("a", 2)),
            ('"{\\"name\\":\\"a\\",\\"fins\\":2}"', Fish("a", 2)),
        ],
        [
            ("7", ["v: expected an object, got 7"]),
            ('{"name":"a"}', ["v.wings: missing"]),
            ('{"name":"a","fins":"x"}', ['v.fins: expected an integer, got "x"']),
        ],
    ),
    Parameter(
        "structs with a tag",
        Cat | Dog,
        {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        "type": {"type": "string", "enum": ["cat"]},
                        "lives": {"type": "integer"},
                    },
                    "required": ["type", "lives"],
                },
                {
                    "type": "object",
                    "properties": {
                        "type": {"type": "string", "enum": ["dog"]},
                        "name": {"type": "string"},
                    },
                    "required": ["type", "name"],
                },
            ]
        },
        [('{"type":"cat","lives":9}', Cat(9)), ('{"type":"dog","name":"a"}', Dog("a"))],
        [
            ('{"type":"cow"}', ['v.type: must be one of "cat", "dog", got "cow"']),
            ('{"lives":9}', ['v.type: missing; must be one of "cat", "dog"']),
            ('{"type":"dog"}', ["v.name: missing"]),
        ],
    ),
    Parameter(
        "dataclass or None",
        Point | None,
        {**POINT, "type": ["object", "null"]},
        [('{"x":1}', Point(1, 0)), ("null", None)],
        [("7", ["v: expected an object or null, got 7"])],
    ),
]

COLLECTIONS = [
    Parameter("list", list, {"type": "array"}, [('[1,"a"]', [1, "a"])], [("1", ["v: expected an array, got 1"])]),
    Parameter(
        "list of int",
        list[int],
        {"type": "array", "items": {"type": "integer"}},
        [("[1,2]", [1, 2]), ("[]", []), ('["1",2.0]', [1, 2]), ('"[1,2]"', [1, 2])],
        [
            ('[1,"x",null]', ['v[1]: expected an integer, got "x"', "v[2]: expected an integer, got null"]),
            ('"x"', ['v: expected an array, got "x"']),
            ('{"a":1}', ['v: expected an array, got {"a":1}']),
        ],
    ),
    Parameter(
        "list of lists",
        list[list[str]],
        {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
        [('[["a"],[]]', [["a"], []])],
        [("[[1]]", ["v[0][0]: expected a string, got 1"])],
    ),
    Parameter(
        "Sequence",
        AbstractSequence[int],
        {"type": "array", "items": {"type": "integer"}},
        [("[1]", [1])],
        [("1", ["v: expected an array, got 1"])],
    ),
    Parameter(
        "tuple",
        tuple[int, str],
        {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "items": False,
            "minItems": 2,
        },
        [('[1,"a"]', (1, "a"))],
        [
            ("[1]", ["v: must have at least 2 items, got 1"]),
            ('[1,"a",2]', ["v: must have at most 2 items, got 3"]),
            ('["x","a"]', ['v[0]: expected an integer, got "x"']),
        ],
    ),
    Parameter(
        "tuple of any length",
        tuple[int, ...],
        {"type": "array", "items": {"type": "integer"}},
        [("[1,2]", (1, 2)), ("[]", ())],
        [('["x"]', ['v[0]: expected an integer, got "x"'])],
    ),
    Parameter(
        "set",
        set[int],
        {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        [("[1,2]", {1, 2}), ("[]", set())],
        [('["x"]', ['v[0]: expected an integer, got "x"'])],
    ),
    Parameter(
        "frozenset",
        frozenset[str],
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        [('["a"]', frozenset({"a"}))],
        [("[1]", ["v[0]: expected a string, got 1"])],
    ),
    Parameter("dict", dict, {"type": "object"}, [('{"a":[1]}', {"a": [1]})], [("[]", ["v: expected an object, got []"])]),
    Parameter(
        "dict of int",
        dict[str, int],
        {"type": "object", "additionalProperties": {"type": "integer"}},
        [('{"a":1}', {"a": 1}), ("{}", {}), ('"{\\"a\\":1}"', {"a": 1}), ('{"a":"1"}', {"a": 1})],
        [
            ('{"a":"x"}', ['v.a: expected an integer, got "x"']),
            ('{"a b":"x"}', ['v["a b"]: expected an integer, got "x"']),
            ("[]", ["v: expected an object, got []"]),
        ],
    ),
    Parameter(
        "Mapping",
        Mapping[str, int],
        {"type": "object", "additionalProperties": {"type": "integer"}},
        [('{"a":1}', {"a": 1})],
        [("1", ["v: expected an object, got 1"])],
    ),
]

CLASSES = [
    Parameter(
        "TypedDict",
        Place,
        {
            "type": "object",
            "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
            "required": ["city"],
        },
        [('{"city":"Bonn"}', {"city": "Bonn"}), ('{"city":"a","zip":"1"}', {"city": "a", "zip": "1"})],
        [
            ('{"zip":"1"}', ["v.city: missing"]),
            ('{"city":1,"zip":2}', ["v.city: expected a string, got 1", "v.zip: expected a string, got 2"]),
        ],
    ),
    Parameter(
        "TypedDict that is not total",
        Loose,
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}},
        [("{}", {}), ('{"a":1}', {"a": 1})],
        [('{"a":"x"}', ['v.a: expected an integer, got "x"'])],
    ),
    Parameter(
        "NamedTuple",
        Pair,
        {
            "type": "array",
            "prefixItems": [
                {"description": "x", "type": "integer"},
                {"description": "label", "type": "string", "default": "none"},
            ],
            "items": False,
            "minItems": 1,
        },
        [('[1,"a"]', Pair(1, "a")), ("[1]", Pair(1, "none"))],
        [
            ("[]", ["v: must have at least 1 item, got 0"]),
            ('[1,"a",2]', ["v: must have at most 2 items, got 3"]),
        ],
    ),
    Parameter(
        "dataclass",
        Point,
        POINT,
        [('{"x":1}', Point(1, 0)), ('{"x":1,"y":2}', Point(1, 2)), ('"{\\"x\\":\\"1\\"}"', Point(1, 0))],
        [
            ("{}", ["v.x: missing"]),
            ('{"x":"a","y":"b"}', ['v.x: expected an integer, got "a"', 'v.y: expected an integer, got "b"']),
            ("[]", ["v: expected an object, got []"]),
        ],
    ),
    Parameter(
        "nested dataclass",
        Shape,
        {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "at": POINT,
                "corners": {"type": "array", "items": POINT},
                "note": {"type": "string"},
            },
            "required": ["name", "at"],
        },
        [
            (
                '{"name":"a","at":{"x":1},"corners":[{"x":2,"y":3}]}',
                Shape("a", Point(1, 0), [Point(2, 3)], None),
            ),
            ('{"name":"a","at":{"x":1}}', Shape("a", Point(1, 0), [], None)),
            ('{"name":"a","at":{"x":1},"note":null}', Shape("a", Point(1, 0), [], None)),
        ],
        [
            (
                '{"name":1,"at":{},"corners":[{"x":1},{"x":"a"}]}',
                [
                    "v.name: expected a string, got 1",
                    "v.at.x: missing",
                    'v.corners[1].x: expected an integer, got "a"',
                ],
            )
        ],
    ),
    Parameter(
        "attrs",
        Car,
        {
            "type": "object",
            "properties": {
                "wheels": {"type": "integer"},
                "name": {"type": "string", "default": "car"},
                "parts": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["wheels"],
        },
        [('{"wheels":4}', Car(4)), ('{"wheels":"4","parts":["a"]}', Car(4, "car", ["a"]))],
        [("{}", ["v.wheels: missing"])],
    ),
    Parameter(
        "Struct",
        Person,
        {
            "type": "object",
            "properties": {
                "firstName": {"type": "string"},
                "age": {"type": "integer", "default": 0},
            },
            "required": ["firstName"],
        },
        [('{"firstName":"a"}', Person("a", 0)), ('{"firstName":"a","age":"5"}', Person("a", 5))],
        [('{"first_name":"a"}', ["v.firstName: missing"])],
    ),
    Parameter(
        "Struct that is closed",
        Closed,
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "required": ["a"],
            "additionalProperties": False,
        },
        [('{"a":1}', Closed(1))],
        [('{"a":1,"b":2}', ["v.b: unknown member; expected a"])],
    ),
    Parameter(
        "generic",
        Box[int],
        {
            "type": "object",
            "properties": {
                "item": {"type": "integer"},
                "spare": {"type": "array", "items": {"type": "integer"}},
            },
            "required": ["item"],
        },
        [('{"item":1,"spare":[2]}', Box(1, [2])), ('{"item":"1"}', Box(1, []))],
        [('{"item":"x"}', ['v.item: expected an integer, got "x"'])],
    ),
    Parameter(
        "generic without an argument",
        Box,
        {
            "type": "object",
            "properties": {"item": {}, "spare": {"type": "array"}},
            "required": ["item"],
        },
        [('{"item":"1"}', Box("1", []))],
        [("{}", ["v.item: missing"])],
    ),
    Parameter(
        "generic in a list",
        list[Box[Point]],
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"item": POINT, "spare": {"type": "array", "items": POINT}},
                "required": ["item"],
            },
        },
        [('[{"item":{"x":1}}]', [Box(Point(1, 0), [])])],
        [('[{"item":{}}]', ["v[0].item.x: missing"])],
    ),
    Parameter(
        "pydantic model",
        Model,
        {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "inner": {
                    "type": "object",
                    "properties": {"n": {"type": "integer"}},
                    "required": ["n"],
                },
                "tags": {"type": "array", "items": {"type": "string"}, "default": []},
                "score": {"type": ["number", "null"], "minimum": 0},
            },
            "required": ["name", "inner"],
        },
        [
            ('{"name":"a","inner":{"n":1}}', Model(name="a", inner=Inner(n=1))),
            (
                '"{\\"name\\":\\"a\\",\\"inner\\":{\\"n\\":1},\\"score\\":2}"',
                Model(name="a", inner=Inner(n=1), score=2.0),
            ),
        ],
        [
            ('{"inner":{"n":"x"}}', ["v.name: missing", 'v.inner.n: expected an integer, got "x"']),
            ('{"name":"a","inner":{"n":1},"score":-1}', ["v.score: must be at least 0, got -1"]),
        ],
    ),
]

NOTES = [
    Parameter(
        "description",
        Annotated[int, "how many"],
        {"type": "integer", "description": "how many"},
        [("7", 7)],
        [('"x"', ['v: expected an integer, got "x"'])],
    ),
    Parameter(
        "Meta",
        Annotated[int, msgspec.Meta(ge=1, lt=9, description="how many")],
        {"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "description": "how many"},
        [("1", 1), ('"8"', 8)],
        [("0", ["v: must be at least 1, got 0"]), ("9", ["v: must be less than 9, got 9"])],
    ),
    Parameter(
        "Meta on a string",
        Annotated[str, msgspec.Meta(min_length=2, max_length=3, pattern="^a")],
        {"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^a"},
        [('"ab"', "ab")],
        [
            ('"b"', ["v: must have at least 2 characters, got 1", 'v: must match the pattern ^a, got "b"']),
            ('"abcd"', ["v: must have at most 3 characters, got 4"]),
        ],
    ),
    Parameter(
        "Meta on a list",
        Annotated[list[int], msgspec.Meta(min_length=1, max_length=2)],
        {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
        [("[1]", [1])],
        [("[]", ["v: must have at least 1 item, got 0"]), ("[1,2,3]", ["v: must have at most 2 items, got 3"])],
    ),
    Parameter(
        "Meta on a dict",
        Annotated[dict[str, int], msgspec.Meta(max_length=1)],
        {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 1},
        [('{"a":1}', {"a": 1})],
        [('{"a":1,"b":2}', ["v: must have at most 1 member, got 2"])],
    ),
    Parameter(
        "Meta in a list",
        list[Annotated[int, msgspec.Meta(ge=1)]],
        {"type": "array", "items": {"type": "integer", "minimum": 1}},
        [("[1]", [1])],
        [("[1,0]", ["v[1]: must be at least 1, got 0"])],
    ),
    Parameter(
        "annotated_types",
        Annotated[int, annotated_types.Gt(0), annotated_types.Le(5), annotated_types.MultipleOf(5)],
        {"type": "integer", "exclusiveMinimum": 0, "maximum": 5, "multipleOf": 5},
        [("5", 5)],
        [
            ("0", ["v: must be more than 0, got 0"]),
            ("3", ["v: must be a multiple of 5, got 3"]),
            ("10", ["v: must be at most 5, got 10"]),
        ],
    ),
    Parameter(
        "Interval",
        Annotated[float, annotated_types.Interval(ge=0, le=1)],
        {"type": "number", "minimum": 0, "maximum": 1},
        [("0.5", 0.5), ("1", 1.0)],
        [("1.5", ["v: must be at most 1, got 1.5"])],
    ),
    Parameter(
        "Len",
        Annotated[str, annotated_types.Len(0, 3)],
        {"type": "string", "maxLength": 3},
        [('""', ""), ('"abc"', "abc")],
        [('"abcd"', ["v: must have at most 3 characters, got 4"])],
    ),
    Parameter(
        "annotated_types in a list",
        list[Annotated[str, annotated_types.MinLen(1)]],
        {"type": "array", "items": {"type": "string", "minLength": 1}},
        [('["a"]', ["a"])],
        [('["a",""]', ["v[1]: must have at least 1 character, got 0"])],
    ),
    Parameter(
        "constraints in a dataclass",
        Bounded,
        {
            "type": "object",
            "properties": {
                "count": {"type": "integer", "minimum": 1},
                "name": {"type": "string", "minLength": 2, "default": "ab"},
            },
            "required": ["count"],
        },
        [('{"count":1}', Bounded(1, "ab")), ('{"count":"2","name":"xy"}', Bounded(2, "xy"))],
        [
            ('{"count":0}', ["v.count: must be at least 1, got 0"]),
            ('{"count":1,"name":"x"}', ["v.name: must have at least 2 characters, got 1"]),
        ],
    ),
    Parameter(
        "constraint on Optional",
        Annotated[int | None, annotated_types.Ge(1)],
        {"type": ["integer", "null"], "minimum": 1},
        [("1", 1), ("null", None)],
        [("0", ["v: must be at least 1, got 0"])],
    ),
    Parameter(
        "constraint inside of Optional",
        Annotated[str, msgspec.Meta(max_length=2)] | None,
        {"type": ["string", "null"], "maxLength": 2},
        [('"a"', "a"), ("null", None)],
        [('"abc"', ["v: must have at most 2 characters, got 3"])],
    ),
    Parameter(
        "Field",
        Annotated[int, pydantic.Field(ge=1, description="how many", examples=[3])],
        {"type": "integer", "minimum": 1, "description": "how many", "examples": [3]},
        [("1", 1), ('"3"', 3)],
        [("0", ["v: must be at least 1, got 0"])],
    ),
    Parameter(
        "Field on a string",
        Annotated[str, pydantic.Field(pattern="^a", max_length=3)],
        {"type": "string", "maxLength": 3, "pattern": "^a"},
        [('"ab"', "ab")],
        [('"b"', ['v: must match the pattern ^a, got "b"'])],
    ),
    Parameter(
        "predicate",
        Annotated[str, annotated_types.Predicate(str.islower)],
        {"type": "string"},
        [('"a"', "a")],
        [('"A"', ["v: must fit islower"])],
    ),
]

PARAMETERS = [*PLAIN, *CHOICES, *COLLECTIONS, *CLASSES, *NOTES]


class Client:
    """A client of one revision, which speaks bytes."""

    def __init__(self, server: Server, revision: str) -> None:
        self._server = server
        self._revision = revision
        self._session = Session()

    async def open(self) -> None:
        if self._revision in HANDSHAKES:
            opened = await self.request(
                "initialize",
                protocolVersion=self._revision,
                capabilities={},
                clientInfo={"name": "matrix", "version": "1"},
            )
            assert opened["protocolVersion"] == self._revision

    async def request(self, method: str, **params: Any) -> Any:
        return await self.send(method, json.dumps(params))

    async def send(self, method: str, params: str) -> Any:
        """Send parameters that are JSON text, an object."""
        if self._revision not in HANDSHAKES:
            meta = {
                "io.modelcontextprotocol/protocolVersion": self._revision,
                "io.modelcontextprotocol/clientInfo": {"name": "matrix", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            comma = "" if params == "{}" else ","
            params = params[:-1] + f'{comma}"_meta":{json.dumps(meta)}}}'
        frame = f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}'
        reply = await self._server.handle(frame.encode(), self._session)
        assert reply is not None
        answer = json.loads(reply)
        assert "error" not in answer, answer["error"]
        # What every result of the newest revision has.
        if self._revision not in HANDSHAKES:
            assert answer["result"].pop("resultType") == "complete"
            del answer["result"]["_meta"]
        return answer["result"]

    async def call(self, arguments: str) -> Any:
        return await self.send("tools/call", f'{{"name":"t","arguments":{arguments}}}')

    async def tool(self) -> Any:
        [tool] = (await self.request("tools/list"))["tools"]
        return tool


async def served(function: Callable[..., Any], revision: str, **options: Any) -> Client:
    server = Server("matrix", limits=Limits(result_bytes=10_000))
    server.tool(name="t", **options)(function)
    client = Client(server, revision)
    await client.open()
    return client


def recorder(annotation: Any, *default: Any) -> tuple[Callable[..., Awaitable[None]], list[Any]]:
    """A tool with one parameter, and what it was given."""
    got: list[Any] = []

    async def tool(v: Any) -> None:
        got.append(v)

    tool.__annotations__["v"] = annotation
    tool.__defaults__ = default
    return tool, got


def refusal(lines: list[str]) -> dict[str, Any]:
    text = "\n".join(["invalid arguments for t:", *lines])
    return {"content": [{"type": "text", "text": text}], "isError": True}


def exact(values: list[Any]) -> list[tuple[Any, str]]:
    """Values with their looks: 1 is equal to 1.0 and to True, but looks different."""
    return [(value, repr(value)) for value in values]


by_revision = pytest.mark.parametrize("revision", REVISIONS)
by_parameter = pytest.mark.parametrize("case", PARAMETERS, ids=lambda case: case.name)


@by_revision
@by_parameter
async def test_a_parameter_is_published(case: Parameter, revision: str) -> None:
    tool, _ = recorder(case.annotation)

    client = await served(tool, revision)

    assert await client.tool() == {
        "name": "t",
        "inputSchema": {
            "type": "object",
            "properties": {"v": case.schema},
            "required": ["v"],
            "additionalProperties": False,
        },
    }


@by_revision
@by_parameter
async def test_a_parameter_is_read(case: Parameter, revision: str) -> None:
    tool, got = recorder(case.annotation)
    client = await served(tool, revision)

    results = [await client.call(f'{{"v":{text}}}') for text, _ in case.good]

    assert results == [{"content": []}] * len(case.good)
    assert exact(got) == exact([value for _, value in case.good])


@by_revision
@by_parameter
async def test_a_parameter_is_refused_in_words(case: Parameter, revision: str) -> None:
    tool, got = recorder(case.annotation)
    client = await served(tool, revision)

    results = [await client.call(f'{{"v":{text}}}') for text, _ in case.bad]
    results.append(await client.call("{}"))

    assert results == [refusal(lines) for _, lines in [*case.bad, ("", ["v: missing"])]]
    assert got == []
