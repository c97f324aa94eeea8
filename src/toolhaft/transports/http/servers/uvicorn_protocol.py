"""uvicorn's protocol on httptools, with a short way to answers and bounds for clients.

For an application there is a task, a scope and some events for each request, which together cost
more than most calls. So a message that is all there is shown to its service at once. What comes of
it without waiting is written; everything else goes the long way, to the application. And since the
requests of a client differ in little but their bodies, a head that is the same as one before, byte
for byte, is not parsed again.

An application sees a request when its headers are there, and cannot end a connection whose client
does not read. So both are seen to here.
"""

import asyncio
from functools import partial
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ....protocol.http.head_cache import Known, known
from ....protocol.http.headers import LONGEST_HEADERS, Head
from ....protocol.limits import Limits
from ..app import App
from ..disconnect_log import cut_offs
from ..endpoint import Endpoint
from ..pending_call import Outstanding
from ..post import Begun
from ..response import Whole
from .half_closed import HalfClosed
from .http1 import Flow, head_of, unchunked

# Of a body that is held back until all of it is there; longer ones are worth a task.
_MOST_HELD: Final = 64 * 1024
# Of a head that is not complete yet; one that is, is measured by its own rules.
_MOST_HEAD: Final = 2 * LONGEST_HEADERS
_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)
# Of requests that came at once, before others on the loop have their turn.
_MOST_AT_ONCE: Final = 16
# Of requests that wait for the answer to one before them; whoever sends more is not served. Of
# requests that mean something, no more than that come at once.
_MOST_QUEUED: Final = 1024
# Of the time after which a stream is begun for a client that waits: for so long, a call may be
# answered without a task.
_SHARE_OF_QUIET: Final = 0.1
# So many requests with other heads, and the one that is remembered makes way.
_MOST_MISSES: Final = 8


class Protocol(HttpToolsProtocol):
    """One connection.

    It is closed if a request is begun and not gone on with, and if an answer is not read."""

    def __init__(self, app: App, limits: Limits, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._services = app
        # What goes the long way goes here, unless its call is under way.
        self._usual: Any = self.app  # pyright: ignore[reportUnknownMemberType]
        self._limits = limits
        self._in_head = True
        self._head_size = 0
        # Does the request want another protocol? Did some of its body come just now?
        self._upgrades = False
        self._came_body = False
        # Which request the application serves.
        self._served: Any = None
        # Who may answer at once, and what is there of the request until then.
        self._endpoint: Endpoint | None = None
        self._expected: Head | None = None
        self._held = bytearray()
        # Was the last request complete? How many are begun and are complete of what came at once?
        self._is_between = True
        self._seen = 0
        self._complete = 0
        # Who has answered it at once, if anybody has.
        self._answered_by: Endpoint | None = None
        # A head to know again, and who has answered it.
        self._known: Known | None = None
        self._known_by: Endpoint | None = None
        self._misses = 0
        # What gives the answer of a call that is under way before its request is parsed.
        self._begun: Any = None
        self._outstanding = Outstanding(
            self.loop,
            limits.quiet_seconds * _SHARE_OF_QUIET,
            answer=self._answer_late,
            hand_over=self._hand_over,
        )
        # When something last happened, and whether anybody looks how long ago that is.
        self._active_at = 0.0
        self._idle: asyncio.TimerHandle | None = None
        # Runs while a head or a body that is held back is incomplete; and is it for the body?
        self._patience: asyncio.TimerHandle | None = None
        self._awaits_body = False
        self._stall: asyncio.TimerHandle | None = None
        # Set once the client has ended its side and still waits for an answer.
        self._half_closed: HalfClosed | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is there; it has so long to say what it wants."""
        super().connection_made(transport)
        self.flow = Flow(transport, self.pipeline)
        self._wait()

    def on_message_begin(self) -> None:
        """A request begins. Its scope is made when it is needed."""
        if self._outstanding.call is not None:
            self._outstanding.hand_over()
        self._in_head = True
        self._is_between = False
        self._answered_by = None
        self._seen += 1
        self.url = b""
        self.headers = []
        self.expect_100_continue = False

    def on_headers_complete(self) -> None:
        """Its headers are there."""
        self._in_head = False
        self._head_size = 0
        parser: Any = self.parser
        self._upgrades = parser.should_upgrade()
        if self._upgrades:
            return  # it is parsed again, without that
        begun, self._begun = self._begun, None
        if begun is not None or not self._is_expected():
            self._begin(begun)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One of them. What comes behind a body is none: nobody has looked at it before."""
        if self._in_head:
            super().on_header(name, value)

    def _is_expected(self) -> bool:
        """Are the request and the connection such that it may be answered at once?"""
        parser: Any = self.parser
        if (
            self._is_waiting
            or self.flow.write_paused
            or self._seen > _MOST_AT_ONCE
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

    @property
    def _is_waiting(self) -> bool:
        """Does the client wait for an answer of the application?"""
        cycle: Any = self.cycle  # which is none before the first
        is_served = not (cycle is None or cycle.response_complete)
        return is_served or self._outstanding.call is not None

    def on_body(self, body: bytes) -> None:
        """More of its body."""
        self._came_body = True
        if self._endpoint is None:
            super().on_body(body)
        else:
            self._held += body

    def on_message_complete(self) -> None:
        """All of it is there."""
        if self._upgrades:
            return
        self._is_between = True
        self._complete += 1
        endpoint, head = self._endpoint, self._expected
        if endpoint is None or head is None:
            super().on_message_complete()
            return
        outcome = endpoint.at_once(head, bytes(self._held))
        if type(outcome) is Whole:
            self._endpoint = None
            self._held.clear()
            self._answered_by = endpoint
            self._answer(outcome)
        elif type(outcome) is Begun:
            self._endpoint = None
            self._answered_by = endpoint
            self._outstanding.hold(endpoint, outcome, None)
        else:
            self._let_go()
            super().on_message_complete()

    # The long way

    def _begin(self, app: Any = None) -> None:
        """What was left out at the beginning of the request."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.headers, self.expect_100_continue = url, headers, expects
        self.scope["headers"] = headers
        usual: Any = self._usual
        self.app = usual if app is None else app
        try:
            super().on_headers_complete()
        finally:
            self.app = usual
        if len(self.pipeline) > _MOST_QUEUED:
            self._cut_off("it sends requests without waiting for answers")

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._served = cycle
        if cycle.scope["http_version"] == "1.0":
            app = partial(unchunked, app, cycle)
        super()._start_asgi_task(cycle, app)

    def _let_go(self, app: Any = None) -> None:
        """What was held back goes the long way."""
        self._endpoint = None
        self._begin(app)
        if self._held:
            super().on_body(bytes(self._held))
            self._held.clear()

    def _hand_over(self, endpoint: Endpoint, begun: Begun, data: bytes | None) -> None:
        """The answer of an outstanding call is given by the application."""
        app = partial(endpoint, begun=begun)
        if data is None:
            self._let_go(app)
            super().on_message_complete()
        else:
            self._begun = app
            self._seen = self._complete = 0
            self._parse(data)

    def on_response_complete(self) -> None:
        """The application has answered."""
        self._active_at = self.loop.time()
        super().on_response_complete()

    # The short way

    def _again(self, known_head: Known, data: bytes) -> bool:
        """Answer a request whose head is known. False: it is still to be parsed."""
        found, endpoint = known_head.request(data), self._known_by
        if found is None or endpoint is None or self.flow.write_paused:
            return False
        cycle: Any = self.cycle  # `_is_waiting`, written out
        if cycle is not None and not cycle.response_complete:
            return False
        head, body = found
        outcome = endpoint.at_once(head, body)
        if type(outcome) is Whole:
            if self.timeout_keep_alive_task is not None:
                self._unset_keepalive_if_required()
            self._misses = 0
            self._answer(outcome)
            return True
        if type(outcome) is Begun:
            if self.timeout_keep_alive_task is not None:
                self._unset_keepalive_if_required()
            self._misses = 0
            self._outstanding.hold(endpoint, outcome, data)
            return True
        self._begun = self._usual
        if endpoint.is_over:
            self._known = self._known_by = None
        return False

    def _remember(self, data: bytes) -> None:
        """The head of a request that was answered at once, or will be without the application, if
        it was all that came."""
        if self._seen != 1 or self._answered_by is None or not self._is_between:
            return
        self._misses += 1
        if self._expected is not None and (self._known is None or self._misses > _MOST_MISSES):
            self._known = known(data, self._expected)
            self._known_by = self._answered_by
            self._misses = 0

    def _answer(self, whole: Whole) -> None:
        head, body = head_of(whole), whole.body
        if len(body) > _MOST_HELD:
            # Not `writelines`, after which not every version of asyncio holds us back.
            self.transport.write(head)
            self.transport.write(body)
        else:
            self.transport.write(head + body)
        self.server_state.total_requests += 1
        self._active_at = self.loop.time()
        if self._idle is None:
            self._idle = self.loop.call_later(self.timeout_keep_alive, self._look_for_life)

    def _answer_late(self, whole: Whole) -> None:
        """The answer of an outstanding call."""
        self._held.clear()
        if not self.transport.is_closing():
            self._answer(whole)

    def _look_for_life(self) -> None:
        """Close a connection on which nothing has happened for a while. One timer does for many
        requests."""
        self._idle = None
        if self._patience is not None or self._is_waiting:
            return  # something happens just now; whoever answers sees to the next timer
        left = self._active_at + self.timeout_keep_alive - self.loop.time()
        if left <= 0 and not self.flow.write_paused:
            self.timeout_keep_alive_handler()
        else:
            seconds = left if left > 0 else self.timeout_keep_alive
            self._idle = self.loop.call_later(seconds, self._look_for_life)

    def shutdown(self) -> None:
        """The server ends: what was held back is answered, and nothing after it."""
        if self._endpoint is not None:
            self._let_go()
        self._outstanding.hand_over()
        super().shutdown()

    # Bounds

    def data_received(self, data: bytes) -> None:
        """More of a request, or of several."""
        if self._outstanding.call is not None:  # its client goes on before it is answered
            self._outstanding.hand_over()
        is_first = self._is_between
        if is_first and self._known is not None and self._again(self._known, data):
            return
        cycle: Any = self.cycle
        # What is still read of a request that was answered before it was all there is no life.
        if is_first or self._in_head or cycle is None or not cycle.response_complete:
            self._active_at = self.loop.time()
        self._seen = self._complete = 0
        self._came_body = False
        self._parse(data)
        if is_first:
            self._remember(data)
        if self._in_head or self._endpoint is not None:
            self._await_rest(len(data))
            return
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        self._await_more(len(data))

    def _await_rest(self, size: int) -> None:
        """A head is incomplete, or a body that is held back: see to it that the rest comes."""
        if self._in_head:
            # What belongs to other requests does not count.
            self._head_size = 0 if self._complete else self._head_size + size
            if self._complete and self._patience is not None:
                self._patience.cancel()
                self._patience = None
        if self._head_size > _MOST_HEAD:
            self.transport.write(_TOO_LARGE)
            self.transport.close()
        elif self._patience is None or self._awaits_body is not (self._endpoint is not None):
            self._wait()

    def _parse(self, data: bytes) -> None:
        """As uvicorn does, but for requests to speak another protocol: they may be served as if
        they had said nothing of it. The parser would leave out their bodies."""
        self._unset_keepalive_if_required()
        while data:
            parser: Any = self.parser
            try:
                parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
                if parser.get_method() == b"CONNECT":
                    self.send_400_response("CONNECT is not served here.")
                    return
                self._parse_again()
            except httptools.HttpParserError:
                self.send_400_response("Invalid HTTP request received.")
                return

    def _parse_again(self) -> None:
        """The head that was parsed last, without what it says of another protocol."""
        method: bytes = self.parser.get_method()
        version: str = self.parser.get_http_version()
        closes = not self.parser.should_keep_alive()
        lines = [b"%b %b HTTP/%b" % (method, self.url, version.encode())]
        dropped = (b"upgrade", b"connection", b"http2-settings")
        lines += [b"%b: %b" % field for field in self.headers if field[0] not in dropped]
        lines += [b"connection: close"] if closes else []
        self.parser = parser = httptools.HttpRequestParser(self)
        parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's own is
        self._seen -= 1  # which is counted again
        parser.feed_data(b"\r\n".join((*lines, b"", b"")))

    def _await_more(self, size: int) -> None:
        """Something has come that begins no request: see to it that there is an end to that."""
        if self._is_between or self._came_body:
            self._head_size = 0
        else:  # what is around the parts of a body, and behind it
            self._head_size += size
            if self._head_size > _MOST_HEAD:
                self._cut_off("it sends what is no request")
                return
        if self._idle is None and not self._is_waiting:
            self._idle = self.loop.call_later(self.timeout_keep_alive, self._look_for_life)

    def pause_writing(self) -> None:
        """The client does not read as fast as we write."""
        super().pause_writing()
        self._watch(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """It does."""
        super().resume_writing()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client has ended its side. False: nothing is to be answered, or it is gone, so that
        the connection is closed."""
        self._outstanding.hand_over()
        served = self._served
        if served is None or served.response_complete or served.more_body:
            return False
        if served.scope["method"] != "POST":
            # A client that has stopped listening: the place of its stream is for others at once.
            return False
        half_closed = HalfClosed(self.transport, self.loop, self._nudge)
        if half_closed.is_over:
            return False
        cycle: Any = self.cycle
        cycle.keep_alive = False  # the last answer ends the connection
        half_closed.watch(has_begun=served.response_started)
        self._half_closed = half_closed
        return True

    def _nudge(self) -> None:
        """Give the application a message without a body, behind the body: see `answering.watch`."""
        self._served.message_event.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        if self._half_closed is not None:
            self._half_closed.stop()
        for timer in (self._patience, self._stall, self._idle):
            if timer is not None:
                timer.cancel()
        self._outstanding.hand_over()
        self._outstanding.close()
        # uvicorn tells only the request that came last.
        for cycle in (self._served, *(queued for queued, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        self.pipeline.clear()
        super().connection_lost(exc)

    def _wait(self) -> None:
        """Wait for the rest of a head, or of a body that is held back."""
        if self._patience is not None:
            self._patience.cancel()
        self._awaits_body = self._endpoint is not None
        limits = self._limits
        seconds = limits.longest_gap if self._awaits_body else limits.head_seconds
        self._patience = self.loop.call_later(seconds, self._is_late)

    def _is_late(self) -> None:
        """A head took too long. A body may still come: the application knows how long to wait."""
        self._patience = None
        if self._endpoint is not None:
            self._let_go()
        else:
            cut_offs.tell("the head of its request did not come", self.client)
            self.transport.close()

    def _cut_off(self, reason: str) -> None:
        cut_offs.tell(reason, self.client)
        self.transport.abort()

    def _watch(self, left: int) -> None:
        self._stall = self.loop.call_later(self._limits.stall_seconds, self._look, left)

    def _look(self, before: int) -> None:
        """Has it read anything? To close would be to wait for it."""
        left = self.transport.get_write_buffer_size()
        if left < before:
            self._watch(left)
        else:
            self._cut_off(f"it has read nothing for {self._limits.stall_seconds:g} s")
