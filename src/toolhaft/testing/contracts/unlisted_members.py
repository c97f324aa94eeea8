"""Members that a schema does not list any more, and lets pass: what is sent there is lost."""

import re
from collections.abc import Iterator
from typing import Any

from ...schema.validation.schema_parts import is_object
from .bound_comparison import member
from .snapshot import Json

_DEFINITION = re.compile("#/([$]defs|definitions)/([^/]+)")
# Where these are, others may say something of a member.
_BRANCHES = ("anyOf", "oneOf", "allOf", "if")


class Unlisted:
    """Compares two schemas of the same thing, the old one first."""

    def __init__(self, before: Json, after: Json) -> None:
        self._before = before
        self._after = after
        # Definitions that are being compared: they may lead back to themselves.
        self._above: set[tuple[int, int]] = set()

    def names(self) -> list[str]:
        """The paths of the members that are gone."""
        return list(dict.fromkeys(self._within("", self._before, self._after)))

    def _within(self, path: str, old: Any, new: Any) -> Iterator[str]:
        old, new = _resolved(old, self._before), _resolved(new, self._after)
        pair = (id(old), id(new))
        if not is_object(old) or not is_object(new) or pair in self._above:
            return
        self._above.add(pair)
        were, are = (each.get("properties", {}) for each in (old, new))
        for name, part in sorted(were.items()):
            if name in are:
                yield from self._within(member(path, name), part, are[name])
            elif not path or not _speaks_of(new, name):
                yield member(path, name)
        yield from self._within(f"{path}[]", old.get("items"), new.get("items"))
        self._above.discard(pair)


def _resolved(schema: Any, root: Json) -> Any:
    """What a schema refers to, if it does nothing else."""
    seen: set[str] = set()
    while is_object(schema) and isinstance(reference := schema.get("$ref"), str):
        found = _DEFINITION.fullmatch(reference)
        if found is None or reference in seen or "properties" in schema:
            break
        seen.add(reference)
        schema = root.get(found[1], {}).get(found[2])
    return schema


def _speaks_of(schema: Json, name: str) -> bool:
    """May it say something of a member that it does not list?"""
    if "object" not in _types(schema) or any(keyword in schema for keyword in _BRANCHES):
        return True
    if is_object(schema.get("additionalProperties")) or "$ref" in schema:
        return True
    return any(re.search(pattern, name) for pattern in schema.get("patternProperties", {}))


def _types(schema: Json) -> Any:
    said = schema.get("type", "object")
    return [said] if isinstance(said, str) else said
