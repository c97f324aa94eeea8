"""The JSON Schema that we understand: its names, formats and references, and whether one that an
author wrote by hand is within it.

Refused is what the checker would not check: a schema that promises more than is enforced is worse
than none. What no rule knows is an annotation.
"""

import datetime
import decimal
import math
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias, TypeGuard

import msgspec

from ..errors import clipped
from .schema import Schema

NAMES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "null": "null",
    "array": "an array",
    "object": "an object",
}
_DRAFT_7 = ("http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema")
_DIALECTS = ("https://json-schema.org/draft/2020-12/schema", *_DRAFT_7)
_DEEPEST = 64
_MOST_SCHEMAS = 10_000
# A header holds a number that every language can read.
_LARGEST_HEADER = 2**53 - 1
_DASHES = {ord("-"): None, ord("_"): None}


def check_schema(schema: object, what: str, *, root_object: bool = True) -> Schema:
    """A schema that an author wrote, as it is, if all of it is understood.

    Args:
        what: whose schema it is, as errors name it.
        root_object: it must describe an object, as the arguments of a tool are one.

    Raises:
        TypeError: it is no JSON object, or something in it is not JSON.
        ValueError: it is no schema, or uses what is not checked.
    """
    if not _is_object(schema):
        raise TypeError(f"{what}: a schema must be a JSON object, as a dict")
    _must_be_json(schema, what, ())
    try:
        _Walk(schema).all()
    except _Refused as refused:
        raise ValueError(_at(what, refused.place, refused.words)) from None
    if root_object and schema.get("type") != "object":
        raise ValueError(f'{what}: the root must have "type": "object"')
    return schema


def resolve(root: Schema, ref: str) -> Any:
    """What a `$ref` of the form `#` or `#/…` points at.

    Raises:
        LookupError, TypeError, ValueError: nothing.
    """
    target: Any = root
    for token in _tokens(ref):
        target = target[int(token)] if _is_list(target) else target[token]
    return target


def _tokens(ref: str) -> list[str]:
    if "%" in ref:
        ref = re.sub("(?:%[0-9a-fA-F]{2})+", _unquoted, ref)
    return [token.replace("~1", "/").replace("~0", "~") for token in ref.split("/")[1:]]


def _unquoted(match: re.Match[str]) -> str:
    return bytes.fromhex(match.group().replace("%", "")).decode()


_KINDS: dict[type, str] = {str: "a string", int: "an integer", list: "an array", dict: "an object"}


def echo(value: Any) -> str:
    """A value as JSON on one line that is never long and hides nothing."""
    kind = value.__class__
    if kind is str:
        value = value[:300].encode("utf-8", "replace").decode()
    elif kind is float and not math.isfinite(value):
        return str(value)
    try:
        text = clipped(msgspec.json.encode(value).decode())
    except (ValueError, TypeError, RecursionError):  # lone surrogates, huge integers
        return _KINDS.get(kind, "a value")
    if text.isprintable():
        return text
    return clipped("".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text))


def expected(kinds: Iterable[str | list[str]]) -> str:
    """Kinds of values, in words."""
    names = [name for kind in kinds for name in ([kind] if isinstance(kind, str) else kind)]
    *others, last = dict.fromkeys(NAMES[name] for name in names)
    return f"expected {', '.join(others)} or {last}" if others else f"expected {last}"


def near_name(name: str, known: list[str]) -> str | None:
    """The name that was probably meant."""
    plain = name.lower().translate(_DASHES)
    same = [other for other in known if other.lower().translate(_DASHES) == plain]
    near = (other for other in known if _differ_little(name, other))
    return same[0] if same else next(near, None)


def _differ_little(one: str, other: str) -> bool:
    """Is all that is between the same beginning and the same end at most two characters?"""
    if min(len(one), len(other)) <= 2 or abs(len(one) - len(other)) > 2:
        return False
    same = 0
    while one[same : same + 1] == other[same : same + 1] != "":
        same += 1
    one, other = one[same:], other[same:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return len(one) <= 2 and len(other) <= 2


# Formats


def _like(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text) is not None


_OCTET = r"(?a:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_is_ipv4 = _like(rf"{_OCTET}(?:\.{_OCTET}){{3}}")


def _is_date(text: str) -> bool:
    try:
        return bool(
            re.fullmatch(r"(?a)\d{4}-\d\d-\d\d", text) and datetime.date.fromisoformat(text)
        )
    except ValueError:
        return False


def _is_time(text: str) -> bool:
    match = re.fullmatch(
        r"(?a)([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.\d+)?"
        r"(?:[zZ]|([+-])([01]\d|2[0-3]):([0-5]\d))",
        text,
    )
    if match is None or match[3] != "60":
        return match is not None
    # A leap second comes at the end of a day of universal time.
    offset = int(f"{match[4]}1") * (int(match[5]) * 60 + int(match[6])) if match[4] else 0
    return (int(match[1]) * 60 + int(match[2]) - offset) % 1440 == 1439


def _is_date_time(text: str) -> bool:
    return text[10:11] in ("T", "t") and _is_date(text[:10]) and _is_time(text[11:])


def _is_ipv6(text: str) -> bool:
    left, gap, right = text.partition("::")
    groups = [group for side in (left, right) if side for group in side.split(":")]
    size = len(groups)
    if groups and (right or not gap) and _is_ipv4(groups[-1]):
        groups.pop()
        size += 1
    return all(re.fullmatch("[0-9a-fA-F]{1,4}", group) for group in groups) and (
        size <= 7 if gap else size == 8
    )


# RFC 3986, with everything after the authority taken together.
_URI = (
    r"(?a)[A-Za-z][A-Za-z0-9+.-]*:"
    r"(?://(?:(?:[\w.~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?"
    r"(?:\[[0-9A-Fa-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::\d*)?(?=[/?#]|\Z)|(?!//))"
    r"(?:[\w.~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*"
    r"(?:#(?:[\w.~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?"
)
_EMAIL = (
    r"(?a)(?:[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*|\"(?:[^\"\\\s]|\\.| )*\")"
    r"@(?:(?!-)[A-Za-z0-9-]+(?<!-)(?:\.(?!-)[A-Za-z0-9-]+(?<!-))*|\[[0-9A-Za-z:.]+\])"
)
_DURATION = (
    r"(?a)P(?:\d+W|(?=[\dT])(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)?"
    r"(?:T(?=\d)(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))?)"
)
_UUID = "(?i:(?a:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))"


class Format(NamedTuple):
    """A format of strings that is checked."""

    words: str
    fits: Callable[[str], bool]
    target: Any = None  # the type that msgspec reads from it


FORMATS = {
    "date-time": Format(
        "a date and time such as 2026-01-31T12:00:00Z", _is_date_time, datetime.datetime
    ),
    "date": Format("a date such as 1999-12-31", _is_date, datetime.date),
    "time": Format("a time such as 12:00:00Z", _is_time, datetime.time),
    "duration": Format("a duration such as PT1H30M", _like(_DURATION), datetime.timedelta),
    "uuid": Format("a UUID such as 123e4567-e89b-42d3-a456-426614174000", _like(_UUID), uuid.UUID),
    "email": Format("an email address such as ada@example.org", _like(_EMAIL)),
    "uri": Format("a URI such as https://example.org/page", _like(_URI)),
    "ipv4": Format("an IPv4 address such as 192.0.2.1", _is_ipv4),
    "ipv6": Format("an IPv6 address such as 2001:db8::1", _is_ipv6),
    # Not of JSON Schema: for a decimal of ours, which msgspec reads from any number.
    "decimal": Format("a decimal number such as 12.50", _like(r"(?s).*"), decimal.Decimal),
}


# A schema written by hand

Place: TypeAlias = tuple[str | int, ...]


class _Refused(Exception):
    """What is wrong with a schema, and where."""

    def __init__(self, place: Place, words: str) -> None:
        super().__init__(words)
        self.place = place
        self.words = words


def _at(what: str, place: Place, words: str) -> str:
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return f"{what}: at {clipped(path.removeprefix('.'))}: {words}" if path else f"{what}: {words}"


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_object(value: object) -> TypeGuard[dict[Any, Any]]:
    return isinstance(value, dict)


def _must_be_json(value: object, what: str, place: Place) -> None:
    if len(place) > 4 * _DEEPEST:
        raise ValueError(f"{what}: the schema is nested too deeply, or contains itself")
    if _is_object(value):
        for name, member in value.items():
            if not isinstance(name, str):
                words = f"the name {name!r} is not a string, as it must be in JSON"
                raise TypeError(_at(what, place, words))
            _must_be_json(member, what, (*place, name))
    elif _is_list(value):
        for number, item in enumerate(value):
            _must_be_json(item, what, (*place, number))
    elif not _is_scalar(value):
        words = f"{clipped(repr(value))} is not JSON; use str, int, float, bool, None, list or dict"
        raise TypeError(_at(what, place, words))


def _is_scalar(value: object) -> bool:
    if isinstance(value, str):
        return value == value.encode("utf-8", "replace").decode()
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, int)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_size(value: object) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_names(value: object) -> TypeGuard[list[str]]:
    return (
        _is_list(value)
        and all(isinstance(name, str) for name in value)
        and len(set(value)) == len(value)
    )


def _is_type(value: object) -> bool:
    names = [value] if isinstance(value, str) else value
    return _is_names(names) and bool(names) and all(name in NAMES for name in names)


_Shape: TypeAlias = tuple[Callable[[object], bool], str]
_NUMBER: _Shape = (_is_number, "must be a number")
_SIZE: _Shape = (_is_size, "must be a whole number, 0 or more")
_SHAPES: dict[str, _Shape] = {
    "type": (_is_type, f"must be one of {', '.join(NAMES)}, or a list of different ones"),
    "enum": (lambda value: _is_list(value) and bool(value), "must be a list of values"),
    "required": (_is_names, "must be a list of different names"),
    "dependentRequired": (
        lambda value: _is_object(value) and all(map(_is_names, value.values())),
        "must be an object of lists of different names",
    ),
    "minimum": _NUMBER,
    "maximum": _NUMBER,
    "exclusiveMinimum": _NUMBER,
    "exclusiveMaximum": _NUMBER,
    "multipleOf": (lambda value: _is_number(value) and value > 0, "must be a number above 0"),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _SIZE),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _SIZE),
    "uniqueItems": (lambda value: isinstance(value, bool), "must be true or false"),
    "pattern": (lambda value: isinstance(value, str), "must be a string"),
    "format": (lambda value: isinstance(value, str), "must be a string"),
    "$ref": (lambda value: isinstance(value, str), "must be a string"),
}
_ANYTHING: _Shape = (lambda value: True, "")
_DEFINITIONS = ("$defs", "definitions")
_HOLDS = {
    **dict.fromkeys(("additionalProperties", "propertyNames", "items", "contains"), "one"),
    **dict.fromkeys(("not", "if", "then", "else"), "one"),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), "list"),
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas"), "object"),
    **dict.fromkeys(_DEFINITIONS, "object"),
}
# Keywords whose schemas are about the same value, not about a part of it.
_HERE = ("not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas")
_VALUES = ("const", "default", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_UNCHECKED = {
    "unevaluatedProperties": "use additionalProperties",
    "unevaluatedItems": "use items",
    "$dynamicRef": "use $ref",
    "$dynamicAnchor": "use $defs and $ref",
    "$anchor": "use $defs and a $ref that begins with #/",
}
_UNCHECKED_7 = {
    "dependencies": "use dependentRequired or dependentSchemas",
    "additionalItems": "use prefixItems and items",
}


class _Walk:
    """A walk through all schemas in a schema: from the root, then from what only a `$ref` finds."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.todo: list[tuple[object, Place, int]] = [(root, (), 0)]
        self.seen: set[Place] = set()
        self.refs: list[tuple[Schema, Place]] = []
        self.headers: set[str] = set()
        self.ends: set[int] = set()
        self.dialect = root.get("$schema", _DIALECTS[0])
        if str(self.dialect).removesuffix("#") not in _DIALECTS:
            raise _Refused((), f"$schema: {echo(self.dialect)} is not known; use {_DIALECTS[0]}")
        older = str(self.dialect).removesuffix("#") in _DRAFT_7
        self.unchecked = {**_UNCHECKED, **(_UNCHECKED_7 if older else {})}

    def all(self) -> None:
        while self.todo:
            for schema, place, depth in self.todo:  # which grows meanwhile
                self._one(schema, place, depth)
            found = [self._target(schema["$ref"], place) for schema, place in self.refs]
            self.todo = [(target, at, 0) for target, at in found if at not in self.seen]
        for schema, place in self.refs:
            self._must_end(schema, place, ())

    def _one(self, schema: object, place: Place, depth: int) -> None:
        self.seen.add(tuple(map(str, place)))
        if depth > _DEEPEST or len(self.seen) > _MOST_SCHEMAS:
            words = f"more than {_DEEPEST} schemas in each other, or {_MOST_SCHEMAS} in all"
            raise _Refused(place, f"{words}; make it simpler")
        if isinstance(schema, bool):
            return
        if not _is_object(schema):
            raise _Refused(place, f"a schema must be an object, true or false, not {echo(schema)}")
        for keyword, operand in schema.items():
            fits, words = _SHAPES.get(keyword, _ANYTHING)
            if not fits(operand):
                raise _Refused(place, f"{keyword} {words}, not {echo(operand)}")
            if keyword in self.unchecked:
                advice = self.unchecked[keyword]
                raise _Refused(place, f"{keyword} is not checked by this library; {advice}")
        self._scope(schema, place)
        _patterns(schema, place)
        if "x-mcp-header" in schema:
            self._header(schema, place)
        if "$ref" in schema:
            self.refs.append((schema, place))
        self.todo += [(child, at, depth + 1) for child, at in _inner(schema, place)]

    def _scope(self, schema: Schema, place: Place) -> None:
        if place and "$id" in schema:
            raise _Refused(place, "$id is not checked below the root; remove it")
        if schema.get("$schema", self.dialect) != self.dialect:
            raise _Refused(place, "$schema differs from that of the root; remove it")
        if "dependencies" in self.unchecked and "$ref" in schema:
            ignored = [keyword for keyword in schema if keyword in _SHAPES or keyword in _HOLDS]
            ignored = [keyword for keyword in ignored if keyword not in ("$ref", *_DEFINITIONS)]
            if ignored:
                words = f"draft-07 ignores {ignored[0]} beside $ref; put both into allOf"
                raise _Refused(place, words)

    def _header(self, schema: Schema, place: Place) -> None:
        name, kind = schema["x-mcp-header"], schema.get("type")
        if not place or len(place) % 2 or set(place[::2]) != {"properties"}:
            raise _Refused(place, "x-mcp-header must be on a property, reached by properties alone")
        if not isinstance(name, str) or not re.fullmatch(r"(?a)[\w!#$%&'*+.^`|~-]+", name):
            words = "x-mcp-header must be a name for a header: letters, digits and dashes"
            raise _Refused(place, f"{words}, not {echo(name)}")
        if name.lower() in self.headers:
            raise _Refused(place, f"x-mcp-header {echo(name)} is used twice; names must differ")
        if kind not in ("string", "integer", "boolean"):
            words = 'x-mcp-header needs the "type" string, integer or boolean'
            raise _Refused(place, f"{words}, not {echo(kind)}")
        if any(abs(number) > _LARGEST_HEADER for number in _integers(schema)):
            raise _Refused(place, "x-mcp-header allows integers up to 2^53 - 1; lower the limits")
        self.headers.add(name.lower())

    def _target(self, ref: str, place: Place) -> tuple[object, Place]:
        if not re.fullmatch("#(/.*)?", ref):
            words = "references to elsewhere are never fetched; put the schema into $defs and refer"
            raise _Refused(place, f"$ref {echo(ref)}: {words} to it as #/$defs/…")
        try:
            return resolve(self.root, ref), tuple(_tokens(ref))
        except (LookupError, TypeError, ValueError):
            raise _Refused(place, f"$ref {echo(ref)} points at nothing in this schema") from None

    def _must_end(self, schema: object, place: Place, inside: tuple[int, ...]) -> None:
        """A schema that applies itself to the same value again would never end."""
        if not _is_object(schema) or id(schema) in self.ends:
            return
        if id(schema) in inside or len(inside) >= _DEEPEST:
            raise _Refused(place, "$ref leads back to itself, or to more than 64 others in a row")
        inner = [child for child, _ in _inner({k: schema[k] for k in _HERE if k in schema}, ())]
        if "$ref" in schema:
            inner.append(resolve(self.root, schema["$ref"]))
        for child in inner:
            self._must_end(child, place, (*inside, id(schema)))
        self.ends.add(id(schema))


def _inner(schema: Schema, place: Place) -> Iterator[tuple[object, Place]]:
    """The schemas directly in a schema."""
    for keyword, operand in schema.items():
        holds = _HOLDS.get(keyword)
        at = (*place, keyword)
        if holds is None:
            continue
        if holds == "one":
            if keyword == "items" and _is_list(operand):
                raise _Refused(place, "items must be one schema; a list of them is prefixItems")
            yield operand, at
        elif holds == "list":
            if not _is_list(operand) or not operand:
                raise _Refused(place, f"{keyword} must be a list of schemas, not {echo(operand)}")
            yield from ((child, (*at, number)) for number, child in enumerate(operand))
        elif not _is_object(operand):
            raise _Refused(place, f"{keyword} must be an object of schemas, not {echo(operand)}")
        else:
            yield from ((child, (*at, name)) for name, child in operand.items())


def _patterns(schema: Schema, place: Place) -> None:
    named = schema.get("patternProperties")
    own = [schema["pattern"]] if "pattern" in schema else []
    for pattern in [*own, *(named if _is_object(named) else ())]:
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            words = f"{echo(pattern)} is no pattern that Python's re understands: {error}"
            raise _Refused(place, words) from None


def _integers(schema: Schema) -> list[int]:
    listed = [*schema.get("enum", []), *(schema.get(keyword) for keyword in _VALUES)]
    return [value for value in listed if isinstance(value, int)]
