"""Lets so many calls through at once; the others wait in line, first come, first served."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


class _Place:
    """Somebody who waits in line."""

    __slots__ = ("called", "future", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.future = self.loop.create_future()
        self.called = False

    def call(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


class Pass:
    """The right to be inside: of a call, and of each thread that works for it."""

    __slots__ = ("_gate", "_holders", "_lock")

    def __init__(self, gate: "Gate") -> None:
        self._gate = gate
        self._holders = 1
        self._lock = threading.Lock()

    def kept_for(self, work: Callable[[], T]) -> Callable[[], T]:
        """The same work, which has the right until it is done, even if its call is over before."""
        with self._lock:
            self._holders += 1

        def kept() -> T:
            try:
                return work()
            finally:
                self.give_back()

        return kept

    def give_back(self) -> None:
        """Somebody is done; with the last one, the place is free."""
        with self._lock:
            self._holders -= 1
            is_free = not self._holders
        if is_free:
            self._gate.let_in()


class Gate:
    """To be entered with `async with`, on any loop of the process."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._line: deque[_Place] = deque()
        self._lock = threading.Lock()

    @asynccontextmanager
    async def enter(self) -> AsyncGenerator[Pass]:
        """Wait for a place, and have it for as long as the block takes."""
        await self._wait()
        given = Pass(self)
        try:
            yield given
        finally:
            given.give_back()

    def let_in(self) -> None:
        """The next one, or if nobody waits, whoever comes next. From any thread."""
        with self._lock:
            while self._line:
                place = self._line.popleft()
                place.called = True
                try:
                    place.loop.call_soon_threadsafe(place.call)
                except RuntimeError:  # its loop is closed
                    continue
                return
            self._free += 1

    async def _wait(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            place = _Place()
            self._line.append(place)
        try:
            await place.future
        except asyncio.CancelledError:
            self._give_up(place)
            raise

    def _give_up(self, place: _Place) -> None:
        with self._lock:
            if not place.called:
                self._line.remove(place)
                return
        self.let_in()  # it was this one's turn already
