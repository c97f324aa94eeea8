"""The table of clients: their files, the form of an entry, and their own command.

A row is data. In entries and commands, a placeholder in braces stands for a value of the new entry:
`{command}`, `{args}`, `{words}` (command and args), `{env}`, `{url}`, `{name}`, `{scope}`, or the
whole entry as `{json}`. In a command, a placeholder with a list as value becomes several words.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .editors.text_edits import Entry
from .machine import LINUX, MAC, WINDOWS, Places


class Wanted(NamedTuple):
    """The server to install: a command with its environment, or a URL."""

    name: str
    command: str = ""
    args: Sequence[str] = ()
    env: Mapping[str, str] = {}
    url: str = ""


class Program(NamedTuple):
    """A client's own command that changes its configuration.

    Args:
        late: a running application may write the change after the command has ended.
    """

    name: str
    scopes: Sequence[str]
    add: Sequence[str]
    add_url: Sequence[str]
    remove: Sequence[str] = ()
    env_option: str = ""
    late: bool = False


class Client(NamedTuple):
    """One client.

    Args:
        parents: paths of keys that may contain the entries; the first that exists is used.
        sign: a folder that exists if the client is installed; by default the folder of its file.
        reference: syntax for a variable of the client's own environment in an entry.
    """

    id: str
    title: str
    format: str
    user: Places
    parents: Sequence[Sequence[str]]
    local: Entry
    after: str
    remote: Entry | None = None
    project: Sequence[str] = ()
    program: Program | None = None
    sign: str = ""
    reference: str = ""


_COMMAND = {"command": "{command}", "args": "{args}", "env": "{env}"}
_STDIO = {"type": "stdio", **_COMMAND}
_MCP_SERVERS = [["mcpServers"]]


def _words(line: str) -> list[str]:
    return line.split()


def _everywhere(*places: str) -> Places:
    return dict.fromkeys((LINUX, MAC, WINDOWS), places)


_ALL = (
    Client(
        "claude-desktop",
        "Claude Desktop",
        "jsonc",
        {
            LINUX: ["{config}/Claude/claude_desktop_config.json"],
            MAC: ["{support}/Claude/claude_desktop_config.json"],
            # Installed as a Windows package, it reads only the folder of the package.
            WINDOWS: [
                "{local}/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json",
                "{roaming}/Claude/claude_desktop_config.json",
            ],
        },
        _MCP_SERVERS,
        _COMMAND,
        "quit Claude Desktop, also from its menu, and start it again",
    ),
    Client(
        "claude-code",
        "Claude Code",
        "jsonc",
        _everywhere("{claude}/.claude.json"),
        _MCP_SERVERS,
        _STDIO,
        "start a new session; /mcp shows it",
        remote={"type": "http", "url": "{url}"},
        project=["{project}/.mcp.json"],
        program=Program(
            "claude",
            ("user", "project"),
            # `-e` takes all words up to the next option, so one must separate it from the name.
            add=_words("mcp add -s {scope} {env} --transport stdio {name} -- {command} {args}"),
            add_url=_words("mcp add -s {scope} --transport http {name} {url}"),
            remove=_words("mcp remove -s {scope} {name}"),
            env_option="-e",
        ),
        sign="{home}/.claude",
        reference="${NAME}",
    ),
    Client(
        "vscode",
        "VS Code",
        "jsonc",
        {
            LINUX: ["{config}/Code/User/mcp.json"],
            MAC: ["{support}/Code/User/mcp.json"],
            WINDOWS: ["{roaming}/Code/User/mcp.json"],
        },
        [["servers"]],
        _STDIO,
        "start it from the list of MCP servers: command palette, MCP: List Servers",
        remote={"type": "http", "url": "{url}"},
        project=["{project}/.vscode/mcp.json"],
        program=Program(
            "code",
            ("user",),
            add=["--add-mcp", "{json}"],
            add_url=["--add-mcp", "{json}"],
            late=True,
        ),
        reference="${env:NAME}",
    ),
    Client(
        "copilot",
        "Copilot CLI",
        "jsonc",
        _everywhere("{copilot}/mcp-config.json"),
        _MCP_SERVERS,
        {**_STDIO, "tools": ["*"]},
        "start a new session; /mcp shows it",
        remote={"type": "http", "url": "{url}", "tools": ["*"]},
        project=["{project}/.mcp.json"],
    ),
    Client(
        "cursor",
        "Cursor",
        "jsonc",
        _everywhere("{home}/.cursor/mcp.json"),
        _MCP_SERVERS,
        _COMMAND,
        "turn it on in the settings, under MCP",
        remote={"url": "{url}"},
        project=["{project}/.cursor/mcp.json"],
        reference="${env:NAME}",
    ),
    Client(
        "windsurf",
        "Windsurf",
        "jsonc",
        _everywhere("{home}/.codeium/windsurf/mcp_config.json", "{home}/.codeium/mcp_config.json"),
        _MCP_SERVERS,
        _COMMAND,
        "refresh the list of MCP servers in Cascade",
        remote={"serverUrl": "{url}"},
        reference="${env:NAME}",
    ),
    Client(
        "gemini",
        "Gemini CLI",
        "jsonc",
        _everywhere("{home}/.gemini/settings.json"),
        _MCP_SERVERS,
        _COMMAND,
        "start a new session; /mcp shows it",
        remote={"httpUrl": "{url}"},
        project=["{project}/.gemini/settings.json"],
        program=Program(
            "gemini",
            ("user", "project"),
            add=_words("mcp add -s {scope} {env} {name} {command} -- {args}"),
            add_url=_words("mcp add -s {scope} -t http {name} {url}"),
            remove=_words("mcp remove -s {scope} {name}"),
            env_option="-e",
        ),
        reference="$NAME",
    ),
    Client(
        "codex",
        "Codex",
        "toml",
        _everywhere("{codex}/config.toml"),
        [["mcp_servers"]],
        _COMMAND,
        "start a new session; /mcp shows it",
        remote={"url": "{url}"},
        project=["{project}/.codex/config.toml"],
        program=Program(
            "codex",
            ("user",),
            add=_words("mcp add {name} {env} -- {command} {args}"),
            add_url=_words("mcp add {name} --url {url}"),
            remove=_words("mcp remove {name}"),
            env_option="--env",
        ),
    ),
    Client(
        "zed",
        "Zed",
        "jsonc",
        {
            LINUX: ["{config}/zed/settings.json"],
            MAC: ["{home}/.config/zed/settings.json"],
            WINDOWS: ["{roaming}/Zed/settings.json"],
        },
        [["context_servers"]],
        _COMMAND,
        "see the settings of the agent panel; Zed reads the file by itself",
        remote={"url": "{url}"},
        project=["{project}/.zed/settings.json"],
    ),
    Client(
        "goose",
        "Goose",
        "yaml",
        {
            LINUX: ["{config}/goose/config.yaml"],
            MAC: ["{home}/.config/goose/config.yaml"],
            WINDOWS: ["{roaming}/Block/goose/config/config.yaml"],
        },
        [["extensions"]],
        {
            "name": "{name}",
            "type": "stdio",
            "cmd": "{command}",
            "args": "{args}",
            "envs": "{env}",
            "enabled": True,
            "timeout": 300,
        },
        "start a new session",
        remote={
            "name": "{name}",
            "type": "streamable_http",
            "uri": "{url}",
            "enabled": True,
            "timeout": 300,
        },
    ),
    Client(
        "opencode",
        "opencode",
        "jsonc",
        {
            LINUX: ["{config}/opencode/opencode.json", "{config}/opencode/opencode.jsonc"],
            MAC: ["{config}/opencode/opencode.json", "{config}/opencode/opencode.jsonc"],
            WINDOWS: [
                "{home}/.config/opencode/opencode.json",
                "{home}/.config/opencode/opencode.jsonc",
            ],
        },
        [["mcp", "servers"], ["mcp"]],
        {"type": "local", "command": "{words}", "environment": "{env}"},
        "start a new session",
        remote={"type": "remote", "url": "{url}"},
        project=["{project}/opencode.json", "{project}/opencode.jsonc"],
        reference="{env:NAME}",
    ),
)
CLIENTS = {client.id: client for client in _ALL}


def entry_for(client: Client, wanted: Wanted) -> Entry:
    """Fill in the entry of a client; an empty environment is omitted."""
    template = (client.remote or {}) if wanted.url else client.local
    values = _values(wanted)
    filled = {key: _filled(value, values) for key, value in template.items()}
    return {key: value for key, value in filled.items() if value != {}}


def command_for(program: Program, client: Client, wanted: Wanted, scope: str) -> list[str]:
    """Return the arguments with which the client's program adds an entry."""
    values = _values(wanted)
    entry = entry_for(client, wanted)
    values["scope"] = scope
    values["json"] = json.dumps({"name": wanted.name, **entry}, ensure_ascii=False)
    values["env"] = [
        word
        for name, value in wanted.env.items()
        for word in (program.env_option, f"{name}={value}")
    ]
    return _spread(program.add_url if wanted.url else program.add, values)


def removal_for(program: Program, name: str, scope: str) -> list[str]:
    """Return the arguments that remove an entry; empty if the program cannot."""
    return _spread(program.remove, {"name": name, "scope": scope})


def _values(wanted: Wanted) -> dict[str, Any]:
    return {
        "name": wanted.name,
        "command": wanted.command,
        "args": list(wanted.args),
        "words": [wanted.command, *wanted.args],
        "env": dict(wanted.env),
        "url": wanted.url,
    }


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    is_word = isinstance(value, str) and value.startswith("{") and value.endswith("}")
    return values[value[1:-1]] if is_word else value


def _spread(template: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    words: list[str] = []
    for word in template:
        value = _filled(word, values)
        words += value if isinstance(value, list) else [value]
    return words
