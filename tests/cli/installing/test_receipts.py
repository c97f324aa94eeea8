"""Receipts: what was written, and what was there before."""

from tests.cli.installing.client_files import USER_FILES, install, read, uninstall
from tests.cli.installing.conftest import House


def test_what_was_there_before_is_kept_anew_if_ours_had_gone(house: House) -> None:
    path = house.put(".cursor/mcp.json", '{"mcpServers":{}}')
    install(house, "cursor", "--attach", "notes")
    path.write_text('{"mcpServers":{"other":{"command":"/usr/bin/mine"}}}')
    before = house.tree()["home/.cursor/mcp.json"]

    install(house, "cursor", "--attach", "b")
    backup = path.with_name("mcp.json.toolhaft.bak")
    kept = backup.read_bytes()
    uninstall(house, "cursor", "b")

    assert kept == before
    assert path.read_bytes() == before
    assert not backup.exists()


def test_without_receipts_an_entry_can_still_be_removed(house: House) -> None:
    install(house, "cursor", "codex", "goose", "notes.py")
    (house.home / ".local/state/toolhaft/installed.json").unlink()

    uninstall(house, "cursor", "codex", "goose", "notes")

    assert read(house.home / USER_FILES["cursor"]) == {"mcpServers": {}}
    assert read(house.home / USER_FILES["codex"]) == {}
    assert read(house.home / USER_FILES["goose"]) == {"extensions": {}}


def test_broken_receipts_are_named(house: House) -> None:
    house.put(".local/state/toolhaft/installed.json", "[1]")

    done = house.run("install", "cursor", "notes.py", "--no-check")
    listed = house.run("clients")

    assert (listed.status, listed.out, listed.err) == (3, "", done.err)
    assert done.status == 3
    assert "installed.json, where toolhaft keeps what it has installed, cannot be read" in done.err
