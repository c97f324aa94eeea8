"""The way from a call to its handler: through the middleware, and not before the lifespan."""

from collections.abc import Mapping, Sequence

from .errors import MethodNotFound, shown
from .protocol.calls import Exchange, Handler, Middleware, Next, Outcome, Result
from .protocol.ports import LifespanState

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

        async def innermost(exchange: Exchange) -> Result:
            return await self._later(exchange, handler)

        call: Next = innermost
        for layer in reversed(self._middleware):
            call = _layer(layer, call)
        return call

    async def _later(self, exchange: Exchange, handler: Handler) -> Result:
        if self._lifespan is not None and exchange.method not in _AT_ONCE:
            await self._lifespan.wait()
        return await exchange.settle(handler(exchange))


def _layer(layer: Middleware, call: Next) -> Next:
    async def through(exchange: Exchange) -> Result:
        return await layer(exchange, call)

    return through
