"""Arguments that HTTP headers repeat: `x-mcp-header` in the schema of a tool.

A proxy routes by headers and does not read bodies. So a client of 2026-07-28 says such an argument
twice, and we see to it that it says the same twice (`headers.py`).
"""

from collections.abc import Iterator
from typing import Any, Final, cast

from msgspec import Struct

from ...schema.from_types import Schema

KEY: Final = "x-mcp-header"


class Mirrored(Struct, frozen=True):
    """An argument, by the way to it, and the header that repeats it."""

    path: tuple[str, ...]
    header: str


def is_marked(schema: Any) -> bool:
    """Is there such a mark anywhere in a schema, allowed or not?"""
    todo: list[Any] = [schema]
    for part in todo:  # which grows meanwhile
        if isinstance(part, dict):
            members: dict[str, Any] = cast(Any, part)
            if KEY in members:
                return True
            todo += members.values()
        elif isinstance(part, list):
            items: list[Any] = cast(Any, part)
            todo += items
    return False


def mirrored(schema: Schema, path: tuple[str, ...] = ()) -> Iterator[Mirrored]:
    """The arguments that headers repeat, of a schema that was checked: they are properties, or
    properties of one of these."""
    properties: dict[str, Any] = schema.get("properties", {})
    for name, part in properties.items():
        if isinstance(part, dict):
            inner = cast(Schema, part)
            if KEY in inner:
                yield Mirrored((*path, name), inner[KEY])
            yield from mirrored(inner, (*path, name))
