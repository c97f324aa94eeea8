"""Figures in the texts: each stands between marks that name it, and is filled in from one place.

`<!-- figure NAME -->12<!-- / -->` in a page is the figure NAME. What the benchmark has measured is
read from `benchmarks/RESULTS.md`, the record of its last run; the rest is counted in the tree.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks/RESULTS.md"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
_SPAN = re.compile(r"<!-- figure ([\w-]+) -->(.*?)<!-- / -->")


class Cell(NamedTuple):
    """Where in the record a figure stands."""

    section: str
    row: str
    column: str
    in_brackets: bool = False


_FIGURES, _TIMES = "Figures", "Times better than mcp"
_OVER_HTTP = f"{_TIMES} over HTTP"
_START, _IMPORT = "process start to first answer, ms", "import, on top of bare Python (itself), ms"
_CPU = "toolhaft's CPU ÷ limit's"

CELLS: dict[str, Cell] = {
    "start": Cell(_FIGURES, _START, "toolhaft"),
    "start-mcp": Cell(_FIGURES, _START, "mcp"),
    "start-fastmcp": Cell(_FIGURES, _START, "fastmcp"),
    "start-bridge": Cell(_FIGURES, _START, "bridge"),
    "import": Cell(_FIGURES, _IMPORT, "toolhaft"),
    "import-mcp": Cell(_FIGURES, _IMPORT, "mcp"),
    "memory": Cell(_FIGURES, "memory after start (RSS), MB", "toolhaft"),
    "memory-mcp": Cell(_FIGURES, "memory after start (RSS), MB", "mcp"),
    "call-cpu": Cell(_FIGURES, "call, one by one, calls/s", "toolhaft", in_brackets=True),
    "call-cpu-limit": Cell(_FIGURES, "call, one by one, calls/s", "limit", in_brackets=True),
    "list-cpu": Cell(_FIGURES, "tools/list of 100 tools, calls/s", "toolhaft", in_brackets=True),
    "call-times": Cell(_TIMES, "call, one by one", "toolhaft"),
    "calls-times": Cell(_TIMES, "call, 64 in flight", "toolhaft"),
    "list-times": Cell(_TIMES, "tools/list of 100 tools", "toolhaft"),
    "call-limit": Cell(_TIMES, "call, one by one", _CPU),
    "json-times": Cell(_OVER_HTTP, "JSON, 32 in flight, 2026-07-28", "toolhaft"),
    "json-limit": Cell(_OVER_HTTP, "JSON, 32 in flight, 2026-07-28", _CPU),
    "sse-times": Cell(_OVER_HTTP, "SSE, 32 in flight, 2025-11-25", "toolhaft"),
    "sse-limit": Cell(_OVER_HTTP, "SSE, 32 in flight, 2025-11-25", _CPU),
}
FACTS = {"measured-on": "Date", "machine": "Machine", "bench-command": "Command"}


def measured(record: str) -> dict[str, str]:
    """Every figure of the benchmark, as its record has it.

    Raises:
        KeyError: the record has none; the message says where it should be.
    """
    sections = {
        part.partition("\n")[0].strip(): part
        for part in re.split(r"^## ", record, flags=re.MULTILINE)
    }
    found = {name: _cell(sections, cell) for name, cell in CELLS.items()}
    for name, fact in FACTS.items():
        match = re.search(rf"^- {fact}: (.+)$", record, re.MULTILINE)
        if match is None:
            raise KeyError(f"no {fact} in the record")
        found[name] = match[1]
    return found


def _cell(sections: Mapping[str, str], cell: Cell) -> str:
    rows = [
        [part.strip() for part in line.strip().strip("|").split("|")]
        for line in sections.get(cell.section, "").splitlines()
        if line.startswith("|")
    ]
    for row in rows[1:]:
        if row[0] == cell.row and cell.column in rows[0]:
            text = row[rows[0].index(cell.column)]
            outside, _, inside = text.partition(" (")
            return inside.rstrip(")") if cell.in_brackets else outside
    raise KeyError(f"no {cell.row!r} of {cell.column!r} in {cell.section!r}")


def spans(page: str) -> list[tuple[str, str]]:
    """The figures that a text has, each with its name."""
    return _SPAN.findall(page)


def filled(page: str, figures: Mapping[str, str]) -> str:
    """The text with these figures in it; those that are not among them stay."""
    return _SPAN.sub(
        lambda span: f"<!-- figure {span[1]} -->{figures.get(span[1], span[2])}<!-- / -->", page
    )
