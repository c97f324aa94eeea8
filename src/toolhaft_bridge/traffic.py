"""A log of the messages that pass a bridge, one JSON object per line.

    {"time": "2026-11-16T09:04:00.123Z", "pid": 71, "direction": "in", "message": {…}}

`in` is from the client and `out` to the client. A line that is not JSON is logged as `text`, and an
event of the bridge itself as `event`. A line that is too long is truncated, marked with `cut`, and
its length is given as `bytes`. Secrets are redacted.

If the file cannot be written any more, the log ends and the bridge goes on.
"""

import json
import os
import time

from .bridge import Silent
from .outputs import open_log
from .secrets import REDACTED, Secrets
from .streams import complain

# Bytes of a line that are kept; a longer line is not parsed.
_LONGEST = 65536
# Characters that are logged of a line that is not parsed.
_LONGEST_TEXT = 4096
_UNFIT = (ValueError, RecursionError)


class _Line:
    """The first bytes of an incomplete line, and its size so far."""

    def __init__(self) -> None:
        self.head = bytearray()
        self.size = 0

    def add(self, data: bytes) -> None:
        self.size += len(data)
        self.head += data[: max(0, _LONGEST - len(self.head))]


class Traffic(Silent):
    """Writes the log: joins copied chunks into lines, and logs each complete line."""

    def __init__(self, path: str) -> None:
        """Open the file; raises OSError if it cannot be written."""
        self._file = open_log(path)
        self._unended = {"in": _Line(), "out": _Line()}
        self._secrets = Secrets(
            REDACTED, decode=json.loads, encode=json.dumps, unfit=_UNFIT, longest=_LONGEST
        )
        self._is_on = True

    def note(self, direction: str, data: bytes) -> None:
        """Add bytes from the client (`in`) or to the client (`out`)."""
        if not self._is_on:
            return
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._unended[direction].add(data[start:end])
            self.end(direction)
            start = end + 1
        self._unended[direction].add(data[start:])

    def end(self, direction: str) -> None:
        """Log the current line of a direction, complete or not."""
        line, self._unended[direction] = self._unended[direction], _Line()
        if line.head.strip():
            self._write(f'"direction": "{direction}", {self._told(line)}')

    def event(self, words: str) -> None:
        """Log an event of the bridge itself."""
        self._write(f'"event": {json.dumps(words)}')

    def _told(self, line: _Line) -> str:
        text = line.head.decode("utf-8", "backslashreplace").strip()
        if line.size > len(line.head):
            return f'"text": {self._text(text)}, "cut": true, "bytes": {line.size}'
        try:
            message = json.loads(text)
            cleaned = self._secrets.cleaned(message)
            return f'"message": {text if cleaned == message else json.dumps(cleaned)}'
        except _UNFIT:
            return f'"text": {self._text(text)}'

    def _text(self, text: str) -> str:
        return json.dumps(self._secrets.cleaned_text(text[:_LONGEST_TEXT]), ensure_ascii=False)

    def _write(self, members: str) -> None:
        if not self._is_on:
            return
        now = time.time()
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
        head = f'{{"time": "{when}.{int(now * 1000) % 1000:03}Z", "pid": {os.getpid()}, '
        line = f"{head}{members}}}\n".encode()
        try:
            if os.write(self._file, line) < len(line):
                raise OSError("it takes no more")
        except OSError as error:
            self._is_on = False
            complain(f"the log ends: {error.strerror or error}")
