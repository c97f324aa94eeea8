"""What metrics say of one thing: numbers, durations, shares."""

import pytest

from toolhaft.metrics import BOUNDS, Measured


def test_a_share_of_the_calls_is_in_the_bucket_where_it_is_reached() -> None:
    buckets = [0] * (len(BOUNDS) + 1)
    buckets[0], buckets[3], buckets[-1] = 90, 5, 5
    measured = Measured(calls=100, seconds=20.0, buckets=tuple(buckets))

    assert [measured.quantile(share) for share in (0, 0.5, 0.9, 0.95, 0.96)] == [
        0.0001,
        0.0001,
        0.0001,
        0.0025,
        float("inf"),
    ]
    assert measured.mean == 0.2
    with pytest.raises(ValueError, match="between 0 and 1"):
        measured.quantile(95)
