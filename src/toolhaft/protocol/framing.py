"""Frames out of chunks of bytes, and bytes out of frames.

MCP is one message per line. Clients of the language-server tradition send a Content-Length header
before each message instead; who starts with one is answered alike. Whatever comes in, no more than
the limit is ever held.
"""

import re
from typing import Literal, TypeAlias

FramingName: TypeAlias = Literal["auto", "lines", "content-length"]

_HEADER = re.compile(rb"\s*content-(?:length|type)[ \t]*:", re.IGNORECASE)
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*([0-9]{1,18})[ \t]*", re.IGNORECASE)
# As much as is needed to recognise a header in the first bytes of a stream.
_RECOGNISED = 64
_HEAD = 65536


class TooLong:
    """Stands for a message over the limit, which was skipped; `head` is how it began."""

    __slots__ = ("head",)

    def __init__(self, head: bytes) -> None:
        self.head = head


Frame: TypeAlias = bytes | TooLong


class Framer:
    """Cuts what it is fed into messages, and wraps messages to be sent."""

    __slots__ = ("_buffer", "_end", "_framing", "_limit", "_need", "_scanned", "_skipped")

    def __init__(self, limit: int, framing: FramingName = "auto") -> None:
        self._limit = limit
        self._framing: FramingName = framing
        self._buffer = bytearray()
        self._scanned = 0
        self._end = False
        # The start of a line that is being skipped, or None.
        self._skipped: bytes | None = None
        # How many bytes the body has whose header was read, or None.
        self._need: int | None = None

    def feed(self, data: bytes) -> None:
        """Take in a chunk; an empty one is the end of the stream."""
        if data:
            self._buffer += data
        else:
            self._end = True

    def next(self) -> Frame | None:
        """The next message, or None if more bytes are needed first."""
        if self._framing == "auto" and not self._recognise():
            return None
        return self._next_line() if self._framing == "lines" else self._next_body()

    def wrap(self, frame: bytes) -> bytes:
        """A message as it goes out."""
        if self._framing == "content-length":
            return b"Content-Length: %d\r\n\r\n%b" % (len(frame), frame)
        return frame + b"\n"

    def _recognise(self) -> bool:
        start = bytes(self._buffer[:_RECOGNISED]).lstrip()
        if not start:
            return False
        if start[:1] in b"cC" and len(start) < len(b"content-length:") and not self._end:
            return False
        self._framing = "content-length" if _HEADER.match(start) else "lines"
        return True

    def _next_line(self) -> Frame | None:
        while True:
            line = self._take_line()
            if line is None:
                return None
            if isinstance(line, TooLong):
                return line
            line = line.strip(b" \t\r")
            if line:
                return line

    def _take_line(self) -> Frame | None:
        buffer = self._buffer
        stop = buffer.find(b"\n", self._scanned)
        if stop < 0:
            if self._end:
                stop = len(buffer)
                if not stop and self._skipped is None:
                    return None
            else:
                self._scanned = len(buffer)
                if self._scanned > self._limit:
                    self._skip()
                return None
        line = bytes(memoryview(buffer)[:stop])
        del buffer[: stop + 1]
        self._scanned = 0
        if self._skipped is not None:
            head, self._skipped = self._skipped, None
            return TooLong(head)
        return line if len(line) <= self._limit else TooLong(line[:_HEAD])

    def _skip(self) -> None:
        if self._skipped is None:
            self._skipped = bytes(self._buffer[:_HEAD])
        self._buffer.clear()
        self._scanned = 0

    def _next_body(self) -> Frame | None:
        if self._need is None and not self._read_header():
            return None
        need = self._need or 0
        if need > self._limit:
            return self._skip_body(need)
        if len(self._buffer) < need:
            return None
        body = bytes(memoryview(self._buffer)[:need])
        del self._buffer[:need]
        self._need = None
        return body

    def _read_header(self) -> bool:
        """Read header lines up to the empty one. Lines that are no header are passed over."""
        length: int | None = None
        while True:
            line = self._take_line()
            if line is None:
                if length is not None:  # the empty line has not come yet: begin again then
                    self._buffer[:0] = b"Content-Length: %d\n" % length
                    self._scanned = 0
                return False
            text = b"" if isinstance(line, TooLong) else line.strip()
            if found := _LENGTH.fullmatch(text):
                length = int(found.group(1))
            elif not text and length is not None:
                self._need = length
                return True

    def _skip_body(self, need: int) -> Frame | None:
        if self._skipped is None:
            if len(self._buffer) < min(need, _HEAD) and not self._end:
                return None
            self._skipped = bytes(self._buffer[:_HEAD])
        gone = min(need, len(self._buffer))
        del self._buffer[:gone]
        self._need = need - gone
        if self._need:
            return None
        head, self._skipped, self._need = self._skipped, None, None
        return TooLong(head)
