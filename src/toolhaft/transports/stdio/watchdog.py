"""A thread that sees to it that the process is never deaf and always ends.

Three things can keep a loop from its duty: a coroutine that blocks, a parent that died without
closing the pipe, and code that does not stop when it should. The watch stands in for the loop while
it is held up, ends the service when the parent is gone, and ends the process at the deadline.
"""

import asyncio
import os
import select
import threading
import time
from collections.abc import Callable

from ...calls.call import told
from ...calls.connection import Connection
from ...calls.loop_monitor import Blame
from ...errors import clipped
from ...process.stderr_log import drain
from ..pipes import Input, Output

# How long the loop may be away before somebody stands in: at most two of these.
_TICK = 0.2
_POLL = 0.02


class Watch:
    """Looks after one service over descriptors."""

    def __init__(
        self,
        connection: Connection,
        input_: Input,
        output: Output,
        *,
        stop: Callable[[], None],
        seconds_to_end: float,
    ) -> None:
        self._connection = connection
        self._input = input_
        self._output = output
        self._stop = stop
        self._seconds_to_end = seconds_to_end
        self._loop = asyncio.get_running_loop()
        self._parent = os.getppid()
        self._deadline: float | None = None
        # What the client had taken when we last looked, and will have when it has all that it was
        # owed at the end. What a call sends after that moves no deadline: it might go on for ever.
        self._taken = 0
        self._owed = 0
        self._dismissed = threading.Event()
        self._blame = Blame()

    def start(self) -> None:
        """Watch from now on."""
        threading.Thread(target=self._run, name="toolhaft-watch", daemon=True).start()

    def expect_end(self) -> None:
        """The process has to be gone soon."""
        if self._deadline is None:
            self._taken = self._output.taken
            self._owed = self._taken + self._output.waiting
            self._deadline = time.monotonic() + self._seconds_to_end

    def seconds_left(self) -> float:
        """Until the process has to be gone."""
        left = 0.0 if self._deadline is None else self._deadline - time.monotonic()
        return max(0.0, left - _POLL)

    def dismiss(self) -> None:
        """The process may live on."""
        self._dismissed.set()

    def _run(self) -> None:
        seen = -1
        while not self._dismissed.wait(_POLL if self._deadline is not None else _TICK):
            self._look_at_the_clock()
            if os.getppid() != self._parent:
                self._stop()
            turns = self._input.turns
            if turns == seen:
                self._output.push()
                if self._input.waiting:
                    self._stand_in()
            seen = turns

    def _look_at_the_clock(self) -> None:
        if self._input.at_end:
            self.expect_end()
        taken = self._output.taken
        if self._deadline is not None and taken != self._taken:
            if self._input.is_behind:
                self._owed = taken + self._output.waiting
            if self._taken < self._owed:  # the client still reads what it has asked for
                self._deadline = time.monotonic() + self._seconds_to_end
            self._taken = taken
        if self._deadline is not None and time.monotonic() > self._deadline:
            try:
                self._name_who_is_cut_off()
            finally:
                os._exit(0)

    def _name_who_is_cut_off(self) -> None:
        """The loop was to cancel and to name them, and did not get so far. Not by the log, whose
        handlers are the author's and may wait."""
        driver = self._connection.driver
        culprit, calls = driver.culprit, list(driver.calls.values())
        named = [culprit] if culprit is not None else []
        named += [call for call in calls if call is not culprit]
        if named:
            calls_told = clipped(", ".join(map(told, named)))
            drain.put(f"toolhaft: WARNING: the service ends; cut off: {calls_told}\n")
            drain.flush()

    def _stand_in(self) -> None:
        """Do the loop's reading until it is back."""
        back = threading.Event()
        self._loop.call_soon_threadsafe(back.set)
        if back.wait(_POLL):
            return
        self._blame.lay_on(self._connection.driver.culprit)
        poll = select.poll()
        poll.register(self._input.descriptor, select.POLLIN)
        self._input.serve()
        while not back.is_set():
            self._look_at_the_clock()
            self._output.push()
            if self._input.is_behind and not self._output.is_full:
                self._input.serve()
            elif self._input.at_end or self._output.is_full:
                back.wait(_POLL)
            elif poll.poll(_POLL * 1000):
                self._input.read()
