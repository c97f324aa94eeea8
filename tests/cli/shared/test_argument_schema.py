"""What a schema says of one argument."""

from typing import Any

import pytest
from tests.cli.shared.read_arguments import arguments

from toolhaft.cli.shared.arguments import read, split


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("text=a", "a"),
        ("text=", ""),
        ("text=5", "5"),
        ("text=null", "null"),
        ("text=a=b:=c", "a=b:=c"),
        ("text=two\nlines", "two\nlines"),
        ('text="quoted"', '"quoted"'),
        ("count=5", 5),
        ("count=-5", -5),
        ("count=123456789012345678901234567890", 123456789012345678901234567890),
        ("share=5", 5),
        ("share=0.5", 0.5),
        ("sure=true", True),
        ("sure=false", False),
        ("sure=True", True),
        ("sure=FALSE", False),
        ("maybe_sure=True", True),
        ("maybe_sure=null", None),
        ("flags=True", [True]),
        ("one_of=True", "True"),
        ("anything=True", "True"),
        ("place=null", None),
        ("nothing=null", None),
        ("names=a", ["a"]),
        ("names=5", ["5"]),
        ('names=["a", "b"]', ["a", "b"]),
        ("numbers=5", [5]),
        ("numbers=[5, 6]", [5, 6]),
        ('place={"city": "Delft"}', {"city": "Delft"}),
        ("colour=red", "red"),
        ("size=2", 2),
        ("exactly=5", 5),
        ("maybe_text=a", "a"),
        ("maybe_text=5", "5"),
        ("maybe_text=null", None),
        ("maybe_count=5", 5),
        ("maybe_count=null", None),
        ("maybe_names=a", ["a"]),
        ("maybe_names=null", None),
        ("count_or_text=5", 5),
        ("count_or_text=five", "five"),
        ("count_or_text=5.5", "5.5"),
        ("count_or_text=true", "true"),
        ("one_of=true", True),
        ("one_of=5", "5"),
        ("referred=5", 5),
        ("anything=5", 5),
        ("anything=five", "five"),
        ('anything="five"', '"five"'),
        ("anything=[1]", [1]),
        ("unknown=5", 5),
        ('text:="5"', "5"),
        ("text:=5", 5),
        ("count:=[1, null]", [1, None]),
    ],
)
def test_a_word_is_read_by_the_schema(word: str, value: object) -> None:
    [read_value] = arguments(word).values()

    assert read_value == value
    assert type(read_value) is type(value)


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ("#/$defs/Choice/anyOf/0", 7),
        ("#/$defs/Nobody", 7),
        ("#/$defs/Choice/anyOf", 7),
        ("#/$defs/Round", 7),
        ("#/$defs/Text~1plain", "7"),
        ("https://example.org/schema", 7),
    ],
)
def test_a_reference_of_a_strange_server_is_followed_or_left_alone(
    reference: str, value: object
) -> None:
    schema: dict[str, Any] = {
        "properties": {"a": {"$ref": reference}},
        "$defs": {
            "Choice": {"anyOf": [{"type": "integer"}]},
            "Round": {"anyOf": [{"$ref": "#/$defs/Round"}, {"type": "integer"}]},
            "Text/plain": {"type": "string"},
        },
    }

    assert read(split(["a=7"], bytes), schema) == {"a": value}
