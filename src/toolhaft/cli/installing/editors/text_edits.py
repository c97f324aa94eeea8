"""Interface and helpers of the three editors: an edit is a new text with its undo data."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

Entry: TypeAlias = Mapping[str, Any]
Undo: TypeAlias = dict[str, Any]


class Unclear(Exception):
    """A change that is not possible; the message gives the reason and often a remedy."""


class Unable(Unclear):
    """A change that a client does not support, whatever its files contain."""


class Splice(NamedTuple):
    """A text with a new entry, and the data that an exact removal needs."""

    text: str
    undo: Undo


class Format(Protocol):
    """An editor of one format. The keys `parents` and `name` are the path of an entry."""

    def value(self, text: str) -> dict[str, Any]:
        """Parse a text into a value that can be compared."""
        ...

    def add(self, text: str, parents: Sequence[str], name: str, entry: Entry) -> Splice:
        """Add an entry that does not exist."""
        ...

    def replace(self, text: str, parents: Sequence[str], name: str, entry: Entry) -> Splice:
        """Replace an entry; the undo data restore the earlier one."""
        ...

    def take(self, text: str, parents: Sequence[str], name: str, undo: Undo) -> str:
        """Remove an entry."""
        ...


def newline_of(text: str) -> str:
    """Return the line ending that a text uses."""
    return "\r\n" if "\r\n" in text else "\n"


def place(text: str, position: int) -> str:
    """Format a position as line and column, both from 1."""
    before = text[:position].replace("\r\n", "\n").replace("\r", "\n")
    return f"line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))}"


def entries_of(value: Mapping[str, Any], parents: Sequence[str]) -> dict[str, Any]:
    """Return the entries below a path of keys; none if the path does not exist.

    Raises:
        Unclear: a value on the path is not an object.
    """
    found: dict[str, Any] = dict(value)
    for depth, key in enumerate(parents):
        inner: object = found.get(key, {})
        if not isinstance(inner, dict):
            raise Unclear(f"{'.'.join(parents[: depth + 1])} holds no entries: it is no object")
        found = cast(dict[str, Any], inner)
    return found


def without(value: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Copy a value without one entry, and without its parents if that leaves them empty."""
    first, *rest = keys
    changed = dict(value)
    inner = changed.get(first)
    if rest and isinstance(inner, dict):
        changed[first] = without(cast(dict[str, Any], inner), rest)
    if not rest or changed.get(first) in ({}, None):
        changed.pop(first, None)
    return changed


def words_of(entry: object) -> list[str]:
    """Return all strings in an entry."""
    if isinstance(entry, str):
        return [entry]
    if isinstance(entry, dict):
        return words_of(list(cast(dict[str, Any], entry).values()))
    if isinstance(entry, list):
        items = cast(Sequence[Any], entry)
        return [word for each in items for word in words_of(each)]
    return []
