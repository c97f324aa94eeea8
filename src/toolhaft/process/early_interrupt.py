"""Ctrl-C while the server is being loaded, before `Signals` handles signals.

Python raises KeyboardInterrupt in whichever code runs, also where exceptions are swallowed: in a
callback that cleans up after the loading of a module. So the interrupt is recorded as well.
"""

import signal
import threading
from types import FrameType

# Whether SIGINT has arrived.
_came = False


def install_handler() -> None:
    """Record each SIGINT from now on, unless the program has a handler of its own."""
    if (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    global _came
    _came = True
    raise KeyboardInterrupt


def take_interrupt() -> bool:
    """Return whether SIGINT arrived since the last call, and clear the record."""
    global _came
    came, _came = _came, False
    return came
