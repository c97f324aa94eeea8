"""The messages of the benchmark: how clients write a request, and the texts that stand in them.

The clients of `mcp` 2.3, `fastmcp` 4.1, the TypeScript SDK 2.4 and the Inspector 2.12 all write
compact JSON in UTF-8: no blanks between members, and only quotes, backslashes and control
characters are escaped. They differ in the order of the envelope: the Python clients write `jsonrpc`
and `id` first, the others last. `tests/clients/test_recorded_messages.py` holds the real clients
against what is said here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

Order = Literal["python", "typescript"]

# The order of the members of a request.
ORDERS: Mapping[Order, tuple[str, ...]] = {
    "python": ("jsonrpc", "id", "method", "params"),
    "typescript": ("method", "params", "jsonrpc", "id"),
}


def meta_2026(client: Mapping[str, Any]) -> dict[str, Any]:
    """The `_meta` of each request of 2026-07-28, in the order that all four clients write."""
    return {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": dict(client),
        "io.modelcontextprotocol/clientCapabilities": {},
    }


def compact(value: object) -> str:
    """JSON as clients write it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def message(id_: object, method: str, params: Mapping[str, Any], order: Order = "python") -> str:
    """A request as clients write it. `_meta`, where there is one, is the last of the parameters."""
    members = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
    return compact({name: members[name] for name in ORDERS[order]})


def _text(name: str) -> str:
    return (Path(__file__).resolve().parent / "texts" / f"{name}.txt").read_text(encoding="utf-8")


# Two kilobytes of UTF-8 each: a file as a coding agent sends it, and a letter in languages that
# need more than ASCII. Quotes and ends of lines are escaped in JSON; umlauts and Chinese are not.
SOURCE_CODE = _text("source_code")
GERMAN_AND_CHINESE = _text("german_and_chinese")
