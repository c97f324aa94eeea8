"""Compare toolhaft with mcp, fastmcp and a hand-written loop, side by side in one run.

Every contender serves the same tools over stdio to the same load generator on this machine. They
take turns, so that a slow minute of the machine is shared by all of them.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import report
from measuring import (
    CONTENDERS,
    CannotMeasure,
    Contender,
    Measured,
    build_load,
    run_import,
    run_stage,
    seconds_of_bare_python,
    why_unavailable,
)
from results import Results
from workloads import IMPORT, STAGES, WORKLOADS, Stage, Workload, matching

RESULTS_FILE = Path(__file__).resolve().parent / "RESULTS.md"


@dataclass(frozen=True)
class Effort:
    rounds: int
    seconds: float  # of load, per workload, contender and round
    # Seconds that a contender may use for a stage in all rounds together. One that needs ten to
    # register 5,000 tools gets fewer rounds of that.
    allowance: float
    everything: bool  # also what takes a contender much longer to get ready for than to do


FULL = Effort(rounds=5, seconds=0.4, allowance=20, everything=True)
QUICK = Effort(rounds=2, seconds=0.2, allowance=6, everything=False)


class Run:
    """One run: which contenders do which workloads, how hard, and what came of it."""

    def __init__(
        self, contenders: list[Contender], wanted: tuple[Workload, ...], *, effort: Effort
    ) -> None:
        self.contenders = contenders
        self.wanted = wanted
        self.effort = effort
        self.results = Results([contender.name for contender in contenders])
        self._spent: dict[tuple[str, str], float] = defaultdict(float)

    def measure(self) -> Results:
        load = build_load()
        stages = [stage for stage in STAGES if set(stage.workloads) & set(self.wanted)]
        for number in range(1, self.effort.rounds + 1):
            progress = f"round {number} of {self.effort.rounds}"
            if IMPORT in self.wanted:
                self._measure_import(progress)
            for stage in stages:
                self._measure_stage(stage, load, progress=progress)
        show_progress("")
        return self.results

    def _measure_import(self, progress: str) -> None:
        bare = seconds_of_bare_python()
        for contender in self.contenders:
            show_progress(f"{progress}: import, {contender.name}")
            self._attempt((IMPORT.name, contender.name), partial(run_import, contender, bare))

    def _measure_stage(self, stage: Stage, load: Path, *, progress: str) -> None:
        for contender in self.contenders:
            if contender.name in stage.slow_for and not self.effort.everything:
                continue
            show_progress(f"{progress}: {stage.name}, {contender.name}")
            measure = partial(
                run_stage,
                load,
                contender,
                stage=stage,
                wanted=self.wanted,
                seconds=self.effort.seconds,
            )
            self._attempt((stage.name, contender.name), measure)

    def _attempt(self, key: tuple[str, str], measure: Callable[[], Measured]) -> None:
        """Measure, unless that failed before or the contender has used up its time for it."""
        if key in self.results.failures or self._spent[key] > self.effort.allowance:
            return
        start = time.monotonic()
        measured = measure()
        self._spent[key] += time.monotonic() - start
        self.results.add(key[1], measured.samples)
        if measured.failure is not None:
            self.results.failures[key] = measured.failure


def show_progress(line: str) -> None:
    """Overwrite the line that says what is going on; nothing where nobody looks."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    names = [contender.name for contender in CONTENDERS]
    rows = "\n".join(f"  {workload.name:<14} {workload.title}" for workload in WORKLOADS)
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"workloads:\n{rows}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer and shorter rounds: a minute instead of five, and a less steady result",
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
        "--write", action="store_true", help=f"also record the run in {RESULTS_FILE.name}"
    )
    given = parser.parse_args()
    given.contenders = given.contenders.split(",")
    for name in given.contenders:
        if name not in names:
            parser.error(f"no contender is called {name!r}; there are {', '.join(names)}")
    given.wanted = matching(given.only or ["*"])
    if not given.wanted:
        parser.error("no workload matches --only; --help lists their names")
    return given


def available(names: list[str]) -> list[Contender]:
    """Those of the contenders that can be imported; says why the others cannot."""
    able = []
    for contender in CONTENDERS:
        if contender.name in names:
            if why := why_unavailable(contender):
                print(f"without {contender.name}: {why}", file=sys.stderr)
            else:
                able.append(contender)
    return able


def record(results: Results, effort: Effort) -> None:
    command = shlex.join(["python", "benchmarks/run.py", *sys.argv[1:]])
    facts = {
        "Command": f"`{command}`",
        "Date": datetime.now(UTC).date().isoformat(),
        "Machine": report.machine(),
        "Packages": report.packages(results),
        "Load": f"{effort.rounds} rounds, {effort.seconds} s per workload and contender in each",
    }
    RESULTS_FILE.write_text(report.as_markdown(results, facts))


def main() -> int:
    given = arguments()
    effort = QUICK if given.quick else FULL
    contenders = available(given.contenders)
    if not contenders:
        return 1
    started = time.monotonic()
    try:
        results = Run(contenders, given.wanted, effort=effort).measure()
    except CannotMeasure as why:
        print(why, file=sys.stderr)
        return 1
    print(report.as_text(results))
    print(f"\n{report.machine()}; {time.monotonic() - started:.0f} s")
    if given.write:
        record(results, effort)
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
