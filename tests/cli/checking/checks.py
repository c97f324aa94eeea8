"""`toolhaft check` in a process, and what it says."""

import json
from pathlib import Path
from typing import Any

from tests.cli.running import toolhaft, write_server

Json = dict[str, Any]


def checked(folder: Path, source: str, *options: str) -> Json:
    """The report on a server."""
    write_server(folder, source)
    done = toolhaft("check", "author.py", "--json", *options, cwd=folder)
    report: Json = json.loads(done.stdout)
    assert done.returncode == (1 if report["found"]["error"] else 0)
    return report


def said(report: Json, *rules: str) -> list[tuple[str, str, str]]:
    return [
        (each["level"], each["where"], each["what"])
        for each in report["findings"]
        if each["rule"] in rules
    ]
