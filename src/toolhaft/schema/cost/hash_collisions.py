"""How many steps Python takes to put values into a set, or keys into a dict, counted beforehand.

A hash table looks at one slot after the other until it finds the value or an empty slot. Python
hashes numbers, and what is made of numbers, without a secret, so a client can choose values for
which that takes many steps. They may all have the same hash. They may also have different hashes
that lead to a run of slots which other values were chosen to fill: 170,000 different keys take a
second that way. So it is not the hashes that are counted, but the steps, as CPython takes them.

A set or dict is filled in one call of C code. Counting is Python code, and lets other threads run.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from ...encoding.json_bounds import TooMuch

# So few values take few steps, whatever they are.
FEW = 32
_SPARE_STEPS = 1_000
# To compare two values takes longer than to look at another slot.
_COMPARISON = 2
_SMALLEST = 8
_PERTURB_SHIFT = 5


class Layout(NamedTuple):
    """How a kind of hash table uses its slots."""

    # After each slot that a hash leads to, so many next to it are looked at.
    neighbours: int
    # A table is enlarged when this share of its slots is used.
    filled: tuple[int, int]
    # By how much, for few values and for many.
    growth: tuple[int, int]
    # Steps for each value, beyond the first one, while the table grows. Most data takes one or two;
    # multiples of a large power of two, or of its inverse, take half of this.
    steps: int


SET = Layout(neighbours=9, filled=(3, 5), growth=(4, 2), steps=26)
DICT = Layout(neighbours=0, filled=(2, 3), growth=(3, 3), steps=52)
_MANY = 50_000


def check_collisions(values: list[Any], layout: Layout) -> None:
    """Let values pass that are quick to put into a table.

    Raises:
        TooMuch: they take many more steps than values do that were not chosen for it.
        TypeError: one of them has no hash.
    """
    table = _Table(layout)
    for value in values:
        table.add(hash(value), value)


class _Table:
    """The slots of a set or of a dict."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._steps = _SPARE_STEPS
        self._order: list[tuple[int, Any]] = []
        self._make(_SMALLEST)

    def _make(self, size: int) -> None:
        self._mask = size - 1
        self._slots: list[tuple[int, Any] | None] = [None] * size
        share, whole = self._layout.filled
        self._room = size * share // whole

    def add(self, key: int, value: Any) -> None:
        """Put a value in, with its hash."""
        self._steps += self._layout.steps
        slot = key & self._mask
        if self._slots[slot] is not None:
            slot = self._free(key, value)
            if slot < 0:
                return
        entry = key, value
        self._slots[slot] = entry
        self._order.append(entry)
        if len(self._order) >= self._room:
            self._grow()

    def _free(self, key: int, value: Any) -> int:
        """The slot that a value would get; -1 if it is there already."""
        slots, mask, neighbours = self._slots, self._mask, self._layout.neighbours
        # A hash may be negative, and is shifted as a number without a sign.
        slot, perturb = key & mask, key & 0xFFFF_FFFF_FFFF_FFFF
        while True:
            last = slot + neighbours if slot + neighbours <= mask else slot
            for near in range(slot, last + 1):
                entry = slots[near]
                if entry is None:
                    return near
                if entry[0] == key:
                    if entry[1] is value or entry[1] == value:
                        return -1
                    self._spend(_COMPARISON)
            self._spend(1)
            perturb >>= _PERTURB_SHIFT
            slot = (slot * 5 + perturb + 1) & mask

    def _spend(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise TooMuch("holds values that collide in a hash table, as no data does by chance")

    def _grow(self) -> None:
        few, many = self._layout.growth
        needed = len(self._order) * (many if len(self._order) > _MANY else few)
        size = _SMALLEST
        while size <= needed:
            size *= 2
        entries: Iterable[tuple[int, Any] | None] = self._order
        if self._layout is SET:  # a dict keeps its order, a set that of its slots
            entries = self._slots
        self._make(size)
        slots, mask = self._slots, self._mask
        for entry in entries:
            if entry is not None:
                slot = entry[0] & mask
                if slots[slot] is not None:
                    slot = self._free(*entry)
                slots[slot] = entry
