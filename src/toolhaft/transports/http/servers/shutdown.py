"""How a server over HTTP ends: its streams first, then calls that finish in time, then the rest."""

import asyncio
import contextlib
import logging
import os
import signal
import threading
from collections.abc import Callable, Generator
from types import FrameType
from typing import Final

from ....process import early_interrupt
from ..app import App

log = logging.getLogger(__name__)

_A_MOMENT: Final = 1.0
_OFTEN: Final = 0.05


class Ending:
    """Waits for a signal, or for somebody who says that it is over."""

    def __init__(
        self, app: App, *, drain: float, leave: Callable[[], None], patient: bool = False
    ) -> None:
        self._app = app
        self._drain = drain
        # Called on the loop when nobody waits for an answer any more.
        self._leave = leave
        self._loop: asyncio.AbstractEventLoop | None = None
        # A worker is told to end by its parent and perhaps by others: that is no second thought.
        self._patient = patient
        self._signalled = False
        self._deadline: threading.Timer | None = None

    @contextlib.contextmanager
    def awaited(self) -> Generator[None]:
        """On this loop. The first signal ends the service in order, the second one the process."""
        self._loop = asyncio.get_running_loop()
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.on_signal) for number in numbers}
        if early_interrupt.take_interrupt():
            self._loop.call_soon(self.on_signal, signal.SIGINT, None)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if self._deadline is not None:
                self._deadline.cancel()

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        """A signal has come."""
        if self._signalled:
            if not self._patient:
                os._exit(128 + number)
            return
        self._signalled = True
        # Should a tool hold up the loop, the process ends all the same.
        self._deadline = threading.Timer(self._drain + 3 * _A_MOMENT, os._exit, (128 + number,))
        self._deadline.daemon = True
        self._deadline.start()
        self.begin()

    def begin(self, drain: float | None = None) -> None:
        """End in order, or with `drain=0` at once. From any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._end, self._drain if drain is None else drain)

    def _end(self, drain: float) -> None:
        assert self._loop is not None
        self._app.end_streams()
        if drain:
            self._loop.call_later(_OFTEN, self._tell, drain)
            self._look(self._loop.time() + drain)
        else:  # those who only listen get a moment to be told that it is over
            self._loop.call_later(_OFTEN, self._look, 0.0)

    def _tell(self, drain: float) -> None:
        """Name the calls that delay the end; most have finished by now."""
        if self._app.busy:
            log.warning(
                "calls have %g s to finish; another signal ends them at once: %s",
                drain,
                self._app.under_way(),
            )

    def _look(self, deadline: float) -> None:
        assert self._loop is not None
        late = self._loop.time() >= deadline
        if late:
            self._app.abandon()
        if late or not self._app.busy:
            self._app.hurry()
            # What was answered last is still to be written.
            self._loop.call_soon(self._leave)
        else:
            self._loop.call_later(_OFTEN, self._look, deadline)
