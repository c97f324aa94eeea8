"""Probes that CPython needs to insert values into a set, or keys into a dict, counted beforehand.

A hash table probes one slot after the other until it finds the value or an empty slot. Python
hashes numbers, and types made of numbers, without a secret, so a client can choose values that need
many probes. They may all have the same hash. They may also have different hashes with a common
probe sequence, the slots of which other values fill: 170,000 different keys take a second that way.
So the simulation counts probes as CPython makes them, not equal hashes.

A set or dict is filled in one call of C code that holds the GIL. Counting is Python code, during
which other threads run.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from ...encoding.json_bounds import TooMuch

# Values in a table that need no check: so few need few probes.
FEW = 32
# Probes that are allowed beyond those per value.
_SPARE_STEPS = 1_000
# Cost of comparing two values, in probes.
_COMPARISON = 2
# Slots of a new table.
_SMALLEST = 8
_PERTURB_SHIFT = 5


class Layout(NamedTuple):
    """Parameters of CPython's hash table for sets or for dicts."""

    # Adjacent slots that are probed linearly after each slot of the probe sequence.
    neighbours: int
    # Share of used slots at which a table grows, as numerator and denominator.
    filled: tuple[int, int]
    # Growth factor for few and for many values.
    growth: tuple[int, int]
    # Allowed probes per value beyond the first, while the table grows. Most data needs one or two;
    # multiples of a large power of two, or of its inverse, need half of this.
    steps: int


SET = Layout(neighbours=9, filled=(3, 5), growth=(4, 2), steps=26)
DICT = Layout(neighbours=0, filled=(2, 3), growth=(3, 3), steps=52)
# Number of values above which a table grows by the second factor.
_MANY = 50_000


def check_collisions(values: list[Any], layout: Layout) -> None:
    """Check that values can be inserted into a table quickly.

    Raises:
        TooMuch: they need many more probes than values that were not chosen to collide.
        TypeError: one of them is not hashable.
    """
    table = _Table(layout)
    for value in values:
        table.add(hash(value), value)


class _Table:
    """A simulated set or dict that counts its probes."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._steps = _SPARE_STEPS
        self._order: list[tuple[int, Any]] = []
        self._allocate(_SMALLEST)

    def _allocate(self, size: int) -> None:
        self._mask = size - 1
        self._slots: list[tuple[int, Any] | None] = [None] * size
        share, whole = self._layout.filled
        self._room = size * share // whole

    def add(self, key: int, value: Any) -> None:
        """Insert a value.

        Args:
            key: its hash.
        """
        self._steps += self._layout.steps
        slot = key & self._mask
        if self._slots[slot] is not None:
            slot = self._find_slot(key, value)
            if slot < 0:
                return
        entry = key, value
        self._slots[slot] = entry
        self._order.append(entry)
        if len(self._order) >= self._room:
            self._grow()

    def _find_slot(self, key: int, value: Any) -> int:
        """Return the slot for a value; -1 if the table already contains it."""
        slots, mask, neighbours = self._slots, self._mask, self._layout.neighbours
        # CPython shifts the hash as an unsigned integer.
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
                    self._charge(_COMPARISON)
            self._charge(1)
            perturb >>= _PERTURB_SHIFT
            slot = (slot * 5 + perturb + 1) & mask

    def _charge(self, steps: int) -> None:
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
        if self._layout is SET:  # rehashed in slot order; a dict in insertion order
            entries = self._slots
        self._allocate(size)
        slots, mask = self._slots, self._mask
        for entry in entries:
            if entry is not None:
                slot = entry[0] & mask
                if slots[slot] is not None:
                    slot = self._find_slot(*entry)
                slots[slot] = entry
