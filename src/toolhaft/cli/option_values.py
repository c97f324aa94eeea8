"""Parsers of option values, for argparse. Each raises an error that names the accepted form."""

import argparse
import math
from collections.abc import Iterable

LISTS = ("tools", "resources", "templates", "prompts")


def count(text: str) -> int:
    """Parse a number of processes, from 1 to 1000."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"a number from 1 to 1000, not {text!r}")
    return int(text)


def variable(text: str) -> tuple[str, str]:
    """Parse an environment variable, `NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not name or not equals or "\0" in text:
        raise argparse.ArgumentTypeError(f"a variable is written NAME=VALUE, not {text!r}")
    return name, value


def header(text: str) -> tuple[str, str]:
    """Parse an HTTP header, `Name: value`."""
    name, colon, value = (part.strip() for part in text.partition(":"))
    is_name = name.isascii() and name.isprintable() and name and " " not in name
    if not is_name or not colon or any(not " " <= sign <= "\xff" for sign in value):
        raise argparse.ArgumentTypeError(f"a header is written 'Name: value', not {text!r}")
    return name, value


def joined_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers by lowercase name; values of a repeated header are joined with commas."""
    values: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        values[key] = f"{values[key]}, {value}" if key in values else value
    return values


def list_name(text: str) -> str:
    """Parse the name of a list, such as `tools`."""
    if text not in LISTS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is none of {', '.join(LISTS)} (with --attach there is no TARGET)"
        )
    return text


def seconds(text: str) -> float:
    """Parse a positive number of seconds."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not (math.isfinite(found) and found > 0):
        raise argparse.ArgumentTypeError(f"a number of seconds above 0, not {text!r}")
    return found
