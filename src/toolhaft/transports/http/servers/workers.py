"""Several processes on one socket: made by forking, ended together, replaced when they die."""

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

from ....process.stderr_log import drain

log = logging.getLogger(__name__)

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# A process that dies sooner than this was not well from the start.
_A_WHILE = 1.0


class Workers:
    """The processes, as their parent knows them."""

    def __init__(self, count: int, work: Callable[[bool], None]) -> None:
        self._count = count
        # Told whether it is the first of all.
        self._work = work
        # Closed by the end of the parent, however it ends.
        self._lifeline = os.pipe()
        # When each was begun.
        self._begun: dict[int, float] = {}
        self._ending = False
        # By a second signal.
        self._killed = 0

    def run(self) -> int:
        """Until a signal ends them; the result is an exit status."""
        before = {number: signal.signal(number, self._end) for number in _SIGNALS}
        try:
            for number in range(self._count):
                self._begin(first=number == 0)
            return self._watch()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            for end in self._lifeline:
                os.close(end)

    def _begin(self, *, first: bool = False) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        # A signal that comes meanwhile waits until it is clear whose it is.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        pid = os.fork()
        if pid:
            self._begun[pid] = time.monotonic()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            if self._ending:  # since we looked
                self._tell(pid, signal.SIGTERM)
            return
        status = 1
        try:
            # What is typed at a terminal is for the parent, who tells us.
            os.setpgrp()
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            os.close(self._lifeline[1])
            drain.reset_after_fork()
            threading.Thread(target=self._follow, daemon=True).start()
            self._work(first)
            status = 0
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else 1
        except BaseException:
            log.exception("a worker failed")
        finally:
            drain.flush()
            os._exit(status)

    def _follow(self) -> None:
        """End with the parent."""
        os.read(self._lifeline[0], 1)
        os.kill(os.getpid(), signal.SIGTERM)

    def _watch(self) -> int:
        worst = 0
        while self._begun:
            pid, state = os.wait()
            begun = self._begun.pop(pid, None)
            if begun is None:  # somebody else's child
                continue
            status = os.waitstatus_to_exitcode(state)
            if self._ending:
                # One that was told to end before it knew how to has ended as it should.
                worst = worst or (0 if status == -signal.SIGTERM else abs(status))
            elif time.monotonic() - begun < _A_WHILE:
                log.error("worker %d ended at once with status %d; so do all", pid, status)
                worst = abs(status) or 1
                self._end(signal.SIGTERM, None)
            else:
                log.error("worker %d ended with status %d; another takes its place", pid, status)
                self._begin()
        return self._killed or worst

    def _end(self, number: int, _frame: FrameType | None) -> None:
        again, self._ending = self._ending, True
        if again:
            self._killed = 128 + number
        for pid in list(self._begun):
            self._tell(pid, signal.SIGKILL if again else signal.SIGTERM)

    def _tell(self, pid: int, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            os.kill(pid, number)
