"""Programs in Python that need not import what others have imported before them.

A process imports their packages once and forks for each of them. What is started here is a small
one that hands its streams, folder and environment over, and passes signals on; so a warm command
can stand where any command can. It is for tests that look at what a program says, not at how it
starts, what it imports or how much memory it takes.
"""

import atexit
import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# Two sets for all: each is imported once by each worker that needs it.
OURS = "toolhaft.cli.commands.call toolhaft.cli.commands.check toolhaft.cli.commands.run"
THEIRS = "mcp.server.mcpserver fastmcp"

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
# What `fastmcp` reads while it is imported.
_QUIET = {"FASTMCP_CHECK_FOR_UPDATES": "off", "FASTMCP_SHOW_SERVER_BANNER": "false"}


def warm(packages: str, *words: str) -> list[str]:
    """The command for `python WORDS…`, where these packages are already there."""
    relay = [sys.executable, "-I", "-S", str(_HERE / "relay.py")]
    return [*relay, _nursery(packages), *words]


@functools.cache
def _nursery(packages: str) -> str:
    """Where the process that forks is reached. It ends with this one, which holds its stdin."""
    # Not where a test has its own for a while; and paths of sockets have to be short.
    folder = tempfile.TemporaryDirectory(prefix="warm-", dir="/tmp")
    path = f"{folder.name}/socket"
    process = subprocess.Popen(
        # Nothing but the environment says where modules are: a program adds its own folder.
        [sys.executable, "-P", str(_HERE / "nursery.py"), path, *packages.split()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=_ROOT,
        env={**os.environ, **_QUIET},
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def end() -> None:
        process.communicate(timeout=10)
        folder.cleanup()

    atexit.register(end)
    assert process.stdout.readline() == b"ready\n"
    return path
