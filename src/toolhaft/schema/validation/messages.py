"""Error messages about values, types and names, written for a model that can correct its call."""

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import msgspec

from ...errors import clipped
from ...suggestions import near_name

# Path of a value: the path of its container, its name or index there, and its depth.
Path: TypeAlias = tuple[Any, str | int, int] | None
# A message, or a function that formats it when it is shown.
Words: TypeAlias = str | Callable[[], str]

# Marker for «no value», since None is a JSON value.
NOTHING = object()
NAMES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "null": "null",
    "array": "an array",
    "object": "an object",
}
# Choices and names listed in a message.
_MOST_CHOICES = 20
_MOST_NAMES = 10
# Strings that need no escapes.
_PLAIN = re.compile(r"[\w .,:;/+*()-]*", re.ASCII)
_KINDS: dict[type, str] = {str: "a string", int: "an integer", list: "an array", dict: "an object"}


class Problem(NamedTuple):
    """A problem of a value: its path, the message, and the value if it is shown."""

    path: Path
    words: Words
    got: Any = NOTHING


def line(problem: Problem, where: str) -> str:
    """Format a problem as one line.

    Args:
        where: the name of the root value; may be empty.
    """
    path, words, got = problem
    text = formatted(words)
    if got is not NOTHING:
        text += f", got {echo(got)}"
    steps: list[str | int] = []
    while path is not None:
        steps.append(path[1])
        path = path[0]
    place = where
    while steps:
        place += _step(steps.pop(), first=not place)
    return f"{place}: {text}" if place else text


def formatted(words: Words) -> str:
    """Format a message that may be deferred."""
    return words if isinstance(words, str) else words()


def _step(step: str | int, *, first: bool) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if len(step) <= 100 and (step.isidentifier() or re.fullmatch(r"[\w$@/+-]+", step)):
        return step if first else f".{step}"
    return echo(step) if first else f"[{echo(step)}]"


def echo(value: Any) -> str:
    """Format a value as one line of JSON, clipped, with unprintable characters escaped."""
    kind = value.__class__
    if kind is str:
        if len(value) < 100 and _PLAIN.fullmatch(value):
            return f'"{value}"'
        value = value[:300].encode("utf-8", "replace").decode()
    elif kind is float and not math.isfinite(value):
        return str(value)
    try:
        text = clipped(msgspec.json.encode(value).decode())
    except (ValueError, TypeError, RecursionError):  # lone surrogates, huge integers
        return _KINDS.get(kind, "a value")
    if text.isprintable():
        return text
    return clipped("".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text))


def expected(kinds: Iterable[str | list[str]]) -> str:
    """Format a list of JSON Schema types: `expected a string or null`."""
    names = [name for kind in kinds for name in ([kind] if isinstance(kind, str) else kind)]
    *others, last = dict.fromkeys(NAMES[name] for name in names)
    return f"expected {', '.join(others)} or {last}" if others else f"expected {last}"


def wanted(kind: str | list[str], choices: list[Any]) -> str:
    """Format an expectation: one of a few values, or a type."""
    return one_of(choices) or expected([kind])


def one_of(choices: list[Any]) -> str:
    """Format `must be one of …`; empty if there are no choices."""
    if len(choices) < 2:
        return f"must be {echo(choices[0])}" if choices else ""
    more = ", …" if len(choices) > _MOST_CHOICES else ""
    return f"must be one of {', '.join(map(echo, choices[:_MOST_CHOICES]))}{more}"


def counted(number: float, thing: str) -> str:
    """Format a number of things: `1 item`, `2 items`."""
    return f"{int(number)} {thing}" if number == 1 else f"{int(number)} {thing}s"


def unknown(name: str, thing: str, known: Iterable[str], given: Iterable[str], *others: str) -> str:
    """Format a message about an unknown member, with a suggestion or the known names.

    Args:
        given: the members that the object has, which are not suggested.
        others: descriptions of further names that are allowed.
    """
    near = near_name(name, [each for each in known if each not in given])
    if near:
        return f"unknown {thing}, did you mean {echo(near)}?"
    names = [*known, *others]
    more = ", …" if len(names) > _MOST_NAMES else ""
    return f"unknown {thing}; expected {', '.join(names[:_MOST_NAMES]) or f'no {thing}s'}{more}"
