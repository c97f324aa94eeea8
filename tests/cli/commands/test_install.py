"""`toolhaft install` and `uninstall`, with the files of every client."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cli.installing.client_files import USER_FILES, entry, install, read, uninstall
from tests.cli.installing.conftest import House

from toolhaft.cli.installing.clients import CLIENTS
from toolhaft_bridge.socket_directory import directories, own_directory, paths_of

SAMPLES = {
    "json": '\ufeff// mine\r\n{\r\n\t"theme": "dark", // so\r\n\t"mcpServers": {},\r\n}',
    "toml": 'model = "x" # mine\n\n[mcp_servers.git] # theirs\ncommand = "git"',
    "yaml": "# mine\nextensions:\n    git: # theirs\n        cmd: git\nMODEL: x",
}


every_client = pytest.mark.parametrize("client", list(USER_FILES))


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


def test_our_own_entry_is_replaced_for_good(house: House) -> None:
    before = house.tree()
    install(house, "cursor", "codex", "goose", "notes.py")
    install(house, "cursor", "codex", "goose", "notes.py", "--env", "K=v", "--force")
    replaced = entry(house, "codex")["env"]
    uninstall(house, "cursor", "codex", "goose", "notes")

    assert replaced == {"K": "v"}
    assert house.tree() == before


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
