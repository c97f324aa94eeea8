"""A server that is included in another: the outer catalogue mirrors the inner one.

Each entry of the included server is registered in the outer server under a prefixed name and shares
the function and signature of the original. So a call costs the same as a direct one, unless the
included server has middleware or a lifespan, which the call then goes through.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar, cast

import msgspec

from ..errors import NotFound
from ..features.prompts import Prompt
from ..features.providers.handlers import Route
from ..features.providers.mirror import start_mirror
from ..features.providers.prefix import Prefix
from ..features.providers.registry import Registry
from ..features.resources import Resource
from ..features.tools import Tool
from ..protocol.calls import Counter, Exchange, Result
from ..protocol.ports import LifespanState, Place
from ..protocol.subscriptions import Change, ListChange, ResourceChange
from ..types.resources import ReadResourceResult
from .catalogue import Catalogue
from .dispatch import Dispatch
from .handles import Inclusion
from .lifespans import Lifespans

T = TypeVar("T", bound=Tool | Prompt | Resource)


class InnerExchange:
    """The exchange for an included server: the name or URI in its parameters has no prefix."""

    def __init__(self, exchange: Exchange, params: Any) -> None:
        self.exchange = exchange
        self.params = params

    @property
    def place(self) -> Place | None:
        """The place where its functions run; set on the original, which waits for them there."""
        return self.exchange.place

    @place.setter
    def place(self, place: Place | None) -> None:
        self.exchange.place = place

    def __getattr__(self, name: str) -> Any:
        return getattr(self.exchange, name)


def inner_exchange(exchange: Exchange, **changes: str) -> Exchange:
    """Return the same call with other values in its parameters."""
    params = msgspec.structs.replace(exchange.params, **changes)
    return cast(Exchange, InnerExchange(exchange, params))


class MirroredRegistry(msgspec.Struct, Generic[T], frozen=True):
    """A registry of the included server, and the registry of the outer server that mirrors it.

    Args:
        here, there: the registry of the outer server, and that of the included server.
        joined: maps a name there to the name here.
        own: maps a name here to the name there; None if it has another prefix.
        under: makes the entry for `here` from the name here and the entry there.
    """

    here: Registry[T]
    there: Registry[T]
    joined: Callable[[str], str]
    own: Callable[[str], str | None]
    under: Callable[[str, T], T]


class MountedSource(Generic[T]):
    """The evaluated sources of an included registry, under prefixed names."""

    def __init__(self, part: MirroredRegistry[T]) -> None:
        self._part = part

    @property
    def active(self) -> bool:
        """Whether the included registry has active sources."""
        return self._part.there.is_evaluated

    @property
    def private(self) -> bool:
        """Whether a list depends on the caller, so that its pages must not be shared."""
        return any(source.active and source.private for source in self._part.there.sources)

    async def list(self, exchange: Exchange) -> dict[str, T]:
        """Evaluate the sources; entries by name."""
        joined, under = self._part.joined, self._part.under
        found = await self._part.there.source_items(exchange)
        return {joined(name): under(joined(name), item) for name, item in found.items()}

    async def find(self, exchange: Exchange, name: str) -> T | None:
        """Evaluate the sources for one name; None if there is no such entry."""
        own = self._part.own(name)
        found = None if own is None else await self._part.there.find(exchange, own)
        return None if found is None else self._part.under(name, found)


class Mount:
    """An included server in an outer one.

    Args:
        mine, theirs: catalogues of the outer server and of the included one.
        dispatch: of the included server.
        lifespans: of the outer server.
        counter: of the included server.
    """

    def __init__(
        self,
        mine: Catalogue,
        theirs: Catalogue,
        dispatch: Dispatch,
        prefix: Prefix,
        lifespans: Lifespans,
        counter: Counter,
    ) -> None:
        self._mine = mine
        self._theirs = theirs
        self._dispatch = dispatch
        self._prefix = prefix
        self._lifespans = lifespans
        self._counter = counter

    def include(self, lifespan: LifespanState) -> Inclusion:
        """Mirror all entries of the included server, or none.

        Args:
            lifespan: of the included server.

        Raises:
            ValueError: a name is taken.
        """
        mine, theirs, prefix = self._mine, self._theirs, self._prefix
        names, uris = (prefix.name, prefix.own_name), (prefix.uri, prefix.own_uri)
        parts: list[MirroredRegistry[Any]] = [
            MirroredRegistry(mine.tools.registry, theirs.tools.registry, *names, self._tool),
            MirroredRegistry(mine.prompts.registry, theirs.prompts.registry, *names, self._prompt),
            MirroredRegistry(mine.resources.direct, theirs.resources.direct, *uris, self._resource),
            MirroredRegistry(
                mine.resources.templates, theirs.resources.templates, *uris, self._resource
            ),
        ]
        removals: list[Callable[[], None]] = []
        # Lock order: included server, then outer server.
        with theirs.lock, mine.lock:
            for part in parts:
                for each in part.there.names():
                    part.here.check_free(part.joined(each))
                    part.here.check_followers(part.joined(each))
                    part.here.vet(part.joined(each))
            for part in parts:
                end = start_mirror(part.here, part.there, part.joined, part.under)
                removals.append(partial(self._end_mirror, end))
                source = MountedSource(part)
                part.here.add_source(source)
                removals.append(partial(part.here.remove_source, source))
        removals.append(theirs.changes.join(self._forward_change))
        mine.included.append(theirs)
        removals.append(partial(mine.included.remove, theirs))
        self._lifespans.add(lifespan)
        removals.append(partial(self._lifespans.discard, lifespan))
        mine.publish_all()
        return Inclusion(removals, mine.publish_all)

    def _end_mirror(self, end: Callable[[], None]) -> None:
        with self._theirs.lock, self._mine.lock:
            end()
        self._mine.publish_all()

    def _forward_change(self, change: Change) -> None:
        if isinstance(change, ListChange):
            self._mine.forget_pages()
            self._mine.changes.publish(change)
        else:
            self._mine.changes.publish(ResourceChange(self._prefix.uri(change.uri)))

    def _tool(self, joined: str, tool: Tool) -> Tool:
        plain = tool.under(joined, tool.route)
        to_inner = partial(inner_exchange, name=tool.name)
        return self._counted(
            tool.under(joined, self._route(plain, self._theirs.tools.call, to_inner))
        )

    def _prompt(self, joined: str, prompt: Prompt) -> Prompt:
        plain = prompt.under(joined, prompt.route)
        to_inner = partial(inner_exchange, name=prompt.name)
        return self._counted(
            prompt.under(joined, self._route(plain, self._theirs.prompts.get, to_inner))
        )

    def _resource(self, joined: str, resource: Resource) -> Resource:
        # `joined` has a lowercase scheme; clients get the URI as the author wrote it.
        joined = self._prefix.uri(resource.uri)
        inner = resource.route

        def to_inner(exchange: Exchange) -> Exchange:
            return inner_exchange(exchange, uri=exchange.params.uri[self._prefix.length :])

        def onward(exchange: Exchange) -> Any:
            return _answer_through(exchange, to_inner(exchange), cast(Route, inner))

        # The route of a nested inclusion expects a URI of the included server.
        is_respelled = inner is not None and self._prefix.length
        plain = resource.under(joined, onward if is_respelled else inner)
        route = self._route(plain, self._theirs.resources.read, to_inner)
        return self._counted(resource.under(joined, route))

    def _counted(self, item: T) -> T:
        """Count calls in the metrics of the included server, too."""
        item.subject.counter = self._counter
        return item

    def _route(
        self,
        plain: Tool | Prompt | Resource,
        handle: Callable[..., Any],
        to_inner: Callable[[Exchange], Exchange],
    ) -> Route | None:
        """Return the route of a call through the middleware or lifespan of the included server."""
        dispatch = self._dispatch
        if dispatch.has_middleware:

            def through_middleware(exchange: Exchange) -> Any:
                return self._through_middleware(exchange, to_inner(exchange))

            return through_middleware
        if not dispatch.has_lifespan:
            return plain.route

        def call(exchange: Exchange) -> Any:
            subject = exchange.subject
            outcome = handle(exchange, plain)
            # Metrics count the outer name; its counter passes the count to the included servers.
            exchange.subject = subject
            return outcome

        def call_in_lifespan(exchange: Exchange) -> Any:
            if self._lifespans.has_late:
                return self._join_late_and_call(exchange, call)
            return dispatch.call_in_lifespan(exchange, call)

        return call_in_lifespan

    async def _through_middleware(self, exchange: Exchange, inner: Exchange) -> Result:
        if self._lifespans.has_late:
            self._lifespans.join_late()
        return await _answer_through(exchange, inner, self._dispatch.outcome)

    async def _join_late_and_call(self, exchange: Exchange, call: Route) -> Result:
        self._lifespans.join_late()
        return await exchange.settle(self._dispatch.call_in_lifespan(exchange, call))


async def _answer_through(
    exchange: Exchange, inner: Exchange, handle: Callable[..., Any]
) -> Result:
    """Answer a call through an included server, with the URI of the client in the result."""
    try:
        result = await exchange.settle(handle(inner))
    except NotFound as error:
        if exchange.method != "resources/read":
            raise
        raise NotFound(error.message, uri=exchange.params.uri) from error
    if isinstance(result, ReadResourceResult):
        return _with_client_uri(result, inner.params.uri, exchange.params.uri)
    return result


def _with_client_uri(result: ReadResourceResult, theirs: str, mine: str) -> ReadResourceResult:
    """Put the URI that the client sent in place of the one of the included server."""
    contents = [
        msgspec.structs.replace(each, uri=mine) if each.uri == theirs else each
        for each in result.contents
    ]
    return msgspec.structs.replace(result, contents=contents)
