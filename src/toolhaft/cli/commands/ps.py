"""`toolhaft ps`: list the attached processes."""

import argparse
import contextlib
import json
import sys
import time
from typing import Any

from toolhaft_bridge.display import line
from toolhaft_bridge.socket_directory import NotAttached, Refused, ask, connect, sockets

from ...process.sockets import AddressInUse, locked, remove_stale
from ..shared.console import as_json, failed, show

# Timeout for one process, in seconds.
_PATIENCE = 2.0
_COLUMNS = ("name", "pid", "server", "version", "since", "clients")


def execute(options: argparse.Namespace) -> int:
    """Print the attached processes, and remove sockets whose process has ended."""
    if sys.platform == "win32":
        return failed(2, "attach is not supported on Windows yet")
    found = [_look(name, path) for name, path in sockets()]
    if options.json:
        show(as_json(found), end="")
    elif found:
        show("\n".join(_table(found)))
    else:
        show("no process is attached; server.attach() in a process of yours does it")
    return 0


def _look(name: str, path: str) -> dict[str, Any]:
    """Request the description of a process from its socket; on failure, describe the problem."""
    known: dict[str, Any] = {"name": name, "socket": path}
    try:
        with contextlib.closing(connect(path, _PATIENCE)) as wire:
            said: dict[str, Any] = json.loads(ask(wire, "info"))
    except ConnectionRefusedError:
        return {**known, **_removed(path)}
    except TimeoutError:
        return {**known, "state": "silent", "problem": f"no answer within {_PATIENCE:g} s"}
    except (OSError, NotAttached, Refused, ValueError) as error:
        return {**known, "state": "strange", "problem": str(error)}
    said.pop("toolhaft", None)
    return {**said, **known, "state": "attached"}


def _removed(path: str) -> dict[str, str]:
    """Remove a socket that refuses connections, unless a process has bound it meanwhile."""
    try:
        with locked(path, _PATIENCE):
            remove_stale(path)
    except AddressInUse:
        return {"state": "silent", "problem": "it has come just now; look again"}
    except OSError as error:
        return {"state": "stale", "problem": f"its process has ended; not removed: {error}"}
    return {"state": "stale", "problem": "its process has ended; removed"}


def _table(found: list[dict[str, Any]]) -> list[str]:
    rows = [[column.upper() for column in _COLUMNS]]
    rows += [[_cell(process, column) for column in _COLUMNS] for process in found]
    widths = [max(len(row[index]) for row in rows) for index in range(len(_COLUMNS))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    for number, process in enumerate(found, start=1):
        if "problem" in process:
            lines[number] = f"{rows[number][0].ljust(widths[0])}  ({line(process['problem'])})"
    return lines


def _cell(process: dict[str, Any], column: str) -> str:
    value = process.get(column, "")
    if column == "since" and isinstance(value, int | float):
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(value))
    return line(str(value))
