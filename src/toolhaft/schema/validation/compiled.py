"""JSON Schema by jsonschema-rs, which knows all of it, if `toolhaft[schema]` is installed.

It decides, and our own checker finds the words, as far as it sees what is wrong. For to explain is
what jsonschema-rs does without a bound: for a schema that refers to itself it may take for ever.
What it decides by takes as long as the value is large, and it never fetches anything.
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
from .supported import Survey, at
from .validator import problems

# Far less than what its stack holds.
_DEEPEST = 200
# So many values are checked in one go, while nothing else in the process runs; it takes longest to
# tell whether a number is a multiple of another.
_MOST_VALUES = 500_000
_MOST_DIVIDED = 10_000
# Each value may be tried with each of the forms that the schema offers or demands.
_MOST_TRIED = 1_500_000
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")
_MOST_EXPLAINED = 1000
_MOST_LINES = 20
# For patterns that look around or back, which cannot do without going back.
_MOST_STEPS = 10_000
_TOO_DEEP = "nested too deeply to be checked"


class Compiled:
    """A schema that is ready to be checked by.

    Raises:
        ValueError: it is none; the message says where.
    """

    def __init__(self, schema: Schema, survey: Survey, what: str) -> None:
        self._schema = schema
        self._survey = survey
        self._validator = _validator(schema, what)
        # Is an explanation never longer than the schema and the value together?
        keywords = set(_keywords(schema))
        refers = any(keyword.endswith(("$ref", "Ref")) for keyword in keywords)
        most = _MOST_DIVIDED if "multipleOf" in keywords else _MOST_VALUES
        self._most = min(most, _MOST_TRIED // (1 + _forms_in(schema)))
        self._is_tame = not (refers and keywords & {"anyOf", "oneOf"})

    def problems(self, value: Any, *, lenient: bool, where: str) -> list[str]:
        """What is wrong with a value, one line each; as `checker.problems` has it."""
        size = _size_of(value)
        if size is None:
            return [line(Problem(None, _TOO_DEEP), where)]
        if size > self._most:
            words = f"holds {size:,} values, and at most {self._most:,} are checked"
            return [line(Problem(None, words), where)]
        if self._validator.is_valid(value):
            return []
        beyond, is_readable = self._survey
        lenient = lenient and beyond is None
        found: list[str] = []
        if is_readable:
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
        """The same in the words of jsonschema-rs, where ours fail."""
        if not self._is_tame or size_of(value) > _MOST_EXPLAINED:
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
        pass  # it may be a pattern that needs the other engine
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
    """What searches for a pattern in the same way, and never for long."""
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
    """How many forms there are that a value is tried with, beside others."""
    if isinstance(schema, list):
        return sum(map(_forms_in, schema))  # pyright: ignore[reportUnknownArgumentType]
    if not isinstance(schema, dict):
        return 0
    members = cast(Schema, schema)
    listed = sum(len(members[name]) for name in _LISTS if isinstance(members.get(name), list))
    single = sum(name in members for name in _SINGLE)
    return listed + single + sum(map(_forms_in, members.values()))


def _size_of(value: Any) -> int | None:
    """How many values there are in a value; None if it is nested too deeply."""
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
