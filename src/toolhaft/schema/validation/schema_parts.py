"""JSON Schemas split for comparison: a schema is a list of parts that must all hold.

`allOf` and `$ref` are resolved at the top level of the parts; nested schemas stay as written. Pure
functions, which compare nothing themselves.
"""

import json
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias, TypeGuard, cast

from .supported import resolve

Schema: TypeAlias = dict[str, Any]
# Schemas of the same value, all of which must hold.
Parts: TypeAlias = list[Schema]

# The schema that no value fits, expressed by `enum`.
IMPOSSIBLE: Schema = {"enum": []}
TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
# Keywords that constrain values. All others are annotations, or were refused before.
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
# Keywords that depend on each other.
GROUPS = (
    ("properties", "patternProperties", "additionalProperties"),
    ("prefixItems", "items"),
    ("contains", "minContains", "maxContains"),
    ("if", "then", "else"),
)
# Keywords that may constrain members of an object outside of `properties`.
_HIDES = ("if", "dependentSchemas")


def text(value: Any) -> str:
    """Encode a value as canonical JSON; `1` and `true` differ, unlike in Python."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def parts_of(schema: Any, root: Schema) -> Parts:
    """Split a schema that `check_schema` accepts into parts."""
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
    """Test for parts that obviously no value fits."""
    return any(part.get("enum") == [] for part in parts)


def operands(parts: Parts, keyword: str) -> list[Any]:
    """Return the operands of a keyword in all parts."""
    return [part[keyword] for part in parts if keyword in part]


# Types and values


def types_of(parts: Parts) -> frozenset[str]:
    """Return the types that values may have. Here `number` excludes integers."""
    found = TYPES
    for named in operands(parts, "type"):
        names = {named} if isinstance(named, str) else set(named)
        found &= names | ({"integer"} if "number" in names else set())
    return found


def named(types: Iterable[str]) -> list[str]:
    """Return types as a schema names them, where `number` includes integers."""
    found = set(types)
    return sorted(found - {"integer"} if "number" in found else found)


def values_of(parts: Parts) -> list[Any] | None:
    """Return the listed values, which other keywords may exclude; None if values are not listed."""
    lists = [list(each) for each in operands(parts, "enum")]
    lists += [[each] for each in operands(parts, "const")]
    if lists:
        return min(lists, key=len)
    types = types_of(parts)
    if types <= {"boolean", "null"}:
        return [True, False] * ("boolean" in types) + [None] * ("null" in types)
    return None


def exact(number: Any) -> Fraction:
    """Return the exact decimal value of a number."""
    return Fraction(str(number))


def least(parts: Parts, *, whole: bool) -> tuple[Fraction, bool] | None:
    """Return the lower bound of numbers, and whether it is exclusive."""
    found = [(exact(each), False) for each in operands(parts, "minimum")]
    found += [(exact(each), True) for each in operands(parts, "exclusiveMinimum")]
    if not found:
        return None
    bound, is_open = max(found)
    if whole:
        return Fraction(bound.__floor__() + 1 if is_open else bound.__ceil__()), False
    return bound, is_open


def most(parts: Parts, *, whole: bool) -> tuple[Fraction, bool] | None:
    """Return the upper bound of numbers, and whether it is exclusive."""
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
    """Return the schema of an item in one part."""
    listed: list[Any] = part.get("prefixItems", [])
    return listed[index] if index < len(listed) else part.get("items", True)


def longest(parts: Parts) -> float:
    """Return the maximum number of items."""
    limits: list[float] = [float(each) for each in operands(parts, "maxItems")]
    limits += [len(part.get("prefixItems", [])) for part in parts if part.get("items") is False]
    return min(limits, default=float("inf"))


# Objects


class Members(NamedTuple):
    """The members of an object as its schema declares them."""

    names: frozenset[str]
    required: frozenset[str]
    patterns: frozenset[str]
    # Further members are not mentioned, so clients are assumed not to send any.
    is_closed: bool


def members_of(parts: Parts) -> Members:
    """Return the members of an object, on the assumption that unlisted members are not sent.

    By the specification, a schema allows any value for a name that it does not mention. Then adding
    a parameter would always be a breaking change. So only a schema that constrains further members,
    or lists none at all, counts as open.
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
    """Test whether any of the keywords occurs at any depth."""
    if is_object(value):
        return not value.keys().isdisjoint(keywords) or mentions([*value.values()], *keywords)
    return is_list(value) and any(mentions(each, *keywords) for each in value)


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Test for a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Test for a JSON array."""
    return isinstance(value, list)
