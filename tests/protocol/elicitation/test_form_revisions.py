"""Forms as they are sent: by the schemas of each revision, which are beside the tests of features.

The schemas of the specification allow keywords that they do not name. Here they do not: a client
that knows a revision by heart finds nothing in a form that is not in there.
"""

import datetime
import enum
import json
import pathlib
from typing import Annotated, Any, Literal

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft import Accepted, Context, Server, Titles, ToolError
from toolhaft.features.elicitation.forms import form_of
from toolhaft.protocol.elicitation.form_revisions import form_for
from toolhaft.protocol.revisions import REVISIONS
from toolhaft.testing import Client

FILE = pathlib.Path(__file__).parents[2] / "features" / "elicitation.json"
FIRST, SECOND, NEWEST = "2025-06-18", "2025-11-25", "2026-07-28"


def closed(schema: Any) -> Any:
    """A schema that allows no other members than those it names."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(each) for key, each in schema.items()}
    if isinstance(found.get("properties"), dict) and "additionalProperties" not in found:
        found["additionalProperties"] = False
    return found


def validator_of(revision: str) -> Any:
    schema = closed(json.loads(FILE.read_text())[revision])
    definitions = "definitions" if "definitions" in schema else "$defs"
    if revision == SECOND:  # which the pages of this revision show
        schema[definitions]["StringSchema"]["properties"]["pattern"] = {"type": "string"}
    kind = jsonschema.validators.validator_for(schema)
    return kind({**schema, "$ref": f"#/{definitions}/RequestedSchema"})


VALIDATORS = {revision: validator_of(revision) for revision in (FIRST, SECOND, NEWEST)}


def sent(kind: Any, revision: str) -> Any:
    return form_for(form_of(kind).schema, REVISIONS[revision])


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


CHOICES: list[Any] = [
    Literal["a", "b"],
    Literal[1, 2],
    Annotated[Literal["a", "b"], Titles(a="Ant")],
    Size,
    Level,
]
FIELDS: list[tuple[Any, list[Any]]] = [
    (str, ["x"]),
    (int, [3]),
    (float, [0.5]),
    (bool, [True]),
    (datetime.date, [datetime.date(2030, 1, 31)]),
    (datetime.time, []),
    (Annotated[str, msgspec.Meta(min_length=1, max_length=5, pattern="^x")], ["x"]),
    (Annotated[int, msgspec.Meta(gt=1, lt=5, multiple_of=2)], [2]),
    (Annotated[float, msgspec.Meta(gt=0)], [0.5]),
    (Annotated[str, msgspec.Meta(title="T", description="D", examples=["x"])], ["x"]),
    (Annotated[str, msgspec.Meta(extra_json_schema={"format": "hostname"})], ["x"]),
    *((choice, []) for choice in CHOICES),
    (Size, [Size.SMALL]),
    (Level, [Level.HIGH]),
]
SEVERAL: list[tuple[Any, list[Any]]] = [(list[choice], []) for choice in CHOICES]


def annotations(fields: list[tuple[Any, list[Any]]]) -> st.SearchStrategy[Any]:
    """Fields of a class, some with a default and some that may be None."""

    def described(chosen: tuple[tuple[Any, list[Any]], bool, bool]) -> tuple[Any, ...]:
        (kind, defaults), has_default, may_be_none = chosen
        kind = kind | None if may_be_none else kind
        return (kind, defaults[0]) if has_default and defaults else (kind,)

    return st.tuples(st.sampled_from(fields), st.booleans(), st.booleans()).map(described)


def classes(fields: list[tuple[Any, list[Any]]]) -> st.SearchStrategy[Any]:
    def made(parts: list[tuple[Any, ...]]) -> Any:
        named = [(f"f{number}", *part) for number, part in enumerate(parts)]
        return msgspec.defstruct("Made", named, kw_only=True)

    return st.lists(annotations(fields), max_size=5).map(made)


TITLED = st.sampled_from([[{"const": "a", "title": "A"}, {"const": "b"}], [{"const": "a"}]])
LOOSE = st.fixed_dictionaries(
    {},
    optional={
        "title": st.just("T"),
        "description": st.just("D"),
        "pattern": st.just("."),
        "minLength": st.just(1),
        "exclusiveMinimum": st.just(0.5),
        "maximum": st.just(9),
        "multipleOf": st.just(1),
        "examples": st.just([1]),
        "deprecated": st.just(True),
        "readOnly": st.just(False),
    },
)
ENUM = st.sampled_from([{"enum": ["a", "b"]}, {"const": "a"}, {"enum": ["a"], "enumNames": ["A"]}])
WRITTEN = st.one_of(
    st.sampled_from(
        [
            {"type": "string", "default": "x"},
            {"type": ["integer", "null"], "default": None},
            {"type": "number", "default": 2},
            {"type": "boolean", "default": False},
            {"$ref": "#/$defs/text"},
            {"$ref": "#/$defs/choice", "default": "a"},
            {"allOf": [{"$ref": "#/$defs/text"}]},
            {"anyOf": [{"$ref": "#/$defs/choice"}, {"type": "null"}], "default": None},
            {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        ]
    ),
    ENUM,
    ENUM.map(lambda choices: {"type": "string", **choices}),
    TITLED.map(lambda choices: {"oneOf": choices}),
    TITLED.map(lambda choices: {"type": "string", "oneOf": choices}),
)
WRITTEN_SEVERAL = st.one_of(
    ENUM.map(lambda choices: {"type": "array", "items": choices, "minItems": 1}),
    TITLED.map(lambda choices: {"type": "array", "items": {"anyOf": choices}, "default": ["a"]}),
    TITLED.map(lambda choices: {"type": "array", "items": {"oneOf": choices}, "uniqueItems": True}),
)
DEFINITIONS = {"text": {"type": "string", "description": "T"}, "choice": {"enum": ["a", "b"]}}


def written(field: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def schema(parts: list[tuple[Any, Any]]) -> Any:
        fields = {f"f{n}": {**loose, **part} for n, (part, loose) in enumerate(parts)}
        return {
            "type": "object",
            "properties": fields,
            "required": list(fields)[:1],
            "title": "Form",
            "additionalProperties": False,
            "$defs": DEFINITIONS,
        }

    return st.lists(st.tuples(field, LOOSE), max_size=4).map(schema)


@given(st.one_of(classes([*FIELDS, *SEVERAL]), written(st.one_of(WRITTEN, WRITTEN_SEVERAL))))
@pytest.mark.parametrize("revision", [SECOND, NEWEST])
def test_every_form_that_is_sent_is_one_of_its_revision(revision: str, kind: Any) -> None:
    VALIDATORS[revision].validate(sent(kind, revision))


@given(st.one_of(classes(FIELDS), written(WRITTEN)))
def test_every_form_without_lists_is_one_of_the_first_revision_that_has_forms(kind: Any) -> None:
    VALIDATORS[FIRST].validate(sent(kind, FIRST))


@given(st.one_of(classes(SEVERAL), written(WRITTEN_SEVERAL)))
def test_a_choice_of_several_is_refused_where_no_form_can_have_it(kind: Any) -> None:
    if not form_of(kind).schema["properties"]:
        return

    with pytest.raises(ToolError, match=r"several choices at once in 'f0'.* 2025-06-18"):
        sent(kind, FIRST)


def test_the_check_of_these_tests_finds_what_a_revision_does_not_know() -> None:
    for part in ({"type": "array"}, {"type": "string", "default": "x"}, {"type": "object"}):
        with pytest.raises(jsonschema.ValidationError):
            VALIDATORS[FIRST].validate({"type": "object", "properties": {"x": part}})


def test_titles_of_choices_are_names_beside_them_in_the_first_revision() -> None:
    assert sent(Size, FIRST)["properties"]["value"] == {
        "type": "string",
        "enum": ["s", "l"],
        "enumNames": ["Small", "Large"],
    }


def test_a_pattern_and_a_default_are_left_out_where_they_are_not_known() -> None:
    kind = msgspec.defstruct(
        "Kind", [("name", Annotated[str, msgspec.Meta(pattern="^x")], "x"), ("sure", bool, True)]
    )

    found = {revision: sent(kind, revision)["properties"] for revision in VALIDATORS}

    sure = {"type": "boolean", "default": True}
    assert found[FIRST] == {"name": {"type": "string"}, "sure": sure}
    assert found[SECOND] == {
        "name": {"type": "string", "pattern": "^x", "default": "x"},
        "sure": sure,
    }
    assert found[NEWEST] == {"name": {"type": "string", "default": "x"}, "sure": sure}


def test_limits_that_exclude_themselves_become_limits_that_do_not() -> None:
    bounded = msgspec.Meta(gt=0, lt=10)

    whole = sent(Annotated[int, bounded], NEWEST)["properties"]["value"]
    any_number = sent(Annotated[float, bounded], NEWEST)["properties"]["value"]

    assert whole == {"type": "integer", "minimum": 1, "maximum": 9}
    assert any_number == {"type": "number", "minimum": 0, "maximum": 10}


def choosing() -> Server:
    server = Server("s")

    @server.tool
    async def one(ctx: Context) -> str:
        answer = await ctx.elicit("One?", Size)
        return answer.value.name if isinstance(answer, Accepted) else "none"

    @server.tool
    async def several(ctx: Context) -> str:
        return str(await ctx.elicit("Several?", list[Size]))

    return server


async def test_a_client_of_the_first_revision_is_shown_the_choices() -> None:
    seen: list[Any] = []

    def answer(_method: str, params: dict[str, Any]) -> Any:
        seen.append(params["requestedSchema"]["properties"]["value"])
        return {"action": "accept", "content": {"value": "l"}}

    async with Client(choosing(), FIRST, answers=answer) as client:
        assert (await client.call_raw("one")).text == "LARGE"

    assert seen == [{"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]}]


async def test_a_client_of_the_first_revision_is_not_asked_for_several_choices() -> None:
    async with Client(choosing(), FIRST, answers=lambda *_: 1 / 0) as client:
        result = await client.call_raw("several")

    assert result.is_error
    assert "several choices at once in 'value', which a form of revision 2025-06-18" in result.text
