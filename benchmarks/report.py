"""Tables for the terminal, for RESULTS.md and for the documentation: all read Markdown."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from footprint import footprints
from results import HTTP, Results, Target
from workloads import Workload

BASELINE = "mcp"
SUBJECT = "toolhaft"
LIMIT = "limit"

# Whose version says most about a contender that is not a package itself.
PACKAGE_BELOW = {
    "bridge": "toolhaft",
    LIMIT: "msgspec",
    "toolhaft-asgi": "toolhaft",
    "limit-granian": "granian",
}
SERVED_BY = ("uvicorn", "uvloop", "httptools")

# Between these, a page holds what the last recorded run has measured.
BEGIN, END = "<!-- measured -->", "<!-- end of what was measured -->"

NOTE_ON_STDIO = (
    "Of calls the better quartile; of start and import, which happen once, the shortest; of memory "
    "the median. In brackets: beside calls/s the server's CPU time per call in µs, beside the "
    "import what Python takes without it."
)
NOTE_ON_HTTP = (
    "Of calls the better quartile, else medians; all but limit-granian on uvicorn. In brackets: "
    "the server's CPU time per call in µs."
)


def number(value: float | None) -> str:
    """Three digits that count: `0.062`, `7.61`, `48.1`, `1,630`."""
    if value is None:
        return ""
    if value >= 100:
        return f"{value:,.0f}"
    decimals = 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{decimals}f}"


def with_beside(figure: float | None, beside: float | None) -> str:
    return number(figure) if beside is None else f"{number(figure)} ({number(beside)})"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table whose columns also line up when it is read as text."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]

    def line(cells: list[str]) -> str:
        padded = [cells[0].ljust(widths[0])]
        padded += [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return f"| {' | '.join(padded)} |"

    return "\n".join([line(head), line(rule), *map(line, rows)])


def figures_table(results: Results) -> str:
    def row(workload: Workload) -> list[str]:
        cells = [
            with_beside(results.figure(workload, name), results.beside(workload, name))
            for name in results.contenders
        ]
        return [f"{workload.title}, {workload.unit}", *cells]

    return table(["", *results.contenders], [row(workload) for workload in results.workloads])


def ratios_table(results: Results) -> str:
    others = [name for name in results.contenders if name != BASELINE]

    def row(workload: Workload) -> list[str]:
        cells = []
        for name in others:
            inverse = results.cpu_ratio(workload, BASELINE, to=name)
            cells.append(with_beside(results.times_better(workload, name, BASELINE), inverse))
        return [workload.title, *cells, number(results.cpu_ratio(workload, SUBJECT, to=LIMIT))]

    head = ["", *others, f"{SUBJECT}'s CPU ÷ {LIMIT}'s"]
    return table(head, [row(workload) for workload in results.workloads])


def bound_of(target: Target) -> str:
    sign, bound = ("≥", target.at_least) if target.at_least is not None else ("≤", target.at_most)
    return f"{sign} {number(bound)} {target.unit}"


def targets_table(results: Results) -> str:
    rows = [
        [target.claim, bound_of(target), number(target.reading(results)), target.verdict(results)]
        for target in results.part.targets
    ]
    return table(["", "target", "measured", ""], rows)


def sections(results: Results) -> Iterator[tuple[str, str, str]]:
    """Title, explanation and table of all there is to say of a part."""
    where = results.part.where
    note = NOTE_ON_HTTP if results.part is HTTP else NOTE_ON_STDIO
    yield f"Figures{where}", note, figures_table(results)
    if BASELINE in results.contenders:
        yield (
            f"Times better than {BASELINE}{where}",
            "By the figure above; in brackets by CPU time per call.",
            ratios_table(results),
        )
    if SUBJECT in results.contenders:
        yield f"Targets{where}", f"What {SUBJECT} promises.", targets_table(results)


def failures(results: Results) -> list[str]:
    return [f"{name}, {stage}: {why}" for (stage, name), why in results.failures.items()]


def as_text(parts: list[Results]) -> str:
    return "\n\n".join(paragraph for results in parts for paragraph in paragraphs(results))


def paragraphs(results: Results) -> Iterator[str]:
    for title, note, body in sections(results):
        yield f"{title}. {note}\n\n{body}"
    for failure in failures(results):
        yield f"FAILED {failure}"


def as_markdown(parts: list[Results], facts: dict[str, str]) -> str:
    text = ["# A run of the benchmark"]
    text.append("\n".join(f"- {name}: {fact}" for name, fact in facts.items()))
    for results in parts:
        text += [f"## {title}\n\n{note}\n\n{body}" for title, note, body in sections(results)]
    if failed := [line for results in parts for line in failures(results)]:
        text.append("## Failed\n\n" + "\n".join(f"- {line}" for line in failed))
    return "\n\n".join(text) + "\n"


def as_page(page: str, parts: list[Results], facts: dict[str, str]) -> str:
    """The page of the documentation with the figures of this run between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    measured = [f"{facts['Date']}, {facts['Machine']}; {facts['Packages']}. {facts['Command']}."]
    for results in parts:
        where = results.part.where
        if BASELINE in results.contenders:
            measured.append(f"## Times better than {BASELINE}{where}\n\n{ratios_table(results)}")
        if SUBJECT in results.contenders:
            measured.append(f"## Targets{where}\n\n{targets_table(results)}")
    measured.append(f"## What is installed\n\n{footprint_table()}")
    return before + BEGIN + "\n" + "\n\n".join(measured) + "\n" + END + after


def footprint_table() -> str:
    rows = [[each.install, str(each.packages), number(each.megabytes)] for each in footprints()]
    return table(["", "packages", "MB without bytecode"], rows)


def machine() -> str:
    cores = len(os.sched_getaffinity(0))
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{processor()}, {cores} cores, {platform.system()}, {python}"


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.machine()


def packages(parts: list[Results]) -> str:
    """Versions of all that took part, each once."""
    named = [package(contender) for results in parts for contender in results.contenders]
    if any(results.part is HTTP for results in parts):
        named += map(package, SERVED_BY)
    return ", ".join(dict.fromkeys(named))


def package(contender: str) -> str:
    name = PACKAGE_BELOW.get(contender, contender)
    try:
        known = f"{name} {version(name)}"
    except PackageNotFoundError:
        known = f"{name} (not installed)"
    return known if name == contender else f"{contender} on {known}"
