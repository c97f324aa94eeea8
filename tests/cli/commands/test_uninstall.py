"""`toolhaft uninstall`: what is removed, and what stays."""

from tests.cli.installing.client_files import install, uninstall
from tests.cli.installing.conftest import House


def test_two_servers_can_leave_in_any_order(house: House) -> None:
    before = house.tree()
    for order in (["one", "two"], ["two", "one"]):
        for name in ("one", "two"):
            install(house, "cursor", "goose", "codex", "notes.py", "--name", name)
        for name in order:
            uninstall(house, "cursor", "goose", "codex", name)

        assert house.tree() == before


def test_the_earlier_state_is_kept_until_the_last_of_ours_is_gone(house: House) -> None:
    path = house.put(".cursor/mcp.json", "{}")
    backup = path.with_name("mcp.json.toolhaft.bak")

    install(house, "cursor", "notes.py", "--name", "one")
    install(house, "cursor", "notes.py", "--name", "two")
    first = backup.read_text()
    uninstall(house, "cursor", "one")
    kept = backup.exists()
    uninstall(house, "cursor", "two")

    assert (first, kept, backup.exists()) == ("{}", True, False)


def test_folders_go_with_the_last_who_is_in_them(house: House) -> None:
    """Made for one client, and used by another."""
    before = house.tree()
    install(house, "claude-desktop", "notes.py")
    install(house, "zed", "notes.py")
    uninstall(house, "claude-desktop", "notes")
    assert (house.home / ".config" / "zed").is_dir()
    uninstall(house, "zed", "notes")

    assert not (house.home / ".config").exists()
    assert [path for path in house.tree() if "toolhaft" not in path] == list(before)


def test_an_entry_of_others_is_not_removed_unless_that_is_wanted(house: House) -> None:
    path = house.put(".cursor/mcp.json", '{"mcpServers": {"git": {"command": "git"}}}')

    refused = house.run("uninstall", "cursor", "git")
    uninstall(house, "cursor", "git", "--force")

    assert refused.status == 3
    assert "is not of toolhaft's making; --force removes it" in refused.err
    assert path.read_text() == '{"mcpServers": {}}'


def test_what_is_not_there_is_said_with_what_is(house: House) -> None:
    install(house, "cursor", "notes.py")

    done = house.run("uninstall", "cursor", "nots")

    assert done.status == 3
    assert "has no entry 'nots'; of ours, there is notes" in done.err


def test_a_dry_run_of_a_removal(house: House) -> None:
    install(house, "codex", "notes.py")
    before = house.tree()

    done = house.run("uninstall", "codex", "notes", "--dry-run")

    assert "+++ /dev/null\n" in done.out
    assert "-[mcp_servers.notes]\n" in done.out
    assert house.tree() == before


def test_a_removal_needs_a_name(house: House) -> None:
    done = house.run("uninstall", "cursor", "zed")

    assert done.status == 2
    assert "name the entry after the clients" in done.err


def test_all_that_a_project_has_is_removed(house: House) -> None:
    """Of clients that are not on this machine, too: it may be somebody else who uses them."""
    install(house, "zed", "opencode", "notes.py", "--scope", "project")

    done = house.run("uninstall", "--all", "notes", "--scope", "project")

    assert done.status == 0
    assert "zed" in done.out
    assert "opencode" in done.out
    assert house.run("uninstall", "--all", "notes", "--scope", "project").status != 0
