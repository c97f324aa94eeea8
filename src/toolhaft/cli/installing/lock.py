"""A lock between processes that change the receipts."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from .editors.text_edits import Unclear


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold a lock on an empty file. The system releases it when the process ends.

    Raises:
        Unclear: the file cannot be created.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise Unclear(f"{path} cannot be written: {error.strerror or error}") from None
    try:
        _wait(number)
        yield
    finally:
        os.close(number)


if sys.platform == "win32":
    import msvcrt

    def _wait(number: int) -> None:
        msvcrt.locking(number, msvcrt.LK_LOCK, 1)
else:
    import fcntl

    def _wait(number: int) -> None:
        fcntl.flock(number, fcntl.LOCK_EX)
