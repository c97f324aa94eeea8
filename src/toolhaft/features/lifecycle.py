"""`initialize`, `ping`, `server/discover` and `logging/setLevel`."""

from collections.abc import Callable

from msgspec import UNSET
from msgspec.structs import replace

from ..errors import MethodNotFound
from ..protocol.calls import Exchange, Outcome
from ..protocol.handshake import Session
from ..protocol.revisions import SUPPORTED
from ..protocol.subscriptions import EVERY_LIST
from ..types.lifecycle import (
    DiscoverResult,
    InitializeResult,
    ListChanged,
    ResourcesCapability,
    ServerCapabilities,
)
from ..types.notifications import LEVELS
from ..types.wire import Implementation, Result
from .instructions import Instructions


def offered(capabilities: ServerCapabilities) -> frozenset[str]:
    """The names of the capabilities that are there."""
    names = capabilities.__struct_fields__
    return frozenset(name for name in names if getattr(capabilities, name) is not UNSET)


def _without_changes(capabilities: ServerCapabilities) -> ServerCapabilities:
    """The same for a client that cannot be told of changes: there is no way to it between calls."""
    return replace(
        capabilities,
        tools=UNSET if capabilities.tools is UNSET else ListChanged(),
        resources=UNSET if capabilities.resources is UNSET else ResourcesCapability(),
        prompts=UNSET if capabilities.prompts is UNSET else ListChanged(),
    )


class Lifecycle:
    """How a client gets to know the server."""

    def __init__(
        self,
        info: Implementation,
        instructions: Instructions,
        capabilities: Callable[[], ServerCapabilities],
    ) -> None:
        self._info = info
        self._instructions = instructions
        self._capabilities = capabilities

    def initialize(self, exchange: Exchange) -> Outcome:
        """Answer `initialize`; the session has chosen the revision already."""
        capabilities = self._capabilities()
        if isinstance(exchange.era, Session):
            if not exchange.era.reachable:
                capabilities = _without_changes(capabilities)
            # A session hears of those lists only that it was told of.
            exchange.era.interests.lists = EVERY_LIST & offered(capabilities)
        return InitializeResult(
            protocol_version=exchange.caller.revision.date,
            capabilities=capabilities,
            server_info=self._info,
            instructions=self._instructions.wire(),
        )

    def ping(self, _exchange: Exchange) -> Outcome:
        """Answer `ping`."""
        return Result()

    def discover(self, exchange: Exchange) -> Outcome:
        """Answer `server/discover`."""
        return DiscoverResult(
            supported_versions=SUPPORTED,
            capabilities=self._capabilities(),
            instructions=self._instructions.wire(),
            ttl_ms=0,
            cache_scope="public" if exchange.caller.principal is None else "private",
        )

    def set_level(self, exchange: Exchange) -> Outcome:
        """Answer `logging/setLevel`."""
        if self._capabilities().logging is UNSET:
            raise MethodNotFound("this server offers no logging")
        exchange.caller.log_level = LEVELS.index(exchange.params.level)
        return Result()
