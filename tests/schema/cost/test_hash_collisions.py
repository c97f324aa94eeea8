"""What takes many steps to put into a hash table is told from data that does not."""

import random
import uuid
from typing import Any

import pytest

from toolhaft.encoding.json_bounds import TooMuch
from toolhaft.schema.cost.hash_collisions import DICT, SET, Layout, check_collisions

MODULUS = 2**61 - 1
BITS = 13


def walked() -> list[int]:
    """Keys for a dict of 2¹³ slots whose hashes all differ. Most fill one long run of the slots
    that follow each other in a search; the rest lead to its beginning."""
    size, mask = 1 << BITS, (1 << BITS) - 1
    chosen = random.Random(1)
    run: dict[int, int] = {}
    slot = 0
    for place in range(size * 2 // 3 - 402):
        run[slot] = place
        slot = (slot * 5 + 1) & mask
    keys = list(run)
    while len(keys) < size * 2 // 3 - 2:
        key = chosen.getrandbits(60)
        slot, perturb = key & mask, key
        while perturb and slot in run:
            perturb >>= 5
            slot = (slot * 5 + perturb + 1) & mask
        if run.get(slot, size) < len(run) // 2:
            keys.append(key)
    return keys


@pytest.mark.parametrize("layout", [SET, DICT], ids=["set", "dict"])
@pytest.mark.parametrize("count", [100, 10_000])
def test_values_of_one_hash_are_refused(layout: Layout, count: int) -> None:
    with pytest.raises(TooMuch, match="collide in a hash table"):
        check_collisions([MODULUS * number for number in range(1, count)], layout)


def test_keys_of_different_hashes_that_lead_to_the_same_slots_are_refused() -> None:
    keys = walked()

    assert len(set(map(hash, keys))) == len(keys)
    with pytest.raises(TooMuch, match="collide in a hash table"):
        check_collisions(keys, DICT)


random_numbers = random.Random(2)
HONEST: dict[str, list[Any]] = {
    "numbers in order": list(range(20_000)),
    "numbers below zero": [-number for number in range(20_000)],
    "random numbers": [random_numbers.getrandbits(63) for _ in range(20_000)],
    "multiples of a million": [number * 10**6 for number in range(20_000)],
    "multiples of 2³²": [number << 32 for number in range(20_000)],
    "multiples of 2⁴⁵": [number << 45 for number in range(20_000)],
    "powers of two": [2**number for number in range(61)],
    "quarters": [number / 4 for number in range(20_000)],
    "parts of 2¹⁶": [number / 2**16 for number in range(20_000)],
    "UUIDs": [uuid.UUID(int=random_numbers.getrandbits(128)) for _ in range(5_000)],
    "pairs": [(left, right) for left in range(100) for right in range(100)],
    "the same again and again": [MODULUS] * 20_000,
}


@pytest.mark.parametrize("layout", [SET, DICT], ids=["set", "dict"])
@pytest.mark.parametrize("values", HONEST.values(), ids=HONEST)
def test_data_that_was_not_chosen_to_collide_passes(layout: Layout, values: list[Any]) -> None:
    check_collisions(values, layout)


def test_what_has_no_hash_is_not_for_a_table() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        check_collisions([[1]], SET)
