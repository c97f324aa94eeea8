"""How a target starts: whether it does, what it prints, what it imports and how long that takes."""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from typing import IO, Any

from msgspec import Struct

from . import MARK, client_rules
from .findings import Finding

_IMPORT = re.compile(r"import time: +(\d+) \| +\d+ \| +(\S+)")
_SLOWEST = 5
_WORTH_TELLING = 0.001
_LONGEST_SHOWN = 60


class Start(Struct):
    """What was seen when a target was loaded."""

    # Why it could not be loaded; empty if it could.
    failed: str
    seconds: float
    printed: str
    printed_at: str
    # Seconds by package, the slowest first.
    imports: list[tuple[str, float]]


def start(target: str, seconds: float) -> Start:
    """Load a target in a process of its own.

    Raises:
        TimeoutError: that takes longer.
    """
    command = [
        sys.executable,
        "-P",
        "-X",
        "importtime",
        "-m",
        "toolhaft.cli.checking.load_probe",
        target,
    ]
    # Files, and no pipes: a process that the target has started may hold those for ever.
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        try:
            subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{target} could not be loaded within {seconds:g} seconds") from None
        printed = _content(stdout)
        reports, lines = _split(_content(stderr))
    if len(reports) < 2:
        told = "".join(f"\n{line}" for line in lines if not _IMPORT.match(line))
        failed = f"{target} ended the process while it was loaded{told}"
        return Start(failed, 0, printed, "", [])
    [last] = reports[1:2]
    imports = [] if last["failed"] else _imports(lines)
    return Start(last["failed"], last["seconds"], printed, last["printed_at"], imports)


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _split(text: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Our own reports, and the lines after the first of them: what went before is not theirs."""
    reports: list[dict[str, Any]] = []
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(MARK):
            reports.append(json.loads(line.removeprefix(MARK)))
        elif len(reports) == 1 and line:
            lines.append(line)
    return reports, lines


def _imports(lines: list[str]) -> list[tuple[str, float]]:
    spent: Counter[str] = Counter()
    for line in lines:
        found = _IMPORT.match(line)
        if found:
            spent[found[2].partition(".")[0]] += int(found[1])
    return [(name, micros / 1e6) for name, micros in spent.most_common(_SLOWEST)]


def started(begin: Start, seconds: float) -> list[Finding]:
    """What is to be said of a start.

    Args:
        seconds: until a client had its first answer.
    """
    found: list[Finding] = []
    if begin.printed.strip():
        shown = begin.printed.strip().splitlines()[0][:_LONGEST_SHOWN]
        at = f" at {begin.printed_at}" if begin.printed_at else ""
        words = (
            f"it prints when it is imported{at}: {shown!r}; toolhaft run sends that to stderr, but "
            "under python server.py it reaches the client, and breaks the connection"
        )
        advice = "print to stderr, or log"
        found.append(
            Finding("warning", "prints", "start", words, advice, client_rules.STDOUT_SOURCE)
        )
    slowest = [(name, spent) for name, spent in begin.imports if spent >= _WORTH_TELLING]
    named = ", ".join(f"{name} {_time(spent)}" for name, spent in slowest)
    words = f"the first answer came after {_time(seconds)}" + (
        f"; the slowest imports: {named}" if named else ""
    )
    limit = next((each for each in client_rules.START if seconds > each.most), None)
    if limit is None:
        return [*found, Finding("note", "start", "start", words)]
    advice = "import what is slow in the tools that need it"
    words = f"{words}; {limit.words}"
    return [*found, Finding(limit.level, "start", "start", words, advice, limit.source)]


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
