"""Unknown members of objects inside of arguments: refused wherever they stand."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, NotRequired, TypedDict, TypeVar

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Raw
from tests.features.test_matrix import PARAMETERS, Parameter

from toolhaft import McpError, Server
from toolhaft.features.functions.signature import BadArguments, Signature
from toolhaft.features.lazy_validation import Explicit
from toolhaft.schema.fields import MISSING
from toolhaft.schema.from_types import object_schema
from toolhaft.testing import Client, ToolFailed

T = TypeVar("T")


@dataclass
class Item:
    name: str
    price: float = 0.0


@dataclass
class Order:
    items: list[Item]
    by_name: dict[str, Item] = field(default_factory=dict)
    best: Item | None = None
    parts: "list[Order]" = field(default_factory=list)


@dataclass
class Required:
    text: str
    items: list[Item]


@attrs.define
class Attrs:
    name: str


class Typed(TypedDict):
    name: str
    item: NotRequired[Item]


Odd = TypedDict("Odd", {'a"b': int, "c\\d": int, "class": int})


class Plain(msgspec.Struct):
    name: str


class Renamed(msgspec.Struct, rename="camel"):
    first_name: str


class Cat(msgspec.Struct, tag="cat"):
    lives: int


class Dog(msgspec.Struct, tag="dog"):
    name: str


class Row(msgspec.Struct, array_like=True):
    name: str
    item: Item


class Pair(NamedTuple):
    name: str
    item: Item


@dataclass
class Circle:
    radius: float
    label: Item | None = None


@dataclass
class Square:
    width: float


@dataclass
class Page(Generic[T]):
    content: T


@dataclass
class Shortened:
    items: list[Item]

    def __post_init__(self) -> None:
        self.items = None  # type: ignore[assignment]


class Open(pydantic.BaseModel):
    name: str


class Forbidding(pydantic.BaseModel, extra="forbid"):
    name: str


@dataclass
class Holder:
    model: Open
    note: str = ""


def signature(annotation: Any, **options: Any) -> Signature:
    def function(v: Any) -> None: ...

    function.__annotations__["v"] = annotation
    return Signature(function, "tool 'f'", **options)


def refused(annotation: Any, value: Any, **options: Any) -> list[str]:
    """What is said against a value; nothing if it is taken."""
    return refused_by(signature(annotation, **options), value)


def refused_by(reader: Signature, value: Any) -> list[str]:
    try:
        reader.bind(Raw(json.dumps({"v": value}).encode()))
    except BadArguments as error:
        return error.problems
    return []


MISSPELT = {"name": "a", "pirce": 1}
CASES: list[tuple[Any, Any, str]] = [
    (Item, MISSPELT, 'v.pirce: unknown member, did you mean "price"?'),
    (list[Item], [{"name": "a"}, MISSPELT], 'v[1].pirce: unknown member, did you mean "price"?'),
    (Sequence[Item], [MISSPELT], 'v[0].pirce: unknown member, did you mean "price"?'),
    (dict[str, Item], {"k": MISSPELT}, 'v.k.pirce: unknown member, did you mean "price"?'),
    (Mapping[str, Item], {"k": MISSPELT}, 'v.k.pirce: unknown member, did you mean "price"?'),
    (Item | None, MISSPELT, 'v.pirce: unknown member, did you mean "price"?'),
    (Item | str, MISSPELT, 'v.pirce: unknown member, did you mean "price"?'),
    (tuple[int, Item], [1, MISSPELT], 'v[1].pirce: unknown member, did you mean "price"?'),
    (tuple[Item, ...], [MISSPELT], 'v[0].pirce: unknown member, did you mean "price"?'),
    (
        Order,
        {"items": [{"name": "a"}], "best": MISSPELT},
        'v.best.pirce: unknown member, did you mean "price"?',
    ),
    (
        Order,
        {"items": [], "by_name": {"k": MISSPELT}},
        'v.by_name.k.pirce: unknown member, did you mean "price"?',
    ),
    (
        Order,
        {"items": [], "parts": [{"items": [], "parts": [{"items": [MISSPELT]}]}]},
        'v.parts[0].parts[0].items[0].pirce: unknown member, did you mean "price"?',
    ),
    (Attrs, {"name": "a", "nme": 1}, "v.nme: unknown member; expected name"),
    (Typed, {"name": "a", "itm": 1}, 'v.itm: unknown member, did you mean "item"?'),
    (
        Typed,
        {"name": "a", "item": MISSPELT},
        'v.item.pirce: unknown member, did you mean "price"?',
    ),
    (Plain, {"name": "a", "x": 1}, "v.x: unknown member; expected name"),
    (Renamed, {"firstName": "a", "x": 1}, "v.x: unknown member; expected firstName"),
    (Cat | Dog, {"type": "cat", "lives": 9, "x": 1}, "v.x: unknown member; expected type, lives"),
    (list[Cat | Dog], [{"type": "dog", "name": "a", "lives": 1}], "v[0].lives: unknown member"),
    (Circle | Square, {"radius": 1, "colour": 2}, "v.colour: unknown member"),
    (
        list[Circle | Square],
        [{"width": 1}, {"radius": 1, "label": MISSPELT}],
        'v[1].label.pirce: unknown member, did you mean "price"?',
    ),
    (Item | dict[str, int], {"name": "a", "pirce": "x"}, "v"),
    (Page[Item], {"content": MISSPELT}, 'v.content.pirce: unknown member, did you mean "price"?'),
    (Pair, ["a", MISSPELT], 'v[1].pirce: unknown member, did you mean "price"?'),
    (Row, ["a", MISSPELT], 'v[1].pirce: unknown member, did you mean "price"?'),
    (Row, ["a", {"name": "b"}, 3], "v: must have at most 2 items, got 3"),
    (Shortened, {"items": [MISSPELT]}, 'v.items[0].pirce: unknown member, did you mean "price"?'),
    (Forbidding, MISSPELT, "v.pirce: unknown member; expected name"),
    (Holder, {"model": {"name": "a"}, "nte": ""}, 'v.nte: unknown member, did you mean "note"?'),
    (Odd, {'a"b': 1, "c\\d": 2, "class": 3, "x": 4}, "v.x: unknown member"),
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("annotation", "value", "words"), CASES)
def test_an_unknown_member_is_refused_with_its_place(
    annotation: Any, value: Any, words: str, strict: bool
) -> None:
    [line] = refused(annotation, value, strict=strict)

    assert line.startswith(words)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Open, MISSPELT),
        (Holder, {"model": MISSPELT}),
        (dict[str, Any], MISSPELT),
        (dict[str, int] | Item, {"name": 1, "pirce": 2}),
        (Any, MISSPELT),
        (Circle | Square, {"width": 1}),
        (Odd, {'a"b': 1, "c\\d": 2, "class": 3}),
        (Shortened, {"items": [{"name": "a:b"}]}),
        (Required, {"text": "https://a:1", "items": [{"name": ":"}, {"name": "", "price": 2}]}),
    ],
)
def test_members_that_are_allowed_are_taken(annotation: Any, value: Any) -> None:
    assert refused(annotation, value) == []


def test_a_member_in_place_of_one_that_may_be_left_out_is_refused() -> None:
    full = {"text": "", "items": [{"name": "a", "price": 1}]}
    misspelt = {"text": "", "items": [{"name": "a", "pirce": 1}]}

    assert refused(Required, full) == []
    assert refused(Required, misspelt) == [
        'v.items[0].pirce: unknown member, did you mean "price"?'
    ]


def test_an_unknown_member_of_json_in_a_string_is_refused() -> None:
    assert refused(list[Item], json.dumps([MISSPELT])) == [
        'v[0].pirce: unknown member, did you mean "price"?'
    ]


def test_a_schema_by_hand_says_itself_what_is_allowed() -> None:
    schema = {"type": "object", "properties": {"v": {"type": "object"}}, "required": ["v"]}
    explicit = Explicit(schema, "tool 'f'")

    assert refused(Item, MISSPELT, explicit=explicit) == []
    assert refused(Circle | Square, {"radius": 1, "x": 2}, explicit=explicit) == []


@pytest.mark.parametrize("case", PARAMETERS, ids=lambda case: case.name)
def test_every_type_that_is_published_as_closed_is_closed(case: Parameter) -> None:
    schema = object_schema([("v", case.annotation, None, MISSING)], ["v"])
    form = schema["properties"]["v"]
    form = schema["$defs"][form["$ref"].removeprefix("#/$defs/")] if "$ref" in form else form
    values = [json.loads(text) for text, _ in case.good]
    objects = [value for value in values if isinstance(value, dict)]

    for value in objects if form.get("additionalProperties") is False else ():
        assert refused(case.annotation, value) == []
        [line] = refused(case.annotation, {**value, "unheard of": 1})
        assert line.startswith('v["unheard of"]: unknown member')


ORDER = signature(Order)
NAMES = st.sampled_from(["name", "price", "items", "by_name", "best", "parts", "x", ":"])
ITEMS = st.dictionaries(NAMES, st.integers(), max_size=3).map(lambda more: {"name": ":", **more})
ORDERS: st.SearchStrategy[Any] = st.recursive(
    st.fixed_dictionaries({"items": st.lists(ITEMS, max_size=3)}, optional={"x": st.none()}),
    lambda inner: st.fixed_dictionaries(
        {"items": st.lists(ITEMS, max_size=2)},
        optional={
            "parts": st.lists(inner, max_size=2),
            "best": ITEMS,
            "by_name": st.dictionaries(NAMES, ITEMS, max_size=2),
            "x": st.none(),
        },
    ),
)


def unknown_in(order: dict[str, Any]) -> bool:
    items = [*order["items"], *order.get("by_name", {}).values()]
    items += [order["best"]] if "best" in order else []
    return (
        "x" in order
        or any(item.keys() - {"name", "price"} for item in items)
        or any(unknown_in(part) for part in order.get("parts", ()))
    )


def with_texts(value: Any) -> Any:
    """A name is a text, whatever number was drawn for it."""
    if isinstance(value, list):
        return [with_texts(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: ":" if key == "name" and isinstance(each, int) else with_texts(each)
        for key, each in value.items()
    }


# More of them than are told one by one.
@example({"items": [{"name": ":", "x": 1}] * 30})
@given(ORDERS.map(with_texts))
def test_whatever_is_sent_is_refused_if_and_only_if_a_member_is_unknown(order: Any) -> None:
    found = refused_by(ORDER, order)

    assert bool(found) == unknown_in(order)
    told = [line for line in found if not line.startswith("… and ")]
    assert bool(told) == bool(found)
    assert all("unknown member" in line for line in told)


async def test_an_unknown_member_is_an_error_that_a_model_can_read() -> None:
    server = Server("s", version="1")

    @server.tool
    def buy(items: list[Item]) -> str:
        return "bought"

    @server.prompt
    def ask(item: Item) -> str:
        return item.name

    async with Client(server) as client:
        with pytest.raises(ToolFailed, match=r"items\[1\]\.pirce: unknown member"):
            await client.call("buy", items=[{"name": "a"}, MISSPELT])
        with pytest.raises(McpError, match=r"item\.pirce: unknown member"):
            await client.prompt("ask", item=json.dumps(MISSPELT))
