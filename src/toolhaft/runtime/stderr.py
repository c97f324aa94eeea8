"""Log records on stderr, written by a thread: a client that does not read stderr stops nobody."""

import logging
import queue
import sys
import threading
import traceback
from types import TracebackType

_MOST_RECORDS = 10_000
_MOST_FRAMES = 20
_MOST_CHARACTERS = 8192


_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class _Formatter(logging.Formatter):
    """One line, and a traceback that is never long."""

    def formatException(self, ei: _ExcInfo) -> str:
        error = ei[1]
        if error is None:
            return ""
        lines = traceback.format_exception(error, limit=-_MOST_FRAMES)
        return "".join(lines)[-_MOST_CHARACTERS:].rstrip()


class StderrHandler(logging.Handler):
    """Formats and writes on a thread of its own, which starts with the first record."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(_Formatter("toolhaft: %(levelname)s: %(message)s"))
        self._records: queue.Queue[logging.LogRecord] = queue.Queue(_MOST_RECORDS)
        self._started = False
        self._lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Take the record; if thousands are waiting already, only count it."""
        try:
            self._records.put_nowait(record)
        except queue.Full:
            self._lost += 1
            return
        if not self._started:
            self._started = True
            threading.Thread(target=self._run, name="toolhaft-log", daemon=True).start()

    def flush(self) -> None:
        """Give the thread a moment, so that the last words are read."""
        if self._started:
            with self._records.all_tasks_done:
                self._records.all_tasks_done.wait_for(
                    lambda: not self._records.unfinished_tasks, 0.2
                )

    def _run(self) -> None:
        while True:
            record = self._records.get()
            lost, self._lost = self._lost, 0
            text = self.format(record) + (f"\n({lost} records were lost)" if lost else "")
            try:
                sys.stderr.write(text + "\n")
                sys.stderr.flush()
            except (OSError, ValueError):  # stderr is closed
                pass
            self._records.task_done()


def log_to_stderr() -> StderrHandler | None:
    """Show the library's records, unless the author has set up logging already."""
    ours = logging.getLogger(__name__.partition(".")[0])
    if logging.getLogger().handlers or ours.handlers:
        return None
    handler = StderrHandler()
    ours.addHandler(handler)
    return handler
