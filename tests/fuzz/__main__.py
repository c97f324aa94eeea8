"""Fuzz every target: `./dev fuzz [--inputs N] [--seed S] [--target NAME] [--keep]`.

Each line is what came of one target, the last one what came of all. The exit status is 1 if there
is a finding.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from tests.fuzz.engine import Fuzzing, distilled, fuzz
from tests.fuzz.kept import keep, kept
from tests.fuzz.targets import TARGETS


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="./dev fuzz", description="Fuzz all that reads bytes.")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="in all (default: a million)")
    parser.add_argument("--seed", default="", help="another seed gives other inputs")
    parser.add_argument("--target", choices=TARGETS, action="append", help="only this one")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--keep", action="store_true", help="keep the inputs that go new ways")
    asked = parser.parse_args()
    names: list[str] = asked.target or list(TARGETS)
    share = -(-asked.inputs // len(names))
    start = time.perf_counter()
    inputs = findings = 0
    with ProcessPoolExecutor(asked.jobs) as pool:
        for run in pool.map(_run, names, [share] * len(names), [asked.seed] * len(names)):
            name, tried, seconds, ways, grown, finding = run
            inputs += tried
            findings += bool(finding)
            _say(f"{name:12} {tried:9,} inputs {seconds:7.1f} s {ways:5,} ways {len(grown):4} kept")
            if finding:
                _say(f"{name:12} FINDING {finding}")
            if asked.keep:
                keep(name, grown)
    seconds = time.perf_counter() - start
    _say(f"{'all':12} {inputs:9,} inputs {seconds:7.1f} s {findings} findings")
    return 1 if findings else 0


def _run(name: str, inputs: int, seed: str) -> tuple[str, int, float, int, list[bytes], str]:
    target = TARGETS[name]
    run: Fuzzing = fuzz(target, inputs, seed=seed, kept=kept(name))
    grown = distilled(target, run.grown)
    finding = "" if run.finding is None else str(run.finding)
    return name, run.inputs, run.seconds, run.arcs, grown, finding


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
