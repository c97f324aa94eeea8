"""Patterns that are compiled with their first use."""

import re

import pytest

from toolhaft.lazy_regex import pattern


def test_a_pattern_does_what_a_compiled_one_does() -> None:
    word = pattern("(?P<first>[a-z])[a-z]*", re.IGNORECASE)

    found = word.match("Tool 7")

    assert found is not None
    assert (found.group(), found["first"]) == ("Tool", "T")
    assert word.fullmatch("Tool 7") is None
    assert word.findall("a 1 b") == ["a", "b"]
    assert pattern(rb"\d+").sub(b"n", b"a 12") == b"a n"


def test_a_mistake_shows_with_the_first_use_and_not_before() -> None:
    wrong = pattern("(")

    with pytest.raises(re.error):
        wrong.match("x")
