"""A value against a schema: every form of message, word by word."""

import json
import tracemalloc
from typing import Any

import msgspec
import pytest

from toolhaft.schema.validation.json_values import unpacked
from toolhaft.schema.validation.validator import problems

INTEGER: dict[str, Any] = {"type": "integer"}


def of(member: dict[str, Any] | bool, value: Any, **options: Any) -> list[str]:
    """The problems of one argument, `a`."""
    return problems({"a": value}, {"type": "object", "properties": {"a": member}}, **options)


@pytest.mark.parametrize(
    ("member", "value", "line"),
    [
        ({"type": "integer"}, "three", 'a: expected an integer, got "three"'),
        ({"type": "integer"}, 1.5, "a: expected an integer, got 1.5"),
        ({"type": ["integer", "null"]}, True, "a: expected an integer or null, got true"),
        (
            {"type": ["array", "object", "boolean"]},
            1,
            "a: expected an array, an object or a boolean, got 1",
        ),
        ({"type": "number"}, None, "a: expected a number, got null"),
        ({"type": "string"}, {"b": [1]}, 'a: expected a string, got {"b":[1]}'),
        ({"enum": ["c", "f"]}, "k", 'a: must be one of "c", "f", got "k"'),
        ({"type": "string", "enum": ["c", "f"]}, 7, 'a: must be one of "c", "f", got 7'),
        ({"enum": [1, [2]]}, True, "a: must be one of 1, [2], got true"),
        ({"const": {"b": 1}}, {"b": 2}, 'a: must be {"b":1}, got {"b":2}'),
        ({"minimum": 1}, 0, "a: must be at least 1, got 0"),
        ({"exclusiveMinimum": 0}, 0, "a: must be more than 0, got 0"),
        ({"maximum": 5}, 9, "a: must be at most 5, got 9"),
        ({"exclusiveMaximum": 5}, 5, "a: must be less than 5, got 5"),
        ({"multipleOf": 5}, 7, "a: must be a multiple of 5, got 7"),
        ({"multipleOf": 0.01}, 0.005, "a: must be a multiple of 0.01, got 0.005"),
        ({"minLength": 2}, "x", "a: must have at least 2 characters, got 1"),
        ({"maxLength": 1}, "xyz", "a: must have at most 1 character, got 3"),
        ({"minItems": 1}, [], "a: must have at least 1 item, got 0"),
        ({"maxItems": 3}, [1, 2, 3, 4], "a: must have at most 3 items, got 4"),
        ({"minProperties": 2.0}, {}, "a: must have at least 2 members, got 0"),
        ({"maxProperties": 0}, {"b": 1}, "a: must have at most 0 members, got 1"),
        ({"uniqueItems": True}, [1, 2, 1.0], "a: items must differ, but 0 and 2 are the same"),
        ({"pattern": "^[0-9]{5}$"}, "x", 'a: must match the pattern ^[0-9]{5}$, got "x"'),
        ({"items": INTEGER}, [1, "x"], 'a[1]: expected an integer, got "x"'),
        ({"prefixItems": [INTEGER]}, ["x", "y"], 'a[0]: expected an integer, got "x"'),
        (
            {"prefixItems": [INTEGER], "items": False},
            [1, 2],
            "a: must have at most 1 item, got 2",
        ),
        (
            {"contains": INTEGER},
            ["x"],
            'a: must have at least 1 item like {"type":"integer"}, got 0',
        ),
        (
            {"contains": {"const": 1}, "maxContains": 1},
            [1, 1],
            'a: must have at most 1 item like {"const":1}, got 2',
        ),
        ({"required": ["b"]}, {}, "a.b: missing"),
        (
            {"patternProperties": {"^n": INTEGER}},
            {"n1": "x", "m": "y"},
            'a.n1: expected an integer, got "x"',
        ),
        ({"additionalProperties": INTEGER}, {"b": "x"}, 'a.b: expected an integer, got "x"'),
        (
            {"propertyNames": {"maxLength": 3}},
            {"long": 1},
            "a.long: the name must have at most 3 characters, got 4",
        ),
        ({"dependentRequired": {"b": ["c"]}}, {"b": 1}, 'a.c: missing, for "b" is given'),
        ({"dependentSchemas": {"b": {"required": ["c"]}}}, {"b": 1}, "a.c: missing"),
        ({"not": {"type": "null"}}, None, 'a: must not fit {"type":"null"}, got null'),
        ({"if": {"minimum": 5}, "then": {"maximum": 7}}, 9, "a: must be at most 7, got 9"),
        ({"if": {"minimum": 5}, "else": {"const": 1}}, 2, "a: must be 1, got 2"),
        ({"allOf": [INTEGER, {"minimum": 1}]}, 0, "a: must be at least 1, got 0"),
        (False, 1, "a: must not be given"),
    ],
)
def test_a_problem_in_words(member: dict[str, Any] | bool, value: Any, line: str) -> None:
    assert of(member, value) == [line]


@pytest.mark.parametrize(
    ("name", "good", "line"),
    [
        (
            "date-time",
            "2026-01-31T12:00:00+01:00",
            'a: expected a date and time such as 2026-01-31T12:00:00Z, got "x"',
        ),
        ("date", "2024-02-29", 'a: expected a date such as 1999-12-31, got "x"'),
        ("time", "23:59:60Z", 'a: expected a time such as 12:00:00Z, got "x"'),
        ("duration", "P1DT2H", 'a: expected a duration such as PT1H30M, got "x"'),
        (
            "uuid",
            "2EB8AA08-AA98-11EA-B4AA-73B441D16380",
            'a: expected a UUID such as 123e4567-e89b-42d3-a456-426614174000, got "x"',
        ),
        (
            "email",
            "joe.bloggs@example.com",
            'a: expected an email address such as ada@example.org, got "x"',
        ),
        ("uri", "urn:a:b", 'a: expected a URI such as https://example.org/page, got "x"'),
        ("ipv4", "127.0.0.1", 'a: expected an IPv4 address such as 192.0.2.1, got "x"'),
        ("ipv6", "::ffff:1.2.3.4", 'a: expected an IPv6 address such as 2001:db8::1, got "x"'),
    ],
)
def test_a_format_is_told_with_an_example(name: str, good: str, line: str) -> None:
    schema = {"type": "string", "format": name}

    assert of(schema, good) == []
    assert of(schema, "x") == [line]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("date-time", "2026-01-31 12:00:00Z"),
        ("date-time", "2026-01-31T12:00:00"),
        ("date", "2023-02-29"),
        ("date", "2023-W13-2"),
        ("time", "12:00:60Z"),
        ("time", "24:00:00Z"),
        ("duration", "P"),
        ("duration", "PT"),
        ("email", ".a@example.org"),
        ("email", "a@-example.org"),
        ("uri", "/a"),
        ("uri", "http://example.org:port/"),
        ("ipv4", "01.2.3.4"),
        ("ipv4", "1.2.3.4\n"),
        ("ipv6", "1::2::3"),
        ("ipv6", "1.2.3.4::"),
        ("ipv6", "1:2:3:4:5:6:7"),
    ],
)
def test_what_only_looks_like_a_format_is_found(name: str, value: str) -> None:
    assert len(of({"format": name}, value)) == 1


def test_a_format_that_nobody_knows_is_an_annotation() -> None:
    assert of({"type": "string", "format": "colour"}, "x") == []
    assert of({"type": "string", "format": "decimal"}, "x") == []


# Names


def unknown(name: str, *known: str) -> list[str]:
    properties: dict[str, Any] = {each: {} for each in known}
    return problems({name: 1}, {"properties": properties, "additionalProperties": False})


@pytest.mark.parametrize(
    ("name", "known", "line"),
    [
        ("ctiy", ["city"], 'ctiy: unknown argument, did you mean "city"?'),
        ("cty", ["name", "city"], 'cty: unknown argument, did you mean "city"?'),
        ("maxItems", ["max_items"], 'maxItems: unknown argument, did you mean "max_items"?'),
        ("MAX-ITEMS", ["max_items"], 'MAX-ITEMS: unknown argument, did you mean "max_items"?'),
        ("foo", ["a", "b", "c"], "foo: unknown argument; expected a, b, c"),
        ("ab", ["ac"], "ab: unknown argument; expected ac"),
        ("foo", [], "foo: unknown argument; expected no arguments"),
        ("foo", ["f"], "foo: unknown argument; expected f"),
        ("x", list("abcdefghijk"), "x: unknown argument; expected a, b, c, d, e, f, g, h, i, j, …"),
    ],
)
def test_an_unknown_argument(name: str, known: list[str], line: str) -> None:
    assert unknown(name, *known) == [line]


def test_an_unknown_member_is_no_argument() -> None:
    inner = {"properties": {"city": {}}, "additionalProperties": False}

    assert of(inner, {"ctiy": 1}) == ['a.ctiy: unknown member, did you mean "city"?']
    assert of({"additionalProperties": False}, {"x": 1}) == [
        "a.x: unknown member; expected no members"
    ]
    assert problems({"x": 1}, inner, where="result") == ["result.x: unknown member; expected city"]


def test_a_name_that_is_given_is_not_proposed() -> None:
    schema = {"properties": {"city": {}, "unit": {}}, "additionalProperties": False}

    assert problems({"city": 1, "ctiy": 1}, schema) == [
        "ctiy: unknown argument; expected city, unit"
    ]


def test_patterns_of_names_are_told() -> None:
    schema = {"patternProperties": {"^x-": {}}, "additionalProperties": False}

    assert problems({"x-a": 1, "y": 1}, schema) == [
        "y: unknown argument; expected names that match ^x-"
    ]


# Places


def test_the_path_leads_to_the_value() -> None:
    count = {"properties": {"count": INTEGER}}
    schema = {"properties": {"order": {"properties": {"items": {"items": count}}}}}

    assert problems({"order": {"items": [{"count": "x"}]}}, schema) == [
        'order.items[0].count: expected an integer, got "x"'
    ]
    assert problems({"items": ["x"]}, {"properties": {"items": {"items": INTEGER}}}, where="r") == [
        'r.items[0]: expected an integer, got "x"'
    ]


def test_a_problem_of_the_root_has_its_name_or_none() -> None:
    assert problems(1, {"type": "object"}) == ["expected an object, got 1"]
    assert problems(1, {"type": "object"}, where="result") == ["result: expected an object, got 1"]


def test_names_that_would_blur_the_path_are_quoted() -> None:
    schema = {"additionalProperties": {"additionalProperties": False}}

    assert problems({"a b": {"c.d\n": 1}}, schema) == [
        '"a b"["c.d\\n"]: unknown member; expected no members'
    ]


# Alternatives


def test_alternatives_of_types_are_merged() -> None:
    union = {"anyOf": [INTEGER, {"type": "string", "minLength": 2}, {"type": "null"}]}

    assert of(union, []) == ["a: expected an integer, a string or null, got []"]
    assert of({"oneOf": union["anyOf"]}, True) == [
        "a: expected an integer, a string or null, got true"
    ]


def test_the_alternative_of_the_right_type_speaks() -> None:
    union = {"anyOf": [{"type": "null"}, {"type": "string", "enum": ["c", "f"]}]}

    assert of(union, "k") == ['a: must be one of "c", "f", got "k"']


def test_alternatives_of_choices_are_merged() -> None:
    assert of({"oneOf": [{"const": "c"}, {"const": "f", "title": "°F"}]}, "k") == [
        'a: must be one of "c", "f", got "k"'
    ]


def tagged(kind: str, **members: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"kind": {"const": kind}, **members},
        "required": ["kind", *members],
    }


SHAPES = {"anyOf": [tagged("circle", radius=INTEGER), tagged("square", side=INTEGER, x=INTEGER)]}


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ({"kind": "square"}, ["a.side: missing", "a.x: missing"]),
        ({"kind": "circle", "radius": "x"}, ['a.radius: expected an integer, got "x"']),
        ({"kind": "star"}, ['a.kind: must be one of "circle", "square", got "star"']),
        ({"radius": 1}, ['a.kind: missing; must be one of "circle", "square"']),
    ],
)
def test_the_tag_chooses_the_alternative(value: Any, lines: list[str]) -> None:
    assert of(SHAPES, value) == lines


def test_the_tag_is_found_behind_a_reference() -> None:
    schema = {
        "properties": {"a": {"oneOf": [{"$ref": "#/$defs/c"}, {"$ref": "#/$defs/s"}]}},
        "$defs": {"c": SHAPES["anyOf"][0], "s": SHAPES["anyOf"][1]},
    }

    assert problems({"a": {"kind": "circle"}}, schema) == ["a.radius: missing"]


def test_without_a_tag_the_closest_alternative_speaks() -> None:
    forms = [{"required": ["b", "c"]}, {"required": ["b", "d", "e"]}, {"required": ["f"]}]

    assert of({"anyOf": forms}, {"d": 1, "e": 1}) == ["a.b: missing"]


def test_more_than_one_of_one_is_a_problem() -> None:
    assert of({"oneOf": [INTEGER, {"minimum": 2}, {"type": "null"}]}, 3) == [
        "a: must fit only one of 3 forms, but fits 1 and 2, got 3"
    ]


# Equality and kinds


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"const": 1}, 1.0),
        ({"const": {"a": [1, 2]}}, {"a": [1.0, 2]}),
        (INTEGER, 1.0),
        ({"uniqueItems": True}, [1, True, 0, False, "1", None, [1], [True], {"a": 1}, {"a": True}]),
        ({"uniqueItems": False}, [1, 1]),
        ({"multipleOf": 0.0001}, 0.0075),
        ({"multipleOf": 0.5}, 10**400),
        ({"contains": INTEGER, "minContains": 0}, []),
        ({"minimum": 5, "minLength": 5, "minItems": 5}, None),
        ({"type": "string", "title": "T", "x-unknown": {"type": "integer"}}, "x"),
    ],
)
def test_what_fits_has_no_problems(schema: dict[str, Any], value: Any) -> None:
    assert problems(value, schema) == []


@pytest.mark.parametrize(
    ("schema", "value"),
    [({"const": 1}, True), ({"enum": [[0]]}, [False]), (INTEGER, True), ({"type": "boolean"}, 1)],
)
def test_a_truth_value_is_no_number(schema: dict[str, Any], value: Any) -> None:
    assert len(problems(value, schema)) == 1


# References


def test_references_are_followed() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/x~1y%25/0"}, "next": {"$ref": "#"}},
        "$defs": {"x/y%": [INTEGER]},
    }

    assert problems({"next": {"next": {"a": "x"}}}, schema) == [
        'next.next.a: expected an integer, got "x"'
    ]


def test_what_is_too_deep_is_a_problem_and_no_error() -> None:
    schema = {"properties": {"next": {"$ref": "#"}}}
    value: dict[str, Any] = {}
    for _ in range(500):
        value = {"next": value}

    assert problems(value, schema) == ["nested too deeply to be checked"]
    assert problems(1, {"$ref": "#"}) == ["nested too deeply to be checked"]
    assert problems(1, {"anyOf": [{"$ref": "#"}] * 2}, where="a") == [
        "a: nested too deeply to be checked"
    ]


def test_a_schema_that_multiplies_itself_comes_to_an_end() -> None:
    levels = {str(level): {"anyOf": [{"$ref": f"#/$defs/{level + 1}"}] * 3} for level in range(20)}
    schema = {"$ref": "#/$defs/0", "$defs": {**levels, "20": INTEGER}}

    assert problems("x", schema) == ['expected an integer, got "x"']
    assert problems(1, schema) == []


def test_a_deep_value_is_compared_without_an_error() -> None:
    value: Any = 1
    for _ in range(100_000):
        value = [value]

    assert problems(value, {"enum": [[1]]}) == ["must be [1], got an array"]
    assert problems(value, {"uniqueItems": True}) == ["nested too deeply to be checked"]
    assert problems(value, INTEGER) == ["expected an integer, got an array"]


# What is echoed


def test_there_are_at_most_twenty_lines_and_a_count() -> None:
    found = problems(["x"] * 50, {"items": INTEGER})

    assert len(found) == 21
    assert found[-1] == "… and 30 more"


def test_the_same_problem_is_told_once() -> None:
    assert of({"minimum": 1, "allOf": [{"minimum": 1}]}, 0) == ["a: must be at least 1, got 0"]


def test_an_echo_is_short() -> None:
    assert of(INTEGER, "x" * 1000) == [f'a: expected an integer, got "{"x" * 199}…']


def test_a_long_list_of_choices_is_cut() -> None:
    (line,) = of({"enum": list(range(100))}, "x")

    assert line.endswith('18, 19, …, got "x"')


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\nb", r'"a\nb"'),
        ("a\u2028\x85\u202eb", r'"a\u2028\u0085\u202eb"'),
        ("\ud800", '"?"'),
        (["\ud800"], "an array"),
        ({"\ud800": 1}, "an object"),
    ],
)
def test_an_echo_is_one_line_that_can_be_sent(value: Any, shown: str) -> None:
    found = of(INTEGER, value)

    assert found == [f"a: expected an integer, got {shown}"]
    assert msgspec.json.encode(found)


def test_a_name_that_cannot_be_sent_is_replaced() -> None:
    assert unknown("\ud800") == ['"?": unknown argument; expected no arguments']


# Leniency


STRINGS = [
    "7", "7.0", "7.5", "-7", "+7", "07", "-0", " 7", "1e3", "1E3", "1e-3", "", "1_0", "0x1", "1e30",
    "9" * 30, "inf", "NaN", "1e400", "true", "True", "tRUE", "1", "0", "yes", "null", "Null",
]  # fmt: skip
VALUES = [*STRINGS, 0, 1, 2, 1.0, 1.5, True, False, None]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    ("kind", "name"),
    [(int, "integer"), (float, "number"), (bool, "boolean"), (type(None), "null")],
)
def test_leniency_is_that_of_msgspec(kind: type, name: str, value: Any) -> None:
    try:
        msgspec.json.decode(msgspec.json.encode(value), type=kind, strict=False)
        accepted = True
    except msgspec.ValidationError:
        accepted = False

    assert (of({"type": name}, value, lenient=True) == []) is accepted


def test_what_was_read_leniently_is_checked_further() -> None:
    assert of({"type": "integer", "minimum": 8}, "7", lenient=True) == [
        "a: must be at least 8, got 7"
    ]
    assert of({"type": "integer", "enum": [1, 2]}, "2", lenient=True) == []
    assert of({"type": "number", "minimum": 1}, "nan", lenient=True) == [
        "a: must be at least 1, got nan"
    ]


def test_a_string_stays_one_where_strings_are_wanted() -> None:
    assert of({"type": ["integer", "string"], "minLength": 2}, "7", lenient=True) == [
        "a: must have at least 2 characters, got 1"
    ]


def test_json_in_a_string_is_checked_as_what_it_holds() -> None:
    schema = {"type": "object", "properties": {"n": INTEGER}}

    assert of(schema, '{"n": 1}', lenient=True) == []
    assert of(schema, '{"n": "x"}', lenient=True) == ['a.n: expected an integer, got "x"']
    assert of({"type": "array", "items": INTEGER}, "[1, null]", lenient=True) == [
        "a[1]: expected an integer, got null"
    ]
    assert of(schema, "[1]", lenient=True) == ["a: expected an object, got [1]"]
    assert of(schema, "7", lenient=True) == ['a: expected an object, got "7"']
    assert of(schema, "{", lenient=True) == ['a: expected an object, got "{"']
    assert of(SHAPES, '{"kind": "circle"}', lenient=True) == ["a.radius: missing"]


def test_without_leniency_a_string_is_a_string() -> None:
    assert of(INTEGER, "7") == ['a: expected an integer, got "7"']
    assert of({"type": "object"}, "{}") == ['a: expected an object, got "{}"']


def test_leniency_does_not_make_two_forms_of_one() -> None:
    forms = {"oneOf": [{"type": "string"}, INTEGER]}

    assert of(forms, "7", lenient=True) == []
    assert of({"oneOf": [{"type": "boolean"}, INTEGER]}, "1", lenient=True) == []
    assert of({"not": INTEGER}, "7", lenient=True) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("date-time", "2026-01-31 12:00:00"), ("date-time", 1769860800), ("decimal", 1.5)],
)
def test_formats_are_read_as_leniently_as_msgspec_does(name: str, value: Any) -> None:
    assert of({"type": "string", "format": name}, value, lenient=True) == []
    assert of({"type": "string", "format": name}, "x", lenient=True) != []


# What strangers send. Most of these would take minutes if the work were not bounded.


def nested(value: Any, levels: int, **more: Any) -> Any:
    for _ in range(levels):
        value = {**more, "a": value}
    return value


def recursive(*forms: dict[str, Any]) -> dict[str, Any]:
    """Objects whose `a` is again one of these forms."""
    each = [{"type": "object", "required": ["a"], **form} for form in forms]
    for form in each:
        form["properties"] = {"a": {"$ref": "#/$defs/any"}, **form.get("properties", {})}
    return {"$ref": "#/$defs/any", "$defs": {"any": {"anyOf": [*each, INTEGER]}}}


@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
def test_alternatives_in_alternatives_do_not_multiply(word: str) -> None:
    schema = recursive({"maxProperties": 3}, {"maxProperties": 2}, {"minProperties": 1})
    schema["$defs"]["any"] = {word: schema["$defs"]["any"].pop("anyOf")}

    assert problems(nested("x", 60), schema) == [
        f'{".".join("a" * 60)}: expected an object or an integer, got "x"'
    ]


def test_alternatives_in_alternatives_are_decided_to_the_end() -> None:
    schema = recursive({"maxProperties": 3}, {"maxProperties": 2})

    assert problems(nested(1, 60), schema) == []
    assert problems(nested(1.5, 60), schema) != []


def test_a_string_is_read_once_whatever_may_be_in_it() -> None:
    tags = [{"properties": {"k": {"const": tag}}, "required": ["a", "k"]} for tag in "bc"]
    text = json.dumps({"q": ["x"] * 100_000}) + "x"

    (tagged_line,) = problems(nested(text, 40, k="b"), recursive(*tags), lenient=True)
    (line,) = problems(nested(text, 40), recursive({}, {}), lenient=True)

    assert tagged_line == line
    assert line.startswith(f'{".".join("a" * 40)}: expected an object or an integer, got "{{')


def test_json_in_a_string_in_json_in_a_string_is_text() -> None:
    schema = recursive({})

    assert problems({"a": json.dumps({"a": 1})}, schema, lenient=True) == []
    assert problems({"a": json.dumps({"a": '{"a": 1}'})}, schema, lenient=True) == [
        r'a.a: expected an object or an integer, got "{\"a\": 1}"'
    ]


def test_strings_in_strings_are_not_unwrapped_for_ever() -> None:
    text = "1"
    for _ in range(18):
        text = json.dumps({"a": text})

    assert len(problems({"a": text}, recursive({}, {}), lenient=True)) == 1


def test_what_is_not_told_is_not_looked_for() -> None:
    numbers = {"type": "array", "items": INTEGER}
    found = problems(["x"] * 1_000_000, numbers)

    assert len(found) == 21
    assert found[-1] == "… and more"


def test_names_are_compared_only_for_what_is_told() -> None:
    known: dict[str, Any] = {f"known{number}": {} for number in range(200)}
    schema = {"properties": known, "additionalProperties": False}
    found = problems({f"name{number}": 1 for number in range(300_000)}, schema)

    assert len(found) == 21
    assert found[0] == (
        "name0: unknown argument; expected "
        "known0, known1, known2, known3, known4, known5, known6, known7, known8, known9, …"
    )
    assert found[-1] == "… and more"
    assert len(unknown("x" * 4_000_000, "y")[0]) < 1000


def test_more_may_be_wrong_than_there_is_time_to_find() -> None:
    choice = {"anyOf": [{"minimum": 1}, {"maximum": -1}]}
    value: list[Any] = ["x", *[1] * 100_000, "x"]

    assert problems(value, {"items": {"type": "integer", **choice}}) == [
        '[0]: expected an integer, got "x"',
        "… and perhaps more",
    ]


def test_what_is_refused_already_is_not_searched_for_long() -> None:
    value: list[Any] = [*[1] * 100_000, "x"]
    schema = {"items": {"type": "integer", "minimum": 1}}

    assert problems(value, schema, refused=True) == []
    assert problems(value, schema) == ['[100000]: expected an integer, got "x"']
    assert problems(["x"], schema, refused=True) == ['[0]: expected an integer, got "x"']


def test_an_explanation_that_takes_too_long_is_a_short_one() -> None:
    wide = {"type": "array", "items": {"type": "integer", "minimum": 0}}
    forms = [{**wide, "minItems": 1}, {**wide, "minItems": 2}]
    value: list[Any] = [*[1] * 60_000, "x"]

    (line, more) = of({"anyOf": forms}, value)

    assert line.startswith("a: must fit one of 2 forms, got [1,1,1")
    assert more == "… and perhaps more"


@pytest.mark.parametrize(
    ("items", "item"),
    [
        ({"anyOf": [{"type": "string"}, INTEGER]}, 1),
        ({"anyOf": [{"type": "string", "maxLength": 1}, {"type": "number", "minimum": 0}]}, 1),
        ({"$ref": "#/$defs/whole"}, 1),
        ({"$ref": "#/$defs/whole", "description": "a number"}, 1),
        ({"type": ["array", "null"], "items": {"$ref": "#/$defs/whole"}}, [1, 2]),
        ({"enum": list(range(2000))}, 1999),
    ],
)
def test_a_large_value_that_fits_is_never_refused(items: dict[str, Any], item: Any) -> None:
    schema = {"items": items, "$defs": {"whole": INTEGER}}
    value = [item] * 260_000

    assert problems(value, schema) == []
    assert problems([*value, False], schema)[0].startswith("[260000]")


def test_json_in_a_string_is_checked_to_its_end() -> None:
    schema = {"type": "array", "items": {"type": "integer", "minimum": 1}}

    assert of(schema, json.dumps([1] * 200_000), lenient=True) == []
    assert of(schema, json.dumps([*[1] * 200_000, 0]), lenient=True) == [
        "a[200000]: must be at least 1, got 0"
    ]


def test_depth_is_that_of_the_value() -> None:
    named = {"$ref": "#/$defs/next", "description": "the next one"}
    schema = {
        "$ref": "#/$defs/next",
        "$defs": {
            "next": {
                "type": "object",
                "properties": {"a": {"anyOf": [named, {"type": "null"}]}},
                "required": ["a"],
            }
        },
    }
    short = {"properties": {"a": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}

    assert problems(nested(None, 120), schema) == []
    assert problems(nested(1, 150), recursive({}, {"minProperties": 1})) == []
    assert problems(nested(None, 200), short) == []
    assert problems(nested(None, 201), short) == ["nested too deeply to be checked"]
    assert problems(nested(None, 900), schema) == ["nested too deeply to be checked"]


def test_a_pattern_that_python_cannot_read_is_passed_over() -> None:
    letters = r"^\p{L}+$"

    assert of({"type": "string", "pattern": letters, "maxLength": 1}, "xy") == [
        "a: must have at most 1 character, got 2"
    ]
    assert (
        of({"patternProperties": {letters: INTEGER}, "additionalProperties": False}, {"b": 1}) == []
    )
    assert problems(["x"] * 100_000, {"items": {"pattern": letters}}) == []


def test_a_discriminator_is_an_annotation() -> None:
    mapping = {"circle": "#/$defs/Circle", "square": "#/$defs/Square"}
    shapes = {
        "oneOf": SHAPES["anyOf"],
        "discriminator": {"mapping": mapping, "propertyName": "kind"},
    }

    assert of(shapes, {"kind": "circle", "radius": 1}) == []
    assert of(shapes, {"kind": "circle"}) == ["a.radius: missing"]
    assert of(shapes, {"kind": "star"}) == ['a.kind: must be one of "circle", "square", got "star"']


def test_the_same_value_in_two_places_is_told_of_twice() -> None:
    shared = {"a": "x"}

    assert problems([shared, shared], {"items": recursive({}, {}), **recursive({})}) == [
        '[0].a: expected an object or an integer, got "x"',
        '[1].a: expected an object or an integer, got "x"',
        'expected an object or an integer, got [{"a":"x"},{"a":"x"}]',
    ]


# What strings hold


def unpack(value: Any, member: Any, **more: Any) -> Any:
    schema = {"type": "object", "properties": {"a": member}, **more}
    return unpacked({"a": value}, schema, schema)["a"]


@pytest.mark.parametrize(
    ("member", "value", "seen"),
    [
        ({"type": "object"}, '{"b": 1}', {"b": 1}),
        ({"type": "array", "items": INTEGER}, "[1]", [1]),
        ({"type": "array", "items": {"type": "object"}}, ["{}", "x"], [{}, "x"]),
        ({"anyOf": [{"type": "array"}, {"type": "null"}]}, "[1]", [1]),
        ({"$ref": "#/$defs/list"}, "[1]", [1]),
        ({"type": ["array", "string"]}, "[1]", "[1]"),
        ({"type": "array", "items": {"type": "array"}}, '["[1]"]', ["[1]"]),
        ({"type": "array"}, "[1]x", "[1]x"),
        ({"type": "array", "items": INTEGER}, ["[1]"], ["[1]"]),
        (INTEGER, "[1]", "[1]"),
        (True, "[1]", "[1]"),
        ({"type": "array", "items": True}, ["[1]"], ["[1]"]),
        ({"anyOf": [True, {"type": "array"}]}, 1, 1),
        ({"$ref": "#/properties/a"}, "[1]", "[1]"),
    ],
)
def test_json_takes_the_place_of_its_string(member: Any, value: Any, seen: Any) -> None:
    assert unpack(value, member, **{"$defs": {"list": {"type": "array"}}}) == seen


def test_what_is_too_deep_stays_a_string() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#"}}}

    assert unpacked(nested("{}", 100), schema, schema) == nested({}, 100)
    assert unpacked(nested("{}", 400), schema, schema) == nested("{}", 400)


def test_whether_numbers_are_unique_is_found_out_without_comparing_all_of_them() -> None:
    """Each of these has the hash 0. By their hash this would take minutes."""
    numbers = [number * (2**61 - 1) for number in range(100_000)]

    assert problems(numbers, {"uniqueItems": True}) == []
    assert problems([*numbers, 0.0], {"uniqueItems": True}) == [
        "items must differ, but 0 and 100000 are the same"
    ]


def test_no_more_forms_are_tried_than_it_takes_to_find_what_is_told() -> None:
    forms = [{"type": kind} for kind in ("integer", "string", "boolean", "null")]
    schema = {"type": "array", "items": {"anyOf": forms}}

    lines = problems([[] for _ in range(5_000)], schema)

    assert len(lines) == 21
    assert lines[0] == "[0]: expected an integer, a string, a boolean or null, got []"
    assert lines[-1] == "… and more"


# Memory

NUMBERS = list(range(200_000))
LARGE_VALUES: dict[str, tuple[Any, dict[str, Any]]] = {
    "a constant": (NUMBERS, {"const": [1]}),
    "one of a few": ({"a": NUMBERS}, {"enum": [{"a": 1}, {"a": [1]}]}),
    "one of many": ({"a": NUMBERS}, {"enum": [{"a": [number]} for number in range(100)]}),
    "different numbers": (NUMBERS, {"uniqueItems": True}),
    "the same number at the end": ([*NUMBERS, 199_999], {"uniqueItems": True}),
    "a URI": ("http://" + "a." * 500_000, {"format": "uri"}),
    "a URI with escapes": ("http://a/" + "%41" * 300_000, {"format": "uri"}),
    "an email address": ("a." * 500_000, {"format": "email"}),
    "a quoted email address": ('"' + "a b" * 300_000, {"format": "email"}),
    "an address of groups": ("a:" * 500_000, {"format": "ipv6"}),
}


@pytest.mark.parametrize("case", LARGE_VALUES)
def test_a_large_value_is_checked_in_little_memory(case: str) -> None:
    value, schema = LARGE_VALUES[case]
    tracemalloc.start()
    try:
        problems(value, schema)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 26 * 1024 * 1024


def test_each_item_that_stands_twice_is_told_with_its_first_place() -> None:
    assert problems([1, 2, 2, 1.0, "1", [True], [1], [1.0]], {"uniqueItems": True}) == [
        "items must differ, but 1 and 2 are the same",
        "items must differ, but 0 and 3 are the same",
        "items must differ, but 6 and 7 are the same",
    ]
