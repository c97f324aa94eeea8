"""What the editors of the three formats share: an edit is a new text, and how to undo it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

Entry: TypeAlias = Mapping[str, Any]
Undo: TypeAlias = dict[str, Any]


class Unclear(Exception):
    """A file that cannot be changed; the message says where it stands, and what to do."""


class Unable(Unclear):
    """What is wanted does not exist for a client, whatever its files say."""


class Splice(NamedTuple):
    """A text with our entry in it, and what an exact removal has to know."""

    text: str
    undo: Undo


class Format(Protocol):
    """A way to write configurations. An entry is named by its parents and its own name."""

    def value(self, text: str) -> dict[str, Any]:
        """All that a text says, in a form that can be compared."""
        ...

    def add(self, text: str, parents: Sequence[str], name: str, entry: Entry) -> Splice:
        """Put in an entry that is not there."""
        ...

    def replace(self, text: str, parents: Sequence[str], name: str, entry: Entry) -> Splice:
        """Put an entry in the place of another one; undone, that one is back."""
        ...

    def take(self, text: str, parents: Sequence[str], name: str, undo: Undo) -> str:
        """Take an entry out."""
        ...


def newline_of(text: str) -> str:
    """The line ending that a text uses."""
    return "\r\n" if "\r\n" in text else "\n"


def place(text: str, position: int) -> str:
    """A position as people count."""
    before = text[:position].replace("\r\n", "\n").replace("\r", "\n")
    return f"line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))}"


def entries_of(value: Mapping[str, Any], parents: Sequence[str]) -> dict[str, Any]:
    """The entries below some parents; none if the parents are not there.

    Raises:
        Unclear: a parent is there, but cannot hold entries.
    """
    found: dict[str, Any] = dict(value)
    for depth, key in enumerate(parents):
        inner: object = found.get(key, {})
        if not isinstance(inner, dict):
            raise Unclear(f"{'.'.join(parents[: depth + 1])} holds no entries: it is no object")
        found = cast(dict[str, Any], inner)
    return found


def without(value: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """A value without one entry, and without the parents that held nothing else."""
    first, *rest = keys
    changed = dict(value)
    inner = changed.get(first)
    if rest and isinstance(inner, dict):
        changed[first] = without(cast(dict[str, Any], inner), rest)
    if not rest or changed.get(first) in ({}, None):
        changed.pop(first, None)
    return changed


def words_of(entry: object) -> list[str]:
    """All texts in an entry."""
    if isinstance(entry, str):
        return [entry]
    if isinstance(entry, dict):
        return words_of(list(cast(dict[str, Any], entry).values()))
    if isinstance(entry, list):
        items = cast(Sequence[Any], entry)
        return [word for each in items for word in words_of(each)]
    return []
