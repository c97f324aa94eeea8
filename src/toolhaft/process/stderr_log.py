"""Log records on stderr, written by a thread: a client that does not read it blocks no call."""

import logging
import queue
import sys
import threading
import traceback

from toolhaft_bridge.display import record

# Texts in the queue.
_MOST_TEXTS = 1000
# Seconds that `flush` waits for the thread.
_FLUSH_SECONDS = 0.2
# Innermost frames of a traceback that are kept.
_MOST_FRAMES = 20
# Characters of one record.
_MOST_CHARACTERS = 16_384


# A text, and the traceback that follows it.
Text = tuple[str, traceback.TracebackException | None]


class Drain:
    """Writes text to stderr on its own thread, which starts with the first text. Texts that do not
    fit in the queue, or cannot be written, are dropped and counted.
    """

    def __init__(self) -> None:
        self._texts: queue.Queue[Text] = queue.Queue(_MOST_TEXTS)
        self._started = False
        self._lost = 0

    def reset_after_fork(self) -> None:
        """Replace the queue in a forked process, where the thread does not exist."""
        self._texts = queue.Queue(_MOST_TEXTS)
        self._started = False

    def put(self, text: str, error: traceback.TracebackException | None = None) -> None:
        """Queue a text and its traceback. Thread-safe; never blocks."""
        try:
            self._texts.put_nowait((text[:_MOST_CHARACTERS], error))
        except queue.Full:
            self._lost += 1
            return
        if not self._started:
            self._started = True
            threading.Thread(target=self._run, name="toolhaft-log", daemon=True).start()

    def flush(self) -> None:
        """Wait for the thread to write the queued texts, for a short time at most."""
        texts = self._texts
        with texts.all_tasks_done:
            texts.all_tasks_done.wait_for(lambda: not texts.unfinished_tasks, _FLUSH_SECONDS)

    def _run(self) -> None:
        while True:
            text, error = self._texts.get()
            lost, self._lost = self._lost, 0
            try:
                sys.stderr.write(_written(text, error))
                sys.stderr.write(f"({lost} lines were lost)\n" if lost else "")
                sys.stderr.flush()
            except Exception:  # closed, or replaced by a tool
                self._lost += lost + 1
            self._texts.task_done()


def _written(text: str, error: traceback.TracebackException | None) -> str:
    """Return a record with control characters escaped, so that text of a client cannot forge
    another record. Formatting the traceback reads source files, so it is done on this thread.
    """
    if error is not None:
        text += "".join(error.format())[-_MOST_CHARACTERS // 2 :]
    return record(text.rstrip("\n")) + "\n"


drain = Drain()


class StderrHandler(logging.Handler):
    """Log handler that writes through `drain`."""

    def emit(self, record: logging.LogRecord) -> None:
        """Format the record now: its traceback would keep the locals of all frames alive."""
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
        """Wait for the queued records to be written, for a short time at most."""
        drain.flush()


def log_to_stderr() -> StderrHandler | None:
    """Add a `StderrHandler` for the library, unless the author has configured logging."""
    ours = logging.getLogger(__name__.partition(".")[0])
    if logging.getLogger().handlers or ours.handlers:
        return None
    handler = StderrHandler()
    ours.addHandler(handler)
    return handler
