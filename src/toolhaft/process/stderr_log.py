"""Log records on stderr, written by a thread: a client that does not read stderr stops nobody."""

import logging
import queue
import sys
import threading
import traceback

from toolhaft_bridge.display import record

_MOST_TEXTS = 1000
_A_MOMENT = 0.2
_MOST_FRAMES = 20
_MOST_CHARACTERS = 16_384


Text = tuple[str, traceback.TracebackException | None]


class Drain:
    """Writes text to stderr on a thread of its own, which starts with the first text. What comes
    too fast, or to nobody who reads, is dropped and counted."""

    def __init__(self) -> None:
        self._texts: queue.Queue[Text] = queue.Queue(_MOST_TEXTS)
        self._started = False
        self._lost = 0

    def begin_anew(self) -> None:
        """For a process that was forked, which has no thread but its own."""
        self._texts = queue.Queue(_MOST_TEXTS)
        self._started = False

    def put(self, text: str, error: traceback.TracebackException | None = None) -> None:
        """Take a text and the traceback that belongs to it. From any thread; never waits."""
        try:
            self._texts.put_nowait((text[:_MOST_CHARACTERS], error))
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
            text, error = self._texts.get()
            lost, self._lost = self._lost, 0
            try:
                sys.stderr.write(_written(text, error))
                sys.stderr.write(f"({lost} lines were lost)\n" if lost else "")
                sys.stderr.flush()
            except Exception:  # it is closed, or what a tool has put in its place
                self._lost += lost + 1
            self._texts.task_done()


def _written(text: str, error: traceback.TracebackException | None) -> str:
    """A record as it is written: what a message or an exception says, be it of a client's making,
    cannot look like another record. Sources are read here, on the thread that has the time."""
    if error is not None:
        text += "".join(error.format())[-_MOST_CHARACTERS // 2 :]
    return record(text.rstrip("\n")) + "\n"


drain = Drain()


class StderrHandler(logging.Handler):
    """Log records, by way of the drain."""

    def emit(self, record: logging.LogRecord) -> None:
        """Take the record apart here: it keeps everything alive that its traceback saw."""
        error = record.exc_info[1] if record.exc_info else None
        text = f"toolhaft: {record.levelname}: {record.getMessage()}\n"
        if error is None:
            drain.put(text)
            return
        drain.put(
            text,
            traceback.TracebackException.from_exception(
                error, limit=-_MOST_FRAMES, lookup_lines=False, compact=True
            ),
        )

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
