"""Arguments that HTTP headers repeat: `x-mcp-header` in the schema of a tool.

A proxy routes by headers and does not read bodies. So a client of 2026-07-28 also sends such an
argument as a header, and the server checks that both are equal (`header_check.py`).
"""

from collections.abc import Iterator
from typing import Any, Final, cast

from msgspec import Struct

from ...schema.from_types import Schema

KEY: Final = "x-mcp-header"


class Mirrored(Struct, frozen=True):
    """An argument, by its path in the arguments, and the header that repeats it."""

    path: tuple[str, ...]
    header: str


def is_marked(schema: Any) -> bool:
    """Whether `x-mcp-header` is anywhere in a schema, also where it is not allowed."""
    todo: list[Any] = [schema]
    for part in todo:  # the list grows during the loop
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
    """Yield the mirrored arguments of a checked schema, where they are properties at any depth."""
    properties: dict[str, Any] = schema.get("properties", {})
    for name, part in properties.items():
        if isinstance(part, dict):
            inner = cast(Schema, part)
            if KEY in inner:
                yield Mirrored((*path, name), inner[KEY])
            yield from mirrored(inner, (*path, name))
