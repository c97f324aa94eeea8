"""Capabilities, and the data of `initialize` and `server/discover`."""

from typing import Any

from msgspec import UNSET, UnsetType, field

from .wire import CacheableResult, Identity, Implementation, Json, Params, Result, Wire


class ListChanged(Wire):
    """Settings of the tools and of the prompts capability."""

    list_changed: bool | UnsetType = UNSET


class ResourcesCapability(Wire):
    """Settings of the resources capability."""

    subscribe: bool | UnsetType = UNSET
    list_changed: bool | UnsetType = UNSET


class ServerCapabilities(Wire):
    """What a server offers. An unset capability is not offered."""

    tools: ListChanged | UnsetType = UNSET
    resources: ResourcesCapability | UnsetType = UNSET
    prompts: ListChanged | UnsetType = UNSET
    completions: dict[str, Json] | UnsetType = UNSET
    logging: dict[str, Json] | UnsetType = UNSET
    extensions: dict[str, Json] | UnsetType = UNSET


class InitializeParams(Params, kw_only=True):
    """Parameters of `initialize` (handshake era)."""

    # Empty if the client names no revision; then the newest one with a handshake is offered.
    protocol_version: str = ""
    capabilities: dict[str, Any] = field(default_factory=dict[str, Any])
    client_info: Identity | UnsetType = UNSET


class InitializeResult(Result, kw_only=True):
    """Result of `initialize`."""

    protocol_version: str
    capabilities: ServerCapabilities
    server_info: Implementation
    instructions: str | UnsetType = UNSET


class DiscoverResult(CacheableResult, kw_only=True):
    """Result of `server/discover` (stateless era)."""

    supported_versions: list[str]
    capabilities: ServerCapabilities
    instructions: str | UnsetType = UNSET
