"""`Store` and `Bus` within one process."""

import heapq
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

_LONGEST_LOG: Final = 1000
_LARGEST_LOG: Final = 1024 * 1024
_SPARE: Final = 1000


class _Entry(Struct, gc=False):
    """A value or a log, and until when it is kept. There may be many, and they hold bytes only: the
    collector need not look at them again and again."""

    end: float
    size: int
    # A tuple if it was written once, as most are: to the collector no more than its bytes.
    values: tuple[bytes, ...] | list[bytes]
    # Of a log, how many there were before these; None is a value.
    dropped: int | None = None

    def add(self, more: list[bytes]) -> None:
        """To a log."""
        values = self.values
        if isinstance(values, tuple):
            self.values = values = [*values]
        values += more
        self.size += sum(map(len, more))
        self.trim()

    def trim(self) -> None:
        """What a log holds too much goes, the oldest first."""
        if self.size <= _LARGEST_LOG and len(self.values) <= _LONGEST_LOG:
            return
        assert self.dropped is not None, "a log is trimmed"
        values = [*self.values]
        while values and (len(values) > _LONGEST_LOG or self.size > _LARGEST_LOG):
            self.size -= len(values.pop(0))
            self.dropped += 1
        self.values = values


class MemoryStore:
    """Keeps values and logs until their time is over, and no more of them than fits.

    If there are too many, logs go before values: a client that comes back and finds no log misses
    what it was sent, one that finds no session has to begin anew. Of each, those that were used
    least recently go first."""

    def __init__(
        self,
        *,
        most: int = 100_000,
        most_bytes: int = 64 * 1024 * 1024,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._clock = clock
        # In the order of their last use.
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._logs: OrderedDict[str, None] = OrderedDict()
        # In the order in which they end; some are of entries that were replaced meanwhile.
        self._ends: list[tuple[float, str]] = []
        self._size = 0

    def __len__(self) -> int:
        return len(self._entries)

    async def get(self, key: str) -> bytes | None:
        """The value, if it is still there."""
        found = self._find(key)
        return None if found is None or found.dropped is not None else found.values[0]

    async def put(self, key: str, value: bytes, *, seconds: float) -> None:
        """Keep a value for so long from now."""
        now = self._expire()
        self._drop(key)
        self._keep(key, _Entry(now + seconds, len(value), (value,)))

    async def delete(self, key: str) -> None:
        """Forget a value, or a log."""
        self._drop(key)

    async def append(self, key: str, values: list[bytes], *, after: int, seconds: float) -> None:
        """Add to a log."""
        now = self._expire()
        log = self._entries.get(key)
        if log is not None:
            self._drop(key)
        if log is None or log.dropped is None:
            log = _Entry(now + seconds, sum(map(len, values)), tuple(values), after)
            log.trim()
        else:
            log.add(values)
            log.end = now + seconds
        self._keep(key, log)

    async def after(self, key: str, position: int) -> list[bytes] | None:
        """What was added to a log behind this many values."""
        log = self._find(key)
        if log is None or log.dropped is None:
            return None
        start = position - log.dropped
        return None if start < 0 or start > len(log.values) else [*log.values[start:]]

    def _find(self, key: str) -> _Entry | None:
        self._expire()
        found = self._entries.get(key)
        if found is None:
            return None
        self._entries.move_to_end(key)
        if key in self._logs:
            self._logs.move_to_end(key)
        return found

    def _keep(self, key: str, entry: _Entry) -> None:
        self._entries[key] = entry
        if entry.dropped is not None:
            self._logs[key] = None
        self._size += entry.size
        heapq.heappush(self._ends, (entry.end, key))
        while len(self._entries) > self._most or self._size > self._most_bytes:
            self._drop(next(iter(self._logs or self._entries)))
        if len(self._ends) > 2 * len(self._entries) + _SPARE:
            self._ends = [(entry.end, key) for key, entry in self._entries.items()]
            heapq.heapify(self._ends)

    def _expire(self) -> float:
        """Forget what is over by now, and tell when that is."""
        now, ends = self._clock(), self._ends
        while ends and ends[0][0] <= now:
            end, key = heapq.heappop(ends)
            entry = self._entries.get(key)
            if entry is not None and entry.end == end:
                self._drop(key)
        return now

    def _drop(self, key: str) -> None:
        found = self._entries.pop(key, None)
        self._logs.pop(key, None)
        if found is not None:
            self._size -= found.size


class MemoryBus:
    """Carries messages to the subscribers in this process, on the loop of the publisher."""

    def __init__(self) -> None:
        self._subscribers: dict[str, list[Callable[[bytes], None]]] = {}

    async def publish(self, topic: str, message: bytes) -> None:
        """Tell all subscribers of a topic."""
        for hear in list(self._subscribers.get(topic, ())):
            hear(message)

    async def subscribe(
        self, topic: str, hear: Callable[[bytes], None]
    ) -> Callable[[], Awaitable[None]]:
        """Hear what is published from now on."""
        subscribers = self._subscribers.setdefault(topic, [])
        subscribers.append(hear)

        async def leave() -> None:
            if hear in subscribers:
                subscribers.remove(hear)
            if not subscribers and self._subscribers.get(topic) is subscribers:
                del self._subscribers[topic]

        return leave
