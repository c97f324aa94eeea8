"""What a docstring tells a model: its text without the sections, and a line for each parameter.

A docstring is prose first: what does not look like a section of Google, NumPy or Sphinx stays in
the text. Only an `MCP Parameters:` block is written for us, so only that can be wrong.

People indent unevenly, so within a section a line that begins with the name of a parameter begins
its description wherever it stands, unless that parameter is described at the regular place.
"""

import re
from collections.abc import Collection, Iterator, Set

from msgspec import Struct

from ..lazy_regex import pattern

_BLOCK = "mcp parameters:"
# Every section holds one of these; most docstrings hold none, and are done in no time.
_MARKERS = (
    *("---", "args:", "arguments:", "params:", "parameters:", "return:", "returns:", "yield"),
    *("raise", "warns:", ":param", ":arg", ":key", ":type", ":rtype", ":return", ":except"),
)
# Possessive wherever two parts could share a text, so that nothing is read twice.
_TITLES = r"(?:keyword |other )?(?:arg(?:ument)?s|param(?:eter)?s)|(?:return|yield|raise)s?|warns"
_TITLE = pattern(rf"(?:{_TITLES}):?")
_FIELDS = r"param(?:eter)?|arg(?:ument)?|key(?:word)?|r?type|(?:return|yield|raise)s?"
_FIELD = pattern(rf":(?:{_FIELDS}|except(?:ion)?)(?!\w)[^:]*+:")
_DESCRIBING = ("arg", "param", "keyword", "other", ":arg", ":param", ":key")
_ENTRY = pattern(r"[^\s,:(]++(?:\s*+,\s*+[^\s,:(]++)*+\s*+[(:]")
# An entry of NumPy: names alone on their line, or with a type; anything else goes on with the text.
_HEAD = pattern(r"[^\s,:]++(?:\s*+,\s*+[^\s,:]++)*+\s*+(?::|$)")
# By style: the lines of the title, how an entry begins, and its names and text.
_FORMS = {
    "google": (1, _ENTRY, pattern(r"([^:(]*+)(?:\(.*?\)\s*+(?=:))?:(.*)", re.DOTALL)),
    "numpy": (2, _HEAD, pattern(r"([^:\n]*+)[^\n]*+(.*)", re.DOTALL)),
    "sphinx": (0, _FIELD, pattern(r"\s*+:\w++(?:\s++([^\s:]++))*+\s*+:(.*)", re.DOTALL)),
}
_BARE = pattern(r"[^\s:-]++[^:-]*+(?:-|:.)")
_DEFINITION = pattern(r"([^\s-]++)[ \t]*+-(.*)")
# From here on, a line in a block goes on with the one before.
_CONTINUED = 6
_LITERAL = pattern(r"\s|[-*+] |\d++[.)] |\||[-=~]{3,}+$")


class Docstring(Struct, frozen=True):
    """The text that a model reads about a function, and what it reads about each parameter."""

    description: str | None
    parameters: dict[str, str]


def read(doc: str, names: Collection[str], what: str) -> Docstring:
    """Take a docstring apart; a `TypeError` says what is wrong with an `MCP Parameters:` block."""
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
            # A section about parameters that is written in no style that we know stays in the text.
            has_text = any(piece[_FORMS[style][0] :])
            is_foreign = names and has_text and not described and _describes(piece[0])
            kept += piece if is_foreign else [""]
            for name, text in described:
                if name in names and text.strip():
                    found.setdefault(name, " ".join(text.split()))
    # The block is written for a model, the other styles for whoever reads the code.
    return Docstring(_prose(kept), found | (block or {}))


def _lines(doc: str) -> list[str]:
    """The lines without their common margin. Tabs stay: a block has a rule about them."""
    first, *rest = doc.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    margins = [line[: len(line) - len(text)] for line in rest if (text := line.lstrip())]
    margin = min(dict.fromkeys(margins), key=lambda blank: len(blank.expandtabs()), default="")
    return [first.strip(), *[line.removeprefix(margin).rstrip() for line in rest]]


def _indent(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip())].expandtabs()) if line[:1].isspace() else 0


def _underlined(lines: list[str], i: int) -> bool:
    return i + 1 < len(lines) and "---" in lines[i + 1] and not lines[i + 1].strip().strip("-")


def _pieces(lines: list[str], names: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """The sections, each with its style; between them, line by line, the text."""
    i, fenced, before = 0, False, ""
    while i < len(lines):
        # Four spaces make an example of something, as in Markdown, if it is announced or goes on.
        example = _indent(lines[i]) > 3 and (_indent(before) > 3 or before.endswith(":"))
        style = "text" if fenced or example else _style(lines, i)
        end = i + (2 if style == "numpy" else 1)
        fenced ^= style == "text" and lines[i].count("```") == 1
        indent = 0 if style == "block" else _indent(lines[i])
        if i == 0 and style in ("google", "block") and _BARE.match("".join(lines[1:2])):
            # A section is all there is, so the margin was that of its entries.
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
    if line.lower().endswith(_BLOCK):  # after a sentence, too, but not as its end
        return "block" if line[: -len(_BLOCK)].rstrip()[-1:] in ("", *".!?") else "text"
    if not _TITLE.fullmatch(line.lower()):
        return "sphinx" if _FIELD.match(line) else "text"
    # Inside a paragraph, a small "args:" is the end of a sentence that was wrapped there.
    google = line[-1] == ":" and (line[0].isupper() or i == 0 or not lines[i - 1])
    return "numpy" if _underlined(lines, i) else "google" if google else "text"


def _ends(style: str, indent: int, lines: list[str], i: int) -> bool:
    line = lines[i].strip()
    if not line or _indent(lines[i]) > indent:
        return False
    # The entries of NumPy are not indented: a title, another style, a lone line comes after them.
    lone = not lines[i - 1] and _indent("".join(lines[i + 1 : i + 2])) <= indent
    other = (lone and " : " not in line) or ":" in (line[0], line[-1]) or _underlined(lines, i)
    return style != "numpy" or other


def _goes_on(style: str, lines: list[str], start: int, i: int, names: Collection[str]) -> bool:
    """Does a section go on at a line that is not indented, because it describes a parameter?"""
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
    """The names that an entry begins with; none if a line begins no entry."""
    if not _FORMS[style][1].match(line):
        return []
    return [name.strip() for name in line.partition(":")[0].partition("(")[0].split(",")]


def _described(style: str, piece: list[str], names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Names, with their descriptions, in a section of Google, NumPy or Sphinx."""
    form = _FORMS[style][2]
    for entry in _entries(style, piece, names):
        match = form.match("\n".join(entry))
        if match is not None:
            yield from ((name.strip(), match[2]) for name in (match[1] or "").split(","))


def _entries(style: str, piece: list[str], names: Collection[str]) -> list[list[str]]:
    """The lines of a section, parted where a description begins."""
    lines = piece[_FORMS[style][0] :]
    if style == "sphinx":  # whose fields tell what they are, wherever they stand
        return [entry for entry in _parted(lines, _fields(lines)) if _describes(entry[0])]
    if not _describes(piece[0]):
        return []
    level = next((_indent(line) for line in lines if line), 0)
    starts = _regular(style, lines, level, names)
    regular = {name for i in starts for name in _names_at(style, lines[i].strip())}
    return _parted(lines, starts | _irregular(style, lines, level, {*names} - regular))


def _regular(style: str, lines: list[str], level: int, names: Collection[str]) -> set[int]:
    """Where entries begin that stand no further in than the first. One of an unknown name stands no
    further in than the one before: else it goes on with that."""
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
    """Where parameters that are described nowhere else are described, further in than others."""
    found = {
        i
        for i, line in enumerate(lines)
        if missing
        and _indent(line) > level
        and not missing.isdisjoint(_names_at(style, line.strip()))
    }
    if style != "numpy":
        return found
    # There the text stands below the name; a line with nothing further in below it is text.
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
    """A line of a block that begins a description; so far in that others go on with one, only if
    it is of one of these names."""
    match = _DEFINITION.match(line.lstrip())
    if match is None or (_indent(line) >= _CONTINUED and match[1] not in irregular):
        return None
    return match


def _prose(lines: list[str]) -> str | None:
    """Paragraphs on one line each; code, lists and whatever is indented as they are."""
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
