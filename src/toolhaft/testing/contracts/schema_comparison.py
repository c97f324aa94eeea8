"""Compare two JSON Schemas: which values fit the first and no longer fit the second?

Nothing found means that there are none; that much is proven, keyword by keyword. What is found is
certain, or it could not be told: whoever asks should take both for a difference. One liberty is
taken, and explained at `members_of`: a member that the first schema does not list is not sent.
"""

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from ...schema.validation.schema_parts import (
    GROUPS,
    IMPOSSIBLE,
    Parts,
    Schema,
    is_impossible,
    is_list,
    is_object,
    item_at,
    longest,
    members_of,
    mentions,
    named,
    operands,
    parts_of,
    text,
    types_of,
    values_of,
)
from ...schema.validation.supported import check_schema
from ...schema.validation.validator import problems
from .bound_comparison import NOTHING, Narrowing, member, numbers, sizes, strings, tuple_of, untold

_MOST_STEPS = 20_000
_DEFINITIONS = ("$defs", "definitions")
_DEEPEST = 48
_ABOUT_MEMBERS = frozenset(
    {
        "required", "properties", "patternProperties", "additionalProperties", "propertyNames",
        "minProperties", "maxProperties", "dependentRequired", "dependentSchemas",
    }
)  # fmt: skip


Found: TypeAlias = list[Narrowing]


class _Unreadable(Exception):
    """What a schema says is not understood here."""


def narrowings(first: Any, second: Any) -> Found:
    """What fits the first schema and may not fit the second; empty if everything still does."""
    return list(dict.fromkeys(_Comparison(first, second).all()))


class _Comparison:
    """One comparison. Each step is paid for, since schemas may multiply themselves."""

    def __init__(self, first: Any, second: Any) -> None:
        self._first: Schema = first if is_object(first) else {}
        self._second: Schema = second if is_object(second) else {}
        self._whole = (first, second)
        self._left = _MOST_STEPS
        self._above: set[tuple[str, str]] = set()
        self._same_definitions = all(
            text(self._first.get(name)) == text(self._second.get(name)) for name in _DEFINITIONS
        )

    def all(self) -> Found:
        first, second = self._whole
        if text(first) == text(second):
            return []
        if _dialect(self._first) != _dialect(self._second):
            return [untold("", "$schema", _dialect(self._first), _dialect(self._second))]
        try:
            for each in (self._first, self._second):
                check_schema(each, "the schema", root_object=False)
            return self._inside(self._parts1(first), self._parts2(second), "")
        except RecursionError:
            return [untold("", "schema", "it is nested too deeply to be compared")]
        except (TypeError, ValueError) as reason:
            return [untold("", "schema", str(reason))]

    def _parts1(self, *schemas: Any) -> Parts:
        return [part for each in schemas for part in parts_of(each, self._first)]

    def _parts2(self, *schemas: Any) -> Parts:
        return [part for each in schemas for part in parts_of(each, self._second)]

    def _inside(self, first: Parts, second: Parts, path: str) -> Found:
        """Compare what is said of a part of the value. What is being compared further up already
        may be taken for granted: values end, so the proof does."""
        pair = (text(first), text(second))
        if pair in self._above:
            return []
        self._above.add(pair)
        try:
            return self._compare(first, second, path, 0, frozenset())
        finally:
            self._above.discard(pair)

    def _compare(
        self, first: Parts, second: Parts, path: str, depth: int, known: frozenset[str]
    ) -> Found:
        """Compare what is said of the same value.

        Args:
            known: members that the second schema lists elsewhere.
        """
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            return [untold(path, "schema", "it is too large to be compared")]
        if is_impossible(first):
            return []
        try:
            left = self._unproven(first, second)
            if not left and not self._may_lose(first, second):
                return []
            for place, part in enumerate(first):
                for keyword in ("anyOf", "oneOf"):
                    if keyword in part:
                        rest = {key: each for key, each in part.items() if key != keyword}
                        others = [*first[:place], rest, *first[place + 1 :]]
                        found: Found = []
                        for branch in part[keyword]:
                            narrower = others + self._parts1(branch)
                            found += self._compare(narrower, second, path, depth + 1, known)
                        return found
            values = values_of(first)
            if values is not None:
                return self._values(values, first, left, path)
            return self._kinds(first, second, left, path, depth, known)
        except _Unreadable as reason:
            return [untold(path, "schema", str(reason))]

    # What needs no proof

    def _unproven(self, first: Parts, second: Parts) -> Parts:
        """The second schema without what the first says in the same words."""
        found: Parts = []
        for part in second:
            left = dict(part)
            for group in GROUPS:
                own = {key: part[key] for key in group if key in part}
                if own and any(self._is_same(own, other, group) for other in first):
                    for keyword in own:
                        del left[keyword]
            grouped = {key for group in GROUPS for key in group}
            for keyword in left.keys() - grouped:
                own = {keyword: part[keyword]}
                if any(self._is_same(own, other, (keyword,)) for other in first):
                    del left[keyword]
            if left:
                found.append(left)
        return found

    def _is_same(self, own: Schema, other: Schema, group: tuple[str, ...]) -> bool:
        theirs = {key: other[key] for key in group if key in other}
        if text(own) != text(theirs):
            return False
        return not mentions(own, "$ref") or (self._same_definitions and _refers_to_definitions(own))

    def _may_lose(self, first: Parts, second: Parts) -> bool:
        """Might a member that the first schema lists be missing from the second?"""
        listed = members_of(first).names
        return bool(listed - members_of(second).names)

    # Listed values

    def _values(self, values: list[Any], first: Parts, left: Parts, path: str) -> Found:
        possible = [each for each in values if self._fits(each, first, self._first)]
        refused = [each for each in possible if not self._fits(each, left, self._second)]
        if not refused:
            return []
        return [Narrowing(path, "values", tuple_of(refused), tuple_of(possible))]

    def _fits(self, value: Any, parts: Parts, root: Schema) -> bool:
        if not all(_refers_to_definitions(part) for part in parts):
            raise _Unreadable("a $ref leads elsewhere than to a definition")
        named_: Schema = {key: root[key] for key in _DEFINITIONS if key in root}
        if is_impossible(parts):
            return False
        return not parts or not problems(value, {**named_, "allOf": parts})

    # One kind of value after the other

    def _kinds(
        self,
        first: Parts,
        second: Parts,
        left: Parts,
        path: str,
        depth: int,
        known: frozenset[str],
    ) -> Found:
        before, after = types_of(first), types_of(second)
        found: Found = []
        if before - after:
            found.append(Narrowing(path, "type", tuple(named(before)), tuple(named(after))))
        both = before & after
        if not both:
            return found
        members = known | members_of(second).names
        for part in left:
            found += self._choices(first, part, both, path, depth, members)
            if both & {"integer", "number"}:
                found += numbers(first, part, path, whole="number" not in both)
            if "string" in both:
                found += strings(first, part, path)
            if "array" in both:
                found += self._lists(first, part, path)
            if "object" in both:
                found += self._objects(first, part, path)
        if "object" in both:
            found += _lost(first, second, path, known)
        return found

    def _choices(
        self,
        first: Parts,
        part: Schema,
        kinds: frozenset[str],
        path: str,
        depth: int,
        known: frozenset[str],
    ) -> Found:
        """What a part says of values of every kind."""
        found: Found = []
        if "enum" in part or "const" in part:
            listed = part.get("enum", [part.get("const")])
            found.append(Narrowing(path, "enum", NOTHING, tuple_of(listed)))
        for keyword, proof in (("anyOf", self._any_of), ("oneOf", self._one_of)):
            for kind in named(kinds) if keyword in part else ():
                narrower = [*first, {"type": kind}]
                found += proof(narrower, part[keyword], path, depth, known)
        return found + self._conditions(first, part, path, depth, known)

    def _any_of(
        self, first: Parts, branches: list[Any], path: str, depth: int, known: frozenset[str]
    ) -> Found:
        """One of the branches must take all that is left of the first schema."""
        near: list[Found] = []
        for branch in branches:
            parts = self._parts2(branch)
            if not types_of(first) & types_of(parts):
                continue
            found = self._compare(first, parts, path, depth + 1, known)
            if not found:
                return []
            near.append(found)
        if not near:
            allowed = {kind for each in branches for kind in types_of(self._parts2(each))}
            return [Narrowing(path, "type", tuple(named(types_of(first))), tuple(named(allowed)))]
        if len(near) == 1:
            return near[0]
        return [untold(path, "anyOf", NOTHING, len(branches))]

    def _one_of(
        self, first: Parts, branches: list[Any], path: str, depth: int, known: frozenset[str]
    ) -> Found:
        found = self._any_of(first, branches, path, depth, known)
        if found:
            return found
        apart = [self._are_apart(first, self._parts2(branch)) for branch in branches]
        return [] if apart.count(False) == 1 else [untold(path, "oneOf", NOTHING, len(branches))]

    def _are_apart(self, first: Parts, second: Parts) -> bool:
        """Is it plain that no value fits both? By their types, or by a tag that both have."""
        if not types_of(first) & types_of(second):
            return True
        if types_of(first) != frozenset({"object"}):
            return False
        for name in members_of(first).required & members_of(second).names:
            ours = values_of(self._parts1(*(each[name] for each in _listing(first, name))))
            theirs = values_of(self._parts2(*(each[name] for each in _listing(second, name))))
            if (
                ours is not None
                and theirs is not None
                and {text(each) for each in ours}.isdisjoint(text(each) for each in theirs)
            ):
                return True
        return False

    def _conditions(
        self, first: Parts, part: Schema, path: str, depth: int, known: frozenset[str]
    ) -> Found:
        found: Found = []
        if "not" in part and not self._are_apart(first, self._parts2(part["not"])):
            found.append(untold(path, "not", NOTHING, part["not"]))
        if "if" in part:
            for branch in ("then", "else"):
                parts = self._parts2(part.get(branch, True))
                if self._compare(first, parts, path, depth + 1, known):
                    found.append(untold(path, "if", NOTHING, part["if"]))
                    break
        return found

    # Lists

    def _lists(self, first: Parts, part: Schema, path: str) -> Found:
        found = list(sizes(first, part, path, "Items", shortest=0, longest=longest(first)))
        unique = any(operands(first, "uniqueItems"))
        if part.get("uniqueItems") is True and not unique and longest(first) > 1:
            found.append(Narrowing(path, "uniqueItems", NOTHING, True))
        if "contains" in part and (part.get("minContains", 1) > 0 or "maxContains" in part):
            found.append(untold(path, "contains", NOTHING, part["contains"]))
        if "items" in part or "prefixItems" in part:
            count = max(len(each.get("prefixItems", [])) for each in [*first, part])
            for index in range(count + 1):
                if index < longest(first):
                    where = f"{path}[]" if index == count else f"{path}[{index}]"
                    ours = self._parts1(*(item_at(each, index) for each in first))
                    found += self._inside(ours, self._parts2(item_at(part, index)), where)
        return found

    # Objects

    def _objects(self, first: Parts, part: Schema, path: str) -> Found:
        if part.keys().isdisjoint(_ABOUT_MEMBERS):
            return []
        ours = members_of(first)
        found = [
            Narrowing(member(path, name), "required", False, True)
            for name in part.get("required", ())
            if name not in ours.required
        ]
        closed = len(self._possible(first)) if self._ends(first) else float("inf")
        found += sizes(first, part, path, "Properties", shortest=len(ours.required), longest=closed)
        for name in sorted(ours.names | part.get("properties", {}).keys()):
            where = member(path, name)
            ours_here = self._member1(first, name)
            if is_impossible(ours_here):
                continue
            said = _about(part, name)
            if said is None and part.get("additionalProperties") is False:
                found.append(Narrowing(where, "properties"))
            else:
                rest = [part.get("additionalProperties", True)]
                theirs = self._parts2(*(rest if said is None else said))
                found += self._inside(ours_here, theirs, where)
        found += self._others(first, part, path)
        for keyword in ("dependentRequired", "dependentSchemas"):
            for name, needed in part.get(keyword, {}).items():
                if keyword == "dependentRequired" and ours.required >= set(needed):
                    continue
                if not is_impossible(self._member1(first, name)):
                    found.append(untold(member(path, name), keyword, NOTHING, needed))
        if "propertyNames" in part:
            found += self._names(first, part["propertyNames"], path)
        return found

    def _member1(self, first: Parts, name: str) -> Parts:
        said = [(part, _about(part, name)) for part in first]
        if members_of(first).is_closed and all(about is None for _, about in said):
            return [IMPOSSIBLE]
        found: Parts = []
        for part, about in said:
            rest = [part.get("additionalProperties", True)]
            found += self._parts1(*(rest if about is None else about))
        return found

    def _rest1(self, first: Parts) -> Parts:
        if members_of(first).is_closed:
            return [IMPOSSIBLE]
        return self._parts1(*operands(first, "additionalProperties"))

    def _ends(self, first: Parts) -> bool:
        return is_impossible(self._rest1(first)) and not members_of(first).patterns

    def _possible(self, first: Parts) -> list[str]:
        names = sorted(members_of(first).names)
        return [name for name in names if not is_impossible(self._member1(first, name))]

    def _others(self, first: Parts, part: Schema, path: str) -> Found:
        """Members that are not listed by name. Two patterns may always have a name in common."""
        ours = {pattern: self._pattern1(first, pattern) for pattern in members_of(first).patterns}
        rest = self._rest1(first)
        theirs: Schema = part.get("patternProperties", {})
        found: Found = []
        for pattern, wanted in theirs.items():
            groups = [*ours.values()] if pattern in ours else [*ours.values(), rest]
            for group in groups:
                found += self._inside(group, self._parts2(wanted), member(path, "*"))
        if "additionalProperties" in part:
            wanted = part["additionalProperties"]
            groups = [rest, *(each for pattern, each in ours.items() if pattern not in theirs)]
            for group in groups:
                found += self._inside(group, self._parts2(wanted), member(path, "*"))
        return found

    def _pattern1(self, first: Parts, pattern: str) -> Parts:
        said = operands(first, "patternProperties")
        return self._parts1(*(each[pattern] for each in said if pattern in each))

    def _names(self, first: Parts, wanted: Any, path: str) -> Found:
        if self._ends(first):
            names = self._possible(first)
            refused = [
                name for name in names if not self._fits(name, self._parts2(wanted), self._second)
            ]
            return [Narrowing(member(path, name), "propertyNames") for name in refused]
        ours = self._parts1({"type": "string"}, *operands(first, "propertyNames"))
        found = self._inside(ours, self._parts2(wanted), path)
        return [untold(path, "propertyNames", NOTHING, wanted)] if found else []


def _lost(first: Parts, second: Parts, path: str, known: frozenset[str]) -> Iterator[Narrowing]:
    """Members that are not listed any more. They may pass, but nothing is said of them."""
    ours, theirs = members_of(first), members_of(second)
    branching = operands(second, "anyOf") or operands(second, "oneOf")
    if not theirs.is_closed or theirs.patterns or branching:
        return  # there, what becomes of such a member is a question of its schema
    for name in sorted(ours.names - theirs.names - known):
        yield Narrowing(member(path, name), "properties")


# Small things


def _about(part: Schema, name: str) -> list[Any] | None:
    """What one part says of a member by name or pattern, if it does."""
    found: list[Any] = [part["properties"][name]] if name in part.get("properties", {}) else []
    for pattern, schema in part.get("patternProperties", {}).items():
        if re.search(pattern, name):
            found.append(schema)
    return found or None


def _listing(parts: Parts, name: str) -> list[Schema]:
    return [each for each in operands(parts, "properties") if name in each]


def _dialect(schema: Schema) -> str:
    return str(schema.get("$schema", "https://json-schema.org/draft/2020-12/schema")).rstrip("#")


def _refers_to_definitions(schema: Any) -> bool:
    """Does every reference in there lead to what is known by name?"""
    if is_list(schema):
        return all(_refers_to_definitions(each) for each in schema)
    if not is_object(schema):
        return True
    reference = schema.get("$ref")
    if isinstance(reference, str) and not re.match("#/([$]defs|definitions)/", reference):
        return False
    return all(_refers_to_definitions(each) for each in schema.values())
