"""The rate limit for the progress of one call.

"Both parties SHOULD implement rate limiting to prevent flooding." A token bucket: a call sends a
first burst of reports, and as many per second after that. A report without a token is held until a
timer sends it, unless a newer one replaces it: a client needs only the latest.
"""

import asyncio

from ..types.notifications import Progress


class ProgressRate:
    """The token bucket of a call that has used up its first burst, and its held report. Not
    thread-safe: the caller holds a lock.
    """

    __slots__ = ("_filled", "_loop", "_most", "_per_second", "_tokens", "held", "is_timed")

    def __init__(self, loop: asyncio.AbstractEventLoop, per_second: float) -> None:
        self._loop = loop
        # Capacity of the bucket, in tokens.
        self._most = max(1, per_second)
        self._per_second = per_second
        self._tokens = 0.0
        # Loop time at which tokens were last added.
        self._filled = loop.time()
        # The newest report that has not been sent.
        self.held: Progress | None = None
        # Whether a timer that will send it is running.
        self.is_timed = False

    @property
    def interval(self) -> float:
        """Seconds per token."""
        return 1 / self._per_second

    def take(self) -> bool:
        """Take a token, if there is one. Returns whether a report may be sent now."""
        self._fill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def hold(self, report: Progress) -> None:
        """Hold a report for the timer, unless a newer one is held already."""
        if self.held is None or report.progress > self.held.progress:
            self.held = report

    def release(self, reached: float) -> Progress | None:
        """Return the held report, unless a later one was sent. It uses a token, which may make the
        count negative: a timer can fire slightly early, or just after a report was sent.
        """
        held, self.held = self.held, None
        if held is None or held.progress <= reached:
            return None
        self._fill()
        self._tokens -= 1
        return held

    def _fill(self) -> None:
        now = self._loop.time()
        self._tokens = min(self._most, self._tokens + (now - self._filled) * self._per_second)
        self._filled = now
