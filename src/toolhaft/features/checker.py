"""A JSON value against a JSON Schema (2020-12), in words for a model that has to correct its call.

Each keyword is a function in a table, one table for each kind of value. Problems are collected as
data and put into words only if they are shown: most of them belong to an alternative not taken.
"""

import decimal
import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import msgspec

from ..errors import clipped
from .explicit import resolve
from .formats import FORMATS
from .jsonvalues import NOTHING, among, choices_of, comparable, converted, is_a, loosened
from .schema import Schema
from .wording import counted, echo, expected, near_name, one_of

# Where a value is: the place of what holds it, and its name or position in there.
Path: TypeAlias = tuple[Any, str | int] | None

_MOST_LINES = 20
_MOST_NAMES = 10
_DEEPEST = 64
# Alternatives and references tried in one check; only a schema that multiplies itself has so many.
_MOST_WORK = 250_000


class _Problem(NamedTuple):
    path: Path
    words: str
    got: Any = NOTHING


def problems(value: Any, schema: Schema, *, lenient: bool = False, where: str = "") -> list[str]:
    """What is wrong with a value, one line each; nothing if it fits.

    Args:
        schema: one that `check_schema` accepts, or of our own making.
        lenient: read strings as msgspec does with `strict=False`, and JSON in strings as JSON.
        where: the name of the value itself.
    """
    run = _Run(schema, lenient, "member" if where else "argument")
    try:
        run.check(value, schema, None)
    except RecursionError:
        run.found = [_Problem(None, "nested too deeply to be checked")]
    lines = [_line(problem, where) for problem in run.found[:_MOST_LINES]]
    more = len(run.found) - len(lines)
    # Two parts of a schema may find the same fault.
    return [*dict.fromkeys(lines), *([f"… and {more} more"] if more else [])]


class _Run(msgspec.Struct):
    """One check: what it has found, and how far it has gone."""

    root: Schema
    lenient: bool
    thing: str  # what a member of the root is called
    found: list[_Problem] = []
    depth: int = 0
    work: int = 0

    def check(self, value: Any, schema: Schema | bool, path: Path) -> None:
        if isinstance(schema, bool):
            if not schema:
                self.fail(path, "must not be given")
            return
        if self.depth == _DEEPEST or self.work > _MOST_WORK:
            raise RecursionError
        kind = schema.get("type")
        if kind is not None and not is_a(value, kind):
            value = loosened(value, schema) if self.lenient else value
            if not is_a(value, kind):
                self.fail(path, one_of(choices_of(schema)) or expected([kind]), value)
                return
        rules = _RULES.get(value.__class__, _COMMON)
        self.depth += 1
        for keyword, operand in schema.items():
            rule = rules.get(keyword)
            if rule is not None:
                rule(self, value, operand, schema, path)
        self.depth -= 1

    def attempt(self, value: Any, schema: Schema | bool, path: Path) -> list[_Problem]:
        """What would be wrong, without saying so."""
        self.work += 1
        before, self.found = self.found, []
        self.check(value, schema, path)
        found, self.found = self.found, before
        return found

    def fits_exactly(self, value: Any, schema: Schema | bool, path: Path) -> bool:
        """Does it fit without any leniency?"""
        before, self.lenient = self.lenient, False
        fits = not self.attempt(value, schema, path)
        self.lenient = before
        return fits

    def target(self, schema: Schema | bool) -> Schema:
        """What a schema says itself, or what it refers to."""
        if isinstance(schema, bool):
            return {} if schema else {"type": []}
        if "$ref" not in schema or "type" in schema:
            return schema
        return self.target(resolve(self.root, schema["$ref"]))

    def fail(self, path: Path, words: str, got: Any = NOTHING) -> None:
        self.found.append(_Problem(path, words, got))


# Words


def _line(problem: _Problem, where: str) -> str:
    path, words, got = problem
    if got is not NOTHING:
        words += f", got {echo(got)}"
    steps: list[str | int] = []
    while path is not None:
        path, step = path
        steps.append(step)
    place = where
    for step in reversed(steps):
        place += _step(step, first=not place)
    return f"{place}: {words}" if place else words


def _step(step: str | int, *, first: bool) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if len(step) <= 100 and (step.isidentifier() or re.fullmatch(r"[\w$@/+-]+", step)):
        return step if first else f".{step}"
    return echo(step) if first else f"[{echo(step)}]"


# Keywords

Rule: TypeAlias = Callable[[_Run, Any, Any, Schema, Path], None]


def _enum(run: _Run, value: Any, choices: list[Any], schema: Schema, path: Path) -> None:
    if not among(value, choices):
        run.fail(path, one_of(choices), value)


def _ref(run: _Run, value: Any, ref: str, schema: Schema, path: Path) -> None:
    run.work += 1
    run.check(value, resolve(run.root, ref), path)


def _all_of(run: _Run, value: Any, schemas: list[Schema], schema: Schema, path: Path) -> None:
    for each in schemas:
        run.check(value, each, path)


def _any_of(run: _Run, value: Any, forms: list[Schema], schema: Schema, path: Path) -> None:
    tried: list[list[_Problem]] = []
    for form in forms:
        tried.append(run.attempt(value, form, path))
        if not tried[-1]:
            return
    run.found += _closest(run, value, forms, tried, path)


def _one_form(run: _Run, value: Any, forms: list[Schema], schema: Schema, path: Path) -> None:
    tried = [run.attempt(value, form, path) for form in forms]
    fitting = [number for number, found in enumerate(tried) if not found]
    if not fitting:
        run.found += _closest(run, value, forms, tried, path)
    if len(fitting) > 1 and run.lenient:
        # "7" may be read as a string and as a number; that is no fault of the one who sent it.
        fitting = [n for n in fitting if run.fits_exactly(value, forms[n], path)]
    if len(fitting) > 1:
        which = " and ".join(str(number + 1) for number in fitting[:2])
        run.fail(path, f"must fit only one of {len(forms)} forms, but fits {which}", value)


def _closest(
    run: _Run, value: Any, forms: list[Schema], tried: list[list[_Problem]], path: Path
) -> list[_Problem]:
    """The problems that are worth telling when none of several forms fits."""
    targets = [run.target(form) for form in forms]
    near = [
        (form, found)
        for form, found in zip(targets, tried, strict=True)
        if "type" not in form or is_a(loosened(value, form) if run.lenient else value, form["type"])
    ]
    kinds = [form["type"] for form in targets if form.get("type")]
    if not near:
        return [_Problem(path, expected(kinds), value)] if kinds else tried[0]
    if all(choices_of(form) for form, _ in near):
        choices = [choice for form, _ in near for choice in choices_of(form)]
        return [_Problem(path, one_of(choices), value)]
    if run.lenient and not is_a(value, "object"):
        value = loosened(value, {"type": "object"})
    tag = next((name for name in near[0][0].get("properties", {}) if _is_tag(name, near)), None)
    if tag is not None and is_a(value, "object"):
        listed = [choices_of(form["properties"][tag]) for form, _ in near]
        wrong = _wrong_tag(value, tag, [choice for each in listed for choice in each])
        if wrong:
            return [_Problem((path, tag), *wrong)]
        near = [near[n] for n, each in enumerate(listed) if among(value[tag], each)]
    return min(near, key=lambda each: (len(each[1]), _unknown(each[0], value)))[1]


def _unknown(form: Schema, value: Any) -> int:
    """How many members a form has never heard of: of two that miss as much, it is the other one."""
    known = form.get("properties")
    return len(value.keys() - known.keys()) if known and value.__class__ is dict else 0


def _is_tag(name: str, forms: list[tuple[Schema, list[_Problem]]]) -> bool:
    """Does every form ask for this member, and list its values?"""
    return len(forms) > 1 and all(
        name in form.get("required", []) and choices_of(form.get("properties", {}).get(name))
        for form, _ in forms
    )


def _wrong_tag(value: Any, tag: str, choices: list[Any]) -> tuple[Any, ...]:
    if tag not in value:
        return (f"missing; {one_of(choices)}",)
    return () if among(value[tag], choices) else (one_of(choices), value[tag])


def _not(run: _Run, value: Any, unwanted: Schema, schema: Schema, path: Path) -> None:
    if run.fits_exactly(value, unwanted, path):
        run.fail(path, f"must not fit {echo(unwanted)}", value)


def _if(run: _Run, value: Any, condition: Schema, schema: Schema, path: Path) -> None:
    branch = "else" if run.attempt(value, condition, path) else "then"
    run.check(value, schema.get(branch, True), path)


def _bound(words: str, holds: Callable[[Any, Any], bool]) -> Rule:
    def rule(run: _Run, value: Any, limit: Any, schema: Schema, path: Path) -> None:
        if not holds(value, limit):
            run.fail(path, f"must be {words} {echo(limit)}", value)

    return rule


def _size(words: str, thing: str) -> Rule:
    sign = 1 if words == "at least" else -1

    def rule(run: _Run, value: Any, limit: float, schema: Schema, path: Path) -> None:
        if sign * len(value) < sign * limit:
            run.fail(path, f"must have {words} {counted(limit, thing)}, got {len(value)}")

    return rule


def _is_multiple(value: float, unit: float) -> bool:
    """Exactly, for the decimal numbers that were written: 0.0075 is a multiple of 0.0001."""
    if isinstance(value, float) and not math.isfinite(value):
        return False
    (above, below), (unit_above, unit_below) = (
        (x if isinstance(x, int) else decimal.Decimal(repr(x))).as_integer_ratio()
        for x in (value, unit)
    )
    return above * unit_below % (unit_above * below) == 0


def _pattern(run: _Run, value: str, pattern: str, schema: Schema, path: Path) -> None:
    if not re.search(pattern, value):
        run.fail(path, f"must match the pattern {clipped(pattern)}", value)


def _format(run: _Run, value: str, name: str, schema: Schema, path: Path) -> None:
    known = FORMATS.get(name)
    if known is None:
        return
    if run.lenient and known.target:
        fits = converted(value, known.target) is not NOTHING
    else:
        fits = known.fits(value)
    if not fits:
        run.fail(path, f"expected {known.words}", value)


def _prefix(run: _Run, value: list[Any], schemas: list[Any], schema: Schema, path: Path) -> None:
    for number, (item, each) in enumerate(zip(value, schemas, strict=False)):
        run.check(item, each, (path, number))


def _items(run: _Run, value: list[Any], each: Any, schema: Schema, path: Path) -> None:
    start = len(schema.get("prefixItems", ()))
    if each is False and len(value) > start:
        run.fail(path, f"must have at most {counted(start, 'item')}, got {len(value)}")
        return
    for number in range(start, len(value)):
        run.check(value[number], each, (path, number))


def _contains(run: _Run, value: list[Any], wanted: Any, schema: Schema, path: Path) -> None:
    number = sum(not run.attempt(item, wanted, path) for item in value)
    least, most = schema.get("minContains", 1), schema.get("maxContains", len(value))
    if not least <= number <= most:
        word, limit = ("least", least) if number < least else ("most", most)
        words = f"must have at {word} {counted(limit, 'item')} like {echo(wanted)}, got {number}"
        run.fail(path, words)


def _unique(run: _Run, value: list[Any], wanted: bool, schema: Schema, path: Path) -> None:
    seen: dict[Any, int] = {}
    for number, item in enumerate(value if wanted else ()):
        first = seen.setdefault(comparable(item), number)
        if first != number:
            run.fail(path, f"items must differ, but {first} and {number} are the same")


def _properties(run: _Run, value: Schema, members: Schema, schema: Schema, path: Path) -> None:
    for name, member in members.items():
        if name in value:
            run.check(value[name], member, (path, name))


def _required(run: _Run, value: Schema, names: list[str], schema: Schema, path: Path) -> None:
    for name in names:
        if name not in value:
            run.fail((path, name), "missing")


def _matching(run: _Run, value: Schema, patterns: Schema, schema: Schema, path: Path) -> None:
    for pattern, member in patterns.items():
        for name in value:
            if re.search(pattern, name):
                run.check(value[name], member, (path, name))


def _additional(run: _Run, value: Schema, other: Any, schema: Schema, path: Path) -> None:
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name in value:
        if name in known or any(re.search(pattern, name) for pattern in patterns):
            continue
        if other is not False:
            run.check(value[name], other, (path, name))
            continue
        thing = run.thing if path is None else "member"
        near = near_name(name, [each for each in known if each not in value])
        names = [*known, *(f"names that match {clipped(pattern)}" for pattern in patterns)]
        more = ", …" if len(names) > _MOST_NAMES else ""
        listed = f"{', '.join(names[:_MOST_NAMES]) or f'no {thing}s'}{more}"
        advice = f", did you mean {echo(near)}?" if near else f"; expected {listed}"
        run.fail((path, name), f"unknown {thing}{advice}")


def _names(run: _Run, value: Schema, wanted: Any, schema: Schema, path: Path) -> None:
    for name in value:
        for _, words, got in run.attempt(name, wanted, path):
            run.fail((path, name), f"the name {words}", got)


def _needs(run: _Run, value: Schema, needed: Schema, schema: Schema, path: Path) -> None:
    for name, others in needed.items():
        for other in others if name in value else ():
            if other not in value:
                run.fail((path, other), f"missing, for {echo(name)} is given")


def _depends(run: _Run, value: Schema, schemas: Schema, schema: Schema, path: Path) -> None:
    for name, each in schemas.items():
        if name in value:
            run.check(value, each, path)


_COMMON: dict[str, Rule] = {
    "enum": _enum,
    "const": lambda run, value, choice, schema, path: _enum(run, value, [choice], schema, path),
    "$ref": _ref,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_form,
    "not": _not,
    "if": _if,
}
_NUMBER: dict[str, Rule] = {
    **_COMMON,
    "minimum": _bound("at least", lambda value, limit: value >= limit),
    "maximum": _bound("at most", lambda value, limit: value <= limit),
    "exclusiveMinimum": _bound("more than", lambda value, limit: value > limit),
    "exclusiveMaximum": _bound("less than", lambda value, limit: value < limit),
    "multipleOf": _bound("a multiple of", _is_multiple),
}
_RULES: dict[type, dict[str, Rule]] = {
    int: _NUMBER,
    float: _NUMBER,
    str: {
        **_COMMON,
        "minLength": _size("at least", "character"),
        "maxLength": _size("at most", "character"),
        "pattern": _pattern,
        "format": _format,
    },
    list: {
        **_COMMON,
        "prefixItems": _prefix,
        "items": _items,
        "contains": _contains,
        "minItems": _size("at least", "item"),
        "maxItems": _size("at most", "item"),
        "uniqueItems": _unique,
    },
    dict: {
        **_COMMON,
        "properties": _properties,
        "required": _required,
        "patternProperties": _matching,
        "additionalProperties": _additional,
        "propertyNames": _names,
        "minProperties": _size("at least", "member"),
        "maxProperties": _size("at most", "member"),
        "dependentRequired": _needs,
        "dependentSchemas": _depends,
    },
}
