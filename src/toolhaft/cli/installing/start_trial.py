"""Trial start of a server as a client does it: in another folder, with few variables."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...protocol.revisions import SUPPORTED

# Environment variables that clients pass to a server.
_PASSED_ON = {
    "posix": ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"),
    "nt": (
        "APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT",
        "PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE",
    ),
}  # fmt: skip
_META: dict[str, object] = {
    "io.modelcontextprotocol/protocolVersion": SUPPORTED[0],
    "io.modelcontextprotocol/clientCapabilities": {},
}
_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
# Lines of stderr in an error message.
_MOST_SHOWN = 20
# Seconds that a server may take to end after its stdin is closed.
_GRACE = 5.0


class NoAnswer(Exception):
    """A server that does not start or answer; the message contains its stderr."""


class Found(NamedTuple):
    """The name of a server and its number of tools."""

    name: str
    tools: int


def launcher(executable: str = sys.executable) -> list[str]:
    """Return the command that starts toolhaft, by full path: clients may have no PATH."""
    script = Path(executable).with_name("toolhaft.exe" if os.name == "nt" else "toolhaft")
    # -P: modules in the working directory of the client must not shadow ours.
    return [str(script)] if script.is_file() else [executable, "-P", "-m", "toolhaft"]


def start(words: Sequence[str], env: Mapping[str, str], *, seconds: float) -> Found:
    """Start a server, and request its name and its tools.

    Raises:
        NoAnswer: it does not start or answer in time.
    """
    with _started(words, env) as process:
        complaints: list[bytes] = []
        listener = threading.Thread(target=_collect, args=(process, complaints), daemon=True)
        listener.start()
        alarm = threading.Timer(seconds, process.kill)
        alarm.start()
        try:
            found = _talk(process)
        finally:
            late = not alarm.is_alive()
            alarm.cancel()
            _end(process)
            listener.join(_GRACE)
    if found is None:
        raise NoAnswer(_told(complaints, late=late, seconds=seconds, status=process.returncode))
    return found


def _started(words: Sequence[str], env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    passed_on = {name: os.environ[name] for name in _PASSED_ON[os.name] if name in os.environ}
    try:
        return subprocess.Popen(
            list(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=Path.home(),
            env={**passed_on, **env},
        )
    except OSError as error:  # no such folder or command, or no permission
        raise NoAnswer(f"it cannot be started: {error}") from None


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the process by closing its stdin, as clients do."""
    assert process.stdin is not None, "it was asked for"
    with suppress(OSError):  # unread data cannot be flushed
        process.stdin.close()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()


def _collect(process: "subprocess.Popen[bytes]", complaints: list[bytes]) -> None:
    assert process.stderr is not None, "it was asked for"
    complaints.extend(process.stderr)


def _talk(process: "subprocess.Popen[bytes]") -> Found | None:
    try:
        about = _ask(process, 1, "server/discover", {})
        if about is None:
            return None
        tools = 0
        cursor: dict[str, str] = {}
        while True:
            page = _ask(process, tools + 2, "tools/list", cursor)
            if page is None:
                return None
            tools += len(page["tools"])
            if "nextCursor" not in page:
                return Found(str(about["_meta"][_SERVER_INFO]["name"]), tools)
            cursor = {"cursor": page["nextCursor"]}
    except (OSError, ValueError):
        return None  # it ended or wrote no JSON; its stderr is in the error message


def _ask(
    process: "subprocess.Popen[bytes]", id_: int, method: str, params: dict[str, str]
) -> dict[str, Any] | None:
    assert process.stdin is not None, "it was asked for"
    assert process.stdout is not None, "it was asked for"
    message: dict[str, object] = {
        "jsonrpc": "2.0",
        "id": id_,
        "method": method,
        "params": {**params, "_meta": _META},
    }
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    for line in process.stdout:
        answer: dict[str, Any] = json.loads(line)
        if answer.get("id") == id_:
            result: dict[str, Any] | None = answer.get("result")
            # A server without tools refuses the method.
            return {"tools": []} if result is None and method == "tools/list" else result
    return None


def _told(complaints: list[bytes], *, late: bool, seconds: float, status: int) -> str:
    how = f"no answer within {seconds:g} seconds" if late else f"it ended with status {status}"
    said = b"".join(complaints).decode(errors="replace").strip().splitlines()
    return "\n".join([how, *said[-_MOST_SHOWN:]])
