"""Validation of JSON values by JSON Schema (2020-12), with messages for a model to act on.

Each keyword is a function in a table, one table per class of value. Problems are collected as data
and formatted only if they are shown. The alternatives of a union are tried in silent mode, up to
the first problem; only the alternative that is reported is validated again.

Values are untrusted, so the work is bounded by their size: results are cached, the number of
problems is limited, and each check of a value against a schema is charged to a budget.
"""

import decimal
import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ...errors import clipped
from ..from_types import Schema
from .formats import FORMATS
from .json_values import among, choices_of, comparable, converted, is_a
from .messages import (
    NOTHING,
    Path,
    Problem,
    Words,
    counted,
    echo,
    expected,
    formatted,
    line,
    one_of,
    unknown,
)
from .run import (
    MOST_FOUND,
    BudgetExhausted,
    DoesNotFit,
    Rule,
    Rules,
    Run,
    TooManyProblems,
    depth_in,
)
from .subschemas import Forms, ReadPattern, Subschemas, python_pattern, tag_of

# Problems in a message.
_MOST_LINES = 20


def problems(
    value: Any,
    schema: Schema,
    *,
    lenient: bool = False,
    where: str = "",
    refused: bool = False,
    pattern: ReadPattern = python_pattern,
) -> list[str]:
    """List the problems of a value, one line each; empty if it fits.

    The budget grows with the value and is ample for any schema that does not multiply itself. If
    it is exhausted before a problem is found, the value counts as fitting, also for a schema of an
    author.

    Args:
        schema: one that `check_schema` accepts, or that this library generated.
        lenient: convert strings as msgspec does with `strict=False`, and parse JSON in strings.
        where: the name of the value itself.
        refused: the value is known not to fit; use the smaller budget for explanations.
        pattern: compiles a pattern to a search function.
    """
    thing = "member" if where else "argument"
    run = Run(value, Subschemas(schema, pattern), _RULES, lenient=lenient, thing=thing)
    if refused:
        run.refuse()
    more = ""
    try:
        run.check(value, schema, None)
    except RecursionError:
        run.found = [Problem(None, "nested too deeply to be checked")]
    except TooManyProblems:
        run.is_cut = True
    except BudgetExhausted:
        more = "… and perhaps more" if run.found else ""
    lines = [line(problem, where) for problem in run.found[:_MOST_LINES]]
    left = len(run.found) - len(lines)
    if left:
        more = "… and more" if more or run.is_cut else f"… and {left} more"
    # Two parts of a schema may find the same problem.
    return [*dict.fromkeys(lines), *([more] if more else [])]


# Keywords


def _enum(run: Run, value: Any, choices: list[Any], schema: Schema, path: Path) -> None:
    if not run.subschemas.is_listed(value, choices):
        run.fail(path, partial(one_of, choices), value)


def _const(run: Run, value: Any, choice: Any, schema: Schema, path: Path) -> None:
    if not among(value, [choice]):
        run.fail(path, partial(one_of, [choice]), value)


def _ref(run: Run, value: Any, ref: str, schema: Schema, path: Path) -> None:
    run.check(value, run.subschemas.resolved(ref), path)


def _all_of(run: Run, value: Any, schemas: list[Schema], schema: Schema, path: Path) -> None:
    for each in schemas:
        run.check(value, each, path)


def _any_of(run: Run, value: Any, listed: list[Any], schema: Schema, path: Path) -> None:
    forms = run.subschemas.forms_of(listed)
    likely = forms.open_to(value, lenient=run.lenient)
    if len(likely) == 1:
        run.check(value, likely[0], path)
        return
    for form in likely:
        if run.fits(value, form, path):
            return
    _fits_none(run, value, forms, path)


def _one_form(run: Run, value: Any, listed: list[Any], schema: Schema, path: Path) -> None:
    forms = run.subschemas.forms_of(listed)
    likely = forms.open_to(value, lenient=run.lenient)
    if len(likely) == 1:
        run.check(value, likely[0], path)
        return
    fitting = [form for form in likely if run.fits(value, form, path)]
    if not fitting:
        _fits_none(run, value, forms, path)
    if len(fitting) > 1 and run.lenient:
        # "7" fits a string as it is, and a number by conversion: the exact fit wins.
        fitting = [form for form in fitting if run.fits_exactly(value, form, path)]
    if len(fitting) > 1:
        which = " and ".join(str(number + 1) for number in forms.numbers_of(fitting)[:2])
        run.fail(path, f"must fit only one of {len(listed)} forms, but fits {which}", value)


def _fits_none(run: Run, value: Any, forms: Forms, path: Path) -> None:
    if run.silent:
        raise DoesNotFit
    if not run.is_refused:
        run.refuse()
    try:
        closest = _closest(run, value, forms, path)
    except BudgetExhausted:
        run.fail(path, f"must fit one of {len(forms.all)} forms", value)
        raise
    run.keep(closest)


def _closest(run: Run, value: Any, forms: Forms, path: Path) -> list[Problem]:
    """Return the problems of the alternative that a value comes closest to, if it fits none."""
    near = [
        (target, form)
        for target, form in zip(forms.targets, forms.all, strict=True)
        if "type" not in target or is_a(run.coerced(value, target), target["type"])
    ]
    kinds = [target["type"] for target in forms.targets if target.get("type")]
    if not near:
        found = [Problem(path, partial(expected, kinds), value)]
        return found if kinds else run.explain(value, forms.all[0], path)
    if all(choices_of(target) for target, _ in near):
        choices = [choice for target, _ in near for choice in choices_of(target)]
        return [Problem(path, partial(one_of, choices), value)]
    inner = value
    if run.lenient and not is_a(value, "object"):
        inner = run.coerced(value, {"type": "object"})
    tag = tag_of([target for target, _ in near])
    if tag is not None and is_a(inner, "object"):
        listed = [choices_of(target["properties"][tag]) for target, _ in near]
        wrong = _wrong_tag(inner, tag, [choice for each in listed for choice in each])
        if wrong:
            return [Problem((path, tag, depth_in(path)), *wrong)]
        near = [near[n] for n, each in enumerate(listed) if among(inner[tag], each)]
    explained = [(run.explain(value, form, path), _unknown(target, inner)) for target, form in near]
    return min(explained, key=lambda each: (len(each[0]), each[1]))[0]


def _unknown(form: Schema, value: Any) -> int:
    """Count the members that an alternative does not declare, to break ties in `_closest`."""
    known = form.get("properties")
    return len(value.keys() - known.keys()) if known and value.__class__ is dict else 0


def _wrong_tag(value: Any, tag: str, choices: list[Any]) -> tuple[Any, ...]:
    if tag not in value:
        return (f"missing; {one_of(choices)}",)
    return () if among(value[tag], choices) else (one_of(choices), value[tag])


def _not(run: Run, value: Any, unwanted: Schema, schema: Schema, path: Path) -> None:
    if run.fits_exactly(value, unwanted, path):
        run.fail(path, f"must not fit {echo(unwanted)}", value)


def _if(run: Run, value: Any, condition: Schema, schema: Schema, path: Path) -> None:
    branch = "then" if run.fits(value, condition, path) else "else"
    run.check(value, schema.get(branch, True), path)


def _bound(words: str, holds: Callable[[Any, Any], bool]) -> Rule:
    def rule(run: Run, value: Any, limit: Any, schema: Schema, path: Path) -> None:
        if not holds(value, limit):
            run.fail(path, f"must be {words} {echo(limit)}", value)

    return rule


def _size(words: str, thing: str) -> Rule:
    sign = 1 if words == "at least" else -1

    def rule(run: Run, value: Any, limit: float, schema: Schema, path: Path) -> None:
        if sign * len(value) < sign * limit:
            run.fail(path, f"must have {words} {counted(limit, thing)}, got {len(value)}")

    return rule


def _is_multiple(value: float, unit: float) -> bool:
    """Test in exact decimal arithmetic: 0.0075 is a multiple of 0.0001."""
    if isinstance(value, float) and not math.isfinite(value):
        return False
    (above, below), (unit_above, unit_below) = (
        (x if isinstance(x, int) else decimal.Decimal(repr(x))).as_integer_ratio()
        for x in (value, unit)
    )
    return above * unit_below % (unit_above * below) == 0


def _pattern(run: Run, value: str, pattern: str, schema: Schema, path: Path) -> None:
    search = run.subschemas.pattern(pattern)
    if search is not None and not search(value):
        run.fail(path, f"must match the pattern {clipped(pattern)}", value)


def _format(run: Run, value: str, name: str, schema: Schema, path: Path) -> None:
    known = FORMATS.get(name)
    if known is None:
        return
    if run.lenient and known.target:
        fits = converted(value, known.target) is not NOTHING
    else:
        fits = known.fits(value)
    if not fits:
        run.fail(path, f"expected {known.words}", value)


def _prefix(run: Run, value: list[Any], schemas: list[Any], schema: Schema, path: Path) -> None:
    depth = depth_in(path)
    for number, (item, each) in enumerate(zip(value, schemas, strict=False)):
        run.check(item, each, (path, number, depth))


def _items(run: Run, value: list[Any], each: Any, schema: Schema, path: Path) -> None:
    start = len(schema.get("prefixItems", ()))
    if each is False and len(value) > start:
        run.fail(path, f"must have at most {counted(start, 'item')}, got {len(value)}")
        return
    plain, depth = run.subschemas.plain_of(each), depth_in(path)
    for number in range(start, len(value)):
        if value[number].__class__ not in plain:
            run.check(value[number], each, (path, number, depth))


def _contains(run: Run, value: list[Any], wanted: Any, schema: Schema, path: Path) -> None:
    number = sum(run.fits(item, wanted, path) for item in value)
    least, most = schema.get("minContains", 1), schema.get("maxContains", len(value))
    if not least <= number <= most:
        word, limit = ("least", least) if number < least else ("most", most)
        words = f"must have at {word} {counted(limit, 'item')} like {echo(wanted)}, got {number}"
        run.fail(path, words)


def _unique(run: Run, value: list[Any], wanted: bool, schema: Schema, path: Path) -> None:
    seen: set[Any] = set()
    again: dict[int, Any] = {}
    for number, item in enumerate(value if wanted else ()):
        key = comparable(item)
        if key in seen:
            again[number] = key
            if run.silent or len(again) > MOST_FOUND:
                break
        seen.add(key)
    if again:
        first = _first_places(value, set(again.values()))
        for number, key in again.items():
            run.fail(path, f"items must differ, but {first[key]} and {number} are the same")


def _first_places(items: list[Any], keys: set[Any]) -> dict[Any, int]:
    """Return the first index of each key."""
    places: dict[Any, int] = {}
    for number, item in enumerate(items):
        key = comparable(item)
        if key in keys:
            places.setdefault(key, number)
    return places


def _properties(run: Run, value: Schema, members: Schema, schema: Schema, path: Path) -> None:
    depth = depth_in(path)
    # In the order of the schema, unless it has far more members than the value.
    for name in members if len(members) <= 8 * len(value) + 8 else value:
        if name in value and name in members:
            run.check(value[name], members[name], (path, name, depth))


def _required(run: Run, value: Schema, names: list[str], schema: Schema, path: Path) -> None:
    for name in names:
        if name not in value:
            run.fail((path, name, depth_in(path)), "missing")


def _matching(run: Run, value: Schema, patterns: Schema, schema: Schema, path: Path) -> None:
    depth = depth_in(path)
    for pattern, member in patterns.items():
        search = run.subschemas.pattern(pattern)
        for name in value:
            if search is not None and search(name):
                run.check(value[name], member, (path, name, depth))


def _additional(run: Run, value: Schema, other: Any, schema: Schema, path: Path) -> None:
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    searches = [run.subschemas.pattern(pattern) for pattern in patterns]
    plain, depth = run.subschemas.plain_of(other), depth_in(path)
    for name, member in value.items():
        if name in known or member.__class__ in plain:
            continue
        # A pattern that cannot be compiled may match anything.
        if any(search is None or search(name) for search in searches):
            continue
        if other is not False:
            run.check(member, other, (path, name, depth))
            continue
        thing = run.thing if path is None else "member"
        others = [f"names that match {clipped(pattern)}" for pattern in patterns]
        run.fail((path, name, depth), partial(unknown, name, thing, known, value, *others))


def _names(run: Run, value: Schema, wanted: Any, schema: Schema, path: Path) -> None:
    for name in value:
        if run.fits(name, wanted, path):
            continue
        if run.silent:
            raise DoesNotFit
        for _, words, got in run.explain(name, wanted, path):
            run.fail((path, name, depth_in(path)), partial(_of_name, words), got)


def _of_name(words: Words) -> str:
    return f"the name {formatted(words)}"


def _needs(run: Run, value: Schema, needed: Schema, schema: Schema, path: Path) -> None:
    for name, others in needed.items():
        for other in others if name in value else ():
            if other not in value:
                run.fail((path, other, depth_in(path)), f"missing, for {echo(name)} is given")


def _depends(run: Run, value: Schema, schemas: Schema, schema: Schema, path: Path) -> None:
    for name, each in schemas.items():
        if name in value:
            run.check(value, each, path)


_COMMON: dict[str, Rule] = {
    "enum": _enum,
    "const": _const,
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
_RULES: Rules = {
    object: _COMMON,
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
