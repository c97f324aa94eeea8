"""The run as a picture: how many times better than mcp each contender is, on a scale of powers of
ten."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import ceil, floor, log10

from report import BASELINE, LIMIT, SUBJECT, number
from results import Results
from workloads import Workload

# What people ask for; the tables have the rest.
SHOWN = (
    "start",
    "import",
    "memory",
    "call",
    "call-64",
    "sync",
    "list-100",
    "http-json-2026-32",
    "http-json-2025-32",
    "http-sse-2026-32",
    "http-sse-2025-32",
)
BARS = (SUBJECT, "fastmcp", LIMIT)

_WIDTH, _LEFT, _RIGHT = 860, 300, 60
_BAR, _GAP, _HEAD = 9, 12, 56
_STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .head { font-size: 15px; font-weight: 600 }
  .value { font-size: 10px }
  .rule { stroke: #8c959f; stroke-width: .5; stroke-dasharray: 2 3 }
  .one { stroke: #57606a; stroke-width: 1 }
  .toolhaft { fill: #0f766e } .fastmcp { fill: #d97706 } .limit { fill: #a8b1bb }
  @media (prefers-color-scheme: dark) {
    text { fill: #d0d7de } .toolhaft { fill: #2dd4bf } .limit { fill: #57606a }
  }
"""


Ratios = dict[tuple[Workload, str], float]


class Chart:
    """Bars on a logarithmic scale that is wide enough for all of them."""

    def __init__(self, ratios: Ratios) -> None:
        self._ratios = ratios
        powers = [log10(ratio) for ratio in ratios.values()] or [0.0]
        self._low, self._high = floor(min(*powers, 0.0)), ceil(max(*powers, 1.0))

    def place(self, ratio: float) -> float:
        """How far from the left a bar of this ratio ends."""
        width = _WIDTH - _LEFT - _RIGHT
        return _LEFT + (log10(ratio) - self._low) * width / (self._high - self._low)

    def rules(self, bottom: int) -> Iterator[str]:
        """A line for each power of ten; that of 1 is mcp itself."""
        for power in range(self._low, self._high + 1):
            x = self.place(10.0**power)
            kind = "rule" if power else "one"
            yield f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{_HEAD - 8}" y2="{bottom}"/>'
            yield (
                f'<text class="value" x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">'
                f"{number(10.0**power)}</text>"
            )

    def row(self, title: str, workload: Workload, top: int) -> Iterator[str]:
        """The bars of one workload, one below the other."""
        middle = top + len(BARS) * _BAR / 2 + 4
        yield f'<text x="{_LEFT - 10}" y="{middle:.1f}" text-anchor="end">{escape(title)}</text>'
        for offset, name in enumerate(BARS):
            ratio = self._ratios.get((workload, name))
            if ratio is None:
                continue
            start, end = sorted((self.place(1), self.place(ratio)))
            y = top + offset * _BAR
            yield (
                f'<rect class="{name}" x="{start:.1f}" y="{y}" width="{end - start:.1f}" '
                f'height="{_BAR - 1}"/>'
            )
            yield f'<text class="value" x="{end + 4:.1f}" y="{y + 8}">{number(ratio)}</text>'


def as_svg(parts: list[Results]) -> str:
    """Left of the line is worse than mcp, right of it better."""
    rows = [
        (results, workload)
        for results in parts
        for workload in results.workloads
        if workload.name in SHOWN and BASELINE in results.contenders
    ]
    ratios = {
        (workload, name): ratio
        for results, workload in rows
        for name in BARS
        if (ratio := results.times_better(workload, name, BASELINE)) is not None
    }
    chart = Chart(ratios)
    step = len(BARS) * _BAR + _GAP
    bottom = _HEAD + len(rows) * step
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom + 24}" role="img">',
        f"<title>Times better than {BASELINE}</title><style>{_STYLE}</style>",
        f'<text class="head" x="8" y="22">Times better than {BASELINE}</text>',
        *_legend(),
        *chart.rules(bottom),
    ]
    for place, (results, workload) in enumerate(rows):
        lines += chart.row(workload.title + results.part.where, workload, _HEAD + place * step)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _legend() -> Iterator[str]:
    for place, name in enumerate(BARS):
        x = 340 + place * 110
        yield f'<rect class="{name}" x="{x}" y="12" width="12" height="12"/>'
        yield f'<text x="{x + 18}" y="22">{escape(name)}</text>'
