"""JSON values as JSON Schema sees them: of which kinds they are, and which are the same.

And what a check of one remembers: of the schemas, of what was tried, and of what it may spend.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import msgspec

from .derived import Schema
from .explicit import resolve
from .formats import FORMATS
from .wording import NAMES, NOTHING, Path, Problem, Words, echo, wanted

# Problems are counted up to here.
_MOST_FOUND = 100
# Checks of a value against a schema: for any message, for each value in a large one, and for the
# explanation once it is clear that something is wrong.
_FREE_WORK = 50_000
_WORK_PER_VALUE = 20
_WORK_TO_EXPLAIN = 20_000
_MOST_REMEMBERED = 200_000
_KINDS: dict[type, frozenset[str]] = {
    str: frozenset(["string"]),
    int: frozenset(["integer", "number"]),
    float: frozenset(["number"]),
    bool: frozenset(["boolean"]),
    type(None): frozenset(["null"]),
    list: frozenset(["array"]),
    dict: frozenset(["object"]),
}
_CLASSES = {name: frozenset(c for c in _KINDS if name in _KINDS[c]) for name in NAMES}
# In the order in which msgspec tries them.
_LENIENT: dict[str, Any] = {"integer": int, "number": int | float, "boolean": bool, "null": None}
_DEEPEST = 200
_MOST_HOPS = 64
_MOST_COMPARED = 16
_NONE: frozenset[Any] = frozenset()


def is_a(value: Any, kind: str | list[str]) -> bool:
    kinds = _KINDS.get(value.__class__, _NONE)
    if value.__class__ is float and value.is_integer():
        kinds = _KINDS[int]
    return kind in kinds if isinstance(kind, str) else not kinds.isdisjoint(kind)


def size_of(value: Any) -> int:
    """How many values there are in a value."""
    size, todo = 1, [value]
    for each in todo:  # which grows meanwhile
        inner = each.values() if each.__class__ is dict else each
        if each.__class__ in (dict, list):
            size += len(inner)
            todo += [child for child in inner if child.__class__ in (dict, list)]
    return size


def loosened(value: Any, schema: Schema, held: Callable[[str], Any]) -> Any:
    """The value as msgspec would read it with `strict=False`, or as the JSON that it holds."""
    kind = schema["type"]
    kinds = [kind] if isinstance(kind, str) else kind
    for name, target in _LENIENT.items():
        if name in kinds and (read := converted(value, target)) is not NOTHING:
            return read
    if type(value) is str and ("object" in kinds or "array" in kinds):
        return held(value)
    known = FORMATS.get(schema.get("format", ""))
    if known and known.target and converted(value, known.target) is not NOTHING:
        return echo(value)  # such as a time stamp: what it is as a string fits as well
    return value


def converted(value: Any, target: Any) -> Any:
    try:
        return msgspec.convert(value, target, strict=False)
    except ValueError:
        return NOTHING


def unpacked(value: Any, schema: Any, root: Schema, *, levels: int = _DEEPEST) -> Any:
    """The value with JSON instead of strings that hold it, where the schema asks for it.

    What was in a string is not looked into again, nor is what is nested too deeply to be checked.
    """
    schema = _target(schema, root)
    if schema.__class__ is not dict or not levels:
        return value
    if value.__class__ is str:
        kinds = _kinds(schema)
        is_text = "string" in kinds or kinds.isdisjoint(("object", "array"))
        return value if is_text else held_by(value)
    if value.__class__ is dict and "properties" in schema:
        members: Schema = schema["properties"]
        names = members if len(members) < len(value) else value
        return value | {
            name: unpacked(value[name], members[name], root, levels=levels - 1)
            for name in names
            if name in value and name in members
        }
    if value.__class__ is list and "items" in schema:
        each = _target(schema["items"], root)
        if each.__class__ is dict and not _is_flat(each):
            return [unpacked(item, each, root, levels=levels - 1) for item in value]
    return value


def _target(schema: Any, root: Schema) -> Any:
    for _ in range(_MOST_HOPS):
        if schema.__class__ is not dict or "$ref" not in schema:
            return schema
        schema = resolve(root, schema["$ref"])
    return True


def _is_flat(schema: Schema) -> bool:
    """Is no value that fits an object or an array?"""
    return "type" in schema and _kinds(schema).isdisjoint(("object", "array"))


def _kinds(schema: Any) -> set[str]:
    if schema.__class__ is not dict:
        return set()
    kind = schema.get("type", [])
    kinds = {kind} if isinstance(kind, str) else set(kind)
    return kinds.union(*map(_kinds, schema.get("anyOf", [])))


def held_by(text: str) -> Any:
    """The object or array that a string holds as JSON; the string itself if it does not."""
    try:
        held = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text
    return held if held.__class__ in (dict, list) else text


def comparable(value: Any) -> Any:
    """A value to compare by: in JSON 1 is 1.0, and true is not 1."""
    kind = value.__class__
    if kind is dict:
        return "object", frozenset((name, comparable(member)) for name, member in value.items())
    if kind is list:
        return "array", tuple(comparable(item) for item in value)
    return ("boolean", value) if kind is bool else value


def among(value: Any, choices: list[Any]) -> bool:
    if value.__class__ is str:
        return value in choices
    key = comparable(value)
    return any(key == comparable(choice) for choice in choices)


def choices_of(schema: Schema | bool | None) -> list[Any]:
    """The values that a schema lists, if that is what it does."""
    if not isinstance(schema, dict):
        return []
    return [schema["const"]] if "const" in schema else schema.get("enum", [])


def tag_of(forms: list[Schema]) -> str | None:
    """The member that every form asks for, and lists the values of."""
    if len(forms) < 2:
        return None
    for name in forms[0].get("properties", {}):
        if all(name in form.get("required", ()) and _tags(form, name) for form in forms):
            return str(name)
    return None


def _tags(form: Schema, tag: str) -> list[Any]:
    return choices_of(form.get("properties", {}).get(tag))


class Forms(NamedTuple):
    """The forms of an `anyOf` or `oneOf`, with what each says itself or refers to."""

    all: list[Any]
    targets: list[Schema]
    tag: str | None  # the member that tells which of them an object is
    tags: list[list[Any]]  # the values of that, for each

    def open_to(self, value: Any, *, lenient: bool) -> list[Any]:
        """Those that the value may fit."""
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
        return [n for n, form in enumerate(self.all) if any(form is each for each in some)]


# Searches a text for a pattern, and finds something or nothing.
Searches: TypeAlias = Callable[[str], object]
ReadPattern: TypeAlias = Callable[[str], Searches | None]


def python_pattern(pattern: str) -> Searches | None:
    """None for one that Python cannot read: it was written for somebody else."""
    try:
        return re.compile(pattern).search
    except (re.error, OverflowError, RecursionError):
        return None


class Shapes:
    """What can be told of the schemas in a schema at a glance, for one check. By identity."""

    def __init__(self, root: Schema, read_pattern: ReadPattern) -> None:
        self._root = root
        self._read_pattern = read_pattern
        self._refs: dict[str, Any] = {}
        self._forms: dict[int, Forms] = {}
        self._plain: dict[int, frozenset[type]] = {}
        self._sets: dict[int, frozenset[Any]] = {}
        self._patterns: dict[str, Searches | None] = {}

    def resolved(self, ref: str) -> Any:
        if ref not in self._refs:
            self._refs[ref] = resolve(self._root, ref)
        return self._refs[ref]

    def is_listed(self, value: Any, choices: list[Any]) -> bool:
        """Is the value one of them, of which there may be many?"""
        if len(choices) <= _MOST_COMPARED:
            return among(value, choices)
        if id(choices) not in self._sets:
            self._sets[id(choices)] = frozenset(map(comparable, choices))
        return comparable(value) in self._sets[id(choices)]

    def pattern(self, pattern: str) -> Searches | None:
        """What searches for it; None for one that cannot be read."""
        if pattern not in self._patterns:
            self._patterns[pattern] = self._read_pattern(pattern)
        return self._patterns[pattern]

    def forms_of(self, listed: list[Any]) -> Forms:
        if id(listed) not in self._forms:
            targets = [self._target(form) for form in listed]
            tag = tag_of([each for each in targets if is_a({}, each.get("type", "object"))])
            tags = [_tags(each, tag) if tag is not None else [] for each in targets]
            if not all(isinstance(each, str) for those in tags for each in those):
                tag = None  # "1" may be meant to be 1
            followed = [self.followed(form) for form in listed]
            self._forms[id(listed)] = Forms(followed, targets, tag, tags)
        return self._forms[id(listed)]

    def plain_of(self, schema: Any) -> frozenset[type]:
        """The classes whose every value fits, for a schema that asks for a kind and no more."""
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
        """What a schema refers to, if that is all it does."""
        for _ in range(_MOST_HOPS):
            if schema.__class__ is not dict or len(schema) != 1 or "$ref" not in schema:
                return schema
            schema = self.resolved(schema["$ref"])
        raise RecursionError

    def _target(self, schema: Any) -> Any:
        """What a schema says itself, or what it refers to."""
        for _ in range(_MOST_HOPS):
            if schema.__class__ is bool:
                return {} if schema else {"type": []}
            if "$ref" not in schema or "type" in schema:
                return schema
            schema = self.resolved(schema["$ref"])
        raise RecursionError


class Misfit(Exception):
    """What is tried in silence does not fit."""


class Enough(Exception):
    """More has been found than will be told."""


class Spent(Exception):
    """The budget is used up."""


class Run:
    """One check: what it has found, what it remembers, and what it may still spend."""

    def __init__(
        self, value: Any, shapes: Shapes, rules: "Rules", *, lenient: bool, thing: str
    ) -> None:
        self.value = value
        self.shapes = shapes
        self.rules = rules
        self.lenient = lenient
        self.thing = thing  # what a member of the root is called
        self.found: list[Problem] = []
        self.silent = False  # raise `Misfit` instead of collecting problems
        self.is_refused = False  # it is certain that the value does not fit
        self.is_cut = False  # not all that was found is kept
        self.is_held = False  # within JSON that was in a string
        self.is_counted = False
        self.budget = _FREE_WORK
        # By identity. What has an entry is kept in it, so that nothing else can get its id.
        self.held: dict[int, tuple[str, Any]] = {}
        self.tried: dict[tuple[int, int, bool], tuple[Any, bool]] = {}
        self.explained: dict[tuple[int, int], tuple[Any, Path, list[Problem]]] = {}

    def check(self, value: Any, schema: Any, path: Path) -> None:
        self.budget -= 1
        if self.budget < 0:
            self.overdraw()
        if schema.__class__ is dict and "$ref" in schema:
            schema = self.shapes.followed(schema)
        if schema.__class__ is bool:
            if not schema:
                self.fail(path, "must not be given")
            return
        kind = schema.get("type")
        if kind is not None and not is_a(value, kind):
            read = self.loosened(value, schema)
            if not is_a(read, kind):
                self.fail(path, partial(wanted, kind, choices_of(schema)), read)
                return
            if read.__class__ is dict or read.__class__ is list:
                self.check_held(read, schema, path)
                return
            value = read
        rules = self.rules.get(value.__class__) or self.rules[object]
        for keyword, operand in schema.items():
            rule = rules.get(keyword)
            if rule is not None:
                rule(self, value, operand, schema, path)

    def check_held(self, value: Any, schema: Schema, path: Path) -> None:
        self.is_held = True
        try:
            self.check(value, schema, path)
        finally:
            self.is_held = False

    def overdraw(self) -> None:
        """Grant a large value its share, once; its size is counted only if it matters."""
        if self.is_refused or self.is_counted:
            raise Spent
        self.is_counted = True
        self.budget = _WORK_PER_VALUE * size_of(self.value)

    def refuse(self) -> None:
        """From here on it is only about the words."""
        self.is_refused = True
        self.budget = _WORK_TO_EXPLAIN

    def fail(self, path: Path, words: Words, got: Any = NOTHING) -> None:
        if self.silent:
            raise Misfit
        if not self.is_refused:
            self.refuse()
        self.found.append(Problem(path, words, got))
        if len(self.found) >= _MOST_FOUND:
            raise Enough

    def fits(self, value: Any, schema: Any, path: Path) -> bool:
        key = (id(value), id(schema), self.lenient)
        known = self.tried.get(key)
        if known is not None:
            return known[1]
        silent, self.silent = self.silent, True
        fits = True
        try:
            self.check(value, schema, path)
        except Misfit:
            fits = False
        finally:
            self.silent = silent
        # What is tried within no other trial is not tried again, except to explain it.
        if silent or self.is_refused:
            self.tried = _room_in(self.tried)
            self.tried[key] = (value, fits)
        return fits

    def fits_exactly(self, value: Any, schema: Any, path: Path) -> bool:
        """Does it fit without any leniency?"""
        lenient, self.lenient = self.lenient, False
        try:
            return self.fits(value, schema, path)
        finally:
            self.lenient = lenient

    def explain(self, value: Any, schema: Any, path: Path) -> list[Problem]:
        """What is wrong, for a caller that may choose to tell something else."""
        key = (id(value), id(schema))
        known = self.explained.get(key)
        if known is not None and known[1] == path:
            return known[2]
        before, self.found = self.found, []
        try:
            self.check(value, schema, path)
        except Enough:
            self.is_cut = True
        finally:
            found, self.found = self.found, before
        self.explained = _room_in(self.explained)
        self.explained[key] = (value, path, found)
        return found

    def loosened(self, value: Any, schema: Schema) -> Any:
        return loosened(value, schema, self.look_into) if self.lenient else value

    def look_into(self, text: str) -> Any:
        """What a string holds as JSON. What is in strings in there is left alone."""
        if self.is_held:
            return text
        known = self.held.get(id(text))
        if known is None:
            known = self.held[id(text)] = (text, held_by(text))
            if not self.is_refused and known[1] is not text:
                self.budget += _WORK_PER_VALUE * size_of(known[1])
        return known[1]


def _room_in(memory: dict[Any, Any]) -> dict[Any, Any]:
    return memory if len(memory) < _MOST_REMEMBERED else {}


def inside(path: Path) -> int:
    """The depth of what is in the value at a place."""
    depth = 1 if path is None else path[2] + 1
    if depth > _DEEPEST:
        raise RecursionError
    return depth


# A rule is given the value, what the keyword says, the schema that it is in, and the place.
Rule: TypeAlias = Callable[[Run, Any, Any, Schema, Path], None]
# By the class of a value, and of `object` for the others; then by keyword.
Rules: TypeAlias = dict[type, dict[str, Rule]]
