"""How much one client may ask of the server."""

import math
from typing import Any

import pytest

from toolhaft.protocol.limits import Limits

NAMES = Limits.__struct_fields__


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, -1, math.nan, "5", None])
def test_a_bound_is_a_number_above_0(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"Limits\({name}=.*\): expected a number above 0"):
        Limits(**{name: value})


@pytest.mark.parametrize("name", NAMES)
def test_each_can_be_set_by_itself(name: str) -> None:
    limits = Limits(**{name: 7})

    changed = [each for each in NAMES if getattr(limits, each) != getattr(Limits(), each)]
    assert changed == [name]


def test_a_misspelt_bound_is_named_with_the_one_that_was_meant() -> None:
    wrong: Any = {"mesage_bytes": 5}

    words = r"Limits\(\) knows no 'mesage_bytes'; did you mean 'message_bytes'\? it takes message_"
    with pytest.raises(TypeError, match=words):
        Limits(calls=3, **wrong)


def test_bounds_have_names() -> None:
    wrong: Any = 5

    with pytest.raises(TypeError, match="positional"):
        Limits(wrong)


def test_there_is_time_to_finish_before_the_end() -> None:
    assert Limits().finish_seconds < Limits().shutdown_seconds
