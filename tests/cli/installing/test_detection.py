"""Which clients are there."""

import json

import pytest
from tests.cli.installing.client_files import USER_FILES, install, uninstall
from tests.cli.installing.conftest import House


def test_all_clients_that_are_there(house: House) -> None:
    (house.home / ".cursor").mkdir()
    (house.home / ".config/zed").mkdir(parents=True)
    before = house.tree()

    out = install(house, "--all", "notes.py")
    gone = uninstall(house, "--all", "notes")

    assert [line.split(":")[0] for line in out.splitlines() if line[0] != " "] == ["cursor", "zed"]
    assert "zed: removed 'notes'" in gone
    assert house.tree() == before


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["notes.py", "--scope", "project"], "has no configuration for a project"),
        (["--http", "https://e.org/mcp", "--name", "n"], "starts its servers itself"),
    ],
    ids=["project", "url"],
)
def test_of_all_clients_those_that_cannot_are_left_out(
    house: House, words: list[str], reason: str
) -> None:
    house.put(USER_FILES["claude-desktop"], "{}")
    alone = house.run("install", "--all", *words, "--no-check")
    house.put(USER_FILES["cursor"], "{}")
    out = install(house, "--all", *words)
    named = house.run("install", "claude-desktop", "cursor", *words, "--no-check")

    assert (alone.status, named.status) == (3, 3)
    assert "no client that is there can take this" in alone.err
    assert f"claude-desktop: left out, since Claude Desktop {reason}" in out
    assert "cursor: added " in out


def test_a_client_is_not_found_by_what_we_have_made(house: House) -> None:
    def by(client: str) -> str | None:
        rows = json.loads(house.run("clients", "--json").out)["clients"]
        return {row["client"]: row["by"] for row in rows if row["scope"] == "user"}[client]

    install(house, "goose", "notes.py")
    assert by("goose") is None
    house.put(".config/goose/state.db", "")
    assert by("goose") == f"{house.home}/.config/goose"

    (house.home / ".cursor").mkdir()
    install(house, "cursor", "notes.py")
    assert by("cursor") == f"{house.home}/.cursor"

    house.put(".config/zed/settings.json", "{}")
    install(house, "zed", "notes.py")
    assert by("zed") == f"{house.home}/.config/zed/settings.json"
