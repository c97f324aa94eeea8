"""The `toolhaft` command in a process of its own, with its modules already there."""

import os
import subprocess
from pathlib import Path
from textwrap import dedent

from tests.warm import OURS, warm

HEADER = """\
import asyncio, contextlib, os, subprocess, sys, time
from typing import Any
from toolhaft import Context, Limits, Server, ToolError, assistant, user
from toolhaft.types.content import (
    AudioContent, BlobContents, Content, EmbeddedResource, ImageContent, ResourceLink, TextContent,
)

server = Server("tested", version="1.0.0")
"""

Done = subprocess.CompletedProcess[str]


def write_server(folder: Path, source: str) -> Path:
    """A file with a server: the usual imports, and what the test adds."""
    path = folder / "author.py"
    path.write_text(HEADER + dedent(source))
    return path


def toolhaft(*arguments: str, cwd: Path, stdin: str = "", **variables: str) -> Done:
    """Run the command to its end, as in a shell; `CI` is set only if the test says so."""
    inherited = {name: value for name, value in os.environ.items() if name != "CI"}
    return subprocess.run(
        warm(OURS, "-m", "toolhaft", *arguments),
        cwd=cwd,
        env={**inherited, **variables},
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )
