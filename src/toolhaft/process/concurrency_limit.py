"""A limit on calls that run at once. Further calls wait in a queue, first in, first out."""

import asyncio
import threading
from collections import deque


class _Waiter:
    """An entry of the queue: the future that a waiting coroutine awaits."""

    __slots__ = ("future", "is_admitted", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.future = self.loop.create_future()
        self.is_admitted = False

    def wake(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


class ConcurrencyLimit:
    """An async context manager with `size` slots, shared by all loops of the process."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._queue: deque[_Waiter] = deque()
        self._lock = threading.Lock()

    async def __aenter__(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            waiter = _Waiter()
            self._queue.append(waiter)
        try:
            await waiter.future
        except BaseException:  # cancelled, or the coroutine was closed
            self._leave_queue(waiter)
            raise

    async def __aexit__(self, *_: object) -> None:
        self._release()

    def _leave_queue(self, waiter: _Waiter) -> None:
        with self._lock:
            if not waiter.is_admitted:
                if waiter in self._queue:
                    self._queue.remove(waiter)
                return
        self._release()  # it had a slot already

    def _release(self) -> None:
        """Give the slot to the first waiter, or free it if none waits."""
        with self._lock:
            while self._queue:
                waiter = self._queue.popleft()
                try:
                    waiter.loop.call_soon_threadsafe(waiter.wake)
                except RuntimeError:  # its loop is closed
                    continue
                waiter.is_admitted = True
                return
            self._free += 1
