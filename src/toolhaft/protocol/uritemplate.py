"""RFC 6570 URI templates, read backwards: which values would have made this URI?

Matching takes time linear in the URI, and a template that would not allow this is refused: only one
variable may hold slashes; the others, but for the last, end where the text after them first occurs.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from ..lazy_regex import pattern

_SEGMENT = "([^/?#]*{lazy})"
_PARAMETER = "(?:=([^/?#]*{lazy}))?"
_SEGMENTS = "((?:/[^?#]*)?)"
_REST = "({any}*)"
_QUERY = "((?:{first}[^#]*)?)"  # all query variables at once: they come in any order


class _Operator(Struct, frozen=True):
    """A column of the table in RFC 6570, appendix A, and how to capture its variables."""

    first: str
    separator: str
    capture: str = _SEGMENT
    if_empty: str | None = None  # None: the values go without their names


_OPERATORS = {
    "": _Operator("", ","),
    "+": _Operator("", ",", _REST),
    "#": _Operator("#", ",", _REST),
    ".": _Operator(".", "."),
    "/": _Operator("/", "/"),
    ";": _Operator(";", ";", _PARAMETER, ""),
    "?": _Operator("?", "&", _QUERY, "="),
    "&": _Operator("&", "&", _QUERY, "="),
}
_EXPLODED = {"/": _Operator("/", "/", _SEGMENTS), "?": _OPERATORS["?"], "&": _OPERATORS["&"]}
_RESERVED = ":/?#[]@!$&'()*+,;="
_SCHEME = pattern(r"\A[A-Za-z][A-Za-z0-9+.\\-]*:")  # with a backslash: of an escaped literal
_EXPRESSION = pattern(r"(\{[^{}]*\})")
_NAME = pattern(r"(?:\w|%[0-9A-Fa-f]{2})(?:\.?(?:\w|%[0-9A-Fa-f]{2}))*", re.ASCII)
_STRAY_PERCENT = pattern(r"%(?![0-9A-Fa-f]{2})")
_NOT_LITERAL = pattern(r"[^!#-;=?-\[\]_a-z~]|%(?![0-9A-Fa-f]{2})")
_QUERY_IN_PLACE = pattern(
    r"(?:(?!\{&)[^?#])*"  # the path
    r"(?:\{\?|\?[^{}#]*\{&)[^{}]*\}(?:\{&[^{}]*\})*"  # {?x}{&y} or ?a=b{&x}{&y}
    r"(?:(?:#|\{#)(?!.*\{[?&]).*)?"  # the fragment
)


class _Variable(Struct, frozen=True):
    name: str
    operator: _Operator
    exploded: bool
    expression: str

    def takes(self, *captures: str) -> bool:
        return self.operator.capture in captures


_Part = str | list[_Variable]


class Template:
    """A URI template that can be matched.

    `exploded` names the variables whose value is a list; `optional` those that a match may leave
    out: the ones of the query, which come in any order, among others that are ignored.

    Raises:
        ValueError: the template is malformed, or cannot be matched without guessing.
    """

    __slots__ = ("_captured", "_parts", "_regex", "exploded", "optional", "text", "variables")

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts = _parse(text)
        variables = [v for part in self._parts if not isinstance(part, str) for v in part]
        _check(text, variables)
        literals, self._captured = _flatten(self._parts)
        self._regex = _compile(text, literals, [captured[0] for captured in self._captured])
        self.variables = tuple(variable.name for variable in variables)
        self.exploded = frozenset(variable.name for variable in variables if variable.exploded)
        self.optional = frozenset(v.name for v in variables if v.takes(_QUERY))

    def match(self, uri: str, *, raw: bool = False) -> dict[str, str | list[str]] | None:
        """The values that make the template into this URI, or None if there are none.

        Args:
            raw: give the values as they were sent, with their percent escapes.
        """
        match = self._regex.fullmatch(uri)
        if not match:
            return None
        found: dict[str, str | list[str]] = {}
        try:
            for variables, value in zip(self._captured, match.groups(""), strict=True):
                found |= _read(variables, value, decode=str if raw else _decode)
        except ValueError:
            return None
        return found

    def expand(self, values: Mapping[str, str | Sequence[str]]) -> str:
        """The URI for these values; a missing name and an empty list are undefined values."""
        return "".join(p if isinstance(p, str) else _expand(p, values) for p in self._parts)


def _require(condition: bool, text: str, problem: str) -> None:
    if not condition:
        raise ValueError(f"uri template {text!r}: {problem}")


def _parse(text: str) -> list[_Part]:
    parts: list[_Part] = []
    for index, piece in enumerate(_EXPRESSION.split(text)):
        if index % 2:
            parts.append(_parse_expression(text, piece))
            continue
        closed = "{" not in piece and "}" not in piece
        _require(closed, text, f"{piece!r} has an unbalanced brace; write expressions as {{name}}")
        bad = [f"{c!r} as {_quoted(c)}" for c in _NOT_LITERAL.findall(piece)]
        _require(not bad, text, f"{piece!r} is not fit for a uri; write {', '.join(bad)}")
        parts.append(piece)
    return parts


def _parse_expression(text: str, whole: str) -> list[_Variable]:
    symbol = whole[1] if whole[1] in _OPERATORS else ""
    items = whole[1:-1].removeprefix(symbol)
    _require(items != "", text, f"{whole} is empty; name a variable in it")
    known = items[0].isalnum() or items[0] in "_% "
    _require(known, text, f"{whole} has an unknown operator; use one of + # . / ; ? & or none")
    variables: list[_Variable] = []
    for item in items.split(","):
        name, exploded = item.removesuffix("*"), item.endswith("*")
        prefix = f"{whole} has a prefix, which cannot be matched; take the ':' and the number away"
        _require(":" not in item, text, prefix)
        invalid = f"{whole} has an invalid variable name {name!r}; use letters, digits, '_' and '.'"
        _require(_NAME.fullmatch(name) is not None, text, invalid)
        listed = f"{whole} has a list that cannot be matched; use {{/{name}*}} or {{?{name}*}}"
        _require(not exploded or symbol in _EXPLODED, text, listed)
        operator = (_EXPLODED if exploded else _OPERATORS)[symbol]
        variables.append(_Variable(name, operator, exploded, whole))
    return variables


def _check(text: str, variables: list[_Variable]) -> None:
    names, wide = set[str](), 0
    for variable in variables:
        name, whole = variable.name, variable.expression
        again = f"{whole} has the variable {name!r} again; give it a name of its own"
        _require(name not in names, text, again)
        names.add(name)
        wide += variable.takes(_REST, _SEGMENTS)
        second = f"{whole} has a second variable that may hold slashes; use {{name}} for one"
        _require(wide < 2, text, second)
        placed = not variable.takes(_QUERY) or _QUERY_IN_PLACE.fullmatch(text) is not None
        remedy = "use one {?a,b}, or {&a} after a fixed '?b=c', with at most a '#' after it"
        _require(placed, text, f"{whole} is out of place; {remedy}")


def _flatten(parts: list[_Part]) -> tuple[list[str], list[list[_Variable]]]:
    """What to capture, and the fixed text before, between and after: one literal more."""
    literals, captured = [""], list[list[_Variable]]()
    for part in parts:
        if isinstance(part, str):
            literals[-1] += part
            continue
        for index, variable in enumerate(part):
            operator = variable.operator
            if variable.takes(_QUERY) and captured and captured[-1][0].takes(_QUERY):
                captured[-1].append(variable)
                continue
            if not variable.takes(_QUERY, _SEGMENTS):
                literals[-1] += operator.separator if index else operator.first
                literals[-1] += "" if operator.if_empty is None else variable.name
            captured.append([variable])
            literals.append("")
    return literals, captured


def _compile(text: str, literals: list[str], variables: list[_Variable]) -> re.Pattern[str]:
    regex = _SCHEME.sub(r"(?ai:\g<0>)", re.escape(literals[0]))
    has_query = any(variable.takes(_QUERY) for variable in variables)
    for left, literal, right in zip(variables, literals[1:], [*variables, None][1:], strict=True):
        pair = f"where {left.expression} ends and {right.expression} begins" if right else ""
        apart = right is None or _apart(left, literal, right)
        _require(apart, text, f"cannot tell {pair}; put a '/' between them")
        first = left.operator.first
        final = right is None or right.takes(_QUERY, _SEGMENTS) or left.takes(_REST, _SEGMENTS)
        capture = left.operator.capture.format(
            lazy="" if final else "?",
            any="[^?#]" if has_query and first != "#" else ".",
            first=re.escape(first),
        )
        # An atomic group is not tried again when the rest fails: the time stays linear.
        regex += f"{'(?:' if final else '(?>'}{capture}{re.escape(literal)})"
    return re.compile(regex, re.DOTALL)


def _apart(left: _Variable, literal: str, right: _Variable) -> bool:
    # A slash must end what may hold slashes, and must show where a list of segments begins.
    if right.takes(_QUERY):
        return True
    if left.takes(_REST, _SEGMENTS):
        return literal.startswith("/")
    if right.takes(_SEGMENTS):
        return not literal or "/" in literal
    return literal != ""


def _read(
    variables: list[_Variable], value: str, *, decode: Callable[[str], str]
) -> dict[str, str | list[str]]:
    first = variables[0]
    if not first.takes(_QUERY):
        values = [decode(v) for v in value.split("/")[1:]] if first.exploded else decode(value)
        return {first.name: values}
    given: dict[str, list[str]] = {}
    for parameter in value[1:].split("&"):
        name, _, text = parameter.partition("=")
        given.setdefault(name, []).append(text)
    found: dict[str, str | list[str]] = {}
    for variable in variables:
        values = [decode(v) for v in given.get(variable.name, ())]
        if len(values) > 1 and not variable.exploded:
            raise ValueError(f"{variable.name} is given more than once")
        if values:
            found[variable.name] = values if variable.exploded else values[0]
    return found


def _decode(value: str) -> str:
    if _STRAY_PERCENT.search(value):
        raise ValueError(f"stray '%' in {value!r}")
    if "%" not in value:
        return value
    first, *rest = value.encode("utf-8", "surrogatepass").split(b"%")
    # `decode` is strict, so what is not UTF-8 raises the ValueError that a caller expects.
    return b"".join((first, *(bytes((int(part[:2], 16),)) + part[2:] for part in rest))).decode()


def _quoted(value: str, safe: str = "") -> str:
    """Percent-encoded but for what is never encoded. urllib's own would cost 5 ms of import."""
    return "".join(
        character
        if character in safe
        or (character.isascii() and (character.isalnum() or character in "-._~"))
        else "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "replace"))
        for character in value
    )


def _expand(variables: list[_Variable], values: Mapping[str, str | Sequence[str]]) -> str:
    pieces = [piece for v in variables for piece in _pieces(v, values.get(v.name, ()))]
    operator = variables[0].operator
    return operator.first + operator.separator.join(pieces) if pieces else ""


def _pieces(variable: _Variable, value: str | Sequence[str]) -> list[str]:
    items = [value] if isinstance(value, str) else value
    if variable.takes(_REST):
        pieces = [_quoted(_STRAY_PERCENT.sub("%25", v), _RESERVED + "%") for v in items]
    else:
        pieces = [_quoted(item) for item in items]
    if pieces and not variable.exploded:
        pieces = [",".join(pieces)]
    if_empty = variable.operator.if_empty
    if if_empty is None:
        return pieces
    return [variable.name + (f"={piece}" if piece else if_empty) for piece in pieces]
