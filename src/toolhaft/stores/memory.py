"""`Store` and `Bus` in the memory of one process."""

import heapq
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

# Values of one log.
_LONGEST_LOG: Final = 1000
# Bytes of one log.
_LARGEST_LOG: Final = 1024 * 1024
# Outdated entries of the heap of expiry times that are tolerated, beyond the number of entries.
_SPARE: Final = 1000


class _Entry(Struct):
    """A value or a log, and its expiry time."""

    end: float
    size: int
    # A tuple if it was written once, as most are: the garbage collector untracks it.
    values: tuple[bytes, ...] | list[bytes]
    # For a log, the number of earlier values that were dropped; None for a value.
    dropped: int | None = None

    def add(self, more: list[bytes]) -> None:
        """Append to a log."""
        values = self.values
        if isinstance(values, tuple):
            self.values = values = [*values]
        values += more
        self.size += sum(map(len, more))
        self.trim()

    def trim(self) -> None:
        """Drop the oldest values of a log that exceeds its bounds."""
        if self.size <= _LARGEST_LOG and len(self.values) <= _LONGEST_LOG:
            return
        assert self.dropped is not None, "a log is trimmed"
        values = [*self.values]
        while values and (len(values) > _LONGEST_LOG or self.size > _LARGEST_LOG):
            self.size -= len(values.pop(0))
            self.dropped += 1
        self.values = values


class MemoryStore:
    """Values and logs with expiry times, bounded in number and bytes.

    When a bound is exceeded, logs are evicted before values, and the least recently used first: a
    client that reconnects without its log misses messages, one without its session has to start
    again.
    """

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
        # Least recently used first.
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._logs: OrderedDict[str, None] = OrderedDict()
        # A heap by expiry time; entries that were replaced since are still in it.
        self._ends: list[tuple[float, str]] = []
        self._size = 0

    def __len__(self) -> int:
        return len(self._entries)

    async def get(self, key: str) -> bytes | None:
        """Return a value, or None."""
        found = self._find(key)
        return None if found is None or found.dropped is not None else found.values[0]

    async def put(self, key: str, value: bytes, *, seconds: float) -> None:
        """Store a value for `seconds`."""
        now = self._expire()
        self._drop(key)
        self._insert(key, _Entry(now + seconds, len(value), (value,)))

    async def delete(self, key: str) -> None:
        """Delete a value or a log."""
        self._drop(key)

    async def append(self, key: str, values: list[bytes], *, after: int, seconds: float) -> None:
        """Append values to a log."""
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
        self._insert(key, log)

    async def after(self, key: str, position: int) -> list[bytes] | None:
        """Return the values of a log after the first `position` ones, or None if some are gone."""
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

    def _insert(self, key: str, entry: _Entry) -> None:
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
        """Delete expired entries. Returns the current time."""
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
    """Delivers messages to the subscribers in this process, on the loop of the publisher."""

    def __init__(self) -> None:
        self._subscribers: dict[str, list[Callable[[bytes], None]]] = {}

    async def publish(self, topic: str, message: bytes) -> None:
        """Call all subscribers of a topic."""
        for hear in list(self._subscribers.get(topic, ())):
            hear(message)

    async def subscribe(
        self, topic: str, hear: Callable[[bytes], None]
    ) -> Callable[[], Awaitable[None]]:
        """Call `hear` with each message published from now on. Returns a function that stops it."""
        subscribers = self._subscribers.setdefault(topic, [])
        subscribers.append(hear)

        async def leave() -> None:
            if hear in subscribers:
                subscribers.remove(hear)
            if not subscribers and self._subscribers.get(topic) is subscribers:
                del self._subscribers[topic]

        return leave
