"""How values, kinds of values and names are spoken of, to a model that got one of them wrong."""

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import msgspec

from ...errors import clipped
from ...suggestions import near_name

# Where a value is: the place of what holds it, its name or position in there, and how deep it is.
Path: TypeAlias = tuple[Any, str | int, int] | None
Words: TypeAlias = str | Callable[[], str]

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
_MOST_CHOICES = 20
_MOST_NAMES = 10
_PLAIN = re.compile(r"[\w .,:;/+*()-]*", re.ASCII)
_KINDS: dict[type, str] = {str: "a string", int: "an integer", list: "an array", dict: "an object"}


class Problem(NamedTuple):
    """What is wrong and where; the words may be left to be found when they are shown."""

    path: Path
    words: Words
    got: Any = NOTHING


def line(problem: Problem, where: str) -> str:
    """A problem of a value, or of something in a value, that has a name or none."""
    path, words, got = problem
    text = in_full(words)
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


def in_full(words: Words) -> str:
    """Words that may have been left to be found."""
    return words if isinstance(words, str) else words()


def _step(step: str | int, *, first: bool) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if len(step) <= 100 and (step.isidentifier() or re.fullmatch(r"[\w$@/+-]+", step)):
        return step if first else f".{step}"
    return echo(step) if first else f"[{echo(step)}]"


def echo(value: Any) -> str:
    """A value as JSON on one line that is never long and hides nothing."""
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
    """Kinds of values, in words."""
    names = [name for kind in kinds for name in ([kind] if isinstance(kind, str) else kind)]
    *others, last = dict.fromkeys(NAMES[name] for name in names)
    return f"expected {', '.join(others)} or {last}" if others else f"expected {last}"


def wanted(kind: str | list[str], choices: list[Any]) -> str:
    """What was asked for: one of a few values, or a kind of them."""
    return one_of(choices) or expected([kind])


def one_of(choices: list[Any]) -> str:
    """That it must be one of these; nothing if there are none."""
    if len(choices) < 2:
        return f"must be {echo(choices[0])}" if choices else ""
    more = ", …" if len(choices) > _MOST_CHOICES else ""
    return f"must be one of {', '.join(map(echo, choices[:_MOST_CHOICES]))}{more}"


def counted(number: float, thing: str) -> str:
    """So many of a thing: `1 item`, `2 items`."""
    return f"{int(number)} {thing}" if number == 1 else f"{int(number)} {thing}s"


def unknown(name: str, thing: str, known: Iterable[str], given: Iterable[str], *others: str) -> str:
    """That there is no such member, and which one was meant or which there are.

    Args:
        given: the members that there are already, which can not have been meant.
        others: what else is expected, in words.
    """
    near = near_name(name, [each for each in known if each not in given])
    if near:
        return f"unknown {thing}, did you mean {echo(near)}?"
    names = [*known, *others]
    more = ", …" if len(names) > _MOST_NAMES else ""
    return f"unknown {thing}; expected {', '.join(names[:_MOST_NAMES]) or f'no {thing}s'}{more}"
