"""Docstrings that are indented unevenly: each description is read, or refused with a message."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.schema.docstrings import read

NAMES = ("alpha", "beta", "gamma", "delta")
words = st.lists(st.sampled_from(["one", "two", "(three)", "a:b", "four."]), min_size=1, max_size=3)
blanks = st.sampled_from([" ", "  ", "   ", "    ", "     ", "      ", "\t", "  \t", "\t\t"])


@dataclass
class Entry:
    name: str
    text: str
    more: list[str]
    indent: str
    further: str

    @property
    def whole(self) -> str:
        return " ".join([self.text, *self.more])


entries = st.lists(
    st.builds(
        Entry,
        st.sampled_from(NAMES),
        words.map(" ".join),
        st.lists(words.map(" ".join), max_size=2),
        blanks,
        blanks,
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda entry: entry.name,
)


def described(doc: str) -> dict[str, str]:
    return read(doc, NAMES, "tool 'find'").parameters


def lines(entry: Entry, first: str, own: str) -> list[str]:
    """An entry with a line of its own, and its text further in."""
    return [own + first, *(own + entry.further + line for line in entry.more)]


@given(entries)
def test_google(entries: list[Entry]) -> None:
    body = [
        line
        for entry in entries
        for line in lines(entry, f"{entry.name}: {entry.text}", entry.indent)
    ]

    found = described("\n".join(["Find.", "", "Args:", *body]))

    assert found == {entry.name: entry.whole for entry in entries}


@given(entries)
def test_google_without_any_indentation(entries: list[Entry]) -> None:
    body = [line for each in entries for line in lines(each, f"{each.name}: {each.text}", "")]

    found = described("\n".join(["Find.", "", "Args:", *body, "", "Returns:", "    it"]))

    assert found == {entry.name: entry.whole for entry in entries}


@given(entries, st.sampled_from(["", "    ", "\t"]))
def test_numpy(entries: list[Entry], margin: str) -> None:
    body = [
        line
        for number, entry in enumerate(entries)
        for own in [margin + entry.indent if number else margin]
        for line in [
            f"{own}{entry.name} : int",
            *(own + entry.further + text for text in [entry.text, *entry.more]),
        ]
    ]
    title = [margin + "Parameters", margin + "----------"]

    found = described("\n".join(["Find.", "", *title, *body]))

    assert found == {entry.name: entry.whole for entry in entries}


@given(entries)
def test_sphinx(entries: list[Entry]) -> None:
    body = [
        line
        for number, entry in enumerate(entries)
        for own in [entry.indent if number else ""]
        for line in lines(entry, f":param {entry.name}: {entry.text}", own)
    ]

    found = described("\n".join(["Find.", "", *body, ":returns: it"]))

    assert found == {entry.name: entry.whole for entry in entries}


@given(entries)
def test_a_block(entries: list[Entry]) -> None:
    body = [
        line
        for entry in entries
        for line in lines(entry, f"{entry.name} - {entry.text}", entry.indent)
    ]

    found = described("\n".join(["Find.", "", "MCP Parameters:", *body]))

    assert found == {entry.name: entry.whole for entry in entries}


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ("Find.\n\nArgs:\n    alpha: a\n      beta: b", {"alpha": "a", "beta": "b"}),
        ("Find.\n\nArgs:\n      alpha: a\n    beta: b", {"alpha": "a", "beta": "b"}),
        ("Find.\n\nArgs:\nalpha: a\nbeta (int): b", {"alpha": "a", "beta": "b"}),
        ("Find.\n\nArgs:\n    alpha: a\n  on\n    beta: b", {"alpha": "a on", "beta": "b"}),
        ("Find.\n\nMore.\n\n    Args:\n        alpha: a", {"alpha": "a"}),
        ("Find.\n\nParameters\n---\nalpha : int\nthe\nbeta\n  b", {"alpha": "the", "beta": "b"}),
        ("Find.\n\n:param alpha: a\n      :param beta: b", {"alpha": "a", "beta": "b"}),
        ("Find.\n\n:type alpha: int\n   :param beta: b", {"beta": "b"}),
        ("Find.\n\nMCP Parameters:\nalpha - a\n beta - b", {"alpha": "a", "beta": "b"}),
    ],
)  # fmt: skip
def test_descriptions_are_found_where_they_stand(doc: str, expected: dict[str, str]) -> None:
    assert described(doc) == expected


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ("Find.\n\nArgs:\n    alpha: one of\n        beta: b\n    beta: c", "one of beta: b"),
        ("Find.\n\nArgs:\n    alpha: see\n        omega: o", "see omega: o"),
        ("Find.\n\nParameters\n----------\nalpha\n    see\n    beta: b", "see beta: b"),
    ],
)
def test_what_begins_with_a_name_may_still_go_on(doc: str, expected: str) -> None:
    assert described(doc)["alpha"] == expected


def test_a_block_that_begins_with_no_name_is_refused() -> None:
    with pytest.raises(TypeError, match="tool 'find': its MCP Parameters begin with 'These are:'"):
        described("Find.\n\nMCP Parameters:\n    These are:\n  alpha - a")
