"""What the benchmark says of a run: its picture, its page, what is installed."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The modules of the benchmark, which are scripts beside each other."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    names = ("chart", "footprint", "homes", "measuring", "report", "results", "workloads")
    names += ("http_workloads",)
    yield SimpleNamespace(**{name: __import__(name) for name in names})
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def a_run(bench: SimpleNamespace, **rates: float) -> object:
    """A run over stdio in which every contender has one rate for everything."""
    results = bench.results.Results(bench.results.STDIO, list(rates))
    for workload in results.part.workloads:
        for name, rate in rates.items():
            value = rate if workload.unit == "calls/s" else 1000 / rate
            results.add(name, {workload: [bench.measuring.Sample(value)]})
    return results


def test_the_picture_has_a_bar_for_each_contender_but_the_baseline(bench: SimpleNamespace) -> None:
    run = a_run(bench, toolhaft=20, mcp=1, fastmcp=0.5, limit=60)

    picture = ElementTree.fromstring(bench.chart.as_svg([run]))

    bars = [bar for bar in picture.iter(f"{SVG}rect") if bar.get("height") == "8"]
    widths = {bar.get("class"): float(bar.get("width") or 0) for bar in bars}
    shown = [workload.name for workload in run.workloads if workload.name in bench.chart.SHOWN]
    assert len(bars) == 3 * len(shown) > 0
    assert 0 < widths["fastmcp"] < widths["toolhaft"] < widths["limit"]


def test_the_page_keeps_what_is_around_the_figures(bench: SimpleNamespace) -> None:
    page = f"# Title\n\n{bench.report.BEGIN}\nold\n{bench.report.END}\n\nThe rest.\n"
    facts = {"Date": "today", "Machine": "here", "Packages": "these", "Command": "`so`"}

    written = bench.report.as_page(page, [a_run(bench, toolhaft=20, mcp=1)], facts)

    assert written.startswith(f"# Title\n\n{bench.report.BEGIN}\ntoday, here; these. `so`.\n")
    assert written.endswith(f"\n{bench.report.END}\n\nThe rest.\n")
    assert "\nold\n" not in written
    [rate] = [line for line in written.splitlines() if line.startswith("| call, one by one: rate")]
    assert [cell.strip() for cell in rate.split("|")[2:5]] == ["≥ 20.0 times mcp", "20.0", "PASS"]


def test_an_import_is_what_it_takes_longer_than_python_by_the_shortest_of_each(
    bench: SimpleNamespace,
) -> None:
    results, row = bench.results.Results(bench.results.STDIO, ["bridge"]), bench.workloads.IMPORT
    tries = [(90.0, 20.0), (24.0, 30.0), (25.0, 21.0)]
    results.add("bridge", {row: [bench.measuring.Sample(*each) for each in tries]})

    assert results.figure(row, "bridge") == 4.0
    assert results.beside(row, "bridge") == 20.0


def test_growth_is_the_median_over_pairs_that_were_measured_together(
    bench: SimpleNamespace,
) -> None:
    results = bench.results.Results(bench.results.STDIO, ["toolhaft"])
    few, many = (bench.results.WORKLOAD_OF[name] for name in ("tools-10", "tools-5000"))
    for row, costs in ((few, [10.0, 40.0, 10.0, 10.0]), (many, [10.5, 44.0, 30.0])):
        samples = [bench.measuring.Sample(1000.0, beside=cost) for cost in costs]
        results.add("toolhaft", {row: samples})

    assert results.growth(few, many, "toolhaft") == 1.1
    assert results.growth(few, many, "mcp") is None


def test_every_contender_is_known_by_what_is_installed_for_it(bench: SimpleNamespace) -> None:
    for contender in bench.measuring.CONTENDERS:
        assert "not installed" not in bench.report.package(contender.name)


def test_the_library_is_installed_with_one_other_package(bench: SimpleNamespace) -> None:
    ours, theirs = bench.footprint.footprint("toolhaft"), bench.footprint.footprint("mcp")

    assert ours.packages == 2
    assert ours.megabytes < 3
    assert theirs.packages > 20
    assert theirs.megabytes > ours.megabytes


def test_a_contender_has_what_is_installed_for_it_and_nothing_else(
    bench: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.homes, "HOMES", tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    code = """
import importlib.util as util, toolhaft, toolhaft_bridge, msgspec
print(toolhaft.__file__)
print([name for name in ("pytest", "typing_extensions", "mcp") if util.find_spec(name)])
"""
    python = bench.homes.python_of("toolhaft")
    said = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout

    file, others = said.splitlines()
    assert Path(file).resolve() == (BENCHMARKS.parent / "src/toolhaft/__init__.py").resolve()
    assert others == "[]"


def test_every_target_over_http_is_read_from_rows_that_are_measured(bench: SimpleNamespace) -> None:
    results = bench.results.Results(bench.results.HTTP, ["toolhaft", "toolhaft-asgi", "mcp"])
    results.contenders.append("limit")
    for stage in bench.http_workloads.HTTP_STAGES:
        for row in stage.workloads:
            for name in set(results.contenders) - stage.without:
                results.add(name, {row: [bench.measuring.Sample(1.0, beside=1.0)]})

    missing = [target.claim for target in results.part.targets if target.reading(results) is None]
    assert missing == []


def test_the_load_over_http_also_knows_a_result_that_is_escaped(bench: SimpleNamespace) -> None:
    text = "Grüße, 世界, 😀"

    escaped = bench.http_workloads.in_ascii(json.dumps(text, ensure_ascii=False))

    assert escaped == json.dumps(text)
