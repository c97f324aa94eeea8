"""Upper bound on the time that Python's `re` needs to fail to match, by backtracking.

`re` backtracks. If a pattern can match the same text in many ways, the time is a polynomial of the
length of the text, or doubles with each character, as for `^(a+)+$`. The degree follows from the
pattern's automaton: its states are the characters of the pattern, and two ways to match a text are
two different paths with the same characters.

The result is never too low. It may be too high for lookaround and backreferences.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

# Python's own parser of patterns, which has no public interface.
sre: Any = import_module("re._constants")
sre_parse: Any = import_module("re._parser")

# Bits of a character set: one for each of the first 256 code points, and one per class of others.
_LATIN = (1 << 256) - 1
_OTHER_WORD, _OTHER_DIGIT, _OTHER_SPACE, _OTHER = (1 << 256 + bit for bit in range(4))
_OTHERS = _OTHER_WORD | _OTHER_DIGIT | _OTHER_SPACE | _OTHER
_ALL = _LATIN | _OTHERS
_LINE_FEED = 1 << 10
# Repetitions of single characters up to which a counted repeat is unrolled, so that
# `(?:[0-9]{2}:?)+` does not count as a loop within a loop; the second for `{n}` with a fixed n.
_FEW = 16
_FEW_IF_FIXED = 256
# States of an automaton that is analysed.
_MOST_STATES = 1_000
# The state before the first, from which a search starts at every character.
_START = -1
# The degree that stands for exponential time.
ENDLESS = 99
# Characters that are matched in about 20 ms, by degree.
_LONGEST = {2: 2_000, 3: 200}
_LONGEST_OF_OTHERS = 60


def longest_of(degree: int) -> int | None:
    """Return the limit on the length of a text for a pattern of this degree; None is no limit."""
    return None if degree < 2 else _LONGEST.get(degree, _LONGEST_OF_OTHERS)


def endless_message(pattern: str) -> str:
    """Return the error message for a pattern that takes exponential time."""
    return (
        f"the pattern {pattern!r} may take for ever, since there are many ways to read the same "
        "text, as in (a+)+; write it so that each character can only be read in one way"
    )


@cache
def degree_of(pattern: str) -> int:
    """Return the degree of the polynomial that bounds the time; `ENDLESS` for exponential time.

    A pattern with more than `_MOST_STATES` characters is not analysed; its degree is 2.
    """
    try:
        parsed: Any = sre_parse.parse(pattern)
    except (re.error, OverflowError, RecursionError):
        return 1
    automaton = _Automaton(parsed.state.flags)
    try:
        whole = automaton.sequence(parsed)
    except _TooManyStates:
        return 2
    automaton.add_start(whole, anchored=_is_anchored(parsed))
    automaton.ends = set() if _has_end(parsed) else set(whole.last)
    # A lookaround is evaluated at every position of the text.
    around = max((each.degree() for each in automaton.lookarounds), default=0)
    return min(ENDLESS, automaton.degree() + around + automaton.has_backreference)


class _TooManyStates(Exception):
    """The pattern has more than `_MOST_STATES` characters."""


class _Part(NamedTuple):
    """A part of a pattern: whether it matches the empty text, its first and its last states."""

    is_empty: bool = True
    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()


_CHARACTERS = (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY, sre.CATEGORY)


def _is_rigid(parts: Any) -> bool:
    """Test for a sequence of single characters without branches or repeats."""
    return all(
        operator in _CHARACTERS or (operator is sre.SUBPATTERN and _is_rigid(operand[3]))
        for operator, operand in parts
    )


def _is_anchored(parsed: Any) -> bool:
    return bool(parsed) and parsed[0] in (
        (sre.AT, sre.AT_BEGINNING),
        (sre.AT, sre.AT_BEGINNING_STRING),
    )


def _has_end(parsed: Any) -> bool:
    """Test for a condition after the last character, by which a match can still fail."""
    return bool(parsed) and parsed[-1][0] in (sre.AT, sre.ASSERT, sre.ASSERT_NOT)


class _Automaton:
    """The automaton of a pattern: a state per character, and the transitions between them."""

    def __init__(self, flags: int) -> None:
        self._flags = flags
        self._sets: list[int] = []
        self._follow: dict[int, set[int]] = {}
        # Transitions that exist twice: two ways to match the same text.
        self._double_links: set[tuple[int, int]] = set()
        self.ends: set[int] = set()
        self.lookarounds: list[_Automaton] = []
        self.has_backreference = False
        # Branches with several empty alternatives, and whether one of them is in a loop.
        self._empty_branches = 0
        self._is_endless = False

    # Construction from a parsed pattern

    def sequence(self, parts: Iterable[Any]) -> _Part:
        """Add the states of consecutive parts."""
        whole = _Part()
        for operator, operand in parts:
            whole = self._joined(whole, self._part(operator, operand))
        return whole

    def add_start(self, whole: _Part, *, anchored: bool) -> None:
        """Add a looping start state unless the pattern is anchored: a search starts anywhere."""
        if not anchored:
            self._follow[_START] = {_START, *whole.first}

    def _part(self, operator: Any, operand: Any) -> _Part:
        if operator in _CHARACTERS:
            return self._state(_characters(operator, operand, self._flags))
        if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            return self._repeated(*operand)
        if operator is sre.SUBPATTERN:
            return self.sequence(operand[3])
        if operator is sre.ATOMIC_GROUP:
            return self.sequence(operand)
        if operator is sre.BRANCH:
            return self._either([self.sequence(each) for each in operand[1]])
        if operator is sre.GROUPREF_EXISTS:
            return self._either([self.sequence(each or ()) for each in operand[1:]])
        if operator is sre.GROUPREF:  # matches any text, and costs a comparison
            self.has_backreference = True
            return self._looped(self._state(_ALL))._replace(is_empty=True)
        if operator in (sre.ASSERT, sre.ASSERT_NOT):
            inner = _Automaton(self._flags)
            inner.add_start(inner.sequence(operand[1]), anchored=True)
            self.lookarounds.append(inner)
        return _Part()

    def _state(self, characters: int) -> _Part:
        number = len(self._sets)
        if number >= _MOST_STATES:
            raise _TooManyStates
        self._sets.append(characters)
        self._follow[number] = set()
        return _Part(False, (number,), (number,))

    def _joined(self, left: _Part, right: _Part) -> _Part:
        self._link(left.last, right.first)
        return _Part(
            left.is_empty and right.is_empty,
            left.first + (right.first if left.is_empty else ()),
            right.last + (left.last if right.is_empty else ()),
        )

    def _either(self, parts: list[_Part]) -> _Part:
        self._empty_branches += sum(part.is_empty for part in parts) > 1
        return _Part(
            any(part.is_empty for part in parts),
            tuple(state for part in parts for state in part.first),
            tuple(state for part in parts for state in part.last),
        )

    def _repeated(self, least: int, most: Any, body: Any) -> _Part:
        few = _FEW_IF_FIXED if least == most else _FEW
        if most > (few if _is_rigid(body) else 2):
            idle = self._empty_branches
            looped = self._looped(self.sequence(body))
            # In `(a?){30}`, any of the repetitions may match the empty text.
            is_counted = most != sre.MAXREPEAT and looped.is_empty
            self._is_endless |= is_counted or self._empty_branches > idle
            return looped._replace(is_empty=looped.is_empty or not least)
        whole = _Part()
        for number in range(most):
            part = self.sequence(body)
            whole = self._joined(whole, part._replace(is_empty=part.is_empty or number >= least))
        return whole

    def _looped(self, part: _Part) -> _Part:
        self._link(part.last, part.first)
        return part

    def _link(self, before: Iterable[int], after: Iterable[int]) -> None:
        targets = tuple(after)
        for state in before:
            for other in targets:
                if other in self._follow[state]:
                    self._double_links.add((state, other))
                self._follow[state].add(other)

    # Analysis

    def degree(self) -> int:
        """Return the degree, without lookaround and backreferences."""
        reached = {state: self._reached(state) for state in self._follow}
        is_doubled = any(state in reached[other] for state, other in self._double_links)
        if self._is_endless or is_doubled or self._has_two_ways():
            return ENDLESS
        loops = [state for state in self._follow if state in reached[state]]
        circles = {frozenset(other for other in loops if self._circle(state, other, reached))
                   for state in loops}  # fmt: skip
        rounds = [circle for circle in circles if not circle & self.ends]
        return max(1, self._longest(rounds))

    @staticmethod
    def _circle(state: int, other: int, reached: dict[int, set[int]]) -> bool:
        return other in reached[state] and state in reached[other]

    def _set(self, state: int) -> int:
        return _ALL if state == _START else self._sets[state]

    def _reached(self, state: int) -> set[int]:
        found: set[int] = set()
        todo = list(self._follow[state])
        while todo:
            each = todo.pop()
            if each not in found:
                found.add(each)
                todo += self._follow[each]
        return found

    def _has_two_ways(self) -> bool:
        """Test for a state with two different paths back to it that match the same text."""
        steps: dict[tuple[int, int], list[tuple[int, int]]] = {}
        todo = [(state, state) for state in self._follow if state != _START]
        while todo:
            pair = todo.pop()
            if pair in steps:
                continue
            steps[pair] = [
                (a, b)
                for a in self._follow[pair[0]]
                for b in self._follow[pair[1]]
                if self._sets[a] & self._sets[b]
            ]
            todo += steps[pair]
        if not _any_differ(steps):
            return False
        back: _Pairs = {pair: [] for pair in steps}
        for pair, others in steps.items():
            for other in others:
                back[other].append(pair)
        same = [pair for pair in steps if pair[0] == pair[1]]
        return any(_any_differ(_closure(pair, steps) & _closure(pair, back)) for pair in same)

    def _longest(self, circles: list[frozenset[int]]) -> int:
        """Return the length of the longest chain of loops that can match the same text."""
        after = {one: [two for two in circles if self._shares(one, two)] for one in circles}
        lengths: dict[frozenset[int], int] = {}

        def length(circle: frozenset[int]) -> int:
            if circle not in lengths:
                lengths[circle] = 1
                lengths[circle] = 1 + max(map(length, after[circle]), default=0)
            return lengths[circle]

        return max(map(length, circles), default=1)

    def _shares(self, one: frozenset[int], two: frozenset[int]) -> bool:
        if one == two:
            return False
        first, second = self._union(one), self._union(two)
        found: set[int] = set()
        todo = [state for each in one for state in self._follow[each]]
        while todo:
            state = todo.pop()
            if state in found or not self._set(state) & first or not self._set(state) & second:
                continue
            if state in two:
                return True
            found.add(state)
            todo += self._follow[state]
        return False

    def _union(self, states: Iterable[int]) -> int:
        whole = 0
        for state in states:
            whole |= self._set(state)
        return whole


_Pairs = dict[tuple[int, int], list[tuple[int, int]]]


def _closure(start: tuple[int, int], steps: _Pairs) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    todo = list(steps[start])
    while todo:
        pair = todo.pop()
        if pair not in found:
            found.add(pair)
            todo += steps[pair]
    return found


def _any_differ(pairs: Iterable[tuple[int, int]]) -> bool:
    return any(one != other for one, other in pairs)


def _characters(operator: Any, operand: Any, flags: int) -> int:
    if operator is sre.ANY:
        return _ALL if flags & re.DOTALL else _ALL & ~_LINE_FEED
    if operator is sre.NOT_LITERAL:
        return _listed([(sre.NEGATE, None), (sre.LITERAL, operand)], flags)
    if operator is sre.IN:
        return _listed(operand, flags)
    return _category(operand) if operator is sre.CATEGORY else _literal(operand, flags)


def _listed(items: Any, flags: int) -> int:
    # `in_part`: classes beyond the first 256 code points of which only some characters are listed.
    found, in_part, is_negated = 0, 0, False
    for operator, operand in items:
        if operator is sre.NEGATE:
            is_negated = True
        elif operator is sre.CATEGORY:
            found |= _category(operand)
        else:
            low, high = operand if operator is sre.RANGE else (operand, operand)
            for code in range(low, min(high, 255) + 1):
                found |= _literal(code, flags) & _LATIN
                in_part |= _literal(code, flags) & _OTHERS
            in_part |= _OTHERS if high > 255 else 0
    return _ALL & ~found if is_negated else found | in_part


def _literal(code: int, flags: int) -> int:
    if code > 255:
        return _OTHERS
    if not flags & re.IGNORECASE:
        return 1 << code
    bits = _OTHER_WORD if chr(code).isalpha() else 0
    for each in {chr(code).lower(), chr(code).upper()}:
        bits |= 1 << ord(each) if len(each) == 1 and ord(each) < 256 else _OTHER_WORD
    return bits


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


_TESTS: dict[Any, tuple[Any, int]] = {
    sre.CATEGORY_DIGIT: (str.isdecimal, _OTHER_DIGIT),
    sre.CATEGORY_SPACE: (str.isspace, _OTHER_SPACE),
    sre.CATEGORY_WORD: (_is_of_word, _OTHER_WORD | _OTHER_DIGIT),
}
_OPPOSITES: dict[Any, Any] = {
    sre.CATEGORY_NOT_DIGIT: sre.CATEGORY_DIGIT,
    sre.CATEGORY_NOT_SPACE: sre.CATEGORY_SPACE,
    sre.CATEGORY_NOT_WORD: sre.CATEGORY_WORD,
}


@cache
def _category(name: Any) -> int:
    if name in _OPPOSITES:
        return _ALL & ~_category(_OPPOSITES[name])
    test, others = _TESTS[name]
    return sum(1 << code for code in range(256) if test(chr(code))) | others
