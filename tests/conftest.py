"""What holds for every test, wherever the run was started."""

import signal


def pytest_configure() -> None:
    """Let an interrupt reach the processes that tests start.

    A shell lets what it runs in the background ignore interrupts, and children inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
