"""Arguments of the shell, read without a server."""

from pathlib import Path

import pytest
from tests.cli.shared.read_arguments import arguments, no_stdin

from toolhaft.cli.shared.arguments import BadArgument, split, texts


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
