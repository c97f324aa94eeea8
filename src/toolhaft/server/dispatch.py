"""The way from a call to its handler: through the middleware, and not before the lifespan."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from ..errors import MethodNotFound, shown
from ..protocol.calls import Exchange, Handler, Middleware, Next, Outcome, Result
from ..protocol.ports import LifespanState
from ..types.lifecycle import DiscoverResult, InitializeResult
from ..types.prompts import CompleteResult, GetPromptResult, ListPromptsResult
from ..types.resources import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
)
from ..types.tools import CallToolResult, ListToolsResult
from ..types.wire import Wire

# What a request is answered with, unless it is text that was encoded before.
_RESULTS: Mapping[str, type[Wire]] = {
    "initialize": InitializeResult,
    "server/discover": DiscoverResult,
    "tools/call": CallToolResult,
    "tools/list": ListToolsResult,
    "prompts/get": GetPromptResult,
    "prompts/list": ListPromptsResult,
    "resources/read": ReadResourceResult,
    "resources/list": ListResourcesResult,
    "resources/templates/list": ListResourceTemplatesResult,
    "completion/complete": CompleteResult,
}

# These are answered before the lifespan has begun, so that a client learns at once that we live.
_AT_ONCE = frozenset(
    {
        "initialize",
        "ping",
        "server/discover",
        "logging/setLevel",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
    }
)


class Dispatch:
    """Finds the handler of a call."""

    __slots__ = ("_handlers", "_lifespan", "_middleware")

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        middleware: Sequence[Middleware],
        lifespan: LifespanState | None,
    ) -> None:
        if not isinstance(middleware, Sequence) or not all(map(callable, middleware)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"middleware must be a list of functions, not {middleware!r}")
        self._handlers = handlers
        # The first of them is the outermost.
        self._middleware = tuple(middleware)
        self._lifespan = lifespan

    def outcome(self, exchange: Exchange) -> Outcome:
        """What comes of a call."""
        handler = self._handlers.get(exchange.method)
        if handler is None:
            raise MethodNotFound(f"this server does not offer {shown(exchange.method)}")
        if self._middleware:
            return self._through(handler)(exchange)
        if self._lifespan is None:
            return handler(exchange)
        return self.enter(exchange, handler)

    @property
    def has_middleware(self) -> bool:
        """Does anything stand around the handlers?"""
        return bool(self._middleware)

    @property
    def has_lifespan(self) -> bool:
        """May calls have to wait?"""
        return self._lifespan is not None

    def enter(self, exchange: Exchange, handler: Handler) -> Outcome:
        """The outcome of a handler, once the lifespan has begun."""
        lifespan = self._lifespan
        if lifespan is None or lifespan.entered or exchange.method in _AT_ONCE:
            return handler(exchange)
        return self._later(exchange, handler)

    def _through(self, handler: Handler) -> Next:
        """The handler behind the middleware."""
        made: Result = b""

        async def innermost(exchange: Exchange) -> Result:
            nonlocal made
            made = await self._later(exchange, handler)
            return made

        first, *others = self._middleware
        call: Next = innermost
        for layer in reversed(others):
            call = _layer(layer, call)

        async def outermost(exchange: Exchange) -> Result:
            result = await first(exchange, call)
            return result if result is made else _checked(result, exchange.method)

        return outermost

    async def _later(self, exchange: Exchange, handler: Handler) -> Result:
        if self._lifespan is not None and exchange.method not in _AT_ONCE:
            await self._lifespan.wait()
        return await exchange.settle(handler(exchange))


def _checked(result: Any, method: str) -> Result:
    """What a middleware has returned in place of what the handler gave.

    Raises:
        TypeError: a client would not understand it.
    """
    if isinstance(result, _RESULTS.get(method, Wire)):
        return cast(Result, result)
    if isinstance(result, bytes) and _is_object(result):
        return result
    kind = _RESULTS[method].__name__ if method in _RESULTS else "result"
    raise TypeError(
        f"a middleware returned {type(result).__name__} for {method}; return what "
        f"`await call(exchange)` gave, or a {kind} of your own"
    )


def _is_object(text: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False


def _layer(layer: Middleware, call: Next) -> Next:
    async def through(exchange: Exchange) -> Result:
        return await layer(exchange, call)

    return through
