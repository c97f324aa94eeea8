"""Programs in Python that need not import what others have imported before them.

A process imports their packages once and forks for each of them. What is started here is a small
one that hands its streams, folder and environment over, and passes signals on; so a warm command
can stand where any command can. It is for tests that look at what a program says, not at how it
starts, what it imports or how much memory it takes.
"""

import atexit
import functools
import os
import shutil
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
    return [*relay, _nursery(packages).path, *words]


class _Nursery:
    """The process that forks. It ends with the one that has made it, which holds its stdin.

    A fork of the latter has a copy of this, and may forget it or run what is registered for the
    end: neither may take anything away, so nothing here is done by the garbage collector.
    """

    def __init__(self, packages: str) -> None:
        self._owner = os.getpid()
        # Not where a test has its own for a while; and paths of sockets have to be short.
        self._folder = tempfile.mkdtemp(prefix="warm-", dir="/tmp")
        self.path = f"{self._folder}/socket"
        self._process = subprocess.Popen(
            # Nothing but the environment says where modules are: a program adds its own folder.
            [sys.executable, "-P", str(_HERE / "nursery.py"), self.path, *packages.split()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=_ROOT,
            env={**os.environ, **_QUIET},
        )
        atexit.register(self._end)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def _end(self) -> None:
        if os.getpid() == self._owner:
            self._process.communicate(timeout=10)
            shutil.rmtree(self._folder)


# The cache holds each of them: what is registered for the end is forgotten by some forks.
@functools.cache
def _nursery(packages: str) -> _Nursery:
    return _Nursery(packages)
