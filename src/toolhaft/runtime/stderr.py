"""Log records on stderr, written by a thread: a client that does not read stderr stops nobody."""

import contextlib
import logging
import queue
import sys
import threading
import traceback
from types import TracebackType

_MOST_TEXTS = 1000
_A_MOMENT = 0.2
_MOST_FRAMES = 20
_MOST_CHARACTERS = 16_384


_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class _Formatter(logging.Formatter):
    """One line, and a traceback that is never long."""

    def formatException(self, ei: _ExcInfo) -> str:
        error = ei[1]
        if error is None:
            return ""
        lines = traceback.format_exception(error, limit=-_MOST_FRAMES)
        return "".join(lines)[-_MOST_CHARACTERS // 2 :].rstrip()


class Drain:
    """Writes text to stderr on a thread of its own, which starts with the first text. What comes
    too fast, or to nobody who reads, is dropped and counted."""

    def __init__(self) -> None:
        self._texts: queue.Queue[str] = queue.Queue(_MOST_TEXTS)
        self._started = False
        self._lost = 0

    def put(self, text: str) -> None:
        """Take a text. From any thread; never waits."""
        try:
            self._texts.put_nowait(text[:_MOST_CHARACTERS])
        except queue.Full:
            self._lost += 1
            return
        if not self._started:
            self._started = True
            threading.Thread(target=self._run, name="toolhaft-log", daemon=True).start()

    def flush(self) -> None:
        """Give the thread a moment, so that the last words are read."""
        texts = self._texts
        with texts.all_tasks_done:
            texts.all_tasks_done.wait_for(lambda: not texts.unfinished_tasks, _A_MOMENT)

    def _run(self) -> None:
        while True:
            text = self._texts.get()
            lost, self._lost = self._lost, 0
            with contextlib.suppress(OSError, ValueError):  # stderr is closed
                sys.stderr.write(text + (f"({lost} lines were lost)\n" if lost else ""))
                sys.stderr.flush()
            self._texts.task_done()


drain = Drain()


class StderrHandler(logging.Handler):
    """Log records, by way of the drain."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(_Formatter("toolhaft: %(levelname)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Format here: a record keeps everything alive that its traceback saw."""
        drain.put(self.format(record) + "\n")

    def flush(self) -> None:
        """Let the last words be read."""
        drain.flush()


def log_to_stderr() -> StderrHandler | None:
    """Show the library's records, unless the author has set up logging already."""
    ours = logging.getLogger(__name__.partition(".")[0])
    if logging.getLogger().handlers or ours.handlers:
        return None
    handler = StderrHandler()
    ours.addHandler(handler)
    return handler
