"""Error codes that a client may be sent, by its revision.

A code outside of -32768 to -32000 is the author's own. Inside that range JSON-RPC and MCP define
some codes and reserve the others; the ones that a server may use depend on the revision.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeGuard, cast

from msgspec import UNSET

from ..errors import (
    HeaderMismatch,
    InternalError,
    InvalidParams,
    McpError,
    MissingCapability,
    UnsupportedVersion,
)
from .revisions import Revision

_JSON_RPC: Final = frozenset({-32700, -32600, -32601, -32602, -32603})
_RESERVED: Final = range(-32768, -32000 + 1)
# Implementation-defined server errors of JSON-RPC; since 2026-07-28 MCP allocates them.
_SERVERS: Final = range(-32099, -32000 + 1)
# Resource not found, up to 2025-11-25.
_NOT_FOUND: Final = -32002
# Errors of MCP whose `data` has a defined shape, which these classes guarantee.
_OURS: Final = (HeaderMismatch, MissingCapability, UnsupportedVersion)
# The largest integer that every JSON parser reads exactly.
_LARGEST: Final = 2**53 - 1


def sendable(error: McpError, revision: Revision) -> McpError:
    """Return the error, or one with the same message and a code that the revision allows."""
    code: Any = getattr(error, "code", None)
    if type(code) is int and code in _JSON_RPC and hasattr(error, "message"):
        return error
    message: str = getattr(error, "message", None) or str(error)
    data: Any = getattr(error, "data", UNSET)
    if isinstance(code, int) and not isinstance(code, bool) and abs(code) <= _LARGEST:
        code = int(code)
        if _may_be_sent(code, error, data, revision):
            return error if hasattr(error, "message") else McpError(message, code=code, data=data)
    is_not_found = code == _NOT_FOUND
    return McpError(
        message, code=InvalidParams.code if is_not_found else InternalError.code, data=data
    )


def _may_be_sent(code: int, error: McpError, data: Any, revision: Revision) -> bool:
    if code not in _RESERVED or code in _JSON_RPC or isinstance(error, _OURS):
        return True
    if code == revision.url_required_code:
        return _has_pages(data)
    return revision.servers_have_codes and code in _SERVERS


def _has_pages(data: Any) -> bool:
    """Return whether `data` lists the pages for the user: "The error MUST include a list of
    elicitations", all of them in URL mode."""
    found: Any = data.get("elicitations") if _is_object(data) else None
    pages: list[Any] = cast(Any, found) if isinstance(found, list) else []
    return bool(pages) and all(map(_is_page, pages))


def _is_page(page: Any) -> bool:
    members = ("message", "url", "elicitationId")
    return (
        _is_object(page)
        and page.get("mode") == "url"
        and all(isinstance(page.get(member), str) for member in members)
    )


def _is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)
