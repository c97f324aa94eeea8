"""uvicorn's HTTP/1.1 protocol class, with limits on what a client may hold or send.

uvicorn calls the application once the headers are complete, and the application cannot close a
connection. So incomplete heads, unread responses, idle connections and pipelining are limited here.
Half-closed connections, HTTP/1.0 and Upgrade headers are handled here, too.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ....protocol.http.headers import LONGEST_HEADERS
from ....protocol.limits import Limits
from ..disconnect_log import cut_offs
from .half_closed import HalfClosed
from .http1 import Flow, unchunked

# Bytes of an incomplete head. A complete one is bounded by `LONGEST_HEADERS`.
_MOST_HEAD: Final = 2 * LONGEST_HEADERS
_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)
# Pipelined requests that wait for an earlier response. A client that sends more is disconnected.
_MOST_PIPELINED: Final = 1024
NO_ITEMS: Final[Mapping[str, object]] = MappingProxyType({})


class BoundedProtocol(HttpToolsProtocol):
    """One connection, closed if the client stops sending a request or reading a response.

    A subclass overrides `_route` to answer a request without the application. It may hold the
    body back for that; `_holds_body` and `_release_body` are about such a body.
    """

    def __init__(self, limits: Limits, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        # Whether a head is awaited or incomplete, and the bytes received of it.
        self._in_head = True
        self._head_size = 0
        # Whether the head has an Upgrade header, so that it is parsed again without it.
        self._upgrades = False
        # Whether the last request is complete.
        self._is_between = True
        # About the bytes received last: had they body data? Requests begun and completed in them.
        self._came_body = False
        self._seen = 0
        self._complete = 0
        # uvicorn's request-response cycle that the application serves.
        self._served: Any = None
        # Loop time of the last activity, and the timer that closes an idle connection.
        self._active_at = 0.0
        self._idle: asyncio.TimerHandle | None = None
        # Timer for an incomplete head or held body, and whether it is for the body.
        self._patience: asyncio.TimerHandle | None = None
        self._awaits_body = False
        # Timer for a response that is not read.
        self._stall: asyncio.TimerHandle | None = None
        # Set once the client has closed its sending side and may still wait for a response.
        self._half_closed: HalfClosed | None = None

    # Hooks of the subclass

    @property
    def _holds_body(self) -> bool:
        """Whether the body of the present request is held back from the application."""
        return False

    def _release_body(self) -> None:
        """Give a held body to the application."""

    def _route(self) -> None:
        """Decide what serves a request whose headers are complete."""
        self._call_app()

    # Requests

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the first head."""
        super().connection_made(transport)
        self.flow = Flow(transport, self.pipeline)
        self._start_read_timer()

    def on_message_begin(self) -> None:
        """Reset what is collected of a head. `_call_app` creates the scope, if it is needed."""
        self._in_head = True
        self._is_between = False
        self._seen += 1
        self.url = b""
        self.headers = []
        self.expect_100_continue = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collect a header. Trailers, behind the body, are dropped: no check has seen them."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Route the request, unless its head is to be parsed again."""
        self._in_head = False
        self._head_size = 0
        parser: Any = self.parser
        self._upgrades = parser.should_upgrade()
        if not self._upgrades:
            self._route()

    def on_body(self, body: bytes) -> None:
        """Pass a part of the body to the application."""
        self._came_body = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Tell the application that the body is complete."""
        if not self._upgrades:
            self._is_between = True
            self._complete += 1
            super().on_message_complete()

    def _call_app(self, scope_items: Mapping[str, object] = NO_ITEMS) -> None:
        """Create the scope and start the application, or queue the request behind another."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.headers, self.expect_100_continue = url, headers, expects
        self.scope["headers"] = headers
        scope: Any = self.scope
        scope.update(scope_items)
        super().on_headers_complete()
        if len(self.pipeline) > _MOST_PIPELINED:
            self._cut_off("it sends requests without waiting for answers")

    def _complete_for_app(self) -> None:
        """Tell the application that a released body is complete."""
        super().on_message_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._served = cycle
        if cycle.scope["http_version"] == "1.0":
            app = partial(unchunked, app, cycle)
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """Note the time, and let uvicorn serve the next request."""
        self._active_at = self.loop.time()
        super().on_response_complete()

    @property
    def _is_waiting(self) -> bool:
        """Whether the client waits for a response of the application."""
        cycle: Any = self.cycle  # None before the first request
        return not (cycle is None or cycle.response_complete)

    # Received bytes

    def data_received(self, data: bytes) -> None:
        """Parse received bytes, then enforce the limits on what is incomplete."""
        self._note_arrival()
        self._parse(data)
        self._enforce_limits(len(data))

    def _note_arrival(self) -> None:
        """Reset the counts for the bytes received last."""
        cycle: Any = self.cycle
        # The rest of a body whose response is complete does not keep the connection open.
        if self._is_between or self._in_head or cycle is None or not cycle.response_complete:
            self._active_at = self.loop.time()
        self._seen = self._complete = 0
        self._came_body = False

    def _parse(self, data: bytes) -> None:
        """Parse as uvicorn does, but serve a request with an Upgrade header as if it had none, as
        a server may. The parser alone would drop its body."""
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
                self._parse_without_upgrade()
            except httptools.HttpParserError:
                self.send_400_response("Invalid HTTP request received.")
                return

    def _parse_without_upgrade(self) -> None:
        """Parse the last head again, without its headers about another protocol."""
        method: bytes = self.parser.get_method()
        version: str = self.parser.get_http_version()
        closes = not self.parser.should_keep_alive()
        lines = [b"%b %b HTTP/%b" % (method, self.url, version.encode())]
        dropped = (b"upgrade", b"connection", b"http2-settings")
        lines += [b"%b: %b" % field for field in self.headers if field[0] not in dropped]
        lines += [b"connection: close"] if closes else []
        self.parser = parser = httptools.HttpRequestParser(self)
        parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's own parser
        self._seen -= 1  # `on_message_begin` counts it again
        parser.feed_data(b"\r\n".join((*lines, b"", b"")))

    # Limits while receiving

    def _enforce_limits(self, size: int) -> None:
        """Start or stop the timers for what is incomplete after `size` bytes were parsed."""
        if self._in_head or self._holds_body:
            self._limit_request(size)
            return
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        self._limit_rest(size)

    def _limit_request(self, size: int) -> None:
        """Limit the size and the time of an incomplete head, and the time of a held body."""
        if self._in_head:
            # Bytes of other requests in the same segment don't count.
            self._head_size = 0 if self._complete else self._head_size + size
            if self._complete and self._patience is not None:
                self._patience.cancel()
                self._patience = None
        if self._head_size > _MOST_HEAD:
            self.transport.write(_TOO_LARGE)
            self.transport.close()
        elif self._patience is None or self._awaits_body is not self._holds_body:
            self._start_read_timer()

    def _limit_rest(self, size: int) -> None:
        """Limit bytes that are neither head nor body: chunk extensions, and trailers."""
        if self._is_between or self._came_body:
            self._head_size = 0
        else:
            self._head_size += size
            if self._head_size > _MOST_HEAD:
                self._cut_off("it sends what is no request")
                return
        if self._idle is None and not self._is_waiting:
            self._idle = self.loop.call_later(self.timeout_keep_alive, self._close_if_idle)

    def _start_read_timer(self) -> None:
        """Start the timer for the rest of a head, or of a held body."""
        if self._patience is not None:
            self._patience.cancel()
        self._awaits_body = self._holds_body
        limits = self._limits
        seconds = limits.longest_gap if self._awaits_body else limits.head_seconds
        self._patience = self.loop.call_later(seconds, self._read_timed_out)

    def _read_timed_out(self) -> None:
        """Close a connection with an incomplete head. A held body goes to the application, which
        has a limit of its own for bodies."""
        self._patience = None
        if self._holds_body:
            self._release_body()
        else:
            cut_offs.tell("the head of its request did not come", self.client)
            self.transport.close()

    def _close_if_idle(self) -> None:
        """Close an idle connection. One timer serves many requests, so it may fire early."""
        self._idle = None
        if self._patience is not None or self._is_waiting:
            return  # the end of the response starts the next timer
        left = self._active_at + self.timeout_keep_alive - self.loop.time()
        if left <= 0 and not self.flow.write_paused:
            self.timeout_keep_alive_handler()
        else:
            seconds = left if left > 0 else self.timeout_keep_alive
            self._idle = self.loop.call_later(seconds, self._close_if_idle)

    # Limits while sending

    def pause_writing(self) -> None:
        """Start the timer for a client that does not read."""
        super().pause_writing()
        self._start_stall_timer(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Stop that timer."""
        super().resume_writing()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _start_stall_timer(self, unread: int) -> None:
        self._stall = self.loop.call_later(self._limits.stall_seconds, self._stalled, unread)

    def _stalled(self, before: int) -> None:
        """Abort if nothing was read since `before` bytes were unread. To close would wait."""
        unread = self.transport.get_write_buffer_size()
        if unread < before:
            self._start_stall_timer(unread)
        else:
            self._cut_off(f"it has read nothing for {self._limits.stall_seconds:g} s")

    def _cut_off(self, reason: str) -> None:
        cut_offs.tell(reason, self.client)
        self.transport.abort()

    # The end of a connection

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep a half-closed connection open, by returning True, while a POST is answered."""
        served = self._served
        if served is None or served.response_complete or served.more_body:
            return False
        if served.scope["method"] != "POST":
            return False  # the stream of a GET has no end, so its place is freed
        half_closed = HalfClosed(self.transport, self.loop, self._nudge)
        if half_closed.is_over:
            return False
        cycle: Any = self.cycle
        cycle.keep_alive = False  # the last response ends the connection
        half_closed.watch(has_begun=served.response_started)
        self._half_closed = half_closed
        return True

    def _nudge(self) -> None:
        """Send the application a message without a body, behind the body: see `respond.watch`."""
        self._served.message_event.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers, and tell every request of the connection."""
        if self._half_closed is not None:
            self._half_closed.stop()
        for timer in (self._patience, self._stall, self._idle):
            if timer is not None:
                timer.cancel()
        # uvicorn tells the last request only.
        for cycle in (self._served, *(queued for queued, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        self.pipeline.clear()
        super().connection_lost(exc)
