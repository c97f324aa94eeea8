"""pydantic, if the author uses it."""

import importlib
from typing import Annotated, Any, Literal, Optional

import annotated_types
import pydantic
import pytest
from pydantic import BaseModel, TypeAdapter
from tests.asking import OLD, outcome

from toolhaft import Server
from toolhaft.schema import pydantic_models
from toolhaft.schema.cost.validation_steps import Bounds
from toolhaft.schema.pydantic_models import (
    is_model,
    or_null,
    reader_of,
    schema_of_model,
    to_json_values,
)
from toolhaft.testing import Client


class Inner(pydantic.BaseModel):
    """A model inside of another."""

    n: int


class Model(pydantic.BaseModel):
    name: str = pydantic.Field(alias="theName", title="A name", description="who it is")
    inner: Inner
    other: Inner | None = None
    title: str = "x"
    level: Annotated[int, pydantic.Field(ge=1)] | None = None


class Tree(pydantic.BaseModel):
    value: int
    children: list["Tree"] = []
    leaf: Inner | None = None


class Circle(pydantic.BaseModel):
    link: Optional["Square"] = None


class Square(pydantic.BaseModel):
    link: Circle | None = None


@pydantic.dataclasses.dataclass
class Data:
    n: int


class Unrelated:
    """Not pydantic's."""


@pytest.fixture
def without_pydantic(monkeypatch: pytest.MonkeyPatch) -> None:
    def import_module(name: str) -> Any:
        if name == "pydantic":
            raise ModuleNotFoundError(name)
        return importlib.import_module(name)

    monkeypatch.setattr(pydantic_models, "import_module", import_module)


def test_a_model_is_known() -> None:
    assert is_model(Model) is True
    assert is_model(Data) is True
    assert is_model(Unrelated) is False
    assert is_model(int) is False
    assert is_model(Inner(n=1)) is False
    assert is_model(list[Inner]) is False


def test_a_model_is_read_from_json() -> None:
    assert reader_of(Inner)({"n": 1}) == Inner(n=1)
    assert reader_of(Data)({"n": 1}) == Data(1)
    assert reader_of(Annotated[int, annotated_types.Predicate(bool)])(1) == 1


def test_all_that_is_wrong_is_said_in_one_line() -> None:
    with pytest.raises(ValueError, match=r"theName: Field required; \.?inner\.n: Input should"):
        reader_of(Model)({"inner": {"n": "x"}})


def test_what_is_no_object_is_no_model() -> None:
    with pytest.raises(ValueError, match="Input should be an object"):
        reader_of(Inner)(5)


def test_what_is_wrong_never_repeats_the_input() -> None:
    with pytest.raises(ValueError, match="valid integer") as failure:
        reader_of(Inner)({"n": "secret"})

    assert "secret" not in str(failure.value)


def test_a_model_is_written_by_its_names_on_the_wire() -> None:
    model = Model(theName="a", inner=Inner(n=1))

    assert to_json_values(model) == {
        "theName": "a",
        "inner": {"n": 1},
        "other": None,
        "title": "x",
        "level": None,
    }


def test_a_schema_has_no_titles_and_no_references() -> None:
    schema, shared = schema_of_model(Model)
    inner = {
        "type": "object",
        "description": "A model inside of another.",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
    }

    assert shared == {}
    assert schema == {
        "type": "object",
        "properties": {
            "theName": {"type": "string", "description": "who it is"},
            "inner": inner,
            "other": {**inner, "type": ["object", "null"]},
            "title": {"type": "string", "default": "x"},
            "level": {"type": ["integer", "null"], "minimum": 1},
        },
        "required": ["theName", "inner"],
    }


def test_a_model_that_contains_itself_is_shared() -> None:
    schema, shared = schema_of_model(Tree)

    assert schema == {"$ref": "#/$defs/Tree"}
    assert list(shared) == ["Tree"]
    assert shared["Tree"]["properties"]["children"] == {
        "type": "array",
        "items": {"$ref": "#/$defs/Tree"},
        "default": [],
    }
    assert shared["Tree"]["properties"]["leaf"]["type"] == ["object", "null"]


def test_two_models_that_contain_each_other_need_one_reference() -> None:
    schema, shared = schema_of_model(Circle)

    assert schema == {"$ref": "#/$defs/Circle"}
    assert list(shared) == ["Circle"]


@pytest.mark.parametrize(
    ("schema", "lean"),
    [
        (
            {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
            {"type": ["string", "null"], "format": "date"},
        ),
        (
            {"anyOf": [{"type": "null"}, {"type": "string", "enum": ["a"]}], "description": "d"},
            {"type": ["string", "null"], "enum": ["a", None], "description": "d"},
        ),
    ],
)
def test_a_type_or_null_is_no_choice_of_schemas(schema: Any, lean: Any) -> None:
    assert or_null(schema) == lean


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]},
        {"anyOf": [{"type": "string"}]},
    ],
)
def test_any_other_choice_stays_one(schema: Any) -> None:
    assert or_null(schema) == schema


@pytest.mark.usefixtures("without_pydantic")
@pytest.mark.parametrize("ask", [reader_of, schema_of_model])
def test_without_pydantic_its_notes_are_refused(ask: Any) -> None:
    with pytest.raises(TypeError, match=r"^only pydantic can check this; install it$"):
        ask(Annotated[str, annotated_types.Predicate(str.islower)])


def test_what_pydantic_does_not_know_is_refused() -> None:
    with pytest.raises(TypeError, match="Unrelated"):
        reader_of(Annotated[Unrelated, pydantic.AfterValidator(str)])


# Models are read from the text of a call, where nothing has to be looked at before


class _Part(BaseModel):
    name: str
    count: int = 1
    tags: list[str] = []


class _Order(BaseModel):
    parts: list[_Part]
    note: str | None = None


class _Priced(BaseModel):
    price: float


async def test_a_model_that_is_read_from_its_text_is_what_pydantic_makes_of_it() -> None:
    seen: list[_Order] = []
    server = Server("models", version="1")

    @server.tool
    def order(order: _Order) -> None:
        seen.append(order)

    given = {"parts": [{"name": '\u00fc "x"', "count": "3"}, {"name": "b", "tags": ["c"]}]}
    await outcome(server, "tools/call", name="order", arguments={"order": given})

    assert seen == [_Order.model_validate(given)]
    assert seen[0].parts[1].model_fields_set == {"name", "tags"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"order": {"parts": [{"name": 1}]}}, "order.parts[0].name"),
        ({"order": {}}, "order.parts: missing"),
        ({"order": 5}, "order: expected an object"),
        ({}, "order: missing"),
    ],
)
async def test_what_is_wrong_with_a_model_is_told_by_its_place(given: Any, words: str) -> None:
    server = Server("models", version="1")

    @server.tool
    def order(order: _Order) -> None:
        """Never called."""

    result = await outcome(server, "tools/call", name="order", arguments=given)

    assert result["isError"] is True
    assert words in result["content"][0]["text"]


async def test_a_default_stands_in_for_a_model_that_is_not_given() -> None:
    server = Server("models", version="1")
    default = _Part(name="default")

    @server.tool
    def part(part: _Part = default) -> str:
        return part.name

    result = await outcome(server, "tools/call", name="part", arguments={})

    assert result["content"][0]["text"] == "default"


@pytest.mark.parametrize(
    ("kind", "direct"),
    [
        (_Order, True),
        (_Part, True),
        (_Priced, False),
        (dict[str, int], True),
        (dict[str, Any], False),
        (list[Any], False),
        (list[list[int]], True),
        (dict[str, list[float]], False),
        (int | float, False),
        (Literal["a", "b"], True),
        (_Order | _Part, False),
    ],
)
def test_only_what_has_no_place_for_a_float_or_a_choice_is_read_at_once(
    kind: Any, direct: bool
) -> None:
    bounds = Bounds(TypeAdapter(kind).json_schema())

    assert bounds.always_hold(100) is direct
    assert bounds.always_hold(20_000) is False


async def test_a_number_that_no_float_can_hold_is_refused_in_a_model() -> None:
    server = Server("models", version="1")

    @server.tool
    def buy(item: _Priced) -> None:
        """Never called."""

    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"buy","arguments":%b}}'
    async with Client(server, OLD) as client:
        answer = await client.raw(call % b'{"item":{"price":1e999}}')

    assert answer["error"]["code"] == -32700
