"""What the thirty tools cost a model to read, beside what `mcp` makes of the same functions."""

import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.server import MCPServer
from tests.realworld.tools import TOOLS

from toolhaft.testing import SyncClient

ROOT = Path(__file__).parents[2]

Entry = dict[str, Any]

every_revision = pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])


@cache
def ours(revision: str) -> list[Entry]:
    """`tools/list` as it goes over the wire."""
    command = "toolhaft run tests/realworld/server.py"
    with SyncClient.stdio(command, cwd=ROOT, revision=revision, timeout=40) as client:
        return list(client.request("tools/list")["tools"])


async def theirs() -> list[Entry]:
    """The same of `mcp`."""
    server = MCPServer("realworld")
    for tool in TOOLS:
        server.add_tool(tool)
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]


def size(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def sizes(entries: list[Entry]) -> dict[str, int]:
    """Bytes of compact JSON, part by part."""
    inputs = sum(size(entry["inputSchema"]) for entry in entries)
    outputs = sum(size(entry["outputSchema"]) for entry in entries if "outputSchema" in entry)
    prose = sum(
        len(',"description":') + size(node["description"])
        for entry in entries
        for key in ("inputSchema", "outputSchema")
        for node in schemas(entry.get(key, {}))
        if "description" in node
    )
    return {
        "input schemas": inputs,
        "output schemas": outputs,
        "schemas": inputs + outputs,
        "schemas without prose": inputs + outputs - prose,
        "descriptions of tools": sum(size(entry["description"]) for entry in entries),
        "whole entries": sum(map(size, entries)),
    }


def schemas(schema: Any) -> Iterator[Entry]:
    """A schema and all that are inside of it; the names of properties are no keywords."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key in ("properties", "$defs"):
        for inner in schema.get(key, {}).values():
            yield from schemas(inner)
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for inner in schema.get(key, []):
            yield from schemas(inner)
    for key in ("items", "additionalProperties"):
        yield from schemas(schema.get(key))


def published(entries: list[Entry]) -> list[tuple[str, Entry]]:
    """Every schema of the list, with the name of its tool."""
    return [
        (entry["name"], entry[key])
        for entry in entries
        for key in ("inputSchema", "outputSchema")
        if key in entry
    ]


@every_revision
async def test_the_tools_take_fewer_bytes_than_those_of_mcp(revision: str) -> None:
    entries, others = ours(revision), await theirs()

    own, other = sizes(entries), sizes(others)
    rows = [f"{revision:22} {'ours':>7} {'mcp':>7}"]
    rows += [
        f"{part:22} {own[part]:7} {other[part]:7} {own[part] / other[part]:7.1%}" for part in own
    ]
    table = "\n".join(rows)
    sys.stdout.write(f"\n{table}\n")  # shown by `pytest -s`
    assert [entry["name"] for entry in entries] == [entry["name"] for entry in others]
    assert len(entries) == 30
    # Names, types, bounds and choices alone, which have to be there, are 56 % of what mcp sends;
    # what parameters are for is in our schemas, and in mcp's description of the tool.
    assert own["schemas without prose"] <= other["schemas"] * 2 / 3, f"\n{table}"
    assert own["schemas"] <= other["schemas"] * 9 / 10, f"\n{table}"
    assert own["whole entries"] <= other["whole entries"] * 3 / 4, f"\n{table}"


@every_revision
def test_every_schema_is_valid(revision: str) -> None:
    found = published(ours(revision))

    for _, schema in found:
        Draft202012Validator.check_schema(schema)
    assert len(found) == 57  # three tools answer with text


def test_up_to_2025_every_root_is_an_object() -> None:
    roots = {schema["type"] for _, schema in published(ours("2025-11-25"))}

    assert roots == {"object"}


@every_revision
def test_no_schema_has_a_title(revision: str) -> None:
    titled = [
        name
        for name, schema in published(ours(revision))
        for node in schemas(schema)
        if "title" in node
    ]

    assert titled == []


@every_revision
def test_only_a_type_that_contains_itself_is_shared(revision: str) -> None:
    shared = {
        name: list(node["$defs"])
        for name, schema in published(ours(revision))
        for node in schemas(schema)
        if "$defs" in node
    }

    assert shared == {"append_blocks": ["Block"]}


def test_every_parameter_is_described_in_the_words_of_the_docstring() -> None:
    entries = {entry["name"]: entry for entry in ours("2026-07-28")}

    bare = [
        f"{name}.{parameter}"
        for name, entry in entries.items()
        for parameter, schema in entry["inputSchema"]["properties"].items()
        if not schema.get("description")
    ]
    fetch = entries["fetch"]
    assert bare == []
    assert fetch["inputSchema"]["properties"]["start_index"]["description"] == (
        "Where to begin, if an earlier answer was cut off."
    )
    assert fetch["description"] == "Fetch a page from the internet and return it as Markdown."


def test_bounds_are_published() -> None:
    entries = {entry["name"]: entry["inputSchema"]["properties"] for entry in ours("2026-07-28")}
    keywords = {
        ("fetch", "max_length"): {"exclusiveMinimum": 0, "exclusiveMaximum": 1000000},
        ("web_search", "count"): {"minimum": 1, "maximum": 20},
        ("web_search", "country"): {"minLength": 2, "maxLength": 2},
        ("send_email", "to"): {"minItems": 1},
        ("generate_image", "width"): {"minimum": 64, "maximum": 2048, "multipleOf": 64},
    }

    found = {
        (tool, parameter): {
            key: value
            for key, value in entries[tool][parameter].items()
            if key not in ("type", "items", "default", "description")
        }
        for tool, parameter in keywords
    }

    assert found == keywords
