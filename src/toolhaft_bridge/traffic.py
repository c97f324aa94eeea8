"""A record of what went over a bridge, one JSON object per line.

    {"time": "2026-11-16T09:04:00.123Z", "pid": 71, "direction": "in", "message": {…}}

`in` is what the client sent and `out` what it got. A line that is no JSON stands as `text`, and
what happened to the bridge itself as `event`.
"""

import json
import os
import time

from .bridge import Silent


class Traffic(Silent):
    """Writes the record. What the bridge copies comes in pieces, and is written line by line."""

    def __init__(self, path: str) -> None:
        """Raises OSError if the file cannot be written."""
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._unended = {"in": b"", "out": b""}

    def note(self, direction: str, data: bytes) -> None:
        """The client has sent something, or has got it."""
        *lines, last = (self._unended[direction] + data).split(b"\n")
        self._unended[direction] = last
        for line in lines:
            self._message(direction, line)

    def end(self, direction: str) -> None:
        """Nothing more comes from there."""
        last, self._unended[direction] = self._unended[direction], b""
        self._message(direction, last)

    def event(self, words: str) -> None:
        """Something has happened to the bridge."""
        self._write(f'"event": {json.dumps(words)}')

    def _message(self, direction: str, line: bytes) -> None:
        if not line.strip():
            return
        text = line.decode("utf-8", "backslashreplace").strip()
        try:
            json.loads(text)
            message = f'"message": {text}'
        except (ValueError, RecursionError):
            message = f'"text": {json.dumps(text, ensure_ascii=False)}'
        self._write(f'"direction": "{direction}", {message}')

    def _write(self, members: str) -> None:
        now = time.time()
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
        head = f'{{"time": "{when}.{int(now * 1000) % 1000:03}Z", "pid": {os.getpid()}, '
        os.write(self._file, f"{head}{members}}}\n".encode())
