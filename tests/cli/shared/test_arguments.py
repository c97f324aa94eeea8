"""Arguments of the shell, read without a server."""

from pathlib import Path
from typing import Any

import pytest

from toolhaft.cli.shared.arguments import BadArgument, read, split, texts

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
        "maybe_sure": {"type": ["boolean", "null"]},
        "flags": {"type": "array", "items": {"type": "boolean"}},
        "colours": {"type": "array", "items": {"enum": ["red", "dark blue"]}},
        "todo": {"$ref": "#/$defs/Todo"},
        "todos": {"type": "array", "items": {"$ref": "#/$defs/Todo"}},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "todo_or_count": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/Todo"}]},
        "wide": {
            "type": "object",
            "properties": {
                "a": {"type": "integer", "minimum": 5},
                "b": {"enum": ["x", "y"]},
                "c": {"type": "array", "items": {"type": "number"}},
                "d": {"type": "boolean"},
            },
            "required": ["a", "b", "c", "d"],
        },
        "loop": {"$ref": "#/$defs/Loop"},
        "never": {"enum": []},
    },
    "$defs": {
        "Count": {"type": "integer"},
        "Names": {"type": "array", "items": {"type": "string"}},
        "Todo": {
            "type": "object",
            "properties": {"priority": {"enum": ["low", "high"]}, "title": {"type": "string"}},
            "required": ["title"],
        },
        "Loop": {
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/Loop"}},
            "required": ["next"],
        },
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
        (["count=1", "count=2"], "count is given twice, and takes no list"),
        (["text=a", '{"text": "b"}'], "text is given twice, and takes no list"),
        (["text=@nowhere/at/all"], "text: 'nowhere/at/all': No such file or directory; for a text"),
    ],
)
def test_what_cannot_be_understood_is_told(words: list[str], told: str) -> None:
    with pytest.raises(BadArgument) as raised:
        arguments(*words)

    assert str(raised.value).startswith(told)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("count=x", "count: expected an integer, got 'x'"),
        ("count=5.5", "count: expected an integer, got '5.5'"),
        ("count=true", "count: expected an integer, got 'true'"),
        ("count=", "count: expected an integer, got nothing"),
        ("never=x", "never: expected another value, got 'x'"),
        ("share=x", "share: expected a number, got 'x'"),
        ("sure=x", "sure: expected true or false, got 'x'"),
        ("sure=1", "sure: expected true or false, got '1'"),
        ("maybe_sure=x", "maybe_sure: expected true, false or null, got 'x'"),
        ("maybe_count=x", "maybe_count: expected an integer or null, got 'x'"),
        ("numbers=x", "numbers: expected an integer, got 'x'"),
        (
            "names=[a,b]",
            """names: expected a JSON list, got '[a,b]'; as in names='["a", "b"]', """
            "or names=a names=b",
        ),
        (
            "numbers=[1",
            "numbers: expected a JSON list, got '[1'; as in numbers='[1, 2]', "
            "or numbers=1 numbers=2",
        ),
        (
            "colours=[red]",
            "colours: expected a JSON list, got '[red]'; "
            """as in colours='["red", "dark blue"]', or colours=red colours='dark blue'""",
        ),
        (
            "maybe_names=[a",
            """maybe_names: expected a JSON list or null, got '[a'; as in """
            """maybe_names='["a", "b"]', or maybe_names=a maybe_names=b""",
        ),
        ("todo=tea", """todo: expected a JSON object, got 'tea'; as in todo='{"title": "…"}'"""),
        ("todo=5", """todo: expected a JSON object, got '5'; as in todo='{"title": "…"}'"""),
        ("todos=tea", """todos: expected a JSON object, got 'tea'; as in todos='{"title": "…"}'"""),
        (
            "todos=[tea]",
            """todos: expected a JSON list, got '[tea]'; as in todos='[{"title": "…"}]'""",
        ),
        ("counts=a", """counts: expected a JSON object, got 'a'; as in counts='{"name": 1}'"""),
        (
            "place=Delft",
            """place: expected a JSON object, got 'Delft'; as in place='{"name": "…"}'""",
        ),
        (
            "todo_or_count=x",
            "todo_or_count: expected an integer or a JSON object, got 'x'; "
            """as in todo_or_count='{"title": "…"}'""",
        ),
        (
            "wide=x",
            "wide: expected a JSON object, got 'x'; "
            """as in wide='{"a": 5, "b": "x", "c": [1.5], …}'""",
        ),
        (
            "loop=x",
            "loop: expected a JSON object, got 'x'; "
            """as in loop='{"next": {"next": {"next": {}}}}'""",
        ),
        (
            'todo={"title": "' + "x" * 60 + '", priority: 1}',
            'todo: expected a JSON object, got \'{"title": "' + "x" * 49 + "'…, "
            """which is not JSON at line 1, column 75; as in todo='{"title": "…"}'""",
        ),
        ("text:=two", """text: not JSON: 'two'; quote it for the shell, as in text:='"two"'"""),
        ("text:=", """text: not JSON: nothing; quote it for the shell, as in text:='""'"""),
        ("sure:=True", "sure: not JSON: 'True'; write sure:=true"),
        ("text:=None", "text: not JSON: 'None'; write text:=null"),
        ("text:=NaN", """text: not JSON: 'NaN'; quote it for the shell, as in text:='"NaN"'"""),
        (
            "names:=[a]",
            """names: not JSON: '[a]'; quote it for the shell, as in names:='["a", "b"]'""",
        ),
        (
            "place:={city: Delft}",
            "place: not JSON: '{city: Delft}'; quote it for the shell, "
            """as in place:='{"name": "text"}'""",
        ),
        (
            "text:=" + "[" * 100_000,
            "text: not JSON: '" + "[" * 60 + "'…; quote it for the shell, "
            """as in text:='["a", "b"]'""",
        ),
        (
            '{"a"',
            "an argument in braces: expected a JSON object of all arguments, "
            """as in '{"name": "text"}', got '{"a"'""",
        ),
    ],
)
def test_what_does_not_fit_is_told_with_what_would(word: str, told: str) -> None:
    with pytest.raises(BadArgument) as raised:
        arguments(word)

    assert str(raised.value) == told


def test_a_file_that_is_not_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("two\n")

    with pytest.raises(BadArgument) as raised:
        arguments(f"text:=@{tmp_path}/file")

    assert str(raised.value) == f"text: '{tmp_path}/file': not JSON: 'two\\n'"


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        (["a=1"], {"a": "1"}),
        (["a:=1"], {"a": "1"}),
        (["a:=true", "b:=null"], {"a": "true", "b": "null"}),
        (['a:="@me"'], {"a": "@me"}),
        (["a=x", "b=1", "a=é"], {"a": '["x", "é"]', "b": "1"}),
        (["a:=1", "a=x"], {"a": '[1, "x"]'}),
        (['{"a": {"b": [1]}, "c": "d"}'], {"a": '{"b": [1]}', "c": "d"}),
    ],
)
def test_arguments_of_prompts_are_texts(words: list[str], sent: dict[str, str]) -> None:
    assert texts(split(words, no_stdin)) == sent


@pytest.mark.parametrize(
    ("stdin", "told"),
    [
        (
            b"",
            "stdin: expected a JSON object of all arguments, "
            """as in '{"name": "text"}', got nothing""",
        ),
        (
            b"[1]",
            "stdin: expected a JSON object of all arguments, "
            """as in '{"name": "text"}', got '[1]'""",
        ),
        (b"{\xff}", "stdin: not UTF-8 at byte 1"),
    ],
)
def test_stdin_must_be_an_object(stdin: bytes, told: str) -> None:
    with pytest.raises(BadArgument) as raised:
        arguments("-", stdin=stdin)

    assert str(raised.value).startswith(told)


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
