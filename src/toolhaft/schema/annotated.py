"""What stands beside a type in `Annotated[…]`: descriptions and constraints, in any dialect.

A plain string, msgspec's `Meta`, `annotated_types`, `typing_extensions.Doc` and pydantic's `Field`
say the same things in different ways. None of the foreign packages is imported: their notes are
known by the names they bear.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec
from msgspec import UNSET, Struct

_MSGSPEC_FIELD: Any = type(msgspec.field(default=0))
_BOUNDS = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern", "tz")


class Notes(Struct):
    """All notes of one annotation, taken together."""

    description: str | None = None
    # The constraints, by msgspec's names.
    bounds: dict[str, Any] = {}
    # Members of the schema that the author asked for.
    extra: dict[str, Any] = {}
    # Is there a constraint that msgspec does not see by itself?
    foreign: bool = False
    # A note that only pydantic can enforce.
    beyond: Any = None
    default: Any = UNSET
    default_factory: Callable[[], Any] | None = None
    # What is not for us here: markers, and notes of other libraries.
    rest: list[Any] = []

    @property
    def meta(self) -> msgspec.Meta | None:
        """The constraints as msgspec enforces them."""
        return msgspec.Meta(**self.bounds) if self.bounds else None


def read_notes(notes: Iterable[Any]) -> Notes:
    """Understand what can be understood. Where two notes disagree, the last one counts."""
    found = Notes()
    for note in notes:
        _read(note, found)
    return found


def _read(note: Any, found: Notes) -> None:
    if isinstance(note, str):
        found.description = note
    elif isinstance(note, msgspec.Meta):
        _read_meta(note, found)
    elif is_field(note):
        _read_field(note, found)
    elif _home(note) == "annotated_types":
        _read_annotated(note, found)
    elif _home(note) in ("typing_extensions", "typing") and hasattr(note, "documentation"):
        found.description = note.documentation
    elif _home(note) in ("pydantic", "pydantic_core"):
        found.beyond = note
    else:
        found.rest.append(note)


def is_field(note: Any) -> bool:
    """Is this what pydantic's `Field(…)` returns?"""
    return type(note).__name__ == "FieldInfo" and _home(note) == "pydantic"


def alias_of(note: Any) -> str | None:
    """The name that pydantic's `Field(alias=…)` or `msgspec.field(name=…)` gives, if it is one."""
    if is_field(note):
        alias = note.alias if note.validation_alias is None else note.validation_alias
        return None if alias is None else str(alias)
    if isinstance(note, _MSGSPEC_FIELD):
        name: str | None = note.name
        return name
    return None


def _home(note: Any) -> str:
    return type(note).__module__.partition(".")[0]


def _read_meta(note: msgspec.Meta, found: Notes) -> None:
    _take_bounds(note, found)
    if note.description is not None:
        found.description = note.description
    if note.title is not None:
        found.extra["title"] = note.title
    if note.examples is not None:
        found.extra["examples"] = list(note.examples)
    found.extra.update(note.extra_json_schema or {})


def _read_field(note: Any, found: Notes) -> None:
    if note.description is not None:
        found.description = note.description
    if note.examples:
        found.extra["examples"] = [*note.examples]
    extra: Any = note.json_schema_extra
    if isinstance(extra, dict):
        found.extra.update(cast(dict[str, Any], extra))
    if not note.is_required():
        if note.default_factory is not None:
            found.default_factory = note.default_factory
        else:
            found.default = note.default
    for constraint in note.metadata:
        if type(constraint).__name__ == "_PydanticGeneralMetadata":
            if not _is_ours(constraint):
                found.beyond = note
                continue
            _take_bounds(constraint, found)
            found.foreign = True
        else:
            _read(constraint, found)


def _is_ours(constraint: Any) -> bool:
    """Is it a pattern, and one of Python's? pydantic's own may be those of Rust."""
    if set(cast(dict[str, Any], vars(constraint))) - {"pattern"}:
        return False
    try:
        re.compile(constraint.pattern)
    except re.error:
        return False
    return True


def _read_annotated(note: Any, found: Notes) -> None:
    found.foreign = True
    if type(note).__name__ == "Timezone":
        if note.tz not in (None, ...):
            raise TypeError(f"{note!r} is not enforced; use Timezone(None) or Timezone(...)")
        found.bounds["tz"] = note.tz is not None
    elif hasattr(note, "documentation"):
        found.description = note.documentation
    elif not _take_bounds(note, found):
        found.beyond = note  # a predicate, or a time zone


def _take_bounds(note: Any, found: Notes) -> bool:
    bounds = {name: value for name in _BOUNDS if (value := getattr(note, name, None)) is not None}
    if not bounds.get("min_length", True):
        del bounds["min_length"]  # at least nothing is no constraint
    found.bounds.update(bounds)
    return any(hasattr(note, name) for name in _BOUNDS)
