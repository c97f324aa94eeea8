"""Values that are shown to whom gave another."""

import pytest
from tests.cli.shared.read_arguments import arguments

from toolhaft.cli.shared.arguments import BadArgument


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
