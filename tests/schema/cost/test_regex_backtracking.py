"""How long `re` may take for a text that does not match, told by the pattern."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhaft.schema.cost.regex_backtracking import ENDLESS, degree_of


@pytest.mark.parametrize(
    "pattern",
    [
        "", "a", "x*", "[a-z]+", "^[a-z]+$", "^[a-z]+@", "a{2,5}b*", "^.{0,200}$", r"^\S+$",
        r"^[a-z0-9]+(?:\.[a-z0-9]+)*$", r"^\d{1,3}(?:,\d{3})*$", r"(?i)^\s*\w+\s*$",
        r"^[\w.]+@[\w.]+\.\w+$", "^(?:[0-9]{2}:?)+$", r"^\d+-\d+$", "^[^ü]+ü$",
        r"^https?://[^/]+/.*\.png$", r"^[A-Z]{2}\d{6}$", "^(?:[0-9A-F]{16})+$",
        "^[a-z]{1,63}(\\.[a-z]{1,63}){0,10}$", "^[A-Za-z0-9+/]*={0,2}$",
        r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$",
        r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
        r"^[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*$", r"^v?\d+(\.\d+){0,2}(-[\w.]+)?$",
        "^(AT|BE|CH|DE|DK|NL)$",
    ],
)  # fmt: skip
def test_a_pattern_that_reads_each_character_in_one_way_takes_as_long_as_the_text(
    pattern: str,
) -> None:
    assert degree_of(pattern) == 1


@pytest.mark.parametrize(
    ("pattern", "degree"),
    [
        ("[a-z]+@", 2), (r"\s+$", 2), (r"^\s*\s*$", 2), (r"^[^@\s]+@[^@\s]+\.[^@\s]+$", 2),
        ("^.*a.*b.*$", 3), ("^a*a*a*$", 3), (r"^(?=.*\d)(?=.*[a-z]).{8,20}$", 2),
        (r"^(.*)\1$", 3),
    ],
)  # fmt: skip
def test_one_that_can_share_a_text_between_loops_takes_a_power_of_it(
    pattern: str, degree: int
) -> None:
    assert degree_of(pattern) == degree


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$", "(a|aa)+$", "^(a|a)*$", r"^(\w+\s?)*$", "^(([a-z])+.)+[A-Z]([a-z])+$",
        "^(a*)*$", "^(?:a|b|ab)*$", "(x+x+)+y", "^(a?){30}a{30}$", "^(?:a|aa){30}$",
        "^(?=(a+)+$)", "^((a+)b?)+$",
    ],
)  # fmt: skip
def test_one_with_a_loop_within_a_loop_may_take_for_ever(pattern: str) -> None:
    assert degree_of(pattern) == ENDLESS


def test_what_is_no_pattern_takes_no_time() -> None:
    assert degree_of("(") == 1


def steps(pattern: str, text: str) -> int:
    """How many characters a matcher looks at that tries one way after the other."""
    taken = 0

    def at(part: str, place: int) -> bool:
        nonlocal taken
        taken += 1
        if not part:
            return place == len(text)
        if part[1:2] == "*":
            while place < len(text) and text[place] == part[0]:
                if at(part[2:], place):
                    return True
                place += 1
                taken += 1
            return at(part[2:], place)
        return place < len(text) and text[place] == part[0] and at(part[1:], place + 1)

    at(pattern, 0)
    return taken


@given(st.lists(st.sampled_from(["a*", "b*", "a", "b"]), min_size=1, max_size=4).map("".join))
@settings(max_examples=60, deadline=None)
def test_the_power_is_never_too_low(pattern: str) -> None:
    """By a matcher that counts its steps: with twice the text they grow by that power at most."""
    degree = degree_of(f"^{pattern}$")
    assert re.compile(f"^{pattern}$")

    for text in ("a", "b", "ab"):
        once, twice = (steps(pattern, text * size + "!") for size in (40, 80))
        assert twice <= once * 2**degree * 1.1 + 20
