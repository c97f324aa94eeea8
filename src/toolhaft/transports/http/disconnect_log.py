"""Says in the log that a client was cut off, but not for each of many."""

import logging
from collections.abc import Callable
from time import monotonic
from typing import Final

from ...process.safe_logging import log_safely

log = logging.getLogger(__name__)

# One line in so many seconds: whatever clients do, they cannot fill the log.
_SECONDS: Final = 1.0


class CutOffs:
    """Logs clients that are cut off. The ones for which there is no line are counted."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._next = float("-inf")
        self._untold = 0

    def tell(self, reason: str, client: tuple[str, int] | None = None) -> None:
        """A client was cut off, for this reason. With its address, where that is known."""
        now = self._clock()
        if now < self._next:
            self._untold += 1
            return
        self._next = now + _SECONDS
        more, self._untold = self._untold, 0
        name = "a client" if not client else f"the client {client[0]}:{client[1]}"
        others = f"; {more} more since the last message of this kind" if more else ""
        log_safely(log.warning, "%s was cut off: %s%s", name, reason, others)


cut_offs: Final = CutOffs()
