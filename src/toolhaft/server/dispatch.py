"""Dispatch: from a call to its handler, through the middleware and after the lifespan."""

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

# Result type of each method. A handler may also return encoded JSON.
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

# Methods that do not wait for the lifespan, so that the handshake and lists stay fast.
_BEFORE_LIFESPAN = frozenset(
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
    """Handlers by method, with the middleware and the lifespan around them."""

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
        # The first is the outermost.
        self._middleware = tuple(middleware)
        self._lifespan = lifespan

    def outcome(self, exchange: Exchange) -> Outcome:
        """Call the handler of an exchange, through middleware and lifespan."""
        handler = self._handlers.get(exchange.method)
        if handler is None:
            raise MethodNotFound(f"this server does not offer {shown(exchange.method)}")
        if self._middleware:
            return self._wrap_in_middleware(handler)(exchange)
        if self._lifespan is None:
            return handler(exchange)
        return self.call_in_lifespan(exchange, handler)

    @property
    def has_middleware(self) -> bool:
        """Whether handlers are called through middleware."""
        return bool(self._middleware)

    @property
    def has_lifespan(self) -> bool:
        """Whether calls may have to wait for a lifespan."""
        return self._lifespan is not None

    def call_in_lifespan(self, exchange: Exchange, handler: Handler) -> Outcome:
        """Call a handler, at once if the lifespan is entered, or else when it is."""
        lifespan = self._lifespan
        if lifespan is None or lifespan.entered or exchange.method in _BEFORE_LIFESPAN:
            return handler(exchange)
        return self._wait_and_call(exchange, handler)

    def _wrap_in_middleware(self, handler: Handler) -> Next:
        """Wrap a handler in the middleware."""
        from_handler: Result = b""

        async def innermost(exchange: Exchange) -> Result:
            nonlocal from_handler
            from_handler = await self._wait_and_call(exchange, handler)
            return from_handler

        first, *others = self._middleware
        call: Next = innermost
        for layer in reversed(others):
            call = _layer(layer, call)

        async def outermost(exchange: Exchange) -> Result:
            result = await first(exchange, call)
            return result if result is from_handler else _checked(result, exchange.method)

        return outermost

    async def _wait_and_call(self, exchange: Exchange, handler: Handler) -> Result:
        if self._lifespan is not None and exchange.method not in _BEFORE_LIFESPAN:
            await self._lifespan.wait()
        return await exchange.settle(handler(exchange))


def _checked(result: Any, method: str) -> Result:
    """Check the result that a middleware returned instead of the one of the handler.

    Raises:
        TypeError: the result is not one of the method.
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
