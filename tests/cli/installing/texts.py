"""Generated configurations: texts as people and programs write them, with comments everywhere."""

import json
import re
from itertools import count
from typing import Any

from hypothesis import strategies as st

ENTRY = {"command": "/bin/toolhaft", "args": ["run", "/tmp/a b.py"], "env": {"K": 'v"\\é'}}
NAMES = st.sampled_from(["a", "b", "git", "my server", "né", 'qu"ote', "servers"])
LINES = st.sampled_from(["\n", "\r\n"])
_WORDS = st.sampled_from(["note", "x: 1", '"quoted', "[x]", "{", "}", "# //", "'", "*"])
_TEXTS = st.sampled_from(
    ["", "text", "a,b", "// no", "/* no */", "[mcp_servers.x]", "é\u2028", "}"]
)


# JSON with comments


@st.composite
def _trivia(draw: st.DrawFn, line: str) -> str:
    """Space and comments, as may stand between any two things."""
    parts: list[str] = []
    for kind in draw(st.lists(st.sampled_from([" ", "\t", "line", "//", "/*"]), max_size=3)):
        word = draw(_WORDS)
        parts.append({"line": line, "//": f"//{word}{line}", "/*": f"/*{word}*/"}.get(kind, kind))
    return "".join(parts)


_SCALARS = st.one_of(
    _TEXTS.map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.sampled_from(["1", "-2.5e3", "true", "null", '"\\u0041\\n"', "12345678901234567890"]),
)


@st.composite
def _object(draw: st.DrawFn, line: str, members: list[tuple[str, str]]) -> str:
    text = "{" + draw(_trivia(line))
    for index, (name, value) in enumerate(members):
        last = index == len(members) - 1
        comma = "," if not last or draw(st.booleans()) else ""
        parts = [json.dumps(name, ensure_ascii=False), ":", value, comma]
        text += "".join(part + draw(_trivia(line)) for part in parts)
    return text + "}"


@st.composite
def _values(draw: st.DrawFn, line: str, depth: int = 2) -> str:
    kind = draw(st.sampled_from(["scalar", "scalar", "object", "array"])) if depth else "scalar"
    if kind == "scalar":
        return draw(_SCALARS)
    inner = draw(st.lists(_values(line, depth - 1), max_size=2))
    if kind == "array":
        return "[" + ",".join(draw(_trivia(line)) + each for each in inner) + "]"
    names = draw(st.lists(NAMES, min_size=len(inner), max_size=len(inner), unique=True))
    return draw(_object(line, list(zip(names, inner, strict=True))))


@st.composite
def jsonc_texts(draw: st.DrawFn) -> str:
    """A whole file: with or without `mcpServers`, with or without entries, or nothing at all."""
    line = draw(LINES)
    around = draw(_trivia(line)), draw(_trivia(line))
    mark = draw(st.sampled_from(["", "", "\ufeff"]))
    if draw(st.integers(0, 9)) == 0:
        return mark + around[0]
    others = draw(st.lists(st.sampled_from(["theme", "x", "y"]), unique=True))
    members = [(name, draw(_values(line))) for name in others]
    if draw(st.booleans()):
        names = draw(st.lists(NAMES, unique=True, max_size=3))
        servers = draw(_object(line, [(name, draw(_values(line))) for name in names]))
        members.insert(draw(st.integers(0, len(members))), ("mcpServers", servers))
    if draw(st.booleans()):
        # As a program would have written it, which is what most files are.
        text = json.dumps(
            {name: stripped(value) for name, value in members},
            indent=draw(st.sampled_from([None, 2, 4, "\t"])),
            ensure_ascii=False,
        )
        return mark + text.replace("\n", line) + draw(st.sampled_from(["", line]))
    return mark + around[0] + draw(_object(line, members)) + around[1]


def stripped(text: str) -> Any:
    """The value of a text, read by something else than what is tested."""
    out: list[str] = []
    at = 0
    text = text.removeprefix("\ufeff")
    while at < len(text):
        if text[at] == '"':
            end = at + 1
            while text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            out.append(text[at : end + 1])
            at = end + 1
        elif text.startswith("//", at):
            ends = [text.find(char, at) for char in "\r\n"]
            at = min([end for end in ends if end >= 0], default=len(text))
        elif text.startswith("/*", at):
            at = text.index("*/", at + 2) + 2
        else:
            if text[at] in "}]":
                while out and (not out[-1].strip() or out[-1] == ","):
                    comma = out.pop()
                    if comma == ",":
                        break
            out.append(text[at])
            at += 1
    bare = "".join(out)
    return json.loads(bare) if bare.strip() else {}


# TOML


_TOML_VALUES = st.sampled_from(
    [
        "1",
        "true",
        '"text"',
        "'lit # eral'",
        "[1, 2]",
        "[\n  \"[a]\", # c\n  '[b]',\n]",
        '"""\n[mcp_servers.fake]\n"""',
        "'''\n[fake]\n'''",
        "{ a = 1 }",
        "2026-01-01",
        '"""a\\"""b"""""',
    ]
)
_TOML_KEYS = st.sampled_from(["command", "x", '"a b"', "'q'", "y.z"])


@st.composite
def _toml_body(draw: st.DrawFn) -> list[str]:
    lines: list[str] = []
    for key in draw(st.lists(_TOML_KEYS, unique=True, max_size=3)):
        lines += draw(st.lists(st.sampled_from(["", "# comment [x]", "  "]), max_size=2))
        tail = draw(st.sampled_from(["", "  # tail"]))
        lines.append(f"{draw(st.sampled_from(['', '  ']))}{key} = {draw(_TOML_VALUES)}{tail}")
    return lines


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    """A whole file, with tables of other servers or without."""
    lines = draw(_toml_body())
    headers = ["[other]", "[[array]]", "[mcp_servers.git]", '[mcp_servers."a b"]', "[ tools . x ]"]
    for header in draw(st.lists(st.sampled_from(headers), unique=True)):
        lines += ["", header + draw(st.sampled_from(["", " # here"])), *draw(_toml_body())]
    lines += draw(st.lists(st.sampled_from(["", "# the end"]), max_size=3))
    text = "\n".join(lines).replace("\n", draw(LINES))
    return draw(st.sampled_from(["", "\ufeff"])) + text


# YAML


_YAML_VALUES = st.sampled_from(
    [
        " 1",
        " text with it's own: colon".replace(": ", ":"),
        ' "quoted # text"',
        " 'it''s'",
        " [1, {a: b}]",
        " [\n      1, # c\n      2\n    ]",
        ' "over\n      lines"',
        " |\n      block\n        # not a comment\n\n      more",
        " >-\n      folded: text\n      'tis",
        " |+\n      kept\n\n",
        " !!str value",
        "\n      - a\n      - b: 1\n        c: |\n          deep",
        "\n      plain over\n      lines",
        ' called\n      "the book',
        " it says\n      hello\" at times\n\n      'tis so",
        " see\n      [1 for more",
        " see\n      2] there\n      {a",
        "\n      plain\n      | over\n      - lines",
        '\n      - an item\n        "goes on\n      - [x,\n        y]',
        '\n      "quoted\n\n      below"',
        "\n      [\n      1]",
        "\n      -\n        a: 1\n      - - b\n        -\n          c: d",
        " &x\n      k: v",
        " !!map # so\n      k: v",
    ]
)
_YAML_TOP = st.sampled_from(
    [" 1", ' "text"', " [1,\n  2]", " |\n  block\n  extensions:", "\n- a\n- b: x", "\n  k: v", ""]
)


@st.composite
def yaml_texts(draw: st.DrawFn) -> str:
    """A whole file, with `extensions` or without."""
    comments = st.lists(st.sampled_from(["", "# comment", "  # further in: x"]), max_size=2)
    lines = draw(st.sampled_from([[], ["---"], ["# head", "---", ""]]))
    names = draw(st.lists(st.sampled_from(["GOOSE_MODEL", "list", "'q'"]), unique=True))
    at = draw(st.integers(0, len(names)))
    if draw(st.booleans()):
        names.insert(at, "extensions")
    for name in names:
        lines += draw(comments)
        lines += draw(_extensions()) if name == "extensions" else [f"{name}:{draw(_YAML_TOP)}"]
    lines += draw(comments)
    anchors = count()  # PyYAML takes none twice
    text = re.sub("&x", lambda _: f"&x{next(anchors)}", "\n".join(lines))
    # The end of a block of text is the end of a line; without it, nothing can follow.
    last = text.rpartition("\n")[2]
    in_block = last.startswith(" ") and last.endswith(
        ("more", "'tis", "deep", "extensions:", ": x")
    )
    text += "\n" if in_block else ""
    ended = text.endswith("\n") or not text
    text = text if ended else text + draw(st.sampled_from(["", "\n"]))
    return draw(st.sampled_from(["", "\ufeff"])) + text.replace("\n", draw(LINES))


@st.composite
def _extensions(draw: st.DrawFn) -> list[str]:
    key = draw(st.sampled_from(["extensions", '"extensions"']))
    tail = draw(st.sampled_from(["", "  # mine", " "]))
    names = draw(st.lists(st.sampled_from(["git", "'a b'", "développeur"]), unique=True))
    if not names:
        return [f"{key}:{draw(st.sampled_from(['', ' {}', ' null', ' ~']))}{tail}"]
    lines = [f"{key}:{tail}"]
    indent = draw(st.sampled_from(["  ", " ", "    "]))
    for name in names:
        lines += draw(st.lists(st.sampled_from(["", "  # about", "# left"]), max_size=1))
        lines.append(f"{indent}{name}:")
        for inner in draw(st.lists(st.sampled_from(["cmd", "args"]), unique=True, min_size=1)):
            value = draw(_YAML_VALUES).replace("\n    ", f"\n    {indent}")
            lines.append(f"{indent}  {inner}:{value}")
    return lines
