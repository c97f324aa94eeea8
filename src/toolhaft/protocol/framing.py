"""Frames out of chunks of bytes, and bytes out of frames.

MCP is one message per line. Some clients send a Content-Length header before each message, as in
the Language Server Protocol, and get the same framing back. Messages beyond the limit are not kept.
"""

import re
from collections import deque
from collections.abc import Sequence
from typing import Literal, TypeAlias

from ..lazy_regex import pattern

FramingName: TypeAlias = Literal["auto", "lines", "content-length"]

_HEADER = pattern(rb"content-(?:length|type)[ \t]*:", re.IGNORECASE)
_LENGTH = pattern(rb"content-length[ \t]*:[ \t]*([0-9]{1,18})[ \t]*", re.IGNORECASE)
# The names of headers, and the number of bytes within which the framing is recognised.
_NAMES = (b"content-length", b"content-type")
_WORD = len(b"content-length  :")
# Whitespace around a message on its line.
_BLANK = b" \t\r"
_AROUND = _BLANK + b"\n"
_NEWLINE = 0x0A
# Bytes kept of the beginning and of the end of a skipped message, to find its id in.
_HEAD = 65536
_TAIL = 1024


class TooLong:
    """The beginning and the end of a message over the limit, which was skipped."""

    __slots__ = ("head", "tail")

    def __init__(self, head: bytes, tail: bytes = b"") -> None:
        self.head = head
        self.tail = tail


Frame: TypeAlias = bytes | TooLong


class Framer:
    """Cuts chunks of bytes into frames, and wraps outgoing frames.

    `frames` is the queue of complete frames."""

    __slots__ = (
        "_buffer", "_framing", "_is_idle", "_length", "_limit", "_need", "_scanned", "_skipped",
        "_tail", "end", "frames",
    )  # fmt: skip

    def __init__(self, limit: int, framing: FramingName = "auto") -> None:
        self.frames: deque[Frame] = deque()
        # The terminator of outgoing frames; None if they have a Content-Length header instead.
        self.end: bytes | None = None if framing == "content-length" else b"\n"
        self._limit = limit
        self._framing: FramingName = framing
        # Whether the framing is lines, and no partial line is buffered or being skipped.
        self._is_idle = framing == "lines"
        self._buffer = bytearray()
        # Bytes of the buffer that are known to contain no newline.
        self._scanned = 0
        # The start of a message that is being skipped, or None.
        self._skipped: bytes | None = None
        # The last bytes that were skipped so far.
        self._tail = b""
        # Content-Length of the header that is being read, or None.
        self._length: int | None = None
        # Bytes still missing of the body whose header was read, or None.
        self._need: int | None = None

    def only_line(self, data: bytes) -> bytes:
        """Return the message of a chunk that is exactly one line, as most are.

        Returns b"" if it is anything else, or other frames come first: then `feed` it."""
        if not self._is_idle or self.frames or not 0 < len(data) <= self._limit:
            return b""
        if data[-1] != _NEWLINE:
            return b""
        # `strip` and `in` are cheaper than `find`.
        line = data.strip(_AROUND)
        return b"" if _NEWLINE in line else line

    def feed(self, data: bytes) -> None:
        """Add a chunk to the buffer and queue complete frames; b"" is the end of the stream."""
        last = len(data) - 1
        # Fast path: the chunk consists of whole lines.
        if self._is_idle and 0 <= last < self._limit and data[last] == _NEWLINE:
            for line in data.split(b"\n"):
                if line := line.strip(_BLANK):
                    self.frames.append(line)
            return
        self._buffer += data
        self._cut(at_end=not data)
        self._is_idle = self._framing == "lines" and not self._buffer and self._skipped is None

    def wrap(self, frames: Sequence[bytes]) -> bytes:
        """Join frames to bytes to send."""
        if self.end is None:
            return b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(f), f) for f in frames)
        return b"\n".join((*frames, b""))

    def around(self, pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """Add header or newline to a frame in pieces, without copying them."""
        if self.end is None:
            return b"Content-Length: %d\r\n\r\n" % sum(map(len, pieces)), *pieces
        return *pieces, self.end

    def _cut(self, *, at_end: bool) -> None:
        if self._framing == "auto" and not self._recognise(at_end=at_end):
            return
        if self._framing == "lines":
            while (line := self._take_line(at_end=at_end)) is not None:
                if isinstance(line, TooLong) or (line := line.strip(_BLANK)):
                    self.frames.append(line)
        else:
            while (body := self._take_body(at_end=at_end)) is not None:
                self.frames.append(body)

    def _recognise(self, *, at_end: bool) -> bool:
        """Set the framing by the first word; return False if too few bytes are there."""
        blank = len(self._buffer) - len(self._buffer.lstrip())
        del self._buffer[:blank]
        start = bytes(self._buffer[:_WORD])
        if not start:
            return False
        word = start.split(b":")[0].rstrip().lower()
        may_go_on = b":" not in start and len(start) < _WORD and not at_end
        if may_go_on and any(name.startswith(word) for name in _NAMES):
            return False
        has_header = _HEADER.match(start) is not None
        self._framing, self.end = ("content-length", None) if has_header else ("lines", b"\n")
        return True

    def _take_line(self, *, at_end: bool) -> Frame | None:
        buffer = self._buffer
        stop = buffer.find(b"\n", self._scanned)
        if stop < 0 and not at_end:
            self._scanned = len(buffer)
            if self._scanned > self._limit:
                self._skip()
            return None
        if stop < 0 and not buffer and self._skipped is None:
            return None
        line = bytes(memoryview(buffer)[: stop if stop >= 0 else None])
        del buffer[: len(line) + 1]
        self._scanned = 0
        if self._skipped is not None:
            return self._skipped_whole(line)
        return line if len(line) <= self._limit else TooLong(line[:_HEAD], line[-_TAIL:])

    def _skip(self) -> None:
        if self._skipped is None:
            self._skipped = bytes(self._buffer[:_HEAD])
        self._tail = _end_of(self._tail, self._buffer)
        self._buffer.clear()
        self._scanned = 0

    def _skipped_whole(self, rest: bytes) -> TooLong:
        too_long = TooLong(self._skipped or b"", _end_of(self._tail, rest))
        self._skipped, self._tail = None, b""
        return too_long

    def _take_body(self, *, at_end: bool) -> Frame | None:
        if self._need is None and not self._read_header(at_end=at_end):
            return None
        need = self._need or 0
        if need > self._limit or self._skipped is not None:
            return self._skip_body(need)
        if len(self._buffer) < need:
            return None
        body = bytes(memoryview(self._buffer)[:need])
        del self._buffer[:need]
        self._scanned, self._need = 0, None
        return body

    def _read_header(self, *, at_end: bool) -> bool:
        """Read header lines up to the empty one, ignoring others than Content-Length."""
        while (line := self._take_line(at_end=at_end)) is not None:
            if isinstance(line, TooLong):
                continue
            line = line.strip()
            if found := _LENGTH.fullmatch(line):
                self._length = int(found.group(1))
            elif not line and self._length is not None:
                self._need, self._length = self._length, None
                return True
        return False

    def _skip_body(self, need: int) -> Frame | None:
        if self._skipped is None:
            if len(self._buffer) < min(need, _HEAD):
                return None
            self._skipped = bytes(self._buffer[:_HEAD])
        gone = bytes(memoryview(self._buffer)[:need])
        del self._buffer[: len(gone)]
        self._scanned, self._need = 0, need - len(gone)
        if self._need:
            self._tail = _end_of(self._tail, gone)
            return None
        self._need = None
        return self._skipped_whole(gone)


def _end_of(before: bytes, after: bytes | bytearray) -> bytes:
    """Return the last `_TAIL` bytes of both."""
    return (before + after[-_TAIL:])[-_TAIL:]
