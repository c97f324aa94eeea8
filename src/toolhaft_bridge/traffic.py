"""A record of what went over a bridge, one JSON object per line.

    {"time": "2026-11-16T09:04:00.123Z", "pid": 71, "direction": "in", "message": {…}}

`in` is what the client sent and `out` what it got. A line that is no JSON stands as `text`, and
what happened to the bridge itself as `event`. Of a line that is too long there is the beginning,
`cut`, and how many `bytes` it had. Secrets are left out.

It never gets in the way: a file that cannot be written any more ends the record, not the bridge.
"""

import json
import os
import time

from .bridge import Silent
from .outputs import open_log
from .secrets import REDACTED, Secrets
from .streams import complain

# A longer line is not understood.
_LONGEST = 65536
# What is kept of one that is not.
_LONGEST_TEXT = 4096
_UNFIT = (ValueError, RecursionError)


class _Line:
    """What has come of a line, as far as it is kept."""

    def __init__(self) -> None:
        self.head = bytearray()
        self.size = 0

    def add(self, data: bytes) -> None:
        self.size += len(data)
        self.head += data[: max(0, _LONGEST - len(self.head))]


class Traffic(Silent):
    """Writes the record. What the bridge copies comes in pieces, and is written line by line."""

    def __init__(self, path: str) -> None:
        """Raises OSError if the file cannot be written."""
        self._file = open_log(path)
        self._unended = {"in": _Line(), "out": _Line()}
        self._secrets = Secrets(
            REDACTED, decode=json.loads, encode=json.dumps, unfit=_UNFIT, longest=_LONGEST
        )
        self._is_on = True

    def note(self, direction: str, data: bytes) -> None:
        """The client has sent something, or has got it."""
        if not self._is_on:
            return
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._unended[direction].add(data[start:end])
            self.end(direction)
            start = end + 1
        self._unended[direction].add(data[start:])

    def end(self, direction: str) -> None:
        """Nothing more comes of this line."""
        line, self._unended[direction] = self._unended[direction], _Line()
        if line.head.strip():
            self._write(f'"direction": "{direction}", {self._told(line)}')

    def event(self, words: str) -> None:
        """Something has happened to the bridge."""
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
