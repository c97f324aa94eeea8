"""What an option's value may be: each is read by a function, which says what is wrong with it."""

import argparse
import math
from collections.abc import Iterable

LISTS = ("tools", "resources", "templates", "prompts")


def count(text: str) -> int:
    """How many processes."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"a number from 1 to 1000, not {text!r}")
    return int(text)


def variable(text: str) -> tuple[str, str]:
    """A variable and its value."""
    name, equals, value = text.partition("=")
    if not name or not equals or "\0" in text:
        raise argparse.ArgumentTypeError(f"a variable is written NAME=VALUE, not {text!r}")
    return name, value


def header(text: str) -> tuple[str, str]:
    """A header and its value."""
    name, colon, value = (part.strip() for part in text.partition(":"))
    is_name = name.isascii() and name.isprintable() and name and " " not in name
    if not is_name or not colon or any(not " " <= sign <= "\xff" for sign in value):
        raise argparse.ArgumentTypeError(f"a header is written 'Name: value', not {text!r}")
    return name, value


def joined(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers by name; one that is given several times has its values in one line."""
    values: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        values[key] = f"{values[key]}, {value}" if key in values else value
    return values


def list_name(text: str) -> str:
    """What can be listed."""
    if text not in LISTS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is none of {', '.join(LISTS)} (with --attach there is no TARGET)"
        )
    return text


def seconds(text: str) -> float:
    """A time."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not (math.isfinite(found) and found > 0):
        raise argparse.ArgumentTypeError(f"a number of seconds above 0, not {text!r}")
    return found
