"""Steps that validation of a value by a schema takes, counted without validating.

For a union, a validator such as pydantic tries one alternative after the other, and within each of
them the alternatives of nested unions. If an alternative contains the union itself, the work
doubles with each level: a value of a hundred bytes may take minutes. Counting does not double,
since the count of a pair of value and schema is cached.
"""

from collections.abc import Iterator
from typing import Any, cast

from ...encoding.json_bounds import TooMuch
from ..from_types import Schema
from ..validation.json_values import size_of
from ..validation.supported import resolve

# Validation steps that are allowed: about 20 ms, and 40 MB if each step finds an error.
MOST_STEPS = 40_000
# Length of a text, in bytes, up to which only unions can take long.
_SHORT = 16_384
# Hashed values that are allowed: comparing all of them with each other takes about as long.
_MOST_HASHED = 3_000
_CHOICES = ("anyOf", "oneOf")
_LISTS = ("anyOf", "oneOf", "allOf")
_NO_FLOATS = ("string", "integer", "boolean", "null", "object")
_SINGLE = ("not", "if", "then", "else")


class Bounds:
    """Bounds on values of a schema for a validator that holds the GIL while it validates.

    Args:
        is_hashed: the type has sets or keys that may collide (`schema/cost/argument_load.py`).
    """

    def __init__(self, schema: Schema, *, is_hashed: bool = False) -> None:
        self._schema = schema
        self._most = _MOST_HASHED if is_hashed else MOST_STEPS
        self._has_choices = offers_choices(schema)
        self._is_simple = not self._has_choices and not _may_hold_floats(schema)

    def always_hold(self, length: int) -> bool:
        """Test whether every text of this length is within the bounds, and has no place for a
        number beyond the range of floats, which pydantic would decode as infinity."""
        return length <= _SHORT and self._is_simple

    def check(self, value: Any, length: int) -> None:
        """Check a value.

        Args:
            length: of its JSON text, in bytes.

        Raises:
            TooMuch: validation may take too long.
        """
        if length > _SHORT and (size := size_of(value)) > self._most:
            raise TooMuch(f"holds {size:,} values, and at most {self._most:,} are read")
        if length > _SHORT or self._has_choices:
            check_steps(value, self._schema)


def offers_choices(schema: Any) -> bool:
    """Test for a union with more than one alternative that has nested values."""
    if isinstance(schema, list):
        return any(map(offers_choices, schema))  # pyright: ignore[reportUnknownArgumentType]
    if not isinstance(schema, dict):
        return False
    members = cast(Schema, schema)
    for name in _CHOICES:
        forms: list[Any] = members.get(name, [])
        if sum(map(_is_deep, forms)) > 1:
            return True
    return any(map(offers_choices, members.values()))


def _may_hold_floats(schema: Any) -> bool:
    """Test whether a float fits some part of the schema."""
    if not isinstance(schema, dict):
        return True
    form = cast(Schema, schema)
    kind: Any = form.get("type")
    inside: list[Any] = [*form.get("$defs", {}).values(), *form.get("properties", {}).values()]
    for name in _LISTS:
        inside += form.get(name, [])
    if kind == "array":
        inside.append(form.get("items", {}))
    elif kind == "object" and (form.get("additionalProperties") or "properties" not in form):
        inside.append(form.get("additionalProperties"))
    elif kind not in _NO_FLOATS and not inside and "$ref" not in form:
        return True
    return any(map(_may_hold_floats, inside))


def _is_deep(form: Any) -> bool:
    return not isinstance(form, dict) or form.get("type", "object") in ("object", "array")  # pyright: ignore[reportUnknownMemberType]


def check_steps(value: Any, schema: Schema) -> None:
    """Check that validation of a value takes a bounded number of steps.

    Raises:
        TooMuch: it takes more.
    """
    try:
        steps = _StepCounter(schema).of(value, schema)
    except RecursionError:
        raise TooMuch("is nested too deeply to be checked") from None
    if steps > MOST_STEPS:
        raise TooMuch(f"takes more than {MOST_STEPS:,} steps to check; send less at once")


class _StepCounter:
    """Counts the steps for one value, up to `MOST_STEPS`."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        # Steps by the ids of value and schema; the value is kept alive so that its id stays unique.
        self._known: dict[tuple[int, int], tuple[Any, int]] = {}

    def of(self, value: Any, schema: Any) -> int:
        """Count the steps of a validation; above the bound, the result is any larger number."""
        if schema.__class__ is not dict:
            return 1
        key = (id(value), id(schema))
        known = self._known.get(key)
        if known is not None:
            return known[1]
        # A reference that leads back to the same schema for the same value counts once.
        self._known[key] = (value, 1)
        steps = 1
        for inner, form in self._next(value, schema):
            steps += self.of(inner, form)
            if steps > MOST_STEPS:
                break
        self._known[key] = (value, steps)
        return steps

    def _next(self, value: Any, schema: Schema) -> Iterator[tuple[Any, Any]]:
        """Yield the pairs that are validated next: the same value by a subschema, or its parts."""
        if "$ref" in schema:
            yield value, resolve(self._root, schema["$ref"])
        if "discriminator" in schema:
            yield value, self._discriminated(value, schema)
        else:
            for name in _LISTS:
                for form in schema.get(name, ()):
                    yield value, form
        for name in _SINGLE:
            if name in schema:
                yield value, schema[name]
        if value.__class__ is list:
            yield from _items(value, schema)
        elif value.__class__ is dict:
            yield from _members(value, schema)

    def _discriminated(self, value: Any, schema: Schema) -> Any:
        """Return the alternative that the discriminator of the value selects."""
        told: Schema = schema["discriminator"]
        tag: Any = value.get(told.get("propertyName")) if value.__class__ is dict else None
        ref: Any = told.get("mapping", {}).get(tag) if isinstance(tag, str) else None
        return resolve(self._root, ref) if ref is not None else True


def _items(value: list[Any], schema: Schema) -> Iterator[tuple[Any, Any]]:
    fixed: list[Any] = schema.get("prefixItems", [])
    yield from zip(value, fixed, strict=False)
    rest = schema.get("items", True)
    for item in value[len(fixed) :]:
        yield item, rest
    for item in value if "contains" in schema else ():
        yield item, schema["contains"]


def _members(value: Schema, schema: Schema) -> Iterator[tuple[Any, Any]]:
    known: Schema = schema.get("properties", {})
    patterns: Schema = schema.get("patternProperties", {})
    rest = schema.get("additionalProperties", True)
    for name, member in value.items():
        yield member, known.get(name, rest)
        for form in patterns.values():
            yield member, form
