"""Schemas that clients choke on, and schemas that nothing can fit."""

from collections.abc import Iterator
from typing import Any

from ...schema.validation.schema_parts import (
    Schema,
    is_list,
    is_object,
    least,
    longest,
    members_of,
    most,
    operands,
    parts_of,
    types_of,
)
from ...schema.validation.supported import check_schema, resolve
from . import client_rules
from .client_rules import SchemaRule
from .findings import Finding

_INNER = ("items", "additionalProperties", "not", "if", "then", "else", "contains")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SAYS_TYPE = ("type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const")
_AT_THE_ROOT = ("anyOf", "oneOf", "allOf", "enum", "not")


def arguments(where: str, schema: Schema) -> list[Finding]:
    """What is to be said of the schema of a tool's arguments."""
    broken = _broken(where, "arguments", schema)
    if broken:
        return broken
    found = [_finding(client_rules.ROOT, where, word) for word in _AT_THE_ROOT if word in schema]
    if schema.get("type") != "object":
        found.append(_finding(client_rules.NO_OBJECT, where))
    elif "properties" not in schema:
        found.append(_finding(client_rules.NO_PROPERTIES, where))
    names: list[str] = list(schema.get("properties", {}))
    found += [
        _bad_parameter(where, name) for name in names if not client_rules.PARAMETER.fullmatch(name)
    ]
    if _is_recursive(schema):
        found.append(_finding(client_rules.RECURSIVE, where))
    elif _mentions(schema, "$ref"):
        found.append(_finding(client_rules.REFERENCE, where))
    for path, each in inner(schema):
        if path:
            found += _dialects(f"{where}, parameter {path}", each)
    return [*found, *_empty(where, "arguments", schema)]


def result(where: str, schema: Schema) -> list[Finding]:
    """What is to be said of the schema of a tool's result."""
    broken = _broken(where, "result", schema)
    if broken:
        return broken
    found = [_finding(client_rules.RECURSIVE_RESULT, where)] if _is_recursive(schema) else []
    return [*found, *_empty(where, "result", schema)]


def result_before(where: str, schema: Schema) -> list[Finding]:
    """The same in the revisions in which a result has to be an object."""
    return [] if schema.get("type") == "object" else [_finding(client_rules.RESULT_OBJECT, where)]


def inner(schema: Any, path: str = "") -> Iterator[tuple[str, Schema]]:
    """All schemas in a schema, each with the way to it; definitions go by their own names."""
    if not is_object(schema):
        return
    yield path, schema
    for keyword in _NAMED:
        for name, each in schema.get(keyword, {}).items():
            is_named = keyword not in ("$defs", "definitions") and path
            yield from inner(each, f"{path}.{name}" if is_named else name)
    for keyword in _LISTS:
        for each in schema.get(keyword, ()):
            yield from inner(each, path)
    for keyword in _INNER:
        if keyword in schema:
            yield from inner(schema[keyword], f"{path}[]" if keyword == "items" else path)


def _dialects(where: str, schema: Schema) -> Iterator[Finding]:
    kind = schema.get("type")
    kinds: list[Any] = kind if is_list(kind) else [kind]
    if "array" in kinds and "items" not in schema and "prefixItems" not in schema:
        yield _finding(client_rules.NO_ITEMS, where)
    if not any(word in schema for word in _SAYS_TYPE) and not _only_conditions(schema):
        yield _finding(client_rules.NO_TYPE, where)
    if is_list(kind):
        yield _finding(client_rules.TYPES, where)
    values: list[Any] = schema.get("enum", [])
    if values and (kind is None or not all(isinstance(each, str) for each in values)):
        yield _finding(client_rules.ENUM, where)
    format_ = schema.get("format")
    if "string" in kinds and format_ is not None and format_ not in client_rules.GEMINI_FORMATS:
        yield _finding(client_rules.FORMAT, where, format_)
    unknown = [word for word in client_rules.GEMINI_UNKNOWN if word in schema]
    if unknown:
        yield _finding(client_rules.KEYWORDS, where, ", ".join(unknown))


def _only_conditions(schema: Schema) -> bool:
    """A schema beside another one, such as a branch that only says what is required."""
    return bool(schema) and not schema.keys() <= {"title", "description", "default", "examples"}


def _finding(rule: SchemaRule, where: str, *words: str) -> Finding:
    name = next(name for name, value in vars(client_rules).items() if value is rule)
    return Finding(
        rule.level,
        f"schema-{name.lower().replace('_', '-')}",
        where,
        rule.what.format(*words),
        rule.advice,
        rule.source,
    )


def _bad_parameter(where: str, name: str) -> Finding:
    return Finding(
        "error",
        "parameter-name",
        f"{where}, parameter {name}",
        "its name: Anthropic's API takes up to 64 letters, digits, _, . and -, and refuses the "
        "request otherwise, with all other tools",
        "give it another name",
        client_rules.PARAMETER_SOURCE,
    )


# Whatever the client


def _broken(where: str, noun: str, schema: Schema) -> list[Finding]:
    try:
        check_schema(schema, f"the schema of its {noun}", root_object=False)
    except (TypeError, ValueError) as error:
        return [Finding("error", "schema-invalid", where, str(error), "correct the schema")]
    return []


def _mentions(schema: Schema, keyword: str) -> bool:
    return any(keyword in each for _, each in inner(schema))


def _is_recursive(schema: Schema) -> bool:
    return _returns(schema, schema, ())


def _returns(schema: Any, root: Schema, above: tuple[str, ...]) -> bool:
    for _, each in inner({key: part for key, part in schema.items() if not key.startswith("$d")}):
        reference = each.get("$ref")
        if reference is None:
            continue
        if reference in above or reference == "#":
            return True
        target = resolve(root, reference)
        if is_object(target) and _returns(target, root, (*above, reference)):
            return True
    return False


def _empty(where: str, noun: str, schema: Schema) -> Iterator[Finding]:
    for path, each in inner(schema):
        reason = _contradiction(each, schema)
        if reason:
            place = f"{where}, {noun} {path}" if path else f"{where}, {noun}"
            words = f"nothing can fit: {reason}"
            yield Finding("error", "schema-empty", place, words, "correct the schema")


def _contradiction(schema: Schema, root: Schema) -> str:
    """Why nothing fits, if that is plain."""
    parts = parts_of(schema, root)
    types = types_of(parts)
    if not types:
        return "no type is left"
    if types <= {"integer", "number"}:
        whole = "number" not in types
        low, high = least(parts, whole=whole), most(parts, whole=whole)
        if low and high and (low[0] > high[0] or (low[0] == high[0] and (low[1] or high[1]))):
            return "the lower bound is above the upper one"
    if types == frozenset({"string"}) and _crossed(parts, "minLength", "maxLength"):
        return "minLength is above maxLength"
    if types == frozenset({"array"}) and max(operands(parts, "minItems"), default=0) > longest(
        parts
    ):
        return "minItems is above what there can be"
    if types == frozenset({"object"}) and len(parts) == 1:
        members = members_of(parts)
        unknown = sorted(members.required - members.names)
        if unknown and not members.patterns and parts[0].get("additionalProperties") is False:
            return f"{unknown[0]} is required, and not allowed"
    return ""


def _crossed(parts: list[Schema], low: str, high: str) -> bool:
    return max(operands(parts, low), default=0) > min(operands(parts, high), default=float("inf"))
