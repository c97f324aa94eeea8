"""`server.metrics`: what was called how often, how long it took, and how it ended.

A call is counted once, where it ends, in one tally: that of its tool, if it has one. What a method
has in all is the sum of its tallies, and what is under way is looked up among the calls, both when
somebody asks. So a call pays for one tally, and two looks at the clock.

Under the interpreter's lock nothing is lost when threads count at once: between the reading of a
number and its writing there is nothing at which Python would change to another thread.
"""

import sys
import threading
import weakref
from collections import Counter as Tallied
from collections.abc import Callable, Iterator, Mapping
from time import perf_counter
from typing import Final

from .observe.totals import BOUNDS, NOTHING, Key, Measured, Page
from .protocol.calls import Call, Calls, Fate, Subject
from .protocol.revisions import ASKING, METHODS

_SHORTEST: Final = BOUNDS[0]
# Names of tools, prompts and resources that get a tally of their own.
_MOST_NAMES: Final = 2000
UNKNOWN: Final = "(unknown)"
INVALID: Final = "(invalid)"
OTHER: Final = "(other)"
_NOTICES: Final = frozenset(
    {
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/progress",
        "notifications/roots/list_changed",
    }
)


class _Tally:
    """Counts the calls of one thing."""

    __slots__ = ("asked", "buckets", "cancelled", "errors", "failures", "refused", "seconds")

    buckets: list[int]
    seconds: float

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin anew. Those who know this tally keep it."""
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0
        self.errors = self.failures = self.cancelled = self.asked = self.refused = 0

    def add(self, seconds: float, fate: Fate | None) -> None:
        """One more call."""
        place = 0 if seconds <= _SHORTEST else _place(seconds)
        self.seconds += seconds
        self.buckets[place] += 1
        if fate is not None:
            self.note(fate)

    def note(self, fate: Fate) -> None:
        if fate == "cancelled":
            self.cancelled += 1
        elif fate == "asked":
            self.asked += 1
        else:
            self.errors += 1
            if fate == "failure":
                self.failures += 1

    def measured(self, in_flight: int) -> Measured:
        """What was counted up to now."""
        buckets = tuple(self.buckets)
        return Measured(
            calls=sum(buckets) + self.refused,
            errors=self.errors,
            failures=self.failures,
            cancelled=self.cancelled,
            asked=self.asked,
            in_flight=in_flight,
            seconds=self.seconds,
            buckets=buckets,
        )


class Metrics(Mapping[str, Measured]):
    """What a server has been asked for, in this process.

    A key is a method, `tools/list`, or a method and what it is about, `tools/call:add`. There are
    only keys for what the server knows; what clients make up shares one. A key that was not seen
    has zeros. What is read is a snapshot."""

    def __init__(self, name: str, known: Callable[[Call], str | None]) -> None:
        self.name = name
        # What a call names, if the server has it.
        self._known = known
        self._tallies: dict[Key, _Tally] = {}
        # Those of methods that are about nothing in particular, by the method alone.
        self._plain: dict[str, _Tally] = {}
        self._notices: Tallied[str] = Tallied()
        self._lock = threading.Lock()
        # Where calls are under way.
        self._watched: weakref.WeakSet[Calls] = weakref.WeakSet()
        # Of servers that include this one: their calls may be calls of ours.
        self._outer: weakref.WeakSet[Metrics] = weakref.WeakSet()

    # Counting

    def ended(self, call: Call, fate: Fate | None, /) -> None:
        """A call is over; its answer comes next."""
        tally: _Tally | None
        seconds = perf_counter() - call.began
        subject = call.subject
        if subject is None:
            tally = self._plain.get(call.method)
            if tally is None:
                tally = self._about_nothing(call)
            tally.add(seconds, fate)
            return
        tally = subject.tally
        if tally is None:
            tally = subject.tally = self._tally(call.method, subject.name)
        # `tally.add`, written out: nearly all calls come by here.
        tally.seconds += seconds
        tally.buckets[0 if seconds <= _SHORTEST else _place(seconds)] += 1
        if fate is not None:
            tally.note(fate)
        if subject.inner is not None and subject.counter is not None:
            subject.counter.passed(call.method, subject.inner, seconds, fate)

    def _about_nothing(self, call: Call) -> _Tally:
        """The tally of a call without a subject: its method has none; or it did not get so far,
        for nobody has such a thing, or middleware has answered."""
        method = call.method
        if method in ASKING:
            return self._tally(method, self._known(call))
        tally = self._tally(method, None)
        if method in METHODS:  # as many as there are, whatever clients make up
            self._plain[method] = tally
        return tally

    def passed(self, method: str, subject: Subject, seconds: float, fate: Fate | None, /) -> None:
        """A call of another server that includes this one was a call of ours."""
        tally: _Tally | None = subject.tally
        if tally is None:
            tally = subject.tally = self._tally(method, subject.name)
        tally.add(seconds, fate)
        if subject.inner is not None and subject.counter is not None:
            subject.counter.passed(method, subject.inner, seconds, fate)

    def refused(self, method: str, call: Call | None = None, /) -> None:
        """A request, or what should have been one, was answered with an error before it was a
        call, or before it could begin."""
        name = self._known(call) if call is not None and method in ASKING else None
        tally = self._tally(method, name)
        with self._lock:
            tally.refused += 1
            tally.errors += 1

    def noticed(self, method: str, /) -> None:
        """A notification has come."""
        if method:
            key = method if method in _NOTICES else f"notifications/{UNKNOWN}"
            with self._lock:
                self._notices[key] += 1

    def watch(self, calls: Calls, /) -> None:
        """Look here for calls that are under way, for as long as it is there."""
        with self._lock:
            self._watched.add(calls)

    def join(self, outer: "Metrics") -> None:
        """A server includes this one; its calls may be calls of ours."""
        with self._lock:
            self._outer.add(outer)

    def _tally(self, method: str, name: str | None) -> _Tally:
        key = self._key(method, name)
        found = self._tallies.get(key)
        if found is not None:
            return found
        with self._lock:
            return self._tallies.setdefault(self._key(method, name), _Tally())

    def _key(self, method: str, name: str | None) -> Key:
        """Where something belongs, in as many places as there may be."""
        if name is not None:
            is_known = (method, name) in self._tallies or len(self._tallies) < _MOST_NAMES
            return method, name if is_known else OTHER
        if method in ASKING:
            return method, UNKNOWN
        if method in METHODS:
            return method, None
        return (UNKNOWN if method else INVALID), None

    # Reading

    def __getitem__(self, key: str) -> Measured:
        return self._all().get(key, NOTHING)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __contains__(self, key: object) -> bool:
        return key in self._all()

    # It lives, so no other is the same.

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def _all(self) -> dict[str, Measured]:
        """Everything that was seen, by its key, in order."""
        found: dict[str, Measured] = {}
        for (method, name), measured in self.measured().items():
            found[method] = found.get(method, NOTHING) + measured
            if name is not None:
                found[f"{method}:{name}"] = measured
        found.update({method: Measured(calls=count) for method, count in self.notices().items()})
        return dict(sorted(found.items()))

    def measured(self) -> dict[Key, Measured]:
        """The requests that were seen, each in one place: by method and by what they are about."""
        under_way = Tallied(
            self._key(method, None if subject is None else subject.name)
            for method, subject in self._under_way()
        )
        with self._lock:
            tallies = dict(self._tallies)
        found = {
            key: (tallies[key] if key in tallies else _Tally()).measured(under_way[key])
            for key in [*tallies, *(key for key in under_way if key not in tallies)]
        }
        return {key: each for key, each in found.items() if each.calls or each.in_flight}

    def notices(self) -> dict[str, int]:
        """How often which notification came."""
        with self._lock:
            return dict(self._notices)

    def _under_way(self) -> list[tuple[str, Subject | None]]:
        """What is called just now."""
        with self._lock:
            watched, outer = list(self._watched), list(self._outer)
        calls = [call for each in watched for call in list(each.calls.values())]
        found = [(call.method, call.subject) for call in calls]
        for metrics in outer:
            for method, subject in metrics._under_way():
                if subject is not None and subject.counter is self:
                    found.append((method, subject.inner))
        return found

    @property
    def total(self) -> Measured:
        """All requests together."""
        return sum(self.measured().values(), NOTHING)

    def reset(self) -> None:
        """Begin anew. What is under way is counted when it ends."""
        with self._lock:
            for tally in self._tallies.values():
                tally.reset()
            self._notices.clear()

    # For people and for Prometheus

    def summary(self) -> str:
        """All of it in a line."""
        return self.total.summary

    def table(self) -> str:
        """All of it for people."""
        from .observe.prometheus import table  # noqa: PLC0415

        return table(self.measured(), self.notices())

    def show(self) -> None:
        """Write the table to stdout."""
        sys.stdout.write(self.table())

    def text(self, **labels: str) -> str:
        """All of it as Prometheus reads it, each line with these labels, too."""
        from .observe.prometheus import exposition  # noqa: PLC0415

        return exposition([self.page(**labels)])

    def page(self, **labels: str) -> Page:
        """All of it, for an exposition of several servers."""
        return Page({"server": self.name, **labels}, self.measured(), self.notices())


def _place(seconds: float) -> int:
    """The bucket of a duration. `bisect` is a library that is slow to load."""
    for place, bound in enumerate(BOUNDS):
        if seconds <= bound:
            return place
    return len(BOUNDS)
