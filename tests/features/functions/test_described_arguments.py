"""How arguments are read and refused, from the call to the words."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pydantic
import pytest
from annotated_types import Ge
from msgspec import Raw
from tests.asking import OLD, ask

from toolhaft import Depends, Server, ToolError
from toolhaft.features.functions.signature import BadArguments, Signature


@dataclasses.dataclass
class Cat:
    lives: Annotated[int, Ge(1)] = 9


@dataclasses.dataclass
class Circle:
    radius: float


@dataclasses.dataclass
class Box:
    width: float
    height: float


class Guest(pydantic.BaseModel):
    name: str

    @pydantic.field_validator("name")
    @classmethod
    def known(cls, name: str) -> str:
        if name == "nobody":
            raise ValueError("nobody is not invited")
        return name


class Caller:
    """Calls tools of a server."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return await ask(self._server, method, revision=OLD, **params)

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        params = {"name": name, "arguments": arguments}
        return dict((await self.ask("tools/call", params))["result"])

    async def problems(self, name: str, /, **arguments: Any) -> list[str]:
        result = await self.call(name, **arguments)
        assert result["isError"] is True
        first, *lines = result["content"][0]["text"].splitlines()
        assert first == f"invalid arguments for {name}:"
        return lines


@pytest.fixture
def server() -> Server:
    return Server("test", version="1")


@pytest.fixture
def client(server: Server) -> Caller:
    return Caller(server)


async def test_null_is_taken_for_a_default_of_none_beside_a_foreign_constraint(
    server: Server, client: Caller
) -> None:
    @server.tool
    def take(cat: Cat, note: str | None = None, numbers: set[int] | None = None) -> list[int]:
        return sorted(numbers or [])

    result = await client.call("take", cat={}, note=None, numbers=[2, 1, 2])

    assert result["structuredContent"] == {"result": [1, 2]}
    assert await client.problems("take", cat={"lives": 0}, note=None) == [
        "cat.lives: must be at least 1, got 0"
    ]


async def test_what_is_handed_on_as_it_came_must_be_what_the_schema_says(
    server: Server, client: Caller
) -> None:
    @server.tool(
        input_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    )
    def take(**arguments: Any) -> str:
        return repr(arguments)

    assert (await client.call("take", n=3))["content"][0]["text"] == "{'n': 3}"
    assert await client.problems("take", n="3") == ['n: expected an integer, got "3"']


async def test_the_nearest_of_several_forms_is_explained(server: Server, client: Caller) -> None:
    @server.tool
    def draw(shape: Circle | Box) -> str:
        return type(shape).__name__

    assert await client.problems("draw", shape={"width": 1}) == ["shape.height: missing"]
    assert (await client.call("draw", shape={"radius": 1}))["content"][0]["text"] == "Circle"


async def test_what_only_a_model_refuses_is_told_beside_the_rest(
    server: Server, client: Caller
) -> None:
    @server.tool
    def invite(guest: Guest, seats: int) -> str:
        return guest.name

    assert await client.problems("invite", guest={"name": "nobody"}, seats="two") == [
        'seats: expected an integer, got "two"',
        "guest.name: Value error, nobody is not invited",
    ]


async def test_words_for_what_the_schema_would_allow(server: Server, client: Caller) -> None:
    @server.tool(strict=True)
    def count(n: int) -> int:
        return n

    assert await client.problems("count", n=1.0) == ["n: expected an integer, got a number"]


def test_a_default_that_is_a_path_is_shown() -> None:
    def read(path: Path = Path("a/b")) -> str:
        return str(path)

    assert Signature(read, "tool").schema["properties"]["path"]["default"] == "a/b"


def test_a_function_is_no_parameter(server: Server) -> None:
    def apply(function: Callable[[int], int]) -> int:
        return function(1)

    with pytest.raises(TypeError, match=r"parameter 'function': .*Callable.* cannot be described"):
        server.add_tool(apply)


async def test_a_class_makes_what_is_depended_on(server: Server, client: Caller) -> None:
    class Bare:
        text = "bare"

    class Child(Bare):
        pass

    @dataclasses.dataclass
    class Made:
        n: int

    @server.tool
    def use(
        n: int,
        bare: Bare = Depends(Bare),
        child: Bare = Depends(Child),
        made: Made = Depends(Made),
    ) -> str:
        return f"{bare.text} {child.text} {made.n}"

    assert (await client.call("use", n=3))["content"][0]["text"] == "bare bare 3"


async def test_an_error_without_words_has_those_of_its_value(
    server: Server, client: Caller
) -> None:
    @server.tool
    def fail() -> str:
        raise ToolError(5)  # type: ignore[arg-type]

    assert await client.call("fail") == {
        "content": [{"type": "text", "text": "5"}],
        "isError": True,
    }


@pytest.mark.parametrize("name", ["..%2Fx", "%2e%2e", "..", "%2Fetc", "a%5C..%5Cb"])
async def test_raw_variables_do_not_climb_either(server: Server, client: Caller, name: str) -> None:
    @server.resource("raw://{name}", raw=True)
    def read(name: str) -> str:
        return name

    answer = await client.ask("resources/read", {"uri": f"raw://{name}"})
    harmless = await client.ask("resources/read", {"uri": "raw://a%20b"})

    assert answer["error"]["code"] == -32002
    assert harmless["result"]["contents"][0]["text"] == "a%20b"


async def test_a_schema_without_properties_leaves_the_words_to_the_type(
    server: Server, client: Caller
) -> None:
    @server.tool(input_schema={"type": "object"})
    def take(n: int = 1) -> int:
        return n

    assert await client.problems("take", n="x") == ["n: expected an integer, got a string"]


def test_a_key_that_does_not_fit_is_told_from_its_value() -> None:
    def tool(prices: dict[int, float], inside: list[dict[int, int]]) -> None: ...

    signature = Signature(tool, "tool 'tool'")

    with pytest.raises(BadArguments) as refused:
        signature.bind(Raw(b'{"prices": {"one": 1}, "inside": [{"1": 1}, {"x": 1}]}'))
    assert refused.value.problems == [
        "prices: a key: expected an integer, got a string",
        "inside[1]: a key: expected an integer, got a string",
    ]
