"""The traffic log: every message, one JSON object per line, without what should stay secret.

It must never get in the way of what it logs. A file that cannot be written any more ends the log,
with one warning, and nothing else.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final, Literal, TypeAlias, cast

import msgspec

from toolhaft_bridge.outputs import open_log
from toolhaft_bridge.secrets import REDACTED, Secrets

from .protocol.framing import Frame, TooLong
from .protocol.ports import Traffic

__all__ = ["REDACTED", "TrafficLog"]

Direction: TypeAlias = Literal["in", "out"]

_LONGEST_LINE: Final = 65536
_LONGEST_TEXT: Final = 4096
_UNFIT: Final = (msgspec.MsgspecError, UnicodeError, RecursionError, OverflowError, ValueError)

_log = logging.getLogger("toolhaft.traffic")


class TrafficLog:
    """Where messages are written, and what is left out of them.

    Args:
        path: a file, to which is added; without one, the lines go to the logger
            `toolhaft.traffic`, which writes to stderr while a server runs.
        redact: keys whose values are left out, at any depth, whatever their case and with or
            without `_` and `-`; a key that ends with one of them is one, too.
        longest: a line has at most about so many bytes; of a longer message only the beginning
            is kept.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        redact: Iterable[str] = REDACTED,
        longest: int = _LONGEST_LINE,
    ) -> None:
        if isinstance(redact, str):
            raise TypeError(f"redact takes a list of keys, as in redact=[{redact!r}]")
        if longest < 256:
            raise ValueError(f"longest={longest}: a line has at least 256 bytes")
        self.path = None if path is None else os.fspath(path)
        self._secrets = Secrets(
            redact,
            decode=msgspec.json.decode,
            encode=lambda value: msgspec.json.encode(value).decode(),
            unfit=_UNFIT,
            longest=longest,
        )
        self._longest = longest
        self._descriptor: int | None = None
        self._write: Callable[[bytes], None] = self._to_logger
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._is_on = True
        if self.path is not None:
            self._write = self._to_file
        elif _log.getEffectiveLevel() > logging.INFO:
            _log.setLevel(logging.INFO)

    def open(self) -> None:
        """Open the file now, and not with the first message.

        Raises:
            OSError: it cannot be written.
        """
        if self.path is not None and self._descriptor is None:
            self._descriptor = open_log(self.path)

    def close(self) -> None:
        """Close the file. The next message opens it again."""
        with self._lock:
            descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def connection(self) -> str:
        """A name for the next client: of this process, and one more."""
        return f"{os.getpid()}-{next(self._numbers)}"

    def message(self, direction: Direction, connection: str, frame: Frame) -> None:
        """Log a message. From any thread."""
        if not self._is_on:
            return
        line = self._line(direction, connection, frame)
        with self._lock:
            if not self._is_on:
                return
            try:
                self._write(line)
            except OSError as error:
                self._is_on = False
                _log.warning("the traffic log ends: %s", error)

    def _to_file(self, line: bytes) -> None:
        self.open()
        assert self._descriptor is not None
        if not os.fstat(self._descriptor).st_nlink:
            raise OSError(f"{self.path} was removed")
        if os.write(self._descriptor, line) < len(line):
            raise OSError(f"{self.path} takes no more")

    def _to_logger(self, line: bytes) -> None:
        _log.info("%s", line.decode().rstrip())

    # What a line says

    def _line(self, direction: Direction, connection: str, frame: Frame) -> bytes:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        entry: dict[str, Any] = {"time": now, "direction": direction, "connection": connection}
        if isinstance(frame, TooLong):
            return _encoded({**entry, "text": self._text(frame.head), "cut": True})
        try:
            message = self._secrets.cleaned(msgspec.json.decode(frame))
            if isinstance(message, dict):
                fields = cast(dict[str, Any], message)
                entry |= {key: fields[key] for key in ("id", "method") if _is_short(fields, key)}
            line = _encoded({**entry, "message": message})
            if len(line) <= self._longest:
                return line
            text = _encoded(message).decode()
        except _UNFIT:
            return _encoded({**entry, "text": self._text(frame), "bytes": len(frame)})
        # Each character may need six to be written.
        cut = text[: (self._longest - 200) // 6]
        return _encoded({**entry, "text": cut, "cut": True, "bytes": len(frame)})

    def _text(self, data: bytes) -> str:
        """What is no JSON, as text, as far as it is worth keeping."""
        room = min(_LONGEST_TEXT, (self._longest - 200) // 6)
        text = data[:room].decode("utf-8", "backslashreplace")[:room]
        return self._secrets.cleaned_text(text)


class _SuppliedLog:
    """A traffic log of the author's own. If it raises anything, it ends, and nothing else does: an
    `OSError` of a log must not be taken for that of a connection."""

    def __init__(self, log: Traffic) -> None:
        self._log = log
        self._names = count(1)
        self._is_on = True

    def connection(self) -> str:
        """A name for the next client."""
        try:
            return self._log.connection()
        except BaseException as error:
            self._end(error)
            return f"{os.getpid()}-{next(self._names)}"

    def message(self, direction: Direction, connection: str, frame: Frame) -> None:
        """Log a message. From any thread."""
        if self._is_on:
            try:
                self._log.message(direction, connection, frame)
            except BaseException as error:
                self._end(error)

    def _end(self, error: BaseException) -> None:
        self._is_on = False
        _log.error("the traffic log ends, because it raised an exception", exc_info=error)


def supplied(log: Traffic) -> Traffic:
    """A log that an author has made, as it can be relied on."""
    return log if type(log) is TrafficLog else _SuppliedLog(log)


def _is_short(fields: dict[str, Any], key: str) -> bool:
    value = fields.get(key)
    return isinstance(value, int) or (isinstance(value, str) and len(value) <= 100)


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(value) + b"\n"
