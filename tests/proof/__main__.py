"""The figures that are cheap to have: `./dev proof [--write]`.

Lines of code, packages, tests, import and start are counted and measured now; figures of speed are
those that the benchmark has recorded. `--write` fills them into the pages. What takes longer has a
command of its own, which docs/proof.md names.
"""

import argparse
import sys

from tests.proof import counting, figures, timing


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _table(title: str, rows: dict[str, str]) -> None:
    _say(f"\n{title}")
    for name, value in rows.items():
        _say(f"  {name:<28} {value}")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="./dev proof", description="Figures that are cheap.")
    parser.add_argument("--write", action="store_true", help="fill them into the pages")
    asked = parser.parse_args()
    layers = sorted(counting.lines_by_layer().items(), key=lambda each: -each[1])
    _table("lines of code", {name: f"{size:6,}" for name, size in layers})
    counts = counting.counts()
    _table("counted", {k: v for k, v in counts.items() if not k.startswith("lines-")})
    collected = counting.collected()
    _table("cases that pytest finds", collected)
    measured = figures.measured(figures.RESULTS.read_text(encoding="utf-8"))
    _table("measured by the benchmark (benchmarks/RESULTS.md)", measured)
    if asked.write:
        known = {**counts, **collected, **measured}
        for path in figures.PAGES:
            before = path.read_text(encoding="utf-8")
            after = figures.filled(before, known)
            if after != before:
                path.write_text(after, encoding="utf-8")
                _say(f"written: {path.relative_to(figures.ROOT)}")
    else:
        timings = {name: str(took) for name, took in timing.timings().items()}
        _table(f"measured now, the best of {timing.TRIES}", timings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
