"""What goes in where, and what is refused, by example."""

from typing import Any

import pytest

from toolhaft.cli.installing.editors import jsonc, toml_tables, yaml_blocks
from toolhaft.cli.installing.editors.text_edits import Unclear

ENTRY: dict[str, Any] = {"command": "/bin/toolhaft"}


def json_with(text: str) -> str:
    return jsonc.add(text, ["mcpServers"], "new", ENTRY).text


# Where an entry goes


def test_an_entry_follows_the_last_one_in_its_style() -> None:
    text = (
        "{\n"
        "    // mine\n"
        '    "mcpServers": {\n'
        '        "a": {"command": "x"} // about a\n'
        '        // "b": {}\n'
        "    }\n"
        "}"
    )

    assert json_with(text) == (
        "{\n"
        "    // mine\n"
        '    "mcpServers": {\n'
        '        "a": {"command": "x"}, // about a\n'
        '        "new": {\n'
        '            "command": "/bin/toolhaft"\n'
        "        }\n"
        '        // "b": {}\n'
        "    }\n"
        "}"
    )


def test_a_trailing_comma_stays_one() -> None:
    text = '{\n\t"mcpServers": {\n\t\t"a": 1,\n\t},\n}\n'

    assert json_with(text) == (
        '{\n\t"mcpServers": {\n\t\t"a": 1,\n\t\t"new": {\n\t\t\t"command": "/bin/toolhaft"\n'
        "\t\t},\n\t},\n}\n"
    )


def test_an_object_on_one_line_stays_on_one_line() -> None:
    assert json_with('{"mcpServers": {"a": 1}}') == (
        '{"mcpServers": {"a": 1, "new": {"command": "/bin/toolhaft"}}}'
    )


def test_missing_parents_are_made() -> None:
    assert json_with('{\r\n  "theme": "dark"\r\n}\r\n') == (
        '{\r\n  "theme": "dark",\r\n  "mcpServers": {\r\n    "new": {\r\n'
        '      "command": "/bin/toolhaft"\r\n    }\r\n  }\r\n}\r\n'
    )


def test_a_table_of_toml_goes_to_the_end() -> None:
    entry = {"command": "x", "args": ["a b"], "env": {"K": "\x7f", "a b": "é"}}

    assert toml_tables.add("model = 1\n", ["mcp_servers"], "my server", entry).text == (
        'model = 1\n\n[mcp_servers."my server"]\ncommand = "x"\nargs = ["a b"]\n'
        'env = { K = "\\u007F", "a b" = "é" }\n'
    )


def test_an_entry_of_yaml_goes_before_the_others() -> None:
    text = "extensions:\n    # about git\n    git:\n        cmd: git\n"

    assert yaml_blocks.add(text, ["extensions"], "new", {"cmd": "x", "args": ["-a"]}).text == (
        'extensions:\n    new:\n      cmd: "x"\n      args:\n        - "-a"\n'
        "    # about git\n    git:\n        cmd: git\n"
    )


# What others wrote since


def test_entries_that_came_later_stay() -> None:
    text, undo = jsonc.add("{}", ["mcpServers"], "new", ENTRY)
    theirs = text.replace("\n    }\n  }", '\n    }, // ours\n    "b": {} // theirs\n  }')

    assert jsonc.take(theirs, ["mcpServers"], "new", undo) == (
        '{\n  "mcpServers": { // ours\n    "b": {} // theirs\n  }\n}'
    )


def test_a_comment_never_swallows_what_follows() -> None:
    text = '{"mcpServers": {"a": 1, // about a\n"new": 2, "b": 3}}'

    left = jsonc.take(text, ["mcpServers"], "new", {})

    assert jsonc.value(left) == {"mcpServers": {"a": 1, "b": 3}}
    assert "// about a\n" in left


def test_a_parent_with_a_comment_of_theirs_stays() -> None:
    text, undo = jsonc.add('{"x": 1}', ["mcpServers"], "new", ENTRY)
    theirs = text.replace('"mcpServers": {', '"mcpServers": { /* keep */ ')

    assert jsonc.take(theirs, ["mcpServers"], "new", undo) == (
        '{"x": 1, "mcpServers": { /* keep */}}'
    )


def test_tables_below_ours_go_with_it() -> None:
    text = (
        "[mcp_servers.new]\ncommand = 'x'\n\n[mcp_servers.new.env]\nK = '[mcp_servers.new]'\n\n"
        "# theirs\n[mcp_servers.newer]\n"
    )

    assert toml_tables.take(text, ["mcp_servers"], "new", {}) == (
        "\n# theirs\n[mcp_servers.newer]\n"
    )


def test_a_section_that_was_there_stays_when_it_is_empty() -> None:
    text = "extensions: # none\n  new:\n    cmd: x\nmodel: y\n"

    assert yaml_blocks.take(text, ["extensions"], "new", {}) == "extensions: {} # none\nmodel: y\n"


@pytest.mark.parametrize(
    ("format_", "parent", "text"),
    [
        (jsonc, "mcpServers", '{"mcpServers": {"new": /* c */ {\n"old": 1}, "b": 2}}'),
        (toml_tables, "mcp_servers", "[mcp_servers.new]\nold = 1\n\n[mcp_servers.new.env]\n[z]\n"),
        (toml_tables, "mcp_servers", "[mcp_servers.new]\nold = 1"),
        (yaml_blocks, "extensions", "extensions:\n   new:\n      old: |\n        x\n   b: 1\n"),
        (yaml_blocks, "extensions", "extensions:\n   new:\n      old: 1"),
    ],
    ids=["json", "toml", "toml-end", "yaml", "yaml-end"],
)
def test_what_was_replaced_comes_back(format_: Any, parent: str, text: str) -> None:
    new, undo = format_.replace(text, [parent], "new", {"command": "x"})

    assert "old" not in new
    assert "new" in format_.value(new)[parent]
    assert format_.take(new, [parent], "new", undo) == text


# What is refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n  "a" 1\n}', "line 2, column 7: \":\" was expected"),
        ('{"a": 1 "b": 2}', 'line 1, column 9: "," or "}" was expected'),
        ('{"a": [1 2]}', 'line 1, column 10: "," or "]" was expected'),
        ("{a: 1}", 'line 1, column 2: a name in quotes or "}" was expected'),
        ('{"a": nul}', "line 1, column 7: nul is no value of JSON"),
        ('{"a": NaN}', "line 1, column 7: NaN is no value of JSON"),
        ('{"a": "\n"}', "line 1, column 7: a value was expected"),
        ('{"a": 1', 'line 1, column 8: "," or "}" was expected'),
        ("{} {}", "line 1, column 4: the end was expected"),
        ("{} /* open", "line 1, column 4: the end was expected"),
        ("{,}", 'line 1, column 2: a name in quotes or "}" was expected'),
        ("[1]", "line 1, column 1: this is no object"),
        ('{"mcpServers": []}', "line 1, column 16: 'mcpServers' is no object"),
        ('{\r\n"mcpServers": {},\r\n"mcpServers": {}}', "line 3, column 1: 'mcpServers' stands"),
        ("[" * 100_000, "nested too deeply"),
    ],
    ids=range(15),
)  # fmt: skip
def test_json_that_is_refused(text: str, message: str) -> None:
    with pytest.raises(Unclear) as refused:
        json_with(text)

    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = \n", "Invalid value (at line 1, column 5)"),
        ("mcp_servers = { a = { command = 'x' } }\n", "mcp_servers is written in braces"),
    ],
)
def test_toml_that_is_refused(text: str, message: str) -> None:
    with pytest.raises(Unclear) as refused:
        toml_tables.add(text, ["mcp_servers"], "new", ENTRY)

    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{a: 1}\n", "line 1: a key was expected"),
        ("a: 1\n---\nb: 2\n", "line 2: there is more than one document"),
        ("--- {a: 1}\n", "line 1: there is more than one document, or one in line"),
        ("a: 1\n...\n", "line 2: this is not understood"),
        ("? a\n: b\n", "line 1: this is not understood"),
        ("a:\n\tb: 1\n", "line 2: tabs"),
        ("a: 'open\n", "line 1: a text or a bracket does not end"),
        ("a: 'open\nb: 1'\n", "line 2: a text or a bracket does not end before this"),
        ("a:\n  b: 'open\n  c: 1'\n", "line 3: a text or a bracket does not end before this"),
        ("a:\n  b: [1,\n  c: 2]\n", "line 3: a text or a bracket does not end before this"),
        ("a: text\n  b: 1\n", "line 2: a key stands where a text goes on"),
        ("extensions:\n  a: 1\nextensions:\n", "line 3: 'extensions' stands here again"),
        ("extensions: {a: 1}\n", "line 1: 'extensions' is not written as one entry below"),
        ("extensions: &x\n  a: 1\n", "line 1: 'extensions' is not written as one entry below"),
        ("extensions:\n- a\n", "line 1: 'extensions' is not written as one entry below"),
        ("extensions:\n  - a\n", "line 1: 'extensions' is not written as one entry below"),
        ("extensions:\n    a: 1\n  b: 2\n", "line 1: 'extensions' is not written as one entry"),
        ("extensions:\n  a: 1\n  a: 2\n", "line 1: 'extensions' is not written as one entry"),
        ("a: |\n  text", "the last line is within a text; end it with a new line first"),
    ],
    ids=range(19),
)
def test_yaml_that_is_refused(text: str, message: str) -> None:
    with pytest.raises(Unclear) as refused:
        yaml_blocks.add(text, ["extensions"], "new", ENTRY)

    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('the "x\n      "book', 'says\n      hello" at times'),
        ("see\n      [1", "see\n      2] there"),
    ],
    ids=["quote", "bracket"],
)
def test_a_text_without_quotes_takes_no_neighbour_with_it(one: str, other: str) -> None:
    kept = f"  git:\n    cmd: git\n    about: {other}\n  slack:\n    cmd: x\n"
    text = f"extensions:\n  new:\n    cmd: x\n    about: {one}\n{kept}"

    assert yaml_blocks.take(text, ["extensions"], "new", {}) == f"extensions:\n{kept}"


@pytest.mark.parametrize("format_", [jsonc, toml_tables, yaml_blocks], ids=["json", "toml", "yaml"])
def test_what_is_not_there_cannot_be_taken_out(format_: Any) -> None:
    with pytest.raises(Unclear, match=r"there is no .*servers\.new"):
        format_.take("", ["servers"], "new", {})
