"""What one message may hold, whatever it is for: bounds on JSON that takes long to read.

A message is at most as long as `Limits` says, but a short text may stand for much: each `[]` is a
list of 56 bytes and work for the garbage collector, each member of an object a hash and a place in
a table, and a number close to the smallest that a float can hold takes a hundred times as long to
read as another. All of it is read in one go, while nothing else in the process runs. So it is
counted before.
"""

from itertools import islice

from ..lazy_regex import pattern

# A shorter text cannot hold enough of anything to take long.
LARGE = 65_536
MOST_CONTAINERS = 100_000
MOST_MEMBERS = 150_000
MOST_EXPONENTS = 8_000
# Numbers that may be close to the ends of what a float can hold, in strings as well: where a number
# is expected, "1e-310" is one.
_EXPONENT = pattern(rb'[eE][+-]?[0-9]{3,}[",\]}\s\\]')
# Whole numbers take the square of their length to read. Longer ones than these windows together are
# no numbers: CPython reads 4,300 digits at most.
_WINDOW = 1_000
_LONGEST_RUN = 4
MOST_WINDOWS = 500
_PIECE = 262_144


class TooMuch(ValueError):
    """There is more than will be read; the message names the bound."""


def excess(text: bytes) -> str | None:
    """What there is too much of in the text of a JSON value, in words; None if there is not."""
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
    """How many arrays and objects there are, and how many members: what is in strings is none."""
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
    """How many windows of the text are within numbers that are long, and not too long to be read.

    A long number covers at least one window whole."""
    found = run = 0
    for start in range(0, len(text), _WINDOW):
        if text[start] in b"0123456789" and text[start : start + _WINDOW].isdigit():
            run += 1
        elif run:
            found += run if run <= _LONGEST_RUN else 0
            run = 0
    return found
