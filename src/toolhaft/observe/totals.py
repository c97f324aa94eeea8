"""What metrics say of one thing: numbers up to a moment, and how they are added up."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

# Upper bounds of the buckets of durations, in seconds; one more bucket has the rest.
BOUNDS: Final = (
    0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
    0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
)  # fmt: skip


class Measured(Struct, frozen=True, kw_only=True):
    """What was counted up to a moment."""

    # Requests that are over, however they ended.
    calls: int = 0
    # Of these, the ones answered with a JSON-RPC error or with a result that says `isError`.
    errors: int = 0
    # Of the errors, those that say `isError`.
    failures: int = 0
    # Of the calls, those that were cancelled, or whose client has left.
    cancelled: int = 0
    # Of the calls, those that were answered with a question. The answers come with another call.
    asked: int = 0
    # Requests that are not over.
    in_flight: int = 0
    # How long those took that were begun, in all.
    seconds: float = 0.0
    # How many of them took how long: one number for each of `BOUNDS`, and one for the rest.
    buckets: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)

    @property
    def timed(self) -> int:
        """Calls that were begun; others were refused before."""
        return sum(self.buckets)

    @property
    def mean(self) -> float:
        """How many seconds a call took on average; 0 if there was none."""
        return self.seconds / self.timed if self.timed else 0.0

    @property
    def error_rate(self) -> float:
        """The share of calls that are errors, from 0 to 1; 0 if there was none."""
        return self.errors / self.calls if self.calls else 0.0

    def quantile(self, share: float) -> float:
        """About how many seconds this share of the calls took at most: the upper bound of the
        bucket where it is reached. Infinite beyond the last bound, 0 if there was no call."""
        if not 0 <= share <= 1:
            raise ValueError(f"a share is between 0 and 1, not {share}")
        wanted, so_far = share * self.timed, 0
        if not self.timed:
            return 0.0
        for bound, count in zip(BOUNDS, self.buckets, strict=False):
            so_far += count
            if so_far and so_far >= wanted:
                return bound
        return float("inf")

    @property
    def summary(self) -> str:
        """Calls and errors in a line."""
        rate = 100 * self.error_rate
        return f"MCP metrics: {self.calls} calls, {self.errors} errors ({rate:.1f}% error rate)"

    def __add__(self, other: "Measured") -> "Measured":
        return Measured(
            calls=self.calls + other.calls,
            errors=self.errors + other.errors,
            failures=self.failures + other.failures,
            cancelled=self.cancelled + other.cancelled,
            asked=self.asked + other.asked,
            in_flight=self.in_flight + other.in_flight,
            seconds=self.seconds + other.seconds,
            buckets=tuple(a + b for a, b in zip(self.buckets, other.buckets, strict=True)),
        )


NOTHING: Final = Measured()
# Requests by their method and by what they are about; None where that is nothing.
Key = tuple[str, str | None]


class Page(Struct, frozen=True):
    """The metrics of one server, and what tells them from those of others."""

    labels: Mapping[str, str]
    measured: Mapping[Key, Measured]
    notices: Mapping[str, int]
