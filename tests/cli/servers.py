"""Servers for the commands, and commands that are running."""

import subprocess
import sys
from pathlib import Path

COMMANDS = ["run", "list", "call", "read", "prompt", "check", "contract"]


COMMANDS += ["install", "uninstall", "clients", "attach", "ps", "metrics"]


ALL = """
    @server.tool
    def add(a: int, b: int = 2) -> int:
        \"\"\"Add two numbers.\"\"\"
        return a + b

    @server.resource("notes://all", mime_type="text/plain")
    def notes() -> str:
        return "all of it"

    @server.resource("notes://{name}")
    def note(name: str) -> str:
        \"\"\"One note.\"\"\"
        return name

    @server.prompt
    def review(diff: str, tone: str = "dry") -> str:
        return f"{tone}: {diff}"
"""


FAILING = """
    from toolhaft import InvalidParams

    @server.tool
    def fail(how: str) -> str:
        if how == "tool":
            raise ToolError("ask for less")
        if how == "params":
            raise InvalidParams("there is no such account")
        return str(1 / 0)
"""


def running(*arguments: str, cwd: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "toolhaft", *arguments],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
