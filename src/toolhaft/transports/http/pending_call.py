"""The outstanding call of an HTTP connection: begun, and not answered yet.

Most calls that have to wait, for a thread or for anything else, send nothing but their answer, and
that soon. Their connection can write it when it comes, without a task, a scope and another task
that watches for the client to leave. Every other case is handed over to the application, with the
call as it is by then.
"""

import asyncio
from collections.abc import Callable

from .endpoint import Endpoint
from .post import Begun
from .response import Whole


class Outstanding:
    """At most one call at a time, on the thread of the loop.

    Args:
        seconds: after so long, and less than twice that, a call is handed over.
        answer: writes the whole response.
        hand_over: gives the call to the application; with the bytes of its request, unless those
            were parsed.
    """

    __slots__ = (
        "_answer",
        "_data",
        "_endpoint",
        "_hand_over",
        "_loop",
        "_seconds",
        "_timer",
        "call",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        seconds: float,
        *,
        answer: Callable[[Whole], None],
        hand_over: Callable[[Endpoint, Begun, bytes | None], None],
    ) -> None:
        self._loop = loop
        self._seconds = seconds
        self._answer = answer
        self._hand_over = hand_over
        self.call: Begun | None = None
        self._endpoint: Endpoint | None = None
        self._data: bytes | None = None
        self._timer: asyncio.TimerHandle | None = None

    def hold(self, endpoint: Endpoint, begun: Begun, data: bytes | None) -> None:
        """Wait for the answer of a call."""
        self.call, self._endpoint, self._data = begun, endpoint, data
        reply = begun.reply
        reply.on_change = self._changed
        if reply.over or reply.frames or reply.hung_up:  # before it had to wait, or by a thread
            self._changed()
        elif self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._look, begun)

    def hand_over(self) -> None:
        """Let the application give the answer."""
        begun, endpoint, data = self.call, self._endpoint, self._data
        if begun is not None and endpoint is not None:
            self._forget(begun)
            self._hand_over(endpoint, begun, data)

    def close(self) -> None:
        """The connection has ended."""
        if self._timer is not None:
            self._timer.cancel()

    def _changed(self) -> None:
        """The call has said something: its answer, or a message before that."""
        begun, endpoint = self.call, self._endpoint
        if begun is None or endpoint is None:
            return
        whole = endpoint.completed(begun) if begun.reply.over else None
        if whole is None:
            self.hand_over()
        else:
            self._forget(begun)
            self._answer(whole)

    def _forget(self, begun: Begun) -> None:
        begun.reply.on_change = None
        self.call = self._endpoint = self._data = None

    def _look(self, held: Begun) -> None:
        """One timer does for many calls, most of which have ended when it fires."""
        self._timer = None
        if self.call is held:
            self.hand_over()
        elif self.call is not None:
            self._timer = self._loop.call_later(self._seconds, self._look, self.call)
