"""The figures in the texts are those of the record and of the tree."""

import re
from pathlib import Path

import pytest
from tests.proof import counting, figures

RECORD = figures.RESULTS.read_text(encoding="utf-8")
# Counts may lag a little behind the tree, so that not every commit has to change a page; but not
# these.
EXACT = {"dependencies"}
MOST_BEHIND = 0.05

with_figures = pytest.mark.parametrize(
    "path",
    [path for path in figures.PAGES if figures.spans(path.read_text(encoding="utf-8"))],
    ids=lambda path: str(path.relative_to(figures.ROOT)),
)


def number(text: str) -> int:
    return int(text.replace(",", ""))


@with_figures
def test_what_a_page_says_of_speed_is_what_was_recorded(path: Path) -> None:
    measured = figures.measured(RECORD)
    shown = [
        span for span in figures.spans(path.read_text(encoding="utf-8")) if span[0] in measured
    ]

    assert shown == [(name, measured[name]) for name, _ in shown], "run ./dev proof --write"


@with_figures
def test_every_figure_on_a_page_is_known(path: Path) -> None:
    known = {*figures.measured(RECORD), *counting.counts(), *counting.SETS, "cases"}
    names = {name for name, _ in figures.spans(path.read_text(encoding="utf-8"))}

    assert names <= known


@with_figures
def test_what_a_page_counts_still_fits_the_tree(path: Path) -> None:
    counts = counting.counts()
    stale = {
        name: (text, counts[name])
        for name, text in figures.spans(path.read_text(encoding="utf-8"))
        if name in counts
        and text != counts[name]
        and (name in EXACT or _is_behind(text, counts[name]))
    }

    assert stale == {}, "run ./dev proof --write"


def _is_behind(shown: str, counted: str) -> bool:
    return abs(number(shown) - number(counted)) > MOST_BEHIND * number(counted)


def test_the_readme_and_the_proof_have_figures() -> None:
    readme, proof = figures.ROOT / "README.md", figures.ROOT / "docs/proof.md"

    assert len(figures.spans(readme.read_text(encoding="utf-8"))) >= 5
    assert len(figures.spans(proof.read_text(encoding="utf-8"))) >= 25


def test_no_text_has_a_figure_that_nothing_fills_in() -> None:
    """A mark that is misspelt would keep its figure for ever."""
    for path in figures.PAGES:
        text = path.read_text(encoding="utf-8")

        assert len(figures.spans(text)) == len(re.findall("<!-- figure", text)), path


# What reads and fills in


def test_a_figure_is_filled_in_where_it_stands() -> None:
    text = "a <!-- figure one -->1<!-- / --> and <!-- figure two -->2<!-- / --> b"

    filled = figures.filled(text, {"one": "10"})

    assert filled == "a <!-- figure one -->10<!-- / --> and <!-- figure two -->2<!-- / --> b"


def test_a_record_that_lacks_a_row_is_told() -> None:
    with pytest.raises(KeyError, match=r"no 'call, one by one' of 'toolhaft'"):
        figures.measured(RECORD.replace("| call, one by one  ", "| call, another way "))


def test_brackets_are_another_figure() -> None:
    cell = figures.Cell("Figures", "a row", "x")
    sections = {"Figures": "Figures\n\n|  | x |\n| --- | ---: |\n| a row | 1,234 (5.67) |\n"}

    assert figures._cell(sections, cell) == "1,234"
    assert figures._cell(sections, cell._replace(in_brackets=True)) == "5.67"


def test_the_lines_of_all_layers_are_the_lines_of_all() -> None:
    layers = counting.lines_by_layer()

    assert set(layers) >= {"words", "schema", "protocol", "features", "transports", "face"}
    assert counting.counts()["lines"] == f"{sum(layers.values()):,}"


def test_msgspec_needs_nothing_more() -> None:
    assert counting.dependencies() == ["msgspec"]


def test_pytest_is_asked_how_many_cases_there_are() -> None:
    assert counting.cases("tests/proof tests/test_paths.py") >= 1
    with pytest.raises(RuntimeError, match="no tests in tests/proof"):
        counting.cases("tests/proof")
