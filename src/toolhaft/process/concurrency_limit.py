"""Lets so many calls through at once; the others wait in line, first come, first served."""

import asyncio
import threading
from collections import deque


class _Waiter:
    """Somebody who waits in line."""

    __slots__ = ("called", "future", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.future = self.loop.create_future()
        self.called = False

    def call(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


class Gate:
    """To be entered with `async with`, on any loop of the process."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._line: deque[_Waiter] = deque()
        self._lock = threading.Lock()

    async def __aenter__(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            waiter = _Waiter()
            self._line.append(waiter)
        try:
            await waiter.future
        except BaseException:  # cancelled, or closed by whoever drives us: its turn is not lost
            self._give_up(waiter)
            raise

    async def __aexit__(self, *_: object) -> None:
        self._let_in()

    def _give_up(self, waiter: _Waiter) -> None:
        with self._lock:
            if not waiter.called:
                if waiter in self._line:
                    self._line.remove(waiter)
                return
        self._let_in()  # it was this one's turn already

    def _let_in(self) -> None:
        """The next one, or if nobody waits, whoever comes next."""
        with self._lock:
            while self._line:
                waiter = self._line.popleft()
                try:
                    waiter.loop.call_soon_threadsafe(waiter.call)
                except RuntimeError:  # its loop is closed
                    continue
                waiter.called = True
                return
            self._free += 1
