"""What a docstring in any of four styles tells a model, and what it may look like otherwise."""

import pytest

from toolhaft.schema.docstrings import Docstring, read

NAMES = ("x", "y", "ctx", "größe", "args", "kwargs", "default")


def parameters(doc: str) -> dict[str, str]:
    return read(doc, NAMES, "tool 'find'").parameters


def description(doc: str) -> str | None:
    return read(doc, NAMES, "tool 'find'").description


def block(text: str) -> dict[str, str]:
    return parameters(f"Find.\n\nMCP Parameters:\n{text}")


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ("Find.\n\nArgs:\n    x: the x", {"x": "the x"}),
        ("Find.\n\nArguments:\n    x: the x", {"x": "the x"}),
        ("Find.\n\nParameters:\n    x: the x", {"x": "the x"}),
        ("Find.\n\nParams:\n    x: the x", {"x": "the x"}),
        ("Find.\n\nKeyword Args:\n    x: the x", {"x": "the x"}),
        ("Find.\n\nKeyword Arguments:\n    x: the x", {"x": "the x"}),
        ("Find.\n\nOther Parameters:\n    x: the x", {"x": "the x"}),
        ("Find.\n\nargs:\n    x: the x", {"x": "the x"}),
        ("Find.\n\nArgs:\n    x (int): the x", {"x": "the x"}),
        ("Find.\n\nArgs:\n    x(int): the x", {"x": "the x"}),
        ("Find.\n\nArgs:\n    x (int, optional) : the x", {"x": "the x"}),
        ("Find.\n\nArgs:\n    x (dict[str, int]): the x", {"x": "the x"}),
        ("Find.\n\nArgs:\n    x (int, default: 3): the x", {"x": "the x"}),
        ("Find.\n\nArgs:\n    x (tuple(int), y): the x", {"x": "the x"}),
        ("Find.\n\nArgs:\n    x (Literal['a',\n        'b']): the x", {"x": "the x"}),
        ("Find.\n\nArgs:\n    x: the x: one of a, b", {"x": "the x: one of a, b"}),
        ("Find.\n\nArgs:\n    x: see (this): that", {"x": "see (this): that"}),
        ("Find.\n\nArgs:\n    x: the x\n        default: 3", {"x": "the x", "default": "3"}),
        ("Find.\n\nArgs:\n    x: a\n    default: 3", {"x": "a", "default": "3"}),
        ("Find.\n\nArgs:\n    x:\n        the   x\n          - nested", {"x": "the x - nested"}),
        ("Find.\n\nArgs:\n    x: a\n\n        b\n\n    y: c", {"x": "a b", "y": "c"}),
        ("Find.\n\nArgs:\n    x: goes on\n    without indentation\n    y: c",
         {"x": "goes on without indentation", "y": "c"}),
        ("Find.\n\nArgs:\n    x, y: both", {"x": "both", "y": "both"}),
        ("Find.\n\nArgs:\n    *args: many\n    **kwargs: more\n    x: a", {"x": "a"}),
        ("Find.\n\nArgs:\n    größe: wie groß", {"größe": "wie groß"}),
        ("Find.\n\nArgs:\n    z: unknown\n        more of it\n    x: a", {"x": "a"}),
        ("Find.\n\nArgs:\n    x: first\n    x: second", {"x": "first"}),
        ("Find.\n\nArgs:\n    x:\n    x: second", {"x": "second"}),
        ("Find.\n\nArgs:\n    x (int no end\n    y: b", {"y": "b"}),
        ("Find.\n\nArgs:\n    x (int) no colon", {}),
        ("Find.\n\nArgs:\n    Nothing of note.", {}),
        ("Find.\n\nArgs:\n    : : (", {}),
        ("Find.\n\nArgs:", {}),
        ("Find.\n\nArgs:\n\nReturns:\n    x: a", {}),
        ("Find.\n\nArgs:\n    x: a\nReturns:\n    y: b", {"x": "a"}),
        ("Find.\n\nArgs:\n    x: a\ny: not indented", {"x": "a", "y": "not indented"}),
        ("Find.\n\n\tArgs:\n\t\tx: a\n\t\t\tb\n\t\ty: c", {"x": "a b", "y": "c"}),
        ("Find.\r\n\r\n    Args:\r\n        x: a\r\n            b\r\n", {"x": "a b"}),
        ("Args:\n    x: a\n    y: b", {"x": "a", "y": "b"}),
        ("Args:\n        x: a\n            b\n        y: c\n    ", {"x": "a b", "y": "c"}),
        ("\n    Args:\n        x: a\n    ", {"x": "a"}),
        ("Find.\n    Args:\n        x: a\n    ", {"x": "a"}),
    ],
)  # fmt: skip
def test_google_sections_describe_parameters(doc: str, expected: dict[str, str]) -> None:
    assert parameters(doc) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x : int\n    the x", {"x": "the x"}),
        ("x: int\n    the x", {"x": "the x"}),
        ("x\n    the x", {"x": "the x"}),
        ("x : int, default: 3\n    the x", {"x": "the x"}),
        ("x, y : int\n    both", {"x": "both", "y": "both"}),
        ("x : {'a', 'b'}\n    one\n      two\n\n    three", {"x": "one two three"}),
        ("x : int\n    a: b\ny : int\n    c", {"x": "a: b", "y": "c"}),
        ("x : int\n    a\n\ny : int\n    b", {"x": "a", "y": "b"}),
        ("x : int\n\ny : int\n    b", {"y": "b"}),
        ("*args, **kwargs\n    many\nx\n    a", {"x": "a"}),
        ("z : int\n    unknown", {}),
        ("x : int\n    first\nx : int\n    second", {"x": "first"}),
        ("x : int\n    a\n\nReturns\n-------\ny : int\n    b", {"x": "a"}),
        ("x : int\n    a\n\nOther Parameters\n----------------\ny\n    b", {"x": "a", "y": "b"}),
        ("", {}),
    ],
)
def test_numpy_sections_describe_parameters(body: str, expected: dict[str, str]) -> None:
    assert parameters(f"Find.\n\nParameters\n----------\n{body}") == expected


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        (":param x: the x", {"x": "the x"}),
        ("Find.\n\n:param x: the x", {"x": "the x"}),
        ("Find.\n\n:param int x: the x", {"x": "the x"}),
        ("Find.\n\n:param dict[y, int] x: the x", {"x": "the x"}),
        ("Find.\n\n:parameter x: the x", {"x": "the x"}),
        ("Find.\n\n:arg x: the x", {"x": "the x"}),
        ("Find.\n\n:argument x: the x", {"x": "the x"}),
        ("Find.\n\n:key x: the x", {"x": "the x"}),
        ("Find.\n\n:keyword x: the x", {"x": "the x"}),
        ("Find.\n\n:param x: a: b", {"x": "a: b"}),
        ("Find.\n\n:param x: a\n    b\n\n    c\n:param y: d", {"x": "a b c", "y": "d"}),
        ("Find.\n\n:param x:\n    a", {"x": "a"}),
        ("Find.\n\n:param x: a\n:type x: int\n:param y: b\n:type y: int", {"x": "a", "y": "b"}),
        ("Find.\n\n:param x: first\n:param x: second", {"x": "first"}),
        ("Find.\n\n:param z: unknown\n:param *args: many", {}),
        ("Find.\n\n:raises x: a\n:returns: y\n:return x: b", {}),
        ("Find.\n\n:param: nameless\n:param x\n:param", {}),
        ("Find.\n\n:params x: no such field", {}),
    ],
)
def test_sphinx_fields_describe_parameters(doc: str, expected: dict[str, str]) -> None:
    assert parameters(doc) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  x - one", {"x": "one"}),
        ("   x - one\n    y - two", {"x": "one", "y": "two"}),
        ("  x-one", {"x": "one"}),
        ("  x   -   one", {"x": "one"}),
        ("  x - one - two", {"x": "one - two"}),
        ("  x - one\n      two\n          three", {"x": "one two three"}),
        ("  x - one\n\n      two\n\n\n  y - three", {"x": "one two", "y": "three"}),
        ("  x -\n      one", {"x": "one"}),
        ("  x -", {}),
        ("  x - one\n     five", {"x": "one five"}),
        (" y - one space\n  x - one", {"x": "one", "y": "one space"}),
        ("\ty - tab\n  x - one\n\t\tmore", {"x": "one more", "y": "tab"}),
        ("  x - one\n    no hyphen here\n      two", {"x": "one no hyphen here two"}),
        ("  x - one\nEnd.\n  y - two", {"x": "one"}),
        ("  x - one\r\n      two\r\n", {"x": "one two"}),
        ("  größe - wie groß", {"größe": "wie groß"}),
        ("  x - one\n\nMCP Parameters:\n  y - two\n  z - wrong", {"x": "one"}),
        ("\nMCP Parameters:\n  x - too late", {}),
        ("", {}),
    ],
)
def test_a_block_describes_parameters(text: str, expected: dict[str, str]) -> None:
    assert block(text) == expected


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ("mcp PARAMETERS:\n  x - one", Docstring(None, {"x": "one"})),
        ("Find.\n\nMCP Parameters:  \n  x - one", Docstring("Find.", {"x": "one"})),
        ("Find. MCP Parameters:\n  x - a\n      b", Docstring("Find.", {"x": "a b"})),
        ("Find.\n\n    MCP Parameters:\n      x - one\n    ", Docstring("Find.", {"x": "one"})),
        ("A.\n\nMCP Parameters: x\n  y - b", Docstring("A.\n\nMCP Parameters: x\n  y - b", {})),
        (
            "A.\n\nOf all MCP parameters:\n  z - b",
            Docstring("A.\n\nOf all MCP parameters:\n  z - b", {}),
        ),
        ("A.\n\nMCP Parameters:\n  x - one\nB.", Docstring("A.\n\nB.", {"x": "one"})),
    ],
)
def test_a_block_begins_where_its_title_ends_a_line(doc: str, expected: Docstring) -> None:
    assert read(doc, NAMES, "tool 'find'") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("  x - one\n  x - two", "tool 'find': .*describe 'x' twice; remove one"),
        ("  z - one", "tool 'find': .*describe 'z', but the parameters are: x, y, ctx"),
        ("      one\n  x - two", "tool 'find': .*begin with 'one'; .*'name - text'"),
    ],
)
def test_a_wrong_block_is_refused(text: str, message: str) -> None:
    with pytest.raises(TypeError, match=f"^{message}"):
        block(text)


def test_an_unknown_name_of_a_function_without_parameters_is_refused() -> None:
    with pytest.raises(TypeError, match="the parameters are: none"):
        read("MCP Parameters:\n  z - one", (), "tool 'find'")


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ("Args:\n    x: google\n\n:param x: sphinx\n:param y: b", {"x": "google", "y": "b"}),
        (
            "Find.\n\nParameters\n----------\nx : int\n    a\n\nArgs:\n    y: b",
            {"x": "a", "y": "b"},
        ),
        ("Find.\n\nParameters\n----------\nx : int\n    a\n:param y: b", {"x": "a", "y": "b"}),
        ("Find.\n\nArgs:\n    x: a\n\nMCP Parameters:\n  x - b", {"x": "b"}),
        ("Find.\n\nMCP Parameters:\n  x - b\n\nArgs:\n    x: a\n    y: c", {"x": "b", "y": "c"}),
    ],
)
def test_styles_may_be_mixed(doc: str, expected: dict[str, str]) -> None:
    assert parameters(doc) == expected


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ("", None),
        ("  \n\t\n ", None),
        ("Find.", "Find."),
        ("  Find   things. ", "Find things."),
        ("\n    Find\n    things.\n\n\n    Then\n    stop.\n    ", "Find things.\n\nThen stop."),
        ("Args:\n    x: a", None),
        ("Find.\n\nArgs:\n    x: a", "Find."),
        ("Find.\nArgs:\n    x: a\nMore.", "Find.\n\nMore."),
        ("Find.\n\nArgs:\n    x: a\n\n\nMore\ntext.", "Find.\n\nMore text."),
        ("Find.\n\nArgs:\n\nReturns:\n    a: b", "Find."),
        ("Find.\n\nReturns:\n    a\n\nRaises:\n    B: c\n\nYields:\n    d", "Find."),
        ("Find.\n\nReturn:\n    a\n\nMore.", "Find.\n\nMore."),
        ("Find.\n\nReturns\n-------\nint\n    a\n\nRaises\n------\nB\n    c", "Find."),
        ("Find.\n\nReturns\n-------\nint\n    a\n\nSome\nmore.", "Find.\n\nSome more."),
        ("Find.\n\nParameters\n----------\nx\n    a\n\nNotes\n-----\nSome\ntext.",
         "Find.\n\nNotes\n-----\nSome text."),
        ("Find.\n:param x: a\n    b\n:returns: c\n:rtype: int\n:raises B: d\n:type x: B", "Find."),
        ("Find.\n\n:param x: a\n\nMore.", "Find.\n\nMore."),
        ("Find.\n\n:class:`A` is\nkept.", "Find.\n\n:class:`A` is kept."),
        ("Find.\n\nNote:\n    Kept\n    as is.\n\nArgs:\n    x: a",
         "Find.\n\nNote:\n    Kept\n    as is."),
        ("Takes some args: many\nof them.", "Takes some args: many of them."),
        ("Calls it with these args:\nall of them.", "Calls it with these args: all of them."),
        ("Calls it with these\nargs:\nall of them.", "Calls it with these args: all of them."),
        ("Find.\n\nReturns: the x.", "Find.\n\nReturns: the x."),
        ("Find: größer\nals je.", "Find: größer als je."),
        ("Find.\n\nArgs:\n    * x: a\n    * y: b", "Find.\n\nArgs:\n    * x: a\n    * y: b"),
        ("Find.\n\nParameters:\n    x -- a\n\nReturns:\n    c", "Find.\n\nParameters:\n    x -- a"),
        ("Find.\n\nArgs:\n    nix: of another function", "Find."),
    ],
)  # fmt: skip
def test_the_description_is_what_is_no_section(doc: str, expected: str | None) -> None:
    assert description(doc) == expected


@pytest.mark.parametrize(
    "kept",
    [
        "Kinds:\n- one\n- two\n  goes on\n* three\n1. four",
        "Like this::\n\n    a\n      b\n    c",
        "```python\nfind(\n\n\n  1)\nArgs:\n    x: kept\n```",
        "Runs ```x``` and goes on.",
        "Examples:\n    >>> find(1)\n    2\n    >>> find(2)\n    3",
        ">>> find(1)\nfound\n1",
        "| a | b |\n| - | - |",
        "Example:\n    Parameters:\n        x: of a template",
    ],
)
def test_examples_and_lists_keep_their_lines(kept: str) -> None:
    doc = f"Find.\n\n{kept}\n\nArgs:\n    y: the y"

    assert read(doc, NAMES, "tool 'find'") == Docstring(f"Find.\n\n{kept}", {"y": "the y"})
    assert description(f"Find.\n\n{kept}") == f"Find.\n\n{kept}"


@pytest.mark.parametrize(
    "piece",
    [
        *("x", " ", "\t", "-", ":", "(", ")", ") ", "x,", "x , ", "\n", ":param ", "- "),
        *("    x: a\n", "x (", ":param x: a\n", "Args:\n", "x\n---\n", "```\n", ">>> a\n"),
        *("x : int\n    a\n\n", "      x\n", "  x -\n     a\n", "\n\nx", "    x (\n"),
    ],
)
@pytest.mark.parametrize(
    "start", ["Args:\n    x", "Parameters\n---\n", ":param x", "MCP Parameters: "]
)
def test_a_long_docstring_is_read_in_a_moment(start: str, piece: str) -> None:
    doc = f"Find.\n\n{start}{piece * (100_000 // len(piece))}"

    result = read(doc, ("x",), "tool 'find'")

    assert result.description is not None


@pytest.mark.parametrize("piece", ["x", "    x (", "    x: a\n", "x , ", ")  ", "\n"])
def test_a_megabyte_does_no_harm(piece: str) -> None:
    doc = f"Find.\n\nArgs:\n    x: {piece * (1_000_000 // len(piece))}"

    result = read(doc, ("x",), "tool 'find'")

    assert result.description == "Find."


def test_a_section_of_a_function_without_parameters_is_left_out() -> None:
    assert read("Find.\n\nArgs:\n    None.", (), "tool 'find'") == Docstring("Find.", {})
