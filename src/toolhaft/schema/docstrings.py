"""Docstrings as descriptions for a model: the text without sections, and a line per parameter.

Text that is not recognised as a section in the style of Google, NumPy or Sphinx stays in the
description. Only an `MCP Parameters:` block is specific to this library, so only that can be wrong.

Indentation in docstrings is often uneven. So within a section, a line that begins with the name of
a parameter starts its description at any indentation, unless that parameter is also described at
the regular one.
"""

import re
from collections.abc import Collection, Iterator, Set

from msgspec import Struct

from ..lazy_regex import pattern

_BLOCK = "mcp parameters:"
# Every section contains one of these. Most docstrings contain none and need no parsing.
_MARKERS = (
    *("---", "args:", "arguments:", "params:", "parameters:", "return:", "returns:", "yield"),
    *("raise", "warns:", ":param", ":arg", ":key", ":type", ":rtype", ":return", ":except"),
)
# Quantifiers are possessive wherever two could match the same text, to avoid backtracking.
_TITLES = r"(?:keyword |other )?(?:arg(?:ument)?s|param(?:eter)?s)|(?:return|yield|raise)s?|warns"
_TITLE = pattern(rf"(?:{_TITLES}):?")
_FIELDS = r"param(?:eter)?|arg(?:ument)?|key(?:word)?|r?type|(?:return|yield|raise)s?"
_FIELD = pattern(rf":(?:{_FIELDS}|except(?:ion)?)(?!\w)[^:]*+:")
_DESCRIBING = ("arg", "param", "keyword", "other", ":arg", ":param", ":key")
_ENTRY = pattern(r"[^\s,:(]++(?:\s*+,\s*+[^\s,:(]++)*+\s*+[(:]")
# First line of a NumPy entry: names alone, or with a type. Any other line continues the text.
_HEAD = pattern(r"[^\s,:]++(?:\s*+,\s*+[^\s,:]++)*+\s*+(?::|$)")
# By style: number of title lines, pattern for the start of an entry, and for its names and text.
_FORMS = {
    "google": (1, _ENTRY, pattern(r"([^:(]*+)(?:\(.*?\)\s*+(?=:))?:(.*)", re.DOTALL)),
    "numpy": (2, _HEAD, pattern(r"([^:\n]*+)[^\n]*+(.*)", re.DOTALL)),
    "sphinx": (0, _FIELD, pattern(r"\s*+:\w++(?:\s++([^\s:]++))*+\s*+:(.*)", re.DOTALL)),
}
_BARE = pattern(r"[^\s:-]++[^:-]*+(?:-|:.)")
_DEFINITION = pattern(r"([^\s-]++)[ \t]*+-(.*)")
# Indentation, in columns, from which a line in a block continues the one before.
_CONTINUED = 6
_LITERAL = pattern(r"\s|[-*+] |\d++[.)] |\||[-=~]{3,}+$")


class Docstring(Struct, frozen=True):
    """The description of a function, and those of its parameters by name."""

    description: str | None
    parameters: dict[str, str]


def read(doc: str, names: Collection[str], what: str) -> Docstring:
    """Parse a docstring.

    Raises:
        TypeError: an `MCP Parameters:` block is malformed; the message says how.
    """
    lowered = doc.lower()
    if not any([marker in lowered for marker in _MARKERS]):  # noqa: C419 - half the time
        return Docstring(_prose(_lines(doc)) if "\n" in doc else " ".join(doc.split()) or None, {})
    kept: list[str] = []
    found: dict[str, str] = {}
    block: dict[str, str] | None = None
    for style, piece in _pieces(_lines(doc), names):
        if style == "text":
            kept += piece
        elif style == "block":
            kept += (piece[0][: -len(_BLOCK)].rstrip(), "")
            block = _defined(piece[1:], names, what) if block is None else block
        else:
            described = list(_described(style, piece, names))
            # A section about parameters that contains no recognisable entry stays in the text.
            has_text = any(piece[_FORMS[style][0] :])
            is_foreign = names and has_text and not described and _describes(piece[0])
            kept += piece if is_foreign else [""]
            for name, text in described:
                if name in names and text.strip():
                    found.setdefault(name, " ".join(text.split()))
    # A block is written for models, the other styles for readers of the code: the block wins.
    return Docstring(_prose(kept), found | (block or {}))


def _lines(doc: str) -> list[str]:
    """Split into lines without their common margin. Tabs stay: indentation is compared later."""
    first, *rest = doc.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    margins = [line[: len(line) - len(text)] for line in rest if (text := line.lstrip())]
    margin = min(dict.fromkeys(margins), key=lambda blank: len(blank.expandtabs()), default="")
    return [first.strip(), *[line.removeprefix(margin).rstrip() for line in rest]]


def _indent(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip())].expandtabs()) if line[:1].isspace() else 0


def _underlined(lines: list[str], i: int) -> bool:
    return i + 1 < len(lines) and "---" in lines[i + 1] and not lines[i + 1].strip().strip("-")


def _pieces(lines: list[str], names: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield sections, each with its style, and the lines of text between them one by one."""
    i, fenced, before = 0, False, ""
    while i < len(lines):
        # As in Markdown, four spaces make an example, after a colon or another such line.
        example = _indent(lines[i]) > 3 and (_indent(before) > 3 or before.endswith(":"))
        style = "text" if fenced or example else _style(lines, i)
        end = i + (2 if style == "numpy" else 1)
        fenced ^= style == "text" and lines[i].count("```") == 1
        indent = 0 if style == "block" else _indent(lines[i])
        if i == 0 and style in ("google", "block") and _BARE.match("".join(lines[1:2])):
            # The docstring is a single section, so the margin removed was that of its entries.
            lines = [lines[0], *[("    " + line).rstrip() for line in lines[1:]]]
        while style != "text" and end < len(lines):
            if _ends(style, indent, lines, end) and not _goes_on(style, lines, i, end, names):
                break
            end += 1
        before = next((line for line in reversed(lines[i:end]) if line), before)
        yield style, lines[i:end]
        i = end


def _style(lines: list[str], i: int) -> str:
    line = lines[i].strip()
    if line.lower().endswith(_BLOCK):  # also after a sentence, but not as part of one
        return "block" if line[: -len(_BLOCK)].rstrip()[-1:] in ("", *".!?") else "text"
    if not _TITLE.fullmatch(line.lower()):
        return "sphinx" if _FIELD.match(line) else "text"
    # Inside a paragraph, a lowercase "args:" is the end of a wrapped sentence.
    google = line[-1] == ":" and (line[0].isupper() or i == 0 or not lines[i - 1])
    return "numpy" if _underlined(lines, i) else "google" if google else "text"


def _ends(style: str, indent: int, lines: list[str], i: int) -> bool:
    line = lines[i].strip()
    if not line or _indent(lines[i]) > indent:
        return False
    # NumPy entries are not indented: a title, another style or a lone line ends the section.
    lone = not lines[i - 1] and _indent("".join(lines[i + 1 : i + 2])) <= indent
    other = (lone and " : " not in line) or ":" in (line[0], line[-1]) or _underlined(lines, i)
    return style != "numpy" or other


def _goes_on(style: str, lines: list[str], start: int, i: int, names: Collection[str]) -> bool:
    """Test whether a line that is not indented continues a section: it describes a parameter."""
    line = lines[i].strip()
    if style == "block":
        match = _DEFINITION.match(line)
        return match is not None and match[1] in names
    if style == "sphinx" or not _describes(lines[start]) or _TITLE.fullmatch(line.lower()):
        return False
    return not _underlined(lines, i) and any(name in names for name in _names_at(style, line))


def _describes(line: str) -> bool:
    return line.strip().lower().startswith(_DESCRIBING)


def _names_at(style: str, line: str) -> list[str]:
    """Return the names at the start of an entry; none if the line starts no entry."""
    if not _FORMS[style][1].match(line):
        return []
    return [name.strip() for name in line.partition(":")[0].partition("(")[0].split(",")]


def _described(style: str, piece: list[str], names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield names and their descriptions from a section of Google, NumPy or Sphinx."""
    form = _FORMS[style][2]
    for entry in _entries(style, piece, names):
        match = form.match("\n".join(entry))
        if match is not None:
            yield from ((name.strip(), match[2]) for name in (match[1] or "").split(","))


def _entries(style: str, piece: list[str], names: Collection[str]) -> list[list[str]]:
    """Split the lines of a section where descriptions start."""
    lines = piece[_FORMS[style][0] :]
    if style == "sphinx":  # its fields are recognised at any indentation
        return [entry for entry in _parted(lines, _fields(lines)) if _describes(entry[0])]
    if not _describes(piece[0]):
        return []
    level = next((_indent(line) for line in lines if line), 0)
    starts = _regular(style, lines, level, names)
    regular = {name for i in starts for name in _names_at(style, lines[i].strip())}
    return _parted(lines, starts | _irregular(style, lines, level, {*names} - regular))


def _regular(style: str, lines: list[str], level: int, names: Collection[str]) -> set[int]:
    """Find entries that are indented no further than the first.

    An entry with an unknown name must also be indented no further than the one before; otherwise
    the line continues that one."""
    found: set[int] = set()
    last = level
    for i, line in enumerate(lines):
        indent = _indent(line)
        here = _names_at(style, line.strip()) if line and indent <= level else ()
        is_other = indent <= last and (":" in line or _has_text_below(lines, i))
        if here and (is_other or any(name in names for name in here)):
            found.add(i)
            last = indent
    return found


def _has_text_below(lines: list[str], i: int) -> bool:
    return _indent("".join(lines[i + 1 : i + 2])) > _indent(lines[i])


def _fields(lines: list[str]) -> set[int]:
    return {i for i, line in enumerate(lines) if _FIELD.match(line.lstrip())}


def _irregular(style: str, lines: list[str], level: int, missing: Set[str]) -> set[int]:
    """Find deeper indented entries of parameters that are described nowhere else."""
    found = {
        i
        for i, line in enumerate(lines)
        if missing
        and _indent(line) > level
        and not missing.isdisjoint(_names_at(style, line.strip()))
    }
    if style != "numpy":
        return found
    # NumPy has the text below the name: a line without deeper indented text below is text itself.
    return {i for i in found if _has_text_below(lines, i)}


def _parted(lines: list[str], starts: Collection[int]) -> list[list[str]]:
    entries: list[list[str]] = []
    for i, line in enumerate(lines):
        if i in starts:
            entries.append([])
        if entries:
            entries[-1].append(line)
    return entries


def _defined(lines: list[str], names: Collection[str], what: str) -> dict[str, str]:
    regular = {match[1] for line in lines if (match := _definition(line, ())) is not None}
    irregular = [name for name in names if name not in regular]
    found: dict[str, list[str]] = {}
    name = problem = ""
    for line in filter(None, lines):
        match = _definition(line, irregular)
        text = line.strip() if match is None else match[2]
        name = name if match is None else match[1]
        if not name:
            problem = f"begin with {text[:40]!r}; begin with two spaces and 'name - text'"
        elif match is not None and name in found:
            problem = f"describe {name!r} twice; remove one of the two"
        elif name not in names:
            problem = f"describe {name!r}, but the parameters are: {', '.join(names) or 'none'}"
        if problem:
            raise TypeError(f"{what}: its MCP Parameters {problem}")
        found.setdefault(name, []).append(text)
    return {name: text for name in found if (text := " ".join(" ".join(found[name]).split()))}


def _definition(line: str, irregular: Collection[str]) -> "re.Match[str] | None":
    """Match a line of a block that starts a description.

    At the indentation of continuation lines, only a description of an `irregular` name counts."""
    match = _DEFINITION.match(line.lstrip())
    if match is None or (_indent(line) >= _CONTINUED and match[1] not in irregular):
        return None
    return match


def _prose(lines: list[str]) -> str | None:
    """Join each paragraph into one line; keep code, lists and indented lines as they are."""
    out: list[str] = []
    words: list[str] = []
    fenced = doctest = False
    for i, line in enumerate([*lines, ""]):
        fence = line.count("```") == 1
        doctest = line != "" and (doctest or line.startswith(">>>"))
        literal = fenced or fence or doctest or _LITERAL.match(line) or _underlined(lines, i)
        fenced ^= fence
        if line and not literal:
            words += line.split()
            continue
        if words:
            out.append(" ".join(words))
            words = []
        if literal or (out and out[-1]):
            out.append(line)
    return "\n".join(out).strip("\n") or None
