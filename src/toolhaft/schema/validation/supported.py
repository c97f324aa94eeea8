"""The supported part of JSON Schema, and checks that a schema of an author is within it.

A keyword that constrains values and would not be enforced is refused. If jsonschema-rs is
installed, it enforces the keywords that our own validator does not support. Unknown keywords are
annotations.
"""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias, TypeGuard

from ...errors import clipped
from ..cost.regex_backtracking import ENDLESS, degree_of, endless_message
from ..from_types import Schema
from .messages import NAMES, echo

_DRAFT_7 = ("http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema")
_DIALECTS = ("https://json-schema.org/draft/2020-12/schema", *_DRAFT_7)
# Levels of nested schemas, and subschemas in all.
_DEEPEST = 64
_MOST_SCHEMAS = 10_000
# The largest integer in a header: the largest that a float represents exactly.
_LARGEST_HEADER = 2**53 - 1
Place: TypeAlias = tuple[str | int, ...]


class SupportReport(NamedTuple):
    """The support of a schema by our own validator.

    Args:
        unsupported: the first unsupported part, as a message for the author; None if there is none.
        rest_is_supported: the rest of the schema is supported.
    """

    unsupported: str | None
    rest_is_supported: bool


def check_schema(schema: object, what: str, *, root_object: bool = True) -> Schema:
    """Return a schema of an author unchanged, if our own validator supports all of it.

    Args:
        what: the owner of the schema, for error messages.
        root_object: require `"type": "object"`, as for the arguments of a tool.

    Raises:
        TypeError: it is not a JSON object, or contains a value that is not JSON.
        ValueError: it is not a valid schema, or uses an unsupported keyword.
    """
    unsupported, _ = report_support(schema, what, root_object=root_object)
    if unsupported is not None:
        raise ValueError(unsupported)
    assert _is_object(schema)
    return schema


def report_support(schema: object, what: str, *, root_object: bool = True) -> SupportReport:
    """Check a schema and report its support. The arguments are those of `check_schema`.

    Raises:
        TypeError: it is not a JSON object, or contains a value that is not JSON.
        ValueError: it is not a valid schema for any validator.
    """
    if not _is_object(schema):
        raise TypeError(f"{what}: a schema must be a JSON object, as a dict")
    _must_be_json(schema, what, ())
    walk = _Walk(schema)
    try:
        walk.all()
    except _Problem as refused:
        raise ValueError(at(what, refused.place, refused.words)) from None
    unsupported = (
        None
        if walk.unsupported is None
        else at(what, walk.unsupported.place, walk.unsupported.words)
    )
    if root_object and schema.get("type") != "object":
        raise ValueError(f'{what}: the root must have "type": "object"')
    return SupportReport(unsupported, walk.rest_is_supported)


def resolve(root: Schema, ref: str) -> Any:
    """Return the target of a `$ref` of the form `#`, `#/…` or `#anchor`.

    Raises:
        LookupError, TypeError, ValueError: it has no target.
    """
    if ref[1:2] not in ("", "/"):
        return anchored(root, ref[1:])[0]
    target: Any = root
    for token in _tokens(ref):
        target = target[int(token)] if _is_list(target) else target[token]
    return target


def anchored(root: Schema, name: str) -> tuple[Schema, Place]:
    """Return the schema with this `$anchor`, and its path.

    Raises:
        LookupError: there is none, or there are several.
    """
    todo: list[tuple[object, Place]] = [(root, ())]
    found: list[tuple[Schema, Place]] = []
    for schema, place in todo:  # grows during iteration
        if _is_object(schema) and len(place) <= 2 * _DEEPEST and len(todo) <= _MOST_SCHEMAS:
            if name in (schema.get("$anchor"), schema.get("$dynamicAnchor")):
                found.append((schema, place))
            todo += _children(schema, place)
    if len(found) != 1:
        raise LookupError(name)
    return found[0]


def _tokens(ref: str) -> list[str]:
    if "%" in ref:
        ref = re.sub("(?:%[0-9a-fA-F]{2})+", _unquoted, ref)
    return [token.replace("~1", "/").replace("~0", "~") for token in ref.split("/")[1:]]


def _unquoted(match: re.Match[str]) -> str:
    return bytes.fromhex(match.group().replace("%", "")).decode()


class _Problem(Exception):
    """A problem of a schema, and its path."""

    def __init__(self, place: Place, words: str) -> None:
        super().__init__(words)
        self.place = place
        self.words = words


def at(what: str, place: Place, words: str) -> str:
    """Format a message about a path in a schema."""
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
                raise TypeError(at(what, place, words))
            _must_be_json(member, what, (*place, name))
    elif _is_list(value):
        for number, item in enumerate(value):
            _must_be_json(item, what, (*place, number))
    elif not _is_scalar(value):
        words = f"{clipped(repr(value))} is not JSON; use str, int, float, bool, None, list or dict"
        raise TypeError(at(what, place, words))


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


# A check of the operand of a keyword, and the end of its error message.
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
# Keywords with subschemas: one, a list, or an object of them.
_SUBSCHEMAS = {
    **dict.fromkeys(("additionalProperties", "propertyNames", "items", "contains"), "one"),
    **dict.fromkeys(("not", "if", "then", "else"), "one"),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), "list"),
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas"), "object"),
    **dict.fromkeys(_DEFINITIONS, "object"),
}
# Keywords with subschemas for the same value, not for a part of it.
_SAME_VALUE = ("not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas")
_VALUES = ("const", "default", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
# Unsupported keywords, with advice; below, those of draft-07 only.
_UNCHECKED = {
    "unevaluatedProperties": "use additionalProperties",
    "unevaluatedItems": "use items",
    "$dynamicRef": "use $ref",
    "$dynamicAnchor": "use $defs and $ref",
}
_UNCHECKED_7 = {
    "dependencies": "use dependentRequired or dependentSchemas",
    "additionalItems": "use prefixItems and items",
}


class _Walk:
    """A traversal of all subschemas: from the root, then from targets only a `$ref` reaches."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.todo: list[tuple[object, Place, int]] = [(root, (), 0)]
        self.seen: set[Place] = set()
        self.refs: list[tuple[Schema, Place]] = []
        self.headers: set[str] = set()
        self.ends: set[int] = set()
        # The first part that our own validator does not support, and whether it supports the rest.
        self.unsupported: _Problem | None = None
        self.rest_is_supported = True
        self.dialect = root.get("$schema", _DIALECTS[0])
        dialect = str(self.dialect).removesuffix("#")
        self.is_foreign = dialect not in _DIALECTS
        if self.is_foreign:
            words = f"$schema: {echo(self.dialect)} is not known; use {_DIALECTS[0]}"
            self._report((), words, rest_is_supported=False)
        older = dialect in _DRAFT_7
        self.unchecked = {**_UNCHECKED, **(_UNCHECKED_7 if older else {})}

    def _report(self, place: Place, words: str, *, rest_is_supported: bool) -> None:
        """Record a part that our own validator does not support."""
        self.unsupported = self.unsupported or _Problem(place, words)
        self.rest_is_supported = self.rest_is_supported and rest_is_supported

    def all(self) -> None:
        while self.todo:
            for schema, place, depth in self.todo:  # grows during iteration
                self._visit(schema, place, depth)
            if not self.rest_is_supported:  # then a `$ref` may resolve in another way
                return
            found = [self._target(schema["$ref"], place) for schema, place in self.refs]
            if not self.rest_is_supported:
                return
            self.todo = [(target, at, 0) for target, at in found if at not in self.seen]
        for schema, place in self.refs:
            self._check_terminates(schema, place, ())

    def _visit(self, schema: object, place: Place, depth: int) -> None:
        self.seen.add(tuple(map(str, place)))
        if depth > _DEEPEST or len(self.seen) > _MOST_SCHEMAS:
            words = f"more than {_DEEPEST} schemas in each other, or {_MOST_SCHEMAS} in all"
            raise _Problem(place, f"{words}; make it simpler")
        if isinstance(schema, bool):
            return
        if not _is_object(schema):
            raise _Problem(place, f"a schema must be an object, true or false, not {echo(schema)}")
        for keyword, operand in schema.items():
            fits, words = _SHAPES.get(keyword, _ANYTHING)
            if not fits(operand) and not self.is_foreign:
                raise _Problem(place, f"{keyword} {words}, not {echo(operand)}")
            if keyword in self.unchecked:
                words = f"{keyword} is not checked by this library; {self.unchecked[keyword]}"
                self._report(place, words, rest_is_supported=True)
        self._scope(schema, place)
        if words := _pattern_problem(schema):
            self._report(place, words, rest_is_supported=True)
        if "x-mcp-header" in schema:
            self._header(schema, place)
        if "$ref" in schema:
            self.refs.append((schema, place))
        self.todo += [(child, at, depth + 1) for child, at in _children(schema, place)]

    def _scope(self, schema: Schema, place: Place) -> None:
        if place and "$id" in schema:
            words = "$id is not checked below the root; remove it"
            self._report(place, words, rest_is_supported=False)
        if schema.get("$schema", self.dialect) != self.dialect:
            words = "$schema differs from that of the root; remove it"
            self._report(place, words, rest_is_supported=False)
        if _is_list(schema.get("items")):
            words = "items must be one schema; a list of them is prefixItems"
            self._report(place, words, rest_is_supported=False)
        if "dependencies" in self.unchecked and "$ref" in schema:
            ignored = [
                keyword for keyword in schema if keyword in _SHAPES or keyword in _SUBSCHEMAS
            ]
            ignored = [keyword for keyword in ignored if keyword not in ("$ref", *_DEFINITIONS)]
            if ignored:
                words = f"draft-07 ignores {ignored[0]} beside $ref; put both into allOf"
                self._report(place, words, rest_is_supported=False)

    def _header(self, schema: Schema, place: Place) -> None:
        name, kind = schema["x-mcp-header"], schema.get("type")
        if not place or len(place) % 2 or set(place[::2]) != {"properties"}:
            raise _Problem(place, "x-mcp-header must be on a property, reached by properties alone")
        if not isinstance(name, str) or not re.fullmatch(r"(?a)[\w!#$%&'*+.^`|~-]+", name):
            words = "x-mcp-header must be a name for a header: letters, digits and dashes"
            raise _Problem(place, f"{words}, not {echo(name)}")
        if name.lower() in self.headers:
            raise _Problem(place, f"x-mcp-header {echo(name)} is used twice; names must differ")
        if kind not in ("string", "integer", "boolean"):
            words = 'x-mcp-header needs the "type" string, integer or boolean'
            raise _Problem(place, f"{words}, not {echo(kind)}")
        if any(abs(number) > _LARGEST_HEADER for number in _integers(schema)):
            raise _Problem(place, "x-mcp-header allows integers up to 2^53 - 1; lower the limits")
        self.headers.add(name.lower())

    def _target(self, ref: str, place: Place) -> tuple[object, Place]:
        if not ref.startswith("#"):
            words = "references to elsewhere are never fetched; put the schema into $defs and refer"
            raise _Problem(place, f"$ref {echo(ref)}: {words} to it as #/$defs/…")
        try:
            if not re.fullmatch("#(/.*)?", ref, re.DOTALL):
                target, found = anchored(self.root, ref[1:])
                return target, tuple(map(str, found))
            return resolve(self.root, ref), tuple(_tokens(ref))
        except (LookupError, TypeError, ValueError):
            raise _Problem(place, f"$ref {echo(ref)} points at nothing in this schema") from None

    def _check_terminates(self, schema: object, place: Place, inside: tuple[int, ...]) -> None:
        """Refuse a schema that applies itself to the same value, which would never terminate."""
        if not _is_object(schema) or id(schema) in self.ends:
            return
        if id(schema) in inside or len(inside) >= _DEEPEST:
            raise _Problem(place, "$ref leads back to itself, or to more than 64 others in a row")
        inner = [
            child for child, _ in _children({k: schema[k] for k in _SAME_VALUE if k in schema}, ())
        ]
        if "$ref" in schema:
            inner.append(resolve(self.root, schema["$ref"]))
        for child in inner:
            self._check_terminates(child, place, (*inside, id(schema)))
        self.ends.add(id(schema))


def _children(schema: Schema, place: Place) -> Iterator[tuple[object, Place]]:
    """Yield the direct subschemas of a schema with their paths."""
    for keyword, operand in schema.items():
        holds = _SUBSCHEMAS.get(keyword)
        at = (*place, keyword)
        if holds is None:
            continue
        if holds == "one":
            if keyword == "items" and _is_list(operand):  # the syntax of drafts up to 2019-09
                yield from ((child, (*at, number)) for number, child in enumerate(operand))
            else:
                yield operand, at
        elif holds == "list":
            if not _is_list(operand) or not operand:
                raise _Problem(place, f"{keyword} must be a list of schemas, not {echo(operand)}")
            yield from ((child, (*at, number)) for number, child in enumerate(operand))
        elif not _is_object(operand):
            raise _Problem(place, f"{keyword} must be an object of schemas, not {echo(operand)}")
        else:
            yield from ((child, (*at, name)) for name, child in operand.items())


def _pattern_problem(schema: Schema) -> str:
    """Return why Python's `re` cannot use a pattern of a schema; empty if it can."""
    named = schema.get("patternProperties")
    for pattern in [schema.get("pattern", ""), *(named if _is_object(named) else ())]:
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError, TypeError) as error:
            return f"{echo(pattern)} is no pattern that Python's re understands: {error}"
        if degree_of(pattern) == ENDLESS:
            return endless_message(pattern)
    return ""


def _integers(schema: Schema) -> list[int]:
    listed = [*schema.get("enum", []), *(schema.get(keyword) for keyword in _VALUES)]
    return [value for value in listed if isinstance(value, int)]
