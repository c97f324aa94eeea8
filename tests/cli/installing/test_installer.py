"""Whatever a file looks like: an entry goes in without touching the rest, and leaves no trace."""

import tomllib
from collections.abc import Callable
from itertools import takewhile
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.cli.installing.desks import at_desk
from tests.cli.installing.texts import ENTRY, jsonc_texts, stripped, toml_texts, yaml_texts

from toolhaft.cli.installing.clients import CLIENTS, Wanted
from toolhaft.cli.installing.editors import jsonc, toml_tables, yaml_blocks
from toolhaft.cli.installing.editors.text_edits import Format, without

Read = Callable[[str], Any]
OTHER = {"command": "/bin/other", "args": []}
thorough = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def toml(text: str) -> Any:
    return tomllib.loads(text.removeprefix("\ufeff"))


def yaml_value(text: str) -> Any:
    return yaml.safe_load(text.removeprefix("\ufeff")) or {}


def between(old: str, new: str) -> tuple[str, str]:
    """What is left of two texts without what they begin and end with in common."""
    start = common(old, new)
    old, new = old[start:], new[start:]
    end = common(old[::-1], new[::-1])
    return old[: len(old) - end], new[: len(new) - end]


def common(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def check(format_: Format, read: Read, text: str, parent: str) -> None:
    """An entry in and out; and two, out in both orders."""
    before = read(text)
    assume(isinstance(before.get(parent) or {}, dict))

    one, undo = format_.add(text, [parent], "new", ENTRY)
    two, undo_two = format_.add(one, [parent], "second", OTHER)

    assert read(one)[parent]["new"] == ENTRY
    assert without(read(one), [parent, "new"]) == without(before, [parent, "new"])
    assert without(read(two), [parent, "second"]) == read(one)
    assert format_.take(two, [parent], "second", undo_two) == one
    assert format_.take(one, [parent], "new", undo) == text
    left = format_.take(two, [parent], "new", undo)
    assert read(left)[parent]["second"] == OTHER
    assert format_.take(left, [parent], "second", {**undo, **undo_two}) == text


@thorough
@given(jsonc_texts())
def test_json_with_comments(text: str) -> None:
    check(jsonc, stripped, text, "mcpServers")
    old, new = between(text, jsonc.add(text, ["mcpServers"], "new", ENTRY).text)
    # Before and behind one place, everything is as it was. In that place there was nothing but
    # space, or the comments on the line of the last member, which follow its comma now.
    assert stripped(old) == {}
    assert old.strip() in new


@thorough
@given(toml_texts())
def test_toml(text: str) -> None:
    check(toml_tables, toml, text, "mcp_servers")
    assert toml_tables.add(text, ["mcp_servers"], "new", ENTRY).text.startswith(text)


@thorough
@given(yaml_texts())
def test_yaml(text: str) -> None:
    check(yaml_blocks, yaml_value, text, "extensions")
    old, new = between(text, yaml_blocks.add(text, ["extensions"], "new", ENTRY).text)
    # One of the ways to say that there are none gives way to the first; all else is as it was.
    nothing, _, comment = old.partition("#")
    assert nothing.strip() in ("", "{}", "null", "~")
    assert comment in new


@thorough
@given(jsonc_texts())
def test_without_a_receipt_json_still_says_the_same(text: str) -> None:
    before = stripped(text)
    one = jsonc.add(text, ["mcpServers"], "new", ENTRY).text

    left = jsonc.take(one, ["mcpServers"], "new", {})

    keys = ["mcpServers", "new"]
    assert without(stripped(left), keys) == without(before, keys)


# Through files and receipts

CLIENT_OF = {"jsonc": "cursor", "toml": "codex", "yaml": "goose"}


@settings(thorough, max_examples=40)
@given(
    st.one_of(
        st.tuples(st.just("jsonc"), jsonc_texts()),
        st.tuples(st.just("toml"), toml_texts()),
        st.tuples(st.just("yaml"), yaml_texts()),
    ),
    st.permutations(["one", "two", "three"]),
)
def test_files_are_given_back_as_they_were(
    kind_and_text: tuple[str, str], order: list[str]
) -> None:
    kind, text = kind_and_text
    client = CLIENTS[CLIENT_OF[kind]]
    with TemporaryDirectory() as home:
        path = at_desk(home).where(client, "user")
        path.parent.mkdir(parents=True)
        path.write_bytes(text.encode())
        for name in ("one", "two", "three"):
            desk = at_desk(home)
            wanted = Wanted(name, "/bin/toolhaft", ["run", name])
            desk.do(desk.install(client, wanted, scope="user", via="file", force=False))
        full = path.read_bytes()
        for name in order:
            desk = at_desk(home)
            desk.do(desk.uninstall(client, name, scope="user", via="file", force=False))

        assert full != text.encode()
        assert path.read_bytes() == text.encode()
        assert [each.name for each in path.parent.iterdir()] == [path.name]
