"""What the values of options may be, and what is said of those that may not."""

import argparse
from collections.abc import Callable

import pytest

from toolhaft.cli.option_values import count, header, joined_headers, list_name, seconds, variable


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (count, "1", 1),
        (count, "1000", 1000),
        (variable, "A=", ("A", "")),
        (variable, "A=b=c", ("A", "b=c")),
        (header, "Authorization: Bearer x:y", ("Authorization", "Bearer x:y")),
        (header, "X-Empty:", ("X-Empty", "")),
        (list_name, "templates", "templates"),
        (seconds, "0.5", 0.5),
    ],
)
def test_a_value_is_read(read: Callable[[str], object], text: str, value: object) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "words"),
    [
        (count, "0", "a number from 1 to 1000"),
        (count, "1001", "a number from 1 to 1000"),
        (count, "two", "a number from 1 to 1000"),
        (count, "²", "a number from 1 to 1000"),
        (variable, "A", "NAME=VALUE"),
        (variable, "=b", "NAME=VALUE"),
        (variable, "A=\0", "NAME=VALUE"),
        (header, "Bearer", "'Name: value'"),
        (header, "X Y: z", "'Name: value'"),
        (header, "X: a\nY: b", "'Name: value'"),
        (header, ": z", "'Name: value'"),
        (list_name, "tool", "none of tools, resources, templates, prompts"),
        (seconds, "0", "a number of seconds above 0"),
        (seconds, "inf", "a number of seconds above 0"),
        (seconds, "soon", "a number of seconds above 0"),
    ],
)
def test_what_is_none_is_told(read: Callable[[str], object], text: str, words: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=words):
        read(text)


def test_a_header_that_is_given_several_times_is_sent_with_all_of_its_values() -> None:
    given = [("X-Tag", "a"), ("Other", "x"), ("x-tag", "b, c")]

    assert joined_headers(given) == {"x-tag": "a, b, c", "other": "x"}
