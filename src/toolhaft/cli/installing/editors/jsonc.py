"""Editor for JSON with comments and trailing commas.

A text is parsed into a tree with positions. A new member is added after the last one; a removal
restores the text to what it was before.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from .text_edits import Entry, Splice, Unclear, Undo, newline_of, place

_SPACE = re.compile(r"[ \t\r\n]*")
_INLINE_SPACE = re.compile(r"[ \t]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"-?[0-9A-Za-z+.-]+")
_UNIT = re.compile(r"\{[ \t]*\r?\n([ \t]+)")
_MARK = "\ufeff"
_PLAIN_UNIT = "  "

Edits: TypeAlias = list[tuple[int, int, str]]


class Node(NamedTuple):
    """A value with its position. Only objects have members."""

    start: int
    end: int
    value: Any
    members: "list[Member] | None" = None


class Member(NamedTuple):
    """A member of an object, with the positions of its name and of the comma after it, if any."""

    start: int
    name: str
    node: Node
    comma: int | None


class _Reader:
    """Parser of a whole text; `comments` has the spans of the comments."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.comments: list[tuple[int, int]] = []
        self.at = 1 if text.startswith(_MARK) else 0
        self._space()
        self.root = self._value() if self.at < len(text) else None
        self._space()
        if self.at < len(text):
            raise self._wrong("the end was expected")

    def _wrong(self, what: str) -> Unclear:
        return Unclear(f"{place(self.text, self.at)}: {what}")

    def _space(self) -> None:
        while True:
            self.at = _end(_SPACE.match(self.text, self.at))
            comment = _COMMENT.match(self.text, self.at)
            if comment is None:
                return
            self.comments.append(comment.span())
            self.at = comment.end()

    def _next(self) -> str:
        self._space()
        return self.text[self.at : self.at + 1]

    def _value(self) -> Node:
        first = self._next()
        if first == "{":
            return self._object()
        if first == "[":
            return self._array()
        pattern = _STRING if first == '"' else _WORD
        return self._scalar(pattern)

    def _scalar(self, pattern: re.Pattern[str]) -> Node:
        token = pattern.match(self.text, self.at)
        if token is None:
            raise self._wrong("a value was expected")
        try:
            value = json.loads(token.group(), parse_constant=self._refused)
        except ValueError:
            raise self._wrong(f"{token.group()[:40]} is no value of JSON") from None
        self.at = token.end()
        return Node(token.start(), token.end(), value)

    def _refused(self, constant: str) -> Any:
        raise ValueError(constant)

    def _array(self) -> Node:
        start = self.at
        self.at += 1
        values: list[Any] = []
        while self._next() != "]":
            values.append(self._value().value)
            self._comma("]")
        self.at += 1
        return Node(start, self.at, values)

    def _object(self) -> Node:
        start = self.at
        self.at += 1
        members: list[Member] = []
        while self._next() != "}":
            if self._next() != '"':
                raise self._wrong('a name in quotes or "}" was expected')
            name = self._scalar(_STRING)
            if self._next() != ":":
                raise self._wrong('":" was expected')
            self.at += 1
            node = self._value()
            members.append(Member(name.start, name.value, node, self._comma("}")))
        self.at += 1
        value = {member.name: member.node.value for member in members}
        return Node(start, self.at, value, members)

    def _comma(self, closing: str) -> int | None:
        following = self._next()
        if following == closing:
            return None
        if following != ",":
            raise self._wrong(f'"," or "{closing}" was expected')
        self.at += 1
        return self.at - 1

    # Queries

    def container(self, parents: Sequence[str]) -> "list[Node]":
        """Return the objects on the path to an entry, from the root, as far as they exist."""
        assert self.root is not None, "a text that says nothing has no way through it"
        way = [self.root]
        for depth, key in enumerate(("", *parents)):
            if depth:
                member = self.member(way[-1], key)
                if member is None:
                    break
                way.append(member.node)
            if way[-1].members is None:
                what = f"{key!r} is" if key else "this is"
                raise Unclear(f"{place(self.text, way[-1].start)}: {what} no object")
        return way

    def member(self, node: Node, name: str) -> Member | None:
        """Return a member by name; None if there is none."""
        found = [member for member in node.members or [] if member.name == name]
        if len(found) > 1:
            first, second = (place(self.text, member.start) for member in found[:2])
            raise Unclear(f"{second}: {name!r} stands here again, after {first}; remove one")
        return found[0] if found else None

    def comments_in(self, node: Node, but: Node) -> bool:
        """Test whether an object contains comments outside one of its values."""
        return any(
            node.start < start < node.end and not but.start < start < but.end
            for start, _ in self.comments
        )

    def ends_a_line_comment(self, position: int) -> bool:
        """Test whether a `//` comment ends here, so that a newline must follow."""
        return any(
            end == position and self.text.startswith("//", start) for start, end in self.comments
        )


def _end(match: "re.Match[str] | None") -> int:
    assert match is not None, "the pattern matches nothing, too"
    return match.end()


def _read(text: str) -> _Reader:
    try:
        return _Reader(text)
    except RecursionError:
        raise Unclear("nested too deeply to be read") from None


def _applied(text: str, edits: Edits) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


# Parsing and the three edits


def value(text: str) -> dict[str, Any]:
    """Parse a text; an empty one is an empty object.

    Raises:
        Unclear: a syntax error, with line and column, or the root is not an object.
    """
    reader = _read(text)
    if reader.root is None:
        return {}
    found: dict[str, Any] = reader.container(())[0].value
    return found


def add(text: str, parents: Sequence[str], name: str, entry: Entry) -> Splice:
    """Add an entry that does not exist, and its missing parents."""
    reader = _read(text)
    line = newline_of(text)
    if reader.root is None:
        whole = _rendered(_nested([*parents, name], entry), "", _PLAIN_UNIT, line)
        glue = line if text.strip(_MARK + " \t\r\n") and not text.endswith("\n") else ""
        return Splice(f"{text}{glue}{whole}{line}", {"blank": text})
    way = reader.container(parents)
    missing = list(parents[len(way) - 1 :])
    first, *rest = [*missing, name]
    edits, hole = _insertion(reader, way[-1], first, _nested(rest, entry))
    undo: Undo = {"made": len(missing)} if missing else {}
    if hole is not None:
        undo["hole"] = hole
    return Splice(_applied(text, edits), undo)


def replace(text: str, parents: Sequence[str], name: str, entry: Entry) -> Splice:
    """Replace an entry."""
    reader = _read(text)
    member = _found(reader, parents, name)
    base = _indent_at(text, member.start)
    node = member.node
    new = _rendered(entry, base, _unit(text), newline_of(text))
    if "\n" not in text[node.start : node.end]:
        new = json.dumps(entry, ensure_ascii=False)
    return Splice(
        _applied(text, [(node.start, node.end, new)]), {"was": text[node.start : node.end]}
    )


def take(text: str, parents: Sequence[str], name: str, undo: Undo) -> str:
    """Remove an entry, and the parents that were added with it and are empty now."""
    reader = _read(text)
    target = _found(reader, parents, name)
    if "was" in undo:
        return _applied(text, [(target.node.start, target.node.end, undo["was"])])
    way = reader.container(parents)
    made = len(parents) if "blank" in undo else int(undo.get("made", 0))
    filled = len(parents) - made  # depth of the object to which `add` wrote
    while made and _holds_only(reader, way[-1], target):
        made -= 1
        way.pop()
        holder = reader.member(way[-1], parents[len(way) - 1])
        assert holder is not None, "we came this way"
        target = holder
    if "blank" in undo and len(way) == 1 and _holds_only(reader, way[0], target):
        return _emptied(text, way[0], undo["blank"])
    hole = undo.get("hole") if len(way) - 1 == filled else None
    return _applied(text, _removal(reader, way[-1], target, hole))


def _found(reader: _Reader, parents: Sequence[str], name: str) -> Member:
    way = reader.container(parents) if reader.root is not None else []
    member = reader.member(way[-1], name) if len(way) == len(parents) + 1 else None
    if member is None:
        raise Unclear(f"there is no {'.'.join([*parents, name])}")
    return member


def _holds_only(reader: _Reader, node: Node, member: Member) -> bool:
    return len(node.members or []) == 1 and not reader.comments_in(node, member.node)


def _emptied(text: str, root: Node, blank: str) -> str:
    """Remove the root value; return `blank` if the rest differs from it in white space only."""
    left = text[: root.start] + text[root.end :]
    return blank if left.strip() == blank.strip() else left


# Positions


def _insertion(reader: _Reader, node: Node, name: str, value: Any) -> tuple[Edits, str | None]:
    """Return the edits that add a member; for an empty object also the white space replaced."""
    text = reader.text
    line, unit = newline_of(text), _unit(text)
    members = node.members or []
    if not members:
        return _filling(reader, node, name, value)
    last = members[-1]
    edge = last.node.end if last.comma is None else last.comma + 1
    at = _after_comments(text, edge)
    spread = "\n" in text[node.start : members[0].start] or "\n" in text[edge : node.end]
    if spread:
        indent = _indent_at(text, last.start)
        new = line + indent + _member(name, _rendered(value, indent, unit, line))
    else:
        new = " " + _member(name, json.dumps(value, ensure_ascii=False))
    if last.comma is not None:
        return [(at, at, new + ",")], None
    if at == edge:
        return [(at, at, "," + new)], None
    return [(edge, edge, ","), (at, at, new)], None


def _filling(reader: _Reader, node: Node, name: str, value: Any) -> tuple[Edits, str]:
    text = reader.text
    line, unit = newline_of(text), _unit(text)
    start = max([node.start + 1, *(end for _, end in reader.comments if end < node.end)])
    hole = text[start : node.end - 1]
    base = _indent_at(text, node.start)
    indent = base + unit
    new = line + indent + _member(name, _rendered(value, indent, unit, line)) + line + base
    return [(start, node.end - 1, new)], hole


def _after_comments(text: str, position: int) -> int:
    """Return the position after comments on the same line: they belong to the member before."""
    while True:
        comment = _COMMENT.match(text, _end(_INLINE_SPACE.match(text, position)))
        if comment is None:
            return position
        position = comment.end()


def _removal(reader: _Reader, node: Node, member: Member, hole: str | None) -> Edits:
    text = reader.text
    members = node.members or []
    index = members.index(member)
    start = len(text[: member.start].rstrip(" \t\r\n"))
    end = member.node.end
    if len(members) == 1:
        return _emptying(reader, start, member, hole)
    edits: Edits = []
    if member.comma is not None:
        edits.append((member.comma, member.comma + 1, ""))
        if index == 0 and start == member.start:
            edits[0] = (member.comma, _end(_INLINE_SPACE.match(text, member.comma + 1)), "")
    else:
        before = members[index - 1].comma
        assert before is not None, "there is a comma between members"
        edits.append((before, before + 1, ""))
    edits.append((start, end, _kept_line(reader, start, edits[0][1] if member.comma else end)))
    return edits


def _emptying(reader: _Reader, start: int, member: Member, hole: str | None) -> Edits:
    """Return the edits that remove the only member and the white space around it."""
    text = reader.text
    end = member.node.end
    edits: Edits = []
    if member.comma is not None:
        edits.append((member.comma, member.comma + 1, ""))
        end = end if text[end : member.comma].strip() else member.comma + 1
    after = _end(_SPACE.match(text, end))
    if text[after] != "}":  # a comment follows and is kept
        edits.append((start, member.node.end, _kept_line(reader, start, end)))
        return edits
    left = "" if hole is None else hole
    if reader.ends_a_line_comment(start) and not left.lstrip(" \t").startswith(("\n", "\r")):
        left = text[end:after] or newline_of(text)
    return [(start, after, left)]


def _kept_line(reader: _Reader, start: int, end: int) -> str:
    """Return a newline if the following text would otherwise become part of a comment."""
    following = reader.text[_end(_INLINE_SPACE.match(reader.text, end)) :][:1]
    at_risk = reader.ends_a_line_comment(start) and following not in ("\n", "\r")
    return newline_of(reader.text) if at_risk else ""


# Rendering


def _nested(keys: Sequence[str], entry: Any) -> Any:
    for key in reversed(keys):
        entry = {key: entry}
    return entry


def _member(name: str, rendered: str) -> str:
    return f"{json.dumps(name, ensure_ascii=False)}: {rendered}"


def _rendered(value: Any, base: str, unit: str, line: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", line + base)


def _unit(text: str) -> str:
    found = _UNIT.search(text)
    return found.group(1) if found else _PLAIN_UNIT


def _indent_at(text: str, position: int) -> str:
    begin = max(text.rfind("\n", 0, position), text.rfind("\r", 0, position)) + 1
    return text[begin : _end(_INLINE_SPACE.match(text, begin, position))]
