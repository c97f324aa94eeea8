"""Tables for the terminal and for RESULTS.md: both read Markdown."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from results import TARGETS, Results, Target
from workloads import Workload

BASELINE = "mcp"
SUBJECT = "toolhaft"
LIMIT = "limit"


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
        for target in TARGETS
    ]
    return table(["", "target", "measured", ""], rows)


def sections(results: Results) -> Iterator[tuple[str, str, str]]:
    """Title, explanation and table of all there is to say."""
    yield (
        "Figures",
        "Medians; of start and import, which happen once, the shortest. In brackets: beside "
        "calls/s the server's CPU time per call in µs, beside the import the time in all.",
        figures_table(results),
    )
    if BASELINE in results.contenders:
        yield (
            f"Times better than {BASELINE}",
            "By the figure above; in brackets by CPU time per call.",
            ratios_table(results),
        )
    if SUBJECT in results.contenders:
        yield "Targets", f"What {SUBJECT} promises.", targets_table(results)


def failures(results: Results) -> list[str]:
    return [f"{name}, {stage}: {why}" for (stage, name), why in results.failures.items()]


def as_text(results: Results) -> str:
    parts = [f"{title}. {note}\n\n{body}" for title, note, body in sections(results)]
    parts += [f"FAILED {failure}" for failure in failures(results)]
    return "\n\n".join(parts)


def as_markdown(results: Results, facts: dict[str, str]) -> str:
    parts = ["# A run of the benchmark"]
    parts.append("\n".join(f"- {name}: {fact}" for name, fact in facts.items()))
    parts += [f"## {title}\n\n{note}\n\n{body}" for title, note, body in sections(results)]
    if results.failures:
        parts.append("## Failed\n\n" + "\n".join(f"- {line}" for line in failures(results)))
    return "\n\n".join(parts) + "\n"


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


def packages(results: Results) -> str:
    return ", ".join(map(package, results.contenders))


def package(contender: str) -> str:
    name = "msgspec" if contender == LIMIT else contender
    try:
        known = f"{name} {version(name)}"
    except PackageNotFoundError:
        known = f"{name} (not installed)"
    return f"{LIMIT} on {known}" if contender == LIMIT else known
