"""Arguments of a function that has one parameter: however they are written, they are read alike."""

from dataclasses import dataclass
from typing import Any

import pytest
from msgspec import Raw, Struct
from pydantic import BaseModel

from toolhaft.errors import InvalidParams, ParseError
from toolhaft.features.functions.signature import BadArguments, Signature


class Name(Struct):
    name: str


class Item(Struct):
    name: str
    price: int = 0


@dataclass
class Box:
    items: list[Item]


class Model(BaseModel):
    name: str
    price: int = 0


def bind(annotation: Any, text: str, *defaults: Any) -> dict[str, Any]:
    def function(v: Any) -> None: ...

    function.__annotations__["v"] = annotation
    function.__defaults__ = defaults
    return Signature(function, "tool 'f'").bind(Raw(text.encode()))


def refused(annotation: Any, text: str) -> list[str]:
    with pytest.raises(BadArguments) as caught:
        bind(annotation, text)
    return caught.value.problems


LONG = "a" * 300
WRITINGS = [
    '{"v":%s}', '{"v": %s}', '{"v":%s }', '{ "v":%s}', '{"v" :%s}', '{\n  "v": %s\n}',
    '{"\\u0076":%s}',
]  # fmt: skip
VALUES = [
    (int, "3", 3),
    (str, f'"{LONG}"', LONG),
    (str, '"a}"', "a}"),
    (str, '"\\",\\"v\\":1"', '","v":1'),
    (int | None, "null", None),
    (list[int], "[1,2]", [1, 2]),
    (Name, '{"name":"a"}', Name("a")),
    (Name, f'{{"name":"{LONG}"}}', Name(LONG)),
    (Item, '{"name":"a"}', Item("a")),
    (Box, '{"items":[{"name":"a","price":2}]}', Box([Item("a", 2)])),
    (Model, '{"name":"a"}', Model(name="a")),
    (Model, f'{{"name":"{LONG}"}}', Model(name=LONG)),
    (Model, '"{\\"name\\":\\"a\\"}"', Model(name="a")),
    (list[Model], '[{"name":"a"}]', [Model(name="a")]),
]
KINDS: list[tuple[Any, str]] = [
    (Name, f'{{"name":"{LONG}"}}'),
    (Name, '{"name":"a"}'),
    (Item, '{"name":"a"}'),
    (Box, '{"items":[]}'),
    (Model, '{"name":"a"}'),
    (int, "1"),
]


@pytest.mark.parametrize("writing", WRITINGS)
@pytest.mark.parametrize(("annotation", "text", "value"), VALUES)
def test_the_only_argument_may_be_written_in_any_way(
    annotation: Any, text: str, value: Any, writing: str
) -> None:
    assert bind(annotation, writing % text) == {"v": value}


@pytest.mark.parametrize(("annotation", "text"), KINDS)
def test_a_second_member_is_unknown(annotation: Any, text: str) -> None:
    for rest in ('"w":1', '"w":{"x":1}', '"":{}'):
        [line] = refused(annotation, f'{{"v":{text},{rest}}}')

        assert "unknown argument" in line


@pytest.mark.parametrize("second", ["v", "\\u0076"])
@pytest.mark.parametrize(("annotation", "text"), KINDS)
def test_an_argument_that_stands_twice_is_refused(annotation: Any, text: str, second: str) -> None:
    for first in (text, "[[]]"):
        with pytest.raises(InvalidParams, match="'v' stands twice"):
            bind(annotation, f'{{"v":{first},"{second}":{text}}}')


@pytest.mark.parametrize(("annotation", "text"), KINDS)
def test_no_argument_at_all_is_missing(annotation: Any, text: str) -> None:
    assert refused(annotation, "{}") == ["v: missing"]


def test_one_that_may_be_left_out_has_its_default() -> None:
    assert bind(int, "{}", 7) == {"v": 7}
    assert bind(int, '{"v":8}', 7) == {"v": 8}


def test_an_unknown_member_inside_is_refused() -> None:
    assert refused(Name, '{"v":{"name":"a","nmae":1}}') == ["v.nmae: unknown member; expected name"]
    assert refused(Item, '{"v":{"name":"a","pirce":1}}') == [
        'v.pirce: unknown member, did you mean "price"?'
    ]
    assert refused(Box, '{"v":{"items":[{"name":"a","pirce":1}]}}') == [
        'v.items[0].pirce: unknown member, did you mean "price"?'
    ]


def test_what_does_not_fit_is_told_in_the_same_words_however_it_is_written() -> None:
    for annotation in (Name, Item, Box, Model, int, list[Model]):
        told = [refused(annotation, writing % '{"name":[]}') for writing in WRITINGS]

        assert told == [told[0]] * len(WRITINGS)


@pytest.mark.parametrize("text", ['{"v":}', '{"v":{}', '{"v":{"name":"a"},}', '{"v":1}}'])
@pytest.mark.parametrize("annotation", [Name, Item, Model, int])
def test_what_is_no_json_is_refused(annotation: Any, text: str) -> None:
    with pytest.raises(ParseError, match="not JSON"):
        bind(annotation, text)
