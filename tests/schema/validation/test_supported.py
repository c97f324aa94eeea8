"""Schemas that an author wrote by hand: what is accepted, and what an author is told."""

from typing import Any

import pytest

from toolhaft.schema.validation.supported import check_schema
from toolhaft.schema.validation.validator import problems


def refusal(schema: object, **options: Any) -> str:
    """What the author of a schema is told."""
    with pytest.raises((TypeError, ValueError)) as caught:
        check_schema(schema, "tool 'x'", **options)
    return str(caught.value)


def within(member: object) -> str:
    """What is told of the schema of one property, `a`."""
    told = refusal({"type": "object", "properties": {"a": member}})
    assert told.startswith("tool 'x': at properties.a: ")
    return told.removeprefix("tool 'x': at properties.a: ")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "title": "T", "x-anything": {"type": "nonsense"}, "examples": [{}]},
        {"type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "u"},
        {"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"},
        {"type": "object", "properties": {"a": True, "b": False, "c": {}}},
        {"type": "object", "properties": {"$ref": {"type": "string"}, "$id": {"minLength": 2.0}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {}}},
        {"type": "object", "not": {"$ref": "#/definitions/A"}, "definitions": {"A": {}}},
        {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}},
        {"type": "object", "default": {"a": [1, 2.5, None, True]}},
    ],
)
def test_a_schema_that_is_understood_comes_back_as_it_is(schema: dict[str, Any]) -> None:
    assert check_schema(schema, "tool 'x'") is schema


@pytest.mark.parametrize("schema", [None, True, [], "object", object])
def test_a_schema_is_an_object(schema: object) -> None:
    assert refusal(schema) == "tool 'x': a schema must be a JSON object, as a dict"


def test_the_root_describes_an_object() -> None:
    assert refusal({"type": "string"}) == """tool 'x': the root must have "type": "object\""""
    assert refusal({}) == """tool 'x': the root must have "type": "object\""""
    assert check_schema({"type": "string"}, "x", root_object=False) == {"type": "string"}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({1}, "{1} is not JSON; use str, int, float, bool, None, list or dict"),
        ((1,), "(1,) is not JSON; use str, int, float, bool, None, list or dict"),
        (float("nan"), "nan is not JSON; use str, int, float, bool, None, list or dict"),
        ("\ud800", "'\\ud800' is not JSON; use str, int, float, bool, None, list or dict"),
    ],
)
def test_all_of_it_is_json(value: object, words: str) -> None:
    schema = {"type": "object", "properties": {"a": {"enum": [1, value]}}}

    with pytest.raises(TypeError) as caught:
        check_schema(schema, "tool 'x'")

    assert str(caught.value) == f"tool 'x': at properties.a.enum[1]: {words}"


def test_names_are_strings() -> None:
    assert refusal({"properties": {1: {}}}) == (
        "tool 'x': at properties: the name 1 is not a string, as it must be in JSON"
    )


def test_a_schema_that_contains_itself_is_refused() -> None:
    schema: dict[str, Any] = {"type": "object"}
    schema["not"] = schema

    assert refusal(schema) == "tool 'x': the schema is nested too deeply, or contains itself"


KINDS = "string, integer, number, boolean, null, array, object, or a list of different ones"


@pytest.mark.parametrize(
    ("member", "words"),
    [
        ("string", 'a schema must be an object, true or false, not "string"'),
        ({"type": "int"}, f'type must be one of {KINDS}, not "int"'),
        ({"type": ["null", "null"]}, f'type must be one of {KINDS}, not ["null","null"]'),
        ({"type": []}, f"type must be one of {KINDS}, not []"),
        ({"enum": "c"}, 'enum must be a list of values, not "c"'),
        ({"enum": []}, "enum must be a list of values, not []"),
        ({"required": True}, "required must be a list of different names, not true"),
        ({"required": ["b", 1]}, 'required must be a list of different names, not ["b",1]'),
        (
            {"dependentRequired": {"b": "c"}},
            'dependentRequired must be an object of lists of different names, not {"b":"c"}',
        ),
        ({"minimum": "1"}, 'minimum must be a number, not "1"'),
        ({"exclusiveMaximum": True}, "exclusiveMaximum must be a number, not true"),
        ({"multipleOf": 0}, "multipleOf must be a number above 0, not 0"),
        ({"minLength": -1}, "minLength must be a whole number, 0 or more, not -1"),
        ({"maxItems": 1.5}, "maxItems must be a whole number, 0 or more, not 1.5"),
        ({"uniqueItems": 1}, "uniqueItems must be true or false, not 1"),
        ({"pattern": 1}, "pattern must be a string, not 1"),
        ({"format": 1}, "format must be a string, not 1"),
        ({"properties": []}, "properties must be an object of schemas, not []"),
        ({"anyOf": []}, "anyOf must be a list of schemas, not []"),
        ({"allOf": {}}, "allOf must be a list of schemas, not {}"),
        ({"items": [{}]}, "items must be one schema; a list of them is prefixItems"),
        (
            {"pattern": "("},
            '"(" is no pattern that Python\'s re understands: '
            "missing ), unterminated subpattern at position 0",
        ),
        (
            {"patternProperties": {"[": {}}},
            '"[" is no pattern that Python\'s re understands: '
            "unterminated character set at position 0",
        ),
        (
            {"unevaluatedProperties": False},
            "unevaluatedProperties is not checked by this library; use additionalProperties",
        ),
        ({"unevaluatedItems": False}, "unevaluatedItems is not checked by this library; use items"),
        ({"$dynamicRef": "#a"}, "$dynamicRef is not checked by this library; use $ref"),
        (
            {"$dynamicAnchor": "a"},
            "$dynamicAnchor is not checked by this library; use $defs and $ref",
        ),
        ({"$id": "u"}, "$id is not checked below the root; remove it"),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#"},
            "$schema differs from that of the root; remove it",
        ),
        (
            {"$ref": "https://example.org/s.json"},
            '$ref "https://example.org/s.json": references to elsewhere are never fetched; '
            "put the schema into $defs and refer to it as #/$defs/…",
        ),
        ({"$ref": "#name"}, '$ref "#name" points at nothing in this schema'),
        ({"$ref": "#/$defs/b"}, '$ref "#/$defs/b" points at nothing in this schema'),
        ({"$ref": "#/type/0"}, '$ref "#/type/0" points at nothing in this schema'),
    ],
)
def test_a_mistake_is_told_with_its_place(member: object, words: str) -> None:
    assert within(member) == words


@pytest.mark.parametrize(
    "member",
    [
        {"$ref": "#/properties/a"},
        {"anyOf": [{"not": {"$ref": "#/properties/a"}}]},
        {"if": {"$ref": "#/$defs/b"}},
    ],
)
def test_a_reference_that_never_ends_is_refused(member: object) -> None:
    schema = {
        "type": "object",
        "properties": {"a": member},
        "$defs": {"b": {"allOf": [{"$ref": "#/properties/a"}]}},
    }

    assert "$ref leads back to itself, or to more than 64 others in a row" in refusal(schema)


def test_the_place_goes_through_lists() -> None:
    schema = {"type": "object", "properties": {"a": {"items": {"anyOf": [{}, {"type": "x"}]}}}}

    assert refusal(schema).startswith("tool 'x': at properties.a.items.anyOf[1]: type must be one")


def test_only_known_dialects_are_taken() -> None:
    told = refusal({"type": "object", "$schema": "http://json-schema.org/draft-04/schema#"})

    assert told == (
        "tool 'x': $schema: \"http://json-schema.org/draft-04/schema#\" is not known; "
        "use https://json-schema.org/draft/2020-12/schema"
    )


@pytest.mark.parametrize(
    ("member", "words"),
    [
        (
            {"dependencies": {"a": ["b"]}},
            "dependencies is not checked by this library; "
            "use dependentRequired or dependentSchemas",
        ),
        (
            {"additionalItems": False},
            "additionalItems is not checked by this library; use prefixItems and items",
        ),
        ({"items": [{}]}, "items must be one schema; a list of them is prefixItems"),
        (
            {"$ref": "#/definitions/A", "minimum": 1},
            "draft-07 ignores minimum beside $ref; put both into allOf",
        ),
    ],
)
def test_what_draft_07_means_otherwise_is_refused(member: object, words: str) -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"a": member},
        "definitions": {"A": {"type": "integer"}},
    }

    assert refusal(schema) == f"tool 'x': at properties.a: {words}"


def test_what_only_a_reference_finds_is_checked_too() -> None:
    schema = {"type": "object", "not": {"$ref": "#/extra/b"}, "extra": {"b": {"type": "x"}}}

    assert refusal(schema).startswith("tool 'x': at extra.b: type must be one of")


def test_a_reference_to_what_is_no_schema_is_refused() -> None:
    schema = {"type": "object", "not": {"$ref": "#/required"}, "required": ["a"]}

    assert refusal(schema) == (
        "tool 'x': at required: a schema must be an object, true or false, not [\"a\"]"
    )


def test_a_schema_has_a_depth() -> None:
    def nested(levels: int) -> dict[str, Any]:
        schema: dict[str, Any] = {}
        for _ in range(levels):
            schema = {"items": schema}
        return schema

    assert check_schema(nested(64), "x", root_object=False)
    assert refusal(nested(65), root_object=False).endswith(
        "more than 64 schemas in each other, or 10000 in all; make it simpler"
    )


def test_a_schema_has_a_size() -> None:
    def wide(members: int) -> dict[str, Any]:
        return {"type": "object", "properties": {str(n): {} for n in range(members)}}

    assert check_schema(wide(9_999), "x")
    assert refusal(wide(10_000)).endswith("or 10000 in all; make it simpler")


# Headers


def with_header(name: object, **more: object) -> dict[str, object]:
    return {"type": "string", "x-mcp-header": name, **more}


def test_a_property_may_travel_as_a_header() -> None:
    inner = {"type": "object", "properties": {"b": with_header("B", type="integer", maximum=9)}}
    schema = {"type": "object", "properties": {"a": with_header("Region"), "inner": inner}}

    assert check_schema(schema, "x") is schema


def test_a_reference_to_a_property_leaves_its_header_alone() -> None:
    schema = {
        "type": "object",
        "properties": {"a b": with_header("Region"), "c": {"$ref": "#/properties/a%20b"}},
    }

    assert check_schema(schema, "x") is schema


@pytest.mark.parametrize(
    ("member", "words"),
    [
        (with_header(""), 'must be a name for a header: letters, digits and dashes, not ""'),
        (with_header("a b"), 'must be a name for a header: letters, digits and dashes, not "a b"'),
        (with_header("é"), 'must be a name for a header: letters, digits and dashes, not "é"'),
        (with_header(1), "must be a name for a header: letters, digits and dashes, not 1"),
        (
            with_header("A", type="number"),
            'needs the "type" string, integer or boolean, not "number"',
        ),
        (
            with_header("A", type=["string", "null"]),
            'needs the "type" string, integer or boolean, not ["string","null"]',
        ),
        (
            with_header("A", type="integer", maximum=2**53),
            "allows integers up to 2^53 - 1; lower the limits",
        ),
        (
            with_header("A", type="integer", enum=[-(2**53)]),
            "allows integers up to 2^53 - 1; lower the limits",
        ),
    ],
)
def test_a_header_that_no_client_would_send_is_refused(member: object, words: str) -> None:
    assert within(member) == f"x-mcp-header {words}"


def test_headers_differ_by_more_than_case() -> None:
    headers = {"a": with_header("Region"), "b": with_header("REGION")}

    assert refusal({"type": "object", "properties": headers}) == (
        "tool 'x': at properties.b: x-mcp-header \"REGION\" is used twice; names must differ"
    )


def test_one_dict_in_two_places_is_two_headers() -> None:
    shared = with_header("Region")

    assert "is used twice" in refusal({"type": "object", "properties": {"a": shared, "b": shared}})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "x-mcp-header": "A"},
        {"type": "object", "properties": {"a": {"items": with_header("A")}}},
        {"type": "object", "properties": {"a": {"anyOf": [with_header("A")]}}},
        {"type": "object", "anyOf": [{"properties": {"a": with_header("A")}}]},
        {"type": "object", "then": {"properties": {"a": with_header("A")}}},
        {"type": "object", "$defs": {"a": with_header("A")}},
        {"type": "object", "$defs": {"properties": {"properties": {"a": with_header("A")}}}},
        {"type": "object", "additionalProperties": with_header("A")},
    ],
)
def test_a_header_is_reached_by_properties_alone(schema: object) -> None:
    assert refusal(schema).endswith(
        "x-mcp-header must be on a property, reached by properties alone"
    )


def test_what_is_accepted_can_be_checked() -> None:
    schema = check_schema({"type": "object", "required": ["a"]}, "x")

    assert problems({}, schema) == ["a: missing"]


def test_what_is_accepted_is_decided_in_time() -> None:
    again = {"type": "object", "properties": {"a": {"$ref": "#/$defs/any"}}, "required": ["a"]}
    forms = [{**again, "minProperties": 1}, {**again, "maxProperties": 2}, {"type": "null"}]
    schema = check_schema(
        {"type": "object", "properties": again["properties"], "$defs": {"any": {"anyOf": forms}}},
        "x",
    )
    fits: Any = None
    breaks: Any = 1
    for _ in range(60):
        fits, breaks = {"a": fits}, {"a": breaks}

    assert problems(fits, schema) == []
    assert problems(breaks, schema) == [f"{'.'.join('a' * 60)}: expected an object or null, got 1"]


def test_an_anchor_is_a_name_that_nobody_has_to_use() -> None:
    check_schema({"type": "object", "$defs": {"a": {"$anchor": "here", "type": "string"}}}, "it")


def test_a_reference_to_an_anchor_is_one_to_the_schema_that_has_it() -> None:
    schema = {
        "type": "object",
        "properties": {"x": {"$ref": "#here"}, "y": {"items": {"$ref": "#here"}}},
        "$defs": {"a": {"$anchor": "here", "type": "integer"}},
    }

    assert check_schema(schema, "it") is schema
    assert problems({"x": 1, "y": [2]}, schema) == []
    assert problems({"x": "a"}, schema) == ['x: expected an integer, got "a"']
    assert problems({"y": ["a"]}, schema) == ['y[0]: expected an integer, got "a"']


def test_an_anchor_may_be_in_a_schema_that_refers_to_it() -> None:
    schema = {"type": "object", "$anchor": "it", "properties": {"x": {"$ref": "#it"}}}

    check_schema(schema, "it")

    assert problems({"x": {"x": 5}}, schema) == ["x.x: expected an object, got 5"]


@pytest.mark.parametrize("anchors", [[], ["here", "here"]])
def test_a_reference_to_an_anchor_that_is_not_there_once_is_refused(anchors: list[str]) -> None:
    schema = {
        "type": "object",
        "properties": {"x": {"$ref": "#here"}},
        "$defs": {str(number): {"$anchor": name} for number, name in enumerate(anchors)},
    }

    with pytest.raises(ValueError, match="points at nothing in this schema"):
        check_schema(schema, "it")


def test_an_anchor_that_applies_itself_to_the_same_value_is_refused() -> None:
    schema = {
        "type": "object",
        "properties": {"x": {"$ref": "#here"}},
        "$defs": {"a": {"$anchor": "here", "allOf": [{"$ref": "#here"}]}},
    }

    with pytest.raises(ValueError, match="leads back to itself"):
        check_schema(schema, "it")
