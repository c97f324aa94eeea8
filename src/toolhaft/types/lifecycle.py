"""How client and server get to know each other."""

from typing import Any

from msgspec import UNSET, UnsetType, field

from .wire import CacheableResult, Identity, Implementation, Json, Params, Result, Wire


class ListChanged(Wire):
    """Settings of the tools and the prompts capability."""

    list_changed: bool | UnsetType = UNSET


class ResourcesCapability(Wire):
    """Settings of the resources capability."""

    subscribe: bool | UnsetType = UNSET
    list_changed: bool | UnsetType = UNSET


class ServerCapabilities(Wire):
    """What a server offers; what is unset it does not."""

    tools: ListChanged | UnsetType = UNSET
    resources: ResourcesCapability | UnsetType = UNSET
    prompts: ListChanged | UnsetType = UNSET
    completions: dict[str, Json] | UnsetType = UNSET
    logging: dict[str, Json] | UnsetType = UNSET
    extensions: dict[str, Json] | UnsetType = UNSET


class InitializeParams(Params, kw_only=True):
    """How a client of an older revision begins."""

    # Empty if the client does not say; then it is offered our newest.
    protocol_version: str = ""
    capabilities: dict[str, Any] = field(default_factory=dict[str, Any])
    client_info: Identity | UnsetType = UNSET


class InitializeResult(Result, kw_only=True):
    """How it is answered."""

    protocol_version: str
    capabilities: ServerCapabilities
    server_info: Implementation
    instructions: str | UnsetType = UNSET


class DiscoverResult(CacheableResult, kw_only=True):
    """What a client learns that begins without a handshake."""

    supported_versions: list[str]
    capabilities: ServerCapabilities
    instructions: str | UnsetType = UNSET
