"""`toolhaft install` and `uninstall`, with the files of every client."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from tests.cli.installing.conftest import SOURCE, House

from toolhaft.cli.installing.clients import CLIENTS
from toolhaft_bridge.socket_directory import directories, own_directory, paths_of

USER_FILES = {
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "claude-code": ".claude.json",
    "vscode": ".config/Code/User/mcp.json",
    "copilot": ".copilot/mcp-config.json",
    "cursor": ".cursor/mcp.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "gemini": ".gemini/settings.json",
    "codex": ".codex/config.toml",
    "zed": ".config/zed/settings.json",
    "goose": ".config/goose/config.yaml",
    "opencode": ".config/opencode/opencode.json",
}
PARENTS = {"vscode": "servers", "codex": "mcp_servers", "zed": "context_servers"}
PARENTS |= {"goose": "extensions", "opencode": "mcp"}
SAMPLES = {
    "json": '\ufeff// mine\r\n{\r\n\t"theme": "dark", // so\r\n\t"mcpServers": {},\r\n}',
    "toml": 'model = "x" # mine\n\n[mcp_servers.git] # theirs\ncommand = "git"',
    "yaml": "# mine\nextensions:\n    git: # theirs\n        cmd: git\nMODEL: x",
}
every_client = pytest.mark.parametrize("client", list(USER_FILES))


def read(path: Path) -> Any:
    """A file as its client would read it."""
    text = path.read_text()
    if path.suffix == ".toml":
        return tomllib.loads(text)
    return yaml.safe_load(text) if path.suffix == ".yaml" else json.loads(text)


def entry(house: House, client: str, name: str = "notes") -> Any:
    """What the file of a client has under a name."""
    return read(house.home / USER_FILES[client])[PARENTS.get(client, "mcpServers")][name]


def install(house: House, *words: str) -> str:
    """Install without looking at the server; what is printed."""
    done = house.run("install", *words, "--no-check")
    assert (done.status, done.err) == (0, "")
    return done.out


def uninstall(house: House, *words: str) -> str:
    done = house.run("uninstall", *words)
    assert (done.status, done.err) == (0, "")
    return done.out


# In and out


@every_client
def test_where_there_was_nothing_nothing_is_left(house: House, client: str) -> None:
    before = house.tree()
    install(house, client, "notes.py", "--env", "K=v")
    words = json.dumps(entry(house, client))
    uninstall(house, client, "notes")

    assert str(house.project / "notes.py") in words
    assert '"K": "v"' in words
    assert house.tree() == before


@every_client
def test_a_file_that_was_there_comes_back_to_the_byte(house: House, client: str) -> None:
    kind = Path(USER_FILES[client]).suffix[1:]
    path = house.put(USER_FILES[client], SAMPLES[kind])
    path.chmod(0o640)
    before = house.tree()

    install(house, client, "notes.py")
    during = path.read_text()
    uninstall(house, client, "notes")

    assert "notes.py" in during
    assert all(word in during for word in ("mine", "so" if kind == "json" else "theirs"))
    assert house.tree() == before
    assert path.stat().st_mode & 0o777 == 0o640


@every_client
def test_a_project_has_a_file_of_its_own(house: House, client: str) -> None:
    before = house.tree()
    done = house.run("install", client, "notes.py", "--no-check", "--scope", "project")
    if not CLIENTS[client].project:
        assert done.status == 3
        assert "has no configuration for a project" in done.err
        return
    changed = house.tree().keys() - before.keys()
    uninstall(house, client, "notes", "--scope", "project")

    assert done.status == 0
    assert changed
    assert all(name.startswith("project/") for name in changed)
    assert house.tree() == before


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


def test_several_clients_at_once(house: House) -> None:
    out = install(house, "cursor", "zed", "notes.py")

    assert "cursor: added 'notes' in " in out
    assert "zed: added 'notes' in " in out
    assert "next: " in out
    assert entry(house, "cursor") == entry(house, "zed")


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


def test_a_server_of_opencode_may_be_called_servers(house: House) -> None:
    text = '{"mcp": {"servers": {"type": "local", "command": ["x"]}}}'
    house.put(USER_FILES["opencode"], text)
    install(house, "opencode", "notes.py")

    assert set(read(house.home / USER_FILES["opencode"])["mcp"]) == {"servers", "notes"}


def test_toml_may_have_values_that_equal_nothing(house: House) -> None:
    path = house.put(".codex/config.toml", "x = nan\ny = [{z = nan}]\n")
    install(house, "codex", "notes.py")
    during = path.read_text()
    uninstall(house, "codex", "notes")

    assert "notes.py" in during
    assert path.read_text() == "x = nan\ny = [{z = nan}]\n"


def test_a_dry_run_shows_no_secret_of_a_neighbour(house: House) -> None:
    text = '{"mcpServers": {\n  "a": {"command": "x",\n    "env": {"TOKEN": "precious"}\n  }\n}}\n'
    house.put(".cursor/mcp.json", text)
    out = install(house, "cursor", "notes.py", "--dry-run")

    assert "notes.py" in out
    assert "precious" not in out


def test_a_neighbour_on_one_line_is_not_shown_for_a_comma(house: House) -> None:
    text = '{\n"mcpServers": {\n  "b": {"url": "x"},\n  "a": {"env": {"TOKEN": "precious"}}\n}\n}\n'
    path = house.put(".cursor/mcp.json", text)
    coming = install(house, "cursor", "notes.py", "--dry-run")
    install(house, "cursor", "notes.py")
    going = house.run("uninstall", "cursor", "notes", "--dry-run").out

    assert "~ line 4 stays, and gets a comma\n" in coming
    assert "~ line 4 stays, and loses a comma\n" in going
    assert "precious" not in coming + going
    assert '"a": {"env": {"TOKEN": "precious"}},\n' in path.read_text()


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


def test_what_nobody_has_tried_is_said(house: House) -> None:
    house.put(".cursor/mcp.json", "{}")
    tried = install(house, "cursor", "notes.py")
    attached = install(house, "cursor", "--attach", "app")
    remote = install(house, "cursor", "--http", "https://example.org/mcp", "--name", "far")
    absent = install(house, "zed", "notes.py")
    shown = install(house, "goose", "--attach", "app", "--dry-run")

    assert "not tried" not in tried
    assert "not found" not in tried
    assert "app: was not tried; this asks it: toolhaft list --attach app\n" in attached
    assert "far: was not tried; this asks it: toolhaft list https://example.org/mcp\n" in remote
    assert "zed: was not found on this machine, so nobody has seen it read that file\n" in absent
    assert "not tried" not in shown


def test_what_others_add_meanwhile_stays(house: House) -> None:
    path = house.put(".cursor/mcp.json", "{}")
    install(house, "cursor", "notes.py")
    text = path.read_text().replace('"notes"', '"theirs": {"url": "x"},\n    "notes"')
    path.write_text(text)

    uninstall(house, "cursor", "notes")

    assert path.read_text() == '{\n  "mcpServers": {\n    "theirs": {"url": "x"}\n  }\n}'


def test_opencode_keeps_its_servers_in_one_of_two_places(house: House) -> None:
    path = house.put(USER_FILES["opencode"], '{"mcp": {"servers": {}}}')

    install(house, "opencode", "notes.py")

    assert list(read(path)["mcp"]["servers"]) == ["notes"]


def test_a_new_file_is_for_its_owner_only(house: House) -> None:
    install(house, "cursor", "notes.py")
    install(house, "cursor", "notes.py", "--scope", "project")

    assert (house.home / ".cursor/mcp.json").stat().st_mode & 0o777 == 0o600
    assert (house.project / ".cursor/mcp.json").stat().st_mode & 0o044 != 0


# What is there already


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


def test_our_own_entry_is_replaced_for_good(house: House) -> None:
    before = house.tree()
    install(house, "cursor", "codex", "goose", "notes.py")
    install(house, "cursor", "codex", "goose", "notes.py", "--env", "K=v", "--force")
    replaced = entry(house, "codex")["env"]
    uninstall(house, "cursor", "codex", "goose", "notes")

    assert replaced == {"K": "v"}
    assert house.tree() == before


def test_an_entry_of_others_is_not_removed_unless_that_is_wanted(house: House) -> None:
    path = house.put(".cursor/mcp.json", '{"mcpServers": {"git": {"command": "git"}}}')

    refused = house.run("uninstall", "cursor", "git")
    uninstall(house, "cursor", "git", "--force")

    assert refused.status == 3
    assert "is not of toolhaft's making; --force removes it" in refused.err
    assert path.read_text() == '{"mcpServers": {}}'


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


def test_ours_is_known_again_when_it_is_written_anew(house: House) -> None:
    install(house, "cursor", "goose", "--http", "https://example.org/mcp", "--name", "n")
    path = house.home / USER_FILES["goose"]
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text())))
    path = house.home / USER_FILES["cursor"]
    path.write_text(json.dumps(json.loads(path.read_text()), sort_keys=True))

    uninstall(house, "cursor", "goose", "n")

    assert not path.exists()


def test_what_is_not_there_is_said_with_what_is(house: House) -> None:
    install(house, "cursor", "notes.py")

    done = house.run("uninstall", "cursor", "nots")

    assert done.status == 3
    assert "has no entry 'nots'; of ours, there is notes" in done.err


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


# Nothing is written if anything is wrong


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


def test_a_dry_run_of_a_removal(house: House) -> None:
    install(house, "codex", "notes.py")
    before = house.tree()

    done = house.run("uninstall", "codex", "notes", "--dry-run")

    assert "+++ /dev/null\n" in done.out
    assert "-[mcp_servers.notes]\n" in done.out
    assert house.tree() == before


# What is installed


def test_a_process_that_attaches(house: House) -> None:
    install(house, "cursor", "--attach", "notes")

    written = entry(house, "cursor")
    assert Path(written["command"]).is_absolute()
    assert written["args"][-2:] == ["attach", "notes"]


def test_the_name_of_a_process_is_spelled_for_clients(house: House) -> None:
    install(house, "cursor", "--attach", "my.app")

    assert entry(house, "cursor", "my-app")["args"][-2:] == ["attach", "my.app"]


def test_on_windows_nothing_attaches(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolhaft.cli.commands.install.sys", SimpleNamespace(platform="win32"))
    done = house.run("install", "cursor", "--attach", "notes")

    assert (done.status, done.err) == (2, "toolhaft: attach is not supported on Windows yet\n")


@pytest.mark.parametrize("variable", ["XDG_RUNTIME_DIR", "TMPDIR"])
def test_a_process_is_found_with_the_variables_of_a_client(
    house: House, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    monkeypatch.setattr(os.path, "isdir", lambda path: str(path).startswith(str(tmp_path)))
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    socket = Path(own_directory()) / "notes.sock"
    socket.touch()

    install(house, "cursor", "--attach", "notes", "--env", "K=v")
    variables = entry(house, "cursor")["env"]
    monkeypatch.delenv(variable)
    alone = paths_of("notes")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert variables == {"K": "v", variable: str(tmp_path)}
    assert (alone, paths_of("notes")) == ([], [str(socket)])


def test_the_usual_directories_need_no_variable(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    monkeypatch.setenv("TMPDIR", "/tmp")
    install(house, "cursor", "--attach", "notes")

    assert "env" not in entry(house, "cursor")


def test_a_process_on_a_mac_is_found_without_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = "/var/folders/xy/T/"
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr(os, "confstr", {65537: mine}.get)
    theirs = directories({"TMPDIR": mine})

    assert theirs[-2:] == [f"{mine}toolhaft-{os.getuid()}", f"/tmp/toolhaft-{os.getuid()}"]
    assert theirs[-2] in directories({})


def test_a_server_elsewhere(house: House) -> None:
    url = "https://example.org/mcp"
    install(house, "cursor", "goose", "--http", url, "--name", "far")
    seen = entry(house, "cursor", "far"), entry(house, "goose", "far")["uri"]
    uninstall(house, "cursor", "goose", "far")
    refused = house.run("install", "claude-desktop", "--http", url, "--name", "far")

    assert seen == ({"url": url}, url)
    assert refused.status == 3
    assert "Claude Desktop starts its servers itself, and takes no URL" in refused.err


def test_a_module_is_found_from_the_folder_it_is_in(house: House) -> None:
    install(house, "cursor", "notes:server")
    here = entry(house, "cursor")["args"]
    install(house, "cursor", "json:x", "--name", "installed")

    assert here[-4:] == ["run", "notes:server", "--directory", str(house.project)]
    assert entry(house, "cursor", "installed")["args"][-2:] == ["run", "json:x"]


def test_a_folder_to_work_in(house: House) -> None:
    install(house, "cursor", "notes.py:server", "--directory", ".")

    assert entry(house, "cursor")["args"][-4:] == [
        "run",
        f"{house.project}/notes.py:server",
        "--directory",
        str(house.project),
    ]


def test_a_secret_could_be_named_only(house: House) -> None:
    out = install(house, "cursor", "zed", "notes.py", "--env", "API_KEY=1", "--env", "X=2")
    named = install(house, "windsurf", "notes.py", "--env", "API_KEY=${env:API_KEY}")

    assert "--env 'API_KEY=${env:API_KEY}' would name it only" in out
    assert out.count("API_KEY is now") == 1
    assert "API_KEY" not in named
    for value in ("pa$$word", "$API_KEY", "${API_KEY}"):  # which others look up
        out = install(house, "cursor", "notes.py", "--env", f"API_KEY={value}", "--force")
        assert "API_KEY is now" in out


@pytest.mark.parametrize("target", ["site", "./site", "."])
def test_a_project_is_found_from_anywhere(
    house: House, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    folder = house.project / ("msgspec" if target == "." else "site")  # both can be imported
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[tool.toolhaft]\nserver = "x:server"\n')
    monkeypatch.chdir(folder if target == "." else house.project)
    install(house, "cursor", target)

    assert entry(house, "cursor", folder.name)["args"][-2:] == ["run", str(folder)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["notes.py"], "name a client, or --all"),
        (["cursor", "--attach", "a b", "--name", "x"], "'a b' cannot be the name of a process"),
        (["cursor", "--attach", "a", "--directory", "."], "--directory is for servers that"),
        (["zzzzz", "notes.py"], "'zzzzz' is no client. There are claude-desktop, "),
        (["cursr", "notes.py"], "'cursr' is no client; did you mean cursor? There are claude-"),
        (["cursor"], "name a server after the clients"),
        (["cursor", "missing.py"], "there is no file 'missing.py'"),
        (["cursor", "notes.py", "--env", "K"], "a variable is written NAME=VALUE, not 'K'"),
        (["cursor", "notes.py", "--name", "a b"], "'a b' is no name for an entry"),
        (["cursor", "notes.py", "--directory", "nowhere"], "there is no folder 'nowhere'"),
        (["cursor", "--http", "x"], "'x' is no URL"),
        (["cursor", "--http", "http://x"], "a server elsewhere needs a --name"),
        (["cursor", "--http", "http://x", "--name", "x", "--env", "a=b"], "are for servers that"),
        (["--all", "notes.py"], "no client was found on this machine"),
        (["--all", "cursor", "notes.py"], "--all stands for all clients, so 'cursor' says"),
        (["--attach", "x", "--http", "http://x"], "not allowed with argument"),
        ([], "name a server after the clients"),
    ],
    ids=range(17),
)
def test_a_wrong_command_line(house: House, words: list[str], message: str) -> None:
    done = house.run("install", *words)

    assert done.status == 2
    assert message in done.err
    assert done.out == ""


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


# clients


def test_the_table_of_clients(house: House) -> None:
    install(house, "cursor", "zed", "notes.py")
    house.put(".codex/config.toml", "a = \n")
    install(house, "cursor", "notes.py", "--scope", "project")

    done = house.run("clients")
    rows = {tuple(line.split()[:2]): line for line in done.out.splitlines()}

    assert done.status == 0
    assert len(rows) == 1 + 11 + 1
    assert rows["cursor", "user"].split()[2:] == ["-", f"{house.home}/.cursor/mcp.json", "notes"]
    assert rows["cursor", "project"].endswith("notes")
    assert rows["goose", "user"].split()[2:] == [
        "-",
        f"({house.home}/.config/goose/config.yaml)",
        "-",
    ]
    assert rows["codex", "user"].endswith("broken: Invalid value (at line 1, column 5)")


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


def test_the_table_as_json(house: House) -> None:
    house.program("codex", "")
    install(house, "goose", "notes.py")

    rows = json.loads(house.run("clients", "--json").out)["clients"]
    known = {(row["client"], row["scope"]): row for row in rows}

    assert len(known) == 19
    assert known["goose", "user"] == {
        "client": "goose",
        "title": "Goose",
        "scope": "user",
        "found": False,
        "by": None,
        "path": f"{house.home}/.config/goose/config.yaml",
        "exists": True,
        "servers": ["notes"],
        "problem": None,
    }
    assert known["codex", "user"]["by"] == f"{house.programs}/codex"
    assert known["zed", "project"]["found"] is False


def test_the_table_loads_nothing_that_changes_files(house: House) -> None:
    heavy = {"difflib", "hashlib", "shlex", "subprocess", "tempfile", "tomllib"}
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; from toolhaft.cli import main; main(['clients']); "
            f"print(sorted({heavy!r} & sys.modules.keys()))",
        ],
        env={"HOME": str(house.home), "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )

    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", ["install", "uninstall"])
@pytest.mark.parametrize(
    ("link", "client"),
    [
        (".cursor", "cursor"),
        (".cursor/mcp.json", "cursor"),
        (".cursor/mcp.json.toolhaft.bak", "cursor"),
        (".mcp.json", "claude-code"),
        (".codex/config.toml.toolhaft.bak", "codex"),
        ("opencode.json", "opencode"),
    ],
)
def test_nothing_is_written_through_the_links_of_a_project(
    house: House, command: str, link: str, client: str
) -> None:
    if command == "uninstall":
        install(house, client, "notes.py", "--scope", "project")
    path = house.project / link
    if path.exists():
        path.rename(house.project / "before")
    precious = house.home / "precious"
    if path.suffix:
        precious.write_text('{"mcpServers": {"notes": {"command": "toolhaft"}}}')
    else:
        (house.project / "before").rename(precious) if command == "uninstall" else precious.mkdir()
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(precious)
    if path.name.endswith(".bak") and command == "install":
        path.with_name(path.name.removesuffix(".toolhaft.bak")).write_text("")
    before = house.tree()

    words = ["notes.py", "--no-check"] if command == "install" else ["notes"]
    done = house.run(command, client, *words, "--scope", "project")

    assert done.status == 3
    assert "symbolic link" in done.err
    assert str(path) in done.err
    assert house.tree() == before


def test_the_links_of_a_user_are_followed_and_stay(house: House) -> None:
    """As those who keep their configuration in a repository of their own have them."""
    real = house.put("dotfiles/cursor/mcp.json", "{}")
    real.chmod(0o640)
    (house.home / ".cursor").symlink_to("dotfiles/cursor")

    install(house, "cursor", "notes.py")
    added = "notes" in real.read_text()
    done = house.run("uninstall", "cursor", "notes")

    assert (added, done.status, real.read_text()) == (True, 0, "{}")
    assert (house.home / ".cursor").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
