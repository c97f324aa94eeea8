"""Bridges that are run to their end."""

import fcntl
import socket
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

from tests.attaching.living import BRIDGE
from tests.processes.process import PATIENCE


def run(*words: str, data: bytes = b"", **options: Any) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-c", BRIDGE, "attach", *words],
        input=data,
        capture_output=True,
        timeout=PATIENCE * 2,
        check=False,
        **options,
    )


def left_behind(path: Path) -> None:
    """The socket of a process that was killed."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
        stale.listen()


def unread(pipe: Any) -> int:
    """How much is in the pipe that nobody has read."""
    found = fcntl.ioctl(pipe, termios.FIONREAD, b"    ")
    count: int = struct.unpack("i", found)[0]
    return count


def command(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "toolhaft", *words],
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )


def ps(*words: str) -> str:
    done = command("ps", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
