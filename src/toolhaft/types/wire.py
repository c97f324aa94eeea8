"""The base of every type on the wire, and the small types that many of them share.

One neutral model serves all revisions: it has the fields of the newest, all of them optional
where an older revision lacks them. What a revision does not know is taken out on the way to the
client (`protocol/lowering.py`), so no type here says which revision it belongs to.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType, field, json

Json: TypeAlias = Any
Meta: TypeAlias = dict[str, Any]
CacheScope: TypeAlias = Literal["public", "private"]


class Wire(Struct, rename="camel", omit_defaults=True):
    """Members in camel case; what is unset is absent, so nothing is ever sent as null."""


class Icon(Wire):
    """A picture for a client's menus: an https or data URI."""

    src: str
    mime_type: str | UnsetType = UNSET
    sizes: list[str] | UnsetType = UNSET
    theme: Literal["light", "dark"] | UnsetType = UNSET


class Identity(Wire):
    """Who a client is. What else it says of itself is for people, and nobody reads it here; so
    nobody minds how it says it."""

    name: str
    version: str


class Implementation(Identity):
    """Who a server is."""

    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    website_url: str | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET


class RequestMeta(Struct, gc=False):
    """The `_meta` of a request, as far as the core reads it. Other keys belong to others."""

    # Null is the same as none.
    progress_token: int | str | UnsetType | None = field(default=UNSET, name="progressToken")
    version: str | UnsetType = field(default=UNSET, name="io.modelcontextprotocol/protocolVersion")
    capabilities: dict[str, Any] | UnsetType = field(
        default=UNSET, name="io.modelcontextprotocol/clientCapabilities"
    )
    client: Identity | UnsetType = field(default=UNSET, name="io.modelcontextprotocol/clientInfo")
    log_level: str | UnsetType = field(default=UNSET, name="io.modelcontextprotocol/logLevel")


def meta_of(text: Raw | UnsetType) -> Mapping[str, Any]:
    """All of a `_meta`, also what no struct here has; empty if there is none."""
    return MappingProxyType({} if text is UNSET else json.decode(text, type=dict[str, Any]))


class Params(Struct, rename="camel"):
    """The parameters of any request."""

    # Raw, since what the library reads of it is a small part; and by its length it is seen that no
    # member of the parameters stands twice.
    meta: Raw | UnsetType = field(default=UNSET, name="_meta")


class AskingParams(Params, kw_only=True):
    """The parameters of a request that may be answered with questions, and then comes again."""

    # Raw, for an older revision knows neither and must not mind them.
    input_responses: Raw | UnsetType = UNSET
    request_state: Raw | UnsetType = UNSET


class Result(Wire):
    """The result of any request. Empty, it is the answer to `ping` and its like."""

    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class PageParams(Params):
    """The parameters of a list request."""

    cursor: str | UnsetType | None = UNSET


class CacheableResult(Result, kw_only=True):
    """A result that says for how long, and for whom, a client may keep it."""

    ttl_ms: int | UnsetType = UNSET
    cache_scope: CacheScope | UnsetType = UNSET


class PagedResult(CacheableResult, kw_only=True):
    """One page of a list; without a cursor it is the last."""

    next_cursor: str | UnsetType = UNSET
