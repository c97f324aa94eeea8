"""A thread that reads input while the loop is blocked, and ends the process at its deadline.

Covers three failures: a coroutine that blocks the loop (the watchdog reads and writes in its
place), a parent that died without closing the pipe (it stops the service), and code that does not
stop at shutdown (it exits the process).
"""

import asyncio
import os
import select
import threading
import time
from collections.abc import Callable

from ...calls.call import call_label
from ...calls.connection import Connection
from ...calls.loop_monitor import BlockedLoopLog
from ...errors import clipped
from ...process.stderr_log import drain
from ..pipes import Input, Output

# Seconds between checks. A blocked loop is detected after one to two of them.
_TICK = 0.2
# Seconds between checks while a deadline runs or the loop is blocked.
_POLL = 0.02


class Watchdog:
    """The watchdog of one stdio service.

    Args:
        stop: stops the service, from any thread.
        seconds_to_end: time for shutdown; each write of owed output restarts it.
    """

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
        # Positions in the output, in bytes: written at the last check, and the end of what is owed
        # to the client. Other output does not extend the deadline: it might never end.
        self._taken = 0
        self._owed = 0
        self._disarmed = threading.Event()
        self._blame = BlockedLoopLog()

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="toolhaft-watch", daemon=True).start()

    def set_deadline(self) -> None:
        """Set the deadline of the process, unless it is set."""
        if self._deadline is None:
            self._taken = self._output.taken
            self._owed = self._taken + self._output.waiting
            self._deadline = time.monotonic() + self._seconds_to_end

    def owe_all_output(self) -> None:
        """Count all waiting output as owed. For the time after the last call: no more is added."""
        self._owed = self._output.taken + self._output.waiting

    def seconds_left(self) -> float:
        """Return the seconds until the deadline; 0 without one."""
        left = 0.0 if self._deadline is None else self._deadline - time.monotonic()
        return max(0.0, left - _POLL)

    def disarm(self) -> None:
        """Stop the thread; the process may continue."""
        self._disarmed.set()

    def _run(self) -> None:
        seen = -1
        while not self._disarmed.wait(_POLL if self._deadline is not None else _TICK):
            self._check_deadline()
            if os.getppid() != self._parent:
                self._stop()
            served = self._input.frames_served
            if served == seen:
                self._output.push()
                if self._input.waiting:
                    self._read_for_loop()
            seen = served

    def _check_deadline(self) -> None:
        if self._input.at_end:
            self.set_deadline()
        taken = self._output.taken
        if self._deadline is not None and taken != self._taken:
            if self._input.is_behind:
                self._owed = taken + self._output.waiting
            if self._taken < self._owed:  # the client still reads owed output
                self._deadline = time.monotonic() + self._seconds_to_end
            self._taken = taken
        if self._deadline is not None and time.monotonic() > self._deadline:
            try:
                self._log_unfinished_calls()
            finally:
                os._exit(0)

    def _log_unfinished_calls(self) -> None:
        """Write the names of unfinished calls to stderr, as the blocked loop cannot.

        Not by `logging`: handlers of the author may block."""
        driver = self._connection.driver
        culprit, calls = driver.culprit, list(driver.calls.values())
        named = [culprit] if culprit is not None else []
        named += [call for call in calls if call is not culprit]
        if named:
            unfinished = clipped(", ".join(map(call_label, named)))
            drain.put(f"toolhaft: WARNING: the service ends; cut off: {unfinished}\n")
            drain.flush()

    def _read_for_loop(self) -> None:
        """Read and write in place of the loop until it runs again, if it is blocked."""
        back = threading.Event()
        self._loop.call_soon_threadsafe(back.set)
        if back.wait(_POLL):
            return
        self._blame.report(self._connection.driver.culprit)
        poll = select.poll()
        poll.register(self._input.descriptor, select.POLLIN)
        self._input.serve()
        while not back.is_set():
            self._check_deadline()
            self._output.push()
            if self._input.is_behind and not self._output.is_full:
                self._input.serve()
            elif self._input.at_end or self._output.is_full:
                back.wait(_POLL)
            elif poll.poll(_POLL * 1000):
                self._input.read()
