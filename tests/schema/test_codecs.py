"""Python types as msgspec reads and writes them, and what it does not know by itself."""

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import importlib
import os
import pathlib
import typing
from typing import Annotated, Any, Literal, NewType, Optional, TypeVar

import annotated_types
import attrs
import msgspec
import pydantic
import pytest
import typing_extensions

from toolhaft import Server
from toolhaft.schema import pydantic_models
from toolhaft.schema.codecs import codec_of, convert, decoder_of, set_defaults, write

T = TypeVar("T")
UserId = NewType("UserId", int)
UserCount = NewType("UserCount", Annotated[int, annotated_types.Ge(1)])  # type: ignore[valid-newtype]
Count = typing_extensions.TypeAliasType("Count", Annotated[int, annotated_types.Ge(1)])
Endless = typing_extensions.TypeAliasType("Endless", "list[Endless]")


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


@dataclasses.dataclass
class Bird:
    name: str
    wings: int = 2


@dataclasses.dataclass
class Fish:
    name: str
    fins: int = 2


@dataclasses.dataclass
class Bounded:
    n: Annotated[int, annotated_types.Ge(1)]


@dataclasses.dataclass
class BoundedByMeta:
    n: Annotated[int, msgspec.Meta(ge=1)]


@dataclasses.dataclass
class Deep:
    inside: list[dict[str, Optional["Bounded"]]]


@dataclasses.dataclass
class Node:
    next: Optional["Node"] = None


@dataclasses.dataclass
class Beyond:
    name: Annotated[str, annotated_types.Predicate(str.islower)]


@dataclasses.dataclass(slots=True)
class Slotted:
    x: int
    y: int = 3


@attrs.define
class Car:
    wheels: int = 4


class Plain(msgspec.Struct):
    x: int = 0


class Model(pydantic.BaseModel):
    n: int


class Odd(enum.Enum):
    ONE = 1
    TWO = "two"


def read(annotation: Any, text: str, *, strict: bool = False) -> Any:
    return decoder_of(codec_of(annotation).native, strict=strict).decode(text)


# Translating


@pytest.mark.parametrize(
    "annotation",
    [
        str,
        int,
        float,
        bool,
        None,
        Any,
        list,
        dict,
        bytes,
        list[int],
        dict[str, int],
        Literal["a"],
        tuple[int, ...],
        int | None,
        Point,
        Plain,
        datetime.date,
        set[str],
        Node,
    ],
    ids=str,
)
def test_what_msgspec_knows_passes_untouched(annotation: Any) -> None:
    kind = codec_of(annotation)

    assert kind.native == annotation
    assert kind.checked is False


def test_a_foreign_constraint_becomes_one_of_msgspec() -> None:
    kind = codec_of(Annotated[int, annotated_types.Ge(1), "how many"])

    assert kind.native == Annotated[int, msgspec.Meta(ge=1)]


def test_a_constraint_inside_of_a_collection_becomes_one_of_msgspec() -> None:
    kind = codec_of(list[Annotated[int, annotated_types.Ge(1)]])

    assert kind.native == list[Annotated[int, msgspec.Meta(ge=1)]]


def test_a_constraint_on_a_union_is_that_of_the_members_that_can_have_it() -> None:
    annotation = Annotated[int | str | None, annotated_types.Ge(1)]

    assert read(annotation, "1") == 1
    assert read(annotation, '"a"') == "a"
    assert read(annotation, "null") is None
    with pytest.raises(msgspec.ValidationError, match="Expected `int` >= 1"):
        read(annotation, "0")


def test_a_new_type_is_what_it_is_made_of() -> None:
    assert codec_of(UserId).native is int
    assert codec_of(list[UserId]).native == list[int]
    assert codec_of(UserCount).native == Annotated[int, msgspec.Meta(ge=1)]


def test_an_alias_is_what_it_stands_for() -> None:
    assert codec_of(Count).native == Annotated[int, msgspec.Meta(ge=1)]
    assert codec_of(Count | None).native == Annotated[int, msgspec.Meta(ge=1)] | None


def test_a_literal_string_is_a_string() -> None:
    assert codec_of(typing.LiteralString).native is str


@pytest.mark.parametrize("annotation", [Bounded, Deep, list[Bounded], Bounded | None])
def test_a_foreign_constraint_inside_of_a_class_is_left_to_the_checker(annotation: Any) -> None:
    assert codec_of(annotation).checked is True


@pytest.mark.parametrize("annotation", [Point, BoundedByMeta, Node, Plain, list[Point]])
def test_what_msgspec_enforces_is_not_checked_twice(annotation: Any) -> None:
    assert codec_of(annotation).checked is False


@pytest.mark.parametrize(
    ("annotation", "lacks"),
    [(Point, True), (list[Point], True), (Node, True), (Bounded, False), (int, False)],
)
def test_a_class_with_defaults_is_known(annotation: Any, lacks: bool) -> None:
    assert codec_of(annotation).lacks_defaults is lacks


# Reading what msgspec does not know


def test_a_path_is_read() -> None:
    assert read(pathlib.PurePosixPath, '"a/b"') == pathlib.PurePosixPath("a/b")
    with pytest.raises(msgspec.ValidationError, match="Expected `str`"):
        read(pathlib.PurePosixPath, "5")


def test_a_model_is_read_wherever_it_is() -> None:
    @dataclasses.dataclass
    class Holder:
        model: Model

    assert read(Model, '{"n":1}') == Model(n=1)
    assert read(list[Model], '[{"n":1}]') == [Model(n=1)]
    assert read(Model | None, "null") is None
    assert read(Holder, '{"model":{"n":1}}') == Holder(Model(n=1))


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (Bird | Fish, '{"name":"a","wings":1}', Bird("a", 1)),
        (Bird | Fish, '{"name":"a","fins":1}', Fish("a", 1)),
        (Bird | Fish, '{"name":"a"}', Bird("a")),
        (Fish | Bird, '{"name":"a"}', Fish("a")),
        (datetime.date | str, '"2026-01-31"', datetime.date(2026, 1, 31)),
        (datetime.date | str, '"soon"', "soon"),
        (str | datetime.date, '"2026-01-31"', "2026-01-31"),
        (list[int] | list[str], '["1"]', ["1"]),
        (list[int] | list[str], "[1]", [1]),
        (Point | dict[str, int], '{"x":1}', Point(1)),
        (Point | dict[str, int], '{"z":1}', {"z": 1}),
        (Bird | Fish | None, "null", None),
    ],
    ids=str,
)
def test_of_several_types_the_one_that_fits_best_is_read(
    annotation: Any, text: str, value: Any
) -> None:
    assert read(annotation, text) == value


def test_a_value_that_fits_none_of_several_types_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="expected Bird or Fish"):
        read(Bird | Fish, "5")


def test_a_validator_of_pydantic_is_run() -> None:
    annotation = Annotated[str, annotated_types.Predicate(str.islower)]

    assert read(annotation, '"a"') == "a"
    with pytest.raises(msgspec.ValidationError, match="islower"):
        read(annotation, '"A"')


def test_json_that_was_read_before_is_converted() -> None:
    assert convert({"x": "1"}, Point, strict=False) == Point(1)
    assert convert({"1": 2}, dict[int, int], strict=True) == {1: 2}
    with pytest.raises(msgspec.ValidationError):
        convert({"x": "1"}, Point, strict=True)


# Defaults


def test_a_dataclass_that_was_read_is_written_with_its_defaults() -> None:
    value = read(dict[str, list[Point]], '{"a":[{"x":1}]}')

    set_defaults(value)

    assert write(value) == b'{"a":[{"x":1,"y":0}]}'


@pytest.mark.parametrize("value", [5, "a", None, Plain(), Slotted(1), Car(), [], {1, 2}, (1,)])
def test_defaults_are_put_only_where_they_lack(value: Any) -> None:
    before = repr(value)

    set_defaults(value)

    assert repr(value) == before


# Writing


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (pathlib.PurePosixPath("a/b"), b'"a/b"'),
        (Model(n=1), b'{"n":1}'),
        ([Model(n=1)], b'[{"n":1}]'),
        ({"a": pathlib.PurePosixPath("a")}, b'{"a":"a"}'),
        (Point(1), b'{"x":1,"y":0}'),
        (Odd.TWO, b'"two"'),
    ],
    ids=str,
)
def test_a_value_is_written(value: Any, text: bytes) -> None:
    assert write(value) == text


def test_what_json_cannot_tell_is_refused_with_advice() -> None:
    with pytest.raises(TypeError, match="complex cannot be told in JSON; return a str, a number"):
        write(1j)


# What is refused


@pytest.mark.parametrize(
    "annotation",
    [pytest.param(object(), id="object"), 5, ..., Odd, typing.ClassVar[int], typing.NoReturn],
    ids=str,
)
def test_what_is_no_type_is_refused(annotation: Any) -> None:
    with pytest.raises(TypeError, match="not supported"):
        codec_of(annotation)


@pytest.mark.parametrize("annotation", [[], {}, [int]], ids=str)
def test_what_cannot_even_be_hashed_is_refused(annotation: Any) -> None:
    with pytest.raises(TypeError, match=r"is not a type$"):
        codec_of(annotation)


def test_what_only_pydantic_enforces_is_refused_inside_of_other_classes() -> None:
    with pytest.raises(TypeError, match="only enforced in a pydantic model; make the class"):
        codec_of(Beyond)


def test_what_only_pydantic_enforces_is_refused_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def import_module(name: str) -> Any:
        if name == "pydantic":
            raise ModuleNotFoundError(name)
        return importlib.import_module(name)

    monkeypatch.setattr(pydantic_models, "import_module", import_module)

    with pytest.raises(TypeError, match=r"^only pydantic can check this; install it$"):
        codec_of(Annotated[str, annotated_types.Predicate(str.islower)])


@pytest.mark.parametrize(
    "annotation",
    [
        complex,
        T,
        type[int],
        Endless,
        collections.abc.Iterator[int],
        range,
        Odd,
        list[complex],
        dict[str, complex],
        complex | None,
        collections.abc.Callable[[], int],
        Beyond,
    ],
    ids=str,
)
def test_a_parameter_without_json_is_refused_when_it_is_registered(annotation: Any) -> None:
    def tool(v: Any) -> None: ...

    tool.__annotations__["v"] = annotation

    with pytest.raises(TypeError, match=r"^tool 'tool': parameter 'v': .*; use a type that JSON"):
        Server("kinds").tool(tool)


@pytest.mark.parametrize("annotation", [complex, T, Odd, list[complex], Beyond], ids=str)
def test_a_result_without_json_is_refused_when_it_is_registered(annotation: Any) -> None:
    def tool() -> Any: ...

    tool.__annotations__["return"] = annotation

    words = r"^tool 'tool': the return annotation: .*; use a type that JSON can carry, such as str"
    with pytest.raises(TypeError, match=words):
        Server("kinds").tool(tool)


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (datetime, "datetime is a module; write datetime.datetime; use a type"),
        (decimal, "decimal is a module; write decimal.Decimal; use a type"),
        (list[datetime], "datetime is a module; write datetime.datetime"),  # type: ignore[valid-type]
        (enum, "enum is a module; write enum.Enum"),
        (os.path, "posixpath is a module; use a type"),
        (any, "any is a function; write typing.Any"),
        (list[any], "any is a function; write typing.Any"),  # type: ignore[valid-type]
    ],
    ids=str,
)
def test_what_only_bears_the_name_of_a_type_is_told_from_it(annotation: Any, words: str) -> None:
    def takes(v: Any) -> None: ...
    def gives() -> Any: ...

    takes.__annotations__["v"] = annotation
    gives.__annotations__["return"] = annotation

    with pytest.raises(TypeError, match=f"parameter 'v': {words}"):
        Server("kinds").tool(takes)
    with pytest.raises(TypeError, match=f"the return annotation: {words}"):
        Server("kinds").tool(gives)
