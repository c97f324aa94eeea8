"""Schemas that clients choke on, and schemas that nothing can fit."""

from typing import Any

import pytest
from tests.cli.checking.listings import found, listing, taking, tool

Json = dict[str, Any]


OBJECT: Json = {"type": "object", "properties": {}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "level", "rule"),
    [
        ({"type": "array"}, "error", "schema-no-items"),
        ({}, "warning", "schema-no-type"),
        ({"type": ["string", "null"]}, "warning", "schema-types"),
        ({"enum": ["a", "b"]}, "warning", "schema-enum"),
        ({"type": "integer", "enum": [1, 2]}, "warning", "schema-enum"),
        ({"type": "string", "format": "uri"}, "note", "schema-format"),
        ({"type": "integer", "exclusiveMinimum": 0}, "note", "schema-keywords"),
    ],
    ids=["items", "type", "types", "enum", "numbers", "format", "keywords"],
)
def test_schemas_that_clients_choke_on(schema: Json, level: str, rule: str) -> None:
    assert found(tools=[taking(schema)]) == [(level, rule, "tool find, parameter a")]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": "string", "enum": ["a"]},
        {"type": "string", "format": "date-time"},
        {"type": "object", "additionalProperties": {"type": "integer"}},
    ],
    ids=["items", "union", "enum", "format", "mapping"],
)
def test_schemas_that_all_clients_read(schema: Json) -> None:
    assert found(tools=[taking(schema)]) == []


def test_what_is_deep_inside_is_found() -> None:
    member = {**OBJECT, "properties": {"b": {"type": "array"}}, "required": ["b"]}
    deep = {"type": "array", "items": member}

    assert found(tools=[taking(deep)]) == [
        ("error", "schema-no-items", "tool find, parameter a[].b")
    ]


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_a_choice_at_the_root(keyword: str) -> None:
    schema = {**OBJECT, keyword: [{"required": ["a"]}, {"required": ["b"]}]}
    schema["properties"] = {name: {"type": "string", "description": name} for name in "ab"}

    assert ("error", "schema-root", "tool find") in found(tools=[tool(inputSchema=schema)])


def test_roots_that_are_no_objects_or_have_no_properties() -> None:
    assert ("error", "schema-no-object", "tool find") in found(tools=[tool(inputSchema={})])
    assert found(tools=[tool(inputSchema={"type": "object"})]) == [
        ("note", "schema-no-properties", "tool find")
    ]


def test_references_and_schemas_that_contain_themselves() -> None:
    node: Json = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    member = {"$ref": "#/$defs/node", "description": "words"}
    recursive = {**OBJECT, "properties": {"a": member}, "required": ["a"], "$defs": {"node": node}}
    plain = {**recursive, "$defs": {"node": {"type": "string"}}}

    said = found(tools=[tool(inputSchema=recursive, outputSchema=recursive)])
    assert [each for each in said if each[1].startswith("schema")] == [
        ("warning", "schema-recursive", "tool find"),
        ("warning", "schema-recursive-result", "tool find"),
    ]
    assert ("warning", "schema-reference", "tool find") in found(tools=[tool(inputSchema=plain)])


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "minimum": 5, "maximum": 4},
        {"type": "integer", "exclusiveMinimum": 4, "exclusiveMaximum": 5},
        {"type": "string", "minLength": 5, "maxLength": 4},
        {"type": "array", "items": False, "minItems": 1},
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        {"type": "object", "required": ["a"], "additionalProperties": False},
    ],
    ids=["range", "integers", "length", "items", "types", "members"],
)
def test_schemas_that_nothing_fits(schema: Json) -> None:
    result = tool(outputSchema={"type": "object", "properties": {"x": schema}})

    said = found(tools=[result])

    assert ("error", "schema-empty", "tool find, result x") in said


def test_schemas_that_are_none() -> None:
    nowhere = {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}
    tools = [
        tool(inputSchema={"type": "text"}),
        tool(name="b", description="Other.", outputSchema=nowhere),
    ]

    assert found(tools=tools) == [
        ("error", "schema-invalid", "tool find"),
        ("error", "schema-invalid", "tool b"),
    ]


def test_strict_mode_is_one_note_for_all_tools() -> None:
    schema = {**OBJECT, "properties": {"a": {"type": "string", "description": "words"}}}
    tools = [tool(name=name, description=name, inputSchema=schema) for name in ("a", "b", "c", "d")]

    assert found(tools=tools) == [("note", "strict", "server")]


def test_a_result_that_is_no_object_in_older_revisions() -> None:
    plain = tool(outputSchema={"type": "integer"})
    wrapped = tool(outputSchema={"type": "object"})

    assert found(listing(tools=[wrapped]), tools=[plain]) == []
    assert found(listing(tools=[plain]), tools=[plain]) == [
        ("error", "schema-result-object", "tool find")
    ]
