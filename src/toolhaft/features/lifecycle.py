"""`initialize`, `ping`, `server/discover` and `logging/setLevel`."""

from collections.abc import Callable

from msgspec import UNSET

from ..errors import MethodNotFound
from ..protocol.calls import Exchange, Outcome
from ..protocol.revisions import SUPPORTED
from ..types.lifecycle import DiscoverResult, InitializeResult, ServerCapabilities
from ..types.notices import LEVELS
from ..types.wire import Implementation, Result


class Lifecycle:
    """How a client gets to know the server."""

    def __init__(
        self,
        info: Implementation,
        instructions: str | None,
        capabilities: Callable[[], ServerCapabilities],
    ) -> None:
        self._info = info
        self._instructions = UNSET if instructions is None else instructions
        self._capabilities = capabilities

    def initialize(self, exchange: Exchange) -> Outcome:
        """Answer `initialize`; the session has chosen the revision already."""
        return InitializeResult(
            protocol_version=exchange.caller.revision.date,
            capabilities=self._capabilities(),
            server_info=self._info,
            instructions=self._instructions,
        )

    def ping(self, _exchange: Exchange) -> Outcome:
        """Answer `ping`."""
        return Result()

    def discover(self, _exchange: Exchange) -> Outcome:
        """Answer `server/discover`."""
        return DiscoverResult(
            supported_versions=SUPPORTED,
            capabilities=self._capabilities(),
            instructions=self._instructions,
            ttl_ms=0,
            cache_scope="public",
        )

    def set_level(self, exchange: Exchange) -> Outcome:
        """Answer `logging/setLevel`."""
        if self._capabilities().logging is UNSET:
            raise MethodNotFound("this server offers no logging")
        exchange.caller.log_level = LEVELS.index(exchange.params.level)
        return Result()
