"""Schemas that jsonschema-rs checks: what it knows beyond us, and what it never does."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from toolhaft.features.lazy_validation import Explicit
from toolhaft.schema.validation.compiled import Compiled
from toolhaft.schema.validation.supported import report_support

Json = dict[str, Any]
DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def compiled(schema: Json) -> Compiled:
    return Compiled(schema, report_support(schema, "tool 'x'"), "tool 'x'")


def told(schema: Json, value: Any, *, lenient: bool = False) -> list[str]:
    return compiled({"type": "object", **schema}).problems(value, lenient=lenient, where="")


def member(schema: Json, value: Any, **more: Any) -> list[str]:
    return told({"properties": {"a": schema}, **more}, {"a": value})


def refusal(schema: Json) -> str:
    with pytest.raises(ValueError, match=r"^tool 'x'") as caught:
        compiled({"type": "object", **schema})
    return str(caught.value)


def nested(depth: int, leaf: Any) -> Any:
    value = leaf
    for _ in range(depth):
        value = {"a": value}
    return value


# What it knows


@pytest.mark.parametrize(
    ("schema", "fits", "breaks", "lines"),
    [
        (
            {"properties": {"a": {}}, "unevaluatedProperties": False},
            {"a": 1},
            {"a": 1, "b": 2},
            ["b: unknown argument"],
        ),
        (
            {"properties": {"a": {"unevaluatedProperties": False}}},
            {"a": {}},
            {"a": {"b": 1}},
            ["a.b: unknown member"],
        ),
        (
            {"properties": {"a": {"$ref": "#n"}}, "$defs": {"n": {"$anchor": "n", "type": "null"}}},
            {"a": None},
            {"a": 5},
            ["a: expected null, got 5"],
        ),
        (
            {"$schema": DRAFT_4, "properties": {"a": {"minimum": 3, "exclusiveMinimum": True}}},
            {"a": 4},
            {"a": 3},
            ["a: it is less than or equal to the minimum of 3"],
        ),
        (
            {"$schema": DRAFT_4, "required": ["a", "b"], "properties": {"b": {"enum": [1, 2]}}},
            {"a": 0, "b": 2},
            {"b": 3},
            ["a: missing", "b: must be one of 1, 2, got 3"],
        ),
        (
            {"$schema": DRAFT_7, "properties": {"a": {"items": [{"type": "integer"}, {}]}}},
            {"a": [1, 2]},
            {"a": ["one"]},
            ['a[0]: expected an integer, got "one"'],
        ),
        (
            {"$schema": DRAFT_7, "dependencies": {"a": ["b"]}},
            {"a": 1, "b": 2},
            {"a": 1},
            ["b: missing"],
        ),
        (
            {"properties": {"a": {"pattern": r"^\p{Lu}+$"}}},
            {"a": "ÄÖ"},
            {"a": "a1"},
            [r'a: must match the pattern ^\p{Lu}+$, got "a1"'],
        ),
    ],
)
def test_it_checks_what_we_do_not(schema: Json, fits: Json, breaks: Json, lines: list[str]) -> None:
    assert told(schema, fits) == []
    assert told(schema, breaks) == lines


@pytest.mark.parametrize(
    ("schema", "value", "line"),
    [
        ({"type": "integer"}, "three", 'a: expected an integer, got "three"'),
        ({"enum": ["b", "c"]}, "d", 'a: must be one of "b", "c", got "d"'),
        ({"minLength": 2}, "d", "a: must have at least 2 characters, got 1"),
        ({"format": "date"}, "soon", 'a: expected a date such as 1999-12-31, got "soon"'),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "d", "a: expected an integer or null"),
    ],
)
def test_our_words_are_those_of_our_own_checker(schema: Json, value: Any, line: str) -> None:
    [found] = member(schema, value)
    [beside] = member({**schema, "unevaluatedItems": False}, value)

    assert found.startswith(line)
    assert beside == found


def test_a_string_may_be_read_as_a_number_if_we_can_tell() -> None:
    schema: Json = {"properties": {"a": {"type": "integer"}}}

    assert told(schema, {"a": "7"}, lenient=True) == []
    assert told(schema, {"a": "x"}, lenient=True) == ['a: expected an integer, got "x"']
    beyond = {**schema, "unevaluatedProperties": False}
    assert told(beyond, {"a": "7"}, lenient=True) == ['a: expected an integer, got "7"']


# What it refuses


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"unevaluatedProperties": 5}, 'at unevaluatedProperties: it is not of types "boolean"'),
        ({"properties": {"a": {"pattern": "("}}}, 'at properties.a.pattern: it is not a "regex"'),
        ({"properties": {"a": {"pattern": "(a{999}){999}"}}}, 'a.pattern: it is not a "regex"'),
        ({"$schema": "http://example.com/mine"}, "Unknown meta-schema: 'http://example.com/mine'"),
        ({"properties": {"a": {"$ref": "#nowhere"}}}, "points at nothing in this schema"),
        ({"properties": {"a": {"type": "strin"}}}, "at properties.a: type must be one of string"),
    ],
)
def test_what_cannot_be_compiled_is_refused_with_its_place(schema: Json, words: str) -> None:
    assert words in refusal(schema)


def test_no_reference_is_ever_fetched(tmp_path: Path) -> None:
    """Neither from the network nor from a file, in whatever way it is spelled."""
    asked: list[str] = []

    class Asked(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

    (tmp_path / "any.json").write_text("{}")
    with HTTPServer(("127.0.0.1", 0), Asked) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            for ref in (
                f"http://127.0.0.1:{server.server_port}/x",
                (tmp_path / "any.json").as_uri(),
            ):
                with pytest.raises(ValueError, match="never fetched"):
                    compiled({"type": "object", "properties": {"a": {"$ref": ref}}})
                base, _, name = ref.rpartition("/")
                inner = {"$id": f"{base}/", "properties": {"b": {"$ref": name}}}
                with pytest.raises(ValueError, match="not present in a registry"):
                    compiled({"type": "object", "properties": {"a": inner}})
                with pytest.raises(ValueError, match="not present in a registry"):
                    compiled({"type": "object", "$defs": {"a": {"$id": "x:y"}}, "$dynamicRef": ref})
        finally:
            server.shutdown()
            thread.join()

    assert asked == []


# What a client cannot do


@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", "^(a|aa)+$", "(a*)*b$", "^(?=a)(?:a|aa)+$", r"^(?:(a|aa)+)+\1$"]
)
def test_a_pattern_never_takes_for_ever(pattern: str) -> None:
    [line] = member({"pattern": pattern}, "a" * 10_000 + "!")
    [beyond] = member({"pattern": pattern}, "a" * 10_000 + "!", unevaluatedProperties=False)

    assert line.startswith(f"a: must match the pattern {pattern}, got ")
    assert line == beyond
    assert len(line) < 300


def test_what_is_nested_too_deeply_is_refused_before_a_stack_overflows() -> None:
    schema: Json = {"additionalProperties": {"$ref": "#"}}

    assert told(schema, nested(198, {})) == []
    assert told(schema, nested(199, {})) == ["nested too deeply to be checked"]
    assert told(schema, nested(100_000, {})) == ["nested too deeply to be checked"]


@pytest.mark.parametrize("beyond", [{}, {"unevaluatedProperties": {}}, {"$schema": DRAFT_4}])
def test_an_explanation_does_not_multiply(beyond: Json) -> None:
    forms = [{"properties": {"a": {"$ref": "#/definitions/n"}}, "required": [n]} for n in "bcd"]
    schema = {
        "properties": {"a": {"$ref": "#/definitions/n"}},
        "definitions": {"n": {"type": "object", "anyOf": forms}},
        **beyond,
    }

    found = told(schema, nested(60, {}))

    assert found
    assert len(found) <= 21


def test_many_problems_are_told_in_few_lines() -> None:
    schema = {"$schema": DRAFT_4, "properties": {"a": {"items": {"type": "integer"}}}}

    few = told(schema, {"a": ["x"] * 300})
    many = told(schema, {"a": ["x"] * 100_000})

    assert few[:1] == ['a[0]: expected an integer, got "x"']
    assert few[20:] == ["… and 280 more"]
    assert many == ["does not fit the schema"]


def test_what_is_echoed_is_short() -> None:
    [line] = told({"unevaluatedProperties": False}, {"x" * 10_000: 1})
    [other] = member(
        {"$ref": "#n"}, "y" * 10_000, **{"$defs": {"n": {"$anchor": "n", "enum": [1]}}}
    )

    assert len(line) < 250
    assert len(other) < 250


@pytest.mark.parametrize("value", [5, "text", None, True, 1.5, [], [[]]])
def test_a_result_need_not_be_an_object(value: object) -> None:
    schema: Json = {"type": ["integer", "string", "null", "boolean", "number", "array"]}
    checker = Compiled(schema, report_support(schema, "it", root_object=False), "it")

    assert checker.problems(value, lenient=False, where="result") == []
    assert checker.problems({}, lenient=False, where="result")[0].startswith("result: expected ")


def test_so_many_values_are_checked_in_one_go() -> None:
    plain = Explicit({"type": "array"}, "it", root_object=False)
    divided = Explicit({"items": {"multipleOf": 0.01}}, "it", root_object=False)

    assert plain.problems([1] * 499_999) == []
    assert plain.problems([1] * 500_000) == [
        "holds 500,001 values, and at most 500,000 are checked"
    ]
    assert divided.problems([1] * 10_000) == ["holds 10,001 values, and at most 10,000 are checked"]


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_the_more_forms_a_value_is_tried_with_the_fewer_values_are_checked(keyword: str) -> None:
    forms = [{"type": "integer", "minimum": number} for number in range(49)]
    many = Explicit({"type": "array", "items": {keyword: forms}}, "it", root_object=False)

    assert many.problems([1] * 30_000) == ["holds 30,001 values, and at most 30,000 are checked"]
