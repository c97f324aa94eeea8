"""Inputs that went a new way once, kept in files: each run begins with them."""

import json
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).with_name("corpus")


def kept(name: str) -> list[bytes]:
    """What was kept of the runs of a target."""
    path = _path(name)
    if not path.exists():
        return []
    lines = path.read_text(encoding="ascii").splitlines()
    return [json.loads(line).encode("latin-1") for line in lines]


def keep(name: str, inputs: Iterable[bytes]) -> None:
    """Write inputs for the runs to come, one per line, in place of what was there."""
    FOLDER.mkdir(exist_ok=True)
    lines = [json.dumps(data.decode("latin-1")) + "\n" for data in inputs]
    _path(name).write_text("".join(lines), encoding="ascii")


def _path(name: str) -> Path:
    return FOLDER / f"{name}.jsonl"
