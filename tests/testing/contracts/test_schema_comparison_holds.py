"""Two schemas that are called compatible are compatible; the judge is jsonschema."""

import json
from typing import Any

import jsonschema
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from toolhaft.testing.contracts.schema_comparison import narrowings

Json = Any

NAMES = st.sampled_from(["a", "b", "c", "xa"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 6),
    st.sampled_from([0.5, 1.0, 2.5, -1.5]),
    st.sampled_from(["", "a", "b", "ab", "abc"]),
)
VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)
# Small values of every kind, all of which are tried on every pair.
_SMALL: list[Json] = [None, True, False, -1, 0, 1, 2, 3, 0.5, 2.5, "", "a", "b", "ab", "abc"]
POOL: list[Json] = [
    *_SMALL,
    [],
    *([each] for each in _SMALL[:12]),
    *([1, each] for each in _SMALL[3:12]),
    *([each, each, 1] for each in (0, "a")),
    {},
    *({name: each} for name in ("a", "b", "xa") for each in _SMALL[:12]),
    *({"a": one, "b": two} for one in (1, "a") for two in (1, "a", None)),
    *({"a": {"b": 1, **more}, "b": 1} for more in ({}, {"a": 1}, {"c": "a"})),
    {"a": {"a": {}, "b": 1}, "b": 1},
    {"a": 1, "b": "a", "c": 2},
    [[]],
    [{}],
    [[1], [[]]],
]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]


def optional(**members: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({}, optional=members)


def families(inner: st.SearchStrategy[Json]) -> list[dict[str, st.SearchStrategy[Json]]]:
    """Keywords that have to do with each other."""
    number = {
        "type": st.sampled_from(["integer", "number", ["integer", "null"]]),
        "minimum": st.integers(-2, 4),
        "exclusiveMinimum": st.integers(-2, 4),
        "maximum": st.integers(-2, 4),
        "exclusiveMaximum": st.sampled_from([0, 1, 2.5]),
        "multipleOf": st.sampled_from([1, 2, 3, 0.5]),
    }
    string = {
        "type": st.sampled_from(["string", ["string", "null"]]),
        "minLength": st.integers(0, 3),
        "maxLength": st.integers(0, 3),
        "pattern": st.sampled_from(["a", "^a", "b$"]),
    }
    array = {
        "type": st.just("array"),
        "minItems": st.integers(0, 2),
        "maxItems": st.integers(0, 3),
        "uniqueItems": st.booleans(),
        "items": inner,
        "prefixItems": st.lists(inner, min_size=1, max_size=2),
        "contains": inner,
    }
    members = {
        "type": st.just("object"),
        "properties": st.dictionaries(NAMES, inner, max_size=3),
        "required": st.lists(NAMES, unique=True, max_size=2),
        "additionalProperties": inner,
        "patternProperties": st.dictionaries(st.sampled_from(["^x", "a"]), inner, max_size=2),
        "minProperties": st.integers(0, 2),
        "maxProperties": st.integers(0, 3),
        "propertyNames": st.sampled_from([{"pattern": "a"}, {"maxLength": 1}, True]),
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, unique=True), max_size=1),
    }
    branches = st.lists(inner, min_size=1, max_size=3)
    several = {
        "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "anyOf": branches,
        "oneOf": branches,
        "allOf": branches,
    }
    return [number, string, array, members, several]


def keywords(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """A schema of one family."""
    rare = st.fixed_dictionaries({"not": inner}) | st.fixed_dictionaries(
        {"if": inner, "then": inner, "else": inner}
    )
    return st.one_of(*(optional(**family) for family in families(inner)), rare)


REFERENCES = st.sampled_from([{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/two"}])
SCHEMAS: st.SearchStrategy[Json] = st.recursive(
    st.booleans() | st.just({}) | st.sampled_from([{"type": each} for each in TYPES]) | REFERENCES,
    keywords,
    max_leaves=5,
)
DEFINITIONS = st.fixed_dictionaries(
    {
        "one": st.sampled_from([{"type": "integer"}, {"type": "number"}, {"enum": ["a", 1]}]),
        "two": st.sampled_from(
            [
                {"type": "object", "properties": {"a": {"$ref": "#/$defs/two"}, "b": {"const": 1}}},
                {"type": "object", "properties": {"a": {"$ref": "#/$defs/two"}}, "required": ["b"]},
                {"type": "array", "items": {"$ref": "#/$defs/two"}},
            ]
        ),
    }
)
ROOTS = st.builds(
    lambda schema, definitions: {"allOf": [schema], "$defs": definitions}, SCHEMAS, DEFINITIONS
)


LEAVES = st.booleans() | st.sampled_from(
    [{}, {"type": "integer"}, {"type": "number"}, {"type": "string"}, {"enum": [1, "a"]}]
)
# Where a schema stands in a larger one.
PLACES = st.sampled_from(
    [
        lambda schema: schema,
        lambda schema: {"properties": {"a": schema}, "required": ["a"]},
        lambda schema: {"type": "array", "items": schema},
        lambda schema: {"anyOf": [{"type": "null"}, schema]},
        lambda schema: {"allOf": [schema, {"type": ["object", "array", "integer", "string"]}]},
    ]
)


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[Json, Json]:
    """Two small schemas of one family that differ in a keyword or two."""
    family = draw(st.sampled_from(families(LEAVES)))
    first = draw(optional(**family))
    second = dict(first)
    for name in draw(st.lists(st.sampled_from(sorted(family)), min_size=1, max_size=2)):
        if name in second and draw(st.booleans()):
            del second[name]
        else:
            second[name] = draw(family[name])
    place = draw(PLACES)
    return place(first), place(second)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Json, Json]:
    """A schema and another one: mostly the first with something small changed."""
    first = draw(ROOTS)
    return first, draw(ROOTS | st.just(first).flatmap(changed) | st.just(first).flatmap(widened))


@st.composite
def changed(draw: st.DrawFn, schema: Json) -> Json:
    """One keyword somewhere in there dropped, or taken from another schema."""
    copy = json.loads(json.dumps(schema))
    places = list(_objects(copy))
    place = draw(st.sampled_from(places))
    if place and draw(st.booleans()):
        del place[draw(st.sampled_from(sorted(place)))]
    else:
        other = draw(keywords(st.just({"type": "integer"})))
        place.update(other)
    if "$defs" not in copy:
        copy["$defs"] = schema["$defs"]
    for name, each in schema["$defs"].items():
        copy["$defs"].setdefault(name, each)
    return copy


def widened(schema: Json) -> st.SearchStrategy[Json]:
    return SCHEMAS.map(lambda more: {"anyOf": [schema["allOf"][0], more], "$defs": schema["$defs"]})


def _objects(value: Json) -> Any:
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from _objects(each)
    elif isinstance(value, list):
        for each in value:
            yield from _objects(each)


def is_valid(schema: Json) -> bool:
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError:
        return False
    return True


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(pair=pairs())
def test_no_value_that_fitted_is_refused_by_what_is_called_compatible(
    pair: tuple[Json, Json],
) -> None:
    must_hold(*pair)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pair=neighbours())
def test_the_same_of_schemas_that_differ_a_little(pair: tuple[Json, Json]) -> None:
    must_hold(*pair)


def must_hold(first: Json, second: Json) -> None:
    """What is called compatible takes every value that fitted."""
    if not is_valid(first) or not is_valid(second) or narrowings(first, second):
        event("not called compatible")
        return
    event("called compatible" if first != second else "the same")
    fitting = sending_only_listed(first)
    event(f"with values to show it: {bool(fitting)}")

    still = jsonschema.Draft202012Validator(second)
    assert [value for value in fitting if not still.is_valid(value)] == []


def sending_only_listed(schema: Json) -> list[Json]:
    """The values that fit, and have no members that nobody counts on sending."""
    both = [jsonschema.Draft202012Validator(each) for each in (schema, closed(schema))]
    return [value for value in POOL if all(each.is_valid(value) for each in both)]


def closed(schema: Json) -> Json:
    """The schema, where an object that only lists members has no others: nobody counts on sending
    what a schema does not list, unless it says what that is like."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _closed_below(key, each) for key, each in schema.items()}
    if "properties" in found or "patternProperties" in found:
        found.setdefault("additionalProperties", False)
    return found


def _closed_below(keyword: str, value: Json) -> Json:
    if keyword in ("enum", "const", "required", "dependentRequired", "not", "if"):
        return value
    if keyword in ("properties", "patternProperties", "$defs"):
        return {name: closed(each) for name, each in value.items()}
    return closed(value)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schema=ROOTS)
def test_a_schema_is_compatible_with_itself(schema: Json) -> None:
    copy = json.loads(json.dumps(schema))

    assert narrowings(schema, copy) == []
    assert narrowings(schema, {**copy, "description": "other words"}) == []


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schema=ROOTS)
def test_anything_is_compatible_with_no_schema_at_all(schema: Json) -> None:
    assert [each for each in narrowings(schema, {}) if each.keyword != "properties"] == []
