"""Editor for YAML: an entry is a block of lines below a key of the top level.

The standard library has no YAML parser, and none is needed: a scanner distinguishes the lines of
the two outermost levels. Files with an unusual form (in braces, several documents, tabs) are
refused.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from .text_edits import Entry, Splice, Unclear, Undo, newline_of

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_DASHES = re.compile(r"(?:-(?: +|$))*")
_DECORATION = re.compile(r"(?:[&!][^\s]*(?:\s+|$))*")
_KEY = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#\[\]{}&*!|>%@`-][^#]*?|-[^\s#][^#]*?)"""
    r"""\s*:(?=\s|$)"""
)
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NOTHING = ("", "{}", "null", "~")
_MARK = "\ufeff"
_STEP = "  "


class _Line(NamedTuple):
    """A line: its indent, its key, the rest after the key, and whether it has content.

    A line within a multi-line text has content but no key, and the indent -1.
    """

    text: str
    indent: int
    key: str | None
    rest: str
    content: bool
    in_block: bool = False  # in a block scalar, whose line endings are part of the text


class _Section(NamedTuple):
    """A key of the top level: its lines, and the line ranges of the entries below it."""

    line: int
    end: int
    indent: int
    entries: dict[str, tuple[int, int]]


def value(text: str) -> dict[str, Any]:
    """Parse the top level: a key with entries maps to the text of each, others to their own text.

    Raises:
        Unclear: the text has a form that is not supported.
    """
    lines = _read(text)
    found: dict[str, Any] = {}
    for key, (start, end) in _sections(lines).items():
        section = _section(lines, start, end)
        texts = [line.text.rstrip("\r\n") for line in lines[start:end]]
        found[key] = "\n".join(texts)
        if section is not None:
            found[key] = {
                name: "\n".join(each.text.rstrip("\r\n") for each in lines[first:last])
                for name, (first, last) in section.entries.items()
            }
    return found


def add(text: str, parents: Sequence[str], name: str, entry: Entry) -> Splice:
    """Add an entry that does not exist, before the others."""
    [parent] = parents
    lines = _read(text)
    line = newline_of(text)
    texts = [each.text for each in lines]
    if parent not in _sections(lines):
        gap = "" if not text.removeprefix(_MARK) or text.endswith(("\n", "\r")) else line
        if gap and lines[-1].in_block:
            raise Unclear("the last line is within a text; end it with a new line first")
        block = [f"{_key(parent)}:", *_block(name, entry, _STEP)]
        return Splice(text + gap + line.join([*block, ""]), {"gap": gap})
    section = _known_section(lines, parent)
    if section.entries:
        block = _block(name, entry, " " * section.indent)
        texts.insert(section.line + 1, line.join([*block, ""]))
        return Splice("".join(texts), {})
    was = texts[section.line]
    ending = was[len(was.rstrip("\r\n")) :]
    block = [_opened(lines[section.line]), *_block(name, entry, _STEP)]
    texts[section.line] = line.join(block) + ending
    return Splice("".join(texts), {"line": was})


def replace(text: str, parents: Sequence[str], name: str, entry: Entry) -> Splice:
    """Replace an entry."""
    lines = _read(text)
    section, (first, last) = _found(lines, parents, name)
    was = "".join(each.text for each in lines[first:last])
    line = newline_of(text)
    new = line.join(_block(name, entry, " " * section.indent)) + was[len(was.rstrip("\r\n")) :]
    texts = [each.text for each in lines]
    return Splice("".join([*texts[:first], new, *texts[last:]]), {"was": was})


def take(text: str, parents: Sequence[str], name: str, undo: Undo) -> str:
    """Remove an entry, and its parent if that was added with it and is empty now."""
    lines = _read(text)
    section, (first, last) = _found(lines, parents, name)
    texts = [each.text for each in lines]
    if "was" in undo:
        return "".join([*texts[:first], undo["was"], *texts[last:]])
    if len(section.entries) > 1:
        return "".join([*texts[:first], *texts[last:]])
    alone = first == section.line + 1 and last == section.end
    if "gap" in undo and alone:
        mark = _MARK if section.line == 0 and text.startswith(_MARK) else ""
        head = mark + "".join(texts[: section.line])
        tail = "".join(texts[last:])
        return head + tail if tail else head.removesuffix(undo["gap"])
    left = [*texts[section.line + 1 : first], *texts[last:]]
    closed = _closed(texts[section.line], undo.get("line"), is_last=not left)
    return "".join([*texts[: section.line], closed, *left])


def _closed(opened: str, was: str | None, *, is_last: bool) -> str:
    """Return the line of a key without entries: the original one if known, else with `{}`."""
    bare = opened.rstrip("\r\n")
    ending = opened[len(bare) :]
    if was is not None and bare == _opened(_read(was)[0]):
        return was if is_last else was.rstrip("\r\n") + ending
    return re.sub(r":(?=\s|$)", ": {}", bare, count=1) + ending


# Positions of keys and entries


def _known_section(lines: list[_Line], parent: str) -> _Section:
    section = _section(lines, *_sections(lines)[parent])
    if section is None:
        raise Unclear(
            f"line {_sections(lines)[parent][0] + 1}: {parent!r} is not written as one entry below "
            "the other; write it so, or add the entry by hand"
        )
    return section


def _found(
    lines: list[_Line], parents: Sequence[str], name: str
) -> tuple[_Section, tuple[int, int]]:
    [parent] = parents
    section = _known_section(lines, parent) if parent in _sections(lines) else None
    if section is None or name not in section.entries:
        raise Unclear(f"there is no {parent}.{name}")
    return section, section.entries[name]


def _sections(lines: list[_Line]) -> dict[str, tuple[int, int]]:
    """Return the line range of each key, without blank lines and comments at its end."""
    found: dict[str, tuple[int, int]] = {}
    current = ""
    for number, line in enumerate(lines):
        if not line.content:
            continue
        if line.indent == 0 and line.key is not None:
            current = line.key
            if current in found:
                raise Unclear(f"line {number + 1}: {current!r} stands here again; remove one")
            found[current] = (number, number + 1)
        elif not found or (line.indent == 0 and not line.text.startswith("-")):
            raise Unclear(f"line {number + 1}: a key was expected, as in extensions:")
        else:
            found[current] = (found[current][0], number + 1)
    return found


def _section(lines: list[_Line], start: int, end: int) -> _Section | None:
    """Return the entries below a key; None if its value is not a block of `key:` lines."""
    if lines[start].rest.replace(" ", "").lower() not in _NOTHING:
        return None
    entries: dict[str, tuple[int, int]] = {}
    indent = 0
    name = ""
    for number in range(start + 1, end):
        line = lines[number]
        if not line.content:
            continue
        if not entries:
            indent = line.indent
        if line.indent == indent and line.key is not None:
            name = line.key
            if name in entries or indent <= 0:
                return None
            entries[name] = (number, number + 1)
        elif not entries or 0 <= line.indent <= indent:
            return None
        else:
            entries[name] = (entries[name][0], number + 1)
    if entries and lines[start].rest:
        return None
    return _Section(start, end, indent, entries)


def _opened(line: _Line) -> str:
    """Return the line of a key without its value, so that entries can follow; keep comments."""
    text = line.text.rstrip("\r\n")
    at = text.index(":", len(text) - len(text.lstrip()))
    return text[: at + 1] + text[at + 1 :].replace(line.rest, "", 1).rstrip() if line.rest else text


# Reading lines


class _Reader:
    """Line scanner that tracks multi-line texts and brackets."""

    def __init__(self) -> None:
        self.closing = ""  # the quote that ends the current text
        self.depth = 0  # of brackets
        self.above: int | None = None  # lines with a larger indent are in a block scalar
        self.keeps = False  # whether blank lines belong to that block scalar (`|+`)
        self.owner = 0  # column of the key or dash of the latest value
        self.plain = False  # whether that value is unquoted, so that lines may continue it

    def read(self, text: str, number: int) -> _Line:
        bare = text.rstrip("\r\n")
        indent = len(bare) - len(bare.lstrip(" "))
        if self.closing or self.depth:
            closes = self.depth and not self.closing and bare[indent:][:1] in ("]", "}")
            if bare.strip() and indent <= self.owner and not closes:
                raise Unclear(f"line {number + 1}: a text or a bracket does not end before this")
            self._scan(bare, 0)
            return _Line(text, -1, None, "", content=True)
        if not bare.strip():
            in_block = self.above is not None and self.keeps
            return _Line(text, -1, None, "", content=in_block, in_block=in_block)
        if self.above is not None and indent > self.above:
            return _Line(text, -1, None, "", content=True, in_block=True)
        self.above = None
        if bare[indent] == "#":
            self.plain = False
            return _Line(text, indent, None, "", content=False)
        if self.plain and indent > self.owner:
            if _KEY.match(bare, indent):
                raise Unclear(f"line {number + 1}: a key stands where a text goes on")
            return _Line(text, -1, None, "", content=True)
        return self._content(text, bare, indent, number)

    def _content(self, text: str, bare: str, indent: int, number: int) -> _Line:
        if "\t" in bare[: len(bare) - len(bare.lstrip())]:
            raise Unclear(f"line {number + 1}: tabs cannot indent YAML")
        dashes = _DASHES.match(bare, indent)
        at = dashes.end() if dashes else indent
        if bare[at:].startswith(("? ", "%", "...")) or bare[at:] == "?":
            raise Unclear(f"line {number + 1}: this is not understood here: {bare[at:][:20]!r}")
        key = _KEY.match(bare, at)
        rest = bare[key.end() :].strip() if key else ""
        value_at = key.end() if key else at
        value_at += len(bare[value_at:]) - len(bare[value_at:].lstrip())
        if key:
            self.owner = at
        elif at > indent:
            self.owner = bare.rindex("-", 0, at)
        self._begin(bare, value_at)
        if not self.closing and not self.depth:
            rest = re.split(r"(?:^|\s)#", rest, maxsplit=1)[0].strip()
        name = _unquoted(key.group(1)) if key and at == indent else None
        return _Line(text, indent, name, rest, content=True)

    def _begin(self, bare: str, at: int) -> None:
        """Set the state for a value that may continue on the next lines."""
        decoration = _DECORATION.match(bare, at)
        at = decoration.end() if decoration else at
        first = bare[at : at + 1]
        self.plain = bool(first) and first not in "|>\"'[{#"
        if first in ("|", ">"):
            self.above = self.owner
            self.keeps = "+" in bare[at:].partition("#")[0]
        elif first and first in "\"'[{":
            self._scan(bare, at)

    def _scan(self, bare: str, at: int) -> None:
        while at < len(bare):
            char = bare[at]
            if self.closing == '"' and char == "\\":
                at += 1
            elif self.closing:
                if char == self.closing and bare[at : at + 2] != "''":
                    self.closing = ""
                elif char == self.closing:
                    at += 1
            elif char in "\"'":
                self.closing = char
            elif char == "#" and (at == 0 or bare[at - 1] in " \t"):
                return
            else:
                self.depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(char, 0)
            at += 1
            if not self.closing and self.depth <= 0:
                self.depth = 0
                return


def _read(text: str) -> list[_Line]:
    reader = _Reader()
    lines: list[_Line] = []
    started = False
    for number, found in enumerate(_LINES.finditer(text)):
        raw = found.group() if number else found.group().removeprefix(_MARK)
        if re.match(r"---(\s|$)", raw) and not (reader.closing or reader.depth):
            if started or raw.rstrip() != "---":
                raise Unclear(f"line {number + 1}: there is more than one document, or one in line")
            line = _Line(raw, -1, None, "", content=False)
        else:
            line = reader.read(raw, number)
            started = started or line.content
        lines.append(line._replace(text=found.group()))
    if reader.closing or reader.depth:
        raise Unclear(f"line {len(lines)}: a text or a bracket does not end")
    return lines


def _unquoted(key: str) -> str:
    if key.startswith("'"):
        return key[1:-1].replace("''", "'")
    if key.startswith('"'):
        try:
            return str(json.loads(key))
        except ValueError:
            return key
    return key


# Rendering


def _block(name: str, entry: Entry, indent: str) -> list[str]:
    return [f"{indent}{_key(name)}:", *_members(entry, indent + _STEP)]


def _members(entry: Entry, indent: str) -> list[str]:
    lines: list[str] = []
    for key, each in entry.items():
        if isinstance(each, dict) and each:
            lines += [f"{indent}{_key(key)}:", *_members(cast(Entry, each), indent + _STEP)]
        elif isinstance(each, list) and each:
            items = cast(Sequence[Any], each)
            lines.append(f"{indent}{_key(key)}:")
            lines += [f"{indent}{_STEP}- {_scalar(item)}" for item in items]
        else:
            lines.append(f"{indent}{_key(key)}: {_scalar(each)}")
    return lines


def _key(key: str) -> str:
    return key if _PLAIN.fullmatch(key) and key.lower() not in _WORDS else _scalar(key)


def _scalar(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
