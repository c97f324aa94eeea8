"""A plugin of pytest for `./dev test --fast`: a test that starts a process fails.

Such a test has the mark `process`, and is left out of the fast ones.
"""

import os
import sys
from typing import Any

STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"}


def refuse(event: str, _: tuple[Any, ...]) -> None:
    """Between tests, pytest may start what it likes."""
    if event in STARTS and "PYTEST_CURRENT_TEST" in os.environ:
        raise RuntimeError("this test starts a process: mark it with pytest.mark.process")


def pytest_configure() -> None:
    """From here on, to the end of the process: there is no way to take a hook away."""
    sys.addaudithook(refuse)
