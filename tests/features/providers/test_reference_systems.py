"""The rows of the three reference systems about tools, resources and prompts: each has a test that
names it, or a line on a page that says where we differ."""

import ast
import re
from pathlib import Path
from typing import Annotated, Any

import pytest
from annotated_types import Ge
from tests.asking import outcome as ask

from toolhaft import Contents, Context, Header, ResourceError, Server

ROOT = Path(__file__).parents[3]
ROWS = [
    *(f"L-{number}" for number in (*range(15, 34), *range(42, 52), 57)),
    *(f"E-{number}" for number in range(14, 51)),
    *(f"B-{number}" for number in (*range(7, 20), 45)),
]
_ROW = re.compile(r"\b[LEB]-\d+\b")
_DIFFERENCE = re.compile(r"^\| ((?:[LEB]-\d+(?:, )?)+) \|", re.MULTILINE)
Json = dict[str, Any]


def named_in_tests(text: str) -> set[str]:
    """The rows that docstrings of tests name; of nothing else, for nothing else can fail."""
    return {
        row
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        for row in _ROW.findall(ast.get_docstring(node) or "")
    }


def told_on_the_page(page: str) -> set[str]:
    """The rows of the table that says where we differ."""
    return {row for rows in _DIFFERENCE.findall(page) for row in _ROW.findall(rows)}


def test_each_row_has_a_test_or_a_line_on_the_page() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    page = (ROOT / "docs/reference-systems.md").read_text(encoding="utf-8")
    covered = told_on_the_page(page).union(*map(named_in_tests, texts))

    assert [row for row in ROWS if row not in covered] == []


def test_a_row_that_is_only_mentioned_is_not_covered() -> None:
    text = '''
"""L-15."""
def helper() -> None:
    """L-16."""
class Kind:
    """L-17."""
    async def test_it(self) -> None:
        """L-18, E-20: so it is."""
        assert "L-19"  # L-21
'''
    page = "L-15 | L-16\n| L-22, B-7 | there | here, see L-23 |\n"

    assert named_in_tests(text) == {"L-18", "E-20"}
    assert told_on_the_page(page) == {"L-22", "B-7"}


async def listed(server: Server) -> Json:
    [tool] = (await ask(server, "tools/list"))["tools"]
    found: Json = tool
    return found


async def read(server: Server, uri: str) -> Json:
    found = await ask(server, "resources/read", uri=uri)
    contents: Json = found["contents"][0] if "contents" in found else found
    return contents


def serving(uri: str, function: Any, **options: Any) -> Server:
    server = Server("s", version="1")
    server.add_resource(function, uri, name="it", **options)
    return server


# Tools


async def test_a_title_is_sent_in_the_place_that_a_revision_has_for_it() -> None:
    """L-18: only if it is given; up to 2025-03-26 among the hints."""
    server = Server("s", version="1")
    server.add_tool(lambda: "", name="x", title="The X")
    older = await ask(server, "tools/list", revision="2025-03-26")

    assert (await listed(server))["title"] == "The X"
    assert older["tools"][0]["annotations"] == {"title": "The X"}


async def test_parameters_are_inputs_and_the_return_annotation_is_the_output() -> None:
    """L-19, L-20, L-21, E-18: names and types from the signature, defaults are optional."""

    def search(words: list[str], limit: int = 3, exact: bool = False) -> dict[str, float]:
        return {}

    server = Server("s", version="1")
    server.add_tool(search)
    tool = await listed(server)

    assert tool["inputSchema"] == {
        "type": "object",
        "properties": {
            "words": {"type": "array", "items": {"type": "string"}},
            "limit": {"type": "integer", "default": 3},
            "exact": {"type": "boolean", "default": False},
        },
        "required": ["words"],
        "additionalProperties": False,
    }
    assert tool["outputSchema"] == {"type": "object", "additionalProperties": {"type": "number"}}


def _positional_only(x: int, /) -> None: ...


def _rest(*names: str) -> None: ...


@pytest.mark.parametrize("function", [_positional_only, _rest])
def test_what_has_no_name_cannot_be_an_argument(function: Any) -> None:
    """L-19, E-18: refused at registration."""
    with pytest.raises(TypeError, match=r"x|names"):
        Server("s").add_tool(function)


async def test_a_block_of_parameters_in_a_docstring_describes_them() -> None:
    """E-19: `MCP Parameters:` is one of the styles."""

    def find(pattern: str, folder: str = "") -> str:
        """Find something.

        MCP Parameters:
          pattern - what to look for,
              in words
          folder - where
        """
        return pattern + folder

    server = Server("s", version="1")
    server.add_tool(find)
    tool = await listed(server)

    assert tool["description"] == "Find something."
    assert {
        name: each["description"] for name, each in tool["inputSchema"]["properties"].items()
    } == {
        "pattern": "what to look for, in words",
        "folder": "where",
    }


def test_a_docstring_that_describes_nobody_is_refused() -> None:
    """E-20: an unknown name is a mistake; nothing at all is none."""

    def find(pattern: str) -> str:
        """Find.

        MCP Parameters:
          patern - what to look for
        """
        return pattern

    with pytest.raises(TypeError, match="patern"):
        Server("s").add_tool(find)
    Server("s").add_tool(lambda pattern: pattern, name="find")


async def test_hints_have_three_values() -> None:
    """E-21: what is not given is not sent, and False is."""
    server = Server("s", version="1")
    server.add_tool(lambda: "", name="x", read_only=False, idempotent=True)

    assert (await listed(server))["annotations"] == {"readOnlyHint": False, "idempotentHint": True}


async def test_any_error_of_a_tool_is_an_answer() -> None:
    """E-26, E-27: by itself, without a wrapper around the body."""
    server = Server("s", version="1", errors="show")
    server.add_tool(lambda: 1 / 0, name="divide")
    called = await ask(server, "tools/call", name="divide", arguments={})

    assert called["isError"] is True
    assert called["content"][0]["text"].endswith("ZeroDivisionError: division by zero")


async def test_a_tool_without_words_has_no_description() -> None:
    """B-8: a decorator, else the docstring, else nothing; never the name."""

    def documented() -> None:
        """By the docstring."""

    server, described = Server("s", version="1"), Server("s", version="1")
    server.add_tool(lambda: "", name="x")
    described.add_tool(documented, description="By the option.")

    assert "description" not in await listed(server)
    assert (await listed(described))["description"] == "By the option."


async def test_constraints_are_published_and_checked() -> None:
    """B-9: what Ballerina strips, we keep."""

    def wait(seconds: Annotated[int, Ge(0)]) -> str:
        return "done"

    server = Server("s", version="1")
    server.add_tool(wait)
    wrong = await ask(server, "tools/call", name="wait", arguments={"seconds": -1})

    assert (await listed(server))["inputSchema"]["properties"]["seconds"]["minimum"] == 0
    assert wrong["isError"] is True


async def test_a_context_stands_anywhere_and_headers_fill_parameters() -> None:
    """B-10, B-14: by annotation, at any place, and in no schema."""

    def tell(text: str, ctx: Context, tenant: Annotated[str, Header("X-Tenant")] = "none") -> str:
        return f"{text} {ctx.client.revision} {tenant}"

    server = Server("s", version="1")
    server.add_tool(tell)
    called = await ask(server, "tools/call", name="tell", arguments={"text": "a"})

    assert list((await listed(server))["inputSchema"]["properties"]) == ["text"]
    assert called["content"][0]["text"] == "a 2026-07-28 none"


# Resources


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("no-scheme", "a URI begins with a scheme"),
        ("://x", "a URI begins with a scheme"),
        ("org://{a", "org"),
        ("org://a}", "org"),
        ("org://{a b}", "org"),
        ("org://{a}{b}", "org"),
        ("org://{a}/{a}", "org"),
    ],
)
def test_a_uri_that_is_none_is_refused_at_registration(uri: str, words: str) -> None:
    """E-31, E-36: braces, names, and variables that stand beside each other or twice."""
    with pytest.raises((TypeError, ValueError), match=words):
        serving(uri, lambda a="", b="": "")


async def test_a_direct_uri_comes_before_a_template() -> None:
    """E-33, E-40: then templates in the order of their registration."""
    server = serving("org://{name}", lambda name: "first template")
    server.add_resource(lambda other: "second template", "org://{other}", name="second")
    server.add_resource(lambda: "direct", "org://todo", name="direct")

    assert (await read(server, "org://todo"))["text"] == "direct"
    assert (await read(server, "org://x"))["text"] == "first template"


async def test_the_case_of_a_scheme_does_not_matter_and_the_answer_keeps_it() -> None:
    """E-34: of a direct URI neither; upstream compares those exactly."""
    server = serving("org://{name}", lambda name: name)
    server.add_resource(lambda: "direct", "org://Todo", name="direct")
    found = await read(server, "ORG://x")

    assert (found["uri"], found["text"]) == ("ORG://x", "x")
    assert (await read(server, "Org://Todo"))["text"] == "direct"
    assert (await read(server, "org://TODO"))["text"] == "TODO"


@pytest.mark.parametrize(
    ("template", "uri", "value"),
    [
        ("org://{name}.txt", "org://file.config.txt", "file.config"),
        ("org://{name}.txt", "org://a.txt.txt", "a.txt"),
        ("org://{name}", "org://", ""),
        ("org://x/{name}/y", "org://x//y", ""),
        ("org://{name}", "org://a/b", None),
        ("org://{+name}", "org://a/b?c#d", "a/b?c#d"),
        ("org://{name}", "org://a%20b", "a b"),
    ],
)
async def test_what_a_variable_takes(template: str, uri: str, value: str | None) -> None:
    """E-35, E-37, E-38, E-39: no slashes unless it says so, empty values, percent-decoded."""
    found = await read(serving(template, lambda name: f"[{name}]"), uri)

    assert found.get("text") == (None if value is None else f"[{value}]")


async def test_a_variable_can_be_had_as_it_was_sent() -> None:
    """E-39: raw=True."""
    server = serving("org://{name}", lambda name: name, raw=True)

    assert (await read(server, "org://a%20b"))["text"] == "a%20b"


async def test_direct_resources_and_templates_are_two_lists() -> None:
    """E-41: and the type of a text is text/plain unless something else is said."""
    server = serving("org://{name}", lambda name: name)
    server.add_resource(lambda: "direct", "org://todo", name="direct")
    direct = (await ask(server, "resources/list"))["resources"]
    templates = (await ask(server, "resources/templates/list"))["resourceTemplates"]

    assert direct == [{"uri": "org://todo", "name": "direct"}]
    assert templates == [{"uriTemplate": "org://{name}", "name": "it"}]
    assert (await read(server, "org://todo"))["mimeType"] == "text/plain"


async def test_what_is_read_is_text_bytes_data_or_several_of_them() -> None:
    """E-42: nothing is sent that the schema of the protocol forbids."""
    values = {"text": "a", "bytes": b"\0", "data": {"n": 42}, "none": None}
    server = serving("is://{name}", lambda name: values[name])
    server.add_resource(lambda: [Contents("a"), Contents(b"b")], "is://all", name="all")
    several = (await ask(server, "resources/read", uri="is://all"))["contents"]

    assert (await read(server, "is://text"))["text"] == "a"
    assert (await read(server, "is://bytes"))["blob"] == "AA=="
    assert (await read(server, "is://data"))["text"] == '{"n":42}'
    assert (await read(server, "is://none"))["text"] == ""
    assert [sorted(each) for each in several] == [
        ["mimeType", "text", "uri"],
        ["blob", "mimeType", "uri"],
    ]


async def test_a_resource_may_fail_with_a_code_of_its_own() -> None:
    """E-44: that code, and exactly that message."""

    def locked() -> str:
        raise ResourceError(2001, "locked by Ada")

    assert await read(serving("org://todo", locked), "org://todo") == {
        "code": 2001,
        "message": "locked by Ada",
    }
