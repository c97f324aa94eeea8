"""The base class of all protocol data, and small types that several modules share.

One model serves all revisions: it has the fields of the newest one, optional where an older
revision lacks them. `protocol/lowering.py` removes the fields that the client's revision does not
have, so no type here names a revision.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType, field, json

Json: TypeAlias = Any
Meta: TypeAlias = dict[str, Any]
CacheScope: TypeAlias = Literal["public", "private"]


class Wire(Struct, rename="camel", omit_defaults=True):
    """A JSON object with camel-case members. An unset field is omitted, never sent as null."""


class Icon(Wire):
    """An icon for a client's menus: an https or data URI."""

    src: str
    mime_type: str | UnsetType = UNSET
    sizes: list[str] | UnsetType = UNSET
    theme: Literal["light", "dark"] | UnsetType = UNSET


class Identity(Wire):
    """Name and version of a client. Its other members are not read, and so not validated."""

    name: str
    version: str


class Implementation(Identity):
    """Name, version and description of a server."""

    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    website_url: str | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET


class RequestMeta(Struct):
    """The keys of a request's `_meta` that the core reads; it ignores all other keys."""

    # Null means the same as absent.
    progress_token: int | str | UnsetType | None = field(default=UNSET, name="progressToken")
    version: str | UnsetType = field(default=UNSET, name="io.modelcontextprotocol/protocolVersion")
    capabilities: dict[str, Any] | UnsetType = field(
        default=UNSET, name="io.modelcontextprotocol/clientCapabilities"
    )
    client: Identity | UnsetType = field(default=UNSET, name="io.modelcontextprotocol/clientInfo")
    log_level: str | UnsetType = field(default=UNSET, name="io.modelcontextprotocol/logLevel")


def meta_of(text: Raw | UnsetType) -> Mapping[str, Any]:
    """Decode all keys of a `_meta`, also unknown ones; empty if it is absent."""
    return MappingProxyType({} if text is UNSET else json.decode(text, type=dict[str, Any]))


class Params(Struct, rename="camel"):
    """Base of the parameters of every request."""

    # Raw, because the library reads only a few keys of it, and because its length is needed to
    # detect duplicate members of the parameters.
    meta: Raw | UnsetType = field(default=UNSET, name="_meta")


class AskingParams(Params, kw_only=True):
    """Base of the parameters of calls that may ask questions, and are then repeated."""

    # Raw, because in older revisions neither is defined, and so neither is validated.
    input_responses: Raw | UnsetType = UNSET
    request_state: Raw | UnsetType = UNSET


class Result(Wire):
    """Base of every result. An empty one answers `ping` and similar requests."""

    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class PageParams(Params):
    """Parameters of a list request."""

    cursor: str | UnsetType | None = UNSET


class CacheableResult(Result, kw_only=True):
    """A result that states how long a client may cache it, and whether caches may share it."""

    ttl_ms: int | UnsetType = UNSET
    cache_scope: CacheScope | UnsetType = UNSET


class PagedResult(CacheableResult, kw_only=True):
    """One page of a list; the last one has no cursor."""

    next_cursor: str | UnsetType = UNSET
