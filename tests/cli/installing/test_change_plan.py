"""Changes are worked out for all clients, and carried out together or not at all."""

import pytest
from tests.cli.installing.client_files import USER_FILES, entry, install
from tests.cli.installing.conftest import House


def test_several_clients_at_once(house: House) -> None:
    out = install(house, "cursor", "zed", "notes.py")

    assert "cursor: added 'notes' in " in out
    assert "zed: added 'notes' in " in out
    assert "next: " in out
    assert entry(house, "cursor") == entry(house, "zed")


def test_two_clients_with_one_file(house: House) -> None:
    out = install(house, "claude-code", "copilot", "notes.py", "--scope", "project")

    assert "copilot: reads the same file as claude-code" in out


def test_two_clients_whose_files_are_links_to_one(house: House) -> None:
    real = house.put("mcp.json", '{"mcpServers":{}}')
    for client in ("cursor", "windsurf"):
        link = house.home / USER_FILES[client]
        link.parent.mkdir(parents=True)
        link.symlink_to(real)

    out = install(house, "cursor", "windsurf", "notes.py")

    assert "windsurf: reads the same file as cursor" in out


BROKEN = {
    "cursor": ('{\n  "mcpServers": {\n    "a" 1\n  }\n}', "line 3, column 9"),
    "codex": ("[a\n", "line 1, column 3"),
    "goose": ("extensions: [\n", "line 1"),
}


@pytest.mark.parametrize("client", list(BROKEN))
def test_a_broken_file_stops_everything(house: House, client: str) -> None:
    text, where = BROKEN[client]
    path = house.put(USER_FILES[client], text)
    before = house.tree()

    done = house.run("install", "zed", client, "notes.py", "--no-check")

    assert (done.status, done.out) == (3, "")
    assert str(path) in done.err
    assert where in done.err
    assert house.tree() == before


def test_a_read_only_file_stops_everything(house: House) -> None:
    path = house.put(".cursor/mcp.json", "{}")
    path.chmod(0o444)
    before = house.tree()

    done = house.run("install", "zed", "cursor", "notes.py", "--no-check")

    assert done.status == 3
    assert "it is read-only; make it writable first" in done.err
    assert house.tree() == before


def test_a_folder_in_the_place_of_a_file_stops_everything(house: House) -> None:
    (house.home / ".cursor/mcp.json").mkdir(parents=True)

    done = house.run("install", "zed", "cursor", "notes.py", "--no-check")

    assert done.status == 3
    assert "this is no file; it is a folder" in done.err
    assert not (house.home / ".config").exists()


def test_a_dry_run_shows_the_difference_and_changes_nothing(house: House) -> None:
    path = house.put(".cursor/mcp.json", '{"mcpServers": {\n  "a": 1 // one\n}}')
    before = house.tree()

    done = house.run("install", "cursor", "notes.py", "--no-check", "--dry-run", "--name", "n")
    command = done.out.split('"command": "')[1].split('"')[0]

    assert done.status == 0
    assert done.out == (
        f"--- {path}\n+++ {path}\n@@ -2 +2,8 @@\n"
        '~ line 2 stays, and gets a comma\n+  "n": {\n'
        f'+    "command": "{command}",\n+    "args": [\n+      "run",\n'
        f'+      "{house.project}/notes.py"\n+    ]\n+  }}\n'
    )
    assert house.tree() == before
