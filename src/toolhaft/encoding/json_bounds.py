"""Bounds on the JSON of one message, beyond its length.

`Limits` bounds the bytes of a message, but a short text may be expensive to decode: each `[]` is a
list of 56 bytes and work for the garbage collector, each member of an object a hash and a slot in
a table, and a number close to the smallest float takes a hundred times as long as another. Decoding
holds the interpreter lock until it is done. So the expensive parts are counted first.
"""

from itertools import islice

from ..lazy_regex import pattern

# Bytes below which a text is not checked: it cannot exceed a bound by enough to matter.
LARGE = 65_536
MOST_CONTAINERS = 100_000
MOST_MEMBERS = 150_000
MOST_EXPONENTS = 8_000
# Numbers that may be close to the limits of a float; in strings as well, since "1e-310" is accepted
# where a number is expected.
_EXPONENT = pattern(rb'[eE][+-]?[0-9]{3,}[",\]}\s\\]')
# The time to convert an integer grows with the square of its length. Digits are counted in windows
# of this many bytes.
_WINDOW = 1_000
# Windows in a row that one number can cover: CPython converts at most 4,300 digits.
_LONGEST_RUN = 4
MOST_WINDOWS = 500
# Bytes that are split at quotes at a time.
_PIECE = 262_144


class TooMuch(ValueError):
    """A bound is exceeded; the message names it."""


def excess(text: bytes) -> str | None:
    """Return the bound that the text of a JSON value exceeds, in words, or None."""
    brackets = text.count(b"[") + text.count(b"{") > MOST_CONTAINERS
    if brackets or text.count(b":") > MOST_MEMBERS:
        containers, members = _structure(text)
        if containers > MOST_CONTAINERS:
            return f"more than {MOST_CONTAINERS:,} arrays and objects"
        if members > MOST_MEMBERS:
            return f"more than {MOST_MEMBERS:,} members of objects"
    if text.count(b"e") + text.count(b"E") > MOST_EXPONENTS and _exponents(text):
        return f"more than {MOST_EXPONENTS:,} numbers with an exponent of three digits"
    if _long_numbers(text) > MOST_WINDOWS:
        return f"more than {MOST_WINDOWS * _WINDOW:,} digits in numbers of over {_WINDOW:,} digits"
    return None


def _structure(text: bytes) -> tuple[int, int]:
    """Count the arrays and objects, and the members, outside of strings."""
    text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    containers = members = 0
    is_string = False
    for start in range(0, len(text), _PIECE):
        pieces = text[start : start + _PIECE].split(b'"')
        outside = b"".join(pieces[is_string::2])
        containers += outside.count(b"[") + outside.count(b"{")
        members += outside.count(b":")
        is_string ^= not len(pieces) % 2
    return containers, members


def _exponents(text: bytes) -> bool:
    digits = len(text) - len(text.translate(None, b"0123456789"))
    if digits < 3 * MOST_EXPONENTS:
        return False
    found = islice(_EXPONENT.finditer(text), MOST_EXPONENTS + 1)
    return sum(1 for _ in found) > MOST_EXPONENTS


def _long_numbers(text: bytes) -> int:
    """Count the windows that lie within numbers that are long, but not too long to be converted.

    A long number covers at least one whole window.
    """
    found = run = 0
    for start in range(0, len(text), _WINDOW):
        if text[start] in b"0123456789" and text[start : start + _WINDOW].isdigit():
            run += 1
        elif run:
            found += run if run <= _LONGEST_RUN else 0
            run = 0
    return found
