"""Validation by jsonschema-rs, which supports all of JSON Schema (`toolhaft[schema]`).

jsonschema-rs decides whether a value fits; our own validator produces the messages where it finds
the problem. Explanations of jsonschema-rs are unbounded: for a recursive schema they may take
forever. Its decision takes time proportional to the value, and it never fetches references.
"""

from collections.abc import Iterator
from typing import Any, cast

import jsonschema_rs
from jsonschema_rs import ValidationError, Validator

from ...errors import clipped
from ..from_types import Schema
from .json_values import size_of
from .messages import Path, Problem, expected, line, one_of
from .subschemas import Searches
from .supported import SupportReport, at
from .validator import problems

# Levels of nesting, far below the limit of its stack.
_DEEPEST = 200
# JSON values that are validated in one call, which holds the GIL; fewer with `multipleOf`, which
# takes longest.
_MOST_VALUES = 500_000
_MOST_DIVIDED = 10_000
# Pairs of value and subschema: each value may be tried with each subschema.
_MOST_TRIED = 1_500_000
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")
# JSON values in a value that jsonschema-rs explains, and lines of an explanation.
_MOST_EXPLAINED = 1000
_MOST_LINES = 20
# Backtracking steps, for patterns with lookaround or backreferences.
_MOST_STEPS = 10_000
_TOO_DEEP = "nested too deeply to be checked"


class Compiled:
    """A schema compiled by jsonschema-rs.

    Raises:
        ValueError: it is not a valid schema; the message says where.
    """

    def __init__(self, schema: Schema, report_support: SupportReport, what: str) -> None:
        self._schema = schema
        self._survey = report_support
        self._validator = _validator(schema, what)
        keywords = set(_keywords(schema))
        refers = any(keyword.endswith(("$ref", "Ref")) for keyword in keywords)
        most = _MOST_DIVIDED if "multipleOf" in keywords else _MOST_VALUES
        self._most = min(most, _MOST_TRIED // (1 + _forms_in(schema)))
        # Whether the length of an explanation is bounded by the schema and the value.
        self._is_explainable = not (refers and keywords & {"anyOf", "oneOf"})

    def problems(self, value: Any, *, lenient: bool, where: str) -> list[str]:
        """List the problems of a value, one line each, as `validator.problems` does."""
        size = _size_of(value)
        if size is None:
            return [line(Problem(None, _TOO_DEEP), where)]
        if size > self._most:
            words = f"holds {size:,} values, and at most {self._most:,} are checked"
            return [line(Problem(None, words), where)]
        if self._validator.is_valid(value):
            return []
        unsupported, rest_is_supported = self._survey
        lenient = lenient and unsupported is None
        found: list[str] = []
        if rest_is_supported:
            found = problems(
                value,
                self._schema,
                lenient=lenient,
                where=where,
                refused=not lenient,
                pattern=_pattern,
            )
        return found if found or lenient else self._explained(value, where)

    def _explained(self, value: Any, where: str) -> list[str]:
        """List the problems by jsonschema-rs, where our own validator finds none."""
        if not self._is_explainable or size_of(value) > _MOST_EXPLAINED:
            return [line(Problem(None, "does not fit the schema"), where)]
        found = [
            line(problem, where)
            for error in self._validator.iter_errors(value)
            for problem in _problems(error, "member" if where else "argument")
        ]
        more = len(found) - _MOST_LINES
        return [*found[:_MOST_LINES], f"… and {more} more"] if more > 0 else found


def _validator(schema: Schema, what: str) -> Validator:
    try:
        return _compiled(schema, jsonschema_rs.RegexOptions())
    except ValidationError:
        pass  # perhaps a pattern that needs the backtracking engine
    try:
        return _compiled(schema, jsonschema_rs.FancyRegexOptions(backtrack_limit=_MOST_STEPS))
    except ValidationError as error:
        raise ValueError(at(what, tuple(error.instance_path), clipped(error.message))) from None


def _compiled(
    schema: Schema | bool, patterns: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions
) -> Validator:
    return jsonschema_rs.validator_for(
        schema, offline=True, validate_formats=True, mask="it", pattern_options=patterns
    )


def _pattern(pattern: str) -> Searches | None:
    """Compile a pattern with the engines of jsonschema-rs, which are bounded in time."""
    try:
        return _validator({"pattern": pattern}, "").is_valid
    except ValueError:
        return None


def _keywords(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        for name, member in schema.items():  # pyright: ignore[reportUnknownVariableType]
            yield str(name)  # pyright: ignore[reportUnknownArgumentType]
            yield from _keywords(member)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(schema, list):
        for member in schema:  # pyright: ignore[reportUnknownVariableType]
            yield from _keywords(member)  # pyright: ignore[reportUnknownArgumentType]


def _forms_in(schema: object) -> int:
    """Count the subschemas that apply to the same value as others do."""
    if isinstance(schema, list):
        return sum(map(_forms_in, schema))  # pyright: ignore[reportUnknownArgumentType]
    if not isinstance(schema, dict):
        return 0
    members = cast(Schema, schema)
    listed = sum(len(members[name]) for name in _LISTS if isinstance(members.get(name), list))
    single = sum(name in members for name in _SINGLE)
    return listed + single + sum(map(_forms_in, members.values()))


def _size_of(value: Any) -> int | None:
    """Count the JSON values in a value; None if it is nested too deeply."""
    level, size = [value], 1
    for _ in range(_DEEPEST):
        level = [each for each in level if each.__class__ is dict or each.__class__ is list]
        if not level:
            return size
        level = [
            child for each in level for child in (each.values() if each.__class__ is dict else each)
        ]
        size += len(level)
    return None


def _problems(error: ValidationError, thing: str) -> Iterator[Problem]:
    path: Path = None
    for depth, step in enumerate(error.instance_path, 1):
        path = (path, step, depth)
    told = error.kind.as_dict()
    if names := told.get("unexpected"):
        for name in names:
            yield Problem((path, name, 0), f"unknown {thing if path is None else 'member'}")
    elif "property" in told:
        yield Problem((path, told["property"], 0), "missing")
    elif "types" in told:
        yield Problem(path, expected(told["types"]), error.instance)
    elif "options" in told:
        yield Problem(path, one_of(told["options"]), error.instance)
    else:
        yield Problem(path, clipped(error.message))
