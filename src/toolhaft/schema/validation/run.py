"""One check of a value by a schema: what it finds, what it remembers, and what it may spend.

It runs with hostile input, so it counts its steps.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from ..from_types import Schema
from .json_values import DEEPEST, choices_of, held_by, is_a, loosened, size_of
from .messages import NOTHING, Path, Problem, Words, wanted
from .subschemas import Subschemas

# Problems are counted up to here.
MOST_FOUND = 100
# Checks of a value against a schema: for any message, for each value in a large one, and for the
# explanation once it is clear that something is wrong.
_FREE_WORK = 50_000
_WORK_PER_VALUE = 20
_WORK_TO_EXPLAIN = 20_000
_MOST_REMEMBERED = 200_000


class Misfit(Exception):
    """What is tried in silence does not fit."""


class Enough(Exception):
    """More has been found than will be told."""


class Spent(Exception):
    """The budget is used up."""


class Run:
    """One check: what it has found, what it remembers, and what it may still spend."""

    def __init__(
        self, value: Any, subschemas: Subschemas, rules: "Rules", *, lenient: bool, thing: str
    ) -> None:
        self.value = value
        self.subschemas = subschemas
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
        """Find what is wrong with a value."""
        self.budget -= 1
        if self.budget < 0:
            self.overdraw()
        if schema.__class__ is dict and "$ref" in schema:
            schema = self.subschemas.followed(schema)
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
        """The same for what a string holds as JSON."""
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
        """Something is wrong."""
        if self.silent:
            raise Misfit
        if not self.is_refused:
            self.refuse()
        self.keep([Problem(path, words, got)])

    def keep(self, problems: list[Problem]) -> None:
        """These were found.

        Raises:
            Enough: there are more than will be told, so there is no need to look further.
        """
        self.found += problems
        if len(self.found) >= MOST_FOUND:
            raise Enough

    def fits(self, value: Any, schema: Any, path: Path) -> bool:
        """Is nothing wrong with a value? What is remembered is not tried again."""
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
        """What a value may stand for, if it may."""
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
    if depth > DEEPEST:
        raise RecursionError
    return depth


# A rule is given the value, what the keyword says, the schema that it is in, and the place.
Rule: TypeAlias = Callable[[Run, Any, Any, Schema, Path], None]
# By the class of a value, and of `object` for the others; then by keyword.
Rules: TypeAlias = dict[type, dict[str, Rule]]
