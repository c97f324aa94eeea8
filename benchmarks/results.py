"""The samples of a run, and the figures and verdicts that follow from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from http_workloads import HTTP_WORKLOADS
from measuring import Sample
from workloads import IMPORT, WORKLOADS, Workload

WORKLOAD_OF = {workload.name: workload for workload in (*WORKLOADS, *HTTP_WORKLOADS)}


@dataclass
class Results:
    """Everything that was measured in one part of a run, by workload and contender."""

    part: Part
    contenders: list[str]
    samples: dict[tuple[Workload, str], list[Sample]] = field(
        default_factory=lambda: defaultdict(list)
    )
    failures: dict[tuple[str, str], str] = field(default_factory=dict)  # stage, contender: why

    def add(self, contender: str, samples: dict[Workload, list[Sample]]) -> None:
        for workload, several in samples.items():
            if several:
                self.samples[workload, contender] += several

    @property
    def workloads(self) -> list[Workload]:
        """Those that were measured for anyone, in the order of the tables."""
        measured = {row for row, _ in self.samples}
        return [row for row in self.part.workloads if row in measured]

    def figure(self, workload: Workload, contender: str) -> float | None:
        """What counts of the samples, in the workload's unit."""
        figures = [sample.figure for sample in self.samples.get((workload, contender), [])]
        if not figures:
            return None
        counts = typical(workload, figures, high=workload.unit == "calls/s")
        if workload is IMPORT:
            counts -= self.beside(workload, contender) or 0.0
        return counts

    def beside(self, workload: Workload, contender: str) -> float | None:
        """The same of the second figure: CPU time per call, or Python that imports nothing."""
        figures = self._besides(workload, contender)
        return typical(workload, figures, high=False) if figures else None

    def growth(self, few: Workload, many: Workload, contender: str) -> float | None:
        """How many times the second figure of one workload another has: the median over pairs that
        were measured one after the other, each in as good or bad a moment as its partner."""
        pairs = zip(self._besides(few, contender), self._besides(many, contender), strict=False)
        return median(ratios) if (ratios := [more / less for less, more in pairs]) else None

    def _besides(self, workload: Workload, contender: str) -> list[float]:
        samples = self.samples.get((workload, contender), [])
        return [sample.beside for sample in samples if sample.beside is not None]

    def times_better(self, workload: Workload, contender: str, than: str) -> float | None:
        """The ratio of the figures, turned so that more is better."""
        ratio = quotient(self.figure(workload, contender), self.figure(workload, than))
        return ratio if ratio is None or workload.unit == "calls/s" else 1 / ratio

    def cpu_ratio(self, workload: Workload, contender: str, to: str) -> float | None:
        """How many times the CPU time of another contender a call costs."""
        if workload.unit != "calls/s":
            return None
        return quotient(self.beside(workload, contender), self.beside(workload, to))


def typical(workload: Workload, figures: list[float], *, high: bool) -> float:
    """The median; of something that happens once, the shortest time; of calls, which are measured
    in many short turns, the better quartile: whatever else the machine does only makes them worse.

    Args:
        high: is more better?
    """
    if workload.unit == "ms":
        return min(figures)
    if workload.unit == "calls/s":
        return sorted(figures, reverse=high)[len(figures) // 4]
    return median(figures)


def quotient(dividend: float | None, divisor: float | None) -> float | None:
    return dividend / divisor if dividend is not None and divisor else None


Reading = Callable[[Results], float | None]


def rate_to_mcp(name: str, ours: str = "toolhaft") -> Reading:
    return lambda results: results.times_better(WORKLOAD_OF[name], ours, "mcp")


def calls_per_cpu(name: str, ours: str = "toolhaft") -> Reading:
    """Of mcp's CPU time per call, how many calls of ours can be made."""
    return lambda results: results.cpu_ratio(WORKLOAD_OF[name], "mcp", ours)


def share_of_mcp(name: str) -> Reading:
    return lambda results: quotient(1.0, rate_to_mcp(name)(results))


def cpu_to_limit(name: str, ours: str = "toolhaft") -> Reading:
    return lambda results: results.cpu_ratio(WORKLOAD_OF[name], ours, "limit")


def figure(name: str) -> Reading:
    return lambda results: results.figure(WORKLOAD_OF[name], "toolhaft")


def cpu_growth(few: str, many: str) -> Reading:
    return lambda results: results.growth(WORKLOAD_OF[few], WORKLOAD_OF[many], "toolhaft")


@dataclass(frozen=True)
class Target:
    """A promise about toolhaft: what is read from the results, and the bound it must keep."""

    claim: str
    unit: str
    reading: Reading
    at_least: float | None = None
    at_most: float | None = None

    def verdict(self, results: Results) -> str:
        value = self.reading(results)
        if value is None:
            return "not measured"
        low = self.at_least is not None and value < self.at_least
        high = self.at_most is not None and value > self.at_most
        return "FAIL" if low or high else "PASS"


def bridge_start(results: Results) -> float | None:
    return results.figure(WORKLOAD_OF["start"], "bridge")


def share_by_bridge(name: str) -> Reading:
    return lambda results: results.times_better(WORKLOAD_OF[name], "bridge", "toolhaft")


def of_text(claim: str, name: str) -> tuple[Target, ...]:
    """A call over stdio with two kilobytes of text."""
    return (
        Target(f"{claim}: rate", "times mcp", rate_to_mcp(name), at_least=25),
        Target(f"{claim}: CPU per call", "times limit", cpu_to_limit(name), at_most=2.5),
    )


TARGETS = (
    Target("call, one by one: rate", "times mcp", rate_to_mcp("call"), at_least=20),
    Target("call, one by one: CPU per call", "times limit", cpu_to_limit("call"), at_most=3),
    Target("call, 64 in flight: rate", "times mcp", rate_to_mcp("call-64"), at_least=60),
    Target("sync tool, one by one: rate", "times mcp", rate_to_mcp("sync"), at_least=15),
    *of_text("2 KB of source code", "code"),
    *of_text("2 KB of German and Chinese", "letters"),
    Target("50 items, as structs: rate", "times mcp", rate_to_mcp("structs"), at_least=15),
    Target("50 items, as dataclasses: rate", "times mcp", rate_to_mcp("dataclasses"), at_least=15),
    Target("50 items, as models: rate", "times mcp", rate_to_mcp("models"), at_least=15),
    Target("tools/list of 100 tools: rate", "times mcp", rate_to_mcp("list-100"), at_least=100),
    Target("tools/list of 100 tools: CPU", "times limit", cpu_to_limit("list-100"), at_most=2),
    Target("start to first answer", "ms", figure("start"), at_most=150),
    Target("start to first answer", "times mcp", share_of_mcp("start"), at_most=1 / 6),
    Target("import, on top of bare Python", "ms", figure("import"), at_most=80),
    Target("memory after start (RSS)", "MB", figure("memory"), at_most=30),
    Target(
        "CPU per call with 5,000 tools",
        "times 10 tools",
        cpu_growth("tools-10", "tools-5000"),
        at_most=1.1,
    ),
    Target("through a bridge, one by one", "times direct", share_by_bridge("call"), at_least=0.6),
    Target(
        "through a bridge, 64 in flight", "times direct", share_by_bridge("call-64"), at_least=0.6
    ),
    Target("start of a bridge to first answer", "ms", bridge_start, at_most=60),
)


def beside_others(claim: str, name: str, *, times_mcp: float) -> tuple[Target, ...]:
    """A call over HTTP beside mcp and the bare app, both on the same server."""
    return (
        Target(f"{claim}: rate", "times mcp", rate_to_mcp(name), at_least=times_mcp),
        Target(f"{claim}: calls per CPU", "times mcp", calls_per_cpu(name), at_least=times_mcp),
        Target(f"{claim}: CPU", "times limit", cpu_to_limit(name), at_most=1 / 0.65),
    )


def on_a_thread(claim: str, sync: str, coroutine: str) -> tuple[Target, ...]:
    """A plain function over HTTP, beside mcp and beside a coroutine that does the same."""
    return (
        Target(f"{claim}: rate", "times mcp", rate_to_mcp(sync), at_least=12),
        Target(f"{claim}: calls per CPU", "times mcp", calls_per_cpu(sync), at_least=12),
        Target(f"{claim}: CPU", "times a coroutine", cpu_growth(coroutine, sync), at_most=2.5),
    )


def in_a_host(claim: str, name: str) -> tuple[Target, ...]:
    """A call in an application of Starlette, which holds mcp and the bare app as well."""
    ours = "toolhaft-asgi"
    return (
        Target(f"{claim}: rate", "times mcp", rate_to_mcp(name, ours), at_least=8),
        Target(f"{claim}: calls per CPU", "times mcp", calls_per_cpu(name, ours), at_least=8),
        Target(f"{claim}: CPU", "times limit", cpu_to_limit(name, ours), at_most=1.3),
    )


def text_target(claim: str, name: str) -> tuple[Target, ...]:
    return (
        Target(f"{claim}: rate", "times mcp", rate_to_mcp(name), at_least=8),
        Target(f"{claim}: CPU", "times limit", cpu_to_limit(name), at_most=2.5),
    )


HTTP_TARGETS = (
    *beside_others("JSON, 32 in flight, 2026-07-28", "http-json-2026-32", times_mcp=8),
    *beside_others("JSON, 32 in flight, 2025-11-25", "http-json-2025-32", times_mcp=8),
    *beside_others("SSE, 32 in flight, 2026-07-28", "http-sse-2026-32", times_mcp=15),
    *beside_others("SSE, 32 in flight, 2025-11-25", "http-sse-2025-32", times_mcp=15),
    *text_target("2 KB of source code", "http-code"),
    *text_target("2 KB of German and Chinese", "http-letters"),
    *(
        Target(f"50 items, as {kind}: rate", "times mcp", rate_to_mcp(f"http-{kind}"), at_least=8)
        for kind in ("structs", "dataclasses", "models")
    ),
    *on_a_thread("sync tool, one by one", "http-sync", "http-async"),
    *on_a_thread("sync tool, 32 in flight", "http-sync-32", "http-async-32"),
    *in_a_host("in Starlette, 32 in flight, 2026-07-28", "http-mounted-2026-32"),
    *in_a_host("in Starlette, 32 in flight, 2025-11-25", "http-mounted-2025-32"),
    Target("1,000 tools of 0.1 s at once", "s", figure("http-slow"), at_most=0.5),
    Target(
        "CPU per call with 1,000 sessions",
        "times 1 session",
        cpu_growth("http-sessions-1", "http-sessions-1000"),
        at_most=1 / 0.9,
    ),
    Target("memory per idle session", "KiB", figure("http-session"), at_most=2),
    Target("memory per open stream", "KiB", figure("http-stream"), at_most=20),
)


@dataclass(frozen=True)
class Part:
    """Half of the benchmark: the rows of its tables and what toolhaft promises of them."""

    where: str  # what the titles of its tables end with
    workloads: tuple[Workload, ...]
    targets: tuple[Target, ...]


STDIO = Part("", WORKLOADS, TARGETS)
HTTP = Part(" over HTTP", HTTP_WORKLOADS, HTTP_TARGETS)
