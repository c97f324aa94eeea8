"""Headers that repeat what a message says, so that proxies need not read bodies (2026-07-28)."""

import binascii
from collections.abc import Iterator
from typing import Any, Final

from ...lazy_regex import pattern
from ...protocol.revisions import ASKING
from ..json_shapes import Json, as_object
from ..request_meta import VERSION

_MIRRORED: Final = "x-mcp-header"
_PLAIN = pattern(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?")
_SENTINEL = pattern(r"=\?base64\?.*\?=")


def routing(message: Json) -> dict[str, str]:
    """The headers of a request that says by itself who asks."""
    params = message["params"]
    fields = {
        "mcp-protocol-version": str(params["_meta"][VERSION]),
        "mcp-method": str(message.get("method")),
    }
    if message.get("method") in ASKING:
        about = params.get("uri") if message["method"] == "resources/read" else params.get("name")
        if isinstance(about, str):
            fields["mcp-name"] = spelled(about)
    return fields


def spelled(text: str) -> str:
    """A value as a header can hold it."""
    if _PLAIN.fullmatch(text) and not _SENTINEL.fullmatch(text):
        return text
    return f"=?base64?{binascii.b2a_base64(text.encode(), newline=False).decode()}?="


def mirrors(schema: Json, arguments: Any) -> Iterator[tuple[str, str]]:
    """The headers that repeat arguments of a tool, by its schema."""
    given = as_object(arguments) or {}
    for name, part in (as_object(schema.get("properties")) or {}).items():
        inner, value = as_object(part), given.get(name)
        if inner is None or value is None:
            continue
        if isinstance(header := inner.get(_MIRRORED), str):
            yield f"mcp-param-{header.lower()}", spelled(_text(value))
        yield from mirrors(inner, value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
