"""How values, kinds of values and names are spoken of, to a model that got one of them wrong."""

import math
from collections.abc import Iterable
from typing import Any

import msgspec

from ..errors import clipped

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
_DASHES = {ord("-"): None, ord("_"): None}
_KINDS: dict[type, str] = {str: "a string", int: "an integer", list: "an array", dict: "an object"}


def echo(value: Any) -> str:
    """A value as JSON on one line that is never long and hides nothing."""
    kind = value.__class__
    if kind is str:
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


def near_name(name: str, known: list[str]) -> str | None:
    """The name that was probably meant."""
    plain = name.lower().translate(_DASHES)
    same = [other for other in known if other.lower().translate(_DASHES) == plain]
    near = (other for other in known if _differ_little(name, other))
    return same[0] if same else next(near, None)


def _differ_little(one: str, other: str) -> bool:
    """Is all that is between the same beginning and the same end at most two characters?"""
    if min(len(one), len(other)) <= 2 or abs(len(one) - len(other)) > 2:
        return False
    same = 0
    while one[same : same + 1] == other[same : same + 1] != "":
        same += 1
    one, other = one[same:], other[same:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return len(one) <= 2 and len(other) <= 2


def one_of(choices: list[Any]) -> str:
    if len(choices) < 2:
        return f"must be {echo(choices[0])}" if choices else ""
    more = ", …" if len(choices) > _MOST_CHOICES else ""
    return f"must be one of {', '.join(map(echo, choices[:_MOST_CHOICES]))}{more}"


def counted(number: float, thing: str) -> str:
    return f"{int(number)} {thing}" if number == 1 else f"{int(number)} {thing}s"
