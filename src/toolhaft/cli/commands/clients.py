"""`toolhaft clients`: the supported clients, their files, and their entries that use toolhaft."""

import argparse
from collections.abc import Sequence
from typing import Any

from toolhaft_bridge.display import line

from ..installing.clients import CLIENTS, Client
from ..installing.configured_entries import Reader
from ..installing.detection import sign_of
from ..installing.editors.text_edits import Unclear
from ..installing.exit_codes import CANNOT_CHANGE, failed, say
from ..installing.machine import Machine, this_machine
from ..shared.console import as_json

_HEAD = ("client", "scope", "found by", "configuration", "servers of ours")


def execute(options: argparse.Namespace) -> int:
    """Print a table of clients, or JSON."""
    machine = this_machine()
    try:
        reader = Reader(machine)
    except Unclear as error:
        return failed(CANNOT_CHANGE, str(error))
    rows = [row for client in CLIENTS.values() for row in _rows(reader, client, machine)]
    if options.json:
        say(as_json({"clients": rows}), end="")
        return 0
    shown = [row for row in rows if row["scope"] == "user" or row["exists"]]
    say(_table([_HEAD, *(_cells(row) for row in shown)]), end="")
    return 0


def _rows(reader: Reader, client: Client, machine: Machine) -> list[dict[str, Any]]:
    sign = sign_of(client, machine, reader.receipts)
    scopes = ["user", "project"] if client.project else ["user"]
    return [
        {
            "client": client.id,
            "title": client.title,
            "scope": scope,
            "found": bool(sign),
            "by": sign or None,
            **_state(reader, client, scope),
        }
        for scope in scopes
    ]


def _state(reader: Reader, client: Client, scope: str) -> dict[str, Any]:
    path = reader.where(client, scope)
    state: dict[str, Any] = {"path": str(path), "exists": path.exists(), "servers": []}
    try:
        state["servers"] = reader.ours(reader.see(client, scope))
        state["problem"] = None
    except Unclear as error:
        state["problem"] = str(error).removeprefix(f"{path}: ")
    return state


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    servers = f"broken: {row['problem']}" if row["problem"] else ", ".join(row["servers"])
    path = row["path"] if row["exists"] else f"({row['path']})"
    cells = row["client"], row["scope"], row["by"] or "-", path, servers or "-"
    return tuple(map(line, cells))


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(lines) + "\n"
