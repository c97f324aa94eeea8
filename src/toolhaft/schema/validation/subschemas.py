"""Subschemas: resolved references, alternatives of unions, patterns; cached for one validation."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from ..cost.regex_backtracking import degree_of, longest_of
from ..from_types import Schema
from .json_values import KINDS, MOST_HOPS, among, choices_of, comparable, is_a, size_of
from .messages import NAMES
from .supported import resolve

# Python classes of decoded values, by JSON Schema type.
_CLASSES = {name: frozenset(c for c in KINDS if name in KINDS[c]) for name in NAMES}
# Choices up to which a value is compared with each, instead of looked up in a set.
_MOST_COMPARED = 16
_NONE: frozenset[Any] = frozenset()


def tag_of(forms: list[Schema]) -> str | None:
    """Return the member that every alternative requires and lists the values of; None if none."""
    if len(forms) < 2:
        return None
    for name in forms[0].get("properties", {}):
        if all(name in form.get("required", ()) and _tags(form, name) for form in forms):
            return str(name)
    return None


def _tags(form: Schema, tag: str) -> list[Any]:
    return choices_of(form.get("properties", {}).get(tag))


class Forms(NamedTuple):
    """The alternatives of an `anyOf` or `oneOf`."""

    all: list[Any]
    targets: list[Schema]  # the same with references resolved
    tag: str | None  # the member that discriminates objects
    tags: list[list[Any]]  # the values of the tag, for each alternative

    def open_to(self, value: Any, *, lenient: bool) -> list[Any]:
        """Return the alternatives that a value may fit, by its tag or type."""
        kind = value.__class__
        if kind is dict and self.tag is not None:
            tag = value.get(self.tag)
            may_fit = [tag.__class__ is str and tag in tags for tags in self.tags]
        elif kind is dict or kind is list or not lenient:
            may_fit = ["type" not in each or is_a(value, each["type"]) for each in self.targets]
        else:
            return self.all
        return [form for form, may in zip(self.all, may_fit, strict=True) if may]

    def numbers_of(self, some: list[Any]) -> list[int]:
        """Return the indexes of some alternatives."""
        return [n for n, form in enumerate(self.all) if any(form is each for each in some)]


# Searches a text for a pattern; the result is true if it is found.
Searches: TypeAlias = Callable[[str], object]
ReadPattern: TypeAlias = Callable[[str], Searches | None]


def python_pattern(pattern: str) -> Searches | None:
    """Compile a pattern; None if Python cannot, since it is in the syntax of another language.

    A text that would take too long to match does not match."""
    try:
        search = re.compile(pattern).search
    except (re.error, OverflowError, RecursionError):
        return None
    longest = longest_of(degree_of(pattern))
    return search if longest is None else lambda text: len(text) <= longest and search(text)


class Subschemas:
    """Facts about the subschemas of a schema, cached by id for one validation."""

    def __init__(self, root: Schema, read_pattern: ReadPattern) -> None:
        self._root = root
        self._read_pattern = read_pattern
        self._refs: dict[str, Any] = {}
        self._forms: dict[int, Forms] = {}
        self._plain: dict[int, frozenset[type]] = {}
        self._sets: dict[int, tuple[int, frozenset[Any]]] = {}
        self._patterns: dict[str, Searches | None] = {}

    def resolved(self, ref: str) -> Any:
        """Return the target of a reference."""
        if ref not in self._refs:
            self._refs[ref] = resolve(self._root, ref)
        return self._refs[ref]

    def is_listed(self, value: Any, choices: list[Any]) -> bool:
        """Test whether a value is one of the choices, of which there may be many."""
        if len(choices) <= _MOST_COMPARED:
            return among(value, choices)
        known = self._sets.get(id(choices))
        if known is None:
            largest = max(map(size_of, choices))
            known = self._sets[id(choices)] = largest, frozenset(map(comparable, choices))
        largest, keys = known
        # No key is computed for a value that is larger than all choices.
        return size_of(value) <= largest and comparable(value) in keys

    def pattern(self, pattern: str) -> Searches | None:
        """Return the search function of a pattern; None if it cannot be compiled."""
        if pattern not in self._patterns:
            self._patterns[pattern] = self._read_pattern(pattern)
        return self._patterns[pattern]

    def forms_of(self, listed: list[Any]) -> Forms:
        """Return the alternatives of a union."""
        if id(listed) not in self._forms:
            targets = [self._target(form) for form in listed]
            tag = tag_of([each for each in targets if is_a({}, each.get("type", "object"))])
            tags = [_tags(each, tag) if tag is not None else [] for each in targets]
            if not all(isinstance(each, str) for those in tags for each in those):
                tag = None  # a lenient run may convert "1" to 1
            followed = [self.followed(form) for form in listed]
            self._forms[id(listed)] = Forms(followed, targets, tag, tags)
        return self._forms[id(listed)]

    def plain_of(self, schema: Any) -> frozenset[type]:
        """Return the classes of which every value fits, for a schema of bare types; else none."""
        if id(schema) not in self._plain:
            self._plain[id(schema)] = _NONE
            self._plain[id(schema)] = self._plain_classes(self.followed(schema))
        return self._plain[id(schema)]

    def _plain_classes(self, schema: Any) -> frozenset[type]:
        if schema.__class__ is not dict or len(schema) != 1:
            return _NONE
        kind = schema.get("type")
        if kind is not None:
            return (
                _CLASSES[kind]
                if isinstance(kind, str)
                else _NONE.union(*(_CLASSES[k] for k in kind))
            )
        return _NONE.union(*map(self.plain_of, schema.get("anyOf", ())))

    def followed(self, schema: Any) -> Any:
        """Resolve a schema that consists only of a reference.

        Raises:
            RecursionError: there are too many references in a row.
        """
        for _ in range(MOST_HOPS):
            if schema.__class__ is not dict or len(schema) != 1 or "$ref" not in schema:
                return schema
            schema = self.resolved(schema["$ref"])
        raise RecursionError

    def _target(self, schema: Any) -> Any:
        """Resolve references until a schema has a type or no reference.

        Raises:
            RecursionError: there are too many references in a row.
        """
        for _ in range(MOST_HOPS):
            if schema.__class__ is bool:
                return {} if schema else {"type": []}
            if "$ref" not in schema or "type" in schema:
                return schema
            schema = self.resolved(schema["$ref"])
        raise RecursionError
