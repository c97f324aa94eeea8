"""Escapes untrusted text for a terminal or a log.

Text from a server, a client or a repository can contain terminal control sequences, characters that
reverse the text direction, invisible characters, and line breaks that would forge a log record.
They are replaced with escapes: `\\x1b`, `\\u202e`.
"""

from bisect import bisect
from collections.abc import Callable

# Code point ranges to escape: start, end (exclusive), start, end, …
_HIDDEN = (
    *(0x00, 0x09, 0x0B, 0x20, 0x7F, 0xA0),  # control characters except tab and newline
    *(0x61C, 0x61D),  # a direction mark
    *(
        0x200B,
        0x200C,
    ),  # zero width space; the joiners after it are needed for emoji and some scripts
    *(0x200E, 0x2010, 0x2028, 0x202F),  # direction marks and line separators
    *(0x2060, 0x206A),  # zero width and direction marks
    *(0xD800, 0xE000),  # surrogates, which UTF-8 cannot encode
    *(0xFEFF, 0xFF00, 0xFFF9, 0xFFFC),  # byte order mark and interlinear annotations
    *(0xE0000, 0xE0080),  # tag characters, which are invisible
)


class _Signs:
    """A table for `str.translate`: escapes the code points in `hidden` with `written`."""

    def __init__(self, hidden: tuple[int, ...], written: Callable[[int], str]) -> None:
        self._hidden = hidden
        self._written = written

    def __getitem__(self, code: int) -> str | int:
        return self._written(code) if bisect(self._hidden, code) % 2 else code


def _number(code: int) -> str:
    if code < 0x100:
        return {0x0A: "\\n", 0x0D: "\\r"}.get(code) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escape(code: int) -> str:
    units = chr(code).encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


_BLOCK = _Signs(_HIDDEN, _number)
_LINE = _Signs((0x00, 0x09, 0x0A, *_HIDDEN[3:]), _number)
_JSON = _Signs(_HIDDEN, _escape)


def line(text: str) -> str:
    """Escape text that is shown within one line."""
    return text if text.isprintable() else text.translate(_LINE)


def block(text: str) -> str:
    """Escape text that may have several lines."""
    return text if text.isprintable() else text.replace("\r\n", "\n").translate(_BLOCK)


def record(text: str) -> str:
    """Escape text, and indent all lines but the first, so that none looks like a log record."""
    return block(text).replace("\n", "\n  ")


def json_text(text: str) -> str:
    """Escape JSON without changing its value: such characters occur only inside JSON strings."""
    return text.translate(_JSON)
