"""What a class is made of."""

import collections
import dataclasses
import pathlib
import typing
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, Required, TypedDict
from typing import TypeVar as Variable

import attrs
import msgspec
import pydantic
import pytest

from toolhaft.schema.fields import MISSING, Field, fields_of, is_kind, is_named_tuple, is_path

T = Variable("T")
U = Variable("U")


@dataclasses.dataclass
class Data:
    a: int
    b: str = "x"
    c: list[int] = dataclasses.field(default_factory=list)
    d: int = dataclasses.field(init=False, default=1)
    e: typing.ClassVar[int] = 5


@dataclasses.dataclass
class More(Data):
    f: bool = False


@attrs.define
class Attrs:
    a: int
    b: str = "x"
    c: list[int] = attrs.field(factory=list)
    d: int = attrs.field(init=False, default=1)


class Plain(msgspec.Struct, rename="camel"):
    first_name: str
    ages: list[int] = msgspec.field(default_factory=list)
    other: int = msgspec.field(default=3, name="theOther")


class Tagged(msgspec.Struct, tag_field="kind", tag="t"):
    a: int


class Total(TypedDict):
    a: int
    b: NotRequired[str]


class Partial(TypedDict, total=False):
    a: Required[int]
    b: str


class Both(Total, total=False):
    c: bool


class Named(NamedTuple):
    a: int
    b: str = "x"


Untyped = collections.namedtuple("Untyped", ["a", "b"], defaults=[5])


@dataclasses.dataclass
class Box(Generic[T, U]):
    one: T
    many: list[U]
    both: dict[str, tuple[T, U]]
    none: int


class Pocket(msgspec.Struct, Generic[T]):
    item: T


class Bag(TypedDict, Generic[T]):
    item: T


FIELDS: list[tuple[Any, list[Field]]] = [
    (
        Data,
        [Field("a", int, True), Field("b", str, False, "x"), Field("c", list[int], False)],
    ),
    (
        More,
        [
            Field("a", int, True),
            Field("b", str, False, "x"),
            Field("c", list[int], False),
            Field("f", bool, False, False),
        ],
    ),
    (
        Attrs,
        [Field("a", int, True), Field("b", str, False, "x"), Field("c", list[int], False)],
    ),
    (
        Plain,
        [
            Field("firstName", str, True),
            Field("ages", list[int], False),
            Field("theOther", int, False, 3),
        ],
    ),
    (Tagged, [Field("kind", Literal["t"], True), Field("a", int, True)]),
    (Total, [Field("a", int, True), Field("b", NotRequired[str], False)]),
    (Partial, [Field("a", Required[int], True), Field("b", str, False)]),
    (
        Both,
        [Field("a", int, True), Field("b", NotRequired[str], False), Field("c", bool, False)],
    ),
    (Named, [Field("a", int, True), Field("b", str, False, "x")]),
    (Untyped, [Field("a", Any, True), Field("b", Any, False, 5)]),
    (
        Box[int, str],
        [
            Field("one", int, True),
            Field("many", list[str], True),
            Field("both", dict[str, tuple[int, str]], True),
            Field("none", int, True),
        ],
    ),
    (
        Box,
        [
            Field("one", Any, True),
            Field("many", list[Any], True),
            Field("both", dict[str, tuple[Any, Any]], True),
            Field("none", int, True),
        ],
    ),
    (Pocket[int], [Field("item", int, True)]),
    (Bag[int], [Field("item", int, True)]),
]


@pytest.mark.parametrize(("kind", "fields"), FIELDS, ids=lambda value: str(value)[:40])
def test_the_fields_of_a_class_are_in_its_order(kind: Any, fields: list[Field]) -> None:
    assert fields_of(kind) == fields


def test_notes_stay_beside_the_type_of_a_field() -> None:
    @dataclasses.dataclass
    class Noted:
        a: Annotated[int, "how many"]

    [field] = fields_of(Noted) or []

    assert field.type == Annotated[int, "how many"]


def test_a_field_without_default_has_none() -> None:
    [first, *_] = fields_of(Data) or []

    assert first.default is MISSING


@pytest.mark.parametrize(
    "kind",
    [
        int,
        str,
        list[int],
        dict,
        tuple[int, str],
        object,
        Any,
        None,
        int | str,
        "Data",
        5,
        T,
        Literal["a"],
        pathlib.Path,
        Exception,
    ],
    ids=str,
)
def test_what_is_no_class_of_fields_has_none(kind: Any) -> None:
    assert fields_of(kind) is None


def test_a_class_without_fields_has_none_of_them() -> None:
    @dataclasses.dataclass
    class Empty: ...

    assert fields_of(Empty) == []


def test_a_class_of_a_kind_is_known() -> None:
    assert is_kind(bool, int) is True
    assert is_kind(str, int) is False
    assert is_kind(5, int) is False
    assert is_kind(list[int], list) is False


def test_a_named_tuple_is_known() -> None:
    assert is_named_tuple(Named) is True
    assert is_named_tuple(Untyped) is True
    assert is_named_tuple(tuple) is False
    assert is_named_tuple(Named(1)) is False


def test_a_path_is_known() -> None:
    assert is_path(pathlib.Path) is True
    assert is_path(pathlib.PureWindowsPath) is True
    assert is_path(type(pathlib.Path())) is True
    assert is_path(str) is False
    assert is_path(pathlib.Path()) is False


def test_a_model_of_pydantic_is_none_of_ours() -> None:
    class Model(pydantic.BaseModel):
        a: int

    assert fields_of(Model) is None
