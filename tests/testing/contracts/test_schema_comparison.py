"""What the comparison of two schemas finds, and what it does not."""

from typing import Any

import pytest

from toolhaft.testing.contracts.bound_comparison import Narrowing
from toolhaft.testing.contracts.schema_comparison import narrowings

Json = dict[str, Any]

INTEGER: Json = {"type": "integer"}
NUMBER: Json = {"type": "number"}
TEXT: Json = {"type": "string"}


def closed(*required: str, **members: Any) -> Json:
    return {
        "type": "object",
        "properties": members,
        "required": list(required),
        "additionalProperties": False,
    }


def opened(*required: str, **members: Any) -> Json:
    return {"type": "object", "properties": members, "required": list(required)}


def tree(**more: Any) -> Json:
    node = {
        "type": "object",
        "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/Node"}}, **more},
    }
    return {"$ref": "#/$defs/Node", "$defs": {"Node": node}}


TAGGED = [closed("kind", kind={"const": kind}, x=INTEGER) for kind in ("a", "b", "c")]

WIDER = {
    "the same in another order": (
        opened("a", "b", a=TEXT, b=TEXT),
        opened("b", "a", b=TEXT, a=TEXT),
    ),
    "a description": (TEXT, {**TEXT, "description": "words", "examples": ["x"]}),
    "a keyword that nobody knows": (TEXT, {**TEXT, "colour": "red"}),
    "an optional member": (closed(a=TEXT), closed(a=TEXT, b=INTEGER)),
    "an optional member of an open object": (opened(a=TEXT), opened(a=TEXT, b=INTEGER)),
    "no longer required": (closed("a", a=TEXT), closed(a=TEXT)),
    "integer to number": (INTEGER, NUMBER),
    "or null": (TEXT, {"type": ["string", "null"]}),
    "or null, as a union": (TEXT, {"anyOf": [TEXT, {"type": "null"}]}),
    "a union in other words": ({"type": ["string", "null"]}, {"anyOf": [{"type": "null"}, TEXT]}),
    "one more value": ({"enum": ["x"]}, {"enum": ["x", "y"]}),
    "values to any text": ({"enum": ["x", "y"]}, TEXT),
    "a value in bounds": ({"const": 3}, {"type": "integer", "minimum": 1, "multipleOf": 3}),
    "true and false to a boolean": ({"enum": [True, False]}, {"type": "boolean"}),
    "a boolean to true and false": ({"type": "boolean"}, {"enum": [True, False]}),
    "a lower minimum": ({**INTEGER, "minimum": 2}, {**INTEGER, "minimum": 1}),
    "more than 0 is at least 1": (
        {**INTEGER, "exclusiveMinimum": 0, "maximum": 9},
        {**INTEGER, "minimum": 1, "exclusiveMaximum": 10},
    ),
    "multiples of 6 are multiples of 3": ({**INTEGER, "multipleOf": 6}, {"multipleOf": 3}),
    "integers are multiples of a half": (INTEGER, {"multipleOf": 0.5}),
    "a longer text": ({**TEXT, "maxLength": 5}, {**TEXT, "maxLength": 9}),
    "no pattern": ({**TEXT, "pattern": "^a"}, TEXT),
    "items": ({"type": "array", "items": INTEGER}, {"type": "array", "items": NUMBER}),
    "a tuple to a list": (
        {"type": "array", "prefixItems": [INTEGER, NUMBER], "items": False},
        {"type": "array", "items": NUMBER, "maxItems": 2},
    ),
    "a mapping": (
        {"type": "object", "additionalProperties": INTEGER},
        {"type": "object", "additionalProperties": NUMBER},
    ),
    "members to a mapping": (
        closed(a=INTEGER, b=INTEGER),
        {"type": "object", "additionalProperties": INTEGER, "propertyNames": {"maxLength": 1}},
    ),
    "one more form": ({"oneOf": TAGGED[:2]}, {"oneOf": TAGGED}),
    "a form to a union of it": (TAGGED[0], {"anyOf": TAGGED}),
    "allOf": ({"allOf": [{"minimum": 1}, INTEGER]}, {**INTEGER, "minimum": 0}),
    "a reference in place": (
        {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": TEXT}},
        {"properties": {"a": TEXT}},
    ),
    "a tree with more on each node": (tree(), tree(note=TEXT)),
    "what the condition asks for either way": (
        closed("a", "b", a=TEXT, b=TEXT),
        {"if": {"required": ["x"]}, "then": {"required": ["a"]}, "else": {"required": ["b"]}},
    ),
    "nothing to anything": (False, TEXT),
}


@pytest.mark.parametrize(("first", "second"), WIDER.values(), ids=WIDER)
def test_what_fits_still_fits(first: Any, second: Any) -> None:
    assert narrowings(first, second) == []


NARROWER: dict[str, tuple[Any, Any, str, str]] = {
    "a member gone": (closed(a=TEXT, b=TEXT), closed(a=TEXT), "b", "properties"),
    "a member gone, not refused": (opened(a=TEXT, b=TEXT), opened(a=TEXT), "b", "properties"),
    "a member gone deep down": (opened(a=opened(b=TEXT, c=TEXT)), opened(a=opened(b=TEXT)),
                                "a.c", "properties"),
    "required": (closed(a=TEXT), closed("a", a=TEXT), "a", "required"),
    "new and required": (closed(), closed("a", a=TEXT), "a", "required"),
    "another type": (closed(a=TEXT), closed(a=INTEGER), "a", "type"),
    "number to integer": (NUMBER, INTEGER, "", "type"),
    "no longer null": ({"anyOf": [TEXT, {"type": "null"}]}, TEXT, "", "values"),
    "a value gone": ({"enum": ["x", "y"]}, {"enum": ["x"]}, "", "values"),
    "a text to values": (TEXT, {"enum": ["x"]}, "", "enum"),
    "1 is not true": ({"enum": [1]}, {"enum": [True]}, "", "values"),
    "a higher minimum": ({**INTEGER, "minimum": 1}, {**INTEGER, "minimum": 2}, "", "minimum"),
    "a new maximum": (NUMBER, {**NUMBER, "maximum": 2}, "", "maximum"),
    "a bound that is out": ({"minimum": 1}, {"exclusiveMinimum": 1}, "", "exclusiveMinimum"),
    "multiples": ({**INTEGER, "multipleOf": 2}, {**INTEGER, "multipleOf": 3}, "", "multipleOf"),
    "a shorter text": (TEXT, {**TEXT, "maxLength": 3}, "", "maxLength"),
    "a pattern": (TEXT, {**TEXT, "pattern": "^a"}, "", "pattern"),
    "a format": (TEXT, {**TEXT, "format": "date"}, "", "format"),
    "items": ({"type": "array", "items": NUMBER}, {"type": "array", "items": INTEGER},
              "[]", "type"),
    "one item of a tuple": (
        {"type": "array", "prefixItems": [TEXT, NUMBER]},
        {"type": "array", "prefixItems": [TEXT, INTEGER]},
        "[1]",
        "type",
    ),
    "all different": ({"type": "array"}, {"type": "array", "uniqueItems": True},
                      "", "uniqueItems"),
    "a mapping": (
        {"type": "object", "additionalProperties": NUMBER},
        {"type": "object", "additionalProperties": INTEGER},
        "*",
        "type",
    ),
    "closed": ({"type": "object"}, {"type": "object", "additionalProperties": False}, "*", "enum"),
    "a form gone": ({"anyOf": [TEXT, INTEGER]}, {"anyOf": [TEXT]}, "", "type"),
    "a tree": (tree(note=TEXT), tree(note=INTEGER), "note", "type"),
    "a name": (closed(long=TEXT), {"propertyNames": {"maxLength": 3}}, "long", "propertyNames"),
    "nothing fits": (TEXT, False, "", "enum"),
}  # fmt: skip


@pytest.mark.parametrize(("first", "second", "path", "keyword"), NARROWER.values(), ids=NARROWER)
def test_what_no_longer_fits_is_found(first: Any, second: Any, path: str, keyword: str) -> None:
    found = narrowings(first, second)

    assert [(each.path, each.keyword, each.is_certain) for each in found] == [(path, keyword, True)]


def test_a_finding_says_what_was_and_what_is() -> None:
    first, second = {**INTEGER, "maximum": 99}, {**INTEGER, "maximum": 50}

    assert narrowings(first, second) == [Narrowing("", "maximum", 99, 50)]


DOUBTFUL = {
    "another pattern": ({**TEXT, "pattern": "^a"}, {**TEXT, "pattern": "a"}),
    "not": (TEXT, {"not": {"minLength": 3}}),
    "a condition": (opened(a=TEXT), {"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
    "two forms that overlap": (INTEGER, {"oneOf": [{"minimum": 0}, {"maximum": 0}]}),
    "two forms that only cover it together": (INTEGER, {"anyOf": [{"minimum": 0}, {"maximum": 0}]}),
    "contains": ({"type": "array"}, {"type": "array", "contains": TEXT}),
    "another dialect": (TEXT, {**TEXT, "$schema": "http://json-schema.org/draft-07/schema#"}),
    "a schema that is not checked": (TEXT, {**TEXT, "unevaluatedProperties": False}),
    "no schema": (TEXT, {"type": "text"}),
    "a reference to elsewhere": (TEXT, {"$ref": "https://example.org/text.json"}),
}


@pytest.mark.parametrize(("first", "second"), DOUBTFUL.values(), ids=DOUBTFUL)
def test_what_cannot_be_told_is_said_to_be_so(first: Any, second: Any) -> None:
    found = narrowings(first, second)

    assert found
    assert not any(each.is_certain for each in found)


def test_a_comparison_ends_however_schemas_multiply() -> None:
    def bomb(leaf: Json) -> Json:
        definitions: Json = {"d0": leaf}
        for level in range(1, 20):
            below = {"$ref": f"#/$defs/d{level - 1}"}
            definitions[f"d{level}"] = {
                "anyOf": [{"properties": {name: below}, "required": [name]} for name in "abcd"]
            }
        return {"$ref": "#/$defs/d19", "$defs": definitions}

    assert not narrowings(bomb(TEXT), bomb(INTEGER))[0].is_certain
