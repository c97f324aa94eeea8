"""Every type of a parameter and of a result through every revision, in and out, as literals."""

import dataclasses
import datetime
import decimal
import enum
import inspect
import itertools
import json
import math
import pathlib
import re
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping
from collections.abc import Sequence as AbstractSequence
from types import MappingProxyType
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

pytestmark = pytest.mark.asyncio(loop_scope="module")

# The types


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Place(TypedDict):
    city: str
    zip: NotRequired[str]


class Loose(TypedDict, total=False):
    a: int
    b: str


class Pair(NamedTuple):
    x: int
    label: str


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
class Remark:
    count: Annotated[int, annotated_types.Ge(1)]
    note: str | None = None


class Limited(TypedDict):
    n: Annotated[int, annotated_types.Ge(1)]
    m: NotRequired[Annotated[int, msgspec.Meta(le=3, description="much")]]


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


class Chain(msgspec.Struct, Generic[T]):
    item: T
    next: "Chain[T] | None" = None


class Pocket(TypedDict, Generic[T]):
    item: T


class Inner(pydantic.BaseModel):
    n: int


class Model(pydantic.BaseModel):
    name: str
    inner: Inner
    tags: list[str] = []
    score: float = pydantic.Field(default=0.5, ge=0)


class Renamed(pydantic.BaseModel, extra="forbid"):
    name: str = pydantic.Field(alias="theName")


class Wrapped(pydantic.BaseModel, Generic[T]):
    item: T


@pydantic.dataclasses.dataclass
class Checked:
    n: Annotated[int, pydantic.Field(ge=1)]


@dataclasses.dataclass
class Holder:
    inner: Inner


@dataclasses.dataclass
class Folder:
    path: pathlib.Path


@dataclasses.dataclass
class Even:
    n: int

    def __post_init__(self) -> None:
        if self.n % 2:
            raise ValueError("n is odd")


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
    shared: dict[str, Any] | None = None


POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
    "required": ["x"],
}
# The same where it is given: no other member is taken.
GIVEN_POINT = {**POINT, "additionalProperties": False}
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
            ('"perhaps"', ['v: expected a boolean, got "perhaps"']),
            ("2", ["v: expected a boolean, got 2"]),
            ("null", ["v: expected a boolean, got null"]),
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
    Parameter(
        "NewType",
        UserId,
        {"type": "integer"},
        [("7", 7)],
        [('"x"', ['v: expected an integer, got "x"'])],
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
                datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC),
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
            ('"12:30:00Z"', datetime.time(12, 30, tzinfo=datetime.UTC)),
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
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "fins": {"type": "integer"}},
                    "required": ["name", "fins"],
                    "additionalProperties": False,
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
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {
                        "type": {"type": "string", "enum": ["dog"]},
                        "name": {"type": "string"},
                    },
                    "required": ["type", "name"],
                    "additionalProperties": False,
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
        {**GIVEN_POINT, "type": ["object", "null"]},
        [('{"x":1}', Point(1, 0)), ("null", None)],
        [("7", ["v: expected an object or null, got 7"])],
    ),
]

UNIONS = [
    Parameter(
        "int or bool",
        int | bool,
        {"type": ["integer", "boolean"]},
        [("1", 1), ("true", True), ('"7"', 7)],
        [('"x"', ['v: expected an integer or a boolean, got "x"'])],
    ),
    Parameter(
        "str or bytes",
        str | bytes,
        {"anyOf": [{"type": "string"}, {"type": "string", "contentEncoding": "base64"}]},
        [('"aGk="', "aGk=")],
        [("1", ["v: expected a string, got 1"])],
    ),
    Parameter(
        "UUID or str",
        uuid.UUID | str,
        {"anyOf": [{"type": "string", "format": "uuid"}, {"type": "string"}]},
        [(f'"{UUID_TEXT}"', uuid.UUID(UUID_TEXT)), ('"x"', "x")],
        [("1", ["v: expected a string, got 1"])],
    ),
    Parameter(
        "date or datetime",
        datetime.date | datetime.datetime,
        {
            "anyOf": [
                {"type": "string", "format": "date"},
                {"type": "string", "format": "date-time"},
            ]
        },
        [
            ('"2026-01-31"', datetime.date(2026, 1, 31)),
            ('"2026-01-31T12:00:00"', datetime.datetime(2026, 1, 31, 12)),
        ],
        [('"x"', ['v: expected a date such as 1999-12-31, got "x"'])],
    ),
    Parameter(
        "list of int or list of str",
        list[int] | list[str],
        {
            "anyOf": [
                {"type": "array", "items": {"type": "integer"}},
                {"type": "array", "items": {"type": "string"}},
            ]
        },
        [("[1]", [1]), ('["a"]', ["a"]), ('["1"]', ["1"])],
        [("1", ["v: expected an array, got 1"])],
    ),
    Parameter(
        "dataclass or str",
        Point | str,
        {"anyOf": [GIVEN_POINT, {"type": "string"}]},
        [('{"x":1}', Point(1, 0)), ('"x"', "x"), ('"{\\"x\\":1}"', '{"x":1}')],
        [("1", ["v: expected an object or a string, got 1"])],
    ),
    Parameter(
        "dataclass or dict",
        Point | dict[str, Any],
        {"anyOf": [GIVEN_POINT, {"type": "object"}]},
        [('{"x":1}', Point(1, 0)), ('{"z":1}', {"z": 1})],
        [("1", ["v: expected an object, got 1"])],
    ),
    Parameter(
        "two enums",
        Colour | Level,
        {
            "anyOf": [
                {"type": "string", "enum": ["red", "blue"]},
                {"type": "integer", "enum": [1, 2]},
            ]
        },
        [('"red"', Colour.RED), ("1", Level.LOW)],
        [("[]", ["v: expected a string or an integer, got []"])],
    ),
    Parameter(
        "model or dataclass",
        Inner | Point,
        {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"n": {"type": "integer"}},
                    "required": ["n"],
                },
                GIVEN_POINT,
            ]
        },
        [('{"n":1}', Inner(n=1)), ('{"x":1}', Point(1, 0))],
        [("1", ["v: expected an object, got 1"])],
    ),
]

COLLECTIONS = [
    Parameter(
        "list",
        list,
        {"type": "array"},
        [('[1,"a"]', [1, "a"])],
        [("1", ["v: expected an array, got 1"])],
    ),
    Parameter(
        "list of int",
        list[int],
        {"type": "array", "items": {"type": "integer"}},
        [("[1,2]", [1, 2]), ("[]", []), ('["1",2.0]', [1, 2]), ('"[1,2]"', [1, 2])],
        [
            (
                '[1,"x",null]',
                ['v[1]: expected an integer, got "x"', "v[2]: expected an integer, got null"],
            ),
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
    Parameter(
        "dict",
        dict,
        {"type": "object"},
        [('{"a":[1]}', {"a": [1]})],
        [("[]", ["v: expected an object, got []"])],
    ),
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
        "dict by int",
        dict[int, str],
        {"type": "object", "additionalProperties": {"type": "string"}},
        [('{"1":"a"}', {1: "a"})],
        [('{"1":2}', ["v.1: expected a string, got 2"])],
    ),
    Parameter(
        "dict by Enum",
        dict[Colour, int],
        {"type": "object", "additionalProperties": {"type": "integer"}},
        [('{"red":"1"}', {Colour.RED: 1})],
        [('{"red":"x"}', ['v.red: expected an integer, got "x"'])],
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
            "additionalProperties": False,
        },
        [
            ('{"city":"Bonn"}', {"city": "Bonn"}),
            ('{"city":"a","zip":"1"}', {"city": "a", "zip": "1"}),
        ],
        [
            ('{"zip":"1"}', ["v.city: missing"]),
            (
                '{"city":1,"zip":2}',
                ["v.city: expected a string, got 1", "v.zip: expected a string, got 2"],
            ),
        ],
    ),
    Parameter(
        "TypedDict that is not total",
        Loose,
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
            "additionalProperties": False,
        },
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
                {"description": "label", "type": "string"},
            ],
            "items": False,
            "minItems": 2,
        },
        [('[1,"a"]', Pair(1, "a"))],
        [
            ("[1]", ["v: must have at least 2 items, got 1"]),
            ('[1,"a",2]', ["v: must have at most 2 items, got 3"]),
        ],
    ),
    Parameter(
        "dataclass",
        Point,
        GIVEN_POINT,
        [
            ('{"x":1}', Point(1, 0)),
            ('{"x":1,"y":2}', Point(1, 2)),
            ('"{\\"x\\":\\"1\\"}"', Point(1, 0)),
        ],
        [
            ("{}", ["v.x: missing"]),
            (
                '{"x":"a","y":"b"}',
                ['v.x: expected an integer, got "a"', 'v.y: expected an integer, got "b"'],
            ),
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
                "at": GIVEN_POINT,
                "corners": {"type": "array", "items": GIVEN_POINT},
                "note": {"type": "string"},
            },
            "required": ["name", "at"],
            "additionalProperties": False,
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
            "additionalProperties": False,
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
            "additionalProperties": False,
        },
        [('{"firstName":"a"}', Person("a", 0)), ('{"firstName":"a","age":"5"}', Person("a", 5))],
        [
            (
                '{"first_name":"a"}',
                [
                    "v.firstName: missing",
                    'v.first_name: unknown member, did you mean "firstName"?',
                ],
            )
        ],
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
            "additionalProperties": False,
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
            "additionalProperties": False,
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
                "properties": {
                    "item": GIVEN_POINT,
                    "spare": {"type": "array", "items": GIVEN_POINT},
                },
                "required": ["item"],
                "additionalProperties": False,
            },
        },
        [('[{"item":{"x":1}}]', [Box(Point(1, 0), [])])],
        [('[{"item":{}}]', ["v[0].item.x: missing"])],
    ),
    Parameter(
        "generic TypedDict",
        Pocket[int],
        {
            "type": "object",
            "properties": {"item": {"type": "integer"}},
            "required": ["item"],
            "additionalProperties": False,
        },
        [('{"item":"1"}', {"item": 1})],
        [('{"item":"x"}', ['v.item: expected an integer, got "x"'])],
    ),
    Parameter(
        "Path in a dataclass",
        Folder,
        {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
            "additionalProperties": False,
        },
        [('{"path":"a/b"}', Folder(pathlib.Path("a/b")))],
        [('{"path":5}', ["v.path: expected a string, got 5"])],
    ),
    Parameter(
        "dataclass with a check of its own",
        Even,
        {
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
            "additionalProperties": False,
        },
        [('{"n":2}', Even(2))],
        [('{"n":3}', ["v: n is odd"])],
    ),
    Parameter(
        "model in a dataclass",
        Holder,
        {
            "type": "object",
            "properties": {
                "inner": {
                    "type": "object",
                    "properties": {"n": {"type": "integer"}},
                    "required": ["n"],
                }
            },
            "required": ["inner"],
            "additionalProperties": False,
        },
        [('{"inner":{"n":1}}', Holder(Inner(n=1)))],
        [('{"inner":{"n":"x"}}', ['v.inner.n: expected an integer, got "x"'])],
    ),
    Parameter(
        "list of models",
        list[Inner],
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"n": {"type": "integer"}},
                "required": ["n"],
            },
        },
        [('[{"n":1},{"n":"2"}]', [Inner(n=1), Inner(n=2)]), ("[]", [])],
        [('[{"n":1},{}]', ["v[1].n: missing"])],
    ),
    Parameter(
        "model or None",
        Inner | None,
        {
            "type": ["object", "null"],
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
        },
        [('{"n":1}', Inner(n=1)), ("null", None)],
        [('{"n":"x"}', ['v.n: expected an integer, got "x"'])],
    ),
    Parameter(
        "model with aliases",
        Renamed,
        {
            "type": "object",
            "properties": {"theName": {"type": "string"}},
            "required": ["theName"],
            "additionalProperties": False,
        },
        [('{"theName":"a"}', Renamed(theName="a"))],
        [
            (
                '{"theName":"a","extra":1}',
                ["v.extra: unknown member; expected theName"],
            )
        ],
    ),
    Parameter(
        "generic model",
        Wrapped[int],
        {"type": "object", "properties": {"item": {"type": "integer"}}, "required": ["item"]},
        [('{"item":1}', Wrapped[int](item=1))],
        [('{"item":"x"}', ['v.item: expected an integer, got "x"'])],
    ),
    Parameter(
        "pydantic dataclass",
        Checked,
        {
            "type": "object",
            "properties": {"n": {"type": "integer", "minimum": 1}},
            "required": ["n"],
        },
        [('{"n":1}', Checked(1))],
        [('{"n":0}', ["v.n: must be at least 1, got 0"])],
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
                "score": {"type": "number", "minimum": 0, "default": 0.5},
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
            ('{"inner":{"n":"x"}}', ['v.inner.n: expected an integer, got "x"', "v.name: missing"]),
            ('{"name":"a","inner":{"n":1},"score":-1}', ["v.score: must be at least 0, got -1"]),
        ],
    ),
]

NODE = {
    "Node": {
        "type": "object",
        "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/Node"}},
        "required": ["value"],
        "additionalProperties": False,
    }
}
RECURSIVE = [
    Parameter(
        "recursive",
        Node,
        {"$ref": "#/$defs/Node"},
        [('{"value":1,"next":{"value":2}}', Node(1, Node(2))), ('{"value":1}', Node(1))],
        [
            ('{"value":1,"next":{"value":"x"}}', ['v.next.value: expected an integer, got "x"']),
            ('{"value":1,"next":5}', ["v.next: expected an object or null, got 5"]),
        ],
        NODE,
    ),
    Parameter(
        "list of recursive",
        list[Node],
        {"type": "array", "items": {"$ref": "#/$defs/Node"}},
        [('[{"value":1}]', [Node(1)])],
        [('[{"value":1},{}]', ["v[1].value: missing"])],
        NODE,
    ),
    Parameter(
        "recursive or None",
        Node | None,
        {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
        [('{"value":1}', Node(1)), ("null", None)],
        [("7", ["v: expected an object or null, got 7"])],
        NODE,
    ),
    Parameter(
        "recursive generic",
        Chain[int],
        {"$ref": "#/$defs/Chain"},
        [('{"item":1,"next":{"item":"2"}}', Chain(1, Chain(2)))],
        [('{"item":"x"}', ['v.item: expected an integer, got "x"'])],
        {
            "Chain": {
                "type": "object",
                "properties": {"item": {"type": "integer"}, "next": {"$ref": "#/$defs/Chain"}},
                "required": ["item"],
                "additionalProperties": False,
            }
        },
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
            (
                '"b"',
                [
                    "v: must have at least 2 characters, got 1",
                    'v: must match the pattern ^a, got "b"',
                ],
            ),
            ('"abcd"', ["v: must have at most 3 characters, got 4"]),
        ],
    ),
    Parameter(
        "Meta on a list",
        Annotated[list[int], msgspec.Meta(min_length=1, max_length=2)],
        {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
        [("[1]", [1])],
        [
            ("[]", ["v: must have at least 1 item, got 0"]),
            ("[1,2,3]", ["v: must have at most 2 items, got 3"]),
        ],
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
            "additionalProperties": False,
        },
        [('{"count":1}', Bounded(1, "ab")), ('{"count":"2","name":"xy"}', Bounded(2, "xy"))],
        [
            ('{"count":0}', ["v.count: must be at least 1, got 0"]),
            ('{"count":1,"name":"x"}', ["v.name: must have at least 2 characters, got 1"]),
        ],
    ),
    Parameter(
        "None beside a constraint",
        Remark,
        {
            "type": "object",
            "properties": {
                "count": {"type": "integer", "minimum": 1},
                "note": {"type": "string"},
            },
            "required": ["count"],
            "additionalProperties": False,
        },
        [('{"count":1,"note":null}', Remark(1)), ('{"count":1}', Remark(1))],
        [('{"count":0,"note":null}', ["v.count: must be at least 1, got 0"])],
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
        "Field in a list",
        Annotated[
            list[Annotated[int, pydantic.Field(ge=1, description="each")]],
            pydantic.Field(max_length=2, description="all"),
        ],
        {
            "type": "array",
            "items": {"type": "integer", "minimum": 1, "description": "each"},
            "maxItems": 2,
            "description": "all",
        },
        [("[1]", [1])],
        [
            ("[0]", ["v[0]: must be at least 1, got 0"]),
            ("[1,1,1]", ["v: must have at most 2 items, got 3"]),
        ],
    ),
    Parameter(
        "two notes",
        Annotated[Annotated[int, msgspec.Meta(ge=1)], annotated_types.Le(3)],
        {"type": "integer", "minimum": 1, "maximum": 3},
        [("2", 2)],
        [("0", ["v: must be at least 1, got 0"]), ("5", ["v: must be at most 3, got 5"])],
    ),
    Parameter(
        "constraint on a union",
        Annotated[int | str, annotated_types.Ge(1)],
        {"type": ["integer", "string"], "minimum": 1},
        [("1", 1), ('"x"', "x")],
        [("0", ["v: must be at least 1, got 0"])],
    ),
    Parameter(
        "constraints in a TypedDict",
        Limited,
        {
            "type": "object",
            "properties": {
                "n": {"type": "integer", "minimum": 1},
                "m": {"type": "integer", "maximum": 3, "description": "much"},
            },
            "required": ["n"],
            "additionalProperties": False,
        },
        [('{"n":1}', {"n": 1})],
        [
            (
                '{"n":0,"m":5}',
                ["v.n: must be at least 1, got 0", "v.m: must be at most 3, got 5"],
            )
        ],
    ),
    Parameter(
        "extra members of the schema",
        Annotated[int, msgspec.Meta(examples=[1], extra_json_schema={"x-unit": "m"})],
        {"type": "integer", "examples": [1], "x-unit": "m"},
        [("1", 1)],
        [],
    ),
    Parameter(
        "validator",
        Annotated[int, pydantic.AfterValidator(lambda number: number + 1)],
        {"type": "integer"},
        [("1", 2)],
        [('"x"', ['v: expected an integer, got "x"'])],
    ),
    Parameter(
        "predicate",
        Annotated[str, annotated_types.Predicate(str.islower)],
        {"type": "string"},
        [('"a"', "a")],
        [("5", ["v: expected a string, got 5"])],
    ),
]

PARAMETERS = [*PLAIN, *CHOICES, *UNIONS, *COLLECTIONS, *CLASSES, *RECURSIVE, *NOTES]


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
            meta = answer["result"].pop("_meta")
            del meta["io.modelcontextprotocol/serverInfo"]
            if meta:
                answer["result"]["_meta"] = meta
        return answer["result"]

    async def call(self, arguments: str) -> Any:
        return await self.send("tools/call", f'{{"name":"t","arguments":{arguments}}}')

    async def tool(self) -> Any:
        [tool] = (await self.request("tools/list"))["tools"]
        return tool


async def served(function: Callable[..., Any], revision: str, **options: Any) -> Client:
    """A client of a server with one tool."""
    return (await served_to_all(function, [revision], **options))[revision]


async def served_to_all(
    function: Callable[..., Any], revisions: list[str] = REVISIONS, **options: Any
) -> dict[str, Client]:
    """A client of each revision, of one server with one tool."""
    server = Server("matrix", limits=Limits(result_bytes=10_000))
    server.tool(name="t", **options)(function)
    clients = {revision: Client(server, revision) for revision in revisions}
    for client in clients.values():
        await client.open()
    return clients


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


def in_all(result: T) -> dict[str, T]:
    """The same in every revision."""
    return dict.fromkeys(REVISIONS, result)


@by_parameter
async def test_a_parameter_is_published_alike_in_every_revision(case: Parameter) -> None:
    tool, _ = recorder(case.annotation)
    schema = {
        "type": "object",
        "properties": {"v": case.schema},
        "required": ["v"],
        "additionalProperties": False,
        **({} if case.shared is None else {"$defs": case.shared}),
    }
    clients = await served_to_all(tool)

    tools = {revision: await client.tool() for revision, client in clients.items()}

    assert tools == in_all({"name": "t", "inputSchema": schema})


@by_parameter
async def test_a_parameter_is_read_alike_in_every_revision(case: Parameter) -> None:
    tool, got = recorder(case.annotation)
    results: dict[str, list[Any]] = {}
    read: dict[str, list[Any]] = {}

    for revision, client in (await served_to_all(tool)).items():
        results[revision] = [await client.call(f'{{"v":{text}}}') for text, _ in case.good]
        read[revision] = exact(got)
        got.clear()

    assert results == in_all([{"content": []} for _ in case.good])
    assert read == in_all(exact([value for _, value in case.good]))


@by_parameter
async def test_a_parameter_is_refused_in_the_same_words_in_every_revision(case: Parameter) -> None:
    tool, got = recorder(case.annotation)
    results: dict[str, list[Any]] = {}

    for revision, client in (await served_to_all(tool)).items():
        results[revision] = [await client.call(f'{{"v":{text}}}') for text, _ in case.bad]
        results[revision].append(await client.call("{}"))

    assert results == in_all([refusal(lines) for _, lines in [*case.bad, ("", ["v: missing"])]])
    assert got == []


# Defaults


@dataclasses.dataclass
class Default:
    name: str
    annotation: Any
    default: Any
    schema: dict[str, Any]
    value: Any


DEFAULTS = [
    Default("int", int, 5, {"type": "integer", "default": 5}, 5),
    Default("str", str, "", {"type": "string", "default": ""}, ""),
    Default("bool", bool, False, {"type": "boolean", "default": False}, False),
    Default("None", int | None, None, {"type": "integer"}, None),
    Default("None of several", int | str | None, None, {"type": ["integer", "string"]}, None),
    Default(
        "None of a list",
        list[int] | None,
        None,
        {"type": "array", "items": {"type": "integer"}},
        None,
    ),
    Default("None of a dataclass", Point | None, None, GIVEN_POINT, None),
    Default("None of any", Any, None, {}, None),
    Default(
        "None of choices",
        Literal["a", "b"] | None,
        None,
        {"type": "string", "enum": ["a", "b"]},
        None,
    ),
    Default("value of Optional", int | None, 5, {"type": ["integer", "null"], "default": 5}, 5),
    Default(
        "list", list[int], [1], {"type": "array", "items": {"type": "integer"}, "default": [1]}, [1]
    ),
    Default(
        "Enum",
        Colour,
        Colour.RED,
        {"type": "string", "enum": ["red", "blue"], "default": "red"},
        Colour.RED,
    ),
    Default("dataclass", Point, Point(1), {**GIVEN_POINT, "default": {"x": 1, "y": 0}}, Point(1)),
    Default(
        "date",
        datetime.date,
        datetime.date(2026, 1, 31),
        {"type": "string", "format": "date", "default": "2026-01-31"},
        datetime.date(2026, 1, 31),
    ),
    Default(
        "Decimal",
        decimal.Decimal,
        decimal.Decimal("1.5"),
        {"type": "string", "format": "decimal", "default": "1.5"},
        decimal.Decimal("1.5"),
    ),
    Default(
        "bytes",
        bytes,
        b"hi",
        {"type": "string", "contentEncoding": "base64", "default": "aGk="},
        b"hi",
    ),
    Default("function", list[int], list, {"type": "array", "items": {"type": "integer"}}, []),
    Default(
        "Field",
        int,
        pydantic.Field(5, ge=1, description="how many"),
        {"type": "integer", "minimum": 1, "description": "how many", "default": 5},
        5,
    ),
    Default(
        "Field with a factory",
        list[int],
        pydantic.Field(default_factory=list),
        {"type": "array", "items": {"type": "integer"}},
        [],
    ),
    Default(
        "Field as a note",
        Annotated[int, pydantic.Field(default=5)],
        inspect.Parameter.empty,
        {"type": "integer", "default": 5},
        5,
    ),
    Default(
        "constraint on Optional",
        Annotated[int | None, msgspec.Meta(ge=1)],
        None,
        {"type": "integer", "minimum": 1},
        None,
    ),
]


@by_revision
@pytest.mark.parametrize("case", DEFAULTS, ids=lambda case: case.name)
async def test_a_default_stands_in_for_what_is_not_given(case: Default, revision: str) -> None:
    given = [] if case.default is inspect.Parameter.empty else [case.default]
    tool, got = recorder(case.annotation, *given)
    client = await served(tool, revision)

    result = await client.call("{}")

    assert result == {"content": []}
    assert exact(got) == exact([case.value])
    assert (await client.tool())["inputSchema"] == {
        "type": "object",
        "properties": {"v": case.schema},
        "additionalProperties": False,
    }


@by_revision
async def test_a_default_that_can_be_called_is_called_each_time(revision: str) -> None:
    tool, got = recorder(int, itertools.count(1).__next__)
    client = await served(tool, revision)

    await client.call("{}")
    await client.call('{"v":10}')
    await client.call("{}")

    assert got == [1, 10, 2]


@by_revision
async def test_null_may_be_said_for_none(revision: str) -> None:
    tool, got = recorder(int | None, None)
    client = await served(tool, revision)

    await client.call('{"v":null}')

    assert got == [None]


@by_revision
async def test_null_is_not_the_default(revision: str) -> None:
    tool, got = recorder(int, 5)
    client = await served(tool, revision)

    result = await client.call('{"v":null}')

    assert result == refusal(["v: expected an integer, got null"])
    assert got == []


# Parameters together


@by_revision
async def test_a_parameter_without_annotation_takes_anything(revision: str) -> None:
    got: list[Any] = []

    async def tool(v):  # type: ignore[no-untyped-def]
        got.append(v)

    client = await served(tool, revision)
    for text in ('"7"', "[1,null]", '{"a":1.5}'):
        await client.call(f'{{"v":{text}}}')

    assert exact(got) == exact(["7", [1, None], {"a": 1.5}])
    assert (await client.tool())["inputSchema"]["properties"] == {"v": {}}


@by_revision
async def test_every_problem_is_in_one_answer(revision: str) -> None:
    async def tool(city: str, days: int, unit: Literal["c", "f"] = "c") -> None: ...

    client = await served(tool, revision)

    result = await client.call('{"ctiy":"Bonn","days":"three","unit":"k"}')

    assert result == refusal(
        [
            'days: expected an integer, got "three"',
            'unit: must be one of "c", "f", got "k"',
            "city: missing",
            'ctiy: unknown argument, did you mean "city"?',
        ]
    )


@by_revision
async def test_what_is_echoed_is_short(revision: str) -> None:
    tool, _ = recorder(int)
    client = await served(tool, revision)

    result = await client.call(json.dumps({"v": "x" * 100_000}))

    [block] = result["content"]
    assert len(block["text"]) < 300


STRICT: list[tuple[str, Any, str, list[str]]] = [
    ("a string for int", int, '"7"', ['v: expected an integer, got "7"']),
    ("a string for float", float, '"1.5"', ['v: expected a number, got "1.5"']),
    ("a string for bool", bool, '"true"', ['v: expected a boolean, got "true"']),
    ("a number for bool", bool, "1", ["v: expected a boolean, got 1"]),
    ("a string for None", None, '"null"', ['v: expected null, got "null"']),
    (
        "a number for datetime",
        datetime.datetime,
        "1700000000",
        ["v: expected a string, got 1700000000"],
    ),
    ("a number for timedelta", datetime.timedelta, "90", ["v: expected a string, got 90"]),
    ("JSON for a list", list[int], '"[1]"', ['v: expected an array, got "[1]"']),
    ("a string in a list", list[int], '["1"]', ['v[0]: expected an integer, got "1"']),
    ("JSON for a dict", dict[str, int], '"{}"', ['v: expected an object, got "{}"']),
    ("JSON for a dataclass", Point, '"{\\"x\\":1}"', ['v: expected an object, got "{\\"x\\":1}"']),
    ("a string in a dataclass", Point, '{"x":"1"}', ['v.x: expected an integer, got "1"']),
    (
        "a string in a class that is checked",
        Bounded,
        '{"count":"1"}',
        ['v.count: expected an integer, got "1"'],
    ),
    ("JSON for a model", Inner, '"{\\"n\\":1}"', ['v: expected an object, got "{\\"n\\":1}"']),
]


@by_revision
@pytest.mark.parametrize(
    ("annotation", "text", "lines"), [case[1:] for case in STRICT], ids=[case[0] for case in STRICT]
)
async def test_a_strict_tool_takes_only_what_its_schema_says(
    annotation: Any, text: str, lines: list[str], revision: str
) -> None:
    lenient, got = recorder(annotation)
    strict, got_strictly = recorder(annotation)

    await (await served(lenient, revision)).call(f'{{"v":{text}}}')
    result = await (await served(strict, revision, strict=True)).call(f'{{"v":{text}}}')

    assert len(got) == 1
    assert got_strictly == []
    assert result == refusal(lines)


@by_revision
async def test_a_strict_tool_takes_what_json_itself_says(revision: str) -> None:
    tool, got = recorder(int | str | list[int])
    client = await served(tool, revision, strict=True)

    for text in ("7", '"7"', "[1]"):
        await client.call(f'{{"v":{text}}}')

    assert exact(got) == exact([7, "7", [1]])


# Results: values


class Value(NamedTuple):
    """A value that is structured: how it is shown, what it is in JSON, and its schema.

    Without a schema nothing is declared. `wrapped` says that it travels in an object up to 2025.
    """

    name: str
    annotation: Any
    value: Any
    text: str
    structured: Any
    schema: dict[str, Any] | None
    wrapped: bool = True


UNDECLARED: Any = inspect.Parameter.empty
NOON = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.timezone.utc)  # noqa: UP017
MODEL = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
}

VALUES = [
    Value("int", int, 5, "5", 5, {"type": "integer"}),
    Value("large int", int, 2**70, "1180591620717411303424", 2**70, {"type": "integer"}),
    Value("float", float, 1.5, "1.5", 1.5, {"type": "number"}),
    Value("int for float", float, 2, "2", 2, {"type": "number"}),
    Value("true", bool, True, "true", True, {"type": "boolean"}),
    Value("false", bool, False, "false", False, {"type": "boolean"}),
    Value("int or None", int | None, 5, "5", 5, {"type": ["integer", "null"]}),
    Value("None of int", int | None, None, "null", None, {"type": ["integer", "null"]}),
    Value("str or None", str | None, "a", "a", "a", {"type": ["string", "null"]}),
    Value("str or int", str | int, "a", "a", "a", {"type": ["string", "integer"]}),
    Value("Literal", Literal["a"], "a", "a", "a", {"type": "string", "enum": ["a"]}),
    Value("Enum", Colour, Colour.RED, "red", "red", {"type": "string", "enum": ["red", "blue"]}),
    Value(
        "value of Enum", Colour, "red", "red", "red", {"type": "string", "enum": ["red", "blue"]}
    ),
    Value("IntEnum", Level, Level.LOW, "1", 1, {"type": "integer", "enum": [1, 2]}),
    Value(
        "list", list[int], [1, 2], "[1,2]", [1, 2], {"type": "array", "items": {"type": "integer"}}
    ),
    Value("empty list", list[int], [], "[]", [], {"type": "array", "items": {"type": "integer"}}),
    Value("bare list", list, [1, "a"], '[1,"a"]', [1, "a"], None),
    Value(
        "list of str",
        list[str],
        ["a"],
        '["a"]',
        ["a"],
        {"type": "array", "items": {"type": "string"}},
    ),
    Value(
        "tuple",
        tuple[int, str],
        (1, "a"),
        '[1,"a"]',
        [1, "a"],
        {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "items": False,
            "minItems": 2,
        },
    ),
    Value(
        "set",
        set[int],
        {1},
        "[1]",
        [1],
        {"type": "array", "items": {"type": "integer"}},
    ),
    Value(
        "frozenset",
        frozenset[str],
        frozenset({"a"}),
        '["a"]',
        ["a"],
        {"type": "array", "items": {"type": "string"}},
    ),
    Value(
        "NamedTuple",
        Pair,
        Pair(1, "a"),
        '[1,"a"]',
        [1, "a"],
        {
            "type": "array",
            "prefixItems": [
                {"description": "x", "type": "integer"},
                {"description": "label", "type": "string"},
            ],
            "items": False,
            "minItems": 2,
        },
    ),
    Value(
        "datetime",
        datetime.datetime,
        NOON,
        "2026-01-31T12:00:00Z",
        "2026-01-31T12:00:00Z",
        {"type": "string"},
    ),
    Value(
        "date",
        datetime.date,
        datetime.date(2026, 1, 31),
        "2026-01-31",
        "2026-01-31",
        {"type": "string", "format": "date"},
    ),
    Value(
        "time",
        datetime.time,
        datetime.time(12, 30, tzinfo=datetime.timezone.utc),  # noqa: UP017
        "12:30:00Z",
        "12:30:00Z",
        {"type": "string"},
    ),
    Value(
        "timedelta",
        datetime.timedelta,
        datetime.timedelta(hours=1, minutes=30),
        "PT5400S",
        "PT5400S",
        {"type": "string"},
    ),
    Value(
        "UUID",
        uuid.UUID,
        uuid.UUID(UUID_TEXT),
        UUID_TEXT,
        UUID_TEXT,
        {"type": "string", "format": "uuid"},
    ),
    Value(
        "Decimal",
        decimal.Decimal,
        decimal.Decimal("1.50"),
        "1.50",
        "1.50",
        {"type": "string", "format": "decimal"},
    ),
    Value(
        "Path",
        pathlib.PurePosixPath,
        pathlib.PurePosixPath("a/b"),
        "a/b",
        "a/b",
        {"type": "string"},
    ),
    Value(
        "constrained",
        Annotated[int, annotated_types.Ge(1)],
        1,
        "1",
        1,
        {"type": "integer", "minimum": 1},
    ),
    Value(
        "list of models",
        list[Inner],
        [Inner(n=1)],
        '[{"n":1}]',
        [{"n": 1}],
        {"type": "array", "items": MODEL},
    ),
    Value(
        "dataclass or None",
        Point | None,
        Point(1),
        '{"x":1,"y":0}',
        {"x": 1, "y": 0},
        {**POINT, "type": ["object", "null"]},
    ),
    Value(
        "None of a dataclass",
        Point | None,
        None,
        "null",
        None,
        {**POINT, "type": ["object", "null"]},
    ),
    Value(
        "structs with a tag",
        Cat | Dog,
        Dog("a"),
        '{"type":"dog","name":"a"}',
        {"type": "dog", "name": "a"},
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
    ),
    Value("undeclared int", UNDECLARED, 5, "5", 5, None),
    Value("undeclared bool", UNDECLARED, True, "true", True, None),
    Value("undeclared list", UNDECLARED, ["a", "b"], '["a","b"]', ["a", "b"], None),
    Value("any int", Any, 5, "5", 5, None),
    Value("undeclared Enum", UNDECLARED, Colour.RED, "red", "red", None),
    Value(
        "undeclared datetime",
        UNDECLARED,
        NOON,
        "2026-01-31T12:00:00Z",
        "2026-01-31T12:00:00Z",
        None,
    ),
    Value("undeclared set", UNDECLARED, {1}, "[1]", [1], None),
]

OBJECTS = [
    Value("dataclass", Point, Point(1), '{"x":1,"y":0}', {"x": 1, "y": 0}, POINT, False),
    Value("dict for a dataclass", Point, {"x": 1}, '{"x":1}', {"x": 1}, POINT, False),
    Value(
        "nested dataclass",
        Shape,
        Shape("a", Point(1), [Point(2, 3)]),
        '{"name":"a","at":{"x":1,"y":0},"corners":[{"x":2,"y":3}],"note":null}',
        {"name": "a", "at": {"x": 1, "y": 0}, "corners": [{"x": 2, "y": 3}], "note": None},
        {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "at": POINT,
                "corners": {"type": "array", "items": POINT},
                "note": {"type": ["string", "null"]},
            },
            "required": ["name", "at"],
        },
        False,
    ),
    Value(
        "Struct",
        Person,
        Person("a"),
        '{"firstName":"a","age":0}',
        {"firstName": "a", "age": 0},
        {
            "type": "object",
            "properties": {
                "firstName": {"type": "string"},
                "age": {"type": "integer", "default": 0},
            },
            "required": ["firstName"],
        },
        False,
    ),
    Value(
        "TypedDict",
        Place,
        {"city": "a"},
        '{"city":"a"}',
        {"city": "a"},
        {
            "type": "object",
            "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
            "required": ["city"],
        },
        False,
    ),
    Value("bare dict", dict, {"a": 1}, '{"a":1}', {"a": 1}, {"type": "object"}, False),
    Value("empty dict", dict, {}, "{}", {}, {"type": "object"}, False),
    Value(
        "dict",
        dict[str, int],
        {"a": 1},
        '{"a":1}',
        {"a": 1},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        False,
    ),
    Value(
        "dict by int",
        dict[int, str],
        {1: "a"},
        '{"1":"a"}',
        {"1": "a"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        False,
    ),
    Value(
        "generic",
        Box[int],
        Box(1),
        '{"item":1,"spare":[]}',
        {"item": 1, "spare": []},
        {
            "type": "object",
            "properties": {
                "item": {"type": "integer"},
                "spare": {"type": "array", "items": {"type": "integer"}},
            },
            "required": ["item"],
        },
        False,
    ),
    Value("pydantic model", Inner, Inner(n=1), '{"n":1}', {"n": 1}, MODEL, False),
    Value("undeclared model", UNDECLARED, Inner(n=1), '{"n":1}', {"n": 1}, None, False),
    Value(
        "undeclared dataclass", UNDECLARED, Point(1), '{"x":1,"y":0}', {"x": 1, "y": 0}, None, False
    ),
    Value("undeclared dict", UNDECLARED, {"a": "é"}, '{"a":"é"}', {"a": "é"}, None, False),
    Value(
        "constraints that hold",
        Bounded,
        Bounded(1),
        '{"count":1,"name":"ab"}',
        {"count": 1, "name": "ab"},
        {
            "type": "object",
            "properties": {
                "count": {"type": "integer", "minimum": 1},
                "name": {"type": "string", "minLength": 2, "default": "ab"},
            },
            "required": ["count"],
        },
        False,
    ),
]


def returning(annotation: Any, value: Any) -> Callable[..., Any]:
    async def tool():  # type: ignore[no-untyped-def]
        return value

    if annotation is not UNDECLARED:
        tool.__annotations__["return"] = annotation
    return tool


TEXT_ONLY, OBJECTS_ONLY = ("2024-11-05", "2025-03-26"), ("2025-06-18", "2025-11-25")
by_value = pytest.mark.parametrize("case", [*VALUES, *OBJECTS], ids=lambda case: case.name)


@by_value
async def test_a_value_is_structured_and_shown(case: Value) -> None:
    text_only = {"content": [{"type": "text", "text": case.text}]}
    as_object = {"result": case.structured} if case.wrapped else case.structured
    clients = await served_to_all(returning(case.annotation, case.value))

    results = {revision: await client.call("{}") for revision, client in clients.items()}

    assert exact([results]) == exact(
        [
            {
                "2024-11-05": text_only,
                "2025-03-26": text_only,
                "2025-06-18": {**text_only, "structuredContent": as_object},
                "2025-11-25": {**text_only, "structuredContent": as_object},
                "2026-07-28": {**text_only, "structuredContent": case.structured},
            }
        ]
    )


@by_value
async def test_a_value_is_promised_as_it_is_sent(case: Value) -> None:
    clients = await served_to_all(returning(case.annotation, case.value))
    in_an_object = {
        "type": "object",
        "properties": {"result": case.schema},
        "required": ["result"],
    }
    as_object = in_an_object if case.wrapped and case.schema is not None else case.schema

    tools = {revision: await client.tool() for revision, client in clients.items()}

    assert {revision: tool.get("outputSchema") for revision, tool in tools.items()} == {
        "2024-11-05": None,
        "2025-03-26": None,
        "2025-06-18": as_object,
        "2025-11-25": as_object,
        "2026-07-28": case.schema,
    }


# Results: content

PNG, WAV = b"\x89PNG\r\n\x1a\n", b"RIFF\0\0\0\0WAVE"
IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "UklGRgAAAABXQVZF", "mimeType": "audio/wav"}
AUDIO_IN_WORDS = {"type": "text", "text": "[audio, audio/wav, 12 bytes]"}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def blob(uri: str, data: str, mime_type: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "blob": data, "mimeType": mime_type}}


class Shown(NamedTuple):
    """What is sent as content alone: the result, and where an older revision gets another."""

    name: str
    annotation: Any
    value: Any
    result: dict[str, Any]
    older: Mapping[str, dict[str, Any]] = MappingProxyType({})


def content(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"content": list(blocks)}


def before(date: str, result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {revision: result for revision in REVISIONS if revision < date}


LINK = {
    "type": "resource_link",
    "uri": "file:///a.txt",
    "name": "a.txt",
    "title": "A",
    "mimeType": "text/plain",
    "size": 3,
}
SHOWN = [
    Shown("str", str, 'say "hi"\n', content(text('say "hi"\n'))),
    Shown("empty str", str, "", content(text(""))),
    Shown("str beyond the BMP", str, "é😀", content(text("é😀"))),
    Shown("undeclared str", UNDECLARED, "hi", content(text("hi"))),
    Shown("JSON in a str", str, '{"a":1}', content(text('{"a":1}'))),
    Shown("None", None, None, content()),
    Shown("undeclared None", UNDECLARED, None, content()),
    Shown("bytes of a picture", bytes, PNG, content(IMAGE)),
    Shown(
        "bytes of a sound",
        bytes,
        WAV,
        content(AUDIO),
        before("2025-03-26", content(AUDIO_IN_WORDS)),
    ),
    Shown(
        "bytes of a document",
        bytes,
        b"%PDF-1.7",
        content(blob("result:///t", "JVBERi0xLjc=", "application/pdf")),
    ),
    Shown("bytes of text", bytes, "é\n".encode(), content(text("é\n"))),
    Shown(
        "bytes of anything",
        bytes,
        b"\xff\xfe\0",
        content(blob("result:///t", "//4A", "application/octet-stream")),
    ),
    Shown("bytearray", UNDECLARED, bytearray(b"hi"), content(text("hi"))),
    Shown("memoryview", UNDECLARED, memoryview(PNG), content(IMAGE)),
    Shown("bytes or None", bytes | None, None, content()),
    Shown(
        "Text",
        Text,
        Text("a", audience=["user"], priority=0.5, meta={"k": 1}),
        content(
            text("a", annotations={"audience": ["user"], "priority": 0.5}, _meta={"k": 1}),
        ),
        before(
            "2025-06-18", content(text("a", annotations={"audience": ["user"], "priority": 0.5}))
        ),
    ),
    Shown("Image", Image, Image(PNG), content(IMAGE)),
    Shown("Image or None", Image | None, None, content()),
    Shown(
        "Audio", Audio, Audio(WAV), content(AUDIO), before("2025-03-26", content(AUDIO_IN_WORDS))
    ),
    Shown(
        "File of text",
        File,
        File(b"hi", name="a.md"),
        content(
            {
                "type": "resource",
                "resource": {"uri": "file:///a.md", "text": "hi", "mimeType": "text/markdown"},
            }
        ),
    ),
    Shown(
        "File of bytes",
        File,
        File(b"\0\1", name="a.bin"),
        content(blob("file:///a.bin", "AAE=", "application/octet-stream")),
    ),
    Shown(
        "Link",
        Link,
        Link("file:///a.txt", title="A", mime_type="text/plain", size=3),
        content(LINK),
        before("2025-06-18", content(text("a.txt: file:///a.txt"))),
    ),
    Shown(
        "Embedded",
        Embedded,
        Embedded("notes://1", "hi", meta={"k": 1}),
        content(
            {
                "type": "resource",
                "resource": {"uri": "notes://1", "text": "hi", "mimeType": "text/plain"},
                "_meta": {"k": 1},
            }
        ),
        before(
            "2025-06-18",
            content(
                {
                    "type": "resource",
                    "resource": {"uri": "notes://1", "text": "hi", "mimeType": "text/plain"},
                }
            ),
        ),
    ),
    Shown("list of Image", list[Image], [Image(PNG), Image(PNG)], content(IMAGE, IMAGE)),
    Shown(
        "mixed list",
        UNDECLARED,
        ["a", Text("b"), Image(PNG), 5, {"a": 1}, Point(1), b"hi", Audio(WAV)],
        content(
            text("a"),
            text("b"),
            IMAGE,
            text("5"),
            text('{"a":1}'),
            text('{"x":1,"y":0}'),
            text("hi"),
            AUDIO,
        ),
        before(
            "2025-03-26",
            content(
                text("a"),
                text("b"),
                IMAGE,
                text("5"),
                text('{"a":1}'),
                text('{"x":1,"y":0}'),
                text("hi"),
                AUDIO_IN_WORDS,
            ),
        ),
    ),
    Shown("tuple", tuple[str, Image], ("a", Image(PNG)), content(text("a"), IMAGE)),
    Shown("Result", Result, Result("a"), content(text("a"))),
    Shown("empty Result", Result, Result(), content()),
    Shown(
        "failed Result", Result, Result("no", error=True), {**content(text("no")), "isError": True}
    ),
    Shown(
        "Result of content",
        Result,
        Result(["a", Image(PNG), Link("file:///a.txt", "b")]),
        content(text("a"), IMAGE, {"type": "resource_link", "uri": "file:///a.txt", "name": "b"}),
        before("2025-06-18", content(text("a"), IMAGE, text("b: file:///a.txt"))),
    ),
    Shown(
        "Result of an object",
        Result,
        Result("short", structured={"a": 1}, meta={"k": 1}),
        {**content(text("short")), "structuredContent": {"a": 1}, "_meta": {"k": 1}},
        before("2025-06-18", {**content(text("short")), "_meta": {"k": 1}}),
    ),
    Shown(
        "Result of a list",
        Result,
        Result(structured=[1]),
        {**content(text("[1]")), "structuredContent": [1]},
        {
            **before("2026-07-28", {**content(text("[1]")), "structuredContent": {"result": [1]}}),
            **before("2025-06-18", content(text("[1]"))),
        },
    ),
    Shown(
        "Result of null",
        Result,
        Result(structured=None),
        {**content(text("null")), "structuredContent": None},
        {
            **before(
                "2026-07-28", {**content(text("null")), "structuredContent": {"result": None}}
            ),
            **before("2025-06-18", content(text("null"))),
        },
    ),
    Shown("any Text", Any, Text("a"), content(text("a"))),
]


@pytest.mark.parametrize("case", SHOWN, ids=lambda case: case.name)
async def test_content_is_sent_as_the_revision_knows_it(case: Shown) -> None:
    clients = await served_to_all(returning(case.annotation, case.value))

    results = {revision: await client.call("{}") for revision, client in clients.items()}

    assert results == {**in_all(case.result), **case.older}


@pytest.mark.parametrize("case", SHOWN, ids=lambda case: case.name)
async def test_content_promises_no_structure(case: Shown) -> None:
    clients = await served_to_all(returning(case.annotation, case.value))

    tools = {revision: await client.tool() for revision, client in clients.items()}

    assert not [revision for revision, tool in tools.items() if "outputSchema" in tool]


@by_revision
@pytest.mark.parametrize(
    ("value", "result", "older"),
    [
        (
            Result("short", structured={"x": 1}),
            {**content(text("short")), "structuredContent": {"x": 1}},
            content(text("short")),
        ),
        (
            Result(structured={"x": 1, "y": 2}),
            {**content(text('{"x":1,"y":2}')), "structuredContent": {"x": 1, "y": 2}},
            content(text('{"x":1,"y":2}')),
        ),
        (
            Result("no", error=True),
            {**content(text("no")), "isError": True},
            {**content(text("no")), "isError": True},
        ),
    ],
    ids=["with text", "without text", "failed"],
)
async def test_a_result_may_stand_for_what_is_declared(
    value: Result, result: Any, older: Any, revision: str
) -> None:
    client = await served(returning(Point, value), revision)

    assert await client.call("{}") == (older if revision in TEXT_ONLY else result)


# Results: generators


def yields_then_returns() -> Generator[str, None, int]:
    yield "one"
    return 5


def yields() -> Generator[int, None, None]:
    yield 4
    yield 5


def iterates() -> Iterable[int]:
    yield 4
    yield 5


async def yields_async() -> AsyncGenerator[int, None]:
    yield 4
    yield 5


@by_revision
@pytest.mark.parametrize("tool", [yields_then_returns, yields, iterates, yields_async])
async def test_a_generator_gives_its_last_value(tool: Callable[..., Any], revision: str) -> None:
    client = await served(tool, revision)

    result, described = await client.call("{}"), await client.tool()

    assert result.pop("content") == [text("5")]
    if revision in TEXT_ONLY:
        assert result == {}
        assert "outputSchema" not in described
    elif revision in OBJECTS_ONLY:
        assert result == {"structuredContent": {"result": 5}}
        assert described["outputSchema"]["properties"] == {"result": {"type": "integer"}}
    else:
        assert result == {"structuredContent": 5}
        assert described["outputSchema"] == {"type": "integer"}


@by_revision
async def test_a_generator_of_content_gives_content(revision: str) -> None:
    def tool() -> Generator[str | Image, None, None]:
        yield "drawing"
        yield Image(PNG)

    client = await served(tool, revision)

    assert await client.call("{}") == content(IMAGE)


# Results: what cannot be sent


class Opaque:
    """Nothing that JSON could hold."""


class Failed(NamedTuple):
    """A value that is no result: the class that the client is told, and the words in the log."""

    name: str
    annotation: Any
    value: Any
    told: str
    logged: str


CYCLE: list[Any] = []
CYCLE.append(CYCLE)
BREAKS = "what it returned breaks its "
FAILED = [
    Failed(
        "NaN",
        float,
        math.nan,
        "WrongResult",
        f"{BREAKS}annotation: result: expected a number, got null",
    ),
    Failed(
        "infinity",
        float,
        math.inf,
        "WrongResult",
        f"{BREAKS}annotation: result: expected a number, got null",
    ),
    Failed(
        "NaN in a list",
        list[float],
        [math.nan],
        "WrongResult",
        f"{BREAKS}annotation: result[0]: expected a number",
    ),
    Failed("unknown object", UNDECLARED, Opaque(), "TypeError", "Opaque cannot be told in JSON"),
    Failed(
        "unknown object inside",
        UNDECLARED,
        {"a": [Opaque()]},
        "TypeError",
        "Opaque cannot be told",
    ),
    Failed("function", UNDECLARED, print, "TypeError", "cannot be told in JSON"),
    Failed("cycle", UNDECLARED, CYCLE, "RecursionError", ""),
    Failed("odd key", UNDECLARED, {(1, 2): 3}, "TypeError", ""),
    Failed("str for int", int, "x", "WrongResult", "expected an integer, got a string"),
    Failed("bool for int", int, True, "WrongResult", "expected an integer, got a boolean"),
    Failed("None for int", int, None, "WrongResult", "expected an integer, got null"),
    Failed("int for str", str, 5, "WrongResult", "it is annotated to return str, but returned int"),
    Failed(
        "None for str", str, None, "WrongResult", "annotated to return str, but returned NoneType"
    ),
    Failed(
        "bytes for str", str, b"x", "WrongResult", "annotated to return str, but returned bytes"
    ),
    Failed("half a dataclass", Point, {"y": 1}, "WrongResult", "missing required field x"),
    Failed("None for a dataclass", Point, None, "WrongResult", "expected an object, got null"),
    Failed("another Enum", Colour, "green", "WrongResult", "invalid enum value 'green'"),
    Failed("short tuple", tuple[int, str], (1,), "WrongResult", "of length 2"),
    Failed("half a model", Inner, {"n": "x"}, "WrongResult", "result.n: expected an integer"),
    Failed(
        "bound", Annotated[int, annotated_types.Ge(1)], 0, "WrongResult", "expected an integer >= 1"
    ),
    Failed(
        "bound inside",
        Bounded,
        Bounded(0),
        "WrongResult",
        "result.count: must be at least 1, got 0",
    ),
    Failed("Result without structure", Point, Result("x"), "WrongResult", "its Result has none"),
    Failed(
        "Result of another",
        int,
        Result(structured="x"),
        "WrongResult",
        "expected an integer, got a string",
    ),
]


@by_revision
@pytest.mark.parametrize("case", FAILED, ids=lambda case: case.name)
async def test_what_cannot_be_sent_is_a_failed_call(
    case: Failed, revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = await served(returning(case.annotation, case.value), revision)

    result = await client.call("{}")

    [block] = result.pop("content")
    assert result == {"isError": True}
    told = "its result is not what it promises" if case.told == "WrongResult" else case.told
    assert re.fullmatch(rf"tool 't' failed: {told} \(error [0-9a-f]{{8}}\)", block["text"])
    [record] = caplog.records
    # A traceback says nothing of a value that was returned.
    assert (record.exc_info is None) == (case.told == "WrongResult")
    error = "" if record.exc_info is None else str(record.exc_info[1])
    assert case.logged in record.getMessage() + error


@by_revision
@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (str, "x" * 10_000),
        (UNDECLARED, {"a": "x" * 10_000}),
        (Image, Image(PNG + bytes(10_000))),
        (Result, Result("x" * 10_000)),
    ],
    ids=["str", "dict", "Image", "Result"],
)
async def test_what_is_too_large_is_a_failed_call(
    annotation: Any, value: Any, revision: str
) -> None:
    client = await served(returning(annotation, value), revision)

    result = await client.call("{}")

    [block] = result.pop("content")
    assert result == {"isError": True}
    assert re.fullmatch(
        r"the result of t is too large: \d{5} bytes, and at most 10000 are sent; ask for less",
        block["text"],
    )
