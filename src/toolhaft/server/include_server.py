"""A server as a part of another: what it offers is offered there, now and whenever it changes.

What is registered in the one is registered in the other, under a joined name, as the very same
thing. So a call costs what it costs directly, unless the included server has something of its own
around its calls: then the call goes through that.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar, cast

import msgspec

from ..errors import NotFound
from ..features.prompts import Prompt
from ..features.providers.handlers import Route
from ..features.providers.mirror import follow
from ..features.providers.prefix import Prefix
from ..features.providers.registry import Registry
from ..features.resources import Resource
from ..features.tools import Tool
from ..protocol.calls import Counter, Exchange, Result
from ..protocol.ports import LifespanState, Place
from ..protocol.subscriptions import Change, ListChange, ResourceChange
from ..types.resources import ReadResourceResult
from .catalogue import Offers
from .dispatch import Dispatch
from .handles import Inclusion
from .lifespans import Lifespans

T = TypeVar("T", bound=Tool | Prompt | Resource)


class Within:
    """A call as an included server sees it: by the name or the URI that it knows itself."""

    def __init__(self, exchange: Exchange, params: Any) -> None:
        self.exchange = exchange
        self.params = params

    @property
    def place(self) -> Place | None:
        """Where its functions have to run, which whoever waits for them has to know."""
        return self.exchange.place

    @place.setter
    def place(self, place: Place | None) -> None:
        self.exchange.place = place

    def __getattr__(self, name: str) -> Any:
        return getattr(self.exchange, name)


def within(exchange: Exchange, **known: str) -> Exchange:
    """The same call with other words in its parameters."""
    params = msgspec.structs.replace(exchange.params, **known)
    return cast(Exchange, Within(exchange, params))


class Part(msgspec.Struct, Generic[T], frozen=True):
    """One kind of what an included server offers.

    Args:
        here, there: where it is kept by the one that includes, and by the one that is included.
        joined: the name here of what has a name there.
        own: the name there of what has a name here, if it is from there.
        under: the thing as it is here, under this name.
    """

    here: Registry[T]
    there: Registry[T]
    joined: Callable[[str], str]
    own: Callable[[str], str | None]
    under: Callable[[str, T], T]


class MountedSource(Generic[T]):
    """The sources of an included registry, under joined names."""

    def __init__(self, part: Part[T]) -> None:
        self._part = part

    @property
    def active(self) -> bool:
        """Has the included server any sources?"""
        return self._part.there.is_evaluated

    @property
    def private(self) -> bool:
        """Does one of them look at who asks?"""
        return any(source.active and source.private for source in self._part.there.sources)

    async def list(self, exchange: Exchange) -> dict[str, T]:
        """What they have now."""
        joined, under = self._part.joined, self._part.under
        found = await self._part.there.gathered(exchange)
        return {joined(name): under(joined(name), item) for name, item in found.items()}

    async def find(self, exchange: Exchange, name: str) -> T | None:
        """The thing of this name, if one of them has it now."""
        own = self._part.own(name)
        found = None if own is None else await self._part.there.find(exchange, own)
        return None if found is None else self._part.under(name, found)


class Mount:
    """One server in another.

    Args:
        lifespans: of the server that includes.
        counter: of the server that is included.
    """

    def __init__(
        self,
        mine: Offers,
        theirs: Offers,
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
        """Offer all of it, or nothing.

        Args:
            lifespan: of the server that is included.

        Raises:
            ValueError: a name is taken.
        """
        mine, theirs, prefix = self._mine, self._theirs, self._prefix
        names, uris = (prefix.name, prefix.own_name), (prefix.uri, prefix.own_uri)
        parts: list[Part[Any]] = [
            Part(mine.tools.registry, theirs.tools.registry, *names, self._tool),
            Part(mine.prompts.registry, theirs.prompts.registry, *names, self._prompt),
            Part(mine.resources.direct, theirs.resources.direct, *uris, self._resource),
            Part(mine.resources.templates, theirs.resources.templates, *uris, self._resource),
        ]
        removals: list[Callable[[], None]] = []
        # Always in this order: whoever is included, then whoever includes it.
        with theirs.lock, mine.lock:
            for part in parts:
                for each in part.there.names():
                    part.here.check_free(part.joined(each))
                    part.here.check_followers(part.joined(each))
                    part.here.vet(part.joined(each))
            for part in parts:
                end = follow(part.here, part.there, part.joined, part.under)
                removals.append(partial(self._locked, end))
                source = MountedSource(part)
                part.here.attend(source)
                removals.append(partial(part.here.leave, source))
        removals.append(theirs.changes.join(self._heard))
        mine.included.append(theirs)
        removals.append(partial(mine.included.remove, theirs))
        self._lifespans.add(lifespan)
        removals.append(partial(self._lifespans.discard, lifespan))
        mine.tell_all()
        return Inclusion(removals, mine.tell_all)

    def _locked(self, end: Callable[[], None]) -> None:
        with self._theirs.lock, self._mine.lock:
            end()
        self._mine.tell_all()

    def _heard(self, change: Change) -> None:
        if isinstance(change, ListChange):
            self._mine.forget_pages()
            self._mine.changes.publish(change)
        else:
            self._mine.changes.publish(ResourceChange(self._prefix.uri(change.uri)))

    def _tool(self, joined: str, tool: Tool) -> Tool:
        plain = tool.under(joined, tool.route)
        known = partial(within, name=tool.name)
        return self._counted(tool.under(joined, self._route(plain, self._theirs.tools.call, known)))

    def _prompt(self, joined: str, prompt: Prompt) -> Prompt:
        plain = prompt.under(joined, prompt.route)
        known = partial(within, name=prompt.name)
        return self._counted(
            prompt.under(joined, self._route(plain, self._theirs.prompts.get, known))
        )

    def _resource(self, joined: str, resource: Resource) -> Resource:
        # The name by which it is registered has its scheme in lower case; its author's has not.
        joined = self._prefix.uri(resource.uri)
        inner = resource.route

        def known(exchange: Exchange) -> Exchange:
            return within(exchange, uri=exchange.params.uri[self._prefix.length :])

        def onward(exchange: Exchange) -> Any:
            return _answered(exchange, known(exchange), cast(Route, inner))

        # A way further in begins at a URI of the included server.
        is_respelled = inner is not None and self._prefix.length
        plain = resource.under(joined, onward if is_respelled else inner)
        route = self._route(plain, self._theirs.resources.read, known)
        return self._counted(resource.under(joined, route))

    def _counted(self, item: T) -> T:
        """What is called here is counted there, too."""
        item.subject.counter = self._counter
        return item

    def _route(
        self,
        plain: Tool | Prompt | Resource,
        handle: Callable[..., Any],
        known: Callable[[Exchange], Exchange],
    ) -> Route | None:
        """The way of a call through what the included server has around its calls."""
        dispatch = self._dispatch
        if dispatch.has_middleware:

            def through(exchange: Exchange) -> Any:
                return self._through(exchange, known(exchange))

            return through
        if not dispatch.has_lifespan:
            return plain.route

        def begin(exchange: Exchange) -> Any:
            subject = exchange.subject
            outcome = handle(exchange, plain)
            # It is counted by the name that it was called by, and from there in all it is from.
            exchange.subject = subject
            return outcome

        def later(exchange: Exchange) -> Any:
            if self._lifespans.is_late:
                return self._late(exchange, begin)
            return dispatch.enter(exchange, begin)

        return later

    async def _through(self, exchange: Exchange, known: Exchange) -> Result:
        if self._lifespans.is_late:
            self._lifespans.catch_up()
        return await _answered(exchange, known, self._dispatch.outcome)

    async def _late(self, exchange: Exchange, begin: Route) -> Result:
        self._lifespans.catch_up()
        return await exchange.settle(self._dispatch.enter(exchange, begin))


async def _answered(exchange: Exchange, known: Exchange, handle: Callable[..., Any]) -> Result:
    """The answer to a call as an included server knows it, in the words of whoever asks."""
    try:
        result = await exchange.settle(handle(known))
    except NotFound as error:
        if exchange.method != "resources/read":
            raise
        raise NotFound(error.message, uri=exchange.params.uri) from error
    if isinstance(result, ReadResourceResult):
        return _respelled(result, known.params.uri, exchange.params.uri)
    return result


def _respelled(result: ReadResourceResult, theirs: str, mine: str) -> ReadResourceResult:
    """The answer keeps the client's spelling of the URI."""
    contents = [
        msgspec.structs.replace(each, uri=mine) if each.uri == theirs else each
        for each in result.contents
    ]
    return msgspec.structs.replace(result, contents=contents)
