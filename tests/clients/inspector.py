"""The Inspector's command line: one method of one server, and what it prints."""

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests import nodejs

PACKAGE, VERSION = "@modelcontextprotocol/inspector", "2.12.0"
# What it exits with: all is well; the server says that a tool has failed.
WELL, TOOL_FAILED = 0, 5


class Inspected(NamedTuple):
    """How it exited, and what it printed."""

    status: int
    printed: str
    errors: str

    @property
    def json(self) -> dict[str, Any]:
        """What it printed, if all was well."""
        assert self.status == WELL, f"status {self.status}: {self.errors or self.printed}"
        return dict(json.loads(self.printed))

    @property
    def result(self) -> dict[str, Any]:
        """The result of the method."""
        return dict(self.json["result"])


def command() -> list[str]:
    """How it is started.

    Raises:
        CannotInstall: it cannot be installed.
    """
    script = nodejs.package(PACKAGE, VERSION) / "clients" / "launcher" / "build" / "index.js"
    return [nodejs.node(), str(script), "--cli", "--format", "json", "--quiet"]


def inspect(target: str | Sequence[str], method: str, era: str, *options: str) -> Inspected:
    """Run a method on a server: at an address, or started by a command."""
    # It keeps files of its own in the home folder.
    with tempfile.TemporaryDirectory() as home:
        if isinstance(target, str):
            server = [target, "--transport", "http"]
        else:
            # In a file, so that the options of the command are not taken for its own.
            own = {"type": "stdio", "command": target[0], "args": list(target[1:])}
            entry = {**own, "cwd": str(nodejs.ROOT), "env": dict(os.environ)}
            Path(home, "servers.json").write_text(json.dumps({"mcpServers": {"it": entry}}))
            server = ["--config", "servers.json", "--server", "it"]
        done = subprocess.run(
            [
                *command(), *server, "--method", method, "--protocol-era", era,
                "--stored-auth-only", *options,
            ],
            cwd=home,
            env={**os.environ, "HOME": home},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=50,
            check=False,
        )  # fmt: skip
    return Inspected(done.returncode, done.stdout, done.stderr[-3000:])
