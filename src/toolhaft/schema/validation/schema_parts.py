"""JSON Schemas taken apart for comparison: a schema is a list of parts that must all hold.

`allOf` and `$ref` are gone from the parts; what is said of other values than the schema's own stays
as it is written. Functions of values, without any judgement.
"""

import json
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias, TypeGuard, cast

from .supported import resolve

Schema: TypeAlias = dict[str, Any]
# What is said of a value, one thing after the other; all of it holds.
Parts: TypeAlias = list[Schema]

# What allows no value at all, in a form that the rules for `enum` understand.
IMPOSSIBLE: Schema = {"enum": []}
TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
# Keywords that decide which values fit. All others are annotations, or were refused before.
KEYWORDS = frozenset(
    {
        "$ref", "type", "enum", "const", "anyOf", "oneOf", "not", "if", "then", "else", "minimum",
        "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
        "pattern", "format", "minItems", "maxItems", "uniqueItems", "items", "prefixItems",
        "contains", "minContains", "maxContains", "properties", "patternProperties",
        "additionalProperties", "required", "minProperties", "maxProperties", "propertyNames",
        "dependentRequired", "dependentSchemas",
    }
)  # fmt: skip
# Keywords that are only understood together.
GROUPS = (
    ("properties", "patternProperties", "additionalProperties"),
    ("prefixItems", "items"),
    ("contains", "minContains", "maxContains"),
    ("if", "then", "else"),
)
# What may mention members of an object out of sight of `properties`.
_HIDES = ("if", "dependentSchemas")


def text(value: Any) -> str:
    """JSON that is the same for the same value; `1` and `true` differ, unlike in Python."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def parts_of(schema: Any, root: Schema) -> Parts:
    """What must hold for a value, one part after the other; of a schema that was checked."""
    if isinstance(schema, bool):
        return [] if schema else [IMPOSSIBLE]
    own = {key: each for key, each in schema.items() if key in KEYWORDS}
    reference = own.pop("$ref", None)
    found = [own] if own else []
    if reference is not None:
        found += parts_of(resolve(root, reference), root)
    for each in schema.get("allOf", ()):
        found += parts_of(each, root)
    return found


def is_impossible(parts: Parts) -> bool:
    """Is it plain that no value fits?"""
    return any(part.get("enum") == [] for part in parts)


def operands(parts: Parts, keyword: str) -> list[Any]:
    """What the parts say under a keyword."""
    return [part[keyword] for part in parts if keyword in part]


# Types and values


def types_of(parts: Parts) -> frozenset[str]:
    """The types that values may have. Here, `number` is a number that is no integer."""
    found = TYPES
    for named in operands(parts, "type"):
        names = {named} if isinstance(named, str) else set(named)
        found &= names | ({"integer"} if "number" in names else set())
    return found


def named(types: Iterable[str]) -> list[str]:
    """Types as a schema names them."""
    found = set(types)
    return sorted(found - {"integer"} if "number" in found else found)


def values_of(parts: Parts) -> list[Any] | None:
    """The only values that may fit, if they are listed; some of them may be ruled out elsewhere."""
    lists = [list(each) for each in operands(parts, "enum")]
    lists += [[each] for each in operands(parts, "const")]
    if lists:
        return min(lists, key=len)
    types = types_of(parts)
    if types <= {"boolean", "null"}:
        return [True, False] * ("boolean" in types) + [None] * ("null" in types)
    return None


def exact(number: Any) -> Fraction:
    """A number as it was written."""
    return Fraction(str(number))


def least(parts: Parts, *, whole: bool) -> tuple[Fraction, bool] | None:
    """The lower bound of numbers, and whether it is itself out of bounds."""
    found = [(exact(each), False) for each in operands(parts, "minimum")]
    found += [(exact(each), True) for each in operands(parts, "exclusiveMinimum")]
    if not found:
        return None
    bound, is_open = max(found)
    if whole:
        return Fraction(bound.__floor__() + 1 if is_open else bound.__ceil__()), False
    return bound, is_open


def most(parts: Parts, *, whole: bool) -> tuple[Fraction, bool] | None:
    """The upper bound of numbers, in the same manner."""
    turned: Parts = [{} for _ in parts]
    for part, other in zip(parts, turned, strict=True):
        for keyword, opposite in (
            ("maximum", "minimum"),
            ("exclusiveMaximum", "exclusiveMinimum"),
        ):
            if keyword in part:
                other[opposite] = str(-exact(part[keyword]))
    found = least(turned, whole=whole)
    return None if found is None else (-found[0], found[1])


# Lists


def item_at(part: Schema, index: int) -> Any:
    """What one part says of an item."""
    listed: list[Any] = part.get("prefixItems", [])
    return listed[index] if index < len(listed) else part.get("items", True)


def longest(parts: Parts) -> float:
    """How many items there may be."""
    limits: list[float] = [float(each) for each in operands(parts, "maxItems")]
    limits += [len(part.get("prefixItems", [])) for part in parts if part.get("items") is False]
    return min(limits, default=float("inf"))


# Objects


class Members(NamedTuple):
    """What is said of the members of an object."""

    names: frozenset[str]
    required: frozenset[str]
    patterns: frozenset[str]
    # Nothing is said of further members, so nobody counts on sending any.
    is_closed: bool


def members_of(parts: Parts) -> Members:
    """The members of an object, taken at its word: what is not listed is not sent.

    Strictly, a schema that does not mention a name lets anything pass under it. But then no
    parameter could ever be added; so only a schema that says what further members are like, or that
    lists none at all, counts as open.
    """
    listed = operands(parts, "properties")
    patterns = frozenset(
        name for each in operands(parts, "patternProperties") for name in cast(Schema, each)
    )
    says_more = operands(parts, "additionalProperties") or any(
        keyword in part for part in parts for keyword in _HIDES
    )
    return Members(
        frozenset(name for each in listed for name in cast(Schema, each)),
        frozenset(name for each in operands(parts, "required") for name in each),
        patterns,
        bool(listed or patterns) and not says_more,
    )


def mentions(value: Any, *keywords: str) -> bool:
    """Does a keyword stand anywhere in there?"""
    if is_object(value):
        return not value.keys().isdisjoint(keywords) or mentions([*value.values()], *keywords)
    return is_list(value) and any(mentions(each, *keywords) for each in value)


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Is it an object of JSON?"""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Is it a list of JSON?"""
    return isinstance(value, list)
