"""Each client, on each platform: where its file is, what is written there, what its command is."""

import json
from collections.abc import Mapping
from pathlib import PurePath

import pytest

from toolhaft.cli.installing.clients import (
    CLIENTS,
    Wanted,
    command_for,
    entry_for,
    removal_for,
)
from toolhaft.cli.installing.machine import STATE, Machine, locate

HOME = {"linux": "/home/me", "darwin": "/Users/me", "win32": "C:\\Users\\me"}
WINDOWS = {
    "APPDATA": "C:\\Users\\me\\AppData\\Roaming",
    "LOCALAPPDATA": "C:\\Users\\me\\AppData\\Local",
}
# fmt: off
USER_FILES = [
    ("claude-desktop", "linux", "/home/me/.config/Claude/claude_desktop_config.json"),
    ("claude-desktop", "darwin", "/Users/me/Library/Application Support/Claude/claude_desktop_config.json"),  # noqa: E501
    ("claude-desktop", "win32", "C:\\Users\\me\\AppData\\Roaming\\Claude\\claude_desktop_config.json"),  # noqa: E501
    ("claude-code", "linux", "/home/me/.claude.json"),
    ("claude-code", "darwin", "/Users/me/.claude.json"),
    ("claude-code", "win32", "C:\\Users\\me\\.claude.json"),
    ("vscode", "linux", "/home/me/.config/Code/User/mcp.json"),
    ("vscode", "darwin", "/Users/me/Library/Application Support/Code/User/mcp.json"),
    ("vscode", "win32", "C:\\Users\\me\\AppData\\Roaming\\Code\\User\\mcp.json"),
    ("copilot", "linux", "/home/me/.copilot/mcp-config.json"),
    ("copilot", "darwin", "/Users/me/.copilot/mcp-config.json"),
    ("copilot", "win32", "C:\\Users\\me\\.copilot\\mcp-config.json"),
    ("cursor", "linux", "/home/me/.cursor/mcp.json"),
    ("cursor", "darwin", "/Users/me/.cursor/mcp.json"),
    ("cursor", "win32", "C:\\Users\\me\\.cursor\\mcp.json"),
    ("windsurf", "linux", "/home/me/.codeium/windsurf/mcp_config.json"),
    ("windsurf", "darwin", "/Users/me/.codeium/windsurf/mcp_config.json"),
    ("windsurf", "win32", "C:\\Users\\me\\.codeium\\windsurf\\mcp_config.json"),
    ("gemini", "linux", "/home/me/.gemini/settings.json"),
    ("gemini", "darwin", "/Users/me/.gemini/settings.json"),
    ("gemini", "win32", "C:\\Users\\me\\.gemini\\settings.json"),
    ("codex", "linux", "/home/me/.codex/config.toml"),
    ("codex", "darwin", "/Users/me/.codex/config.toml"),
    ("codex", "win32", "C:\\Users\\me\\.codex\\config.toml"),
    ("zed", "linux", "/home/me/.config/zed/settings.json"),
    ("zed", "darwin", "/Users/me/.config/zed/settings.json"),
    ("zed", "win32", "C:\\Users\\me\\AppData\\Roaming\\Zed\\settings.json"),
    ("goose", "linux", "/home/me/.config/goose/config.yaml"),
    ("goose", "darwin", "/Users/me/.config/goose/config.yaml"),
    ("goose", "win32", "C:\\Users\\me\\AppData\\Roaming\\Block\\goose\\config\\config.yaml"),
    ("opencode", "linux", "/home/me/.config/opencode/opencode.json"),
    ("opencode", "darwin", "/Users/me/.config/opencode/opencode.json"),
    ("opencode", "win32", "C:\\Users\\me\\.config\\opencode\\opencode.json"),
]
MOVED = [
    ("claude-desktop", "XDG_CONFIG_HOME", "/x/Claude/claude_desktop_config.json"),
    ("claude-code", "CLAUDE_CONFIG_DIR", "/x/.claude.json"),
    ("vscode", "XDG_CONFIG_HOME", "/x/Code/User/mcp.json"),
    ("copilot", "COPILOT_HOME", "/x/mcp-config.json"),
    ("codex", "CODEX_HOME", "/x/config.toml"),
    ("zed", "XDG_CONFIG_HOME", "/x/zed/settings.json"),
    ("goose", "XDG_CONFIG_HOME", "/x/goose/config.yaml"),
    ("opencode", "XDG_CONFIG_HOME", "/x/opencode/opencode.json"),
]
PROJECT_FILES = {
    "claude-code": ".mcp.json", "copilot": ".mcp.json", "vscode": ".vscode/mcp.json",
    "cursor": ".cursor/mcp.json", "gemini": ".gemini/settings.json", "zed": ".zed/settings.json",
    "codex": ".codex/config.toml", "opencode": "opencode.json",
}
COMMAND = {"command": "/t", "args": ["run", "-x"], "env": {"K": "v"}}
ENTRIES = {
    "claude-desktop": COMMAND,
    "claude-code": {"type": "stdio", **COMMAND},
    "vscode": {"type": "stdio", **COMMAND},
    "copilot": {"type": "stdio", **COMMAND, "tools": ["*"]},
    "cursor": COMMAND,
    "windsurf": COMMAND,
    "gemini": COMMAND,
    "codex": COMMAND,
    "zed": COMMAND,
    "goose": {
        "name": "notes", "type": "stdio", "cmd": "/t", "args": ["run", "-x"], "envs": {"K": "v"},
        "enabled": True, "timeout": 300,
    },
    "opencode": {"type": "local", "command": ["/t", "run", "-x"], "environment": {"K": "v"}},
}
URL = "https://example.org/mcp"
REMOTE = {
    "claude-code": {"type": "http", "url": URL},
    "vscode": {"type": "http", "url": URL},
    "copilot": {"type": "http", "url": URL, "tools": ["*"]},
    "cursor": {"url": URL},
    "windsurf": {"serverUrl": URL},
    "gemini": {"httpUrl": URL},
    "codex": {"url": URL},
    "zed": {"url": URL},
    "goose": {
        "name": "notes", "type": "streamable_http", "uri": URL, "enabled": True, "timeout": 300,
    },
    "opencode": {"type": "remote", "url": URL},
}
ADD = {
    "claude-code": "mcp add -s user -e K=v --transport stdio notes -- /t run -x",
    "gemini": "mcp add -s user -e K=v notes /t -- run -x",
    "codex": "mcp add notes --env K=v -- /t run -x",
}
ADD_URL = {
    "claude-code": f"mcp add -s user --transport http notes {URL}",
    "gemini": f"mcp add -s user -t http notes {URL}",
    "codex": f"mcp add notes --url {URL}",
}
REMOVE = {
    "claude-code": "mcp remove -s user notes",
    "gemini": "mcp remove -s user notes",
    "codex": "mcp remove notes",
    "vscode": "",
}
# fmt: on
LOCAL = Wanted("notes", "/t", ["run", "-x"], {"K": "v"})
ELSEWHERE = Wanted("notes", url=URL)
every_client = pytest.mark.parametrize("name", list(CLIENTS))


def machine(
    platform: str, environment: Mapping[str, str] = {}, there: Mapping[str, list[str]] = {}
) -> Machine:
    """A machine with some files, by folder."""

    def exists(path: PurePath) -> bool:
        return path.name in there.get(str(path.parent), [])

    def names(folder: PurePath) -> list[str]:
        return there.get(str(folder), [])

    return Machine(platform, environment, HOME[platform], "/project", exists, names)


def test_there_are_eleven_clients() -> None:
    assert len(CLIENTS) == 11
    assert len({(name, platform) for name, platform, _ in USER_FILES}) == 33


@pytest.mark.parametrize(("name", "platform", "path"), USER_FILES)
def test_the_file_of_the_user(name: str, platform: str, path: str) -> None:
    known = WINDOWS if platform == "win32" else {}

    assert str(locate(CLIENTS[name].user, machine(platform, known))) == path
    assert str(locate(CLIENTS[name].user, machine(platform))) == path


@pytest.mark.parametrize(("name", "variable", "path"), MOVED)
def test_a_variable_moves_the_file(name: str, variable: str, path: str) -> None:
    assert str(locate(CLIENTS[name].user, machine("linux", {variable: "/x"}))) == path


def test_claude_desktop_as_a_package_has_a_folder_of_its_own() -> None:
    local = "C:\\Users\\me\\AppData\\Local"
    there = {
        f"{local}\\Packages": ["Other_1", "Claude_pzs8sxrjxfjjc"],
        "C:\\Users\\me\\AppData\\Roaming\\Claude": ["claude_desktop_config.json"],
    }

    assert str(locate(CLIENTS["claude-desktop"].user, machine("win32", WINDOWS, there))) == (
        f"{local}\\Packages\\Claude_pzs8sxrjxfjjc\\LocalCache\\Roaming\\Claude\\"
        "claude_desktop_config.json"
    )


@pytest.mark.parametrize(
    ("name", "folder", "file"),
    [
        ("windsurf", "/home/me/.codeium", "mcp_config.json"),
        ("opencode", "/home/me/.config/opencode", "opencode.jsonc"),
    ],
)
def test_another_file_is_taken_if_it_is_the_one_that_is_there(
    name: str, folder: str, file: str
) -> None:
    found = locate(CLIENTS[name].user, machine("linux", {}, {folder: [file]}))

    assert str(found) == f"{folder}/{file}"


@every_client
def test_the_file_of_a_project(name: str) -> None:
    places = CLIENTS[name].project
    expected = PROJECT_FILES.get(name)

    found = str(locate({"linux": places}, machine("linux"))) if places else None

    assert found == (None if expected is None else f"/project/{expected}")


@pytest.mark.parametrize(
    ("platform", "path"),
    [
        ("linux", "/home/me/.local/state/toolhaft/installed.json"),
        ("darwin", "/Users/me/Library/Application Support/toolhaft/installed.json"),
        ("win32", "C:\\Users\\me\\AppData\\Local\\toolhaft\\installed.json"),
    ],
)
def test_where_we_keep_what_we_have_done(platform: str, path: str) -> None:
    assert str(locate(STATE, machine(platform))) == path


@every_client
def test_what_an_entry_says(name: str) -> None:
    assert entry_for(CLIENTS[name], LOCAL) == ENTRIES[name]


@every_client
def test_an_entry_without_variables_has_no_place_for_them(name: str) -> None:
    entry = entry_for(CLIENTS[name], Wanted("notes", "/t"))

    assert not {"env", "envs", "environment"} & set(entry)


@every_client
def test_what_an_entry_of_a_server_elsewhere_says(name: str) -> None:
    remote = CLIENTS[name].remote

    assert (remote and entry_for(CLIENTS[name], ELSEWHERE)) == REMOTE.get(name)


@every_client
def test_the_command_of_a_client(name: str) -> None:
    client = CLIENTS[name]
    program = client.program
    if program is None:
        assert name not in REMOVE
        return
    add = command_for(program, client, LOCAL, "user")
    add_url = command_for(program, client, ELSEWHERE, "user")

    assert " ".join(removal_for(program, "notes", "user")) == REMOVE[name]
    if name == "vscode":
        assert add[:-1] == add_url[:-1] == ["--add-mcp"]
        assert json.loads(add[-1]) == {"name": "notes", **ENTRIES["vscode"]}
        assert json.loads(add_url[-1]) == {"name": "notes", **REMOTE["vscode"]}
    else:
        assert " ".join(add) == ADD[name]
        assert " ".join(add_url) == ADD_URL[name]
