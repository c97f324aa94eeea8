"""State of one validation: the problems found, caches, and a budget of steps.

The budget bounds the work that hostile input can cause.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from ..from_types import Schema
from .json_values import DEEPEST, choices_of, coerced, is_a, parsed_text, size_of
from .messages import NOTHING, Path, Problem, Words, wanted
from .subschemas import Subschemas

# Problems that are collected.
MOST_FOUND = 100
# Budget in checks of a value against a schema: for any message, per JSON value in a large one, and
# for the explanation once a problem is found.
_FREE_WORK = 50_000
_WORK_PER_VALUE = 20
_WORK_TO_EXPLAIN = 20_000
# Entries of a cache, which is emptied when it is full.
_MOST_REMEMBERED = 200_000


class DoesNotFit(Exception):
    """The value does not fit; raised in silent mode, at the first problem."""


class TooManyProblems(Exception):
    """More problems have been found than are reported."""


class BudgetExhausted(Exception):
    """The budget is exhausted."""


class Run:
    """One validation of a value."""

    def __init__(
        self, value: Any, subschemas: Subschemas, rules: "Rules", *, lenient: bool, thing: str
    ) -> None:
        self.value = value
        self.subschemas = subschemas
        self.rules = rules
        self.lenient = lenient
        self.thing = thing  # term for a member of the root in messages
        self.found: list[Problem] = []
        self.silent = False  # raise `DoesNotFit` instead of collecting problems
        self.is_refused = False  # the value is known not to fit
        self.is_cut = False  # not all problems were collected
        self.in_parsed_text = False  # within JSON that was parsed from a string
        self.is_counted = False
        self.budget = _FREE_WORK
        # Caches by id. Entries keep their values alive, so that ids stay unique.
        self.parsed: dict[int, tuple[str, Any]] = {}
        self.tried: dict[tuple[int, int, bool], tuple[Any, bool]] = {}
        self.explained: dict[tuple[int, int], tuple[Any, Path, list[Problem]]] = {}

    def check(self, value: Any, schema: Any, path: Path) -> None:
        """Validate a value and collect its problems."""
        self.budget -= 1
        if self.budget < 0:
            self.extend_budget()
        if schema.__class__ is dict and "$ref" in schema:
            schema = self.subschemas.followed(schema)
        if schema.__class__ is bool:
            if not schema:
                self.fail(path, "must not be given")
            return
        kind = schema.get("type")
        if kind is not None and not is_a(value, kind):
            read = self.coerced(value, schema)
            if not is_a(read, kind):
                self.fail(path, partial(wanted, kind, choices_of(schema)), read)
                return
            if read.__class__ is dict or read.__class__ is list:
                self.check_parsed(read, schema, path)
                return
            value = read
        rules = self.rules.get(value.__class__) or self.rules[object]
        for keyword, operand in schema.items():
            rule = rules.get(keyword)
            if rule is not None:
                rule(self, value, operand, schema, path)

    def check_parsed(self, value: Any, schema: Schema, path: Path) -> None:
        """Validate a value that was parsed from a string."""
        self.in_parsed_text = True
        try:
            self.check(value, schema, path)
        finally:
            self.in_parsed_text = False

    def extend_budget(self) -> None:
        """Extend the budget once, by the size of the value, which is counted only at this point.

        Raises:
            BudgetExhausted: it was extended before, or only an explanation is sought.
        """
        if self.is_refused or self.is_counted:
            raise BudgetExhausted
        self.is_counted = True
        self.budget = _WORK_PER_VALUE * size_of(self.value)

    def refuse(self) -> None:
        """Record that the value does not fit, and set the budget for the explanation."""
        self.is_refused = True
        self.budget = _WORK_TO_EXPLAIN

    def fail(self, path: Path, words: Words, got: Any = NOTHING) -> None:
        """Record a problem; in silent mode, raise `DoesNotFit`."""
        if self.silent:
            raise DoesNotFit
        if not self.is_refused:
            self.refuse()
        self.keep([Problem(path, words, got)])

    def keep(self, problems: list[Problem]) -> None:
        """Add problems.

        Raises:
            TooManyProblems: there are more than are reported.
        """
        self.found += problems
        if len(self.found) >= MOST_FOUND:
            raise TooManyProblems

    def fits(self, value: Any, schema: Any, path: Path) -> bool:
        """Test whether a value fits, in silent mode; the result is cached."""
        key = (id(value), id(schema), self.lenient)
        known = self.tried.get(key)
        if known is not None:
            return known[1]
        silent, self.silent = self.silent, True
        fits = True
        try:
            self.check(value, schema, path)
        except DoesNotFit:
            fits = False
        finally:
            self.silent = silent
        # Outside of another trial, the same pair is tested again only for an explanation.
        if silent or self.is_refused:
            self.tried = _emptied_if_full(self.tried)
            self.tried[key] = (value, fits)
        return fits

    def fits_exactly(self, value: Any, schema: Any, path: Path) -> bool:
        """Test whether a value fits without conversion of strings."""
        lenient, self.lenient = self.lenient, False
        try:
            return self.fits(value, schema, path)
        finally:
            self.lenient = lenient

    def explain(self, value: Any, schema: Any, path: Path) -> list[Problem]:
        """Return the problems of a value without recording them."""
        key = (id(value), id(schema))
        known = self.explained.get(key)
        if known is not None and known[1] == path:
            return known[2]
        before, self.found = self.found, []
        try:
            self.check(value, schema, path)
        except TooManyProblems:
            self.is_cut = True
        finally:
            found, self.found = self.found, before
        self.explained = _emptied_if_full(self.explained)
        self.explained[key] = (value, path, found)
        return found

    def coerced(self, value: Any, schema: Schema) -> Any:
        """Convert a value leniently, if this run is lenient."""
        return coerced(value, schema, self.parse_text) if self.lenient else value

    def parse_text(self, text: str) -> Any:
        """Parse the JSON in a string, unless the string itself was inside parsed JSON."""
        if self.in_parsed_text:
            return text
        known = self.parsed.get(id(text))
        if known is None:
            known = self.parsed[id(text)] = (text, parsed_text(text))
            if not self.is_refused and known[1] is not text:
                self.budget += _WORK_PER_VALUE * size_of(known[1])
        return known[1]


def _emptied_if_full(memory: dict[Any, Any]) -> dict[Any, Any]:
    return memory if len(memory) < _MOST_REMEMBERED else {}


def depth_in(path: Path) -> int:
    """Return the depth of the values in the value at a path.

    Raises:
        RecursionError: it exceeds the limit.
    """
    depth = 1 if path is None else path[2] + 1
    if depth > DEEPEST:
        raise RecursionError
    return depth


# Validates one keyword: run, value, operand of the keyword, its schema, path of the value.
Rule: TypeAlias = Callable[[Run, Any, Any, Schema, Path], None]
# By the class of a value, with `object` for all others; then by keyword.
Rules: TypeAlias = dict[type, dict[str, Rule]]
