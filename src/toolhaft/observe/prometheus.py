"""Metrics as others read them: a table for people, and the text format of Prometheus."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from .totals import BOUNDS, NOTHING, Key, Measured, Page

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_LONGEST_NAME = 60


# For people


def table(measured: Mapping[Key, Measured], notices: Mapping[str, int]) -> str:
    """A table, and a summary below it."""
    rows: list[tuple[str, ...]] = []
    by_method: dict[str, Measured] = {}
    for (method, _), each in measured.items():
        by_method[method] = by_method.get(method, NOTHING) + each
    for method in sorted(by_method):
        rows.append(_row(method, by_method[method]))
        names = sorted(name for key, name in measured if key == method and name is not None)
        rows += [_row(f"  {name}", measured[method, name]) for name in names]
    rows += [(method, str(count), *[""] * 6) for method, count in sorted(notices.items())]
    head = ("", "calls", "errors", "error %", "cancelled", "now", "mean", "95 % in")
    widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [head, *rows]
    ]
    return "\n".join([*lines, "", sum(measured.values(), NOTHING).summary, ""])


def _row(name: str, each: Measured) -> tuple[str, ...]:
    return (
        _clean(name),
        str(each.calls),
        str(each.errors),
        f"{100 * each.error_rate:.1f}",
        str(each.cancelled),
        str(each.in_flight),
        _duration(each.mean) if each.timed else "",
        _duration(each.quantile(0.95)) if each.timed else "",
    )


def _clean(name: str) -> str:
    """A name that keeps to its line and its column."""
    text = "".join(letter if letter.isprintable() else "�" for letter in name)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


def _duration(seconds: float) -> str:
    if seconds == float("inf"):
        return f"> {BOUNDS[-1]:g} s"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


# For Prometheus


def exposition(pages: Iterable[Page]) -> str:
    """The metrics of servers, in the text format 0.0.4."""
    pages = list(pages)
    families = (
        ("toolhaft_calls_total", "counter", "Requests that are over, by how they ended.", _calls),
        ("toolhaft_calls_in_flight", "gauge", "Requests that are not over.", _in_flight),
        (
            "toolhaft_call_duration_seconds",
            "histogram",
            "How long requests took from being understood to being answered.",
            _durations,
        ),
        ("toolhaft_notifications_total", "counter", "Notifications that have come.", _notices),
    )
    lines: list[str] = []
    for family, kind, what, samples in families:
        lines += [f"# HELP {family} {what}", f"# TYPE {family} {kind}"]
        for page in pages:
            lines += samples(family, page)
    return "\n".join(lines) + "\n"


def _calls(family: str, page: Page) -> Iterator[str]:
    for key, each in sorted(page.measured.items(), key=_order):
        labels = _labels(page, key)
        for outcome, count in (
            ("ok", each.calls - each.errors - each.cancelled - each.asked),
            ("error", each.errors - each.failures),
            ("failure", each.failures),
            ("cancelled", each.cancelled),
            ("asked", each.asked),
        ):
            yield _sample(family, {**labels, "outcome": outcome}, count)


def _in_flight(family: str, page: Page) -> Iterator[str]:
    for key, each in sorted(page.measured.items(), key=_order):
        yield _sample(family, _labels(page, key), each.in_flight)


def _durations(family: str, page: Page) -> Iterator[str]:
    for key, each in sorted(page.measured.items(), key=_order):
        if not each.timed:
            continue
        labels = _labels(page, key)
        counts = list(accumulate(each.buckets))
        for bound, count in zip([*map(repr, BOUNDS), "+Inf"], counts, strict=True):
            yield _sample(f"{family}_bucket", {**labels, "le": bound}, count)
        yield _sample(f"{family}_sum", labels, each.seconds)
        yield _sample(f"{family}_count", labels, counts[-1])


def _notices(family: str, page: Page) -> Iterator[str]:
    for method, count in sorted(page.notices.items()):
        yield _sample(family, {**page.labels, "method": method}, count)


def _order(item: tuple[Key, Measured]) -> tuple[str, str]:
    method, name = item[0]
    return method, name or ""


def _labels(page: Page, key: Key) -> dict[str, str]:
    method, name = key
    labels = {**page.labels, "method": method}
    return labels if name is None else {**labels, "name": name}


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{inside}}} {value!r}"


def _escaped(text: str) -> str:
    """A lone surrogate has no place in UTF-8; the rest is the format's own rule."""
    text = text.encode("utf-8", "replace").decode()
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
