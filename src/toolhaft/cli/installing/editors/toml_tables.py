"""Editor for TOML: an entry is a table with its own header, appended at the end.

`tomllib` gives no positions, so a small scanner finds the headers; it skips multi-line strings and
brackets.
"""

import json
import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from .text_edits import Entry, Splice, Unclear, Undo, newline_of

_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?!")|' r"'''.*?'''(?!')|" r'"(?:\\.|[^"\\\r\n])*"|' r"'[^'\r\n]*'",
    re.DOTALL,
)
_COMMENT = re.compile(r"#[^\r\n]*")
_BLANK = re.compile(r"[ \t\r\n]*")
_MARK = "\ufeff"
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class _Statement(NamedTuple):
    """A header, or a key with its value: start of its first line and end of its last one."""

    start: int
    end: int
    header: bool


class _Table(NamedTuple):
    """A header and the keys below it."""

    path: tuple[str, ...]
    start: int
    end: int


def value(text: str) -> dict[str, Any]:
    """Parse a text.

    Raises:
        Unclear: a syntax error, with line and column.
    """
    try:
        return tomllib.loads(text.removeprefix(_MARK), parse_float=_comparable)
    except tomllib.TOMLDecodeError as error:
        raise Unclear(str(error)) from None
    except RecursionError:
        raise Unclear("nested too deeply to be read") from None


def _comparable(number: str) -> float | str:
    """Parse a float, but keep NaN as text: it does not equal itself."""
    found = float(number)
    return number if math.isnan(found) else found


def add(text: str, parents: Sequence[str], name: str, entry: Entry) -> Splice:
    """Add a table that does not exist."""
    value(text)
    line = newline_of(text)
    content = text.removeprefix(_MARK)
    if not content or content.endswith(line * 2):
        gap = ""
    else:
        gap = line if content.endswith(line) else line * 2
    new = text + gap + _rendered([*parents, name], entry, line)
    try:
        value(new)
    except Unclear:
        raise Unclear(
            f"{'.'.join(parents)} is written in braces, to which nothing can be added; write it as "
            f"tables, as in [{'.'.join(parents)}.name]"
        ) from None
    return Splice(new, {"gap": gap})


def replace(text: str, parents: Sequence[str], name: str, entry: Entry) -> Splice:
    """Replace a table."""
    start, end = _only_span(text, [*parents, name])
    was = text[start:end]
    new = _rendered([*parents, name], entry, newline_of(text))
    if not was.endswith(("\n", "\r")):
        new = new.rstrip("\r\n")
    return Splice(text[:start] + new + text[end:], {"was": was})


def take(text: str, parents: Sequence[str], name: str, undo: Undo) -> str:
    """Remove a table and its sub-tables."""
    line = newline_of(text)
    if "was" in undo:
        start, end = _only_span(text, [*parents, name])
        return f"{text[:start]}{undo['was']}{text[end:]}"
    for start, end in reversed(_spans(text, [*parents, name])):
        head, tail = text[:start], text[end:]
        gap = undo.get("gap", line if head.endswith(line * 2) else "")
        head = head.removesuffix(gap)
        if tail and head.removeprefix(_MARK) and not head.endswith("\n"):
            head += "" if tail.startswith(("\n", "\r")) else line
        text = head + tail
    return text


# Positions of tables


def _only_span(text: str, path: Sequence[str]) -> tuple[int, int]:
    spans = _spans(text, path)
    if len(spans) > 1:
        raise Unclear(f"the tables of {'.'.join(path)} stand apart; remove them by hand")
    return spans[0]


def _spans(text: str, path: Sequence[str]) -> list[tuple[int, int]]:
    """Return the spans of a table and its sub-tables; spans with only space between are merged."""
    spans: list[tuple[int, int]] = []
    for table in _tables(text):
        if table.path[: len(path)] != tuple(path):
            continue
        if spans and not text[spans[-1][1] : table.start].strip():
            spans[-1] = (spans[-1][0], table.end)
        else:
            spans.append((table.start, table.end))
    if not spans:
        raise Unclear(f"there is no table [{'.'.join(path)}]; if it is written another way, "
                      "remove it by hand")  # fmt: skip
    return spans


def _tables(text: str) -> list[_Table]:
    tables: list[_Table] = []
    for statement in _statements(text):
        if statement.header:
            path = _path(text[statement.start : statement.end])
            tables.append(_Table(path, statement.start, statement.end))
        elif tables:
            tables[-1] = tables[-1]._replace(end=statement.end)
    return tables


def _path(header: str) -> tuple[str, ...]:
    found: Any = tomllib.loads(header)
    path: list[str] = []
    while isinstance(found, dict) and found:
        [(key, found)] = cast(dict[str, Any], found).items()
        path.append(key)
    return tuple(path)


def _statements(text: str) -> Iterator[_Statement]:
    at = 1 if text.startswith(_MARK) else 0
    while True:
        at = _skipped(text, at)
        if at >= len(text):
            return
        header = text[at] == "["
        start = max(text.rfind("\n", 0, at) + 1, 1 if text.startswith(_MARK) else 0)
        at = _line_end(text, at)
        yield _Statement(start, at, header)


def _skipped(text: str, at: int) -> int:
    """Return the position after white space and comments."""
    while True:
        blank = _BLANK.match(text, at)
        at = blank.end() if blank else at
        comment = _COMMENT.match(text, at)
        if comment is None:
            return at
        at = comment.end()


def _line_end(text: str, at: int) -> int:
    """Return the position after the last line of a statement, which may have several lines."""
    depth = 0
    while at < len(text):
        inner = _STRING.match(text, at) or _COMMENT.match(text, at)
        if inner is not None:
            at = inner.end()
            continue
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(text[at], 0)
        at += 1
        if text[at - 1] == "\n" and depth <= 0:
            break
    return at


# Rendering


def _rendered(path: Sequence[str], entry: Entry, line: str) -> str:
    header = f"[{'.'.join(_key(key) for key in path)}]"
    lines = [f"{_key(key)} = {_value(each)}" for key, each in entry.items()]
    return line.join([header, *lines, ""])


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        members = cast(dict[str, Any], value).items()
        return "{ " + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in members) + " }"
    if isinstance(value, list):
        items = cast(Sequence[Any], value)
        return f"[{', '.join(_value(each) for each in items)}]"
    # TOML strings have the escapes of JSON, but U+007F must be escaped too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
