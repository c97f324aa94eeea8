"""What a review has found, one test for each finding, from the call to the answer."""

import collections.abc
import contextlib
import dataclasses
import datetime
import enum
import functools
import math
import re
import uuid
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from typing import Annotated, Any, Literal, NewType, NoReturn

import annotated_types
import attrs
import msgspec
import pydantic
import pytest
from tests.asking import OLD, OneTool
from typing_extensions import TypeAliasType

from toolhaft import (
    Context,
    Depends,
    Embedded,
    Header,
    Image,
    NotFound,
    Result,
    Server,
    ToolError,
    user,
)
from toolhaft.features.functions.call_style import call_style_of
from toolhaft.testing import Client

PNG = b"\x89PNG\r\n\x1a\n"
UUID_TEXT = "123e4567-e89b-42d3-a456-426614174000"


@pytest.fixture
def server() -> Server:
    return Server("review", version="1", errors="show")


@pytest.fixture
def client(server: Server) -> OneTool:
    return OneTool(server)


@pytest.fixture
def older(server: Server) -> OneTool:
    """A client of the last revision in which structured content has to be an object."""
    return OneTool(server, OLD)


def returning(annotation: Any, value: Any) -> Callable[[], Any]:
    def give() -> Any:
        return value

    give.__annotations__["return"] = annotation
    return give


def echoing(annotation: Any, **defaults: Any) -> Callable[..., Any]:
    """A tool that tells what it was given."""

    def echo(v: Any) -> str:
        return repr(v)

    echo.__annotations__["v"] = annotation
    if defaults:
        echo.__defaults__ = (defaults["default"],)
    return echo


# 1. Types that take anything, or any number of things


@pytest.mark.parametrize(
    ("annotation", "value", "schema"),
    [
        (object, [1, "a", None], {}),
        (dict[str, object], {"a": [1], "b": None}, {"type": "object"}),
        (list[object], [1, "a", {"b": None}], {"type": "array"}),
        (Iterable[int], [1, 2], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, Iterable[int]], {"a": [1]}, None),
        (collections.abc.Sequence, [1, "a"], {"type": "array"}),
        (collections.abc.Mapping, {"a": 1}, {"type": "object"}),
    ],
    ids=str,
)
async def test_anything_is_taken_and_given(
    server: Server, client: OneTool, annotation: Any, value: Any, schema: Any
) -> None:
    def same(v: Any) -> Any:
        return v

    same.__annotations__.update({"v": annotation, "return": annotation})
    server.add_tool(same)

    assert await client.data(v=value) == value
    if schema is not None:
        tool = await client.tool()
        assert tool["inputSchema"]["properties"]["v"] == schema
        # An array of anything may be content as well, so nothing is promised of it.
        assert tool.get("outputSchema", {}) == ({} if schema == {"type": "array"} else schema)


async def test_the_items_of_an_iterable_are_checked(server: Server, client: OneTool) -> None:
    server.add_tool(echoing(Iterable[int]))

    assert await client.text(v=[1]) == "[1]"
    assert "v[0]: expected an integer" in await client.failure(v=["a"])


# 2. New types and aliases

Age = NewType("Age", Annotated[int, annotated_types.Ge(18)])  # type: ignore[valid-newtype]
Count = TypeAliasType("Count", Annotated[int, annotated_types.Ge(18)])


@pytest.mark.parametrize("annotation", [Age, Count, list[Age], list[Count]], ids=str)
async def test_the_constraint_of_a_name_for_a_type_is_enforced(
    server: Server, client: OneTool, annotation: Any
) -> None:
    server.add_tool(echoing(annotation))
    is_list = annotation not in (Age, Count)
    schema = (await client.tool())["inputSchema"]["properties"]["v"]

    assert (schema["items"] if is_list else schema) == {"type": "integer", "minimum": 18}
    assert await client.text(v=[18] if is_list else 18) == ("[18]" if is_list else "18")
    assert "must be at least 18, got 17" in await client.failure(v=[17] if is_list else 17)


@dataclasses.dataclass
class ByName:
    age: Age


@pytest.mark.parametrize("kind", [ByName])
async def test_the_constraint_of_a_name_is_enforced_inside_of_a_class(
    server: Server, client: OneTool, kind: Any
) -> None:
    server.add_tool(echoing(kind))

    assert await client.text(v={"age": 18}) == f"{kind.__name__}(age=18)"
    assert "v.age: must be at least 18, got 17" in await client.failure(v={"age": 17})


# 3. Structs that travel as arrays


class Row(msgspec.Struct, array_like=True):
    name: str
    size: int = 0


async def test_a_struct_that_is_like_an_array_is_one(server: Server, client: OneTool) -> None:
    @server.tool
    def same(row: Row) -> Row:
        return row

    tool = await client.tool()
    schema = {
        "type": "array",
        "prefixItems": [
            {"description": "name", "type": "string"},
            {"description": "size", "type": "integer"},
        ],
        "items": False,
        "minItems": 1,
    }

    assert tool["inputSchema"]["properties"]["row"] == schema
    assert tool["outputSchema"] == schema
    assert await client.data(row=["a", 5]) == ["a", 5]
    assert await client.data(row=["a"]) == ["a", 0]
    assert "row: expected an array" in await client.failure(row={"name": "a"})


# 4. attrs


@attrs.define
class Secret:
    _x: int
    y: int = 2


async def test_a_private_field_of_attrs_has_one_name_in_schema_and_data(
    server: Server, client: OneTool
) -> None:
    @server.tool
    def told(secret: Secret) -> int:
        return secret._x

    def same() -> Secret:
        return Secret(1)

    tool = await client.tool()

    assert tool["inputSchema"]["properties"]["secret"]["required"] == ["_x"]
    assert await client.data(secret={"_x": 1}) == 1
    with pytest.raises(TypeError, match=r"Secret._x is private, and attrs keeps it so"):
        server.add_tool(same)


# 5. Subclasses of plain types


class Name(str):
    """A str by another name."""


class Number(int):
    """An int by another name."""


class Ratio(float):
    """A float by another name."""


class Table(dict[str, int]):
    """A dict by another name."""


@pytest.mark.parametrize(
    ("annotation", "value", "data"),
    [
        (int, Number(5), 5),
        (float, Ratio(1.5), 1.5),
        (list[str], [Name("a")], ["a"]),
        (dict[str, int], Table(a=1), {"a": 1}),
        (Any, {"a": Number(5)}, {"a": 5}),
    ],
    ids=str,
)
async def test_a_subclass_of_a_plain_type_is_sent_as_its_base(
    server: Server, client: OneTool, annotation: Any, value: Any, data: Any
) -> None:
    server.add_tool(returning(annotation, value))

    assert await client.data() == data


async def test_a_subclass_of_str_is_text(server: Server, client: OneTool) -> None:
    server.add_tool(returning(str, Name("a")))

    assert await client.text() == "a"


# 6. Constraints beside times


@dataclasses.dataclass
class Visit:
    guests: Annotated[int, annotated_types.Ge(1)]
    at: datetime.datetime


async def test_a_time_without_a_zone_may_stand_beside_a_constraint(
    server: Server, client: OneTool
) -> None:
    server.add_tool(returning(Visit, Visit(1, datetime.datetime(2026, 1, 31, 12))))

    assert await client.data() == {"guests": 1, "at": "2026-01-31T12:00:00"}


# 7. Models


class Aliased(pydantic.BaseModel, extra="forbid"):
    name: str = pydantic.Field(serialization_alias="theName")

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def length(self) -> int:
        return len(self.name)


async def test_a_model_gives_what_it_serializes(server: Server, client: OneTool) -> None:
    server.add_tool(returning(Aliased, Aliased(name="ab")))
    schema = (await client.tool())["outputSchema"]

    assert await client.data() == {"theName": "ab", "length": 2}
    assert set(schema["properties"]) == {"theName", "length"}
    assert schema["additionalProperties"] is False


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    id: uuid.UUID
    at: datetime.datetime
    n: int


async def test_a_strict_model_reads_what_json_has_only_strings_for(
    server: Server, client: OneTool
) -> None:
    @server.tool
    def take(v: Strict) -> str:
        return f"{v.id} {v.at.isoformat()} {v.n}"

    given = {"id": UUID_TEXT, "at": "2026-01-31T12:00:00Z", "n": 1}

    assert await client.text(v=given) == f"{UUID_TEXT} 2026-01-31T12:00:00+00:00 1"
    assert "v.n: " in await client.failure(v={**given, "n": "1"})


async def test_what_stands_for_a_model_has_to_be_what_the_schema_says(
    server: Server, client: OneTool
) -> None:
    server.add_tool(returning(Inner, {"n": "7"}))

    assert (await client.tool())["outputSchema"]["properties"]["n"] == {"type": "integer"}
    assert "is not what it promises" in await client.failure()


class Meeting(pydantic.BaseModel):
    at: datetime.datetime


async def test_a_model_does_not_promise_a_zone_either(server: Server, client: OneTool) -> None:
    server.add_tool(returning(Meeting, Meeting(at=datetime.datetime(2026, 1, 31, 12))))

    assert await client.data() == {"at": "2026-01-31T12:00:00"}
    assert (await client.tool())["outputSchema"]["properties"]["at"] == {"type": "string"}


# 8. Tags and flags


class Cat(msgspec.Struct, tag="cat"):
    lives: int


class Dog(msgspec.Struct, tag="dog"):
    name: str


async def test_a_tag_is_needed_only_where_there_is_a_choice(
    server: Server, client: OneTool
) -> None:
    server.add_tool(returning(Cat, {"lives": 9}), name="one")

    assert (await client.tool())["outputSchema"]["required"] == ["lives"]
    assert await client.data() == {"lives": 9}


async def test_a_tag_is_needed_where_there_is_a_choice(server: Server, client: OneTool) -> None:
    server.add_tool(returning(Cat | Dog, {"lives": 9}))

    first, second = (await client.tool())["outputSchema"]["anyOf"]

    assert first["required"] == ["type", "lives"]
    assert second["required"] == ["type", "name"]
    assert "is not what it promises" in await client.failure()


@pytest.mark.parametrize(
    ("annotation", "value"),
    [(Cat | None, {"lives": 9}), (list[Cat] | None, [{"lives": 9}])],
    ids=str,
)
async def test_a_tag_is_not_needed_to_tell_a_struct_from_null(
    server: Server, client: OneTool, annotation: Any, value: Any
) -> None:
    server.add_tool(returning(annotation, value))

    schema = (await client.tool())["outputSchema"]

    assert await client.data() == value
    assert schema.get("items", schema)["required"] == ["lives"]


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Mode(enum.IntFlag):
    READ = 1
    WRITE = 2


@pytest.mark.parametrize("flags", [Access, Mode])
async def test_flags_may_be_put_together(server: Server, client: OneTool, flags: Any) -> None:
    both = flags.READ | flags.WRITE

    def same(v: Any) -> Any:
        assert v is both
        return v

    same.__annotations__.update({"v": flags, "return": flags})
    server.add_tool(same)
    tool = await client.tool()

    assert tool["inputSchema"]["properties"]["v"] == {"type": "integer"}
    assert tool["outputSchema"] == {"type": "integer"}
    assert await client.data(v=3) == 3


# 9. Defaults that cannot be told


@pytest.mark.parametrize("default", ["\ud800", math.inf, math.nan, [math.inf, 1.0]], ids=ascii)
async def test_a_default_that_cannot_be_told_does_not_break_the_list(
    server: Server, client: OneTool, default: Any
) -> None:
    annotation = (
        str if isinstance(default, str) else list[float] if isinstance(default, list) else float
    )
    server.add_tool(echoing(annotation, default=default))

    schema = (await client.tool())["inputSchema"]

    assert "default" not in schema["properties"]["v"]
    assert "required" not in schema


async def test_the_default_of_a_set_is_in_order(server: Server, client: OneTool) -> None:
    words = frozenset({"pear", "apple", "fig"})
    server.add_tool(echoing(frozenset[str], default=words))

    schema = (await client.tool())["inputSchema"]["properties"]["v"]

    assert schema["default"] == ["apple", "fig", "pear"]


# 10. Strict tools


class Inner(pydantic.BaseModel):
    n: int


@dataclasses.dataclass
class Circle:
    radius: int


@dataclasses.dataclass
class Box:
    width: int


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        (Inner, {"n": 1}, {"n": "1"}),
        (list[Inner], [{"n": 1}], [{"n": "1"}]),
        (Inner | None, {"n": 1}, {"n": "1"}),
        (Circle | Box, {"radius": 1}, {"radius": "1"}),
        (list[int] | dict[str, int] | Circle, [1], ["1"]),
    ],
    ids=str,
)
async def test_strictness_reaches_unions_and_models(
    server: Server, client: OneTool, annotation: Any, good: Any, bad: Any
) -> None:
    server.add_tool(echoing(annotation), strict=True)

    await client.text(v=good)

    assert "invalid arguments for echo:" in await client.failure(v=bad)


# 11. Content by annotation


async def test_an_empty_list_of_images_is_no_content(server: Server, client: OneTool) -> None:
    server.add_tool(returning(list[Image], []))

    result = await client.call()

    assert result["content"] == []
    assert "structuredContent" not in result
    assert "outputSchema" not in await client.tool()


async def test_a_list_of_text_or_images_is_content(server: Server, client: OneTool) -> None:
    server.add_tool(returning(list[str | Image], ["a"]))

    result = await client.call()

    assert result["content"] == [{"type": "text", "text": "a"}]
    assert "structuredContent" not in result


async def test_a_number_is_no_image(server: Server, client: OneTool) -> None:
    server.add_tool(returning(Image, 5))

    assert "annotated to return content, but returned int" in await client.failure()


async def test_an_image_is_an_image(server: Server, client: OneTool) -> None:
    server.add_tool(returning(Image | Embedded, Image(PNG)))

    assert (await client.call())["content"][0]["type"] == "image"


# 12. JSON in strings


@dataclasses.dataclass
class Order:
    items: list[int]
    to: Circle | None = None


@pytest.mark.parametrize(
    "given",
    [
        {"items": "[1,2]"},
        '{"items":[1,2]}',
        {"items": [1, 2], "to": '{"radius":1}'},
    ],
    ids=str,
)
async def test_json_in_a_string_is_read_one_level_down(
    server: Server, client: OneTool, given: Any
) -> None:
    @server.tool
    def take(order: Order) -> str:
        return f"{order.items}"

    assert await client.text(order=given) == "[1, 2]"


# 13. Generators


@pytest.mark.parametrize("value", [None, 5])
async def test_a_generator_may_return_none(
    server: Server, client: OneTool, value: int | None
) -> None:
    @server.tool
    def count() -> Generator[str, None, int | None]:
        yield "half way"
        return value

    assert await client.data() == value
    assert (await client.tool())["outputSchema"] == {"type": ["integer", "null"]}


# 14. Notes beside the result


async def test_a_described_str_is_text(server: Server, client: OneTool) -> None:
    server.add_tool(returning(Annotated[str, "d"], "a"))

    assert await client.text() == "a"
    assert "outputSchema" not in await client.tool()


# 15. Fields that are not for callers


@dataclasses.dataclass
class Account:
    name: str
    is_admin: bool = dataclasses.field(init=False, default=False)


@attrs.define
class AttrsAccount:
    name: str
    is_admin: bool = attrs.field(init=False, default=False)


@pytest.mark.parametrize("kind", [Account, AttrsAccount])
@pytest.mark.parametrize("wrap", [lambda kind: kind, lambda kind: list[kind]])
def test_a_class_with_a_field_that_is_not_for_callers_is_no_parameter(
    server: Server, kind: Any, wrap: Any
) -> None:
    with pytest.raises(TypeError, match=rf"parameter 'v': .*{kind.__name__}\.is_admin"):
        server.add_tool(echoing(wrap(kind)))


@pytest.mark.parametrize("kind", [Account, AttrsAccount])
async def test_a_class_with_a_field_that_is_not_for_callers_is_a_result(
    server: Server, client: OneTool, kind: Any
) -> None:
    server.add_tool(returning(kind, kind("a")))

    data = await client.data()

    assert data["name"] == "a"


# 16. Headers beside None


async def test_a_header_in_a_union_is_not_for_clients(server: Server, client: OneTool) -> None:
    @server.tool
    def whoami(tenant: Annotated[str, Header("X-Tenant")] | None = None) -> str:
        return repr(tenant)

    schema = (await client.tool())["inputSchema"]

    assert schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert await client.text() == "None"
    assert "tenant: unknown argument" in await client.failure(tenant="x")


# 17. Author's code that breaks while arguments are read


def breaks() -> Any:
    raise RuntimeError("broken")


def breaks_on(value: Any) -> Any:
    raise RuntimeError("broken")


@dataclasses.dataclass
class Fragile:
    n: int

    def __post_init__(self) -> None:
        raise RuntimeError("broken")


class FragileModel(pydantic.BaseModel):
    n: int

    @pydantic.field_validator("n")
    @classmethod
    def check(cls, n: int) -> int:
        raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (echoing(int, default=breaks), {}),
        (echoing(Annotated[int, pydantic.Field(default_factory=breaks)]), {}),
        (echoing(Annotated[int, pydantic.AfterValidator(breaks_on)]), {"v": 1}),
        (echoing(Fragile), {"v": {"n": 1}}),
        (echoing(list[Fragile] | None), {"v": [{"n": 1}]}),
        (echoing(Fragile | Circle), {"v": {"n": 1}}),
        (echoing(FragileModel), {"v": {"n": 1}}),
    ],
    ids=["default", "factory", "validator", "dataclass", "inside", "union", "model"],
)
async def test_what_breaks_while_arguments_are_read_is_a_failed_call(
    server: Server, client: OneTool, tool: Callable[..., Any], arguments: dict[str, Any]
) -> None:
    server.add_tool(tool)

    assert "tool 'echo' failed: RuntimeError" in await client.failure(**arguments)


# 18. Models of one name


def tree_of(kind: Any) -> Any:
    model: Any = pydantic.create_model("Tree", value=(kind, ...), children=(list["Tree"], ...))  # noqa: F821
    model.model_rebuild(_types_namespace={"Tree": model})
    return model


async def test_two_recursive_models_of_one_name_are_kept_apart(
    server: Server, client: OneTool
) -> None:
    def plant(one: Any, other: Any) -> str:
        return f"{one.value!r} {other.value!r}"

    plant.__annotations__.update(one=tree_of(int), other=tree_of(str))
    server.add_tool(plant)
    schema = (await client.tool())["inputSchema"]

    def value_of(name: str) -> Any:
        shared = schema["$defs"][schema["properties"][name]["$ref"].removeprefix("#/$defs/")]
        assert shared["properties"]["children"]["items"] == schema["properties"][name]
        return shared["properties"]["value"]["type"]

    assert [value_of("one"), value_of("other")] == ["integer", "string"]
    one, other = {"value": 1, "children": []}, {"value": "a", "children": []}
    assert await client.text(one=one, other=other) == "1 'a'"


@dataclasses.dataclass
class Truths:
    value: bool
    children: "list[Truths]"


Truths.__name__ = "Tree"


@pytest.mark.parametrize("model_first", [True, False])
async def test_a_recursive_model_and_a_dataclass_of_one_name_are_kept_apart(
    server: Server, client: OneTool, model_first: bool
) -> None:
    def plant(one: Any, other: Any) -> None: ...

    kinds = [tree_of(int), Truths] if model_first else [Truths, tree_of(int)]
    plant.__annotations__.update(one=kinds[0], other=kinds[1])
    server.add_tool(plant)
    schema = (await client.tool())["inputSchema"]

    values = [
        schema["$defs"][each["$ref"].removeprefix("#/$defs/")]["properties"]["value"]["type"]
        for each in schema["properties"].values()
    ]

    assert values == (["integer", "boolean"] if model_first else ["boolean", "integer"])


# 19. Output schemas that are wrapped


async def test_a_choice_of_object_and_null_agrees_with_its_data(
    server: Server, client: OneTool, older: OneTool
) -> None:
    schema = {"anyOf": [{"type": "object", "required": ["a"]}, {"type": "null"}]}

    @server.tool(output_schema=schema)
    def give() -> Result:
        return Result("a", structured={"a": 1})

    assert (await older.tool())["outputSchema"] == {
        "type": "object",
        "properties": {"result": schema},
        "required": ["result"],
    }
    assert await older.data() == {"result": {"a": 1}}
    assert (await client.tool())["outputSchema"] == schema
    assert await client.data() == {"a": 1}


async def test_a_reference_to_the_root_follows_the_root(
    server: Server, client: OneTool, older: OneTool
) -> None:
    schema = {"type": "array", "items": {"$ref": "#"}}

    @server.tool(output_schema=schema)
    def nest() -> list[Any]:
        return [[], [[]]]

    assert (await older.tool())["outputSchema"] == {
        "type": "object",
        "properties": {"result": {"type": "array", "items": {"$ref": "#/properties/result"}}},
        "required": ["result"],
    }
    assert await older.data() == {"result": [[], [[]]]}
    assert (await client.tool())["outputSchema"] == schema


@pytest.mark.parametrize(
    "result",
    [
        {"type": "array", "$defs": {"a": {"$anchor": "aa"}}, "items": {"$ref": "#aa"}},
        {"$id": "https://x.test/a", "type": "array", "items": {"$ref": "#"}},
        {"$defs": {"a": {"$id": "https://x.test/a", "items": {"$ref": "#/$defs/b"}}}},
        {"type": "array", "items": {"const": {"$ref": "#"}}},
        {"type": "array", "items": {"enum": [{"$ref": "#"}]}},
        {"type": "array", "default": [{"$ref": "#"}], "examples": [[{"$ref": "#"}]]},
    ],
)
async def test_what_does_not_refer_to_the_root_stays_as_it_is(
    server: Server, older: OneTool, result: dict[str, Any]
) -> None:
    server.tool(output_schema=result)(returning(list[Any], []))

    assert (await older.tool())["outputSchema"]["properties"]["result"] == result


@pytest.mark.parametrize("name", ["const", "enum", "default", "examples", "$id", "$ref"])
async def test_a_member_may_bear_the_name_of_a_keyword(
    server: Server, older: OneTool, name: str
) -> None:
    members = {name: {"$ref": "#/$defs/a"}}
    schema = {"$defs": {"a": True}, "type": "array", "items": {"properties": members}}

    server.tool(output_schema=schema)(returning(list[Any], []))

    result = (await older.tool())["outputSchema"]["properties"]["result"]
    assert result["items"]["properties"] == {name: {"$ref": "#/properties/result/$defs/a"}}


@dataclasses.dataclass
class Node:
    more: "list[Node]"


async def test_what_is_shared_moves_with_what_refers_to_it(server: Server, older: OneTool) -> None:
    server.add_tool(returning(list[Node], [Node([])]))

    result = (await older.tool())["outputSchema"]["properties"]["result"]

    assert result["items"] == {"$ref": "#/properties/result/$defs/Node"}
    assert result["$defs"]["Node"]["properties"]["more"]["items"] == result["items"]


async def test_a_recursive_root_says_what_it_is(server: Server, older: OneTool) -> None:
    server.add_tool(returning(Node, Node([Node([])])))

    schema = (await older.tool())["outputSchema"]

    assert schema["type"] == "object"
    assert schema["properties"]["more"]["items"] == {"$ref": "#/$defs/Node"}
    assert await older.data() == {"more": [{"more": []}]}


# 20. Progress and contexts


def plain_progress(ctx: Context) -> Generator[str, None, None]:
    ctx.sync.progress(5)
    yield "one"
    yield "two"
    ctx.sync.progress(1)
    yield "three"


async def async_progress(ctx: Context) -> AsyncGenerator[str, None]:
    await ctx.progress(5)
    yield "one"
    yield "two"
    await ctx.progress(1)
    yield "three"


@pytest.mark.parametrize("tool", [plain_progress, async_progress])
async def test_progress_only_increases(tool: Callable[..., Any]) -> None:
    server = Server("review", version="1")
    server.add_tool(tool, name="it")
    heard: list[float] = []

    async with Client(server, on_progress=lambda done, *_: heard.append(done)) as client:
        answer = await client.call("it")

    assert answer == "three"
    assert heard == [5]  # the rest was behind that


async def test_two_contexts_of_one_call_are_one(server: Server, client: OneTool) -> None:
    def depend(inner: Context) -> Context:
        return inner

    @server.tool
    def same(one: Context, other: Context, third: Context = Depends(depend)) -> bool:
        return one is other is third

    assert await client.data() is True


# 21. Input schemas of the author's


def takes_n(n) -> str:  # type: ignore[no-untyped-def]
    return repr(n)


def test_an_input_schema_without_a_required_parameter_is_refused(server: Server) -> None:
    with pytest.raises(TypeError, match="input_schema does not require n"):
        server.add_tool(takes_n, input_schema={"type": "object", "properties": {}})


def test_an_input_schema_with_a_property_too_many_is_refused(server: Server) -> None:
    schema: Any = {"type": "object", "properties": {"n": {}, "m": {}}, "required": ["n"]}

    with pytest.raises(TypeError, match="input_schema has m, for which"):
        server.add_tool(takes_n, input_schema=schema)


async def test_what_has_no_annotation_is_checked_as_it_came(
    server: Server, client: OneTool
) -> None:
    server.add_tool(
        takes_n,
        input_schema={
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
        },
    )

    assert await client.text(n=7) == "7"
    assert 'n: expected an integer, got "7"' in await client.failure(n="7")


# 22. Bounds


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 1.5},
        {"limit": "2"},
        {"limit": 0},
        {"timeout": "5"},
        {"timeout": math.inf},
        {"timeout": math.nan},
        {"cache": math.inf},
        {"cache": math.nan},
        {"cache": -5},
        {"cache": "5"},
    ],
    ids=str,
)
def test_a_bound_that_is_none_is_refused(server: Server, options: dict[str, Any]) -> None:
    [name] = options

    with pytest.raises(ValueError, match=f"^{name} must be a number of "):
        server.add_tool(takes_n, **options)


@pytest.mark.parametrize("cache", [math.inf, math.nan, -5])
def test_a_resource_cannot_be_kept_for_so_long(server: Server, cache: float) -> None:
    with pytest.raises(ValueError, match="cache"):
        server.add_resource(lambda: "a", "a://b", name="a", cache=cache)


# 23. Forms


class Waits:
    """Its instances are async functions; making one is not."""

    def __init__(self) -> None:
        self.word = "made"

    async def __call__(self, n: int = 1) -> str:
        return f"called {n}"


def test_the_form_is_that_of_the_call() -> None:
    assert call_style_of(Waits) == "plain"
    assert call_style_of(Waits()) == "async"
    assert call_style_of(functools.partial(Waits(), n=2)) == "async"
    assert call_style_of(functools.partial(Waits)) == "plain"


async def test_each_form_is_called_as_it_has_to_be(server: Server, client: OneTool) -> None:
    @server.tool
    def use(
        made: Waits = Depends(Waits),
        called: str = Depends(Waits()),
        bound: str = Depends(functools.partial(Waits(), n=2)),
    ) -> str:
        return f"{made.word}, {called}, {bound}"

    assert await client.text() == "made, called 1, called 2"


# 24. Defaults of dependencies


async def test_a_dependency_has_its_own_defaults(server: Server, client: OneTool) -> None:
    def depend(
        a: int = pydantic.Field(default=3),
        b: list[int] = msgspec.field(default_factory=list),
        c: list[int] = list,  # type: ignore[assignment]
        d: list[int] = dataclasses.field(default_factory=lambda: [4]),  # noqa: B008
    ) -> str:
        b.append(1)
        c.append(2)
        return f"{a} {b} {c} {d}"

    @server.tool
    def use(made: str = Depends(depend)) -> str:
        return made

    assert await client.text() == "3 [1] [2] [4]"
    assert await client.text() == "3 [1] [2] [4]"


# 25. Headers


class Opaque:
    """Nothing that a header could hold."""


@pytest.mark.parametrize("kind", [Opaque, complex, Callable[[], int]], ids=str)
def test_a_header_of_an_impossible_type_is_refused(server: Server, kind: Any) -> None:
    with pytest.raises(TypeError, match="parameter 'v': "):
        server.add_tool(echoing(Annotated[kind, Header("X-A")]))


# 26. Mistakes in parameters


class Calling(pydantic.BaseModel):
    function: Callable[[int], int]


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[int, annotated_types.Gt(0), annotated_types.Ge(1)],
        Annotated[str, annotated_types.Len(-1)],
        Calling,
        list[Calling],
    ],
    ids=["Gt and Ge", "Len", "model", "list of models"],
)
def test_a_mistake_in_a_type_names_the_parameter(server: Server, annotation: Any) -> None:
    with pytest.raises(TypeError, match=r"^tool 'echo': parameter 'v': "):
        server.add_tool(echoing(annotation))


async def test_a_pattern_of_rust_is_left_to_pydantic(server: Server, client: OneTool) -> None:
    server.add_tool(echoing(Annotated[str, pydantic.Field(pattern=r"^\p{L}+$")]))

    assert await client.text(v="é") == "'é'"
    assert "v: " in await client.failure(v="1")


async def test_notes_need_not_be_hashable(server: Server, client: OneTool) -> None:
    server.add_tool(echoing(Annotated[int, [1], annotated_types.Ge(1)]))

    assert await client.text(v=1) == "1"
    assert "v: must be at least 1, got 0" in await client.failure(v=0)


async def test_notes_need_not_be_hashable_inside(server: Server, client: OneTool) -> None:
    server.add_tool(echoing(list[Annotated[int, [1], annotated_types.Ge(1)]]))

    assert await client.text(v=[1]) == "[1]"
    assert "v[0]: must be at least 1, got 0" in await client.failure(v=[0])


@pytest.mark.parametrize(("tz", "good", "bad"), [(True, "Z", ""), (False, "", "Z")])
async def test_a_zone_is_enforced(
    server: Server, client: OneTool, tz: bool, good: str, bad: str
) -> None:
    server.add_tool(echoing(Annotated[datetime.datetime, msgspec.Meta(tz=tz)]))
    noon = "2026-01-31T12:00:00"

    assert "datetime.datetime(2026, 1, 31, 12, 0" in await client.text(v=noon + good)
    assert "v: expected datetime with " in await client.failure(v=noon + bad)


# 27. Fields of msgspec


async def test_a_field_without_default_is_required(server: Server, client: OneTool) -> None:
    server.add_tool(echoing(int, default=msgspec.field()))

    assert (await client.tool())["inputSchema"]["required"] == ["v"]
    assert await client.text(v=1) == "1"
    assert "v: missing" in await client.failure()


# 28. Contexts


class Special(Context):
    """What nobody would make."""


def test_a_subclass_of_context_is_no_context(server: Server) -> None:
    with pytest.raises(TypeError, match="parameter 'v': "):
        server.add_tool(echoing(Special))


# 29. Resources

GONE = NotFound("it is gone")


async def test_an_error_that_is_raised_twice_has_each_time_its_uri(
    server: Server, client: OneTool
) -> None:
    @server.resource("a://{name}")
    def read(name: str) -> str:
        raise GONE

    first = (await client.ask("resources/read", uri="a://one"))["error"]
    second = (await client.ask("resources/read", uri="a://two"))["error"]

    assert first["data"] == {"uri": "a://one"}
    assert second["data"] == {"uri": "a://two"}


# 30. Completion


async def test_truth_values_complete_as_json_writes_them(server: Server, client: OneTool) -> None:
    @server.prompt
    def write(loud: Literal[True, False]) -> Any:
        return user(f"{loud}")

    async def completed(value: str) -> Any:
        answer = await client.ask(
            "completion/complete",
            ref={"type": "ref/prompt", "name": "write"},
            argument={"name": "loud", "value": value},
        )
        return answer["result"]["completion"]["values"]

    assert await completed("") == ["true", "false"]
    assert await completed("f") == ["false"]


# 31. Functions that do not return


async def test_a_tool_may_never_return(server: Server, client: OneTool) -> None:
    @server.tool
    def refuse() -> NoReturn:
        raise ToolError("never")

    assert "outputSchema" not in await client.tool()
    assert await client.failure() == "never"


# 32. Dependencies that swallow


def swallows() -> Generator[int, None, None]:
    with contextlib.suppress(ToolError):
        yield 1


async def swallows_async() -> AsyncGenerator[int, None]:
    with contextlib.suppress(ToolError):
        yield 1


@pytest.mark.parametrize("dependency", [swallows, swallows_async])
@pytest.mark.parametrize("form", ["plain", "async"])
async def test_a_call_fails_whoever_catches_its_error(
    server: Server, client: OneTool, dependency: Callable[..., Any], form: str
) -> None:
    def plain(n: Annotated[int, Depends(dependency)]) -> str:
        raise ToolError("it failed")

    async def waits(n: Annotated[int, Depends(dependency)]) -> str:
        raise ToolError("it failed")

    server.add_tool(plain if form == "plain" else waits)

    assert await client.failure() == "it failed"


# What a newcomer has tried

GIF = bytes.fromhex("47494638396101000100800000ff0000ffffff2c00000000010001000002024401003b")


@pytest.mark.parametrize("annotation", [list, list[Any], list[object], Any])
async def test_a_list_of_anything_may_be_content(
    server: Server, client: OneTool, annotation: Any
) -> None:
    def shown() -> Any:
        return ["a", Image(GIF)]

    shown.__annotations__["return"] = annotation
    server.add_tool(shown)

    result = await client.call()

    assert [block["type"] for block in result["content"]] == ["text", "image"]


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("title", 5, "title must be a str, not 5"),
        ("description", 5, "description must be a str, not 5"),
        ("icons", "https://a.b/c.png", "icons must be a list of Icon"),
        ("tags", "danger", "tags must be a list of str, not 'danger'"),
        ("meta", "x", "meta must be a dict, not 'x'"),
        ("read_only", "yes", "read_only must be True or False, not 'yes'"),
        ("category", 5, "category must be a str, not 5"),
    ],
)
def test_an_option_that_no_client_could_read_is_refused(
    server: Server, option: str, value: Any, expected: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(expected)):
        server.add_tool(takes_n, **{option: value})


def test_options_of_resources_and_prompts_are_checked_too(server: Server) -> None:
    def note() -> str:
        return "x"

    with pytest.raises(TypeError, match=r"resource 'a://b': size must be a number of bytes"):
        server.resource("a://b", size="big")(note)  # type: ignore[typeddict-item]
    with pytest.raises(TypeError, match=r"prompt 'note': title must be a str, not 5"):
        server.prompt(title=5)(note)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("annotation", "default", "words"),
    [
        (int, "three", "its default 'three' does not fit its type: expected an integer"),
        (Literal["a"], "b", "its default 'b' does not fit its type"),
        (Annotated[int, msgspec.Meta(ge=1)], 0, "its default 0 does not fit its type"),
    ],
)
def test_a_default_that_does_not_fit_is_refused(
    server: Server, annotation: Any, default: Any, words: str
) -> None:
    def take(n: Any = default) -> str:
        return str(n)

    take.__annotations__["n"] = annotation

    with pytest.raises(TypeError, match=re.escape(words)):
        server.add_tool(take)


async def test_a_default_that_json_cannot_tell_is_the_authors_own(
    server: Server, client: OneTool
) -> None:
    nothing = object()

    @server.tool
    def take(n: int = nothing) -> bool:  # type: ignore[assignment]
        return n is nothing

    assert await client.data() is True


async def test_a_default_of_none_takes_null(server: Server, client: OneTool) -> None:
    @server.tool
    def take(
        n: int = None,  # type: ignore[assignment]  # noqa: RUF013
        m: Annotated[int, msgspec.Meta(ge=1)] = None,  # type: ignore[assignment]  # noqa: RUF013
    ) -> str:
        return f"{n} {m}"

    tool = await client.tool()

    assert tool["inputSchema"]["properties"] == {
        "n": {"type": "integer"},
        "m": {"type": "integer", "minimum": 1},
    }
    assert await client.text(n=None, m=2) == "None 2"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("returns", [Any, str, int])
async def test_a_plain_function_that_asks_as_a_coroutine_is_told_how(
    server: Server, client: OneTool, caplog: pytest.LogCaptureFixture, returns: Any
) -> None:
    def asks(ctx: Context) -> Any:
        return ctx.elicit("How many?", int)

    asks.__annotations__["return"] = returns
    server.add_tool(asks)

    await client.failure()
    assert "; await it, or write ctx.sync.elicit(…) in a plain def" in caplog.text


async def test_a_forgotten_await_is_named(
    server: Server, client: OneTool, caplog: pytest.LogCaptureFixture
) -> None:
    async def answer() -> int:
        return 1

    @server.tool
    async def forgets() -> Any:
        return answer()

    assert "TypeError" in await client.failure()
    assert "coroutine cannot be told in JSON; await it" in caplog.text


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Depends(takes_n(1)), "pass the function itself, and do not call it"),
    ],
)
def test_a_dependency_that_was_called_is_refused(make: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        make()


def test_a_dependency_instead_of_a_type_is_refused(server: Server) -> None:
    def take(x: Depends(takes_n)) -> str:  # type: ignore[valid-type]
        return str(x)

    with pytest.raises(TypeError, match=r"a dependency stands beside the type, as in x: Annotated"):
        server.add_tool(take)


async def test_a_context_manager_is_entered_and_left(server: Server, client: OneTool) -> None:
    told: list[str] = []

    @contextlib.contextmanager
    def opened() -> Iterator[int]:
        told.append("in")
        yield 3
        told.append("out")

    @server.tool
    def take(x: Annotated[int, Depends(opened)]) -> int:
        return x

    assert await client.data() == 3
    assert told == ["in", "out"]


async def test_types_of_pydantic_are_parameters_too(server: Server, client: OneTool) -> None:
    @server.tool
    def visit(url: pydantic.HttpUrl) -> str:
        return str(url.host)

    assert await client.text(url="https://example.org/a") == "example.org"
    assert "url: " in await client.failure(url="nonsense")


async def test_with_a_schema_by_hand_unknown_arguments_are_refused_too(
    server: Server, client: OneTool
) -> None:
    schema: Any = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    server.add_tool(takes_n, input_schema=schema)

    assert "zz: unknown argument" in await client.failure(n=1, zz=2)


async def test_a_resource_that_promises_text_is_held_to_it(server: Server, client: OneTool) -> None:
    @server.resource("a://b")
    def forgets() -> str:  # type: ignore[return]
        """Has no return."""

    answer = await client.ask("resources/read", uri="a://b")

    assert answer["error"]["code"] == -32603
