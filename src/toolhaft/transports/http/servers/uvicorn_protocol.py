"""A connection of our uvicorn server, which answers most requests without an ASGI task.

For the application uvicorn creates a task, a scope and several events per request, which together
cost more than most calls. So a complete POST is given to its endpoint at once. If that yields a
response without waiting, the response is written; everything else goes to the application. And
since the requests of a client differ in little but their bodies, a head that equals the one before,
byte for byte, is not parsed again.

Gain: 69 % less CPU per small call over HTTP (`./dev bench --without short-http-path`).
"""

from collections.abc import Mapping
from typing import Any, Final

from ....protocol.http.head_matcher import HeadMatcher, head_matcher
from ....protocol.http.headers import Head
from ....protocol.limits import Limits
from ..app import App
from ..endpoint import STARTED_CALL, Endpoint
from ..pending_call import Outstanding
from ..post import Begun
from ..response import Whole
from .bounded_protocol import NO_ITEMS, BoundedProtocol
from .http1 import head_of

# Bytes of a body that is held back until it is complete. Longer ones go to the application.
_MOST_HELD: Final = 64 * 1024
# Requests of one segment that are answered inline, before other connections get their turn.
_MOST_INLINE: Final = 16
# Share of `quiet_seconds`, after which a stream is opened, that a call may take without a task.
_SHARE_OF_QUIET: Final = 0.1
# Consecutive requests with another head, after which the matcher is replaced.
_MOST_MISSES: Final = 8


class Protocol(BoundedProtocol):
    """One connection, with inline answers."""

    def __init__(self, app: App, limits: Limits, *args: Any, **kwargs: Any) -> None:
        super().__init__(limits, *args, **kwargs)
        self._services = app
        # Of a request that may be answered inline: endpoint, parsed head, body received so far.
        self._endpoint: Endpoint | None = None
        self._expected: Head | None = None
        self._held = bytearray()
        # The endpoint that has answered the last request inline, or has started its call.
        self._answered_by: Endpoint | None = None
        # Matches the usual head of this connection; with the endpoint of such requests.
        self._matched: tuple[HeadMatcher, Endpoint] | None = None
        self._misses = 0
        # Set if the next request goes to the application in any case: items for its scope.
        self._scope_items: Mapping[str, object] | None = None
        self._outstanding = Outstanding(
            self.loop,
            limits.quiet_seconds * _SHARE_OF_QUIET,
            answer=self._answer_late,
            hand_over=self._hand_over,
        )

    def data_received(self, data: bytes) -> None:
        """Answer a request with a known head; parse everything else."""
        if self._outstanding.call is not None:  # another request before the response
            self._outstanding.hand_over()
        is_first = self._is_between
        if is_first and self._matched is not None and self._answer_matched(*self._matched, data):
            return
        self._note_arrival()
        self._parse(data)
        if is_first:
            self._remember_head(data)
        self._enforce_limits(len(data))

    # Entry 1: a head that was parsed before

    def _answer_matched(self, matcher: HeadMatcher, endpoint: Endpoint, data: bytes) -> bool:
        """Answer a request whose head matches. False: it is still to be parsed."""
        found = matcher.request(data)
        if found is None or self.flow.write_paused:
            return False
        cycle: Any = self.cycle  # `_is_waiting`, written out
        if cycle is not None and not cycle.response_complete:
            return False
        head, body = found
        outcome = endpoint.at_once(head, body)
        if outcome is None:
            self._scope_items = NO_ITEMS
            if endpoint.is_over:
                self._matched = None
            return False
        if self.timeout_keep_alive_task is not None:
            self._unset_keepalive_if_required()
        self._misses = 0
        self._deliver(endpoint, outcome, data)
        return True

    def _remember_head(self, data: bytes) -> None:
        """Make a matcher of a head, if `data` was one request that was answered inline."""
        endpoint, head = self._answered_by, self._expected
        if self._seen != 1 or endpoint is None or not self._is_between:
            return
        self._misses += 1
        if head is not None and (self._matched is None or self._misses > _MOST_MISSES):
            matcher = head_matcher(data, head)
            self._matched = None if matcher is None else (matcher, endpoint)
            self._misses = 0

    # Entry 2: a head that was just parsed

    def on_message_begin(self) -> None:
        """Hand over a call of the request before, whose response would be out of order."""
        if self._outstanding.call is not None:
            self._outstanding.hand_over()
        self._answered_by = None
        super().on_message_begin()

    def _route(self) -> None:
        items, self._scope_items = self._scope_items, None
        if items is not None or not self._may_answer_inline():
            self._call_app(items or NO_ITEMS)

    def _may_answer_inline(self) -> bool:
        """Whether request and connection allow an inline answer; if so, hold the body."""
        parser: Any = self.parser
        if (
            self._is_waiting
            or self.flow.write_paused
            or self._seen > _MOST_INLINE
            or self.expect_100_continue
            or parser.get_method() != b"POST"
            or parser.get_http_version() != "1.1"
            or not parser.should_keep_alive()
        ):
            return False
        endpoint = self._services.at_hand(self.url, self.loop)
        head = None if endpoint is None else endpoint.expects(self.headers)
        if head is None or head.length > _MOST_HELD:
            return False
        self._endpoint, self._expected = endpoint, head
        return True

    def on_body(self, body: bytes) -> None:
        """Hold a part of the body, or pass it to the application."""
        if self._endpoint is None:
            super().on_body(body)
        else:
            self._came_body = True
            self._held += body

    def on_message_complete(self) -> None:
        """Answer a held request, or give it to the application."""
        endpoint, head = self._endpoint, self._expected
        if endpoint is None or head is None:
            super().on_message_complete()
            return
        self._is_between = True
        self._complete += 1
        outcome = endpoint.at_once(head, bytes(self._held))
        if outcome is None:
            self._release_body()
            self._complete_for_app()
        else:
            self._endpoint = None
            self._answered_by = endpoint
            self._deliver(endpoint, outcome, None)

    # Inline answers

    def _deliver(self, endpoint: Endpoint, outcome: Whole | Begun, data: bytes | None) -> None:
        """Write a response, or wait for that of a started call.

        Args:
            data: the request, unless it was parsed.
        """
        if type(outcome) is Whole:
            self._held.clear()
            self._write_response(outcome)
        elif type(outcome) is Begun:
            self._outstanding.hold(endpoint, outcome, data)

    def _write_response(self, whole: Whole) -> None:
        head, body = head_of(whole), whole.body
        if len(body) > _MOST_HELD:
            # Not `writelines`, after which some versions of asyncio don't pause the protocol.
            self.transport.write(head)
            self.transport.write(body)
        else:
            self.transport.write(head + body)
        self.server_state.total_requests += 1
        self._active_at = self.loop.time()
        if self._idle is None:
            self._idle = self.loop.call_later(self.timeout_keep_alive, self._close_if_idle)

    def _answer_late(self, whole: Whole) -> None:
        """Write the response of a call that had to wait."""
        self._held.clear()
        if not self.transport.is_closing():
            self._write_response(whole)

    @property
    def _is_waiting(self) -> bool:
        """Whether the client waits for a response, of the application or of a started call."""
        return super()._is_waiting or self._outstanding.call is not None

    # Requests that go to the application after all

    @property
    def _holds_body(self) -> bool:
        return self._endpoint is not None

    def _release_body(self, scope_items: Mapping[str, object] = NO_ITEMS) -> None:
        """Start the application, and give it the body received so far."""
        self._endpoint = None
        self._call_app(scope_items)
        if self._held:
            super().on_body(bytes(self._held))
            self._held.clear()

    def _hand_over(self, endpoint: Endpoint, begun: Begun, data: bytes | None) -> None:
        """Let the application respond for a call that was started inline."""
        items = {STARTED_CALL: (endpoint, begun)}
        if data is None:
            self._release_body(items)
            self._complete_for_app()
        else:
            self._scope_items = items
            self._seen = self._complete = 0
            self._parse(data)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Let the application respond, which notices when the client is gone."""
        self._outstanding.hand_over()
        return super().eof_received()

    def shutdown(self) -> None:
        """Serve the request that is held or started, and none after it."""
        if self._endpoint is not None:
            self._release_body()
        self._outstanding.hand_over()
        super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let the application cancel a started call, or finish it, as its era demands."""
        self._outstanding.hand_over()
        self._outstanding.close()
        super().connection_lost(exc)
