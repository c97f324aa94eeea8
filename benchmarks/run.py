"""Compare toolhaft with mcp, fastmcp and a hand-written server, side by side in one run.

Every contender serves the same tools to the same load generator on this machine, over stdio and
over HTTP. They take turns, so that a slow minute of the machine is shared by all of them.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import report
from chart import as_svg
from http_measuring import HTTP_CONTENDERS, HttpTurns
from http_workloads import HTTP_STAGES, TURNS, HttpCalls, HttpStage
from measuring import (
    CONTENDERS,
    CannotMeasure,
    Contender,
    Measured,
    build_load,
    run_import,
    run_stage,
    why_unavailable,
)
from results import HTTP, STDIO, Part, Results
from without import (
    HttpSwitched,
    Switched,
    UnknownSwitch,
    as_table,
    check_names,
    pair,
    rows_of,
    set_deferred,
)
from workloads import GROUPS, IMPORT, READY_CPU, START_CPU, Stage, Workload, matching

RESULTS_FILE = Path(__file__).resolve().parent / "RESULTS.md"
ROOT = RESULTS_FILE.parents[1]
PAGE_FILE = ROOT / "docs" / "performance.md"

T = TypeVar("T")


@dataclass(frozen=True)
class Effort:
    rounds: int
    seconds: float  # of load, per workload, contender and round
    # Seconds that a contender may use for a stage in all rounds together. One that needs ten to
    # register 5,000 tools gets fewer rounds of that.
    allowance: float
    everything: bool  # also what takes a contender much longer to get ready for than to do


FULL = Effort(rounds=5, seconds=0.45, allowance=20, everything=True)
QUICK = Effort(rounds=2, seconds=0.2, allowance=6, everything=False)
FULL_HTTP = Effort(rounds=4, seconds=0.48, allowance=40, everything=True)
WITHOUT = Effort(rounds=8, seconds=0.45, allowance=60, everything=True)
QUICK_HTTP = Effort(rounds=2, seconds=0.24, allowance=15, everything=False)


class Run:
    """One part of a run: which contenders do which workloads, how hard, and what came of it."""

    part: Part

    def __init__(
        self, contenders: list[Contender], wanted: tuple[Workload, ...], *, effort: Effort
    ) -> None:
        self.contenders = contenders
        self.wanted = wanted
        self.effort = effort
        self.results = Results(self.part, [contender.name for contender in contenders])
        self._spent: dict[tuple[str, str], float] = defaultdict(float)

    def measure(self) -> Results:
        for number in range(1, self.effort.rounds + 1):
            self._measure_round(number, f"round {number} of {self.effort.rounds}")
        show_progress("")
        return self.results

    def _measure_round(self, number: int, progress: str) -> None:
        raise NotImplementedError

    def _attempt(self, key: tuple[str, str], measure: Callable[[], Measured]) -> bool:
        """Measure, unless that failed before or the contender has used up its time for it. Has it
        been done?"""
        if key in self.results.failures or self._spent[key] > self.effort.allowance:
            return False
        start = time.monotonic()
        measured = measure()
        self._spent[key] += time.monotonic() - start
        self.results.add(key[1], measured.samples)
        if measured.failure is not None:
            self.results.failures[key] = measured.failure
        return measured.failure is None


class StdioRun(Run):
    part = STDIO

    def _measure_round(self, number: int, progress: str) -> None:
        run = partial(run_stage, build_load("load"))
        if IMPORT in self.wanted:
            self._measure_import(progress)
        for group in GROUPS:
            wanted = [stage for stage in group if set(stage.workloads) & set(self.wanted)]
            for contender in to_and_fro(self.contenders, number):
                for stage in to_and_fro(wanted, number):
                    self._measure_stage(stage, contender, run, progress=progress)

    def _measure_stage(
        self, stage: Stage, contender: Contender, run: Callable[..., Measured], *, progress: str
    ) -> None:
        if contender.name in stage.slow_for and not self.effort.everything:
            return
        show_progress(f"{progress}: {stage.name}, {contender.name}")
        seconds = self.effort.seconds
        measure = partial(run, contender, stage=stage, wanted=self.wanted, seconds=seconds)
        self._attempt((stage.name, contender.name), measure)

    def _measure_import(self, progress: str) -> None:
        for contender in self.contenders:
            show_progress(f"{progress}: import, {contender.name}")
            self._attempt((IMPORT.name, contender.name), partial(run_import, contender))


class HttpRun(Run):
    part = HTTP

    def _measure_round(self, number: int, progress: str) -> None:
        load = build_load("http_load")
        for stage in HTTP_STAGES:
            wanted = [workload for workload in stage.workloads if workload in self.wanted]
            if number <= stage.rounds and wanted:
                with HttpTurns(load, stage) as turns:
                    self._take_turns(turns, stage, wanted, progress=f"{progress}: {stage.name}")

    def _take_turns(
        self, turns: HttpTurns, stage: HttpStage, wanted: list[Workload], *, progress: str
    ) -> None:
        able = []
        for contender in self.contenders:
            spared = contender.name in stage.without or (
                contender.name in stage.slow_for and not self.effort.everything
            )
            key = (stage.name, contender.name)
            if not spared and self._attempt(key, partial(turns.start, contender)):
                able.append(contender)
        for turn in range(stage.turns):
            for workload in wanted:
                # Calls can be done in parts; what happens once happens in the first turn.
                takes_part = type(workload) is HttpCalls or turn == 0
                for contender in to_and_fro(able, turn) if takes_part else []:
                    show_progress(f"{progress}, {contender.name}")
                    seconds = self.effort.seconds / TURNS
                    measure = partial(turns.measure, contender, workload, seconds=seconds)
                    self._attempt((stage.name, contender.name), measure)


def to_and_fro(row: list[T], turn: int) -> list[T]:
    """So that none is always the one after the slowest."""
    return row[:: 1 if turn % 2 == 0 else -1]


def show_progress(line: str) -> None:
    """Overwrite the line that says what is going on; nothing where nobody looks."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Choice:
    """One part of the benchmark as it can be asked for."""

    run: type[Run]
    contenders: tuple[Contender, ...]
    full: Effort
    quick: Effort
    # toolhaft without one of its optimisations
    switched: type[Switched]
    also: tuple[Workload, ...] = ()

    @property
    def part(self) -> Part:
        return self.run.part


CHOICES = {
    "stdio": Choice(StdioRun, CONTENDERS, FULL, QUICK, Switched, (START_CPU, READY_CPU)),
    "http": Choice(HttpRun, HTTP_CONTENDERS, FULL_HTTP, QUICK_HTTP, HttpSwitched),
}


def arguments() -> argparse.Namespace:
    every = [contender for choice in CHOICES.values() for contender in choice.contenders]
    names = list(dict.fromkeys(contender.name for contender in every))
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="\n".join(["workloads:", *map(described, (STDIO, HTTP))]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--stdio", action="store_true", help="only the part over stdio")
    parser.add_argument("--http", action="store_true", help="only the part over HTTP")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer and shorter rounds: two minutes instead of nine, and a less steady result",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="PATTERN",
        help="only workloads whose name matches, as in 'call*'; may be given more than once",
    )
    parser.add_argument(
        "--contenders",
        default=",".join(names),
        metavar="NAMES",
        help="who takes part, separated by commas (default: %(default)s)",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help=f"also record the run, in {RESULTS_FILE.name}, and in the texts that tell of it",
    )
    parser.add_argument(
        "--without",
        metavar="NAMES",
        help="compare toolhaft with itself without each of these optimisations, separated by "
        "commas, by CPU time; an unknown name shows the list",
    )
    given = parser.parse_args()
    if given.write and (given.stdio or given.http or given.only or given.without):
        parser.error("only a whole run can be recorded: leave out --stdio, --http and --only")
    if given.without is not None:
        given.without = given.without.split(",")
        try:
            check_names(given.without)
        except UnknownSwitch as why:
            parser.error(str(why))
    given.contenders = given.contenders.split(",")
    for name in given.contenders:
        if name not in names:
            parser.error(f"no contender is called {name!r}; there are {', '.join(names)}")
    given.wanted = wanted_of(given)
    if not given.wanted:
        parser.error("no workload matches --only; --help lists their names")
    return given


def described(part: Part) -> str:
    return "\n".join(f"  {workload.name:<18} {workload.title}" for workload in part.workloads)


def wanted_of(given: argparse.Namespace) -> dict[str, tuple[Workload, ...]]:
    """The workloads that are asked for, by part; without those parts of which there are none."""
    chosen = [name for name in CHOICES if getattr(given, name)] or list(CHOICES)
    patterns = given.only or ["*"]
    found = {}
    for name in chosen:
        also = CHOICES[name].also if given.without else ()
        found[name] = matching(patterns, (*CHOICES[name].part.workloads, *also))
    return {name: workloads for name, workloads in found.items() if workloads}


def available(
    contenders: tuple[Contender, ...], names: list[str], *, where: str
) -> list[Contender]:
    """Those of the contenders that can be imported; says why the others cannot."""
    able = []
    for contender in contenders:
        if contender.name in names:
            if why := why_unavailable(contender):
                print(f"without {contender.name}{where}: {why}", file=sys.stderr)
            else:
                able.append(contender)
    return able


def record(parts: list[Results], efforts: list[Effort]) -> None:
    command = shlex.join(["python", "benchmarks/run.py", *sys.argv[1:]])
    loads = [
        f"{effort.rounds} rounds, {effort.seconds} s per workload and contender in each"
        + results.part.where
        for results, effort in zip(parts, efforts, strict=True)
    ]
    facts = {
        "Command": f"`{command}`",
        "Date": datetime.now(UTC).date().isoformat(),
        "Machine": report.machine(),
        "Packages": report.packages(parts),
        "Load": "; ".join(loads),
    }
    RESULTS_FILE.write_text(report.as_markdown(parts, facts))
    PAGE_FILE.write_text(report.as_page(PAGE_FILE.read_text(), parts, facts))
    PAGE_FILE.with_suffix(".svg").write_text(as_svg(parts))
    # Whatever else is said of speed, in any text, is taken from that record.
    subprocess.run([sys.executable, "-m", "tests.proof", "--write"], cwd=ROOT, check=True)


def compare(given: argparse.Namespace) -> int:
    """toolhaft beside itself, without one optimisation after the other."""
    set_deferred()
    with tempfile.TemporaryDirectory() as folder:
        for name in given.without:
            parts: list[Results] = []
            for kind, wanted in given.wanted.items():
                choice = CHOICES[kind]
                two = pair(choice.switched, name, Path(folder))
                if rows := rows_of(name, wanted):
                    effort = choice.quick if given.quick else WITHOUT
                    parts.append(choice.run([*two], rows, effort=effort).measure())
                    why = [*parts[-1].failures.values(), two[1].failure]
                    if told := "; ".join(filter(None, why)):
                        raise CannotMeasure(f"without {name}: {told}")
            print(as_table(name, parts), end="\n\n", flush=True)
    print(report.machine())
    return 0


def main() -> int:
    given = arguments()
    if given.without:
        try:
            return compare(given)
        except CannotMeasure as why:
            print(why, file=sys.stderr)
            return 1
    started = time.monotonic()
    parts: list[Results] = []
    efforts: list[Effort] = []
    try:
        for name, wanted in given.wanted.items():
            choice = CHOICES[name]
            effort = choice.quick if given.quick else choice.full
            able = available(choice.contenders, given.contenders, where=choice.part.where)
            if able:
                parts.append(choice.run(able, wanted, effort=effort).measure())
                efforts.append(effort)
    except CannotMeasure as why:
        print(why, file=sys.stderr)
        return 1
    if not parts:
        return 1
    print(report.as_text(parts))
    print(f"\n{report.machine()}; {time.monotonic() - started:.0f} s")
    if given.write:
        record(parts, efforts)
    return 1 if any(results.failures for results in parts) else 0


if __name__ == "__main__":
    sys.exit(main())
