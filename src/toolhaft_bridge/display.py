"""Text from elsewhere, as it may be shown on a terminal or stand in a log.

What a server, a client or a repository sends can hold characters that a terminal obeys, that turn
around what stands beside them, that are not seen, or that begin a new line and so a record that was
never logged. They are shown as numbers instead: `\\x1b`, `\\u202e`.
"""

from bisect import bisect
from collections.abc import Callable

# From where to where, without the last.
_HIDDEN = (
    *(0x00, 0x09, 0x0B, 0x20, 0x7F, 0xA0),  # controls, but for tab and newline
    *(0x61C, 0x61D),  # a mark of direction
    *(0x200B, 0x200C),  # no width; the joiners that follow make emoji and some scripts
    *(0x200E, 0x2010, 0x2028, 0x202F),  # more of direction, and separators of lines
    *(0x2060, 0x206A),  # the same
    *(0xD800, 0xE000),  # halves of characters, which no encoding takes
    *(0xFEFF, 0xFF00, 0xFFF9, 0xFFFC),  # no width, and notes between lines
    *(0xE0000, 0xE0080),  # tags, which show nothing
)


class _Signs:
    """What stands for each character, as `str.translate` asks for it."""

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
    """Text for a part of one line."""
    return text if text.isprintable() else text.translate(_LINE)


def block(text: str) -> str:
    """Text of several lines."""
    return text if text.isprintable() else text.replace("\r\n", "\n").translate(_BLOCK)


def record(text: str) -> str:
    """Text of which all lines but the first are indented, so that none looks like a record."""
    return block(text).replace("\n", "\n  ")


def json_text(text: str) -> str:
    """JSON that says the same. Such characters stand only in strings, where JSON has escapes."""
    return text.translate(_JSON)
