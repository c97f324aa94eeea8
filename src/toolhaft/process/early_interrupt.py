"""Ctrl-C before anybody serves.

Python raises KeyboardInterrupt wherever it happens to be, even where nobody hears of it: in a
callback that cleans up behind the loading of a module. So it is remembered as well, until whoever
serves minds signals by itself.
"""

import signal
import threading
from types import FrameType

_came = False


def remember() -> None:
    """From now on, unless the program does something of its own with Ctrl-C."""
    if (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    global _came
    _came = True
    raise KeyboardInterrupt


def has_come() -> bool:
    """Was there one since it was last asked?"""
    global _came
    came, _came = _came, False
    return came
