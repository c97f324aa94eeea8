"""Who hears of changes: `subscriptions/listen`, `resources/subscribe` and `unsubscribe`.

One call of `publish` reaches clients of both eras. A session follows every list and the resources
it subscribed to; a subscription follows what it named, for as long as its request is open.
"""

import threading
from collections.abc import Callable
from functools import partial

from ..errors import InvalidParams, MethodNotFound
from ..protocol.calls import Exchange, Outcome, Result
from ..protocol.handshake import Session
from ..protocol.subscriptions import Change, Interests, Listener, honoured
from ..types.notifications import Acknowledged, Cancelled, ListenParams
from ..types.wire import Meta
from ..types.wire import Result as EmptyResult
from .providers.registry import require

_MOST_URIS = 1000
_LONGEST_URI = 8192
_MOST_CHARACTERS = 65_536
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


class Changes:
    """Carries what changed to whoever listens."""

    def __init__(self, offered: Callable[[], frozenset[str]]) -> None:
        self._offered = offered
        self._listeners: list[Listener] = []
        # Reentrant: a listener may be told of a change while it is being acknowledged.
        self._lock = threading.RLock()

    def join(self, listener: Listener) -> Callable[[], None]:
        """Hear of every change from now on; the result ends that."""
        with self._lock:
            self._listeners.append(listener)
        return partial(self._leave, listener)

    def publish(self, change: Change) -> None:
        """Tell everyone who listens. From any thread."""
        with self._lock:
            for listener in list(self._listeners):
                listener(change)

    def listen(self, exchange: Exchange) -> Outcome:
        """Answer `subscriptions/listen`, which is a long call."""
        require(self._offered(), "changes to listen to")
        _check(exchange.params.notifications.resource_subscriptions or [])
        return self._listen(exchange)

    def subscribe(self, exchange: Exchange) -> Outcome:
        """Answer `resources/subscribe`."""
        require(self._offered() & {"resources"}, "resources")
        interests = _interests(exchange)
        _check([*interests.uris, exchange.params.uri])
        interests.uris |= {exchange.params.uri}
        return EmptyResult()

    def unsubscribe(self, exchange: Exchange) -> Outcome:
        """Answer `resources/unsubscribe`."""
        require(self._offered() & {"resources"}, "resources")
        _interests(exchange).uris -= {exchange.params.uri}
        return EmptyResult()

    async def _listen(self, exchange: Exchange) -> Result:
        params: ListenParams = exchange.params
        granted, interests = honoured(params.notifications, self._offered())
        meta: Meta = {SUBSCRIPTION: exchange.id}

        def hear(change: Change) -> None:
            if interests.match(change):
                method, notice = change.notification()
                notice.meta = meta
                # Many changes at once are one piece of news.
                exchange.soon(change, partial(exchange.notify, method, notice))

        # Nothing may come before the acknowledgement, and nothing may be missed after it.
        with self._lock:
            leave = self.join(hear)
            exchange.notify(
                "notifications/subscriptions/acknowledged",
                Acknowledged(notifications=granted, meta=meta),
            )
        try:
            await exchange.closing()
        finally:
            leave()
        # One page of the specification ends a subscription by a notification, another one by the
        # result: a client is happy with whichever it knows. Over HTTP the end of the stream says
        # the same as the notification.
        if exchange.headers is None:
            exchange.notify(
                "notifications/cancelled",
                Cancelled(request_id=exchange.id, reason="the server ends", meta=meta),
            )
        return EmptyResult(meta=meta)

    def _leave(self, listener: Listener) -> None:
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)


def _check(uris: list[str]) -> None:
    """What a client may make us remember.

    Raises:
        InvalidParams: it is too much.
    """
    if len(uris) > _MOST_URIS:
        raise InvalidParams(f"at most {_MOST_URIS} resources can be followed at once")
    if sum(map(len, uris)) > _MOST_CHARACTERS:
        raise InvalidParams(f"URIs to follow have at most {_MOST_CHARACTERS} characters in all")
    if any(len(uri) > _LONGEST_URI for uri in uris):
        raise InvalidParams(f"a URI to follow has at most {_LONGEST_URI} characters")


def _interests(exchange: Exchange) -> Interests:
    session = exchange.era
    assert isinstance(session, Session), "these methods are in no other row"
    if not session.reachable:  # and was not told that it could
        raise MethodNotFound(
            "resources cannot be followed on this connection, which has no session in which the "
            "client could be told of changes"
        )
    return session.interests
