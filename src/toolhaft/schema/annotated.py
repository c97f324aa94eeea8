"""Metadata of `Annotated[…]`: descriptions and constraints, from several libraries.

A plain string, msgspec's `Meta`, `annotated_types`, `typing_extensions.Doc` and pydantic's `Field`
are read into one struct. Apart from msgspec, none of these packages is imported: their objects are
recognised by the names of their class and module.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec
from msgspec import UNSET, Struct

_MSGSPEC_FIELD: Any = type(msgspec.field(default=0))
_BOUNDS = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern", "tz")


class Metadata(Struct):
    """The metadata of one annotation, merged."""

    description: str | None = None
    # Constraints, by the names of msgspec's `Meta`.
    bounds: dict[str, Any] = {}
    # Keywords that the author adds to the schema.
    extra: dict[str, Any] = {}
    # A constraint of another library, which msgspec ignores unless it is translated to `Meta`.
    foreign: bool = False
    # Metadata that only pydantic can enforce.
    pydantic_only: Any = None
    default: Any = UNSET
    default_factory: Callable[[], Any] | None = None
    # Metadata that is not read here: our own markers, and objects of other libraries.
    rest: list[Any] = []

    @property
    def meta(self) -> msgspec.Meta | None:
        """The constraints as msgspec's `Meta`; None if there are none."""
        return msgspec.Meta(**self.bounds) if self.bounds else None


def read_metadata(metadata: Iterable[Any]) -> Metadata:
    """Merge the metadata of an annotation. Where two items disagree, the last one counts."""
    found = Metadata()
    for note in metadata:
        _read(note, found)
    return found


def _read(note: Any, found: Metadata) -> None:
    if isinstance(note, str):
        found.description = note
    elif isinstance(note, msgspec.Meta):
        _read_meta(note, found)
    elif is_field(note):
        _read_field(note, found)
    elif _package_of(note) == "annotated_types":
        _read_annotated(note, found)
    elif _package_of(note) in ("typing_extensions", "typing") and hasattr(note, "documentation"):
        found.description = note.documentation
    elif _package_of(note) in ("pydantic", "pydantic_core"):
        found.pydantic_only = note
    else:
        found.rest.append(note)


def is_field(note: Any) -> bool:
    """Test whether this is the result of pydantic's `Field(…)`."""
    return type(note).__name__ == "FieldInfo" and _package_of(note) == "pydantic"


def alias_of(note: Any) -> str | None:
    """Return the name in pydantic's `Field(alias=…)` or `msgspec.field(name=…)`, if any."""
    if is_field(note):
        alias = note.alias if note.validation_alias is None else note.validation_alias
        return None if alias is None else str(alias)
    if isinstance(note, _MSGSPEC_FIELD):
        name: str | None = note.name
        return name
    return None


def _package_of(note: Any) -> str:
    return type(note).__module__.partition(".")[0]


def _read_meta(note: msgspec.Meta, found: Metadata) -> None:
    _copy_bounds(note, found)
    if note.description is not None:
        found.description = note.description
    if note.title is not None:
        found.extra["title"] = note.title
    if note.examples is not None:
        found.extra["examples"] = list(note.examples)
    found.extra.update(note.extra_json_schema or {})


def _read_field(note: Any, found: Metadata) -> None:
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
            if not _is_python_pattern(constraint):
                found.pydantic_only = note
                continue
            _copy_bounds(constraint, found)
            found.foreign = True
        else:
            _read(constraint, found)


def _is_python_pattern(constraint: Any) -> bool:
    """Test for a pattern that Python's `re` can compile; pydantic also takes patterns of Rust."""
    if set(cast(dict[str, Any], vars(constraint))) - {"pattern"}:
        return False
    try:
        re.compile(constraint.pattern)
    except re.error:
        return False
    return True


def _read_annotated(note: Any, found: Metadata) -> None:
    found.foreign = True
    if type(note).__name__ == "Timezone":
        if note.tz not in (None, ...):
            raise TypeError(f"{note!r} is not enforced; use Timezone(None) or Timezone(...)")
        found.bounds["tz"] = note.tz is not None
    elif hasattr(note, "documentation"):
        found.description = note.documentation
    elif not _copy_bounds(note, found):
        found.pydantic_only = note  # a predicate or the like


def _copy_bounds(note: Any, found: Metadata) -> bool:
    bounds = {name: value for name in _BOUNDS if (value := getattr(note, name, None)) is not None}
    if not bounds.get("min_length", True):
        del bounds["min_length"]  # a minimum of 0 constrains nothing
    found.bounds.update(bounds)
    return any(hasattr(note, name) for name in _BOUNDS)
