"""The files of every client, and commands that put servers there and take them out."""

import json
import tomllib
from pathlib import Path
from typing import Any

import yaml
from tests.cli.installing.conftest import House

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
