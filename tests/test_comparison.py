"""What docs/comparison.md says of `mcp` and `fastmcp`, run again on what is installed here.

Rows that say what both of them have are run in `tests/test_migration.py` and beside our own; these
are the rows on what they do not have, or have in another way.
"""

import ast
import functools
import importlib
import importlib.util
import json
import os
import subprocess
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import attrs
import mcp
import msgspec
import pytest
from tests.comparing import PING, SERVERS, call, talk
from tests.warm import THEIRS, warm

PAGE = Path(__file__).parents[1] / "docs/comparison.md"
FASTMCP = """
import sys
from fastmcp.cli.cli import app
app(sys.argv[1:])
"""
# Whoever makes spans is noted; nothing is sent anywhere.
WATCHED = """
import asyncio, contextlib, json, sys
from opentelemetry import trace

names = []

class Tracer:
    def start_span(self, name, *_, **__):
        names.append(name)
        return trace.INVALID_SPAN

    @contextlib.contextmanager
    def start_as_current_span(self, name, *_, **__):
        names.append(name)
        yield trace.INVALID_SPAN

class Provider:
    def get_tracer(self, *_, **__):
        return Tracer()

trace.set_tracer_provider(Provider())

def login(password: str) -> str:
    return "in"

async def main(server, Client):
    async with Client(server) as client:
        await client.call_tool("login", {"password": "hunter2"})
    print(json.dumps(names))
"""
OF_MCP = (
    WATCHED
    + """
import logging
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
from mcp import Client
from mcp.server.mcpserver import MCPServer

server = MCPServer("m")
server.tool()(login)
asyncio.run(main(server, Client))
"""
)
OF_FASTMCP = (
    WATCHED
    + """
from fastmcp import Client, FastMCP
from fastmcp.server.middleware.logging import StructuredLoggingMiddleware

server = FastMCP("f", middleware=[StructuredLoggingMiddleware(include_payloads=True)])
server.tool(login)
asyncio.run(main(server, Client))
"""
)


def run(code: str, *words: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """A program of its own: spans and logs are set up once in a process."""
    quiet = {"FASTMCP_CHECK_FOR_UPDATES": "off", "FASTMCP_LOG_LEVEL": "INFO", "COLUMNS": "300"}
    return subprocess.run(
        warm(THEIRS, "-c", code, *words),
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
        env={**os.environ, **quiet},
        cwd=cwd,
    )


def row(start: str) -> list[str]:
    """The cells of a row of the page."""
    [line] = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(start)
    ]
    return [cell.strip() for cell in line.strip("|").split("|")]


def commands_of_mcp() -> set[str]:
    """Its command line needs an extra that is not installed here, so it is read."""
    source = Path(mcp.__file__).parent / "cli/cli.py"
    return {
        node.name
        for node in ast.parse(source.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and any("app.command" in ast.unparse(mark) for mark in node.decorator_list)
    }


@functools.cache
def commands_of_fastmcp(*words: str) -> set[str]:
    listed = run(FASTMCP, *words, "--help").stdout
    return {
        line.strip("│ ").split()[0]
        for line in listed.splitlines()
        if line.startswith("│ ") and not line.startswith("│ -") and line[2] != " "
    }


def test_neither_has_a_command_that_attaches_reviews_or_compares() -> None:
    theirs = commands_of_mcp() | commands_of_fastmcp()

    assert {"run", "install", "inspect"} <= theirs
    assert theirs & {"attach", "ps", "check", "lint", "contract", "diff", "metrics"} == set()
    for start in ("| [attaching]", "| [a review]", "| [contracts]"):
        assert row(start)[2:4] == ["no", "no"]


def test_neither_has_a_server_that_attaches() -> None:
    from fastmcp import FastMCP  # noqa: PLC0415
    from mcp.server.mcpserver import MCPServer  # noqa: PLC0415

    for server in (MCPServer, FastMCP):
        assert [name for name in dir(server) if "attach" in name or "unix" in name] == []


def test_fastmcp_is_put_into_five_clients() -> None:
    commands = commands_of_fastmcp("install")

    assert commands - {"mcp-json", "stdio"} == {
        "claude-code", "claude-desktop", "cursor", "gemini-cli", "goose",
    }  # fmt: skip
    assert row("| [putting it into clients]")[3] == "five, or JSON to paste"


def test_mcp_is_put_into_claude_desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The package around it asks for the extra that is not installed here.
    path = Path(mcp.__file__).parent / "cli/claude.py"
    spec = importlib.util.spec_from_file_location("claude_of_mcp", path)
    assert spec is not None
    assert spec.loader is not None
    claude: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(claude)
    monkeypatch.setattr(claude, "get_claude_config_path", lambda: tmp_path)
    file = tmp_path / "claude_desktop_config.json"
    file.write_text('{\n  // mine\n  "theme": "dark"\n}')
    with pytest.raises(json.JSONDecodeError):
        json.loads(file.read_text())

    written = claude.update_claude_config("server.py", "mine")

    assert not written  # a file with a comment is not understood; ours is kept as it is
    file.write_text('{"theme": "dark"}')
    assert claude.update_claude_config("server.py", "mine")
    assert list(json.loads(file.read_text())["mcpServers"]) == ["mine"]
    assert row("| [putting it into clients]")[2] == "Claude Desktop"


@pytest.mark.parametrize(("code", "secret"), [(OF_MCP, False), (OF_FASTMCP, True)], ids=["m", "f"])
def test_both_make_spans_and_only_one_logs_messages(code: str, secret: bool) -> None:
    done = run(code)

    spans: list[Any] = json.loads(done.stdout)
    assert any("tools/call" in name for name in spans)
    assert ("hunter2" in done.stderr.replace("\n", "")) is secret
    assert row("| [metrics]")[2:4] == ["OpenTelemetry spans"] * 2
    assert row("| [traffic log]")[2:4] == ["no", "a middleware that logs, secrets too"]


def test_neither_counts_calls() -> None:
    for package in ("mcp", "fastmcp"):
        root = Path(mcp.__file__).parents[1] / package
        counting = [
            path.name
            for path in root.rglob("*.py")
            if any(word in path.read_text(encoding="utf-8") for word in ("get_meter", "prometheus"))
        ]

        assert counting == []


def test_what_can_be_a_tool() -> None:
    from fastmcp import FastMCP  # noqa: PLC0415
    from mcp.server.mcpserver import MCPServer  # noqa: PLC0415

    def taken(add: Any, tool: object) -> bool:
        try:
            add(tool)
        except Exception:  # whatever it is that they raise
            return False
        return True

    tools = {
        "partial": functools.partial(_add, 1),
        "instance": _Callable(),
        "struct": _of_struct,
        "attrs": _of_attrs,
    }
    of_mcp = {name: taken(MCPServer("m").add_tool, tool) for name, tool in tools.items()}
    of_fastmcp = {name: taken(FastMCP("f").add_tool, tool) for name, tool in tools.items()}
    marked = {name: taken(FastMCP("f").tool, tool) for name, tool in tools.items()}

    assert of_mcp == dict.fromkeys(tools, False)
    assert of_fastmcp == {"partial": True, "instance": True, "struct": False, "attrs": False}
    # So they are taken in part: `@tool` refuses what `add_tool` takes.
    assert marked == dict.fromkeys(tools, False)
    assert taken(FastMCP("f").tool, _add)
    assert row("| `functools.partial`")[2:4] == ["no", "partly"]
    assert row("| msgspec structs")[2:4] == ["no", "no"]


class _Struct(msgspec.Struct):
    a: int


@attrs.define
class _Attrs:
    a: int


class _Callable:
    def __call__(self, a: int) -> int:
        return a


def _add(a: int, b: int) -> int:
    return a + b


def _of_struct(value: _Struct) -> int:
    return value.a


def _of_attrs(value: _Attrs) -> int:
    return value.a


def _google(a: int) -> int:
    """Count.

    Args:
        a: the first one
    """
    return a


def _numpy(a: int) -> int:
    """Count.

    Parameters
    ----------
    a : int
        the first one
    """
    return a


def _sphinx(a: int) -> int:
    """Count.

    :param a: the first one
    """
    return a


@pytest.mark.parametrize("function", [_google, _numpy, _sphinx], ids=["google", "numpy", "sphinx"])
async def test_what_is_read_of_docstrings(function: Any) -> None:
    from fastmcp import FastMCP  # noqa: PLC0415
    from mcp.server.mcpserver import MCPServer  # noqa: PLC0415

    ours, theirs = MCPServer("m"), FastMCP("f")
    ours.add_tool(function)
    theirs.tool(function)
    [of_mcp], [of_fastmcp] = await ours.list_tools(), await theirs.list_tools()

    assert "description" not in of_mcp.input_schema["properties"]["a"]
    assert of_fastmcp.parameters["properties"]["a"]["description"] == "the first one"
    assert row("| parameter descriptions")[2:4] == ["no", "Google, NumPy, Sphinx"]


def test_neither_has_a_pytest_plugin() -> None:
    groups = {
        entry.group
        for name in ("mcp", "mcp-types", "fastmcp", "fastmcp-slim")
        for entry in _distribution(name)
    }

    assert "console_scripts" in groups
    assert "pytest11" not in groups
    assert "pytest plugin" in row("| [test kit]")[1]


def test_what_they_have_for_tests() -> None:
    helpers = importlib.import_module("fastmcp.utilities.tests")
    shipped = {path.stem for path in Path(mcp.__file__).parent.rglob("*.py")}

    assert mcp.Client
    assert not [name for name in shipped if "testing" in name or name.startswith("test")]
    assert {"asgi_client", "run_server_async"} <= vars(helpers).keys()
    assert row("| [test kit]")[2:4] == ["a client", "a client, helpers for HTTP"]


def _distribution(name: str) -> Any:
    try:
        return distribution(name).entry_points
    except ModuleNotFoundError:
        return ()


def test_fastmcp_converts_openapi_and_stands_in_for_others() -> None:
    from fastmcp import FastMCP  # noqa: PLC0415
    from fastmcp.server.providers import proxy  # noqa: PLC0415
    from mcp.server.mcpserver import MCPServer  # noqa: PLC0415

    assert hasattr(FastMCP, "from_openapi")
    assert [name for name in dir(proxy) if name.endswith("Proxy") or "Proxy" in name]
    assert not [name for name in dir(MCPServer) if "openapi" in name or "proxy" in name]
    assert row("| OpenAPI conversion")[1:4] == ["no", "no", "yes"]


# What happens when something is wrong

every_other = pytest.mark.parametrize("name", SERVERS)


@every_other
def test_what_is_no_message_gets_no_answer(name: str) -> None:
    surrogate = {"name": "echo", "arguments": {"text": "\ud800"}}
    wrong = (
        b"no json\n",
        b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n',
        b'{"id":2,"method":"ping"}\n',
        json.dumps(
            {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": surrogate}
        ).encode()
        + b"\n",
    )

    answers = talk(SERVERS[name], *wrong, PING, until="ping").answers

    assert list(answers) == ["init", "ping"]
    for start in ("| a line that is not JSON", "| an id that is 1.5", "| an argument with a lone"):
        assert row(start)[2:4] == ["no answer"] * 2


@every_other
def test_a_batch_gets_no_answer_in_the_revision_that_has_them(name: str) -> None:
    batch = b'[{"jsonrpc":"2.0","id":4,"method":"ping"}]\n'

    answers = talk(SERVERS[name], batch, PING, until="ping", revision="2025-03-26").answers

    assert answers["init"]["result"]["protocolVersion"] == "2025-03-26"
    assert list(answers) == ["init", "ping"]
    assert row("| batches of 2025-03-26")[2:4] == ["no: no answer"] * 2


@every_other
@pytest.mark.parametrize("tool", ["leave", "surrogate"])
def test_a_tool_ends_the_service(name: str, tool: str) -> None:
    talked = talk(SERVERS[name], call(1, tool), until=1, patience=4)

    assert list(talked.answers) == ["init"]
    assert talked.status
    for start in ("| a tool calls `sys.exit(3)`", "| a tool returns a lone surrogate"):
        assert row(start)[2:4] == ["the service ends"] * 2


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("mcp", "Error executing tool secret"),
        ("fastmcp", "Error calling tool 'secret': hunter2"),
    ],
)
def test_what_is_told_of_a_bug(name: str, told: str) -> None:
    answer = talk(SERVERS[name], call(1, "secret"), until=1).answers[1]

    assert answer["result"]["content"][0]["text"] == told
    assert row("| a tool raises")[2:4] == ['"Error executing tool"', "its text"]


@every_other
def test_what_is_printed_stands_between_the_messages(name: str) -> None:
    noise = talk('print("hello", flush=True)\n' + SERVERS[name], PING, until="ping").noise

    assert noise == [b"hello\n"]
    assert row("| `print` while")[2:4] == ["between the messages"] * 2


@pytest.mark.parametrize("heading", ["## What works", "## What happens when something is wrong"])
def test_every_row_says_how_it_is_known(heading: str) -> None:
    part = PAGE.read_text(encoding="utf-8").split(heading)[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("| ")]

    known = {cells[-1].strip() for cells in rows[2:]}

    assert len(rows) > 10
    assert all(cell.startswith(("run: ", "run, ", "looked up")) for cell in known), known
