"""Arguments of the shell, read without a server."""

from pathlib import Path
from typing import Any

import pytest

from toolhaft.cli.arguments import BadArgument, read, split

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "sure": {"type": "boolean"},
        "nothing": {"type": "null"},
        "names": {"type": "array", "items": {"type": "string"}},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "place": {"type": "object"},
        "colour": {"enum": ["red", "blue"]},
        "size": {"enum": [1, 2]},
        "exactly": {"const": 5},
        "maybe_text": {"type": ["string", "null"]},
        "maybe_count": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "maybe_names": {"anyOf": [{"$ref": "#/$defs/Names"}, {"type": "null"}]},
        "count_or_text": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "one_of": {"oneOf": [{"type": "boolean"}, {"type": "string"}]},
        "referred": {"$ref": "#/$defs/Count"},
        "anything": {},
    },
    "$defs": {
        "Count": {"type": "integer"},
        "Names": {"type": "array", "items": {"type": "string"}},
    },
}


def no_stdin() -> bytes:
    raise AssertionError("nobody asked for stdin")


def arguments(*words: str, stdin: bytes | None = None) -> dict[str, Any]:
    return read(split(words, no_stdin if stdin is None else lambda: stdin), SCHEMA)


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


def test_a_list_is_given_by_repeating() -> None:
    given = arguments("names=a", "count=1", "names=b", "numbers=1", "numbers=2", "names:=null")

    assert given == {"names": ["a", "b", None], "count": 1, "numbers": [1, 2]}


def test_the_colon_of_a_name_is_kept_unless_it_is_the_last() -> None:
    assert arguments("a:b=5", "c:d:=5") == {"a:b": 5, "c:d": 5}


def test_an_object_gives_several_arguments_at_once() -> None:
    given = arguments('{"text": 5, "count": "x"}', "sure=true")

    assert given == {"text": 5, "count": "x", "sure": True}


def test_a_dash_reads_the_same_from_stdin() -> None:
    assert arguments("-", stdin=b'{"text": "\xc3\xa9"}') == {"text": "é"}


def test_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("[1, 2]\n")

    given = arguments(f"text=@{tmp_path}/text", f"numbers=@{tmp_path}/text", f"a:=@{tmp_path}/text")

    assert given == {"text": "[1, 2]\n", "numbers": [1, 2], "a": [1, 2]}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["five"], "'five' is no argument; write name=text or name:=json"),
        (["=5"], "'=5' is no argument; write name=text or name:=json"),
        ([":=5"], "':=5' is no argument; write name=text or name:=json"),
        (["count=x"], "count: 'x' is not of type integer; count:=json sends any JSON as it is"),
        (["count=5.5"], "count: '5.5' is not of type integer"),
        (["count=true"], "count: 'true' is not of type integer"),
        (["sure=1"], "sure: '1' is not of type boolean"),
        (["maybe_count=x"], "maybe_count: 'x' is not of type integer or null"),
        (["numbers=x"], "numbers: 'x' is not of type integer"),
        (["names=[1"], "names: not JSON: "),
        (["place=Delft"], "place: not JSON: "),
        (["text:=a"], "text: not JSON: "),
        (["text:=NaN"], "text: not JSON: NaN is not JSON"),
        (["text:=" + "[" * 100_000], "text: not JSON: "),
        (["count=1", "count=2"], "count is given twice, and takes no list"),
        (["text=a", '{"text": "b"}'], "text is given twice, and takes no list"),
        (['{"a"'], "an argument in braces: not JSON: "),
        (["text=@nowhere/at/all"], "text: 'nowhere/at/all': No such file or directory; for a text"),
    ],
)
def test_what_cannot_be_understood_is_told(words: list[str], told: str) -> None:
    with pytest.raises(BadArgument) as raised:
        arguments(*words)

    assert str(raised.value).startswith(told)


@pytest.mark.parametrize(
    ("stdin", "told"),
    [
        (b"", "stdin: not JSON: "),
        (b"[1]", "stdin: a JSON object of all arguments is expected"),
        (b"{\xff}", "stdin: not UTF-8 at byte 1"),
    ],
)
def test_stdin_must_be_an_object(stdin: bytes, told: str) -> None:
    with pytest.raises(BadArgument) as raised:
        arguments("-", stdin=stdin)

    assert str(raised.value).startswith(told)
