"""Which entries are ours, and which are those of others."""

import json

import pytest
import yaml
from tests.cli.installing.client_files import USER_FILES, entry, install, uninstall
from tests.cli.installing.conftest import House


def test_the_same_again_changes_nothing(house: House) -> None:
    for client in ("cursor", "codex", "goose"):
        install(house, client, "notes.py")
        before = house.tree()

        assert f"{client}: has 'notes' already" in install(house, client, "notes.py")
        assert house.tree() == before


def test_another_entry_is_not_replaced_unless_that_is_wanted(house: House) -> None:
    text = '{"mcpServers": {"notes": {"command": "theirs"}}}'
    path = house.put(".cursor/mcp.json", text)

    refused = house.run("install", "cursor", "notes.py", "--no-check")
    unchanged = path.read_text()
    forced = install(house, "cursor", "notes.py", "--force")
    replaced = entry(house, "cursor")["command"]
    back = uninstall(house, "cursor", "notes")

    assert refused.status == 3
    assert "has another entry 'notes'; --force replaces it, and --name gives yours" in refused.err
    assert unchanged == text
    assert "cursor: replaced 'notes' in " in forced
    assert replaced != "theirs"
    assert "put back what was there before" in back
    assert path.read_text() == text


@pytest.mark.parametrize("client", ["cursor", "codex", "goose"])
def test_what_others_put_in_the_place_of_ours_is_theirs(house: House, client: str) -> None:
    theirs = {
        "cursor": '{"mcpServers": {"notes": {"command": "/usr/bin/mine"}}}',
        "codex": '[mcp_servers.notes]\ncommand = "/usr/bin/mine"\n',
        "goose": "extensions:\n  notes:\n    cmd: /usr/bin/mine\n",
    }
    path = house.put(USER_FILES[client], "")
    install(house, client, "--attach", "notes")
    path.write_text(theirs[client])

    done = house.run("uninstall", client, "notes")

    assert done.status == 3
    assert "is not of toolhaft's making; --force removes it" in done.err
    assert path.read_text() == theirs[client]


def test_ours_is_known_again_when_it_is_written_anew(house: House) -> None:
    install(house, "cursor", "goose", "--http", "https://example.org/mcp", "--name", "n")
    path = house.home / USER_FILES["goose"]
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text())))
    path = house.home / USER_FILES["cursor"]
    path.write_text(json.dumps(json.loads(path.read_text()), sort_keys=True))

    uninstall(house, "cursor", "goose", "n")

    assert not path.exists()
