"""What authors return or name at other places than in a tool: checked before a client sees it."""

from typing import Annotated, Any

import msgspec
import pydantic
import pytest

from toolhaft import Complete, Context, Server, Text
from toolhaft.protocol.elicitation.questions import declares
from toolhaft.testing import Client
from toolhaft.types.content import TextContent
from toolhaft.types.prompts import GetPromptResult
from toolhaft.types.tools import CallToolResult

REVISIONS = ["2026-07-28", "2025-11-25", "2024-11-05"]
HALF = "half \ud800 pair"


def returning(value: Any) -> Server:
    async def answers(exchange: Any, call: Any) -> Any:
        return value if exchange.method == "tools/call" else await call(exchange)

    async def outer(exchange: Any, call: Any) -> Any:
        return await call(exchange)

    server = Server("s", errors="show", middleware=[outer, answers])
    server.tool(name="tool")(lambda: "own")
    return server


async def told(server: Server, revision: str) -> Any:
    async with Client(server, revision) as client:
        message = client.requests.request("tools/call", {"name": "tool", "arguments": {}})
        answer = await client.raw(message)
        await client.list_tools()
    return answer


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    "value",
    [
        "text",
        None,
        5,
        ["a"],
        {"content": []},
        b"text",
        b'"text"',
        b"{text}",
        b"\xff",
        GetPromptResult(messages=[]),
    ],
    ids=repr,
)
async def test_a_middleware_that_returns_no_result_fails_the_call(
    value: Any, revision: str
) -> None:
    answer = await told(returning(value), revision)

    assert answer["error"]["code"] == -32603
    kind = type(value).__name__
    assert f"a middleware returned {kind} for tools/call" in answer["error"]["message"]
    assert "or a CallToolResult of your own" in answer["error"]["message"]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    "value",
    [
        CallToolResult(content=[TextContent("x")]),
        b'{"content": [{"type": "text", "text": "x"}]}',
    ],
)
async def test_a_middleware_may_answer_for_itself(value: Any, revision: str) -> None:
    answer = await told(returning(value), revision)

    assert answer["result"]["content"] == [{"type": "text", "text": "x"}]


class Half(msgspec.Struct):
    name: str


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (str, HALF),
        (Any, {"a": [HALF], HALF: 1}),
        (Half, Half(HALF)),
        (dict[str, str], {"a": HALF}),
        (Any, Text(HALF)),
        (Any, CallToolResult(content=[TextContent(HALF)], meta={"a/b": HALF})),
        (Any, CallToolResult(content=[], structured_content={"a": HALF})),
    ],
    ids=ascii,
)
async def test_half_of_a_surrogate_pair_in_a_result_is_replaced(
    annotation: Any, value: Any, revision: str
) -> None:
    server = Server("s")

    def tool() -> Any:
        return value

    tool.__annotations__["return"] = annotation
    server.tool(tool)
    answer = await told(server, revision)

    assert "isError" not in answer["result"]
    if revision != "2024-11-05" or "structured" not in ascii(value):
        assert "half \ufffd pair" in msgspec.json.encode(answer).decode()


async def test_half_of_a_surrogate_pair_is_replaced_wherever_authors_write() -> None:
    server = Server("s")

    @server.resource("x://text")
    def resource() -> str:
        return HALF

    @server.resource("x://data")
    def data() -> dict[str, str]:
        return {"a": HALF}

    @server.prompt
    def prompt() -> str:
        return HALF

    @server.tool
    async def tool(ctx: Context) -> str:
        await ctx.log("info", {"a": HALF})
        return str(await ctx.elicit(HALF, str))

    async with Client(server, "2025-11-25", answers={"half \ufffd pair": "x"}) as client:
        assert await client.read("x://text") == "half \ufffd pair"
        assert await client.read("x://data") == '{"a":"half \ufffd pair"}'
        [message] = (await client.prompt("prompt")).messages
        assert message.content == TextContent("half \ufffd pair")
        assert "Accepted" in str(await client.call("tool"))


def three(value: str, given: Any, more: Any) -> list[str]:
    return []


def none() -> list[str]:
    return []


def keyword(value: str, *, given: Any) -> list[str]:
    return []


@pytest.mark.parametrize("function", [three, none, keyword])
def test_a_completer_that_cannot_be_called_is_refused(function: Any) -> None:
    with pytest.raises(TypeError, match=rf"Complete: {function.__name__} must take \(value\), or"):
        Complete(function)


def test_a_completer_may_have_parameters_with_defaults() -> None:
    def extra(value: str, given: Any, more: int = 1) -> list[str]:
        return [value, str(given), str(more)]

    def alone(value: str, *, limit: int = 1) -> list[str]:
        return [value]

    assert Complete(extra).call("a", {}, None)() == ["a", "{}", "1"]
    assert Complete(alone).call("a", {}, None)() == ["a"]


def by_note(a: Annotated[int, pydantic.Field(alias="b")]) -> int:
    return a


def by_default(a: int = pydantic.Field(1, alias="b")) -> int:
    return a


def by_validation_alias(a: Annotated[int, pydantic.Field(validation_alias="b")] = 1) -> int:
    return a


def by_name(a: int = msgspec.field(default=1, name="b")) -> int:
    return a


@pytest.mark.parametrize("function", [by_note, by_default, by_validation_alias, by_name])
def test_an_alias_of_a_parameter_is_refused(function: Any) -> None:
    with pytest.raises(
        TypeError, match=r"parameter 'a' has the alias 'b'.* name the parameter 'b'"
    ):
        Server("s").tool(function)


def test_a_field_without_an_alias_is_accepted() -> None:
    def tool(a: Annotated[int, pydantic.Field(ge=1)] = msgspec.field(default=2)) -> int:
        return a

    Server("s").tool(tool)


@pytest.mark.parametrize(
    ("path", "declared"),
    [
        ("extensions.io.modelcontextprotocol/ui", True),
        ("extensions.io.modelcontextprotocol/ui.mimeTypes", True),
        ("extensions.io.modelcontextprotocol/ui.other", False),
        ("extensions.io.modelcontextprotocol", False),
        ("extensions.other", False),
        ("extensions", True),
        ("experimental.com.example/a.b", True),
    ],
)
def test_an_extension_is_found_by_its_name_which_has_dots(path: str, declared: bool) -> None:
    capabilities = {
        "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}},
        "experimental": {"com.example/a": {"b": {}}},
    }

    assert declares(capabilities, path) is declared
